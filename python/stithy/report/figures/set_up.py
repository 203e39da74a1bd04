"""A drawing of the set-up: the hammer, a server for each candidate, volumes, what is under them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

import altair as alt
import polars as pl

from stithy.activity import get_level_factor
from stithy.report.blocks import Absent, Drawn, FigureKind
from stithy.report.context import Context
from stithy.report.drawing import palette
from stithy.report.drawing.chart import make_own_channels
from stithy.report.drawing.compose import Drawing, Rows, Spec, merge_layers
from stithy.report.tables import PageTable, Show
from stithy.report.words import loads
from stithy.report.words.escape import escape_unseen, truncate_name
from stithy.report.words.loads import name_drive
from stithy.report.words.wording import DASH, format_plural
from stithy.results.manifest import CandidateFacts, DriveFacts, Fact, LoadFacts, Manifest
from stithy.units import format_duration, format_list, format_rate, format_size
from stithy.workloads.words import PACE, describe_network

ROLES = ("data", "log", "temp", "backup")
FEW_LEVELS = 6


@dataclass(frozen=True)
class Box:
    """One part of the set-up: what it is, and what must be known of it."""

    heading: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Part:
    """A volume of a candidate, headed by the roles that lie on it, and the storage under it."""

    volume: Box
    storage: Box
    emulated: bool


@dataclass(frozen=True)
class Lane:
    """One candidate: its server, which is there in its windows alone, and its volumes."""

    candidate: str
    server: Box
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class SetUp:
    """The machine with all that ran on it."""

    machine: str
    hammer: Box
    lanes: tuple[Lane, ...]


def set_up(manifest: Manifest, *, is_embedded: bool = False) -> SetUp:
    """The set-up of a run. `is_embedded`: databases run in the hammer's process."""
    lanes = (
        Lane(
            candidate.name,
            Box(candidate.name, _describe_server(manifest, candidate)),
            tuple(_list_parts(candidate)),
        )
        for candidate in manifest.candidates
    )
    return SetUp(_describe_machine(manifest), _describe_hammer(manifest, is_embedded), tuple(lanes))


def _describe_machine(manifest: Manifest) -> str:
    """`This machine: 8 × Example CPU, 32 GiB of memory, kernel 6.1.0`."""
    cpus, model = _find_fact(manifest, "cpus"), _find_fact(manifest, "cpu_model")
    memory, kernel = _find_fact(manifest, "memory_bytes"), _find_fact(manifest, "kernel")
    parts = [f"{cpus} × {model or 'CPU of unknown model'}" if cpus else model]
    parts.append(f"{format_size(memory)} of memory" if isinstance(memory, int | float) else None)
    parts.append(f"kernel {kernel}" if kernel else None)
    shown = ", ".join(str(part) for part in parts if part)
    return f"This machine: {shown or 'its facts are not known'}"


def _find_fact(manifest: Manifest, name: str) -> Any:
    known = manifest.environment.get(name)
    return known.value if known else None


def _describe_hammer(manifest: Manifest, is_embedded: bool) -> Box:
    if manifest.given_load is None:
        return Box(f"scenario {manifest.scenario.partition(' ')[0]}", ())
    load = manifest.load
    bound = all(manifest.cpus_of(candidate) is not None for candidate in manifest.candidates)
    drives = any(each.drives for each in manifest.candidates)
    beside = ("shares CPUs with the drives",) if bound and drives else ()
    cpus = "on the other CPUs" if bound else "on any CPU"
    if load.agents:
        beside, cpus = (), f"on {len(load.agents)} agents"
    beside = (*beside, *describe_network(load.network, varied="network" in load.varied))
    if is_embedded:
        beside, cpus = (), "one process with the database"
    return Box(
        "hammer (load driver)", (*_describe_levels(load), _describe_loop(load), *beside, cpus)
    )


def _describe_levels(load: LoadFacts) -> tuple[str, ...]:
    factor = get_level_factor().driven(is_open=load.is_open)
    if load.is_idle:
        return ("no users",)
    if not load.levels:
        return (f"{factor.plural} chosen by the search",)
    if len(load.levels) > FEW_LEVELS:
        ends = f"{min(load.levels):,} to {max(load.levels):,}"
        return (f"{format_plural(len(load.levels), 'level')},", f"{ends} {factor.plural}")
    every = format_list([f"{level:,}" for level in load.levels])
    return (f"{every} {factor.unit if load.levels == (1,) else factor.plural}",)


def _describe_loop(load: LoadFacts) -> str:
    if PACE.intersection(load.varied):
        return "several paces"
    if load.is_idle:
        return "the database is idle"
    if load.rate_per_s is not None:
        return f"open loop, {format_rate(load.rate_per_s)}"
    if load.is_open:
        return "open loop"
    if load.pace == "think" and load.think_s is not None:
        return f"think {format_duration(load.think_s)}"
    return {"none": "back to back", "keyed": "keying, thinking"}.get(load.pace, load.pace)


