"""Times and memory; what `X_step`, `X_peer`, `X_child` and `X_tasks` hold runs in processes that `X` starts."""
