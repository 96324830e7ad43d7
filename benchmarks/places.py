"""Where files lie, whatever folder a benchmark is in. Only the standard library: small processes use it too."""

from pathlib import Path

ROOT = Path(__file__).parent.parent
PICTURES = ROOT / "docs" / "methods"
RESULTS = ROOT / "benchmarks" / "results"
WORK = ROOT / "benchmarks" / ".work"  # values per seed, for --resume; not committed
