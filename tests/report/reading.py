"""Reads a page as a browser or a screen reader would: nesting, attributes, text."""

from __future__ import annotations

from html.parser import HTMLParser

VOID = {"meta", "br"}


class Page(HTMLParser):
    """Every element as (tag, attributes, text inside), in the order of the page; nesting is checked on the way."""

    def __init__(self, html: str):
        super().__init__()
        self.elements: list[tuple[str, dict[str, str], list[str]]] = []
        self._open: list[int] = []
        self.feed(html)
        self.close()
        assert not self._open, f"left open: {[self.elements[i][0] for i in self._open]}"

    def handle_starttag(self, tag, attrs):
        names = [k for k, _ in attrs]
        assert len(set(names)) == len(names), f"{tag}: attribute given twice"
        self.elements.append((tag, {k: v or "" for k, v in attrs}, []))
        if tag not in VOID:
            self._open.append(len(self.elements) - 1)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, {k: v or "" for k, v in attrs}, []))

    def handle_endtag(self, tag):
        assert self._open, f"{tag} closed but never opened"
        i = self._open.pop()
        assert self.elements[i][0] == tag, f"{tag} closes {self.elements[i][0]}"

    def handle_data(self, data):
        for i in self._open:
            self.elements[i][2].append(data)

    def all(self, tag: str) -> list[tuple[dict[str, str], str]]:
        return [(a, "".join(t)) for name, a, t in self.elements if name == tag]

    def parents(self) -> list[str]:
        return [tag for tag, _, _ in self.elements]

    @property
    def text(self) -> str:
        return self.all("body")[0][1]
