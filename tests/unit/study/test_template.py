"""The text of a new study reads back as what was meant, and explains every key."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stithy.plan.expand import expand
from stithy.study.fields import ANY, all_keys
from stithy.study.load import parse_study
from stithy.study.template import Draft, Option, study_text

DRAFT = Draft(
    head=("A study for a test.",),
    question="Which one is better?",
    candidates=(
        Option("disk", {"path": "/var/tmp/stithy"}, "ext4, 1 GiB free"),
        Option("nvme", {"drive": "generic-nvme"}, "emulated"),
    ),
    others=(Option("memory", {"path": "/dev/shm/stithy"}, "tmpfs"),),
    engine="postgresql",
    memory_bytes=512 * 2**20,
    workload="order-entry",
    warehouses=3,
    users=(1, 4),
    ramp_up_s=30.0,
    duration_s=60.0,
)


def test_it_reads_back_as_what_was_meant_and_can_be_planned() -> None:
    """Valid as it stands."""
    study = parse_study("new", study_text(DRAFT).encode())
    assert study.study == DRAFT.question
    assert {name: each.provider for name, each in study.candidates.items()} == {
        "disk": "path",
        "nvme": "drive",
    }
    assert study.database.memory_bytes == DRAFT.memory_bytes
    assert (study.load.users, study.load.ramp_up_s, study.load.duration_s) == ((1, 4), 30, 60)
    assert study.workload.warehouses == 3
    assert expand(study).steps


def test_every_key_stands_in_it() -> None:
    """Also one that was added to the model since; keys of candidates are left to its reference."""
    lines = [line.strip().removeprefix("# ") for line in study_text(DRAFT).splitlines()]
    for key in all_keys():
        if ANY not in key.path and len(key.path) <= 2:
            assert any(line.startswith(f"{key.path[-1]}:") for line in lines), key.dotted


@pytest.mark.parametrize("other", ["  # memory: {path: /dev/shm/stithy}"])
def test_what_else_could_be_is_a_comment_that_works_once_it_is_none(other: str) -> None:
    """A person takes the sign away."""
    text = study_text(DRAFT)
    assert other in text
    changed = text.replace(other, other.replace("# ", ""))
    assert "memory" in parse_study("new", changed.encode()).candidates


@pytest.mark.parametrize("key", ["touch: 30%", "ledger: true", "seed: 1"])
def test_a_key_that_may_be_said_works_once_it_is_no_comment(key: str) -> None:
    """As it stands there, at its own place."""
    text = study_text(DRAFT)
    assert f"# {key}\n" in text
    parse_study("new", text.replace(f"# {key}\n", f"{key}\n").encode())


@given(st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1))
def test_any_directory_can_be_a_candidate(name: str) -> None:
    """Whatever its name holds: quotes, braces, signs of comments."""
    path = Path("/srv") / name
    option = Option("odd", {"path": str(path)}, "a directory")
    draft = replace(DRAFT, candidates=(option,), others=(), question=f"What of {name}?")
    study = parse_study("new", study_text(draft).encode())
    assert study.candidates["odd"].spec.model_dump()["path"] == path
