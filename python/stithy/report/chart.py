"""Charts in the common form: users on a log2 axis, windows as points, a line through the levels.

Built with Altair as plain Vega-Lite; colours, markers and dashes come from the palette alone. Names
of candidates appear only as data, never inside an expression, so no name can become code.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from stithy.report import palette
from stithy.report.context import Context

WIDTH = 640
HEIGHT = 300
Spec = dict[str, Any]
Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Axis:
    """The vertical axis: title with the unit, whether it is logarithmic, format of its ticks."""

    title: str
    log: bool = False
    format: str = "~s"


def values(rows: Rows) -> alt.InlineData:
    """Rows as inline data; six digits are more than a drawing can show."""
    return alt.InlineData(
        values=[{key: _short(value) for key, value in row.items()} for row in rows]
    )


def _short(value: Any) -> Any:
    return float(f"{value:.6g}") if isinstance(value, float) else value


def users_axis(levels: Sequence[int], title: str = "Virtual users") -> alt.X:
    """The horizontal axis: users, log2, a tick at each level."""
    low, high = min(levels), max(levels)
    return alt.X(
        "users:Q",
        scale=alt.Scale(type="log", base=2, domain=[low / 1.2, high * 1.2], nice=False),
        axis=alt.Axis(values=list(levels), format="d", grid=False, labelOverlap="greedy"),
        title=title,
    )


def value_axis(field: str, axis: Axis) -> alt.Y:
    """The vertical axis: from zero, or logarithmic."""
    scale = alt.Scale(type="log", nice=True) if axis.log else alt.Scale(zero=True, nice=True)
    return alt.Y(
        f"{field}:Q", scale=scale, title=axis.title, axis=alt.Axis(format=axis.format, tickCount=6)
    )


def candidate_channels(context: Context) -> dict[str, Any]:
    """Colour, marker and dash of the candidates, with one legend for all three."""
    names = list(context.evidence.candidates)
    chosen = [context.styles[name] for name in names]
    legend = alt.Legend(title=None, orient="top", direction="horizontal", symbolSize=90)
    return {
        "color": alt.Color(
            "candidate:N",
            scale=alt.Scale(domain=names, range=[each.colour for each in chosen]),
            legend=legend,
        ),
        "shape": alt.Shape(
            "candidate:N",
            scale=alt.Scale(domain=names, range=[each.marker for each in chosen]),
            legend=legend,
        ),
        "strokeDash": alt.StrokeDash(
            "candidate:N",
            scale=alt.Scale(domain=names, range=[list(each.dash) for each in chosen]),
            legend=legend,
        ),
    }


def by_users(
    context: Context,
    axis: Axis,
    lines: Rows,
    points: Rows,
    *,
    width: int = WIDTH,
    height: int = HEIGHT,
    title: str = "Virtual users",
) -> Any:
    """Lines through the levels and a point for each window; invalid windows are hollow.

    `lines`: rows with `users`, `candidate`, `value`. `points`: these and `block`, `valid`, `note`.
    """
    channels = candidate_channels(context)
    x, y = users_axis(context.evidence.levels, title), value_axis("value", axis)
    line = (
        alt.Chart(values(lines))
        .mark_line(strokeWidth=2)
        .encode(x=x, y=y, color=channels["color"], strokeDash=channels["strokeDash"])
    )
    tips = [
        alt.Tooltip("candidate:N", title="candidate"),
        alt.Tooltip("users:Q", title="users"),
        alt.Tooltip("value:Q", title=axis.title, format=",.4~g"),
        alt.Tooltip("block:Q", title="block"),
        alt.Tooltip("note:N", title="validity"),
    ]
    shape = {"color": channels["color"], "shape": channels["shape"]}
    base = alt.Chart(values(points)).encode(x=x, y=y, tooltip=tips, **shape)
    full = base.transform_filter("datum.valid").mark_point(filled=True, size=60, opacity=1)
    hollow = base.transform_filter("!datum.valid").mark_point(
        filled=False, fill=palette.PAPER[0], size=70, strokeWidth=1.8, opacity=1
    )
    return alt.layer(line, full, hollow).properties(width=width, height=height)


def window_rows(context: Context, metric: str, divide_by_users: bool = False) -> tuple[Rows, Rows]:
    """The lines and points of a value of the windows, as `by_users` wants them."""
    evidence = context.evidence

    def scaled(value: float, users: int) -> float:
        return value / users if divide_by_users else value

    lines = [
        {"users": users, "candidate": name, "value": scaled(value, users)}
        for name in evidence.candidates
        for users in evidence.levels
        if (value := evidence.level_value(name, users, metric)) is not None
    ]
    points = [
        {
            "users": window.users, "candidate": window.candidate, "block": window.block,
            "value": scaled(value, window.users), "valid": window.valid,
            "note": note(window.reasons),
        }
        for window in evidence.windows
        if (value := window.value(metric)) is not None
    ]  # fmt: skip
    return lines, points


def note(reasons: Sequence[Any]) -> str:
    """Why a window is invalid, in its flags' words; `valid` if it is not."""
    bad = [reason.flag.value for reason in reasons if reason.invalidates]
    return "; ".join(bad) if bad else "valid"


def spec_of(chart: Any) -> Spec:
    """The chart as Vega-Lite, without Altair's own theme; our theme is added when it is drawn."""
    with alt.theme.enable("none"):
        document: Spec = chart.to_dict(validate=False)
    document.pop("config", None)
    return document
