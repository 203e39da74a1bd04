"""The examples of the protocol hold both languages together: read, and written again unchanged."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import pytest
from pydantic import BaseModel

from stithy.wire.drive import jobs, messages
from stithy.wire.drive import messages as drive_messages
from stithy.wire.jobs import PrepareJob
from stithy.wire.messages import parse_message
from stithy.workloads.order_entry import Choice
from support import heard
from support.examples import WIRE

READERS: dict[str, Callable[[str], BaseModel]] = {
    "examples/job": heard.parse_job,
    "examples/message": parse_message,
    "drive/job": heard.parse_drive_job,
    "drive/message": drive_messages.parse_drive_message,
    "drive/command": heard.parse_command,
    "drive/answer": messages.parse_answer,
}
"""What reads an example, by its folder and the first word of its file's name."""
EXAMPLES = sorted(WIRE.rglob("*.json"))


def read(path: Path) -> BaseModel:
    """What an example says."""
    return READERS[f"{path.parent.name}/{path.name.split('.')[0]}"](path.read_text())


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: f"{path.parent.name} {path.stem}")
def test_an_example_is_written_as_it_was_read(path: Path) -> None:
    """Jobs, messages, commands and answers keep every key and value."""
    assert json.loads(path.read_text()) == json.loads(read(path).model_dump_json())


def test_every_kind_has_an_example() -> None:
    """One without would not be held together by anything."""
    shown = [read(path) for path in EXAMPLES if path.parent.name == "drive"]
    kinds = (
        jobs.AnyDriveJob, drive_messages.AnyDriveMessage, messages.AnyCommand, messages.AnyAnswer,
    )  # fmt: skip
    assert {kind for union in kinds for kind in get_args(union)} == {type(each) for each in shown}
    broken = {type(each.fault) for each in shown if isinstance(each, messages.Fault)}
    assert set(get_args(jobs.AnyFault)) == broken
    assert {".".join(path.name.split(".")[:2]) for path in WIRE.glob("*.json")} == {
        "job.prepare", "job.warm-up", "job.run", "job.check", "job.verify-ledger", "job.calibrate",
        "job.baseline", "message.started", "message.progress", "message.second", "message.warning",
        "message.failure", "message.condition", "message.prepare-summary",
        "message.warm-up-summary", "message.run-summary", "message.check-summary",
        "message.ledger-finding", "message.ledger-summary", "message.calibrate-summary",
        "message.baseline-summary",
    }  # fmt: skip


def test_the_password_of_a_job_is_not_printed() -> None:
    """The printed form of a job leaves out the URL."""
    size = Choice(warehouses=1)
    job = PrepareJob(url="postgresql://u:hush@/d", workload=size, seed=1, loaders=1)
    assert "hush" not in repr(job) + str(job)
