"""`stithy compare`: a table where runs may be compared, and every reason where they may not."""

import json
from pathlib import Path

import pytest

from stithy.cli.app import run
from stithy.results.files import write_with_checksum
from support.sample_run import Shape, build_run


def build(path: Path, **shape: object) -> str:
    """A small run in a directory; its path."""
    usual = {"users": (1, 4), "duration_s": 3, "series": False, "repeat": 3}
    build_run(path, Shape(**{**usual, **shape}))  # type: ignore[arg-type]  # fields of Shape
    return str(path)


def change_kernel(run_directory: str) -> None:
    """As if the run had been made on another kernel."""
    file = Path(run_directory) / "manifest.json"
    document = json.loads(file.read_text())
    document["environment"]["kernel"]["value"] = "6.2.0"
    write_with_checksum(file, json.dumps(document).encode())


def test_each_candidate_level_and_metric_gets_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With what differs and need not be equal above them, and what the signs mean below."""
    one, two = build(tmp_path / "one"), build(tmp_path / "two", seed=2)
    assert run(["compare", one, two]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "differs, does not prevent the comparison: seed: 1 and 2"
    assert lines[2].split() == [
        "metric", "candidate", "users", "one", "two", "change", "95", "%", "interval", "n",
    ]  # fmt: skip
    rows = [line.split() for line in lines[3:15]]
    assert {(row[0], row[1], row[2]) for row in rows} == {
        (metric, name, users)
        for metric in ("NOPM", "p95", "p99")
        for name in ("disk", "memory")
        for users in ("1", "4")
    }
    assert all("~" in row and row[-1] == "3+3" for row in rows)
    assert lines[-5].startswith("~: not distinguishable")


def test_a_change_that_is_no_chance_is_told_with_its_interval(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Half the throughput, and its windows scatter by a hundredth."""
    nopm = {f"w-disk-u4-b{block}": {"nopm": 1500.0 + block} for block in range(3)}
    one, two = build(tmp_path / "one"), build(tmp_path / "two", changes=nopm)
    run(["compare", one, two, "--json"])
    rows = json.loads(capsys.readouterr().out)["comparisons"][0]["rows"]
    (row,) = [each for each in rows if each["distinguishable"]]
    assert (row["candidate"], row["users"], row["metric"]) == ("disk", 4, "nopm")
    assert row["value_other"] == 1501.0
    assert row["change"]["low"] < row["change"]["ratio"] < row["change"]["high"] < 0.6
    run(["compare", one, two])
    shown = capsys.readouterr().out
    assert f"{(row['change']['ratio'] - 1) * 100:+.1f} %" in shown


def test_runs_that_differ_in_what_counts_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2, every fact by name, no number shown."""
    one, two = build(tmp_path / "one"), build(tmp_path / "two", duration_s=4)
    change_kernel(two)
    assert run(["compare", one, two]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "duration_s: 3 and 4: --ignore duration_s" in err
    assert "kernel: 6.1.0 and 6.2.0: --ignore kernel" in err


def test_what_is_ignored_is_told_above_the_comparison(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """For people and for programs."""
    one, two = build(tmp_path / "one"), build(tmp_path / "two")
    change_kernel(two)
    assert run(["compare", "--ignore", "kernel", one, two, "--ignore", "fsync"]) == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert first == "differs, ignored on request: kernel: 6.1.0 and 6.2.0"
    run(["compare", one, two, "--ignore", "kernel", "--json"])
    (told,) = json.loads(capsys.readouterr().out)["comparisons"]
    assert [each["name"] for each in told["ignored"]] == ["kernel"]


def test_flaws_of_a_run_are_told_before_its_numbers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Windows left out, a run that was cut short; with one window there is no interval."""
    invalid = {"w-disk-u4-b0": {"errors": 500}}
    one = build(tmp_path / "one", changes=invalid, end="interrupted")
    two = build(tmp_path / "two", repeat=1)
    file = tmp_path / "two" / "manifest.json"
    session = {"started_at_s": 1.0, "boot_id": "x", "changed": ["kernel: 6.0 before, 6.1.0 now"]}
    document = {**json.loads(file.read_text()), "sessions": [session]}
    write_with_checksum(file, json.dumps(document).encode())
    assert run(["compare", one, two]) == 0
    shown = capsys.readouterr().out
    assert f"{one}: 1 of 12 windows is invalid; left out" in shown
    assert f"{one}: the run was not finished (interrupted)" in shown
    assert f"{two}: resumed although something had changed: kernel: 6.0 before" in shown
    assert "none: 2 windows of each are needed  2+1" in shown


def test_runs_without_anything_in_common_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Other candidates, other levels, no second run, no manifest, no such fact."""
    one = build(tmp_path / "one")
    other = build(tmp_path / "other", candidates=("x", "y"))
    levels = build(tmp_path / "levels", users=(2, 8))
    lost = build(tmp_path / "lost")
    (Path(lost) / "manifest.json").write_text("{")
    for words in ([one, other], [one, levels], [one], [one, lost], [one, one, "--ignore", "krnel"]):
        assert run(["compare", *words]) == 2
    told = capsys.readouterr().err
    for part in ("no candidate of", "no level of", "a second run", "manifest", "mean kernel?"):
        assert part in told


def test_runs_without_a_valid_window_support_no_comparison(tmp_path: Path) -> None:
    """Exit code 5, as of a run without one."""
    invalid = {
        f"w-{name}-u{users}-b0": {"errors": 500} for name in ("disk", "memory") for users in (1, 4)
    }
    one = build(tmp_path / "one", repeat=1)
    two = build(tmp_path / "two", repeat=1, changes=invalid)
    assert run(["compare", one, two]) == 5


def test_any_metric_that_a_question_may_ask_about_is_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Instead of the usual three, in the order in which they are named."""
    one, two = build(tmp_path / "one"), build(tmp_path / "two", seed=2)
    words = ["--metric", "p99 of payment", "--metric", "tpm"]
    assert run(["compare", one, two, *words, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["comparisons"][0]["rows"]
    assert list(dict.fromkeys(row["metric"] for row in rows)) == ["p99 of payment", "tpm"]
    assert len(rows) == 2 * 2 * 2
    run(["compare", one, two, *words])
    shown = capsys.readouterr().out
    assert "p99 of payment" in shown
    assert "NOPM" not in shown


@pytest.mark.parametrize(
    ("metric", "part"),
    [
        ("nopn", "nopm"),
        ("p99 of paymnt", "unknown transaction type `paymnt`"),
        ("nopm of payment", "no value per transaction type"),
        ("", "--metric"),
    ],
)
def test_what_is_no_metric_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], metric: str, part: str
) -> None:
    """Exit code 2, with what would be right, and no number shown."""
    one = build(tmp_path / "one", users=(1,), repeat=1)
    assert run(["compare", one, one, "--metric", metric]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert part in err
