"""`stithy drive catalogue`: which drives are shipped as profiles."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from stithy.cli.talk.render import format_time_text, make_table, say, show, show_json

if TYPE_CHECKING:
    from stithy.wire.drive.messages import ProfileFacts


def list_catalogue(name: str | None = None, /, *, json: bool = False) -> None:
    """List the shipped drive profiles and fault schedules, or show one profile.

    IOPS and bandwidth are the drive's caps, for reads, writes and both together. A dash means that
    only the service times limit the drive. Assumed values have been neither published nor measured.
    The profile names the source of every other value.

    NAME prints the profile as a TOML file. Copy it to write a profile of your own.

    Examples:

        stithy drive catalogue
        stithy drive catalogue generic-nvme > mine.toml

    Parameters
    ----------
    name
        The name of a profile, or the path of a TOML file, which is then checked.
    json
        Print one JSON document.
    """
    from stithy.drives.profiles import load_catalogue as shipped

    if name is not None:
        _show_one(name, json=json)
        return
    found = shipped()
    if json:
        show_json(
            {
                "profiles": [profile.facts.model_dump(mode="json") for profile in found.profiles],
                "schedules": [
                    schedule.model_dump(mode="json", exclude={"message"})
                    for schedule in found.schedules
                ],
            }
        )
        return
    header = ["profile", "what it is", "capacity", "IOPS r/w/both", "MB/s r/w/both", "assumed"]
    rows = [_make_row(profile.facts) for profile in found.profiles]
    schedules = [
        [of.name, of.title, format_time_text(sum(phase.duration_s for phase in of.phases))]
        for of in found.schedules
    ]
    show(make_table(header, rows, "<<>>><"))
    show("")
    show(make_table(["schedule", "what is slow", "lasts"], schedules))


COMMAND = list_catalogue


def _show_one(name: str, *, json: bool) -> None:
    from stithy.drives.profiles import find_profile

    profile = find_profile(name)
    if json:
        show_json(profile.facts.model_dump(mode="json") | {"text": profile.text})
        return
    show(profile.text.rstrip())
    say(f"{profile.facts.name}: no problems")


def _make_row(facts: "ProfileFacts") -> list[str]:
    iops = (facts.read_iops, facts.write_iops, facts.total_iops)
    rates = (facts.read_bytes_per_s, facts.write_bytes_per_s, facts.total_bytes_per_s)
    # Tables of which something is assumed; the profile itself tells which keys.
    assumed = dict.fromkeys(key.split(".")[0] for key in facts.assumed)
    return [
        facts.name,
        facts.title + ("" if facts.rpm is None else "; it spins"),
        f"{facts.capacity_bytes / 1e9:,.0f} GB",
        _format_caps(iops),
        _format_caps([None if rate is None else rate / 1e6 for rate in rates]),
        ", ".join(assumed) or "nothing",
    ]


def _format_caps(values: Iterable[float | None]) -> str:
    """`440,000/150,000/-`; a single dash where there is none at all."""
    texts = ["-" if value is None else f"{value:,.0f}" for value in values]
    return "-" if set(texts) == {"-"} else "/".join(texts)
