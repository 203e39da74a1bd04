"""Reading thresholds: a small grammar of its own, and what is wrong at which character.

    threshold = side relation side           relation = ">=" | "<=" | ">" | "<"
    side      = value | number "*" value | value "*" number | constant
    value     = candidate "." [whose "."] metric "_at_" point
    constant  = number | number unit | number "/" duration-unit | size "/" "s"

Metrics are those of `stithy.metrics`; `whose` is what follows `of` in the primary question. A name
is whatever stands between spaces, stars and relations, and is read from its end: so it may hold
dashes and dots, and look like a number.
"""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, NoReturn

from pydantic import ValidationInfo

from stithy.errors import TextError
from stithy.metrics import ALL, TPM, Quantity, check, find, find_uncollected
from stithy.names import suggest_instead
from stithy.point import Point, find_named, join_words, list_telling
from stithy.study.load_keys import LEVELS_KEY
from stithy.study.problems import Violation, refuse
from stithy.study.sections import list_own_factors, list_transactions
from stithy.study.vary import list_points
from stithy.thresholds import (
    EXAMPLES,
    RELATIONS,
    UNITS,
    Constant,
    MeasuredSide,
    Number,
    Relation,
    Side,
    Threshold,
    convert_fitting,
    read_number,
)
from stithy.units import make_rule_error

EXAMPLE = "nvme.tpm_at_13 >= 1.2 * sata.tpm_at_13"
THRESHOLDS_MAX = 200
TEXT_LONGEST = 300

_WORD = r"[^\s*<>=!≤≥]+"
_TOKEN = re.compile(rf"[<>=!≤≥]+|\*|{_WORD}")
_NUMBER = re.compile(r"\d+(\.\d+)?", re.ASCII)
_CONSTANT = re.compile(r"[-+]?\d[\d.,_]*\s*(/?\s*[A-Za-zµ%]+(\s*/\s*[A-Za-z]+)?)?")


@dataclass(frozen=True)
class Names:
    """What a study has that thresholds may name."""

    candidates: Sequence[str]
    points: Sequence[Point]
    transactions: Sequence[str]


class Mistake(NamedTuple):
    """What is wrong with the characters from `start` to before `end`, and what would be right."""

    what: str
    right: str
    start: int
    end: int


class NotAThreshold(Exception):
    """A text that is no threshold; carries every mistake in it."""

    def __init__(self, *mistakes: Mistake) -> None:
        """`mistakes` has at least one entry."""
        super().__init__(*mistakes)
        self.mistakes = mistakes


class _Token(NamedTuple):
    text: str
    start: int
    end: int


def read_thresholds(value: Any, info: ValidationInfo) -> tuple[Threshold, ...]:
    """The thresholds of a study, checked against what else stands in it.

    Where candidates, workload or levels are themselves wrong only those are reported.
    """
    if isinstance(value, tuple) and all(isinstance(each, Threshold) for each in value):
        return value
    if not isinstance(value, list):
        raise make_rule_error("not a list", f"such as [{EXAMPLE}]")
    if len(value) > THRESHOLDS_MAX:
        raise make_rule_error("too long", f"at most {THRESHOLDS_MAX} thresholds")
    if not info.data.keys() >= {"candidates", "scenario", "given_workload", "given_load"}:
        return ()
    data = info.data
    every = list_points(
        list_own_factors(data["scenario"], data["given_load"]), data.get("vary", {})
    )
    names = Names(list(data["candidates"]), every, list_transactions(data["given_workload"]))
    found = [_read(text, names) for text in value]
    known = [each for each in found if isinstance(each, Threshold)]
    refuse(_find_wrong(value, found))
    return tuple(known)


def _read(text: object, names: Names) -> Threshold | tuple[Mistake, ...]:
    if not isinstance(text, str) or not text.strip():
        return (Mistake("not a text", f"such as {EXAMPLE}", 0, 0),)
    try:
        return parse_threshold(text, names)
    except NotAThreshold as error:
        return error.mistakes


def _find_wrong(
    texts: Sequence[object], found: Sequence[Threshold | tuple[Mistake, ...]]
) -> Iterator[Violation]:
    """Every mistake at its place, and every threshold that was there before."""
    for i, (text, each) in enumerate(zip(texts, found, strict=True)):
        if not isinstance(each, Threshold):
            for mistake in each:
                part = (mistake.start, mistake.end)
                yield Violation(mistake.what, mistake.right, text, (i,), part)
        elif each in found[:i]:
            yield Violation("a threshold given twice", "keep one of them", text, (i,))