def _describe_server(manifest: Manifest, candidate: CandidateFacts) -> tuple[str, ...]:
    """Three lines, whatever the candidate has of its own: more have no room in a drawing.

    None without a server.
    """
    if manifest.given_database is None:
        return ()
    database, memory = manifest.database, manifest.memory
    version = (manifest.server_version_of(candidate) or "").split(" ")[0]
    is_varied = memory is not None and "limit_bytes" in memory.varied
    size = "that varies" if is_varied else format_size(manifest.memory_limit_of(candidate) or 0)
    # A longer line would be cut, and with it the words that matter.
    is_held = memory is None or memory.enforced is not False
    limit = f"memory {size}" if is_held else f"{size} NOT ENFORCED"
    engines = [*manifest.by_engine]
    server = " or ".join(engines) if len(engines) > 1 else f"{database.engine} {version}".strip()
    lines = [server, limit, _describe_cpus(manifest, candidate)]
    if (own := loads.format_settings(manifest, candidate)) is not None:
        lines[1:] = [", ".join(lines[1:]) if is_held else limit, own.replace(" = ", "=")]
    return tuple(lines)


def _describe_cpus(manifest: Manifest, candidate: CandidateFacts) -> str:
    """`CPUs 1, 2`; of many how many."""
    cpus = manifest.cpus_of(candidate)
    if manifest.database.cpus_varied:
        return "several numbers of CPUs"
    if cpus is None:
        return "any CPU"
    if len(cpus) > 4:
        return f"bound to {len(cpus)} CPUs"
    return f"CPU{'s' if len(cpus) > 1 else ''} {', '.join(map(str, cpus))}"


def _list_parts(candidate: CandidateFacts) -> Iterator[Part]:
    """Its volumes, of which that of the data has every role that has none of its own."""
    by_role: dict[str, DriveFacts] = {}
    for drive in candidate.drives:
        by_role.setdefault(drive.role, drive)
    elsewhere = {*by_role, *(each.role for each in candidate.roles)} - {"data"}
    shared = tuple(each for each in ROLES if each not in elsewhere)
    if "data" not in by_role:
        volume = Box(
            ", ".join(shared), _describe_filesystem(candidate.filesystem, candidate.mount_options)
        )
        yield Part(volume, _describe_storage(candidate), emulated=False)
    arrays = {array.role: str(array) for array in candidate.arrays}
    several = {array.role for array in candidate.arrays if len(array.members) > 1}
    for each in candidate.roles:
        volume = Box(each.role, _describe_filesystem(each.filesystem, each.mount_options))
        devices = " on ".join(each.devices) or "no block device known"
        yield Part(volume, Box(each.path, (devices,)), emulated=False)
    for role, drive in by_role.items():
        roles = shared if role == "data" else (role,)
        volume = Box(", ".join(roles), _describe_filesystem(drive.filesystem, drive.mount_options))
        array = arrays.get(role)
        where = "in memory" if drive.backing == "memory" else f"in a file at {drive.backing}"
        size = f"{format_size(drive.size_bytes)}{' each' if role in several else ''}, {where}"
        storage = Box(f"EMULATED {name_drive(drive)}", (size, array or drive.title))
        yield Part(volume, storage, emulated=True)


def _describe_filesystem(kind: str | None, options: str | None) -> tuple[str, ...]:
    return (kind or "file system not known", options or DASH)


def _describe_storage(candidate: CandidateFacts) -> Box:
    """A directory with what the machine tells of its file system and of the devices under it."""
    facts = candidate.environment
    size = _format_size_fact(facts.get("filesystem_size_bytes"))
    shown = f"file system of {size}" if size else "size not known"
    if candidate.memory_backed:
        return Box(candidate.path, (shown, "its pages are memory"))
    if candidate.arrays:
        array = candidate.arrays[0]
        return Box(candidate.path, (shown, f"{array}: {', '.join(array.members)}"))
    devices = [_describe_device(candidate, name) for name in candidate.devices]
    return Box(candidate.path, (shown, " on ".join(devices) or "no block device known"))


def _format_size_fact(fact: Fact | None) -> str | None:
    if fact is None or not isinstance(fact.value, int | float):
        return None
    return format_size(fact.value)


def _describe_device(candidate: CandidateFacts, name: str) -> str:
    """`nvme0n1 (Example SSD, 1.75 TiB)`."""
    model = candidate.environment.get(f"device.{name}.model")
    size = _format_size_fact(candidate.environment.get(f"device.{name}.size_bytes"))
    shown = str(model.value).strip() if model is not None and model.value else None
    known = ", ".join(part for part in (shown, size) if part)
    return f"{name} ({known})" if known else name


