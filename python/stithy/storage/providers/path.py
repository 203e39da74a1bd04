"""A directory or mount that exists, or whose parent does: nothing is formatted or mounted."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

NAME = "path"


class Spec(BaseModel):
    """A candidate that is a directory."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: Path = Field(
        description="The directory that gets the database: missing (it is made), or empty.",
        examples=["/var/tmp/stithy"],
    )
