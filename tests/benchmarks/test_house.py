"""The safety net itself: a difference is told, what must differ is not, and the tree is counted right."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.house import figures, frozen, harness
from benchmarks.house.tree import Tree
from safetensors.numpy import save_file


def folder(path, text="epsilon 1\n", numbers=(1.0, 2.0)):
    (path / "case").mkdir(parents=True)
    (path / "case" / "01.txt").write_text(text)
    save_file({"a": np.array(numbers)}, path / "case" / "arrays.safetensors")
    return path


def test_differences_are_named_and_shown(tmp_path, capsys):
    old = folder(tmp_path / "old")
    assert frozen.compare(old, folder(tmp_path / "same"), "") == 0
    new = folder(tmp_path / "new", "epsilon 2\n", (1.0, 2.5))
    (new / "case" / "more.txt").write_text("")
    (old / "case" / "less.txt").write_text("")
    assert frozen.compare(old, new, "") == 1
    told = capsys.readouterr().out
    for part in ("-epsilon 1", "+epsilon 2", "a: 1 of 2 numbers differ, by up to 0.5", "is new", "is gone"):
        assert part in told
    assert frozen.compare(old, new, "^other") == 0


def test_only_clock_seconds_and_version_are_taken_out():
    told = 'made 2026-11-19 04:30 UTC, "seconds": "1.2", {"nacre": "0.1.0"} joined 2020-03-01, epsilon 0.1.0'
    found = harness.normalised(told)
    assert found == 'made <now>, "seconds": "<s>", {"nacre": "<version>"} joined 2020-03-01, epsilon 0.1.0'


def test_entropy_of_one_length_does_not_depend_on_the_others():
    one, two = harness.Entropy(), harness.Entropy()
    two(32)
    assert one(16) == two(16) != one(16) and len(one(7)) == 7


SOURCE = '''
from typing import Any
import jax

class Box:
    """A box."""

    def put(self, a: int, b: Any, c: dict[str, Any], d, e, f, *rest, **more: str) -> None:
        """Put."""
        import json
        import sklearn

        return getattr(self.model, "tilt", None)

def short(a, b, c, d, e, f): return hasattr(column, "bounds")
'''


def test_figures_of_a_small_tree():
    tree = Tree({"src/nacre/a.py": SOURCE, "src/nacre/__init__.py": "", "docs/results.md": "x\ny\n"})
    found, places = figures.measured(tree)
    assert found["functions"] == 2 and found["classes"] == 1 and found["source lines"] == 15
    assert found["functions of more than 6 parameters"] == 1  # put has eight without self, short six
    assert (found["annotations"], found["Any in annotations"]) == (5, 2)
    assert found["annotations with Any, share"] == pytest.approx(0.4)
    assert found["getattr and hasattr on methods and models"] == 1
    assert found["getattr and hasattr by a literal name"] == 2
    assert found["lines of a body, longest"] == 4 and found["docs/results.md lines"] == 2
    (place,) = places["imports inside functions, not needed"]
    assert place.text == "import json"


def test_an_import_inside_a_function_that_closes_a_circle_is_needed():
    files = {"src/nacre/a.py": "from nacre.b import g", "src/nacre/b.py": "def g():\n    from nacre.a import x"}
    found = figures.measured(Tree(files))[0]
    assert (found["imports inside functions"], found["imports inside functions, not needed"]) == (1, 0)


# What was won stays: a figure may fall, and its limit with it. `python -m benchmarks.house.figures --list NAME` says
# where a figure comes from.
MOST = {
    "functions of more than 6 parameters": 23,
    "getattr and hasattr on methods and models": 0,
    "Any in annotations": 1461,
    "lines of a body, longest": 64,
    "files of more than 350 lines": 3,
}


def test_what_was_won_stays():
    found, places = figures.measured(Tree.here())
    for name, most in MOST.items():
        assert found[name] <= most, f"{name}: {found[name]}, at most {most}: {[*map(str, places.get(name, []))][:60]}"
