"""The book of the long proofs: what is done stays done, what was wrong stays wrong."""

from pathlib import Path

import pytest

import prove
from book import Book, Done, Part
from prove import FULL
from stithy.errors import InfrastructureError


def wrong(**counts: int) -> dict[str, object]:
    """What the prover told of a cut."""
    return {"wrong": {"lost": 0, "foreign": 0, "late": 0, "ragged": 0, **counts}}


def test_a_killed_proof_goes_on_where_it_was(tmp_path: Path) -> None:
    """A line that the kill tore is done again, and what follows it is read."""
    path = tmp_path / "book.jsonl"
    Book(path).add(Done(Part("cut", 0), True, wrong()))
    whole = path.read_text()
    path.write_text(whole + whole[: len(whole) // 2])
    assert Book(path).missing("cut", 3) == [1, 2]
    Book(path).add(Done(Part("cut", 2), True, wrong()))
    assert Book(path).missing("cut", 3) == [1]


def test_what_was_wrong_is_neither_done_again_nor_forgotten(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A second start does not wash a failure away."""
    path = tmp_path / "book.jsonl"
    Book(path).add(Done(Part("cut", 0), False, {**wrong(lost=3), "work": no_work()}))
    again = Book(path)
    assert again.missing("cut", 1) == []
    assert prove.told(again) == 5
    assert "cut: 0 of 1 as they must be" in capsys.readouterr().out


def no_work() -> dict[str, int]:
    """Bytes moved by a prover that moved none."""
    return {"written_bytes": 0, "read_bytes": 0}


def test_a_part_that_fails_is_wrong(tmp_path: Path) -> None:
    """An error of the machine proves nothing; the reason is kept."""
    book = Book(tmp_path / "book.jsonl")
    part = Part("postgresql-xfs", 4)
    with prove.noted(book, part):
        raise InfrastructureError("it did not start", where="xfs", remedy="read its log")
    assert not book.done[part].sound
    assert "it did not start" in str(book.done[part].seen["failed"])


@pytest.mark.parametrize(
    ("counts", "sound"), [({"lost": 5}, True), ({}, False), ({"lost": 5, "foreign": 1}, False)]
)
def test_flushes_that_lie_must_lose_and_do_nothing_else(
    counts: dict[str, int], sound: bool
) -> None:
    """A check that finds nothing there would find nothing anywhere."""
    assert prove.must_lose(Done(Part("cut-lying", 0), False, wrong(**counts))).sound == sound


def test_one_proof_can_be_asked_for_alone() -> None:
    """The others are left out, not done."""
    effort = prove.wanted(FULL, "postgresql")
    assert (effort.rounds, effort.cuts, effort.postgresql_cuts) == (0, 0, 20)
    assert prove.wanted(FULL, "") == FULL
