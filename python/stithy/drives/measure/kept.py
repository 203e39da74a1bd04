"""The measurement that lies beside a profile: its file, and reading it back."""

from pathlib import Path

from pydantic import ValidationError

from stithy.drives.measure.measurement import Measurement
from stithy.errors import UserError

SUFFIX = ".measured.json"


def beside(profile: Path) -> Path:
    """The file of the measurement of a profile's file."""
    return profile.with_suffix(SUFFIX)


def read(path: Path) -> Measurement:
    """A measurement that was kept. Raises UserError for a file that is none."""
    try:
        return Measurement.model_validate_json(path.read_bytes())
    except OSError as error:
        raise UserError(
            f"the measurement cannot be read: {(error.strerror or str(error)).lower()}",
            where=str(path),
            remedy="keep it beside its profile, as `stithy drive profile` wrote it",
        ) from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(each) for each in first["loc"])
        raise UserError(
            f"this is no measurement of this version ({place}: {first['msg']})",
            where=str(path),
            remedy="measure again with `stithy drive profile`",
        ) from error
