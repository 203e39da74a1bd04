"""The values of `load.find`, `load.find_within` and `load.limit`: within which limit, and of whom.

    find = "max users with" limit
    limit = percentile "of" transaction ("≤" | "<=") duration

Which transaction types there are is checked with the whole study, because the workload has them.
"""

import re
from dataclasses import dataclass
from typing import Annotated, Any, NoReturn

from pydantic import AfterValidator, Field, PlainValidator, WithJsonSchema

from stithy.metrics import PERCENTILES
from stithy.search import Limit, read_time
from stithy.study.wrong import wrong
from stithy.suggest import instead

LIMIT_EXAMPLE = "p95 of new-order ≤ 1 s"
EXAMPLE = f"max users with {LIMIT_EXAMPLE}"
USERS_MOST = 256
"""Own: where the study says no more, a search ends here; each user has a connection by default."""
USERS_MAX = 100_000
LONGEST = 200

_RELATIONS = ("≤", "<=")
_TOKEN = re.compile(r"[<>=!≤≥]+|[^\s<>=!≤≥]+")


@dataclass(frozen=True)
class _Form:
    """How a limit is written: the words before it, what all of it is called, and an example."""

    head: tuple[str, ...]
    noun: str
    example: str


_SEARCH = _Form(("max", "users", "with"), "search", EXAMPLE)
_PLAIN = _Form((), "limit", LIMIT_EXAMPLE)


def read_search(value: Any) -> Limit | None:
    """The limit that is searched for; an error points at the word that does not fit."""
    return _read(value, _SEARCH)


def read_limit(value: Any) -> Limit | None:
    """The limit that is not searched for; errors as above."""
    return _read(value, _PLAIN)


def _read(value: Any, form: _Form) -> Limit | None:
    if value is None or isinstance(value, Limit):
        return value
    if not isinstance(value, str) or not value.strip():
        raise wrong(f"not a {form.noun}", f"such as {form.example}")
    if len(value) > LONGEST:
        raise wrong("too long", f"at most {LONGEST} characters, such as {form.example}")
    return _Words(value, form).limit()


class _Words:
    """A text word by word, so that the first wrong one is told."""

    def __init__(self, text: str, form: _Form) -> None:
        self._text = text
        self._form = form
        self._tokens = list(_TOKEN.finditer(text))
        self._place = 0

    def limit(self) -> Limit:
        for word in self._form.head:
            self._expect((word,))
        percentile = self._expect(tuple(PERCENTILES), "unknown percentile")
        self._expect(("of",))
        transaction = self._expect(None)
        self._expect(_RELATIONS, "not the relation of a limit")
        return Limit(percentile, transaction, self._time())

    def _expect(self, words: tuple[str, ...] | None, what: str | None = None) -> str:
        """The next word, which must be one of these; None: any word."""
        if self._place >= len(self._tokens):
            early = f"a {self._form.noun} that ends too early"
            _fail(early, f"write {self._form.example}", (0, len(self._text.rstrip())))
        found = self._tokens[self._place]
        self._place += 1
        if found[0] in words if words is not None else found[0][0] not in "<>=!≤≥":
            return found[0]
        example = f"write {self._form.example}"
        right = instead(found[0], words) if words and len(words) > 1 else example
        _fail(f"{what or f'not a {self._form.noun}'}, `{found[0]}`", right, found.span())

    def _time(self) -> float:
        """The time after the relation, which is the rest of the sentence."""
        relation = self._tokens[self._place - 1]
        rest = self._text[relation.end() :]
        begin = relation.end() + len(rest) - len(rest.lstrip())
        if not rest.strip():
            _fail("a limit without a time", f"write {self._form.example}", relation.span())
        return _read_time(rest, (begin, len(self._text.rstrip())))


def _read_time(rest: str, part: tuple[int, int]) -> float:
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


_SENTENCE = WithJsonSchema({"type": "string"})
SearchValue = Annotated[Limit | None, PlainValidator(read_search), _SENTENCE]
"""A search in a study file."""

LimitValue = Annotated[Limit | None, PlainValidator(read_limit), _SENTENCE]
"""A limit in a study file that is not searched for."""

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
