"""The reference page of the comparability key, derived from the facts it consists of."""

from stithy.results.comparability import MEANINGS

_HEAD = """\
# What makes runs comparable

Written from `python/stithy/results/comparability.py`; do not edit.

`stithy compare` holds two runs against each other only if all facts below are the same in both,
save those of the last table. Where one differs it names it and compares nothing, unless `--ignore`
says that this very fact is what the comparison is about: `--ignore kernel`,
`--ignore settings.wal_level`. A fact whose name has dots can be ignored by a part of it:
`--ignore firmware` is that of every device, `--ignore settings` every setting. What is ignored is
printed above the comparison. A fact that is not known in either run counts as equal; one that is
known in one of them only differs.

The facts of a run are in its `manifest.json`: `comparability` with its short form
`comparability_key`, `environment`, and those of each candidate. Of candidates only those count that
both runs have.
"""

_TITLES = {
    "workload": "The workload",
    "load": "The load",
    "database": "The database",
    "stithy": "Stithy",
    "machine": "The machine",
    "candidate": "Each candidate",
    "told": "May differ, and is only told",
}


def reference_page() -> str:
    """The page, as Markdown."""
    return "\n".join([_HEAD, *(_section(group, title) for group, title in _TITLES.items())])


def _section(group: str, title: str) -> str:
    rows = [f"| `{name}` | {each.text} |" for name, each in MEANINGS.items() if each.group == group]
    return "\n".join([f"## {title}", "", "| fact | what it says |", "| --- | --- |", *rows, ""])
