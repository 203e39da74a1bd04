"""What the native programs are reported, read as they read it: Stithy itself only writes it."""

from typing import Annotated

from pydantic import Field, TypeAdapter

from stithy.wire.drive.jobs import AnyDriveJob
from stithy.wire.drive.messages import AnyCommand
from stithy.wire.jobs import AnyJob

_JOB: TypeAdapter[AnyJob] = TypeAdapter(Annotated[AnyJob, Field(discriminator="job")])
_DRIVE_JOB: TypeAdapter[AnyDriveJob] = TypeAdapter(
    Annotated[AnyDriveJob, Field(discriminator="job")]
)
_COMMAND: TypeAdapter[AnyCommand] = TypeAdapter(
    Annotated[AnyCommand, Field(discriminator="command")]
)


def parse_job(text: str | bytes) -> AnyJob:
    """A job of the hammer; pydantic's ValidationError where it is none."""
    return _JOB.validate_json(text)


def parse_drive_job(text: str | bytes) -> AnyDriveJob:
    """A job of the drive program; pydantic's ValidationError where it is none."""
    return _DRIVE_JOB.validate_json(text)


def parse_command(line: str | bytes) -> AnyCommand:
    """A command on the drive program's socket; pydantic's ValidationError where it is none."""
    return _COMMAND.validate_json(line)
