"""The examples of the protocol hold both languages together: read, and written again unchanged."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import pytest
from pydantic import BaseModel

from stithy.wire.drive import control, jobs
from stithy.wire.drive import messages as drive_messages
from stithy.wire.jobs import PrepareJob, WorkloadSize
from stithy.wire.messages import parse_message
from support import heard

EXAMPLES = Path(__file__).resolve().parents[2] / "wire" / "examples"
JOBS = sorted(EXAMPLES.glob("job.*.json"))
MESSAGES = sorted(EXAMPLES.glob("message.*.json"))
DRIVES = sorted((EXAMPLES / "drive").glob("*.json"))
READERS: dict[str, Callable[[str], BaseModel]] = {
    "job": heard.parse_drive_job,
    "message": drive_messages.parse_drive_message,
    "command": heard.parse_command,
    "answer": control.parse_answer,
}
"""What reads an example of the drive program, by the first word of its file's name."""


@pytest.mark.parametrize("path", JOBS, ids=lambda path: path.name)
def test_a_job_is_written_as_it_was_read(path: Path) -> None:
    """A job keeps every key and value."""
    text = path.read_text()
    assert json.loads(text) == json.loads(heard.parse_job(text).model_dump_json())


@pytest.mark.parametrize("path", MESSAGES, ids=lambda path: path.name)
def test_a_message_is_written_as_it_was_read(path: Path) -> None:
    """A message keeps every key and value."""
    text = path.read_text()
    assert json.loads(text) == json.loads(parse_message(text).model_dump_json())


@pytest.mark.parametrize("path", DRIVES, ids=lambda path: path.name)
def test_what_the_drive_program_says_is_written_as_it_was_read(path: Path) -> None:
    """Jobs, messages, commands and answers keep every key and value."""
    text = path.read_text()
    read = READERS[path.name.split(".")[0]]
    assert json.loads(text) == json.loads(read(text).model_dump_json())


def test_every_kind_of_the_drive_program_has_an_example() -> None:
    """Each type of the Python side is read from at least one example."""
    told = {type(READERS[path.name.split(".")[0]](path.read_text())) for path in DRIVES}
    kinds = (
        jobs.AnyDriveJob, drive_messages.AnyDriveMessage, control.AnyCommand, control.AnyAnswer,
    )  # fmt: skip
    assert {kind for union in kinds for kind in get_args(union)} == told
    commands = [heard.parse_command(path.read_text()) for path in DRIVES if ".fault." in path.name]
    broken = {type(each.fault) for each in commands if isinstance(each, control.Fault)}
    assert set(get_args(jobs.AnyFault)) == broken


def test_every_job_and_message_has_an_example() -> None:
    """A kind without an example would not be held together by anything."""
    jobs = {path.name.split(".")[1] for path in JOBS}
    messages = {path.name.split(".")[1] for path in MESSAGES}
    assert {"prepare", "warm-up", "run", "check", "verify-ledger", "calibrate", "canary"} == jobs
    assert {
        "started", "progress", "second", "warning", "failure", "condition",
        "prepare-summary", "warm-up-summary", "run-summary", "check-summary",
        "ledger-finding", "ledger-summary", "calibrate-summary", "canary-summary",
    } == messages  # fmt: skip


def test_the_password_of_a_job_is_not_printed() -> None:
    """The printed form of a job leaves out the URL."""
    size = WorkloadSize(name="order-entry", warehouses=1)
    job = PrepareJob(url="postgresql://u:hush@/d", workload=size, seed=1, loaders=1)
    assert "hush" not in repr(job) + str(job)
