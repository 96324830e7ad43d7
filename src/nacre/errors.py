"""What can go wrong, by whose hand. Every message says what, where, what was expected and what to do."""


class OwnerWarning(UserWarning):
    """A warning that holds figures of private rows: for the owner of the data alone, in no log that travels."""


class NacreError(Exception):
    """Anything nacre refuses to do. The command line prints the message and exits with 2."""


class SchemaError(NacreError):
    """The schema contradicts itself, the file, or what a method supports."""


class DomainNotDeclared(SchemaError):
    """Bounds or categories are missing: declare them, buy them, or read them and lose the guarantee."""


class DataError(NacreError):
    """The file or table cannot be used. Such messages are for the owner of the data only."""


class UnreadableColumn(DataError):
    """By noisy counts, a declared column cannot be read as it is declared. Nothing was fitted."""


class TooLittleData(NacreError, UserWarning):
    """The noise would drown the table. A warning in Python; the command line stops before the fit unless told to go
    on."""


class BudgetError(NacreError):
    """The budget is not a budget, or does not cover what was asked. Raised before any row is read."""


class BudgetExceeded(BudgetError):
    """The cap of a population, or of one release, does not cover the plan. Nothing was read."""


class LedgerError(BudgetError):
    """The ledger cannot be read, written or trusted. Whatever needs it is refused: nothing was read."""


class LedgerRequired(LedgerError):
    """A ledger is mandatory here, and this run would open data without a committed reservation in it."""


class LedgerTampered(LedgerError):
    """Rows of the ledger do not follow from one another: something was edited, removed or put in between."""


class LedgerRollback(LedgerError):
    """The ledger is older than a certificate or than what this machine has seen: a backup or a copy."""


class RequestRefused(LedgerError):
    """The policy of the population, or the state of the reservation, does not allow this."""


class PlanError(NacreError):
    """A door was asked for something that the plan does not hold."""


class ReleaseFileError(NacreError):
    """A release file is damaged, altered, too large or of another version. Nothing in it was run."""


class CertificateError(ReleaseFileError):
    """A certificate contradicts what it says was spent, its schema or its method. Rely on nothing that it states."""


class SketchError(NacreError):
    """Sketches that cannot be added or fitted: made by different recipes, or not holding what they should."""


class ConvergenceError(NacreError):
    """An iteration did not reach what its guarantee or its use needs."""