NAME = "set-up"

SHOWS = "the machine, the hammer, the servers, their volumes and drives"

HAMMER, SERVER, VOLUME, STORAGE, END = 14, 184, 354, 542, 776
"""Left ends of the columns, and the right end of the last one; pixels."""

GAP, PADDING, TOP, ROW, BETWEEN, LANES = 26, 8, 34, 66, 6, 10
"""Between columns, in a box, above the first lane, of a box, between boxes, and lanes; pixels."""

HEADING, LINE, LETTER = 12, 11, 5.9
"""Sizes of letters, and how wide one of a line is on average; pixels."""

LEADING = 15


def _plot(context: Context) -> list[Drawn]:
    if context.manifest is None:
        return [Absent(NAME, SHOWS, "the manifest could not be read")]
    if not context.evidence.windows:
        return [Absent(NAME, SHOWS, "the run has no window yet")]
    if loads.is_by_url(context.manifest):
        return [Absent(NAME, SHOWS, "the servers were there, and what is under them was not seen")]
    whole = set_up(context.manifest, is_embedded=context.engine.is_embedded)
    drawing = Drawing()
    hammer = ", ".join(whole.hammer.lines)
    lanes = "; ".join(
        f"{lane.candidate}: {', '.join(lane.server.lines)}, with "
        + format_list([f"{part.volume.heading} on {part.storage.heading}" for part in lane.parts])
        for lane in whole.lanes
    )
    return [
        drawing.figure(
            context, NAME, _write_title(whole), _draw_chart(context, drawing, whole),
            _make_table(whole),
            caption="From left to right: the load driver, the database of each candidate, "
            "its volumes with the parts of the database on them, and the storage below. Databases "
            "run one at a time, each only during the windows of its candidate. Long names are "
            "shortened here, but not in the data.",
            description=f"{whole.machine}. The hammer ({hammer}) drives {lanes}.",
        )
    ]  # fmt: skip


def _write_title(whole: SetUp) -> str:
    names = [lane.candidate for lane in whole.lanes]
    if len(names) == 1:
        return f"One database on this machine, on the storage of {names[0]}"
    if len(names) > 4:
        databases = format_plural(len(names), "database")
        return f"{databases}, one at a time, each on its candidate's storage"
    return f"One database at a time on this machine, on the storage of {format_list(names)}"


class _Canvas:
    """Boxes, lines and texts by their places in pixels; the top is 0."""

    def __init__(self) -> None:
        self.boxes: Rows = []
        self.marks: Rows = []
        self.lines: Rows = []
        self.headings: Rows = []
        self.texts: Rows = []

    def box(self, left: float, right: float, top: float, box: Box, height: float = ROW) -> None:
        """A box with its texts, as many of them as it holds, each shortened to its width."""
        self.boxes.append({"x": left, "x2": right, "y": top, "y2": top + height})
        room = right - left - 2 * PADDING
        lines = _fit_lines(box.lines, _count_letters(room), round(height / LEADING) - 1)
        first = top + (height - LEADING * len(lines)) / 2
        heading = truncate_name(box.heading, _count_letters(room, 1.05))
        self.headings.append({"x": left + PADDING, "y": first, "text": heading})
        for number, line in enumerate(lines, start=1):
            place = {"x": left + PADDING, "y": first + LEADING * number}
            self.texts.append({**place, "text": line})

    def line(self, left: float, right: float, top: float, bottom: float) -> None:
        self.lines.append({"x": left, "x2": right, "y": top, "y2": bottom})

    def mark(self, left: float, top: float, bottom: float, candidate: str) -> None:
        """The colour of a candidate beside its box."""
        self.marks.append(
            {"x": left, "x2": left + 4, "y": top, "y2": bottom, "candidate": candidate}
        )


def _fit_lines(lines: Sequence[str], letters: int, most: int) -> list[str]:
    """The lines, a long one in two where there is room, else shortened."""
    fitted: list[str] = []
    for number, line in enumerate(lines, start=1):
        parts = wrap(escape_unseen(line), letters, break_long_words=False, break_on_hyphens=False)
        spare = most - len(fitted) - (len(lines) - number)
        whole = len(parts) <= spare and all(len(part) <= letters for part in parts)
        fitted += parts if whole else [truncate_name(line, letters)]
    return fitted


def _count_letters(room: float, factor: float = 1.0) -> int:
    return int(room / (LETTER * factor))


def _draw_chart(context: Context, drawing: Drawing, whole: SetUp) -> Spec:
    canvas = _Canvas()
    top: float = TOP
    middles = []
    for lane in whole.lanes:
        middles.append(_draw_lane(canvas, lane, top))
        top += _measure_lane(lane) + LANES
    _draw_hammer(canvas, whole.hammer, middles)
    height = top + 4
    frame = [{"x": 1.0, "x2": END + 12.0, "y": 1.0, "y2": height - 1}]
    text = truncate_name(whole.machine, _count_letters(END - HAMMER))
    machine = [{"x": HAMMER, "y": TOP / 2, "text": text}]
    marks = _draw_marks(context, drawing, canvas, frame, machine, height)
    return merge_layers(marks, width=END + 14, height=round(height))


