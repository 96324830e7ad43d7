"""Peers and nacre's own methods by name: environment, adapter, and two facts from their code or documentation."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.places import WORK

HERE = Path(__file__).parent
ADAPTERS = HERE / "adapters"
ENVIRONMENTS = WORK / "peers"  # one virtual environment per package; not committed


@dataclass(frozen=True)
class Peer:
    """One method of one package.

    `reads_domain`: with everything given that its interface takes, does the method still take part of the
    domain (ranges, categories, which columns have nulls) from the rows without protection? `reports_spend`:
    does the fitted object state the privacy it used, rather than repeat what was asked for?
    """

    name: str
    environment: str
    adapter: str
    method: str
    private: bool
    reads_domain: bool
    reports_spend: bool
    notes: str

    @property
    def python(self) -> Path:
        """The interpreter of its environment; nacre's own methods use the one that runs the benchmark."""
        return ENVIRONMENTS / self.environment / "bin" / "python" if self.environment else Path(sys.executable)


_BINS = "Given hand-made public bins; numbers are drawn uniformly within their bin."
_DPMM = f"{_BINS} The package's own binning is off: it would spend a further 0.1 beside epsilon."
_OPENDP = f"{_BINS} OpenDP's AIM on mbi; ρ is the largest that the package converts to (ε, δ)."
_GAN = (
    "Given public bounds; category lists, and the category shares that condition the generator, come from "
    "the rows without noise, so the stated epsilon does not cover them."
)
_OURS = "Given the public schema; buys its own bins out of epsilon. Timed in a fresh process like a peer."
_ALIKE = "Not told which column is the target, like the peers."
_SDV = "No privacy. Takes ranges, categories and distributions from the rows."


def _listed() -> tuple[Peer, ...]:
    return (
        Peer("sketch", "", "run_nacre.py", "sketch", True, False, True, _OURS),
        Peer("sketch-no-target", "", "run_nacre.py", "sketch-no-target", True, False, True, f"{_OURS} {_ALIKE}"),
        Peer("independent", "", "run_nacre.py", "independent", True, False, True, _OURS),
        Peer("mst-dpmm", "dpmm", "run_dpmm.py", "mst", True, False, False, _DPMM),
        Peer("aim-dpmm", "dpmm", "run_dpmm.py", "aim", True, False, False, _DPMM),
        Peer(
            "privbayes-dpmm", "dpmm", "run_dpmm.py", "privbayes", True, False, False,
            f"{_DPMM} The number of rows scales its noise and is not protected.",
        ),
        Peer("aim-opendp", "opendp", "run_opendp.py", "aim", True, False, True, _OPENDP),
        Peer("ctgan", "sdv", "run_sdv.py", "ctgan", False, True, False, _SDV),
        Peer("tvae", "sdv", "run_sdv.py", "tvae", False, True, False, _SDV),
        Peer("copula", "sdv", "run_sdv.py", "copula", False, True, False, _SDV),
        Peer(
            "dp-ctgan", "smartnoise", "run_smartnoise.py", "dpctgan", True, True, True,
            f"{_GAN} It stops at the first epoch that finds more spent than asked for.",
        ),
        Peer("pate-ctgan", "smartnoise", "run_smartnoise.py", "patectgan", True, True, False, _GAN),
    )  # fmt: skip


PEERS: Mapping[str, Peer] = {peer.name: peer for peer in _listed()}
