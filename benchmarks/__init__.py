"""One module per comparison; `python -m benchmarks list` names them. Figures go to benchmarks/results."""
