"""Times and memory; `X_step`, `X_peer`, `X_child` and `X_tasks` are the processes that `X` starts."""
