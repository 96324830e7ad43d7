"""python -m benchmarks list | run NAME [--seeds K] [--quick] [--jobs N] [--only M1,M2] [--resume] [--note T] | page

`run NAME --only none` measures nothing: it writes the file and the page from what earlier runs measured."""

from __future__ import annotations

import argparse
import sys

from benchmarks import results_page
from benchmarks.catalogue import CATALOGUE, NOTHING, Options
from benchmarks.results import QUICK, Results, cores
from nacre.errors import NacreError


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    commands = top.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="name the benchmarks")
    commands.add_parser("page", help="write docs/results.md from benchmarks/results")
    run = commands.add_parser("run", help="run one benchmark; figures are written after every case")
    run.add_argument("name", choices=tuple(CATALOGUE))
    run.add_argument("--seeds", type=_positive, default=5, help="seeds 0..K-1 of the whole pipeline (default 5)")
    run.add_argument("--quick", action="store_true", help="smoke run on few rows, one seed, to NAME.quick.json")
    run.add_argument("--jobs", type=_positive, default=cores(), help="classifiers fitted at a time (default: cores)")
    run.add_argument(
        "--only", default="", help="comma-separated cases; the others are left alone. none: only write the file"
    )
    run.add_argument("--resume", action="store_true", help="keep what an earlier run of this name has measured")
    run.add_argument("--note", default="", help="a remark that the file keeps in place of earlier ones")
    return top


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("expected a whole number of at least 1")
    return value


def command_line(args: argparse.Namespace) -> str:
    """The command as somebody else would type it; --resume and --jobs do not change what is measured."""
    words = ["python -m benchmarks run", args.name, "--quick" if args.quick else f"--seeds {args.seeds}"]
    return " ".join([*words, *([f"--only {args.only}"] if args.only and not args.resume else [])])


def run(args: argparse.Namespace) -> None:
    seeds = 1 if args.quick else args.seeds
    only = tuple(m for m in args.only.split(",") if m)
    CATALOGUE[args.name].check(only)
    args.resume = args.resume or NOTHING in only
    options = Options(seeds=seeds, quick=args.quick, jobs=args.jobs, only=only)
    name = f"{args.name}{QUICK}" if args.quick else args.name
    results = Results(name, command_line(args), resume=args.resume, keep=bool(only) or args.resume)
    if args.note:
        results.only_note(args.note)
    CATALOGUE[args.name].runner()(options, results)
    results.write()
    print(f"wrote {results.path.relative_to(results.path.parents[2])}")
    if not args.quick:
        results_page.write()


def main(argv: list[str] | None = None) -> int:
    args = parser().parse_args(argv)
    try:
        if args.command == "list":
            for b in CATALOGUE.values():
                print(f"{b.name:18} {b.text}")
        elif args.command == "page":
            print(f"wrote {results_page.write()}")
        else:
            run(args)
    except NacreError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
