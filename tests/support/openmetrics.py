"""A strict reader of OpenMetrics text: what is not by the grammar fails the test.

Source: the OpenMetrics specification 1.0, "Text format", "MetricFamily" and "Exposition across
time": families and sets of labels whole and together, time stamps that grow, an end that is said.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

HEAD = re.compile(r"# (TYPE|UNIT|HELP) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.*)")
SAMPLE = re.compile(
    r"([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)(?: (\d+(?:\.\d+)?))?"
)
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(?:,|$)')
PLAIN = {"\\\\": "\\", '\\"': '"', "\\n": "\n"}


@dataclass
class Read:
    """One family as read: its unit, its help, and each sample as labels, value, time stamp."""

    unit: str = ""
    help: str = ""
    samples: list[tuple[dict[str, str], float, float | None]] = field(default_factory=list)


def read(text: str) -> Mapping[str, Read]:
    """The families of a document by their names."""
    assert text.endswith("# EOF\n")
    lines = text.removesuffix("# EOF\n").splitlines()
    assert text.count("\n") == len(lines) + 1, "a line break that no line ends with"
    families: dict[str, Read] = {}
    name = ""
    for line in lines:
        if head := HEAD.fullmatch(line):
            kind, shown, value = head.groups()
            if kind == "TYPE":
                assert shown not in families, f"{shown} is in two places"
                assert value == "gauge"
                name = shown
                families[name] = Read()
            assert shown == name, line
            if kind == "UNIT":
                assert name.endswith(f"_{value}"), line
                families[name].unit = value
            if kind == "HELP":
                families[name].help = value
        else:
            _sample(line, name, families[name])
    for shown, each in families.items():
        _require_order(shown, each)
    return families


def _sample(line: str, name: str, into: Read) -> None:
    found = SAMPLE.fullmatch(line)
    assert found is not None, line
    assert found[1] == name, line
    labels: dict[str, str] = {}
    rest = found[2] or ""
    while rest:
        label = LABEL.match(rest)
        assert label is not None, line
        assert label[1] not in labels, line
        labels[label[1]] = re.sub(r'\\[\\"n]', lambda each: PLAIN[each[0]], label[2])
        rest = rest[label.end() :]
    into.samples.append((labels, float(found[3]), float(found[4]) if found[4] else None))


def _require_order(name: str, each: Read) -> None:
    """Each set of labels once and whole, its time stamps growing."""
    assert each.samples, f"{name} has no sample"
    seen: dict[tuple[tuple[str, str], ...], float | None] = {}
    last = None
    for labels, _, at_s in each.samples:
        key = tuple(sorted(labels.items()))
        if key in seen:
            assert key == last, f"{name} {labels} is in two places"
            before = seen[key]
            assert at_s is not None, (name, labels)
            assert before is not None, (name, labels)
            assert at_s > before, (name, labels)
        seen[key], last = at_s, key
