"""The numbers of sentences on the method, most of them what it says whatever was measured."""

from collections.abc import Sequence
from typing import Any

from recompute.files import Files, Row
from recompute.rules import Expected, Match, Rules, fixed, once


def _rows(files: Files, row: Row, match: Match) -> Sequence[Any]:
    return [[len(each) for each in files.told_tables]]


def _searched(files: Files, row: Row, match: Match) -> Sequence[Any]:
    search = files.manifest["plan"]["search"]
    return [search["limit_s"], search["users_least"], search["users_most"]]


def _listed(files: Files, row: Row, match: Match) -> Sequence[Any]:
    return [files.manifest["plan"]["search"]["listed"]]


def _square(files: Files, row: Row, match: Match) -> Sequence[Any]:
    """Of an odd number of candidates the square and its mirror image."""
    candidates = len(files.candidates)
    return [candidates * (1 + candidates % 2)]


def _short(key: str, usual_s: float) -> Expected:
    return lambda files, row, match: [files.manifest["load"][key], usual_s]


REACH = "database_bytes * units_touched / units_total"

RULES: Rules = [
    (r"These # rows are too many", _rows), (r">All # facts<", _rows),
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
    (r"by more than # for one CPU, # for all CPUs and # for reads", fixed(0.05, 0.05, 1 / 3)),
    (r"twice as long and over # longer", fixed(100e-6)),
    (r"autovacuum: at most #, plus # for each connection, # for each second and # for each run",
     fixed(30, 3, 0.1, 5)),
    (r"It may be lower by at most #", fixed(5)), (r"Williams square \(# blocks\)", _square),
]  # fmt: skip
"""By words of a sentence, its numbers."""
