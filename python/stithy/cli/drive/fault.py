"""`stithy drive fault`: break an emulated drive, or repair it, while it runs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from cyclopts import Parameter

from stithy.cli.drive import options
from stithy.cli.talk.options import Json, read_seconds, read_size, require_within
from stithy.cli.talk.render import say, show_json
from stithy.errors import UserError

if TYPE_CHECKING:
    from stithy.wire.drive.jobs import AnyFault
    from stithy.wire.drive.messages import AnswerPowerCut


@Parameter(name="*")
@dataclass(frozen=True)
class FaultOptions:
    """What a fault may be given; None: not given."""

    duration: str | None = None
    """Length of a stall, such as 6s."""
    factor: float | None = None
    """Factor on the time of slow requests, at least 1."""
    added: str | None = None
    """Time added to slow requests, such as 5ms."""
    share: str | None = None
    """Share of the requests that is affected, such as 5%; default: all."""
    schedule: str | None = None
    """A shipped schedule, by its name in `stithy drive catalogue`."""
    only: Literal["reads", "writes"] | None = None
    """Which requests fail; default: all."""
    offset: str | None = None
    """Start of the range, such as 1GiB; default: 0B."""
    length: str | None = None
    """Length of the range; default: to the end."""
    bits: int | None = None
    """Number of bits that flip; default: 1."""
    lost: str | None = None
    """Share of the volatile writes that are lost; default: 30%."""
    torn: str | None = None
    """Share of the volatile writes that are torn; default: 40%."""
    unit: int | None = None
    """Bytes that are written whole or not at all: 512 or 4096; default: 512."""
    seed: int | None = None
    """Seed of the random choice; default: 0."""


TAKES: Mapping[str, frozenset[str]] = {
    "none": frozenset(),
    "stall": frozenset({"duration"}),
    "slow": frozenset({"factor", "added", "share"}),
    "schedule": frozenset({"schedule"}),
    "errors": frozenset({"only", "offset", "length", "share"}),
    "gone": frozenset(),
    "corrupt": frozenset({"offset", "length", "bits", "seed"}),
    "lying-flush": frozenset(),
    "power-cut": frozenset({"lost", "torn", "unit", "seed"}),
    "power-on": frozenset(),
}
"""Which options each kind takes."""

BITS_MAX = 1_000_000
"""As many as the drive program flips at once."""

STALL = "10s"
LOST, TORN = "30%", "40%"
UNIT_BYTES = 512

Keys = dict[str, Any]


def make_fault(kind: str, how: FaultOptions) -> "AnyFault":
    """The fault that these words mean. Raises UserError for what is wrong or of another kind."""
    from pydantic import TypeAdapter

    from stithy.wire.drive.jobs import DriveFault

    _refuse_foreign(kind, how)
    require_within("--bits", how.bits, 1, BITS_MAX)
    require_within("--seed", how.seed, 0, 2**64 - 1)
    keys = _KEYS[kind](how) if kind in _KEYS else {}
    known: TypeAdapter[AnyFault] = TypeAdapter(DriveFault)
    return known.validate_python({"kind": kind, **keys})


def _refuse_foreign(kind: str, how: FaultOptions) -> None:
    for option, value in vars(how).items():
        if value is not None and option not in TAKES[kind]:
            takes = ", ".join(f"--{name}" for name in sorted(TAKES[kind]))
            raise UserError(
                f"{kind!r} does not have this option",
                where=f"--{option}",
                remedy=f"leave it out; it takes {takes}" if takes else "leave it out",
            )


def _read_share(text: str | None, option: str, default: str = "100%") -> float:
    return options.read_share(text or default, option)


def _make_stall(how: FaultOptions) -> Keys:
    return {"duration_s": read_seconds(how.duration or STALL, "--duration")}


def _make_slow(how: FaultOptions) -> Keys:
    if how.factor is None and how.added is None:
        raise UserError(
            "neither a factor nor an added time is given",
            where="stithy drive fault",
            remedy="give --factor, such as 10, or --added, such as 5ms",
        )
    factor = 1.0 if how.factor is None else how.factor
    if not 1 <= factor <= 1e6:
        raise UserError(
            f"the factor {factor:g} is out of range",
            where="--factor",
            remedy="give 1 to 1e6; 10 takes ten times as long",
        )
    added_s = read_seconds(how.added, "--added") if how.added else 0.0
    return {"factor": factor, "added_s": added_s, "share": _read_share(how.share, "--share")}


def _schedule(how: FaultOptions) -> Keys:
    from stithy.drives.profiles import load_catalogue

    shipped = load_catalogue()
    if how.schedule is None:
        raise UserError(
            "no schedule is named",
            where="--schedule",
            remedy=f"give one of {', '.join(schedule.name for schedule in shipped.schedules)}",
        )
    return {"schedule": {"kind": "shipped", "name": shipped.schedule(how.schedule).name}}


def _make_errors(how: FaultOptions) -> Keys:
    return {
        "reads": how.only != "writes",
        "writes": how.only != "reads",
        "offset_bytes": _read_offset(how),
        "length_bytes": read_size(how.length, "--length") if how.length else None,
        "share": _read_share(how.share, "--share"),
    }


def _make_corrupt(how: FaultOptions) -> Keys:
    if how.length is None:
        raise UserError(
            "no range is given in which bits flip",
            where="--length",
            remedy="give the length of the range, such as 1MiB, and its start with --offset",
        )
    return {
        "offset_bytes": _read_offset(how),
        "length_bytes": read_size(how.length, "--length"),
        "bits": 1 if how.bits is None else how.bits,
        "seed": how.seed or 0,
    }


def _make_power_cut(how: FaultOptions) -> Keys:
    lost, torn = _read_share(how.lost, "--lost", LOST), _read_share(how.torn, "--torn", TORN)
    if lost + torn > 1:
        raise UserError(
            "the shares of lost and torn writes exceed 100% together",
            where="--lost and --torn",
            remedy="give shares that are at most 100% together",
        )
    unit_bytes = UNIT_BYTES if how.unit is None else how.unit
    if unit_bytes not in (512, 4096):
        raise UserError(
            f"a unit of {unit_bytes} bytes is not possible",
            where="--unit",
            remedy="give 512 or 4096",
        )
    shares = {"lost_share": lost, "torn_share": torn}
    return {"seed": how.seed or 0, **shares, "unit_bytes": unit_bytes}


def _read_offset(how: FaultOptions) -> int:
    return read_size(how.offset, "--offset") if how.offset else 0


_KEYS: Mapping[str, Callable[[FaultOptions], Keys]] = {
    "stall": _make_stall, "slow": _make_slow, "schedule": _schedule, "errors": _make_errors,
    "corrupt": _make_corrupt, "power-cut": _make_power_cut,
}  # fmt: skip
"""The keys of each kind that has any, as on the wire."""


def inject_fault(
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
    how: FaultOptions = FaultOptions(),
    json: Json = False,
) -> None:
    """Inject a fault into a running drive, or end its faults.

    Faults of different kinds add up. A fault replaces an earlier one of the same kind. Each kind
    takes only its own options:

    - `stall`: no request is answered for --duration; default: 10 s.
    - `slow`: a --share of the requests takes --factor times as long, plus --added.
    - `schedule`: slow in phases, as in the shipped --schedule; it ends by itself.
    - `errors`: a --share of the requests to a range fails, and of all flushes; --only reads or
      writes.
    - `gone`: every request fails.
    - `corrupt`: --bits of a range flip permanently, without an error.
    - `lying-flush`: flushes are answered at once, and make nothing durable.
    - `power-cut`: writes not covered by a flush are lost, torn or kept, by a seeded choice. After
      that every request fails.
    - `power-on`: the power returns. Unmount the drive first.
    - `none`: ends all faults except a power cut and flipped bits.

    Examples:

        stithy drive fault data stall --duration 6s
        stithy drive fault data slow --factor 10 --share 5%
        stithy drive fault data errors --only reads --offset 1GiB --length 1MiB
        stithy drive fault data power-cut --seed 7

    Parameters
    ----------
    name
        The drive, by its name in `stithy drive list`.
    kind
        The kind of fault.
    """
    from stithy.drives.program import find_drive

    fault_made = make_fault(kind, how)
    found = find_drive(name)
    cut = found.control.set_fault(found.name, fault_made)
    if json:
        counts = cut.model_dump(mode="json", exclude={"answer"}) if cut else None
        show_json(
            {"drive": found.name, "fault": fault_made.model_dump(mode="json"), "writes": counts}
        )
        return
    say(_cut_text(found.name, cut) if cut else f"{found.name}: {TOLD[kind]}")


COMMAND = inject_fault

TOLD = {
    "none": "repaired",
    "stall": "answers nothing for a while",
    "slow": "slow from now on",
    "schedule": "slow by its schedule from now on",
    "errors": "fails some requests from now on",
    "gone": "gone: every request fails",
    "corrupt": "bits have flipped",
    "lying-flush": "flushes make nothing durable from now on",
    "power-on": "the power is on again",
}


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