def parse_threshold(text: str, names: Names) -> Threshold:
    """The threshold that a text writes. Raises NotAThreshold, and nothing else."""
    if len(text) > TEXT_LONGEST:
        _fail("too long", f"at most {TEXT_LONGEST} characters", 0, len(text))
    tokens = [_Token(match[0], *match.span()) for match in _TOKEN.finditer(text)]
    at = _read_relation(tokens, text)
    left, right = _read_both(text, tokens[:at], tokens[at], tokens[at + 1 :], names)
    first, last = (tokens[0].start, tokens[at - 1].end), (tokens[at + 1].start, tokens[-1].end)
    if isinstance(left, Number) and isinstance(right, Number):
        _fail("a threshold without a measured value", f"such as {EXAMPLE}", first[0], last[1])
    if (
        isinstance(left, MeasuredSide)
        and isinstance(right, MeasuredSide)
        and left.name == right.name
    ):
        right_is = "name two candidates, levels or metrics"
        _fail("a value compared with itself", right_is, first[0], last[1])
    relation: Relation = tokens[at].text  # type: ignore[assignment]  # `_read_relation` checks that it is one
    return Threshold(_fit(left, right, first), relation, _fit(right, left, last))


def _fit(side: MeasuredSide | Number, other: MeasuredSide | Number, where: tuple[int, int]) -> Side:
    if isinstance(side, MeasuredSide):
        if isinstance(other, MeasuredSide) and side.unit != other.unit:
            what = f"a unit that does not fit `{other.metric}`"
            _fail(what, f"name a metric that is {UNITS[other.unit]}", *where)
        return side
    assert isinstance(other, MeasuredSide)  # two numbers are refused before
    value = convert_fitting(side, other.unit)
    if value is None:
        what = f"a unit that does not fit `{other.metric}`"
        _fail(
            what, f"`{other.metric}` is {UNITS[other.unit]}: write {EXAMPLES[other.unit]}", *where
        )
    return Constant(value, other.unit)


def _read_relation(tokens: Sequence[_Token], text: str) -> int:
    found = [i for i, token in enumerate(tokens) if token.text[0] in "<>=!≤≥"]
    known = ", ".join(RELATIONS)
    if not found:
        _fail("a threshold without a relation", f"write one of {known}", 0, len(text))
    for i in found:
        if tokens[i].text not in RELATIONS:
            _fail(f"not a relation, `{tokens[i].text}`", f"write one of {known}", *tokens[i][1:])
    if len(found) > 1:
        _fail("more than one relation", "write two thresholds", *tokens[found[1]][1:])
    return found[0]


def _read_both(
    text: str, left: Sequence[_Token], relation: _Token, right: Sequence[_Token], names: Names
) -> tuple[MeasuredSide | Number, MeasuredSide | Number]:
    sides: list[MeasuredSide | Number] = []
    mistakes: list[Mistake] = []
    for tokens, where in ((left, "before"), (right, "after")):
        try:
            if not tokens:
                what = f"nothing {where} `{relation.text}`"
                _fail(what, f"a threshold is {EXAMPLE}", relation.start, relation.end)
            sides.append(_read_side(text, tokens, names))
        except NotAThreshold as error:
            mistakes += error.mistakes
    if mistakes:
        raise NotAThreshold(*mistakes)
    return sides[0], sides[1]


def _read_side(text: str, tokens: Sequence[_Token], names: Names) -> MeasuredSide | Number:
    stars = [i for i, token in enumerate(tokens) if token.text == "*"]
    start, end = tokens[0].start, tokens[-1].end
    if not stars:
        whole = text[start:end]
        if len(tokens) == 1 and not _CONSTANT.fullmatch(whole):
            return _read_value(tokens[0], names)
        if any("_at_" in token.text for token in tokens):
            _fail("more than one value", f"leave out a part of `{whole}`", start, end)
        try:
            return read_number(whole)
        except TextError as error:
            is_plain = re.fullmatch(r"[\d.,_]+", whole)
            what = "not a number" if is_plain else "not a number with a unit"
            _fail(f"{what}, `{whole}`", str(error), start, end)
    if len(tokens) != 3 or stars != [1]:
        _fail("not a product", "a number, a star and a value: 1.2 * sata.tpm_at_13", start, end)
    factor, value = (tokens[0], tokens[2])
    if not _NUMBER.fullmatch(factor.text):
        factor, value = value, factor
    known = _read_value(value, names)
    number = float(factor.text) if _NUMBER.fullmatch(factor.text) else math.nan
    if not 0 < number < math.inf:
        _fail(f"not a factor, `{factor.text}`", "a number above 0, such as 1.2", *factor[1:])
    return replace(known, factor=number)


