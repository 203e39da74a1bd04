"""The examples of the protocol hold both languages together: read, and written again unchanged."""

import json
from pathlib import Path

import pytest

from stithy.wire.jobs import PrepareJob, WorkloadSize, parse_job
from stithy.wire.messages import parse_message

EXAMPLES = Path(__file__).resolve().parents[2] / "wire" / "examples"
JOBS = sorted(EXAMPLES.glob("job.*.json"))
MESSAGES = sorted(EXAMPLES.glob("message.*.json"))


@pytest.mark.parametrize("path", JOBS, ids=lambda path: path.name)
def test_a_job_is_written_as_it_was_read(path: Path) -> None:
    """A job keeps every key and value."""
    text = path.read_text()
    assert json.loads(text) == json.loads(parse_job(text).model_dump_json())


@pytest.mark.parametrize("path", MESSAGES, ids=lambda path: path.name)
def test_a_message_is_written_as_it_was_read(path: Path) -> None:
    """A message keeps every key and value."""
    text = path.read_text()
    assert json.loads(text) == json.loads(parse_message(text).model_dump_json())


def test_every_job_and_message_has_an_example() -> None:
    """A kind without an example would not be held together by anything."""
    jobs = {path.name.split(".")[1] for path in JOBS}
    messages = {path.name.split(".")[1] for path in MESSAGES}
    assert {"prepare", "warm-up", "run", "check", "verify-ledger", "calibrate"} == jobs
    assert {
        "started", "progress", "second", "warning", "failure", "condition",
        "prepare-summary", "warm-up-summary", "run-summary", "check-summary",
        "ledger-finding", "ledger-summary", "calibrate-summary",
    } == messages  # fmt: skip


def test_the_password_of_a_job_is_not_printed() -> None:
    """The printed form of a job leaves out the URL."""
    size = WorkloadSize(name="order-entry", warehouses=1)
    job = PrepareJob(url="postgresql://u:hush@/d", workload=size, seed=1, loaders=1)
    assert "hush" not in repr(job) + str(job)
