"""Reading thresholds: a small grammar of its own, and what is wrong at which character.

    threshold = side relation side           relation = ">=" | "<=" | ">" | "<"
    side      = value | number "*" value | value "*" number | constant
    value     = candidate "." [transaction "."] metric "_at_" level
    constant  = number | number duration-unit | number "/" duration-unit

A name is whatever stands between spaces, stars and relations, and is read from its end: so it may
hold dashes and dots, and look like a number.
"""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

from pydantic import ValidationInfo

from stithy.registry import plugins
from stithy.study.wrong import Wrong, refuse, wrong
from stithy.suggest import closest
from stithy.thresholds import METRICS, RELATIONS, Constant, Measured, Side, Threshold
from stithy.units import parse_duration, parse_rate

EXAMPLE = "nvme.nopm_at_13 >= 1.2 * sata.nopm_at_13"
THRESHOLDS_MAX = 200
TEXT_LONGEST = 300
ALL = "all"

_TOKEN = re.compile(r"[<>=!≤≥]+|\*|[^\s*<>=!≤≥]+")
_NUMBER = re.compile(r"\d+(\.\d+)?", re.ASCII)
_CONSTANT = re.compile(r"[-+]?\d[\d.,_]*\s*(/?\s*[A-Za-zµ%]+)?")
_LEVEL = re.compile(r"[1-9]\d{0,8}", re.ASCII)