def _measure_lane(lane: Lane) -> float:
    return len(lane.parts) * (ROW + BETWEEN) - BETWEEN


def _draw_lane(canvas: _Canvas, lane: Lane, top: float) -> float:
    """One candidate from its server to its storage; returns the middle of its server."""
    height = _measure_lane(lane)
    at = top + (height - ROW) / 2
    middle = at + ROW / 2
    canvas.box(SERVER, VOLUME - GAP, at, lane.server)
    canvas.mark(SERVER, at, at + ROW, lane.candidate)
    trunk = VOLUME - GAP / 2
    canvas.line(VOLUME - GAP, trunk, middle, middle)
    centres: list[float] = []
    for part in lane.parts:
        centre = top + len(centres) * (ROW + BETWEEN) + ROW / 2
        canvas.box(VOLUME, STORAGE - GAP, centre - ROW / 2, part.volume)
        canvas.box(STORAGE, END, centre - ROW / 2, part.storage)
        canvas.line(trunk, VOLUME, centre, centre)
        canvas.line(STORAGE - GAP, STORAGE, centre, centre)
        centres.append(centre)
    canvas.line(trunk, trunk, centres[0], centres[-1])
    return middle


def _draw_hammer(canvas: _Canvas, hammer: Box, middles: list[float]) -> None:
    """The hammer beside the middle of all servers, with a line to each."""
    height = LEADING * len(hammer.lines) + ROW / 2
    centre = (middles[0] + middles[-1]) / 2
    canvas.box(HAMMER, SERVER - GAP, centre - height / 2, hammer, height)
    trunk = SERVER - GAP / 2
    canvas.line(SERVER - GAP, trunk, centre, centre)
    canvas.line(trunk, trunk, min(middles[0], centre), max(middles[-1], centre))
    for middle in middles:
        canvas.line(trunk, SERVER, middle, middle)


def _draw_marks(
    context: Context, drawing: Drawing, canvas: _Canvas, frame: Rows, machine: Rows, height: float
) -> list[Spec]:
    across = alt.Scale(domain=[0, END + 14], nice=False, zero=False)
    down = alt.Scale(domain=[height, 0], nice=False, zero=False)
    places = {
        "x": alt.X("x:Q", axis=None, scale=across), "x2": alt.X2("x2:Q"),
        "y": alt.Y("y:Q", axis=None, scale=down), "y2": alt.Y2("y2:Q"),
    }  # fmt: skip

    def texts(rows: Rows, **look: Any) -> Spec:
        at = {"x": places["x"], "y": places["y"], "text": alt.Text("text:N")}
        return drawing.mark("text", rows, at, align="left", baseline="middle", **look)

    edge = {"stroke": palette.AXIS[0], "cornerRadius": 3, "fill": palette.PAPER[0]}
    colour = make_own_channels(context)["color"]
    lines = drawing.mark("rule", canvas.lines, places, color=palette.AXIS[0], strokeWidth=1.2)
    return [
        drawing.mark("rect", frame, places, strokeWidth=1, **edge),
        lines,
        drawing.mark("rect", canvas.boxes, places, strokeWidth=1.2, **edge),
        drawing.mark("rect", canvas.marks, {**places, "color": colour}, strokeWidth=0),
        texts(machine, fontSize=HEADING, color=palette.INK[0]),
        texts(canvas.headings, fontSize=HEADING, fontWeight=600, color=palette.INK[0]),
        texts(canvas.texts, fontSize=LINE, color=palette.MUTED[0]),
    ]


def _make_table(whole: SetUp) -> PageTable:
    rows = [
        {
            "candidate": lane.candidate, "server": "; ".join(lane.server.lines),
            "roles": part.volume.heading, "filesystem": "; ".join(part.volume.lines),
            "storage": part.storage.heading, "details": "; ".join(part.storage.lines),
            "emulated": part.emulated,
        }
        for lane in whole.lanes
        for part in lane.parts
    ]  # fmt: skip
    shows = [
        Show("candidate", "candidate"), Show("server", "server"), Show("roles", "on the volume"),
        Show("filesystem", "file system"), Show("storage", "storage"),
        Show("details", "storage details"),
    ]  # fmt: skip
    if any(row["emulated"] for row in rows):
        shows.append(Show("emulated", "emulated", "truth"))
    return PageTable(NAME, "The set-up", tuple(shows), pl.DataFrame(rows))


PLUGINS = (FigureKind(NAME, 3, "set-up", _plot, ("load",)),)
