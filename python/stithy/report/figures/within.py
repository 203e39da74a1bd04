"""How many users each candidate serves within the study's limit of response time, as a ladder."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import polars as pl

from stithy.analysis.search.bracket import Said, Trial
from stithy.analysis.search.within import Within, tried, within
from stithy.report.context import Context
from stithy.report.drawing import palette
from stithy.report.drawing.chart import WIDTH, candidate_scale, users_axis
from stithy.report.drawing.compose import Drawing, Spec, layer, unit
from stithy.report.figure import Absent, Drawn, Figure
from stithy.report.tables import PageTable, Show
from stithy.report.words.letters import shortened
from stithy.report.words.wording import count, listing
from stithy.search import Limit

NAME = "within"
ORDER = 21
SECTION = "response"

STEP, LETTER, GAP, NUMBER = 30, 7.2, 14, 120
"""Pixels of a row, of a letter at most, between columns, and of the column on the right."""

NAME_LETTERS = 24
"""Own: of longer names beginning and end are drawn; the data have them whole."""

NAMED_MOST = 4
"""Own: a title tells each of so many candidates; of more the range."""


@dataclass(frozen=True)
class _Row:
    """One candidate: what each of its levels says, and how many users it serves by that."""

    candidate: str
    trials: tuple[Trial, ...]
    served: Within


def draw(context: Context) -> list[Drawn]:
    """One figure where the study has a limit and levels to choose from; nothing without a limit."""
    if (limit := context.limit) is None:
        return []
    shows = f"how many users are within the limit ({limit.text})"
    rows = [
        _Row(name, tried(context.evidence, name, limit), within(context.evidence, name, limit))
        for name in context.evidence.candidates
    ]
    if all(trial.said is Said.NOTHING for row in rows for trial in row.trials):
        return [Absent("users-within", shows, "no valid window tells of it")]
    if len({trial.users for row in rows for trial in row.trials}) < 2:
        return [Absent("users-within", shows, "only one level was measured")]
    title = _title(context, limit, rows)
    drawing = Drawing()
    return [
        Figure(
            name="users-within",
            title=title,
            caption=f"Every level that was measured: filled where all valid windows obey "
            f"{limit.text}, hollow where none does{_odd(rows)}. The line ends at the highest level "
            f"that obeys with none below it that does not.{_between(rows)}",
            description=f"{title}. One row for each candidate, with a mark at each level of users "
            "that says whether the limit was obeyed, and a line up to the highest that was.",
            footer=context.footer,
            spec=drawing.spec(_chart(context, drawing, rows)),
            table=_table(context, rows),
        )
    ]


def _title(context: Context, limit: Limit, rows: Sequence[_Row]) -> str:
    """What each serves, without a claim on who serves more: that is for verdicts and searches."""
    known = [row for row in rows if row.served.users is not None]
    unit_name = context.level_plural
    if not known:
        return f"No measured number of {unit_name} is within {limit.text}"
    head = f"{unit_name.capitalize()} within {limit.text}"
    if len(rows) > NAMED_MOST:
        return f"{head}: {_range([row.served for row in known])}"
    each = [f"{_number(row.served)} on {row.candidate}" for row in known]
    none = [row.candidate for row in rows if row.served.users is None]
    return f"{head}: {listing(each)}{f', no level of {listing(none)}' if none else ''}"


def _range(served: Sequence[Within]) -> str:
    """`from 4 to at least 13, by candidate`, `4 on each candidate`."""
    ordered = sorted(served, key=lambda each: (each.users or 0, each.at_least))
    low, high = _number(ordered[0]), _number(ordered[-1])
    return f"{low} on each candidate" if low == high else f"from {low} to {high}, by candidate"


def _number(served: Within) -> str:
    """`4`, `at least 13`."""
    if served.users is None:
        return "not known"
    return f"{'at least ' if served.at_least else ''}{count(served.users)}"


def _odd(rows: Sequence[_Row]) -> str:
    """What else a mark may look like, where there is such a one."""
    there = {trial.said for row in rows for trial in row.trials}
    split = ", ringed where windows disagree" if Said.SPLIT in there else ""
    return f"{split}, a cross where no valid window tells" if Said.NOTHING in there else split


def _between(rows: Sequence[_Row]) -> str:
    if all(row.served.users is None or row.served.not_at is None for row in rows):
        return ""
    return (
        " Dotted, it goes on to the next level that does not: how many of the users between the "
        "two are within the limit, nobody measured."
    )


def _chart(context: Context, drawing: Drawing, rows: Sequence[_Row]) -> Spec:
    names = [shortened(row.candidate, NAME_LETTERS) for row in rows]
    left = round(LETTER * max(map(len, names))) + GAP
    width = WIDTH - left - NUMBER
    x = users_axis(_levels(rows), title=context.level_name)
    y = alt.Y("row:O", axis=None, scale=alt.Scale(domain=list(range(len(rows)))))
    layers = [*_lines(context, drawing, rows, x, y), *_marks(context, drawing, rows, x, y)]
    for place, side, colour, texts in (
        (-GAP, "right", palette.INK[0], names),
        (width + GAP, "left", palette.MUTED[0], [_number(row.served) for row in rows]),
    ):
        lines = [{"row": index, "text": text} for index, text in enumerate(texts)]
        look: dict[str, Any] = {"align": side, "color": colour, "fontSize": 12}
        mark = alt.Chart(drawing.add(lines)).mark_text(x=place, baseline="middle", **look)
        layers.append(unit(mark.encode(y=y, text=alt.Text("text:N"))))
    return layer(layers, width=width, height=STEP * len(rows))


def _levels(rows: Sequence[_Row]) -> list[int]:
    return sorted({trial.users for row in rows for trial in row.trials})


def _lines(
    context: Context, drawing: Drawing, rows: Sequence[_Row], x: alt.X, y: alt.Y
) -> list[Spec]:
    """From the lowest level to what is served; a thin one where more may be."""
    levels = _levels(rows)
    colour = alt.Color("candidate:N", scale=candidate_scale(context, "colour"), legend=None)
    served = [
        {"row": index, "candidate": row.candidate, "users": levels[0], "to": row.served.users}
        for index, row in enumerate(rows)
        if row.served.users is not None
    ]
    beyond = [
        {"row": index, "candidate": row.candidate, "users": row.served.users,
         "to": row.served.not_at}
        for index, row in enumerate(rows)
        if row.served.users is not None and row.served.not_at is not None
    ]  # fmt: skip
    layers = []
    for lines, look in ((served, _SERVED), (beyond, _UNKNOWN)):
        if lines:
            rule = alt.Chart(drawing.add(lines)).mark_rule(**look)
            layers.append(unit(rule.encode(x=x, x2=alt.X2("to:Q"), y=y, color=colour)))
    return layers


_SERVED: dict[str, Any] = {"strokeWidth": 4}
_UNKNOWN: dict[str, Any] = {"strokeWidth": 1.5, "strokeDash": [2, 3]}
"""Between a level that obeys and the next that does not."""

_LOOKS: dict[Said, dict[str, Any]] = {
    Said.OBEYED: {"filled": True, "size": 110},
    Said.MISSED: {"filled": False, "fill": palette.PAPER[0], "size": 110, "strokeWidth": 1.8},
    Said.SPLIT: {"filled": False, "fill": palette.PAPER[0], "size": 110, "strokeWidth": 1.8},
    Said.NOTHING: {"shape": "M-1,-1L1,1M-1,1L1,-1", "filled": False, "size": 60},
}


def _marks(
    context: Context, drawing: Drawing, rows: Sequence[_Row], x: alt.X, y: alt.Y
) -> Iterator[Spec]:
    """What each level says, by the filling of its mark."""
    colour = alt.Color("candidate:N", scale=candidate_scale(context, "colour"), legend=None)
    shape = alt.Shape("candidate:N", scale=candidate_scale(context, "marker"), legend=None)
    tips = [
        alt.Tooltip("candidate:N"), alt.Tooltip("users:Q"), alt.Tooltip("said:N", title="says"),
        alt.Tooltip("windows:Q", title="valid windows"),
    ]  # fmt: skip
    for said, look in _LOOKS.items():
        places = [
            {"row": index, "candidate": row.candidate, "users": trial.users, "said": said.value,
             "windows": trial.obeyed + trial.missed}
            for index, row in enumerate(rows)
            for trial in row.trials
            if trial.said is said
        ]  # fmt: skip
        if not places:
            continue
        chart = alt.Chart(drawing.add(places))
        channels = {"color": colour} if said is Said.NOTHING else {"color": colour, "shape": shape}
        marks = chart.mark_point(opacity=1, **look)
        yield unit(marks.encode(x=x, y=y, tooltip=tips, **channels))
        if said is Said.SPLIT:
            core = chart.mark_point(filled=True, size=26, opacity=1)
            yield unit(core.encode(x=x, y=y, **channels))


def _table(context: Context, rows: Sequence[_Row]) -> PageTable:
    limit = context.limit
    assert limit is not None  # without one there is no figure
    found = [
        {
            "candidate": row.candidate, "users": trial.users,
            "value": context.evidence.level_of(row.candidate, trial.users, limit.quantity),
            "obeyed": trial.obeyed, "missed": trial.missed, "silent": trial.silent,
            "said": trial.said.value, "serves": trial.users == row.served.users,
        }
        for row in rows
        for trial in row.trials
    ]  # fmt: skip
    schema: dict[str, Any] = {
        "candidate": pl.String, "users": pl.Int64, "value": pl.Float64, "obeyed": pl.Int64,
        "missed": pl.Int64, "silent": pl.Int64, "said": pl.String, "serves": pl.Boolean,
    }  # fmt: skip
    shows = (
        Show("candidate", "candidate"), Show("users", context.level_name.lower(), "count"),
        Show("value", limit.name, "duration"), Show("obeyed", "windows that obey", "count"),
        Show("missed", "that do not", "count"), Show("silent", "that say nothing", "count"),
        Show("said", "says"), Show("serves", "serves so many", "truth"),
    )  # fmt: skip
    return PageTable(
        "users-within", f"Levels within {limit.text}", shows, pl.DataFrame(found, schema=schema)
    )
