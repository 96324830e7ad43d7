"""Sketches of several sites: they add exactly, are refused when they do not fit, and say whose promise they carry."""

from __future__ import annotations

import dataclasses
import json
import warnings
import zipfile

import numpy as np
import pandas as pd
import pytest
from tests.privacy_contract import checks

import nacre
from nacre import cli
from nacre.errors import DomainNotDeclared, NacreError, ReleaseFileError, SketchError
from nacre.privacy.transcript import Transcript
from nacre.sites import shared as sketching
from nacre.synthesizers.pearl import common
from nacre.table import Boolean, Categorical, Numeric, Schema

SCHEMA = Schema(
    {"x": Numeric(bounds=(0.0, 1.0)), "c": Categorical(categories=("a", "b", "c"), nullable=True), "y": Boolean()}
)
pytestmark = pytest.mark.filterwarnings("ignore:.*little data")
SETTINGS = {"schema": SCHEMA, "epsilon": 8.0, "delta": 1e-5, "target": "y", "frequencies": 60}


def table(rows=3000, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.random(rows) < 0.4
    c = np.where(rng.random(rows) < 0.8, np.where(y, "a", "c"), "b").astype(object)
    c[rng.random(rows) < 0.05] = None
    return pd.DataFrame({"x": np.clip(rng.normal(np.where(y, 0.7, 0.3), 0.1), 0, 1), "c": c, "y": y})


def shards(frame):
    return [part.reset_index(drop=True) for part in (frame[:700], frame[700:1900], frame[1900:])]


@pytest.fixture
def silent_noise(monkeypatch):
    monkeypatch.setattr("nacre.run.session.NoiseSource", lambda seed: checks.ZeroNoise(0))


def test_three_shards_merged_are_the_single_sketch_exactly(silent_noise):
    whole = nacre.sketch(table(), **SETTINGS)
    merged = nacre.merge([nacre.sketch(part, **SETTINGS) for part in shards(table())])
    assert np.array_equal(merged.sums.sums, whole.sums.sums)
    assert all(np.array_equal(a, b) for a, b in zip(merged.sums.tables, whole.sums.tables, strict=True))
    assert merged.sums.sites == 3 and len(merged.certificates) == 3
    assert sum(int(t) for t in whole.sums.tables[2]) == 3000


def test_every_site_adds_its_own_noise():
    """The sum over sites spreads like three noises: a chi-square of 240 numbers, 6 standard deviations."""
    exact = [nacre.sketch(p, **SETTINGS, noise_seed=None) for p in shards(table())]
    again = [nacre.sketch(p, **SETTINGS, noise_seed=None) for p in shards(table())]
    a, b = nacre.merge(exact), nacre.merge(again)
    k = 2 * len(a.recipe.characters().members)
    gap = (a.sums.sums - b.sums.sums)[:, :k].ravel() / (2**14 * np.sqrt(2 * 3))
    assert abs(np.square(gap).mean() - 1) < 6 * np.sqrt(2 / len(gap))


def test_a_model_of_all_sites(tmp_path):
    paths = []
    for number, part in enumerate(shards(table())):
        path = tmp_path / f"{number}.sketch"
        nacre.sketch(part, **SETTINGS).save(path)
        paths.append(path)
    merged = nacre.merge([nacre.load_sketch(p) for p in paths])
    release = merged.release(particles=128, steps=150)
    assert release.certificate.guarantee == "proven" and release.certificate.epsilon == 8.0
    assert release.certificate.extras["sites"] == 3
    assert any("3 sites" in a for a in release.certificate.assumptions)
    fake, real = release.sample(3000, seed=1), table()
    assert abs(len(real) - release.rows) < 200
    for value in (False, True):
        ours, theirs = fake[fake["y"] == value], real[real["y"] == value]
        assert abs(ours["x"].mean() - theirs["x"].mean()) < 0.05
        gap = ours["c"].value_counts(normalize=True).sub(theirs["c"].value_counts(normalize=True), fill_value=0)
        assert gap.abs().max() < 0.1
    release.save(tmp_path / "r.nacre")
    pd.testing.assert_frame_equal(nacre.load(tmp_path / "r.nacre").sample(20, seed=3), release.sample(20, seed=3))


def alternating(labels, rows=8000):
    """Labels of even number in one class and of odd number in the other, nine times in ten."""
    rng = np.random.default_rng(5)
    y = rng.random(rows) < 0.5
    odd = (rng.random(rows) < 0.9) ^ y
    names = tuple(f"v{i:03d}" for i in range(labels))
    schema = Schema({"v": Categorical(categories=names), "y": Boolean()})
    return pd.DataFrame({"v": np.array(names)[2 * rng.integers(0, labels // 2, rows) + odd], "y": y}), schema


def test_classes_differ_in_every_second_of_many_categories():
    """The highest harmonic of the listing order: no cap on the harmonics of labels may lose it."""
    frame, schema = alternating(48)
    made = nacre.sketch(frame, **{**SETTINGS, "schema": schema, "epsilon": 10.0}, noise_seed=1)
    fake = made.release(particles=128, steps=150).sample(8000, seed=1)
    even = fake["v"].str[1:].astype(int) % 2 == 0
    assert abs(even[fake["y"]].mean() - 0.9) < 0.03 and abs(even[~fake["y"]].mean() - 0.1) < 0.03


def test_more_categories_than_frequencies_are_told():
    frame, schema = alternating(400, rows=200)
    with pytest.warns(UserWarning, match="'v': 60 of the 200 harmonics.*raise frequencies"):
        nacre.sketch(frame, **{**SETTINGS, "schema": schema})
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*harmonics")
        nacre.sketch(frame, **{**SETTINGS, "schema": schema, "frequencies": 200})


@pytest.mark.parametrize("change", ({"seed": 1}, {"frequencies": 61}, {"target": None}, {"epsilon": 4.0}))
def test_sketches_of_other_recipes_are_refused(change):
    one, other = nacre.sketch(table(50), **SETTINGS), nacre.sketch(table(50, 1), **{**SETTINGS, **change})
    with pytest.raises(SketchError, match="differ"):
        nacre.merge([one, other])


def test_a_seed_that_gives_other_frequencies_here_is_refused(tmp_path, monkeypatch):
    """Other versions may draw other numbers from one seed: told before anybody pays, and by files."""
    nacre.sketch(table(50), **SETTINGS).save(tmp_path / "a")
    terms = {key: value for key, value in SETTINGS.items() if key != "schema"}
    here, draw = sketching.recipe_digest(SCHEMA, **terms), common.choose
    monkeypatch.setattr(common, "choose", lambda *a: draw(*a[:4], np.random.default_rng(9), a[5]))
    assert sketching.recipe_digest(SCHEMA, **terms) != here
    with pytest.raises(ReleaseFileError, match="other frequencies"):
        nacre.load_sketch(tmp_path / "a")


def test_the_same_sketch_twice_and_nothing_at_all_are_refused():
    one = nacre.sketch(table(50), **SETTINGS)
    with pytest.raises(SketchError, match="counted twice"):
        nacre.merge([one, one])
    with pytest.raises(SketchError):
        nacre.merge([])


def test_no_site_is_counted_twice_within_merged_sketches(tmp_path):
    a, b, c = (nacre.sketch(table(50, seed), **SETTINGS) for seed in range(3))
    ab = nacre.merge([a, b])
    for made, path in ((ab, "ab"), (a, "a")):
        made.save(tmp_path / path)
    for sketches in ([ab, a], [b, c, ab], [ab, nacre.merge([b, c])]):
        with pytest.raises(SketchError, match="counted twice"):
            nacre.merge(sketches)
    with pytest.raises(SketchError, match="counted twice"):  # files tell as well
        nacre.merge([nacre.load_sketch(tmp_path / "ab"), nacre.load_sketch(tmp_path / "a")])
    assert nacre.merge([ab, c]).ids == (*a.ids, *b.ids, *c.ids)
    assert len({*a.ids, *b.ids, *c.ids}) == 3


@pytest.mark.parametrize("ids", (None, [], ["0" * 31], ["0" * 32, "1" * 32], [7], "0" * 32))
def test_a_file_needs_one_id_for_each_site(ids, tmp_path):
    from nacre.release.file import pack, unpack

    nacre.sketch(table(50), **SETTINGS).save(tmp_path / "a")
    documents, arrays = unpack(tmp_path / "a")
    facts = documents["model.json"]["facts"]
    assert len(facts.pop("ids")) == 1
    facts |= {} if ids is None else {"ids": ids}
    pack(tmp_path / "b", {name: json.dumps(d) for name, d in documents.items()}, arrays, force=False)
    with pytest.raises(ReleaseFileError, match="make it again" if ids is None else "one id for each"):
        nacre.load_sketch(tmp_path / "b")


@pytest.mark.parametrize("frequencies", (0, -1, 2.5, True, 10**9))
def test_impossible_settings_are_refused_before_rows_are_read(frequencies):
    rows = checks.CountedRows(table(50))
    with pytest.raises(NacreError, match="frequencies="):
        nacre.sketch(rows, **{**SETTINGS, "frequencies": frequencies})
    assert rows.passes == 0


@pytest.mark.parametrize("option", ({"particles": 0}, {"particles": 10**9}, {"steps": -1}, {"steps": 1.5}))
def test_impossible_settings_of_the_fit_are_refused(option):
    made = nacre.sketch(table(50), **SETTINGS)
    with pytest.raises(NacreError, match=f"{next(iter(option))}="):
        made.release(**option)


def test_an_undeclared_schema_is_refused_before_rows_are_read():
    rows = checks.CountedRows(table(50))
    with pytest.raises(DomainNotDeclared):
        nacre.sketch(rows, **{**SETTINGS, "schema": Schema({"x": Numeric(), "c": SCHEMA.columns["c"], "y": Boolean()})})
    assert rows.passes == 0


def test_tampered_files_are_refused(tmp_path):
    from nacre.release.file import pack, unpack

    path, bad = tmp_path / "a.sketch", tmp_path / "b.sketch"
    nacre.sketch(table(50), **SETTINGS).save(path)
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(bad, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            new.writestr(name, data.replace(b'"seed": 0', b'"seed": 1') if name == "model.json" else data)
    with pytest.raises(ReleaseFileError):
        nacre.load_sketch(bad)
    documents, arrays = unpack(path)
    texts = {name: json.dumps(d) for name, d in documents.items()}
    for spoilt in (
        {**arrays, "sums": arrays["sums"][:, :-1]},
        {**arrays, "sums": arrays["sums"] * 1.0},
        {"sums": arrays["sums"]},
    ):
        pack(bad, texts, spoilt, force=True)
        with pytest.raises(ReleaseFileError):
            nacre.load_sketch(bad)
    with pytest.raises(ReleaseFileError):
        nacre.load(path)  # a sketch is no release


@pytest.mark.parametrize(
    "change",
    (
        lambda a: {"sums": a["sums"] * 10_000},
        lambda a: {"sums": np.full_like(a["sums"], 2**62)},
        lambda a: {"table.0": np.full_like(a["table.0"], 2**61)},  # their sum wraps around
        lambda a: {"table.1": a["table.1"] - 10**6},
        lambda a: {"sums": np.where(np.arange(a["sums"].shape[1]) < 118, a["sums"], 10**7)},  # where there are no waves
    ),
)
def test_numbers_that_no_rows_give_are_refused(change, tmp_path):
    """Repacked, with hashes that fit: unkeyed hashes find damage only."""
    from nacre.release.file import pack, unpack

    path = tmp_path / "a.sketch"
    nacre.sketch(table(50), **{**SETTINGS, "frequencies": 400}).save(path)
    documents, arrays = unpack(path)
    texts = {name: json.dumps(d) for name, d in documents.items()}
    pack(path, texts, {**arrays, **change(arrays)}, force=True)
    with pytest.raises(ReleaseFileError, match="no rows give"):
        nacre.load_sketch(path)


@pytest.mark.parametrize("epsilon", (8.0, 0.01, None))
def test_whatever_rows_give_is_read_back(epsilon, tmp_path):
    """Rows in one corner, where every sum is as large as it can be, values outside the domain, and one row."""
    corner = pd.DataFrame({"x": np.zeros(5000), "c": "a", "y": True})
    strange = corner.assign(c="nobody", x=99.0)
    for number, frame in enumerate((corner, strange, corner[:1])):
        path = tmp_path / f"{number}"
        made = nacre.sketch(frame, **{**SETTINGS, "epsilon": epsilon})
        made.save(path)
        assert np.array_equal(nacre.load_sketch(path).sums.sums, made.sums.sums)


def test_sums_never_wrap_around():
    one, other = nacre.sketch(table(50), **SETTINGS), nacre.sketch(table(50, 1), **SETTINGS)
    for field, sign in (("sums", 1), ("tables", -1)):
        far = np.full_like(one.sums.sums, sign * (2**63 - 2))
        spoilt = far if field == "sums" else [np.full_like(t, sign * (2**63 - 2)) for t in one.sums.tables]
        huge = dataclasses.replace(one, sums=dataclasses.replace(one.sums, **{field: spoilt}))
        twice = dataclasses.replace(other, sums=dataclasses.replace(other.sums, **{field: spoilt}))
        with pytest.raises(SketchError, match="64 bits"):
            nacre.merge([huge, twice])


def test_the_recipe_is_known_before_anybody_pays():
    """Equal digests exactly where sketches add; a number of rows is no part of it."""
    terms = {key: value for key, value in SETTINGS.items() if key != "schema"}
    digest = sketching.recipe_digest(SCHEMA, **terms)
    assert nacre.sketch(table(50), **SETTINGS).digest == digest
    assert sketching.recipe_digest(dataclasses.replace(SCHEMA, rows=70), **terms) == digest
    others = [{"seed": 1}, {"frequencies": 61}, {"target": None}, {"epsilon": 4.0}, {"neighbours": "replace_one"}]
    assert len({sketching.recipe_digest(SCHEMA, **{**terms, **change}) for change in others} | {digest}) == 6


def test_every_site_that_keeps_books_is_named_in_the_joint_certificate():
    sites = [nacre.sketch(table(50, seed), **SETTINGS) for seed in range(3)]
    for number in (0, 2):
        stamp = {"ledger": f"books {number}", "population": "p", "sequence": 3, "head": "0" * 64}
        stated = dataclasses.replace(sites[number].certificates[0], extras={"ledger": stamp})
        sites[number] = dataclasses.replace(sites[number], certificates=(stated,))
    stated = nacre.merge(sites).certificate
    assert "ledger" not in stated.extras and [s["ledger"] for s in stated.extras["ledgers"]] == ["books 0", "books 2"]
    assert "books 0" in str(stated) and "books 2" in str(stated)


def test_every_site_checks_its_own_books_against_the_joint_release(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NACRE_LEDGER", raising=False)
    sites = []
    for number in range(3):
        assert cli.run(["ledger", "init", f"{number}.sqlite", "-p", "p", "-e", "20", "--delta", "1e-4", "-q"]) == 0
        books = {"ledger": nacre.Account(f"{number}.sqlite", "p")} if number < 2 else {}
        sites.append(nacre.sketch(table(50, number), **SETTINGS, **books))
    nacre.merge(sites).release(particles=8, steps=1).save("all.nacre")
    for number, code in ((0, 0), (1, 0), (2, 2)):  # the third spent nothing from its books
        assert cli.run(["ledger", "verify", f"{number}.sqlite", "--release", "all.nacre", "-q"]) == code
    assert "belongs to the ledger" in capsys.readouterr().err


def rewritten(path, bad, change):
    """The same file with its certificates changed and its hashes made to fit."""
    from nacre.release.file import pack, unpack

    documents, arrays = unpack(path)
    for site in documents["certificate.json"]["sites"]:
        change(site)
    pack(bad, {name: json.dumps(d) for name, d in documents.items()}, arrays, force=True)
    return bad


def _louder(site):
    site["entries"][1]["sigma"] *= 2  # more noise than the sketch says, for a better promise
    site["epsilon"] /= 2


@pytest.mark.parametrize(
    "change",
    (
        lambda site: site.update(epsilon=4.0),
        lambda site: site.update(delta=1e-6),
        lambda site: site.update(neighbours="replace_one"),
        lambda site: site.update(guarantee="certain"),
        lambda site: site.update(guarantee="proven (real arithmetic)"),
        lambda site: site["unit"].update(cap=2),
        lambda site: site["schema"].update(digest="0" * 64),
        _louder,
    ),
)
def test_a_promise_that_the_noise_does_not_pay_for_is_refused(change, tmp_path):
    nacre.sketch(table(50), **SETTINGS).save(tmp_path / "a")
    nacre.load_sketch(rewritten(tmp_path / "a", tmp_path / "b", lambda site: None))
    with pytest.raises(ReleaseFileError):
        nacre.load_sketch(rewritten(tmp_path / "a", tmp_path / "b", change))


def test_one_site_without_a_promise_leaves_none_for_all(tmp_path):
    good, seeded = nacre.sketch(table(60), **SETTINGS), nacre.sketch(table(60, 1), **SETTINGS, noise_seed=3)
    assert good.certificate.guarantee == "proven" and good.certificate.epsilon == 8.0
    for path, made in ((tmp_path / "good", good), (tmp_path / "seeded", seeded)):
        made.save(path)
    both = nacre.merge([nacre.load_sketch(tmp_path / "good"), nacre.load_sketch(tmp_path / "seeded")])
    for stated in (seeded.certificate, both.certificate):
        assert stated.guarantee == "none" and stated.epsilon is None and stated.delta is None and not stated.curve
        assert any("seeded" in reason for reason in stated.reasons)
    with pytest.raises(ReleaseFileError):  # nor can the stamp be taken off
        nacre.load_sketch(
            rewritten(
                tmp_path / "seeded", tmp_path / "b", lambda s: s.update(guarantee="proven", epsilon=8.0, delta=1e-5)
            )
        )


def test_domains_read_from_rows_leave_no_promise(tmp_path):
    read = dataclasses.replace(
        SCHEMA, columns={**SCHEMA.columns, "x": Numeric(bounds=(0.0, 1.0), provenance={"bounds": "read"})}
    )
    made = nacre.sketch(table(60), **{**SETTINGS, "schema": read})
    assert made.certificate.guarantee == "none" and any("x.bounds" in r for r in made.certificate.reasons)
    nothing = nacre.sketch(table(60), **{**SETTINGS, "epsilon": None})
    assert nothing.certificate.guarantee == "none"


def test_the_whole_budget_of_a_site_goes_into_the_sketch_and_no_size_comes_out():
    """A declared number of rows differs between sites and is not part of the recipe; none is bought either."""
    sized = dataclasses.replace(SCHEMA, rows=60)
    one, other = nacre.sketch(table(60), **{**SETTINGS, "schema": sized}), nacre.sketch(table(80), **SETTINGS)
    nacre.merge([one, other])
    stated = one.certificate
    assert [e["name"] for e in stated.entries] == ["one-way", "sketch"] and stated.schema["rows"] is None
    assert dict(stated.curve)[1e-5] == pytest.approx(8.0, rel=1e-4)


def test_delta_follows_the_declared_rows_and_a_weak_one_is_told():
    """As for `nacre.fit`, although the number of rows does not enter the recipe."""
    sized = {**SETTINGS, "schema": dataclasses.replace(SCHEMA, rows=50_000_000), "delta": None}
    made = nacre.sketch(table(60), **sized)
    assert made.certificate.delta == 1e-12 and made.recipe.schema.rows is None
    assert nacre.sketch(table(60), **{**SETTINGS, "delta": None}).certificate.delta == 1e-6
    with pytest.warns(UserWarning, match="at least 1/rows"):
        nacre.sketch(table(60), **{**sized, "delta": 1e-3})


@pytest.mark.filterwarnings("error:.*little data")
def test_little_data_is_told_by_the_sketch_the_sum_and_the_fit():
    """One in four of the rows that would be enough, by the rule of `nacre plan`; what is enough draws no warning."""
    few = [table(150, seed) for seed in range(2)]
    with pytest.warns(UserWarning, match="little data for epsilon 8.*other sites add"):
        one = nacre.sketch(few[0], **SETTINGS)
    with pytest.warns(UserWarning, match="little data"):
        other = nacre.sketch(few[1], **SETTINGS)
    with pytest.warns(UserWarning, match="little data.*at 2 sites"):
        both = nacre.merge([one, other])
    with pytest.warns(UserWarning, match="little data.*at 2 sites"):
        both.release(particles=16, steps=1)
    enough = [nacre.sketch(table(3000, seed), **SETTINGS) for seed in range(2)]
    nacre.merge(enough).release(particles=16, steps=1)


def test_replay_on_neighbours_shows_the_same_bytes(tmp_path, monkeypatch):
    """Nothing of the rows is in the file but what went through the doors."""
    monkeypatch.setattr("nacre.run.session.NoiseSource", checks.FixedNoise)
    monkeypatch.setattr(sketching, "_new_id", lambda: "0" * 32)  # drawn by the operating system, apart from the rows
    base, seen, recorded = table(200), [], None
    near = [base, base[1:], base.assign(x=base["x"].where(base.index > 0, 99.0)), base[::-1]]
    for rows in near:
        transcript = Transcript(replay=recorded)
        nacre.sketch(rows.reset_index(drop=True), **SETTINGS, transcript=transcript).save(tmp_path / "s", force=True)
        recorded = recorded or transcript
        seen.append((tmp_path / "s").read_bytes())
    assert len(set(seen)) == 1


def test_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    SCHEMA.save("s.json")
    common = ["--schema", "s.json", "--epsilon", "8", "--delta", "1e-5", "--target", "y", "--frequencies", "40", "-q"]
    for number, part in enumerate(shards(table())):
        part.to_csv(f"{number}.csv", index=False)
        assert cli.run(["sketch", f"{number}.csv", "-o", f"{number}.sketch", *common]) == 0
    assert cli.run(["merge", "0.sketch", "1.sketch", "2.sketch", "-o", "all.sketch", "-q"]) == 0
    assert cli.run(["fit", "--from-sketch", "all.sketch", "-o", "all.nacre", "--target", "x", "-q"]) == 2
    assert cli.run(["fit", "--from-sketch", "all.sketch", "-o", "all.nacre", "-q"]) == 0
    assert len(nacre.load("all.nacre").sample(7)) == 7
    assert cli.run(["merge", "all.sketch", "1.sketch", "-o", "twice.sketch", "-q"]) == 2
    assert "counted twice" in capsys.readouterr().err
    assert cli.run(["merge", "0.sketch", "0.sketch", "-o", "twice.sketch", "-q"]) == 2
    assert cli.run(["fit", "-o", "x.nacre", "-q"]) == 2
    assert "one of the two" in capsys.readouterr().err


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sites")
    one, other = (nacre.sketch(table(60, seed), **SETTINGS) for seed in (0, 1))
    one.save(folder / "one.sketch")
    nacre.merge([one, other]).save(folder / "two.sketch")
    return folder


@pytest.mark.parametrize(
    "words",
    (
        "--option frequencies=50",
        "--method pearl-paper",
        "--method pearl",
        "--seed 3",
        "--neighbours replace_one",
        "--domain declared",
        "--i-understand",
        "--target y",
    ),
)
def test_what_a_sketch_has_settled_is_refused(words, files, tmp_path, capsys):
    output = ["-o", str(tmp_path / "r.nacre"), "-q"]
    assert cli.run(["fit", "--from-sketch", str(files / "one.sketch"), *words.split(), *output]) == 2
    assert (
        f"{words.split('=')[0] if '=' in words else words.split()[0]}: the sketch has settled that"
        in capsys.readouterr().err
    )
    assert not (tmp_path / "r.nacre").exists()


def test_options_that_a_sketch_leaves_open(files, tmp_path, monkeypatch):
    asked = {}
    release = sketching.SharedSketch.release
    few = {"particles": 16, "steps": 2}
    monkeypatch.setattr(
        sketching.SharedSketch, "release", lambda self, **o: asked.update(o) or release(self, **{**o, **few})
    )
    output = ["-o", str(tmp_path / "r.nacre"), "-q", "--option", "steps=7", "--option", "particles=30"]
    assert cli.run(["fit", "--from-sketch", str(files / "one.sketch"), *output]) == 0
    assert (asked["steps"], asked["particles"]) == (7, 30)


def test_a_recipe_is_shown_without_a_table(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    SCHEMA.save("s.json")
    words = "sketch none.csv -o x --schema s.json --epsilon 25 --delta 1e-5 --only-recipe --json"
    assert cli.run(words.split()) == 2 and "--i-understand" in capsys.readouterr().err
    assert cli.run([*words.split(), "--i-understand"]) == 0
    shown = json.loads(capsys.readouterr().out)["recipe"]
    assert shown == sketching.recipe_digest(SCHEMA, epsilon=25.0, delta=1e-5, large=True)


def test_a_sketch_shows_its_promise(files, capsys):
    assert cli.run(["certificate", str(files / "one.sketch")]) == 0
    shown = capsys.readouterr().out
    assert "epsilon" in shown and "Checked here" in shown
    assert cli.run(["certificate", str(files / "two.sketch"), "--json"]) == 0
    stated = json.loads(capsys.readouterr().out)
    assert (stated["epsilon"], stated["delta"], stated["extras"]["sites"]) == (8.0, 1e-5, 2)


def test_no_rows_are_drawn_from_a_sketch(files, tmp_path, capsys):
    path = str(files / "one.sketch")
    assert cli.run(["sample", path, "-o", str(tmp_path / "fake.csv")]) != 0
    assert f"nacre fit --from-sketch {path}" in capsys.readouterr().err
    with pytest.raises(ReleaseFileError, match="a sketch, not a release"):
        nacre.load(path)
