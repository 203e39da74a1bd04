"""`stithy drive fault`: break an emulated drive, or mend it, while it runs."""

from typing import TYPE_CHECKING, Literal

from stithy.cli.drive.faults import FaultOptions, made
from stithy.cli.talk.options import Json
from stithy.cli.talk.render import say, show_json

if TYPE_CHECKING:
    from stithy.wire.drive.control import AnswerPowerCut


def fault(
    name: str,
    kind: Literal[
        "none",
        "stall",
        "slow",
        "schedule",
        "errors",
        "gone",
        "corrupt",
        "lying-flush",
        "power-cut",
        "power-on",
    ],
    /,
    *,
    how: FaultOptions = FaultOptions(),  # noqa: B008 it is frozen
    json: Json = False,
) -> None:
    """Break a drive, or mend it, while whatever uses it goes on.

    Kinds add up; the same kind again replaces the one before. Each takes only its own options:

    - `stall`: nothing is answered for --duration, 10 s if not given.
    - `slow`: a --share of the requests takes --factor times as long, and --added more.
    - `schedule`: slow in phases, by the name of a --schedule; ends by itself.
    - `errors`: a --share of the requests to a range fails, of --only reads or writes.
    - `gone`: every request fails.
    - `corrupt`: so many --bits of a range flip, for ever and unknown to the drive.
    - `lying-flush`: flushes are answered at once, and promise nothing.
    - `power-cut`: writes that no flush covered are lost, torn or kept by a seeded choice, and every
      request fails.
    - `power-on`: the power comes back; the drive must not be mounted then.
    - `none`: mends all but a power cut, and bits that have flipped.

    Examples:

        stithy drive fault data stall --duration 6s
        stithy drive fault data slow --factor 10 --share 5%
        stithy drive fault data errors --only reads --offset 1GiB --length 1MiB
        stithy drive fault data power-cut --seed 7

    Parameters
    ----------
    name
        The drive, by the name that `stithy drive list` shows.
    kind
        What happens to it.

    """
    from stithy.drives.found import drive_named

    fault_made = made(kind, how)
    found = drive_named(name)
    cut = found.control.fault(found.name, fault_made)
    if json:
        counts = cut.model_dump(mode="json", exclude={"answer"}) if cut else None
        show_json(
            {"drive": found.name, "fault": fault_made.model_dump(mode="json"), "writes": counts}
        )
        return
    say(_cut_text(found.name, cut) if cut else f"{found.name}: {TOLD[kind]}")


COMMAND = fault

TOLD = {
    "none": "mended",
    "stall": "answers nothing for a while",
    "slow": "slow from now on",
    "schedule": "slow by its schedule from now on",
    "errors": "fails some requests from now on",
    "gone": "gone: every request fails",
    "corrupt": "bits have flipped",
    "lying-flush": "flushes promise nothing from now on",
    "power-on": "the power is back",
}


def _cut_text(name: str, cut: "AnswerPowerCut") -> str:
    """What became of the writes that were volatile."""
    total = cut.kept + cut.torn + cut.lost
    became = (
        f"of {total:,} writes that no flush covered {cut.kept:,} were kept, {cut.torn:,} torn, "
        f"{cut.lost:,} lost"
        if total
        else "there was no write that it could take"
    )
    return (
        f"{name}: the power is cut; {became}\n"
        f"when nothing uses it: stithy drive fault {name} power-on"
    )
