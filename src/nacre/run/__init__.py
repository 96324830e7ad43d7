"""The one spine: what is asked for (`terms`), planned (`job`), and carried out in a paid `session`."""

from nacre.run.checks import check_rows
from nacre.run.fitting import fit
from nacre.run.job import Job, plan, prepare
from nacre.run.terms import DOMAINS, Access, Terms

__all__ = ["DOMAINS", "Access", "Job", "Terms", "check_rows", "fit", "plan", "prepare"]
