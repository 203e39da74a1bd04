"""The study that `stithy new` writes for a made-up machine, as people read it."""

from pathlib import Path

from fakes.machine import FakeMachine
from stithy.needs import Judgement
from stithy.run.preparation.draft import Wishes, draft
from support import golden

HERE = Path(__file__).parent / "new"


def test_the_study_for_a_machine_is_the_one_accepted(accept_golden: bool) -> None:
    """A key that was added to the model shows here."""
    found = draft(
        FakeMachine(),
        Wishes(),
        ask_engine=lambda name: Judgement(name, "there", "15.1"),
        check=lambda study, plan: None,
    )
    golden.same(HERE / "study.yaml", found.text, accept_golden)
