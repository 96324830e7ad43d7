"""The block on hidden columns: the verdict, effect sizes beside the control, and what it is not."""

from __future__ import annotations

from nacre.privacy.certificate.rounding import exact
from nacre.report.figures import scores_table
from nacre.report.markup import part, prose, text
from nacre.report.report import Hidden

NOT_DP = (
    "This is not differential privacy. It says that the released distribution of these columns is another one than the "
    "real; it bounds nothing that can be learnt about a person, and an attacker who knows the method may correct for a "
    "decoy. A small p-value alone says little: with enough rows any imperfect model is told apart, and a bad model "
    "always passes. Look at the effect sizes and at the control, the same model without penalty or decoy."
)


def verdict(h: Hidden) -> str:
    """What the MMD test on released rows says, and what that is worth beside the control."""
    level = h.alpha / max(h.sets, 1)
    share = "" if h.sets < 2 else f" (alpha {exact(h.alpha)} over {h.sets} sets)"
    if not h.told:
        return (
            f"FAILED: the MMD test at level {level:g}{share} does not tell the released columns from the real ones; "
            "do not claim that they are hidden"
        )
    said = f"the MMD test at level {level:g}{share} tells the released columns from the real ones"
    control = [s.value for s in h.scores if s.metric == "mmd_p" and s.of == "control"]
    if control and control[0] <= level:
        said += ", but it tells the control from them too, so that this proves little: look at the effect sizes"
    return said


def of_words(of: str) -> str:
    return {"synthetic": "release", "control": "control"}.get(of, of)


def hidden_part(sets: tuple[Hidden, ...]) -> tuple[str, str, str] | None:
    """The part of the page, or None where nothing was hidden."""
    if not sets:
        return None
    body = "".join(_one(h) for h in sets)
    lead = prose(NOT_DP)
    return "hidden", "Hidden columns", part("hidden", "Hidden columns", lead, body)


def _one(h: Hidden) -> str:
    names = ", ".join(h.columns)
    title = f"<h3>{text(names, 200)}</h3><p><strong>{prose(verdict(h))}.</strong></p>"
    return title + scores_table(f"Hidden columns: {names}", h.scores, of_words)
