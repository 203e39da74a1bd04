"""What a report says of backups beside users."""

from collections.abc import Iterator, Sequence

from stithy.analysis.effect import Effect
from stithy.analysis.statistics import BLOCKS_LEAST
from stithy.report.blocks import (
    Block,
    SectionKind,
    set_bullets,
    set_figures,
    set_grid,
    set_paragraph,
)
from stithy.report.context import Context
from stithy.report.drawing.points import drop_factor
from stithy.report.page import Page
from stithy.report.tables import PageTable, Show, make_table
from stithy.report.words.wording import (
    explain_pooled,
    format_count,
    format_plural,
    format_signed_share,
)
from stithy.scenarios.backup.judge import (
    COVERED_LEAST,
    Setting,
    find_fastest,
    is_own,
    list_maxima,
    list_settings,
    read_limit_share,
)
from stithy.scenarios.backup.keys import BACKUP, RATE, SETTINGS, drop_settings
from stithy.scenarios.backup.report import figures, seconds
from stithy.scenarios.backup.report.figures import format_at_load, name_setting
from stithy.units import format_list, format_measured_duration, format_share

NAME = "backup"
TITLE = "Backup and restore"

OF_BACKUPS = ("covered_share", "duration_s", "bytes_per_s", "size_bytes", "compression",
              "restore_s", "restore_bytes_per_s")  # fmt: skip
SHARED = (
    "Backup and restore are those that succeeded, as means of the windows' means. A restore ends "
    "when the restored database answers. Rates and the ratio count the database without its log, "
    "and all of it also where a backup holds only what changed. A backup that holds more, such as "
    "a log, has a ratio below 1."
)
NOTE = (
    "Impact: the window with backups against that without, of the same block, users, rate and "
    "data; the interval holds 95 % and is conservative from four blocks on. Throughput and "
    "percentiles are of the whole measurement. Under backup: the share of it during which a backup "
    "ran; with a small share a percentile hardly shows backups. In the rest of it users may still "
    "feel what a backup leaves, such as a cold cache. Windows in which no backup succeeded do not "
    f"count. {SHARED} Users have ended when a restore begins."
)
IDLE = f"Nobody worked on the database. Each backup was restored before the next. {SHARED}"


def _make_tables(page: Page) -> Iterator[PageTable]:
    context = page.context
    settings = list_settings(context)
    rows = []
    for of in settings:
        factors = {name: value for name, value in context.list_factor_values(of.point).items()
                   if name != BACKUP}  # fmt: skip
        blocks = of.throughput.pairs or len({window.block for window in of.counted})
        rows.append({
            **factors, "candidate": of.candidate, "blocks": blocks,
            "percentile": of.tail_of.label, "asked_per_s": of.asked_per_s,
            **_list_changes("throughput", of.throughput), **_list_changes("tail", of.tail),
            **{each: of.value(each) for each in OF_BACKUPS},
        })  # fmt: skip
    tails = list(dict.fromkeys(each.tail_of.label for each in settings))
    which = (Show("percentile", "Percentile"),) if len(tails) > 1 else ()
    shows = (
        *(show for show in context.factor_shows if show.column != BACKUP),
        Show("candidate", "Candidate"), Show("blocks", "Blocks", "count"),
        Show("asked_per_s", "Asked (1/s)", "rate"),
        *_show_impact("throughput", "Throughput"), *which,
        *_show_impact("tail", " or ".join(tails)),
        Show("covered_share", "Under backup", "share"),
        Show("duration_s", "Backup", "duration"),
        Show("bytes_per_s", "Backup rate", "bandwidth"),
        Show("size_bytes", "Backup size", "size"), Show("compression", "Ratio", "ratio"),
        Show("restore_s", "Restore", "duration"),
        Show("restore_bytes_per_s", "Restore rate", "bandwidth"),
    )  # fmt: skip
    table = make_table(NAME, TITLE, shows, rows)
    yield table.told() if _is_idle(context) else table


def _is_idle(context: Context) -> bool:
    return context.load is not None and context.load.is_idle


def _show_impact(name: str, label: str) -> tuple[Show, ...]:
    return (
        Show(f"{name}_change", f"{label} with backups", "signed share"),
        Show(f"{name}_low", "from", "signed share"), Show(f"{name}_high", "to", "signed share"),
    )  # fmt: skip


def _list_changes(name: str, effect: Effect) -> dict[str, float | None]:
    numbers = {"change": effect.ratio, "low": effect.low, "high": effect.high}
    return {f"{name}_{key}": None if each is None else each - 1 for key, each in numbers.items()}