def _read_value(token: _Token, names: Names) -> MeasuredSide:
    """A measured value, read from its end: level, metric, whose it is, candidate."""
    left, at, level = token.text.rpartition("_at_")
    if not at:
        last = token.text.rpartition(".")[2]
        metric = last if find_uncollected(last) else TPM
        word = _read_word(names.points[0], names) if names.points else "1"
        example = f"{names.candidates[0]}.{metric}_at_{word}"
        right = f"a candidate, a metric and a level, such as {example}"
        _fail(f"not a value, `{token.text}`", right, *token[1:])
    owner, metric = _read_metric(left, names)
    mistakes = [*_find_metric_mistakes(metric, token, len(left) - len(metric))]
    mistakes += _find_level_mistakes(level, token, names)
    found = _find_owner(owner, token, names)
    if isinstance(found, Mistake):
        raise NotAThreshold(found, *mistakes)
    if mistakes:
        raise NotAThreshold(*mistakes)
    candidate, of = found
    _check_whose(Quantity(metric, of), token, len(candidate), names)
    point = find_named(names.points, level)
    assert point is not None  # otherwise it is among the mistakes
    return MeasuredSide(candidate, metric, point, of)


def _read_metric(text: str, names: Names) -> tuple[str, str]:
    """What stands before a metric, and the metric: the longest known end of the text.

    Of an unknown one all that follows its candidate, or else what follows the last dot.
    """
    parts = text.split(".")
    for known in (find_uncollected, find):  # collectors are loaded only where they must be
        for at in range(len(parts)):
            if known(".".join(parts[at:])) is not None:
                return ".".join(parts[:at]), ".".join(parts[at:])
    owners = [candidate for candidate in names.candidates if text.startswith(f"{candidate}.")]
    owners += [f"{each}.{kind}" for each in owners for kind in (*names.transactions, ALL)]
    owner = max((each for each in owners if text.startswith(f"{each}.")), key=len, default=None)
    if owner is None:
        owner, _, metric = text.rpartition(".")
        return owner, metric
    return owner, text[len(owner) + 1 :]


def _find_metric_mistakes(metric: str, token: _Token, at: int) -> Iterator[Mistake]:
    if find(metric) is None:
        problem = check(Quantity(metric))
        assert problem is not None  # an unknown metric is one
        start = token.start + at
        yield Mistake(problem.what, problem.right, start, start + max(1, len(metric)))


def _find_level_mistakes(level: str, token: _Token, names: Names) -> Iterator[Mistake]:
    if find_named(names.points, level) is None:
        known = ", ".join(_read_word(point, names) for point in names.points)
        right = f"its levels are {known}" if known else f"add it to `{LEVELS_KEY}`"
        start = token.end - max(1, len(level))
        what = f"a level that the study does not have, `{level}`"
        yield Mistake(what, right, start, token.end)


def _read_word(point: Point, names: Names) -> str:
    values = [join_words(point.values[name]) for name in list_telling(names.points)]
    is_short = len(values) == 1 and re.fullmatch(_WORD, values[0]) and "_at_" not in values[0]
    return values[0] if is_short and find_named(names.points, values[0]) == point else point.slug


def _find_owner(head: str, token: _Token, names: Names) -> tuple[str, str | None] | Mistake:
    if head in names.candidates:
        return head, None
    owners = [each for each in names.candidates if head.startswith(f"{each}.")]
    if owners:
        candidate = max(owners, key=len)
        return candidate, head[len(candidate) + 1 :]
    if not head:
        right = f"write the candidate first: {names.candidates[0]}.{token.text.lstrip('.')}"
        return Mistake("a value without its candidate", right, *token[1:])
    name, _, last = head.rpartition(".")
    if not name or last not in (*names.transactions, ALL):
        name = head
    right = suggest_instead(name, names.candidates)
    return Mistake(f"unknown candidate `{name}`", right, token.start, token.start + len(name))


def _check_whose(quantity: Quantity, token: _Token, candidate: int, names: Names) -> None:
    problem = check(quantity, names.transactions)
    if problem is None:
        return
    start = token.start + candidate + 1
    if problem.part == "metric":
        start += len(quantity.of) + 1 if quantity.of else 0
        _fail(problem.what, problem.right, start, start + len(quantity.metric))
    _fail(problem.what, problem.right, start, start + max(1, len(quantity.of or "")))


def _fail(what: str, right: str, start: int, end: int) -> NoReturn:
    raise NotAThreshold(Mistake(what, right, start, end))
