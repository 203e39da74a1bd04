"""`stithy drive fault`: break an emulated drive, or repair it, while it runs."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from cyclopts import Parameter

from stithy.cli.talk.options import Json
from stithy.cli.talk.render import say, show_json
from stithy.errors import Refused, UserError
from stithy.names import suggest_instead

if TYPE_CHECKING:
    from pydantic import ValidationError

    from stithy.drives.faults import DriveFaultOptions
    from stithy.wire.drive.jobs import AnyFault
    from stithy.wire.drive.messages import AnswerPowerCut

HEAL, POWER_ON = "heal", "power-on"
"""What ends faults: all but a power cut, and that."""


@Parameter(name="*")
@dataclass(frozen=True)
class FaultOptions:
    """What a fault may be given; None: not given."""

    duration: str | None = None
    """How long a drive hangs, such as 6s; default: until `heal`."""
    factor: float | None = None
    """Factor on the time of slow requests, at least 1; default: 20."""
    added: str | None = None
    """Time added to slow requests, such as 5ms."""
    share: str | None = None
    """Share of the requests that is affected, such as 5%; default: all."""
    every: str | None = None
    """From the begin of one slow time of a stuttering drive to the next; default: 1s."""
    slow: str | None = None
    """How long each slow time lasts; default: 300ms."""
    schedule: str | None = None
    """A shipped schedule, by its name in `stithy drive catalogue`."""
    only: Literal["reads", "writes"] | None = None
    """Which requests fail; default: all."""
    offset: str | None = None
    """Start of the range, such as 1GiB; default: 0B."""
    length: str | None = None
    """Length of the range; default: to the end."""
    bits: int | None = None
    """Number of bits that flip; default: 1000."""
    lost: str | None = None
    """Share of the volatile writes that are lost; default: 30%."""
    torn: str | None = None
    """Share of the volatile writes that are torn; default: 40%."""
    unit: int | None = None
    """Bytes that are written whole or not at all: 512 or 4096; default: 512."""
    seed: int | None = None
    """Seed of the random choice; default: 0."""


def make_fault(kind: str, how: FaultOptions, size_bytes: int) -> "AnyFault":
    """Make the fault of a drive of this size that these words mean. Raises UserError, Refused."""
    from pydantic import ValidationError

    from stithy.wire.drive.jobs import NoFault, PowerOn

    given = {name: value for name, value in vars(how).items() if value is not None}
    takes = find_options(kind)
    names = [of.alias or name for name, of in takes.model_fields.items()] if takes else []
    for option in given:
        if option not in names:
            remedy = f"leave it out; it takes {', '.join(f'--{name}' for name in names)}"
            raise UserError(
                f"{kind!r} does not have this option",
                where=f"--{option}",
                remedy=remedy if names else "leave it out",
            )
    if takes is None:
        return NoFault() if kind == HEAL else PowerOn()
    try:
        return takes.model_validate(given).make_fault(size_bytes)
    except ValidationError as error:
        raise _convert_problems(error) from error


def find_options(kind: str) -> "type[DriveFaultOptions] | None":
    """Find the options of a fault; None of what ends faults. Raises UserError for other words."""
    from stithy.drives.faults import FAULTS

    if kind in (HEAL, POWER_ON):
        return None
    if kind not in FAULTS:
        known = [*FAULTS, HEAL, POWER_ON]
        raise UserError(
            f"there is no fault {kind!r} of a drive",
            where="stithy drive fault",
            remedy=suggest_instead(kind, known),
        )
    return FAULTS[kind]


def _convert_problems(error: "ValidationError") -> UserError | Refused:
    from stithy.study.load import describe_error

    problems = []
    for problem in error.errors(include_url=False):
        what, right = describe_error(problem, ())
        option = "".join(f"--{part}" for part in problem["loc"][:1])
        value = f"{problem['input']!r}: " if option else ""
        problems.append(
            UserError(f"{value}{what}", where=option or "stithy drive fault", remedy=right)
        )
    return (
        problems[0] if len(problems) == 1 else Refused(tuple(problems), where="stithy drive fault")
    )


def inject_fault(
    name: str, kind: str, /, *, how: FaultOptions = FaultOptions(), json: Json = False
) -> None:
    """Inject a fault into a running drive, or end its faults.

    Studies of failures know these faults by the same names, except `drive-lying`. Faults of
    different kinds add up. A fault replaces an earlier one of the same kind. Each kind takes only
    its own options:

    - `drive-slow`: a --share of the requests takes --factor times as long, plus --added.
    - `drive-stuttering`: for --slow of --every, requests take --added longer.
    - `drive-scheduled`: slow in phases, as in the shipped --schedule; it ends by itself.
    - `drive-hung`: no request is answered, for --duration.
    - `drive-errors`: a --share of the requests to a range fails, and of all flushes; --only reads
      or writes.
    - `drive-read-only`: every write and flush fails.
    - `drive-gone`: every request fails.
    - `drive-corrupting`: --bits of a range flip permanently, without an error.
    - `drive-lying`: flushes are answered at once, and make nothing durable.
    - `drive-power-cut`: writes not covered by a flush are lost, torn or kept, by a seeded choice.
      After that every request fails.
    - `power-on`: the power returns. Unmount the drive first.
    - `heal`: ends all faults except a power cut and flipped bits.

    Examples:

        stithy drive fault data drive-hung --duration 6s
        stithy drive fault data drive-slow --factor 10 --share 5%
        stithy drive fault data drive-errors --only reads --offset 1GiB --length 1MiB
        stithy drive fault data drive-power-cut --seed 7

    Parameters
    ----------
    name
        The drive, by its name in `stithy drive list`.
    kind
        The kind of fault.
    """
    from stithy.drives.program import find_drive

    find_options(kind)
    drive = find_drive(name)
    facts = drive.facts or drive.control.list()[0]
    fault_made = make_fault(kind, how, facts.size_bytes)
    cut = drive.control.set_fault(drive.name, fault_made)
    if json:
        counts = cut.model_dump(mode="json", exclude={"answer"}) if cut else None
        show_json(
            {"drive": drive.name, "fault": fault_made.model_dump(mode="json"), "writes": counts}
        )
        return
    done = {HEAL: "repaired", POWER_ON: "the power is on again"}.get(kind, kind)
    say(_cut_text(drive.name, cut) if cut else f"{drive.name}: {done}")


COMMAND = inject_fault


def _cut_text(name: str, cut: "AnswerPowerCut") -> str:
    total = cut.kept + cut.torn + cut.lost
    became = (
        f"of {total:,} volatile writes {cut.kept:,} were kept, {cut.torn:,} torn, {cut.lost:,} lost"
        if total
        else "there was no volatile write"
    )
    return (
        f"{name}: the power is cut; {became}\n"
        f"once nothing uses it: stithy drive fault {name} power-on"
    )
