"""Words that stand for a missing value or for a truth value."""

NULL_WORDS = (
    "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "Null", "None", "none", "-", "--", "---", ".", "?", "#N/A",
    "<NA>", "\\N", "*",
)  # fmt: skip
# true, false
TRUTH_WORDS = (
    ("true", "false"), ("True", "False"), ("TRUE", "FALSE"), ("yes", "no"), ("Yes", "No"), ("YES", "NO"), ("y", "n"),
    ("Y", "N"), ("t", "f"), ("T", "F"), ("ja", "nein"), ("Ja", "Nein"), ("JA", "NEIN"), ("J", "N"), ("oui", "non"),
    ("Oui", "Non"), ("OUI", "NON"), ("vrai", "faux"), ("Vrai", "Faux"), ("VRAI", "FAUX"), ("sí", "no"), ("Sí", "No"),
    ("si", "no"), ("Si", "No"), ("SI", "NO"), ("S", "N"), ("sim", "não"), ("Sim", "Não"), ("sì", "no"), ("Sì", "No"),
    ("wahr", "falsch"), ("Wahr", "Falsch"), ("ja", "nee"), ("Ja", "Nee"), ("ja", "nej"), ("Ja", "Nej"), ("ja", "nei"),
    ("Ja", "Nei"), ("tak", "nie"), ("Tak", "Nie"), ("on", "off"), ("On", "Off"), ("ON", "OFF"),
)  # fmt: skip
SINGLE_TRUTH_WORDS = tuple(dict.fromkeys(word for pair in TRUTH_WORDS for word in pair))
