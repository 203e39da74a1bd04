"""Why values are missing, said once for all that lack them for the same reason."""

import re
from collections.abc import Iterable, Iterator, Sequence

from stithy.report.words.wording import in_one, listing

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
        because = in_one([each for _, each in pairs], _NUMBER, _span)
        yield f"Missing for {listing(names)}: {because}"


def _span(numbers: Sequence[str]) -> str:
    least, most = (
        which(numbers, key=lambda each: float(each.replace(",", ""))) for which in (min, max)
    )
    return least if least == most else f"{least} to {most}"
