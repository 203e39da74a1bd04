"""What the commands of `stithy drive` share: options, and how a drive is shown."""

from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from stithy.cli.talk.options import read
from stithy.cli.talk.render import format_size_text

if TYPE_CHECKING:
    from stithy.drives.program import FoundDrive
    from stithy.wire.drive.messages import DriveUp

DriveName = Annotated[str, Parameter(help="The drive, by its name in `stithy drive list`.")]


def read_share(text: str, option: str) -> float:
    """A share of an option given in percent, 0 to 1. Raises UserError."""
    from stithy.units import parse_fine_percent

    return read(parse_fine_percent, text, option, "a share") / 100


def scale(text: str, option: str) -> float:
    """The divisor of an option such as `1/8`. Raises UserError."""
    from stithy.units import parse_scale

    return read(parse_scale, text, option, "a scale")


def describe_backing(facts: "DriveUp") -> str:
    """`memory`, or the path of the file."""
    return facts.backing.path if facts.backing.kind == "file" else "memory"


def describe_profile(facts: "DriveUp") -> str:
    """`generic-nvme`, `generic-nvme 1/8`, or that it takes no time."""
    from stithy.units import format_scale

    if facts.profile is None:
        return "none"
    return facts.profile + ("" if facts.scale == 1 else f" {format_scale(facts.scale)}")


def describe_drive(facts: "DriveUp") -> str:
    """`data is up: 8 GiB in memory, generic-nvme`."""
    takes = "takes no time" if facts.profile is None else describe_profile(facts)
    size = format_size_text(facts.size_bytes)
    return f"{facts.drive} is up: {size} in {describe_backing(facts)}, {takes}"


def make_drive_json(facts: "DriveUp") -> dict[str, Any]:
    """A drive that is up, as on the wire."""
    keys = set(type(facts).model_fields) - {"answer", "message"}
    return facts.model_dump(mode="json", include=keys)


def make_found_json(found: "FoundDrive") -> dict[str, Any]:
    """A drive of the list; what is not known of it is null, with the reason in `problem`."""
    from stithy.wire.drive.messages import DriveUp

    known = make_drive_json(found.facts) if found.facts else dict.fromkeys(DriveUp.model_fields)
    return known | {
        "drive": found.name,
        "device": found.device,
        "full_name": found.full_name,
        "run_id": found.run_id,
        "problem": found.problem,
        "mounted": [str(mount) for mount in found.mounted],
    }
