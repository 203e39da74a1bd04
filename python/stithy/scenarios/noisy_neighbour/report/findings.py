"""Which neighbour each candidate bears, and which candidate absorbs it better, in sentences."""

from collections.abc import Iterator, Mapping
from itertools import combinations, takewhile

from stithy.analysis.effect import Effect, compare_losses
from stithy.metrics import P95, P99, TPM, Quantity
from stithy.point import Point
from stithy.report.context import Context
from stithy.report.metrics import list_devices_by_role
from stithy.report.words.wording import choose_form, format_in_table, format_number, format_plural
from stithy.scenarios.noisy_neighbour.disturbance import (
    ACHIEVED_SHARE,
    ALONE_SHARE_LEAST,
    GROWTH_MOST,
    ISOLATED_SHARE,
    Disturbance,
)
from stithy.scenarios.noisy_neighbour.plan import ALONE, LIMIT, NEIGHBOUR, VOLUME
from stithy.scenarios.noisy_neighbour.report.neighbours import describe_neighbour
from stithy.units import format_list, format_share

WORKED_ALL_SHARE = 0.9
"""Own: of a neighbour that worked less it is said how much of the time."""

Found = tuple[Disturbance, ...]


def write_findings(context: Context, found: Found) -> Iterator[str]:
    """All of them, the largest neighbour that each candidate bears first."""
    yield from _write_headlines(context, found)
    known, tails = {(each.candidate, each.point): each for each in found}, _choose_tails(found)
    for point in dict.fromkeys(each.point for each in found):
        at = f"With a neighbour of {describe_neighbour(context, point)}"
        at += f" ({_format_settings(context, point)})" if _has_others(context) else ""
        for a, b in combinations(context.evidence.candidates, 2):
            both = known[a, point], known[b, point]
            yield f"{at}, {_write_verdict(both, tails[_drop_neighbour(point)])}."
    for each in found:
        yield from _include_one(context, each, (_choose_tail((each,)), TPM))
    yield from _describe_held_back(context, found)
    yield from _describe_bought(context, found)


def state(each: Disturbance) -> str | None:
    """What became of the neighbour; None where it did what was asked, or nobody can know."""
    if each.failed:
        return "failed"
    return "saturated" if each.saturated else "limited" if each.limited else None


def _choose_tail(found: Found) -> Quantity:
    return P99 if all(each.growth[P99].effect.ratio is not None for each in found) else P95


def _choose_tails(found: Found) -> Mapping[Point, Quantity]:
    """For each setting of what else varies: candidates there are judged by the same."""
    groups: dict[Point, list[Disturbance]] = {}
    for each in found:
        groups.setdefault(_drop_neighbour(each.point), []).append(each)
    return {others: _choose_tail(tuple(group)) for others, group in groups.items()}


def _write_headlines(context: Context, found: Found) -> Iterator[str]:
    """The largest neighbour that each candidate bears, at each setting of what else varies."""
    tails, groups = _choose_tails(found), dict[tuple[Point, str], list[Disturbance]]()
    for each in found:
        groups.setdefault((_drop_neighbour(each.point), each.candidate), []).append(each)
    for (others, name), mine in groups.items():
        settings = f" ({_format_settings(context, mine[0].point)})" if _has_others(context) else ""
        who, tail = f"{name}{settings}", tails[others]
        rising = sorted(mine, key=lambda each: float(each.point.values[NEIGHBOUR]))
        rule = (
            f"isolation at least {format_share(ISOLATED_SHARE)} of that alone and {tail} at most "
            f"{GROWTH_MOST:g} times as long, by the upper end of its interval"
        )
        yield f"{_describe_borne(context, who, rising, tail)} ({rule})."


def _describe_borne(context: Context, who: str, rising: list[Disturbance], tail: Quantity) -> str:
    borne = list(takewhile(lambda each: each.is_bearable(tail), rising))
    refused = next((each for each in rising if each.is_bearable(tail) is False), None)
    too_much = "" if refused is None else describe_neighbour(context, refused.point)
    if borne:
        bears = f"{who} bears a neighbour of {_describe_dose(context, borne[-1])}"
        bears += f", and not one of {too_much}" if too_much else ""
        end = len(rising) if refused is None else rising.index(refused)
        undecided = (
            f"whether {_describe_dose(context, each)} is borne is not decided: "
            f"{'; '.join(_explain(each, tail))}"
            for each in rising[:end]
            if each.is_bearable(tail) is None
        )
        return "; ".join([bears, *undecided])
    least, more = rising[0], next((each for each in rising if each.is_bearable(tail)), None)
    open_ = f"Which neighbour {who} bears is not decided"
    if least.is_bearable(tail) is None:
        not_ = f"not one of {too_much}; " if too_much else ""
        return (
            f"{open_}: {not_}beside {_describe_dose(context, least)}, "
            f"{'; '.join(_explain(least, tail))}"
        )
    if more is not None:
        heavier, lighter = (describe_neighbour(context, each.point) for each in (more, least))
        return f"{open_}: it would be {heavier}, but not {lighter}"
    return f"{who} bears none of the measured neighbours, not even {_describe_dose(context, least)}"