def _set_backups(page: Page) -> Iterator[Block]:
    if page.tables[NAME].frame.is_empty():
        return
    context = page.context
    settings = list_settings(context)
    yield from set_bullets(
        (f"{name_setting(context, each)}: {'; '.join(_describe(context, each))}."
         for each in settings), "",
    )  # fmt: skip
    if not _is_idle(context):
        yield from set_paragraph(*_list_within(context, settings))
        yield from set_paragraph(*_describe_maxima(context))
    yield from set_figures(page.find_drawn(NAME))
    yield from set_grid(page.tables[NAME])
    yield from set_paragraph(*_describe_failures(context), style="warning")
    note = IDLE if _is_idle(context) else NOTE
    words = [note, explain_pooled(each.changes for each in settings)]
    if context.manifest is not None:
        varied = [name.removeprefix(SETTINGS) for name in context.factors if SETTINGS in name]
        but = f", with several values of {format_list(varied)}" if varied else ""
        words.append(f"Settings: {context.manifest.scenario}{but}.")
        hosts, users = context.manifest.agent_hosts, context.load.agents if context.load else ()
        if agents := [f"{name} ({hosts[name]})" for name in hosts if name not in users]:
            came = f"Backups came from {format_list(agents)}"
            words.append(f"{came}: the section Agents has its CPU.")
    yield from set_paragraph(*words, context.footer + ".", style="note")


def _describe(context: Context, of: Setting) -> Iterator[str]:
    if not of.counted:
        yield "no backup succeeded" if of.without_backup else "no window is valid"
        return
    if not _is_idle(context):
        effects = ((of.throughput, "throughput"), (of.tail, of.tail_of.label))
        changes = " and ".join(_describe_change(effect, label) for effect, label in effects)
        yield f"with backups {changes}"
    yield f"a backup took {format_measured_duration(of.value('duration_s') or 0.0)}"
    if (restore_s := of.value("restore_s")) is not None:
        yield f"a restore {format_measured_duration(restore_s)}"
    if of.without_backup:
        windows = format_plural(of.without_backup, "window")
        yield f"no backup succeeded in {windows} more"


def _describe_change(effect: Effect, label: str) -> str:
    if effect.ratio is None:
        return f"the change of {label} is not known"
    low, high = effect.low, effect.high
    within = (
        ""
        if low is None or high is None
        else f" (95 % interval {format_signed_share(low - 1)} to {format_signed_share(high - 1)})"
    )
    return f"{label} changed by {format_signed_share(effect.ratio - 1)}{within}"


def _list_within(context: Context, settings: tuple[Setting, ...]) -> Iterator[str]:
    share = read_limit_share(context)
    for load in dict.fromkeys(setting.load for setting in settings):
        here = [each for each in settings if each.load == load]
        fastest = {
            name: find_fastest([each for each in here if each.candidate == name], share)
            for name in dict.fromkeys(each.candidate for each in here)
        }
        best = [each for each in fastest.values() if each is not None]
        label, at = here[0].tail_of.label, format_at_load(context, load)
        if best:
            times = [f"{name_setting(context, each)} in "
                     f"{format_measured_duration(each.value('duration_s') or 0.0)}"
                     for each in best]  # fmt: skip
            covered = [each.value("covered_share") or 0.0 for each in best]
            least, most = format_share(min(covered)), format_share(max(covered))
            yield (
                f"Fastest backups shown to keep {label} within +{format_share(share)}{at}, by the "
                f"upper end of the interval: {format_list(times)}. A backup ran during "
                f"{least if least == most else f'at least {least}'} of the measurement."
            )
        lacking = [name for name, each in fastest.items() if each is None]
        if lacking:
            yield f"No setting was shown to keep {label} within +{format_share(share)} on " \
                  f"{format_list(lacking)}{at}."  # fmt: skip
            yield from _explain_needed([each for each in here if each.candidate in lacking])


def _explain_needed(settings: Sequence[Setting]) -> Iterator[str]:
    known = [setting for setting in settings if setting.tail.ratio is not None]
    if any(each.tail.plain for each in known):
        yield f"That needs at least {BLOCKS_LEAST} blocks."
    if any(not each.is_covered for each in known):
        yield (
            f"That needs backups during {format_share(COVERED_LEAST)} of the measurement: leave "
            "out `cycles`, or raise it."
        )


def _describe_maxima(context: Context) -> Iterator[str]:
    every = list_maxima(context)
    for of in every:
        each = format_list([f"{name} {format_count(rate)}" for name, rate in of.rates.items()])
        load = drop_factor(drop_settings(of.point), RATE)
        at = format_at_load(context, load) if len(every) > 1 else ""
        yield f"Measured maximum{at}, without backups, in transactions per second: {each}."
        if of.doubted:
            yield (
                f"The window of the maximum of {format_list(of.doubted)} is not valid; the rates "
                "are shares of it all the same."
            )
        if is_own(context):
            yield (
                "Rates are shares of each candidate's own maximum, so all are equally busy and do "
                "different work: compare what backups change, not response times."
            )
        elif len(of.rates) > 1:
            yield "Rates are shares of the lowest, so all candidates are asked for the same work."


def _describe_failures(context: Context) -> Iterator[str]:
    bad = [
        f"{span['name']} of window {window.id}: {span['invalid_because']}"
        for window in context.evidence.windows
        for span in window.spans
        if span["name"].startswith(("backup ", "restore")) and span["invalid_because"]
    ]
    if bad:
        yield (
            f"{format_plural(len(bad), 'backup or restore', 'backups or restores')} failed: "
            f"{bad[0]}."
        )


PLUGINS = (
    SectionKind(
        NAME, 23, TITLE, _set_backups, make_tables=_make_tables,
        list_covered=lambda page: [f"{NAME}.{metric}" for metric in OF_BACKUPS],
    ),
    *figures.PLUGINS, *seconds.PLUGINS,
)  # fmt: skip
