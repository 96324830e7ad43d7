"""Colours can be read: contrast by the formula of the Web Content Accessibility Guidelines 2.1."""

from __future__ import annotations

import re

import pytest

from nacre.report import style

TEXT = [(c, b) for c in ("ink", "soft", "link") for b in ("back", "card")]
TEXT += [("warn", "warn-back"), ("good", "good-back"), ("bad", "bad-back")]
MARKS = [(c, "card") for c in ("real", "made")]


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a: str, b: str) -> float:
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_the_formula_knows_black_on_white():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("palette", [style.LIGHT, style.DARK], ids=["light", "dark"])
def test_text_and_marks_stand_out(palette):
    for ink, back in TEXT:
        assert contrast(palette[ink], palette[back]) >= 4.5, (ink, back)
    for mark, back in MARKS:
        assert contrast(palette[mark], palette[back]) >= 3, (mark, back)


def test_the_style_sheet_uses_no_colour_outside_the_palettes():
    rules = style.css()
    for name in set(re.findall(r"var\(--([a-z0-9-]+)\)", rules)):
        assert rules.count(f"--{name}:") == 2, f"{name} needs a light and a dark colour"
    body = style._RULES
    assert set(re.findall(r"#[0-9a-f]{3,6}\b", body)) <= {"#fff"}
    assert rules.count("{") == rules.count("}")


@pytest.mark.parametrize("place, name", [(0, "sp0"), (1, "sp8"), (-1, "sn8"), (7, "sp8"), (0.5, "sp4"), (-0.02, "sp0")])
def test_shades_are_capped_and_centred(place, name):
    assert style.shade(place) == name


def test_shades_darken_away_from_zero_on_light_and_brighten_on_dark():
    light, dark = (re.findall(r"--sp(\d):(#\w{6})", part) for part in style.css().split("@media screen")[:2])
    assert [luminance(c) for _, c in sorted(light)] == sorted((luminance(c) for _, c in light), reverse=True)
    assert [luminance(c) for _, c in sorted(dark)] == sorted(luminance(c) for _, c in dark)
