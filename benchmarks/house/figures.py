"""python -m benchmarks.house.figures [--at REV ...] [--list NAME]

What specs of the house ask to be measured, by `ast`, of the files here or at revisions; with `--at` every revision is
kept in benchmarks/results/house.json beside those before. `--list` names the places behind one figure.

How it is counted. A parameter is every name between the brackets of a `def`, `*args` and `**kwargs` one each, `self`
and `cls` of a method none. An annotation is that of a parameter, of a result or of a name; it is one of `Any` if `Any`
occurs in it. A body is from the first statement after the docstring to the last line. An import inside a function is
needed where at the top it would load a library that the module does not load today (start-up), or close a circle.
"""

from __future__ import annotations

import argparse
import ast
import json
import statistics
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.house.tree import Imports, Tree
from benchmarks.places import RESULTS, ROOT

PAGE = RESULTS / "house.json"
PARAMETERS, LINES = 6, 350
# The objects that the protocol of methods is about, by the last name of the expression that is asked.
ASKED = {"synthesizer", "method", "model", "training", "learner", "game", "rules", "query", "generator", "critic"}
ALLOWED: dict[tuple[str, str], str] = {}  # (end of the path, attribute): why it may be asked for by name
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Place:
    path: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.text}"


def measured(tree: Tree) -> tuple[dict[str, float], dict[str, list[Place]]]:
    """Figures by name, and the places behind those that have any."""
    places = {
        "functions of more than 6 parameters": [*many_parameters(tree)],
        "getattr and hasattr on methods and models": [*asked_by_name(tree, True)],
        "getattr and hasattr by a literal name": [*asked_by_name(tree, False)],
        "files of more than 350 lines": [*long_files(tree)],
        "imports inside functions": [p for p, _ in local_imports(tree)],
        "imports inside functions, not needed": [p for p, needed in local_imports(tree) if not needed],
    }
    all_of, of_any, names = annotations(tree)
    bodies = sorted(lines for _, lines in functions(tree))
    figures: dict[str, float] = {
        "source lines": lines_of(tree, "src/nacre/"),
        "source files": len(tree.under("src/nacre/")),
        "classes": sum(isinstance(n, ast.ClassDef) for _, n in nodes(tree)),
        "functions": len(bodies),
        "lines of a body, median": statistics.median(bodies),
        "lines of a body, 90 %": bodies[int(0.9 * len(bodies))],
        "lines of a body, longest": bodies[-1],
        **{name: len(found) for name, found in places.items()},
        "Any in annotations": names,
        "annotations": all_of,
        "annotations with Any, share": round(of_any / max(1, all_of), 4),
        "benchmarks lines": lines_of(tree, "benchmarks/"),
        "docs/results.md lines": len(tree.files.get("docs/results.md", "").splitlines()),
    }
    return figures, places


def nodes(tree: Tree) -> Iterator[tuple[str, ast.AST]]:
    for name, module in tree.modules.items():
        for node in ast.walk(module):
            yield name, node


def lines_of(tree: Tree, folder: str) -> int:
    return sum(len(text.splitlines()) for text in tree.under(folder).values())


def functions(tree: Tree) -> Iterator[tuple[Place, int]]:
    """Every function with the lines of its body."""
    for name, node in nodes(tree):
        if isinstance(node, Function):
            first = node.body[1] if ast.get_docstring(node) and len(node.body) > 1 else node.body[0]
            yield Place(name, node.lineno, node.name), (node.body[-1].end_lineno or 0) - _start(first) + 1


def _start(node: ast.stmt) -> int:
    return min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])


def parameters(node: Function, method: bool) -> int:
    a = node.args
    named = [x.arg for x in (*a.posonlyargs, *a.args)]
    first = bool(method and named and named[0] in ("self", "cls"))
    return len(named) - first + len(a.kwonlyargs) + (a.vararg is not None) + (a.kwarg is not None)


def many_parameters(tree: Tree) -> Iterator[Place]:
    for name, module in tree.modules.items():
        methods = {f for n in ast.walk(module) if isinstance(n, ast.ClassDef) for f in n.body}
        for node in ast.walk(module):
            if isinstance(node, Function) and (count := parameters(node, node in methods)) > PARAMETERS:
                yield Place(name, node.lineno, f"{node.name} has {count}")


