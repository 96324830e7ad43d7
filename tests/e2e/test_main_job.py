"""From a CSV file to a synthetic file, a certificate and a release that agree with each other."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

ROOT = Path(__file__).resolve().parents[2]
ROWS = 1_500


def nacre(*arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess:
    """`nacre ARGUMENTS` in a process of its own; must succeed."""
    done = subprocess.run(
        [sys.executable, "-m", "nacre", *map(str, arguments)], capture_output=True, text=True, cwd=cwd
    )
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the main job was done once: the sketch, a declared schema, a target."""
    from nacre.table.simulate.people import people, people_schema
    from nacre.table.writing import write_table

    folder = tmp_path_factory.mktemp("job")
    write_table(people(ROWS, seed=9), folder / "people.csv")
    people_schema(ROWS).save(folder / "people.json")
    done = nacre(
        "synth", "people.csv", "-o", "fake.parquet", "--epsilon", 2, "--delta", 1e-6, "--schema", "people.json",
        "--target", "late_payment", "--release", "people.nacre", "--certificate", "certificate.json",
        "--option", "particles=64", "--option", "steps=50", "--json", cwd=folder,
    )  # fmt: skip
    (folder / "answer.json").write_text(done.stdout)
    return folder


def test_file_certificate_and_release_agree(made):
    import nacre as library

    answer = json.loads((made / "answer.json").read_text())
    certificate = json.loads((made / "certificate.json").read_text())
    release = library.load(made / "people.nacre")
    assert certificate == release.certificate.to_json() == answer["certificate"]
    assert certificate["guarantee"] == "proven"
    assert (certificate["epsilon"], certificate["delta"]) == (2.0, 1e-6)
    assert certificate["schema"]["digest"] == library.Schema.load(made / "people.json").digest()
    table = pq.read_table(made / "fake.parquet")
    assert table.num_rows == ROWS == release.rows == answer["rows"]
    assert table.schema.equals(release.sample(1, as_="pyarrow").schema)


def test_synthetic_rows_obey_the_declared_rules(made):
    table = pq.read_table(made / "fake.parquet").to_pydict()
    years = dict(zip(("none", "primary", "secondary", "vocational", "bachelor", "master", "doctorate"),
                     (0, 6, 11, 13, 16, 18, 21)))  # fmt: skip
    assert all(years[e] == y for e, y in zip(table["education"], table["school_years"]))
    assert not any(a <= 20 and e in ("master", "doctorate") for a, e in zip(table["age"], table["education"]))
    assert table["person_id"] == list(range(1, ROWS + 1))


def test_the_synthetic_table_resembles_the_real_one(made):
    """Coarse, at a strong noise: the share of married people and the mean age come through."""
    real = pacsv.read_csv(made / "people.csv")
    fake = pq.read_table(made / "fake.parquet")
    for table_share in ("married", "single"):
        shares = [t["marital"].to_pylist().count(table_share) / t.num_rows for t in (real, fake)]
        assert abs(shares[0] - shares[1]) < 0.12
    ages = [t["age"].to_numpy().mean() for t in (real, fake)]
    assert abs(ages[0] - ages[1]) < 5


def test_a_saved_release_is_sampled_by_another_process(made, tmp_path):
    for name in ("a.parquet", "b.parquet"):
        nacre("sample", made / "people.nacre", "-o", tmp_path / name, "--rows", 500, "--seed", 11,
              "--where", "region=north|south", "--where", "age=25..60")  # fmt: skip
    a, b = (pq.read_table(tmp_path / n) for n in ("a.parquet", "b.parquet"))
    assert a.equals(b)
    assert set(a["region"].to_pylist()) <= {"north", "south"}
    assert min(a["age"].to_pylist()) >= 25 and max(a["age"].to_pylist()) <= 60


def test_csv_parquet_and_arrow_outputs_hold_the_same_table(made, tmp_path):
    for name in ("t.csv", "t.parquet", "t.arrow"):
        nacre("sample", made / "people.nacre", "-o", tmp_path / name, "--rows", 200, "--seed", 2)
    parquet = pq.read_table(tmp_path / "t.parquet")
    with pa.ipc.open_file(tmp_path / "t.arrow") as file:
        assert file.read_all().equals(parquet)
    csv = pacsv.read_csv(tmp_path / "t.csv")
    assert csv["age"].to_pylist() == parquet["age"].to_pylist()
    assert csv["income"].to_pylist() == parquet["income"].to_pylist()


def test_no_value_of_the_table_that_is_not_public_reaches_the_release(made):
    """Incomes in the file have cents; none of them occurs in the release or in the certificate."""
    import zipfile

    incomes = [v for v in pacsv.read_csv(made / "people.csv")["income"].to_pylist() if v]
    with zipfile.ZipFile(made / "people.nacre") as archive:
        texts = [archive.read(n).decode() for n in archive.namelist() if n.endswith(".json")]
    for text in texts:
        assert not any(f"{v:.2f}" in text for v in incomes[:300])


def test_a_bought_schema_can_be_used_again(made, tmp_path):
    """What one run bought is public: the next run declares it and buys nothing."""
    common = ("--epsilon", 10, "--method", "independent")
    nacre("fit", made / "people.csv", "-o", tmp_path / "a.nacre", *common, "--id", "person_id",
          "--save-schema", tmp_path / "bought.json")  # fmt: skip
    done = nacre("fit", made / "people.csv", "-o", tmp_path / "b.nacre", *common,
                 "--schema", tmp_path / "bought.json", "--json")  # fmt: skip
    certificate = json.loads(done.stdout)["certificate"]
    assert [e["name"] for e in certificate["entries"]] == ["readable", "one-way"]
    assert any("bought by an earlier run" in a for a in certificate["assumptions"]), "its cost is not in this epsilon"


# ------------------------------------------------------------------------------------------- README and examples


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.name)
def test_the_examples_run(example, tmp_path):
    done = subprocess.run([sys.executable, str(example)], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_the_python_in_the_readme_is_the_example():
    code = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    assert code and code.group(1) in (ROOT / "examples" / "quickstart.py").read_text()


def test_the_command_in_the_readme_runs(tmp_path):
    from nacre.table.simulate import people
    from nacre.table.writing import write_table

    line = re.search(r"^nacre synth .*$", (ROOT / "README.md").read_text(), re.M)
    assert line
    write_table(people(12_000, seed=9), tmp_path / "people.csv")  # what is not declared takes some rows to buy
    nacre(*line.group(0).split()[1:], "--option", "particles=64", "--option", "steps=50", cwd=tmp_path)
    assert pacsv.read_csv(tmp_path / "synthetic.csv").num_columns == 17


def test_the_readme_names_every_method_and_command():
    from nacre.cli import app
    from nacre.synthesizers.registry import METHODS

    text = (ROOT / "README.md").read_text()
    for name, method in METHODS.items():
        assert re.search(rf"^\| `{name}`.*\| {re.escape(method.guarantee)} \|$", text, re.M), name
    commands = [c.callback.__name__ for c in app.registered_commands] + ["schema"]
    assert all(f"`{c}`" in text for c in commands), commands


def test_the_links_in_the_readme_lead_somewhere():
    for link in re.findall(r"\]\((?!https?:)([^)#]+)\)", (ROOT / "README.md").read_text()):
        assert (ROOT / link).exists(), link
