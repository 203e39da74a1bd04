"""A block with an invalid window is measured once more, at once, and once only."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from stithy.results.layout import RunDirectory
from stithy.run.deciding.again import Again
from stithy.run.deciding.deciding import Standing
from stithy.run.executor import execute
from support.faked_run import FakedRun
from support.running import entries, left_by, manifest, window_row

BLOCK = ["w-b-u1-b0", "w-a-u1-b0"]
AGAIN = [f"{name}-again" for name in BLOCK]


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs register in a directory of the test's own."""
    monkeypatch.setenv("STITHY_STATE", str(tmp_path / "state"))


class FakeJudge:
    """Calls windows invalid by name; `asked` are the blocks that it was asked about."""

    def __init__(self, *invalid: str) -> None:
        """These are."""
        self._invalid = invalid
        self.asked: list[list[str]] = []

    def __call__(self, directory: RunDirectory, windows: Sequence[str]) -> Mapping[str, str]:
        """Only of those that it is asked about."""
        self.asked.append(list(windows))
        return {name: "driver late" for name in windows if name in self._invalid}


def measured(faked: FakedRun) -> list[str]:
    """The windows that were begun, in order, over all sessions."""
    return [e.facts["id"] for e in entries(faked.out, "step-started", kind="window")]


def test_the_whole_block_is_measured_once_more_at_once(tmp_path: Path) -> None:
    """In the same order, each window from a fresh restore; then the study goes on."""
    judge = FakeJudge(BLOCK[0])
    faked = FakedRun(tmp_path, advisers=(Again(judge),))
    assert faked.run().end == "finished"
    assert measured(faked)[:5] == [*BLOCK, *AGAIN, "w-a-u2-b0"]
    assert judge.asked == [BLOCK, ["w-a-u2-b0", "w-b-u2-b0"]]
    [added] = entries(faked.out, "windows-added")
    assert added.facts["because"] == (
        "the block is measured once more, for this is invalid: w-b-u1-b0 (driver late)"
    )
    first, second = (window_row(faked.out, name) for name in (BLOCK[0], AGAIN[0]))
    assert (first["attempt"], second["attempt"]) == (0, 1)
    assert (first["block"], first["position"]) == (second["block"], second["position"])
    users = [run for run in faked.hammer.runs if run.users == 1]
    assert len({run.seed for run in users}) == 1
    assert left_by(faked.out) == []


def test_what_fails_again_is_not_measured_a_third_time(tmp_path: Path) -> None:
    """The study goes on without that block."""
    faked = FakedRun(tmp_path, users=(1,), advisers=(Again(FakeJudge(*BLOCK, *AGAIN)),))
    assert faked.run().end == "finished"
    assert measured(faked) == [*BLOCK, *AGAIN]


def test_a_block_that_replaces_another_is_not_one_more(tmp_path: Path) -> None:
    """As many blocks as the study has it are looked at; the rerun is none of them."""
    seen: list[int] = []

    def judge(directory: RunDirectory) -> Standing:
        seen.append(len(list(directory.windows.iterdir())))
        return Standing(decided=False, blocks=len(seen), text="open")

    faked = FakedRun(tmp_path, users=(1,), load={"repeat": ""})
    invalid = FakeJudge("w-a-u1-b5")
    execute(faked.start(), judge=judge, advisers=(Again(invalid),))
    assert len(measured(faked)) == 2 * 21
    # Before each block from the fifth on, and at the end; never inside the one that is repeated.
    assert seen == [8, 10, *range(14, 44, 2)]
    assert manifest(faked.out)["plan"]["further"] == [
        f"{e.facts['id']}-again"
        for e in entries(faked.out, "step-started", kind="window")
        if e.facts["id"].endswith("b5")
    ]


class Cut(Exception):
    """What ends a run here in the middle, as a bug would."""


@pytest.mark.parametrize("runs", [2, 3])
def test_a_run_killed_before_or_within_the_second_attempt_goes_on_with_it(
    tmp_path: Path, runs: int
) -> None:
    """Of the block that is measured again each window is measured once."""
    faked = FakedRun(tmp_path, users=(1,), advisers=(Again(FakeJudge(BLOCK[1])),))

    def cut() -> None:
        if len(faked.hammer.runs) == runs:
            raise Cut

    faked.hammer.before_run = cut
    with pytest.raises(Cut):
        faked.run()
    faked.hammer.before_run = lambda: None
    faked.advisers = (Again(FakeJudge(BLOCK[1])),)
    assert faked.resume().end == "finished"
    assert len(entries(faked.out, "windows-added")) == 1
    done = [e.facts["id"] for e in entries(faked.out, "step-finished")]
    assert [each for each in done if each.startswith("w-")] == [*BLOCK, *AGAIN]


def test_a_run_killed_before_anybody_judged_its_last_block_measures_it_again(
    tmp_path: Path,
) -> None:
    """Nothing else was left to do."""

    def dead(directory: RunDirectory, windows: Sequence[str]) -> Mapping[str, str]:
        raise Cut

    faked = FakedRun(tmp_path, users=(1,), advisers=(Again(dead),))
    with pytest.raises(Cut):
        faked.run()
    faked.advisers = (Again(FakeJudge(BLOCK[0])),)
    assert faked.resume().end == "finished"
    assert measured(faked) == [*BLOCK, *AGAIN]