def annotations(tree: Tree) -> tuple[int, int, int]:
    """How many there are, how many hold `Any`, and how often it occurs in them."""
    found = []
    for _, node in nodes(tree):
        if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation is not None:
            found.append(node.annotation)
        elif isinstance(node, Function) and node.returns is not None:
            found.append(node.returns)
    counts = [sum(isinstance(n, ast.Name) and n.id == "Any" for n in ast.walk(a)) for a in found]
    return len(found), sum(c > 0 for c in counts), sum(counts)


def asked_by_name(tree: Tree, of_methods: bool) -> Iterator[Place]:
    """Calls of getattr and hasattr with a written name; `of_methods`: only of methods and models, but for ALLOWED."""
    for name, node in nodes(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) > 1):
            continue
        whom, what = node.args[0], node.args[1]
        if node.func.id not in ("getattr", "hasattr") or not isinstance(what, ast.Constant):
            continue
        if of_methods and (_last(whom) not in ASKED or (name, what.value) in ALLOWED):
            continue
        yield Place(name, node.lineno, ast.unparse(node))


def _last(node: ast.expr) -> str:
    """`model` of `release.model`, `method` of `METHODS[method].load()`."""
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Call):
        return "method" if ast.unparse(node).endswith(".load()") else _last(node.func)
    return ""


def long_files(tree: Tree) -> Iterator[Place]:
    for path, text in tree.under("src/nacre/").items():
        if (lines := len(text.splitlines())) > LINES:
            yield Place(path, 1, f"{lines} lines")


def local_imports(tree: Tree) -> Iterator[tuple[Place, bool]]:
    """Imports inside functions, and whether they have to be there."""
    imports = Imports(tree.modules)
    for name, module in tree.modules.items():
        inside = {
            n for f in ast.walk(module) if isinstance(f, Function) for n in ast.walk(f)
            if isinstance(n, ast.Import | ast.ImportFrom)
        }  # fmt: skip
        for node in sorted(inside, key=lambda n: n.lineno):
            yield Place(name, node.lineno, ast.unparse(node)), _needed(imports, name, imports.targets(node))


def _needed(imports: Imports, name: str, targets: set[str]) -> bool:
    loaded = {m for t in targets for m in imports.loaded(t)}
    new = {m for m in loaded - imports.loaded(name) if not m.startswith("nacre") and m not in sys.stdlib_module_names}
    return bool(new) or name in loaded


# ---------------------------------------------------------------------------------------------------------------- kept


def keep(revisions: list[str]) -> dict[str, dict[str, object]]:
    """The figures of these revisions, beside those that the file has."""
    kept = json.loads(PAGE.read_text()) if PAGE.exists() else {"name": "house", "trees": {}}
    for revision in revisions:
        asked = ["git", "log", "-1", "--format=%h %cs", revision]
        commit, day = subprocess.run(asked, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
        kept["trees"][commit] = {"day": day, "figures": measured(Tree.at(revision))[0]}
    PAGE.write_text(json.dumps(kept, indent=1) + "\n")
    return kept["trees"]


def shown(trees: dict[str, dict[str, float]]) -> str:
    """One column per tree."""
    names = list(dict.fromkeys(n for figures in trees.values() for n in figures))
    lines = [f"{'':44}" + "".join(f"{head:>12}" for head in trees)]
    for name in names:
        cells = (figures.get(name) for figures in trees.values())
        lines.append(f"{name:44}" + "".join(f"{'' if c is None else f'{c:,g}':>12}" for c in cells))
    return "\n".join(lines)


def main(argv: list[str] | None = None) -> int:
    top = argparse.ArgumentParser(prog="python -m benchmarks.house.figures", description=__doc__)
    top.add_argument("--at", action="append", metavar="REV", help="a revision to measure and keep; repeatable")
    top.add_argument("--list", metavar="NAME", help="the places behind the figure of this name, or of this beginning")
    args = top.parse_args(argv)
    if args.list:
        places = measured(Tree.at(args.at[0]) if args.at else Tree.here())[1]
        for name in (n for n in places if n.startswith(args.list)):
            print(f"{name}: {len(places[name])}", *places[name], sep="\n")
        return 0
    trees = keep(args.at) if args.at else {}
    figures = {name: tree["figures"] for name, tree in trees.items()} or {"here": measured(Tree.here())[0]}
    print(shown(figures))  # type: ignore[arg-type]
    return 0


if __name__ == "__main__":
    sys.exit(main())
