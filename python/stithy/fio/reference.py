"""The reference page of the I/O profiles that are shipped, written from their files."""

from collections.abc import Iterator

from stithy.fio import library
from stithy.fio.profile import Pattern, Profile, Stream, size_text

HEAD = """# The I/O profiles

Written from `python/stithy/fio/profiles/`; do not edit. A study runs them with the scenario
`block-io`: `scenario: {block-io: {profiles: [four-corners, sql]}}`. Each pattern of a profile is
measured by itself; its streams run together. `profile/pattern` names one pattern. Each file says
where its numbers come from, and which are assumed.
"""


def profiles_page() -> str:
    """The page, as Markdown."""
    return "\n".join([HEAD, *(_profile(library.shipped(name)) for name in library.names())])


def _profile(profile: Profile) -> str:
    workers = f" {profile.workers} workers on each volume, each with a part of it." * (
        profile.workers > 1
    )
    head = [f"## {profile.name}", "", f"{profile.title}.{workers}", ""]
    table = [
        "| pattern | stream | reads | block sizes | random | requests outstanding | sync |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    rows = (_row(pattern, each) for pattern in profile.patterns for each in pattern.streams)
    return "\n".join([*head, *table, *rows, ""])


def _row(pattern: Pattern, stream: Stream) -> str:
    cells = (
        f"`{pattern.name}`", stream.name, f"{stream.read_share:.0%}", ", ".join(_sizes(stream)),
        f"{stream.random_share:.0%}", str(stream.jobs * stream.iodepth), stream.sync,
    )  # fmt: skip
    return f"| {' | '.join(cells)} |"


def _sizes(stream: Stream) -> Iterator[str]:
    """Sizes with their shares, reads before writes where they differ."""
    sides = {"reads": stream.read_sizes, "writes": stream.write_sizes}
    known = {name: sizes for name, sizes in sides.items() if sizes}
    alike = len({tuple(sizes.items()) for sizes in known.values()}) == 1
    for name, sizes in list(known.items())[: 1 if alike else 2]:
        whose = "" if alike else f"{name} "
        for size, share in sizes.items():
            text = size if isinstance(size, str) else size_text(size)
            yield f"{whose}{text}" if share == 1 else f"{whose}{text} {share:.0%}"
