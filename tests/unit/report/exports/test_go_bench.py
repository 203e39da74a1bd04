"""Lines for benchstat: by the grammar of Go's benchmark format, one a valid window."""

import re
from pathlib import Path

from stithy.report.context import context_of
from stithy.report.exports.go_bench import export
from stithy.results.read import read_run
from support.sample_run import Shape, build_run

FACT = re.compile(r"[a-z][^\sA-Z:]*: \S.*")
UNIT = re.compile(r"Unit \S+ better=(higher|lower)")
LINE = re.compile(r"Benchmark[A-Z]\S* \d+( \d+(\.\d+)?(e-?\d+)? \S+)+")


def lines_of(root: Path) -> list[str]:
    """The lines of the windows, after every other was held against the grammar."""
    lines = "".join(export(context_of(read_run(root))).pieces).splitlines()
    for line in lines:
        assert not line or any(each.fullmatch(line) for each in (FACT, UNIT, LINE)), line
    return [line for line in lines if line.startswith("Benchmark")]


def test_each_valid_window_is_a_line_with_its_numbers(tmp_path: Path) -> None:
    """The invalid one is left out, and counted."""
    changes = {"w-disk-u4-b0": {"errors": 5, "error_text": "no"}}
    build_run(tmp_path, Shape(users=(1, 4), repeat=2, duration_s=3, series=False, changes=changes))
    run = read_run(tmp_path)
    lines = lines_of(tmp_path)
    assert len(lines) == run.window.height - 1
    assert export(context_of(run)).left_out == 1
    (row,) = run.window.filter(window_id="w-memory-u4-b1").to_dicts()
    (whole,) = run.transactions.filter(window_id=row["window_id"], transaction="all").to_dicts()
    told = (
        f"BenchmarkOrderEntry/candidate=memory/users=4 {row['transactions']} {row['nopm']!r} nopm "
        f"{row['tpm']!r} tpm {whole['response_p50_s']!r} p50-sec/op"
    )
    assert whole["committed"] + whole["rolled_back"] < 2_000, "too few for higher percentiles"
    assert told in lines


def test_a_name_stays_one_word_and_apart_from_others(tmp_path: Path) -> None:
    """What would end a name or a part of it is written otherwise, and differently for each."""
    names = ("a b", "a=b", "a\nb", "ab-2")
    build_run(tmp_path, Shape(candidates=names, users=(1,), duration_s=2, series=False))
    told = sorted(line.split("candidate=")[1].split("/users=")[0] for line in lines_of(tmp_path))
    assert told == ["a%0Ab", "a%20b", "a%3Db", "ab-2"]