@dataclass(frozen=True)
class Names:
    """What a study has that thresholds may name; the first of `transactions` is the headline."""

    candidates: Sequence[str]
    users: Sequence[int]
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

    Where candidates, workload or levels are themselves wrong only those are told.
    """
    if isinstance(value, tuple) and all(isinstance(each, Threshold) for each in value):
        return value
    if not isinstance(value, list):
        raise wrong("not a list", f"such as [{EXAMPLE}]")
    if len(value) > THRESHOLDS_MAX:
        raise wrong("too long", f"at most {THRESHOLDS_MAX} thresholds")
    if not info.data.keys() >= {"candidates", "workload", "load"}:
        return ()
    names = _names(info)
    found = [_read(text, names) for text in value]
    known = [each for each in found if isinstance(each, Threshold)]
    refuse(_wrong(value, found))
    return tuple(known)


def _names(info: ValidationInfo) -> Names:
    workload = plugins("workload")[info.data["workload"].name].WORKLOAD
    types = [each.name for each in workload.transactions]
    return Names(list(info.data["candidates"]), info.data["load"].users, types)


def _read(text: object, names: Names) -> Threshold | tuple[Mistake, ...]:
    if not isinstance(text, str) or not text.strip():
        return (Mistake("not a text", f"such as {EXAMPLE}", 0, 0),)
    try:
        return parse_threshold(text, names)
    except NotAThreshold as error:
        return error.mistakes


def _wrong(
    texts: Sequence[object], found: Sequence[Threshold | tuple[Mistake, ...]]
) -> Iterator[Wrong]:
    """Every mistake at its place, and every threshold that was there before."""
    for i, (text, each) in enumerate(zip(texts, found, strict=True)):
        if not isinstance(each, Threshold):
            for mistake in each:
                part = (mistake.start, mistake.end)
                yield Wrong(mistake.what, mistake.right, text, (i,), part)
        elif each in found[:i]:
            yield Wrong("a threshold given twice", "keep one of them", text, (i,))


def parse_threshold(text: str, names: Names) -> Threshold:
    """The threshold that a text writes. Raises NotAThreshold, and nothing else."""
    if len(text) > TEXT_LONGEST:
        _fail("too long", f"at most {TEXT_LONGEST} characters", 0, len(text))
    tokens = [_Token(match[0], *match.span()) for match in _TOKEN.finditer(text)]
    at = _relation(tokens, text)
    sides = _both(text, tokens[:at], tokens[at], tokens[at + 1 :], names)
    threshold = Threshold(sides[0], tokens[at].text, sides[1])  # type: ignore[arg-type]  # `_relation` checks that it is one
    _check(threshold, tokens, at)
    return threshold


def _relation(tokens: Sequence[_Token], text: str) -> int:
    """The index of the one relation."""
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


def _both(
    text: str, left: Sequence[_Token], relation: _Token, right: Sequence[_Token], names: Names
) -> tuple[Side, Side]:
    """Both sides, or the mistakes of both."""
    sides: list[Side] = []
    mistakes: list[Mistake] = []
    for tokens, where in ((left, "before"), (right, "after")):
        try:
            if not tokens:
                what = f"nothing {where} `{relation.text}`"
                _fail(what, f"a threshold is {EXAMPLE}", relation.start, relation.end)
            sides.append(_side(text, tokens, names))
        except NotAThreshold as error:
            mistakes += error.mistakes
    if mistakes:
        raise NotAThreshold(*mistakes)
    return sides[0], sides[1]


def _side(text: str, tokens: Sequence[_Token], names: Names) -> Side:
    stars = [i for i, token in enumerate(tokens) if token.text == "*"]
    start, end = tokens[0].start, tokens[-1].end
    if not stars:
        whole = text[start:end]
        if len(tokens) == 1 and not _CONSTANT.fullmatch(whole):
            return _value(tokens[0], names)
        if any("_at_" in token.text for token in tokens):
            _fail("more than a value", f"leave out what is too much of `{whole}`", start, end)
        return _constant(whole, start)
    if len(tokens) != 3 or stars != [1]:
        _fail("not a product", "a number, a star and a value: 1.2 * sata.nopm_at_13", start, end)
    factor, value = (tokens[0], tokens[2])
    if not _NUMBER.fullmatch(factor.text):
        factor, value = value, factor
    known = _value(value, names)
    return Measured(known.candidate, known.metric, known.users, known.transaction, _factor(factor))


def _factor(token: _Token) -> float:
    if not _NUMBER.fullmatch(token.text):
        _fail(f"not a factor, `{token.text}`", "a number above 0, such as 1.2", *token[1:])
    factor = float(token.text)
    if not 0 < factor < math.inf:
        _fail(f"not a factor, `{token.text}`", "a number above 0, such as 1.2", *token[1:])
    return factor


def _constant(text: str, start: int) -> Constant:
    if _NUMBER.fullmatch(text):
        if not math.isfinite(number := float(text)):
            _fail(f"not a number, `{text}`", "a smaller one", start, start + len(text))
        return Constant(number, "1/min")
    if re.fullmatch(r"[\d.,_]+", text):
        right = "digits, with a point before decimals: 5000 or 0.5"
        _fail(f"not a number, `{text}`", right, start, start + len(text))
    try:
        if "/" in text:
            return Constant(_finite(parse_rate(text) * 60), "1/min")
        return Constant(_finite(parse_duration(text)), "s")
    except ValueError as error:
        _fail(f"not a number with a unit, `{text}`", str(error), start, start + len(text))


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise ValueError("a smaller number is needed")
    return value


def _value(token: _Token, names: Names) -> Measured:
    """A measured value, read from its end: level, metric, transaction type, candidate."""
    head, _, last = token.text.rpartition(".")
    metric, at, level = last.rpartition("_at_")
    if not at:
        _fail(
            f"not a value, `{token.text}`",
            f"a candidate, a metric and a level, such as {names.candidates[0]}."
            f"{last if last in METRICS else 'nopm'}_at_{next(iter(names.users), 1)}",
            *token[1:],
        )
    mistakes = [*_metric_mistakes(metric, token, len(head)), *_level_mistakes(level, token, names)]
    owner = _owner(head, token, names)
    if isinstance(owner, Mistake):
        raise NotAThreshold(owner, *mistakes)
    if mistakes:
        raise NotAThreshold(*mistakes)
    candidate, transaction = owner
    if transaction and METRICS[metric].source != "transactions":
        first = token.start + len(candidate) + 1
        what = f"`{metric}` is not told of a transaction type"
        _fail(what, f"leave out `{transaction}.`", first, first + len(transaction))
    return Measured(candidate, metric, int(level), transaction)


def _metric_mistakes(metric: str, token: _Token, head: int) -> Iterator[Mistake]:
    if metric not in METRICS:
        guess = closest(metric, METRICS)
        right = f"did you mean `{guess}`?" if guess else f"one of {', '.join(METRICS)}"
        start = token.start + head + (1 if head else 0)
        yield Mistake(f"unknown metric `{metric}`", right, start, start + max(1, len(metric)))


def _level_mistakes(level: str, token: _Token, names: Names) -> Iterator[Mistake]:
    if not _LEVEL.fullmatch(level) or int(level) not in names.users:
        known = ", ".join(map(str, names.users))
        right = f"its levels are {known}" if known else "add it to `load.users`"
        start = token.end - max(1, len(level))
        what = f"a level that the study does not have, `{level}`"
        yield Mistake(what, right, start, token.end)


def _owner(head: str, token: _Token, names: Names) -> tuple[str, str | None] | Mistake:
    """The candidate, and the transaction type where one is named."""
    if head in names.candidates:
        return head, None
    candidate, _, transaction = head.rpartition(".")
    types = [*names.transactions, ALL]
    if candidate in names.candidates:
        if transaction in types:
            return candidate, transaction
        start = token.start + len(candidate) + 1
        return Mistake(
            f"unknown transaction type `{transaction}`",
            instead(transaction, types), start, start + max(1, len(transaction)),
        )  # fmt: skip
    if not head:
        right = f"write whose it is, such as {names.candidates[0]}.{token.text.lstrip('.')}"
        return Mistake("a value without its candidate", right, *token[1:])
    name = candidate if transaction in types and candidate else head
    right = instead(name, names.candidates)
    return Mistake(f"unknown candidate `{name}`", right, token.start, token.start + len(name))


def instead(word: str, known: Sequence[str]) -> str:
    """What to write for a word that is not known: the one that was meant, else all there are."""
    guess = closest(word, known)
    return f"did you mean `{guess}`?" if guess else f"one of {', '.join(known)}"


def _check(threshold: Threshold, tokens: Sequence[_Token], at: int) -> None:
    """That a threshold asks something, and that its sides can be compared."""
    left, right = threshold.left, threshold.right
    first, last = (tokens[0].start, tokens[at - 1].end), (tokens[at + 1].start, tokens[-1].end)
    whole = (first[0], last[1])
    if isinstance(left, Constant) and isinstance(right, Constant):
        _fail("a threshold without a measured value", f"such as {EXAMPLE}", *whole)
    if isinstance(left, Measured) and isinstance(right, Measured) and left.name == right.name:
        _fail("a value held against itself", "name two candidates, levels or metrics", *whole)
    if left.unit != right.unit:
        constant = left if isinstance(left, Constant) else right
        measured = right if constant is left else left
        _fail(*_unfit(measured, constant), *(first if constant is left else last))


def _unfit(measured: Side, other: Side) -> tuple[str, str]:
    """What does not fit about the units of two sides, and what would."""
    name = measured.metric if isinstance(measured, Measured) else str(measured)
    right = (
        f"`{name}` is a time: write a duration such as 5 ms"
        if measured.unit == "s"
        else f"`{name}` is per minute: write a number such as 5000, or 100/s"
    )
    if isinstance(other, Measured):
        kind = "a time" if measured.unit == "s" else "per minute"
        right = f"`{name}` is {kind}: compare like with like"
    return f"a unit that does not fit `{name}`", right


def _fail(what: str, right: str, start: int, end: int) -> NoReturn:
    raise NotAThreshold(Mistake(what, right, start, end))
