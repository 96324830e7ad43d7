"""A plugin of pytest that notes which lines of the package each test runs, how long it takes and how it ends.

`mutants.py` copies this file beside the package it tests, so that any revision can be measured.
"""

import json
import os
import sys
from pathlib import Path

import pytest

TOOL = 4
ROOT = os.environ["LINES_HIT_ROOT"]
OUT = Path(os.environ["LINES_HIT_OUT"])
hit: set[tuple[str, int]] = set()

if sys.version_info >= (3, 12):
    watch = sys.monitoring

    def entered(code, _offset):
        if code.co_filename.startswith(ROOT):
            watch.set_local_events(TOOL, code, watch.events.LINE)
        return watch.DISABLE

    def reached(code, line):
        hit.add((code.co_filename[len(ROOT) + 1 :], line))
        return watch.DISABLE

    watch.use_tool_id(TOOL, "lines hit")
    watch.register_callback(TOOL, watch.events.PY_START, entered)
    watch.register_callback(TOOL, watch.events.LINE, reached)
    watch.set_events(TOOL, watch.events.PY_START)
    again = watch.restart_events
else:

    def traced(frame, event, _):
        name = frame.f_code.co_filename
        if not name.startswith(ROOT):
            return None
        if event == "line":
            hit.add((name[len(ROOT) + 1 :], frame.f_lineno))
        return traced

    def again():
        sys.settrace(traced)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logstart(nodeid, location):
    hit.clear()
    again()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    files: dict[str, list[int]] = {}
    for name, line in hit:
        files.setdefault(name, []).append(line)
    hit.clear()
    note = {"test": item.nodeid, "when": report.when, "outcome": report.outcome, "s": report.duration, "lines": files}
    with OUT.open("a") as out:
        out.write(json.dumps(note) + "\n")
    return report
