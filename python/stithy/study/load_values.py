"""Values and rules of the `load` section: pace, search and target of response time, contradictions.

The rules over several keys hold for the `load` section of a study and for the options of `stithy
hammer run` alike, which have the same names.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal, NoReturn

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, TypeAdapter, WithJsonSchema

from stithy.errors import TextError
from stithy.metrics import PERCENTILES
from stithy.names import suggest_instead
from stithy.search import ResponseTarget, read_time
from stithy.study.problems import Violation
from stithy.units import Seconds, format_duration, limit_quantity, make_rule_error, require
from stithy.workloads.workload import Driving

Kind = Literal["none", "keyed", "think"]
WORDS: tuple[Kind, ...] = ("none", "keyed")
THINK_S_MIN = 1e-3
THINK_S_MAX = 3600.0


@dataclass(frozen=True)
class Pace:
    """`none`: back to back; `keyed`: as specified; `think`: a mean think time of `think_s`."""

    kind: Kind = "none"
    think_s: float | None = None


class _ThinkKeys(BaseModel):
    """The form `{think: 2 s}`."""

    model_config = ConfigDict(extra="forbid", strict=True)

    think: Annotated[Seconds, limit_quantity(THINK_S_MIN, THINK_S_MAX, format_duration)]


RIGHT = "one of none, keyed, {think: 2 s}"


def read_pace(value: Any) -> Pace:
    """The pace that a word or a mapping names; an error says which there are."""
    if isinstance(value, Pace):
        return value
    if isinstance(value, dict) and value.keys() == {"think"}:
        return Pace("think", _ThinkKeys.model_validate(value).think)
    named = next((word for word in WORDS if word == value), None)
    if named is None:
        raise make_rule_error("not a pace", RIGHT)
    return Pace(named)


_THINK_SCHEMA = TypeAdapter(_ThinkKeys).json_schema()["properties"]["think"]
del _THINK_SCHEMA["title"]

PaceValue = Annotated[
    Pace,
    PlainValidator(read_pace),
    WithJsonSchema({"anyOf": [
        {"enum": list(WORDS)},
        {"type": "object", "properties": {"think": _THINK_SCHEMA}, "required": ["think"],
         "additionalProperties": False},
    ]}),
]  # fmt: skip
"""A pace in a study file."""


LIMIT_EXAMPLE = "p95 of new-order ≤ 1 s"
EXAMPLE = f"max users with {LIMIT_EXAMPLE}"
USERS_MOST = 256
"""Where the study says no more, a search ends here; each user has a connection by default."""
USERS_MAX = 1_000_000
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


def _read(value: Any, form: _Form) -> ResponseTarget | None:
    """The limit that is written so; an error points at the word that does not fit."""
    if value is None or isinstance(value, ResponseTarget):
        return value
    if not isinstance(value, str) or not value.strip():
        raise make_rule_error(f"not a {form.noun}", f"such as {form.example}")
    if len(value) > LONGEST:
        raise make_rule_error("too long", f"at most {LONGEST} characters, such as {form.example}")
    return _WordReader(value, form).limit()


class _WordReader:
    """A text word by word, so that the first wrong one is reported."""

    def __init__(self, text: str, form: _Form) -> None:
        self._text = text
        self._form = form
        self._tokens = list(_TOKEN.finditer(text))
        self._place = 0

    def limit(self) -> ResponseTarget:
        for word in self._form.head:
            self._expect((word,))
        percentile = self._expect(tuple(PERCENTILES), "unknown percentile")
        self._expect(("of",))
        transaction = self._expect(None)
        self._expect(_RELATIONS, "not the relation of a response-time target")
        return ResponseTarget(percentile, transaction, self._time())

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
        right = suggest_instead(found[0], words) if words and len(words) > 1 else example
        _fail(f"{what or f'not a {self._form.noun}'}, `{found[0]}`", right, found.span())

    def _time(self) -> float:
        relation = self._tokens[self._place - 1]
        rest = self._text[relation.end() :]
        begin = relation.end() + len(rest) - len(rest.lstrip())
        if not rest.strip():
            _fail("a target without a time", f"write {self._form.example}", relation.span())
        part = (begin, len(self._text.rstrip()))
        try:
            limit_s = read_time(rest)
        except TextError as error:
            _fail(f"not a duration, `{rest.strip()}`", str(error), part)
        if not limit_s > 0:
            _fail("a response-time target of 0", "a time above 0, such as 1 s", part)
        return limit_s


def _fail(what: str, right: str, part: tuple[int, int]) -> NoReturn:
    raise make_rule_error(what, right, part)


_SENTENCE = WithJsonSchema({"type": "string"})
SearchValue = Annotated[
    ResponseTarget | None, PlainValidator(partial(_read, form=_SEARCH)), _SENTENCE
]
"""A search in a study file."""

LimitValue = Annotated[
    ResponseTarget | None, PlainValidator(partial(_read, form=_PLAIN)), _SENTENCE
]
"""A limit in a study file that is not searched for."""

Users = Annotated[int, Field(ge=1, le=USERS_MAX)]

Within = Annotated[
    tuple[Users, ...] | None,
    Field(strict=False),
    require(
        lambda within: within is None or (len(within) == 2 and within[0] < within[1]),
        "not two ascending levels",
        "the fewest users, then the most: [1, 500]",
    ),
    WithJsonSchema({
        "type": "array", "minItems": 2, "maxItems": 2,
        "items": {"type": "integer", "minimum": 1, "maximum": USERS_MAX},
    }),
]  # fmt: skip
"""Where a search begins and where it ends."""


class Levels:
    """What a load has as a section of a study, and as facts of a run."""

    users: tuple[int, ...]

    @property
    def levels(self) -> tuple[int, ...]:
        return self.users

    @property
    def is_idle(self) -> bool:
        return self.users == (0,)


@dataclass(frozen=True)
class LoadOptions:
    """What was asked for; `given` names the keys that were written and not left to defaults.

    `connections` None gives each user its own. `find_most` is where a search ends, None where
    nothing is searched for. `at_shares`: transactions arrive at shares of a measured maximum.
    """

    users: tuple[int, ...]
    given: frozenset[str]
    connections: int | None
    keyed: bool
    rate_per_s: float | None
    touch_percent: int
    find_most: int | None = None
    at_shares: bool = False
    ledger: bool = False

    @property
    def is_open(self) -> bool:
        """Whether transactions arrive at a rate, this one or a share of a measured maximum."""
        return self.rate_per_s is not None or self.at_shares

    @property
    def users_max(self) -> int:
        return max((*self.users, self.find_most or 0))

    @property
    def place_of_most(self) -> tuple[str, int]:
        """The key that asks for so many."""
        if self.users_max in self.users:
            return "users", self.users.index(self.users_max)
        return "find_within", 1

    @property
    def driving(self) -> Driving:
        """The same as a workload must know it."""
        return Driving(
            users_most=self.users_max,
            most_at=("load", *self.place_of_most),
            is_keyed=self.keyed,
            is_open=self.is_open,
            touch_percent=self.touch_percent,
            keeps_ledger=self.ledger,
        )


def find_conflicts(asked: LoadOptions, *, defers: bool = False) -> Iterator[Violation]:
    """All that contradicts itself, each at the key to change.

    `defers`: users leave something to be done behind their backs, on other connections.
    """
    if asked.is_open:
        yield from _open_loop(asked)
    else:
        yield from _check_closed_loop(asked, defers)


def _open_loop(asked: LoadOptions) -> Iterator[Violation]:
    if asked.find_most is not None:
        key = "find" if asked.rate_per_s is None else "rate"
        right = "leave out one of them: at a rate, users are only connections"
        yield Violation("a search for users at a rate", right, asked.rate_per_s, (key,))
    if "pace" in asked.given:
        key = "pace" if asked.rate_per_s is None else "rate"
        right = "keep one: a pace belongs to a closed loop, where users wait for answers"
        yield Violation("a rate together with a pace", right, asked.rate_per_s, (key,))
    if asked.connections is not None and len(asked.users) > 1:
        right = "keep one, or leave out `connections`: at a rate, users are only connections"
        yield Violation("levels that would all be the same", right, list(asked.users), ("users",))


def _check_closed_loop(asked: LoadOptions, defers: bool) -> Iterator[Violation]:
    if "arrivals" in asked.given:
        right = "add `rate`, such as 500/s, or leave it out"
        yield Violation("arrivals without a rate", right, None, ("arrivals",))
    most = asked.users_max
    # What is deferred needs connections beside the users' own.
    if asked.connections is not None and asked.connections > most and not defers:
        right = f"at most {most}, because a user has one transaction at a time; or leave it out"
        yield Violation("more connections than users", right, asked.connections, ("connections",))
