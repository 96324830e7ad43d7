"""A small clinic: patients own stays, stays own codes; drugs are public."""

from nacre.table import Categorical, Database, Datetime, Identifier, Key, Numeric, Schema, Text

YEARS = ("2000-01-01", "2010-12-31")


def tables():
    return {
        "patients": Schema(
            {"id": Identifier(), "sex": Categorical(("f", "m")), "age": Numeric((0, 110), integer=True)}
        ),
        "codes": Schema(
            {
                "stay": Identifier(),
                "drug": Identifier(text=True, nullable=True),
                "patient": Identifier(),
                "at": Datetime(YEARS, unit="s", nullable=True),
                "dose": Numeric((0, 10), decimals=1),
            }
        ),
        "stays": Schema(
            {
                "id": Identifier(),
                "patient": Identifier(),
                "admitted": Datetime(YEARS, unit="day"),
                "los": Numeric((0, 50)),
            }
        ),
        "drugs": Schema({"id": Identifier(text=True), "name": Text()}),
    }


STAYS = Key("stays.patient -> patients.id", cap=8, order="admitted")
CODES = Key("codes.stay -> stays.id", cap=12, order="at")
DRUGS = Key("codes.drug -> drugs.id")
IMPLIED = Key("codes.patient -> patients.id")
KEYS = (STAYS, CODES, DRUGS, IMPLIED)


def database(**changes):
    facts = {"tables": tables(), "keys": KEYS, "unit": "patients", "public": ["drugs"], **changes}
    return Database(**facts)
