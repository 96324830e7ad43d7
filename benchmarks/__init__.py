"""One folder per kind of work and one module per comparison; `python -m benchmarks list` names them, the catalogue says
where each is. Figures go to benchmarks/results."""
