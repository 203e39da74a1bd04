"""The numbers of sentences on the method, most of them what it says whatever was measured."""

import math
from collections.abc import Sequence
from statistics import median
from typing import Any

from recompute import bounds
from recompute.files import Files, Row
from recompute.levels import in_report
from recompute.rules import Expected, Match, Rules, fixed, once

INTERIM = (4, 6, 8, 10, 12, 16, 20)


def _question(files: Files) -> Row:
    found: Row = files.manifest["plan"]["question"] or {"margin_share": 0.02, "blocks_most": 20}
    return found


def _margin(files: Files, row: Row, match: Match) -> Sequence[Any]:
    return [_question(files)["margin_share"]]


def _asked(*keys: str) -> Expected:
    return lambda files, row, match: [_question(files)[each] for each in keys]


def _interim(files: Files, row: Row, match: Match) -> Sequence[Any]:
    most = _question(files)["blocks_most"]
    return [[*(each for each in INTERIM if each < most), max(most, INTERIM[0])]]


def _measured(files: Files, row: Row, match: Match) -> Sequence[Any]:
    point = _question(files)["point"]
    return [files.one("SELECT count(DISTINCT block) FROM win WHERE point = ?", point)]


def _rows(files: Files, row: Row, match: Match) -> Sequence[Any]:
    return [[len(each) for each in files.told_tables]]


def _searched(files: Files, row: Row, match: Match) -> Sequence[Any]:
    search = files.manifest["plan"]["search"]
    return [search["limit_s"], search["users_least"], search["users_most"]]


def _listed(files: Files, row: Row, match: Match) -> Sequence[Any]:
    return [files.manifest["plan"]["search"]["listed"]]


def _off(column: str) -> Expected:
    """The largest deviation of a baseline check from the median of all, rounded up."""

    def values(files: Files, row: Row, match: Match) -> Sequence[Any]:
        found = files.column(f"SELECT {column} FROM baseline WHERE {column} IS NOT NULL")
        off = max(abs(each / median(found) - 1) for each in found)
        by = 100 if off >= 0.01 else 1000
        return [math.ceil(off * by - 1e-9) / by]

    return values


def _lost(files: Files, row: Row, match: Match) -> Sequence[Any]:
    found = files.rows(
        "SELECT count(*) FILTER (NOT valid) AS lost, count(*) AS n FROM win WHERE candidate = ?",
        (match["c"],),
    )[0]
    return [found["lost"], found["n"]]


def _with(files: Files, row: Row, match: Match) -> Sequence[Any]:
    """How many windows of a candidate are invalid for the same reason."""
    of = {each["window_id"]: each["candidate"] for each in files.rows("SELECT * FROM win")}
    named = [
        [of[name] for name in each["window_ids"].split(", ")]
        for each in in_report(files, "reasons")
        if each["weight"] == "invalid"
    ]
    return [[names.count(each) for names in named for each in files.candidates]]


def _square(files: Files, row: Row, match: Match) -> Sequence[Any]:
    """Of an odd number of candidates the square and its mirror image."""
    candidates = len(files.candidates)
    return [candidates * (1 + candidates % 2)]


def _short(key: str, usual_s: float) -> Expected:
    return lambda files, row, match: [files.manifest["load"][key], usual_s]


def _odd(files: Files, row: Row, match: Match) -> Sequence[Any]:
    return [bounds.odd_blocks(files), files.one("SELECT count(*) FROM baseline")]


REACH = "database_bytes * units_touched / units_total"

RULES: Rules = [
    (r"These # rows are too many", _rows), (r">All # facts<", _rows),
    (r"with a margin of #", _margin), (r"within (?:a margin of )?#(?= (?:around|of) 1\b)", _margin),
    (r"(?:interval excludes|around|% of) #(?=[.,] )", fixed(1)),
    (r"At least # and at most # blocks are measured", _asked("blocks_least", "blocks_most")),
    (r"# blocks? (?:was|were) measured", _measured),
    (r"#(?=(?:, \d+)*(?: and \d+)? blocks\. Their conservative)", _interim),
    (r"at most # of # studies claim a difference, and # if", fixed(5, 100, 7)),
    (r"the true ratio in # of # studies", fixed(99.4, 100)),
    (r"widened by a factor of #", fixed(1.3)), (r"Above #, no difference", fixed(0.05)),
    (r"A window at # of a bound could reach at most # times", fixed(0.8, 1.25)),
    (r"is a bottleneck from # of its bound", fixed(0.8)), (r"is one from # on", fixed(0.5)),
    (r"A ramp-up of # instead of #", _short("ramp_up_s", 30)),
    (r"Windows of # instead of #", _short("duration_s", 60)),
    (r"Users touch all #", once(f"SELECT max({REACH}) FROM win")),
    (r"the database has # of [\w ]+?(?: and a memory limit of #)?\.",
     once("SELECT max(buffer_pool_bytes), max(memory_limit_bytes) FROM win")),
    (r"≤ #, from # to # users", _searched), (r"began with the measurements at #", _listed),
    (r"(?<=measurements at )\S+ and #", _listed),
    (r"or above # users about #", fixed(20, 0.05)),
    (r"(?:^|, )# of # (?:windows? )?of (?P<c>[\w-]+)(?= was| were| \(|[,.])", _lost),
    (r"# with (?=“)", _with),
    (r"# baseline checks? cannot show", once("SELECT count(*) FROM baseline")),
    (r"as usual before each of # blocks", once("SELECT count(*) FROM baseline")),
    (r"deviated before # of # blocks?", _odd),
    (r"one CPU within #", _off("one_rounds_per_s")),
    (r"all CPUs within #", _off("all_rounds_per_s")), (r"reads within #", _off("read_p50_s")),
    (r"by more than # for one CPU, # for all CPUs and # for reads", fixed(0.05, 0.05, 1 / 3)),
    (r"twice as long and over # longer", fixed(100e-6)),
    (r"autovacuum: at most #, plus # for each connection, # for each second and # for each run",
     fixed(30, 3, 0.1, 5)),
    (r"It may be lower by at most #", fixed(5)), (r"Williams square \(# blocks\)", _square),
]  # fmt: skip
"""By words of a sentence, its numbers."""
