"""Where backups are shown, and what a setting of theirs is called."""

from stithy.activity import get_factor
from stithy.point import Point, format_value
from stithy.report.context import Context
from stithy.scenarios.backup.judge import Setting, list_points
from stithy.scenarios.backup.plan import BACKUP, SETTINGS


def drawn_point(context: Context) -> Point | None:
    """Where figures show backups; None where a study has none."""
    return context.asked_of(list_points(context.evidence))


def at_load(context: Context, load: Point) -> str:
    """At which load, in words, where there are several."""
    told = [each for each in load.factors if each[0] in context.factors]
    return f" at {Point(tuple(told)).in_words(context.level_unit)}" if told else ""


def where(context: Context, setting: Setting) -> str:
    """The candidate, and what of the point tells it from others."""
    others = [_format(context, name, setting.point) for name in context.factors if name != BACKUP]
    known = [each for each in others if each]
    return f"{setting.candidate} ({', '.join(known)})" if known else setting.candidate


def _format(context: Context, name: str, point: Point) -> str:
    """The value of a factor; of the users only where backups have several levels."""
    if not get_factor(name).counts:
        return f"{name.removeprefix(SETTINGS)} {format_value(point.values[name])}"
    levels = {each.level for each in list_points(context.evidence)}
    return Point(((name, point.level),)).in_words(context.level_unit) if len(levels) > 1 else ""