def _describe_dose(context: Context, each: Disturbance) -> str:
    parts, asked, done = [], each.asked, each.achieved
    if asked is not None and done is not None and done < ACHIEVED_SHARE * asked:
        parts.append(f"achieved {format_number(done)} of {format_number(asked)} per second")
    if each.worked is not None and each.worked < WORKED_ALL_SHARE:
        parts.append(f"worked {format_share(each.worked)} of the time")
    said = describe_neighbour(context, each.point)
    return f"{said}, which {' and '.join(parts)}" if parts else said


def _explain(each: Disturbance, tail: Quantity) -> Iterator[str]:
    if each.isolated is None:
        if each.isolation is None or not each.alone_isolation:
            yield "isolation is not known"
        elif each.alone_isolation < ALONE_SHARE_LEAST:
            yield f"isolation is {format_share(each.alone_isolation)} already alone"
        else:
            ends = format_share(each.isolation), format_share(each.alone_isolation)
            yield f"isolation of {ends[0]} beside {ends[1]} alone may be chance"
    if each.achieved == 0:
        yield "the neighbour achieved nothing"
    if each.is_short(tail) is None:
        yield _explain_not_short(each, tail)


def _explain_not_short(each: Disturbance, tail: Quantity) -> str:
    effect = each.growth[tail].effect
    if effect.ratio is None:
        return f"{tail} is not known, as {effect.missing_because}"
    if effect.plain or effect.high is None:
        return f"{_explain_few(effect)} for a claim about {tail}"
    if effect.high > GROWTH_MOST:
        return f"{tail} may be {format_in_table(effect.high)} times as long"
    return f"it worked too little of the time for {tail} to show it"


def _describe_held_back(context: Context, found: Found) -> Iterator[str]:
    for each in found:
        if (word := state(each)) is None:
            continue
        why = {
            "failed": f"failed in {format_plural(each.failed, 'cycle')}",
            "saturated": "was saturated",
            "limited": f"was held back by `limit`{', or by the storage' if each.has_limit else ''}",
        }[word]
        others = f" ({_format_settings(context, each.point)})" if _has_others(context) else ""
        of, done = "" if each.asked is None else f" of {format_number(each.asked)}", ""
        if each.achieved is not None:
            done = f": it achieved {format_number(each.achieved)}{of} per second"
        neighbour = describe_neighbour(context, each.point)
        yield f"On {each.candidate}{others} the neighbour of {neighbour} {why}{done}."


def _describe_bought(context: Context, found: Found) -> Iterator[str]:
    if LIMIT not in context.factors:
        return
    groups: dict[tuple[str, Point], list[Disturbance]] = {}
    for each in found:
        groups.setdefault((each.candidate, each.point.replaced(LIMIT, 0)), []).append(each)
    for (name, _), several in groups.items():
        parts, tail = [], _choose_tail(tuple(several))
        for each in several:
            if (ratio := each.growth[tail].effect.ratio) is not None:
                limit, times = each.point.values[LIMIT], format_in_table(ratio)
                part = f"with a limit of {limit} {tail} is {times} times as long"
                if each.achieved is not None:
                    part += f" and it achieves {format_number(each.achieved)} per second"
                parts.append(part)
        if len(parts) > 1:
            neighbour = describe_neighbour(context, several[0].point)
            yield f"Beside a neighbour of {neighbour} on {name}, {'; '.join(parts)}."


def _drop_neighbour(point: Point) -> Point:
    return point.replaced(NEIGHBOUR, ALONE)


def _has_others(context: Context) -> bool:
    return any(factor != NEIGHBOUR for factor in context.factors)


def _format_settings(context: Context, point: Point) -> str:
    values = context.list_factor_values(point)
    return ", ".join(f"{name} {value}" for name, value in values.items() if name != NEIGHBOUR)


def _write_verdict(both: tuple[Disturbance, Disturbance], tail: Quantity) -> str:
    """By the growth of the tail; where a candidate has none, by the throughput that is kept."""
    one, other = both
    effects = (compare_losses(one.growth[each], other.growth[each]) for each in (tail, TPM))
    by_tail = next(effects)
    if by_tail.ratio is not None:
        return _name_better(both, by_tail, tail)
    effect = next(effects)
    if effect.ratio is None:
        names = f"{one.candidate} and {other.candidate}"
        return f"{names} are not compared: {effect.missing_because}"
    better = _name_better(both, effect, TPM)
    return f"{better}. They are not compared by {tail}: {by_tail.missing_because}"


