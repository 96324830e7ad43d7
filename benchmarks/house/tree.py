"""The Python files of nacre as they are here or at a revision, parsed; and which of them import which."""

from __future__ import annotations

import ast
import io
import subprocess
import tarfile
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePosixPath

from benchmarks.places import ROOT

WANTED = ("src/nacre", "benchmarks", "docs/results.md")


@dataclass(frozen=True)
class Tree:
    """Texts by path from the root of the repository."""

    files: dict[str, str] = field(repr=False)

    @classmethod
    def here(cls) -> Tree:
        """What git tracks or would track, as it lies on the disk."""
        asked = ["git", "ls-files", "-co", "--exclude-standard", *WANTED]
        names = subprocess.run(asked, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
        return cls({n: (ROOT / n).read_text() for n in names if n.endswith((".py", ".md")) and (ROOT / n).exists()})

    @classmethod
    def at(cls, revision: str) -> Tree:
        """As committed."""
        packed = subprocess.run(["git", "archive", revision, *WANTED], cwd=ROOT, check=True, capture_output=True).stdout
        found = {}
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            for member in archive:
                if member.name.endswith((".py", ".md")) and (data := archive.extractfile(member)):
                    found[member.name] = data.read().decode()
        return cls(found)

    def under(self, folder: str, ending: str = ".py") -> dict[str, str]:
        return {n: t for n, t in self.files.items() if n.startswith(folder) and n.endswith(ending)}

    @cached_property
    def modules(self) -> dict[str, ast.Module]:
        """Of the package, by dotted name."""
        return {dotted(path): ast.parse(text, path) for path, text in self.under("src/nacre/").items()}


def dotted(path: str) -> str:
    parts = PurePosixPath(path).relative_to("src").with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


class Imports:
    """Who loads whom when it is loaded: not inside functions, not for type checkers alone."""

    def __init__(self, modules: dict[str, ast.Module]):
        self.modules = modules
        self._direct = {name: self._of(_at_load(tree.body)) for name, tree in modules.items()}
        self._all: dict[str, set[str]] = {}

    def targets(self, node: ast.stmt) -> set[str]:
        """What one import statement loads: modules of nacre with their packages, others by their first name."""
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            inner = [f"{node.module}.{a.name}" for a in node.names]
            names = [node.module, *(n for n in inner if n in self.modules)]
        else:
            return set()
        return {part for name in names for part in self._parts(name)}

    def _parts(self, name: str) -> set[str]:
        if not name.startswith("nacre"):
            return {name.partition(".")[0]}
        parts = name.split(".")
        return {".".join(parts[: k + 1]) for k in range(len(parts))} & {*self.modules}

    def _of(self, statements: list[ast.stmt]) -> set[str]:
        return {t for node in statements for t in self.targets(node)}

    def loaded(self, name: str) -> set[str]:
        """All that is loaded once this module is, itself included."""
        if name not in self._all:
            seen, left = {name}, [name]
            while left:
                new = self._direct.get(left.pop(), set()) - seen
                seen |= new
                left += new
            self._all[name] = seen
        return self._all[name]


def _at_load(body: list[ast.stmt]) -> list[ast.stmt]:
    found: list[ast.stmt] = []
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            found.append(node)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" not in ast.unparse(node.test):
            found += _at_load([*node.body, *node.orelse])
        elif isinstance(node, ast.Try):
            found += _at_load([*node.body, *(s for h in node.handlers for s in h.body)])
    return found
