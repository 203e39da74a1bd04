"""The values of `load.find` and `load.find_within`: what users are searched for, and between which.

    find = "max users with" percentile "of" transaction ("≤" | "<=") duration

Which transaction types there are is checked with the whole study, because the workload has them.
"""

import re
from typing import Annotated, Any, NoReturn

from pydantic import AfterValidator, Field, PlainValidator, WithJsonSchema

from stithy.metrics import PERCENTILES
from stithy.search import Limit, read_time
from stithy.study.wrong import wrong
from stithy.suggest import closest

EXAMPLE = "max users with p95 of new-order ≤ 1 s"
USERS_MOST = 256
"""Own: where the study says no more, a search ends here; each user has a connection by default."""
USERS_MAX = 100_000
LONGEST = 200

_HEAD = ("max", "users", "with")
_RELATIONS = ("≤", "<=")
_TOKEN = re.compile(r"[<>=!≤≥]+|[^\s<>=!≤≥]+")


def read_limit(value: Any) -> Limit | None:
    """The limit that a sentence writes; an error points at the word that does not fit."""
    if value is None or isinstance(value, Limit):
        return value
    if not isinstance(value, str) or not value.strip():
        raise wrong("not a search", f"such as {EXAMPLE}")
    if len(value) > LONGEST:
        raise wrong("too long", f"at most {LONGEST} characters, such as {EXAMPLE}")
    return _read(value, list(_TOKEN.finditer(value)))


def _read(text: str, tokens: list[re.Match[str]]) -> Limit:
    """Word by word, so that the first wrong one is told."""
    for place, word in enumerate(_HEAD):
        _expect(text, tokens, place, (word,))
    percentile = _expect(text, tokens, 3, tuple(PERCENTILES), "unknown percentile")
    _expect(text, tokens, 4, ("of",))
    transaction = _expect(text, tokens, 5, None)
    _expect(text, tokens, 6, _RELATIONS, "not the relation of a limit")
    return Limit(percentile, transaction, _time(text, tokens))


def _expect(
    text: str,
    tokens: list[re.Match[str]],
    place: int,
    words: tuple[str, ...] | None,
    what: str = "not a search",
) -> str:
    """The word at a place, which must be one of these; None: any word."""
    if place >= len(tokens):
        after = text.rstrip()
        _fail("a search that ends too early", f"write {EXAMPLE}", (0, len(after)))
    found = tokens[place]
    if words is None and found[0][0] not in "<>=!≤≥":
        return found[0]
    if words is not None and found[0] in words:
        return found[0]
    guess = closest(found[0], words or ())
    right = f"did you mean `{guess}`?" if guess else f"one of {', '.join(words or ())}"
    if words is None or len(words) == 1:
        right = f"write {EXAMPLE}"
    _fail(f"{what}, `{found[0]}`", right, found.span())


def _time(text: str, tokens: list[re.Match[str]]) -> float:
    """The time after the relation, which is the rest of the sentence."""
    start = tokens[6].end()
    rest = text[start:]
    part = (start + len(rest) - len(rest.lstrip()), len(text.rstrip()))
    if not rest.strip():
        _fail("a limit without a time", f"write {EXAMPLE}", tokens[6].span())
    try:
        limit_s = read_time(rest)
    except ValueError as error:
        _fail(f"not a duration, `{rest.strip()}`", str(error), part)
    if not limit_s > 0:
        _fail("a limit that nothing obeys", "a time above 0, such as 1 s", part)
    return limit_s


def _fail(what: str, right: str, part: tuple[int, int]) -> NoReturn:
    raise wrong(what, right, part)


def _bounds(within: tuple[int, ...] | None) -> tuple[int, int] | None:
    if within is None:
        return None
    if len(within) != 2 or within[0] >= within[1]:
        raise wrong("not two levels in their order", "the fewest users and the most: [1, 500]")
    return within[0], within[1]


LimitValue = Annotated[Limit | None, PlainValidator(read_limit), WithJsonSchema({"type": "string"})]
"""A search in a study file."""

Users = Annotated[int, Field(ge=1, le=USERS_MAX)]

Within = Annotated[
    tuple[Users, ...] | None,
    Field(strict=False),
    AfterValidator(_bounds),
    WithJsonSchema({
        "type": "array", "minItems": 2, "maxItems": 2,
        "items": {"type": "integer", "minimum": 1, "maximum": USERS_MAX},
    }),
]  # fmt: skip
"""Where a search begins and where it ends."""
