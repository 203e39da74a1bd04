"""Why values are missing, said once for all that lack them for the same reason."""

import re
from collections.abc import Iterable, Iterator, Sequence

from stithy.report.words.wording import listing

_NUMBER = re.compile(r"(?<![\w.,])\d+(?:,\d{3})*(?:\.\d+)?(?!\w)")


def missing_for(known: Iterable[tuple[str, str]]) -> Iterator[str]:
    """A sentence for each reason, of names and reasons: `Missing for a and b: p95 (…).`

    Reasons that differ in their numbers alone are one, from the least to the greatest.
    """
    alike: dict[str, list[tuple[str, str]]] = {}
    for name, because in known:
        alike.setdefault(_NUMBER.sub("", because), []).append((name, because))
    for pairs in alike.values():
        names = list(dict.fromkeys(name for name, _ in pairs))
        yield f"Missing for {listing(names)}: {_in_one([because for _, because in pairs])}"


def _in_one(reasons: Sequence[str]) -> str:
    columns = zip(*(_NUMBER.findall(each) for each in reasons), strict=True)
    spans = iter([_span(column) for column in columns])
    return _NUMBER.sub(lambda _: next(spans), reasons[0])


def _span(numbers: Sequence[str]) -> str:
    least, most = (
        which(numbers, key=lambda each: float(each.replace(",", ""))) for which in (min, max)
    )
    return least if least == most else f"{least} to {most}"