def _name_better(both: tuple[Disturbance, Disturbance], effect: Effect, quantity: Quantity) -> str:
    """Who absorbs it better; it is not decided where who does had less to absorb, or may have."""
    is_kept = quantity == TPM
    ratio = effect.ratio or 1.0
    better, worse = both if (ratio < 1) is is_kept else both[::-1]
    size, shown = max(ratio, 1 / ratio), _format_bounds(effect, turned=ratio < 1)
    doses = _describe_doses(both)
    known = better.achieved, worse.achieved
    had_less = None in known or 0 in known or (doses and (known[0] or 0.0) < (known[1] or 0.0))
    if effect.distinguishable and not had_less:
        what = "the throughput that tenants keep" if is_kept else f"the growth of {quantity}"
        return (
            f"{better.candidate} absorbs the neighbour better than {worse.candidate} by a factor "
            f"of {format_in_table(size)}{shown}, in {what}{doses}"
        )
    names = f"{both[0].candidate} or {both[1].candidate}"
    what = (
        f"tenants keep {format_in_table(size)} times as much of their throughput on "
        f"{better.candidate}"
        if is_kept
        else f"{quantity} grows {format_in_table(size)} times as much on {worse.candidate}"
    )
    few = f", as {_explain_few(effect)}" if effect.plain else ""
    return f"it is undecided whether {names} absorbs it better{few}: {what}{shown}{doses}"


def _format_bounds(effect: Effect, *, turned: bool) -> str:
    ends = [1 / each if turned else each for each in (effect.low, effect.high) if each]
    return f" ({format_in_table(min(ends))} to {format_in_table(max(ends))})" if ends else ""


def _describe_doses(both: tuple[Disturbance, Disturbance]) -> str:
    done = [each.achieved for each in both if each.achieved is not None]
    if len(done) < len(both):
        unknown = [each.candidate for each in both if each.achieved is None]
        return f"; what the neighbour achieved on {format_list(unknown)} is not known"
    if min(done) >= ACHIEVED_SHARE * max(done):
        return ""
    each = [
        f"{format_number(number)} on {of.candidate}" for number, of in zip(done, both, strict=True)
    ]
    return f"; the neighbour achieved, per second, {format_list(each)}"


def _is_apart(context: Context, candidate: str, point: Point) -> bool:
    """Whether the neighbour worked on devices on which the tenants' data are not."""
    manifest, facts = context.manifest, context.find_facts(candidate)
    if manifest is None or facts is None:
        return False
    usual = manifest.scenario_facts.get("volume", "data")
    devices = list_devices_by_role(facts)
    own = devices.get(str(point.values.get(VOLUME, usual)), frozenset())
    return bool(own) and own.isdisjoint(devices.get("data", frozenset()))


def _include_one(
    context: Context, each: Disturbance, quantities: tuple[Quantity, ...]
) -> Iterator[str]:
    """Whether the intervals of these ratios include 1, of a neighbour on drives of its own."""
    if not _is_apart(context, each.candidate, each.point):
        return
    neighbour = describe_neighbour(context, each.point)
    at = f"On {each.candidate} the neighbour of {neighbour} has drives of its own"
    known = {name: each.growth[name].effect for name in quantities}
    beyond = {name: effect for name, effect in known.items() if effect.distinguishable}
    if beyond:
        are = choose_form(len(beyond), "excludes", "exclude")
        yield (
            f"{at}, but {_format_ratios(beyond)} {are} 1: tenants and neighbour share something "
            "else, such as CPUs."
        )
    elif plain := [each for each in known.items() if each[1].plain]:
        quantity, effect = plain[0]
        unknown = f"{quantity.label} is not known, as {effect.missing_because}"
        why = unknown if effect.ratio is None else _explain_few(effect)
        yield f"{at}, but whether it costs the tenants anything is not decided: {why}."
    else:
        yield (
            f"{at}, and costs the tenants nothing that is seen: {_format_ratios(known)} include 1."
        )


def _explain_few(effect: Effect) -> str:
    return f"{format_plural(effect.pairs, 'block is', 'blocks are')} too few"


def _format_ratios(effects: dict[Quantity, Effect]) -> str:
    parts = [
        f"{name.label}{_format_bounds(effect, turned=False)}" for name, effect in effects.items()
    ]
    return f"the interval{'s' if len(parts) > 1 else ''} of {format_list(parts)}"
