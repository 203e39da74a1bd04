"""Every number that a sentence, a title or a caption tells follows from the run's Parquet files.

All numbers of a text are held against values that DuckDB and plain Python work out of the files, in
their order; a text with a number more, or of which nobody says what its numbers are, fails.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

import polars as pl
import pytest

from stithy.analysis.answers.findings import findings
from stithy.registry import plugins
from stithy.report.context import Context, context_of
from stithy.report.figure import Figure
from stithy.report.parts.answer import answer, sentences
from stithy.results.manifest import QuestionFacts, SearchFacts
from stithy.results.read import read_run
from stithy.results.tables import SERIES
from stithy.results.write import write_table
from support.plain_sql import rows
from support.sample_run import Shape, build_run, window_id
from support.worked_out import (
    assert_told,
    difference_of,
    level_mean,
    level_time_s,
    numbers,
    of_windows,
    printed_time_s,
    ratio_of,
    sampled,
    times_of,
    weighted_s,
)

Expected = Callable[[Path], Sequence[float]]

BROKEN = window_id("memory", 1, 0)
SHAPE = Shape(repeat=2, changes={BROKEN: {"errors": 1, "error_text": "deadlock detected"}})
LEAST, TOP = min(SHAPE.users), max(SHAPE.users)
MARGIN = 0.02
"""What a question counts as negligible where a study does not say."""


# Sentences of findings


@dataclass(frozen=True)
class Said:
    """A run, and the numbers of its sentence `which` among those of a kind."""

    kind: str
    shape: Shape
    expected: Expected
    words: str = ""
    which: int = 0
    prepared: Callable[[Path], None] = lambda root: None


def _told(values: Mapping[str, Sequence[float]], ends: Sequence[float]) -> list[float]:
    """Values of the second candidate and the first, their difference and ratio, with intervals."""
    (_, first), (_, second) = values.items()
    return [*ends, *difference_of(second, first), *ratio_of(second, first)]


def _better(root: Path, top: int, blocks: int) -> list[float]:
    """Level and ratio; then both values, what lies between them, and what the intervals are."""
    nopm = {name: of_windows(root, "nopm", top, name) for name in ("disk", "memory")}
    ends = [fmean(nopm["memory"]), fmean(nopm["disk"])]
    ratio = ratio_of(nopm["memory"], nopm["disk"])[0]
    return [top, ratio, *_told(nopm, ends), 0.95, blocks]


def _too_few(root: Path) -> list[float]:
    """The same with two blocks, which are said first, and how many are needed at the end."""
    level, ratio, *told, blocks = _better(root, TOP, 2)
    return [level, ratio, blocks, *told, blocks, 4]


def _waited(root: Path) -> list[float]:
    """Response times in the same direction."""
    p95_s = {name: times_of(root, "p95", TOP, name) for name in ("disk", "memory")}
    ends = [level_time_s(root, "p95", TOP, name) for name in ("memory", "disk")]
    ratio = ratio_of(p95_s["memory"], p95_s["disk"])[0]
    return [TOP, ratio, 2, *_told(p95_s, ends), 0.95, 2, 4]


def _equivalent(root: Path) -> list[float]:
    """Level and margin; then as where one is better."""
    nopm = {name: of_windows(root, "nopm", 4, name) for name in ("disk", "other")}
    ends = [fmean(nopm["other"]), fmean(nopm["disk"])]
    return [4, 0.3, *_told(nopm, ends), 0.95, 4]


def _undecided(root: Path) -> list[float]:
    level, _, *told = _equivalent(root)
    return [level, *told, 1]


def _growth(root: Path) -> list[float]:
    grown = [
        level_mean(root, "nopm", TOP, name) / level_mean(root, "nopm", LEAST, name)
        for name in SHAPE.candidates
    ]
    return [LEAST, TOP, *grown]


def _alone(root: Path) -> list[float]:
    return [4, level_mean(root, "nopm", 4, "disk"), level_time_s(root, "p95", 4, "disk")]


def _served(root: Path) -> list[float]:
    """The highest level of disk that obeys, the limit, the next; all of memory obey.

    What missed the limit is a number where 2,000 transactions bear one.
    """
    limit_s = SEARCH.limit_s
    obeys = {
        name: [
            users
            for users in SEARCHED.users
            if all(each <= limit_s for each in times_of(root, "p95", users, name, "new-order"))
        ]
        for name in ("disk", "memory")
    }
    assert obeys["memory"] == [1, 2, 3, 4]
    most = max(obeys["disk"])
    missed_s = level_time_s(root, "p95", most + 1, "disk", "new-order")
    ((there,),) = rows(
        root,
        "SELECT sum(t.committed + t.rolled_back) FROM win JOIN transactions t USING (window_id) "
        f"WHERE t.transaction = 'new-order' AND win.users = {most + 1} AND win.candidate = 'disk'",
    )
    missed = [missed_s] if there >= 2_000 else []
    return [most, limit_s, most + 1, *missed, 4, limit_s]


def _busy(root: Path) -> None:
    """Samples of a host whose CPUs had hardly anything to idle for, in two of three windows."""
    for block in (0, 1):
        path = root / "windows" / window_id("disk", TOP, block) / "series.parquet"
        shares = {"idle_share": 0.07 - 0.02 * block, "iowait_share": 0.01}
        frame = pl.read_parquet(path).with_columns(
            pl.when(pl.col("metric").is_in(list(shares)))
            .then(pl.col("metric").replace_strict(shares, default=None))
            .otherwise(pl.col("value"))
            .alias("value")
        )
        write_table(path, SERIES, frame.to_dicts())


def _used(root: Path, name: str) -> list[float]:
    """The share of time in which the CPUs of the host worked, by block."""
    states = "metric NOT IN ('idle_share', 'iowait_share') AND collector = 'cpu' AND subject = ''"
    idle = sampled(root, TOP, name, "metric = 'idle_share' AND collector = 'cpu'")
    waiting = sampled(root, TOP, name, "metric = 'iowait_share' AND collector = 'cpu'")
    assert sampled(root, TOP, name, states)
    return [1 - a - b for a, b in zip(idle, waiting, strict=True)]


def _limits(root: Path) -> list[float]:
    """Two of three windows of disk; of memory what the first was nearest to."""
    return [TOP, fmean(_used(root, "disk")[:2]), 2, 3, _used(root, "memory")[0]]


def _failed(root: Path) -> list[float]:
    """How many windows met errors, which is all that was wrong with them."""
    return [row[0] for row in rows(root, "SELECT count(*) FROM win WHERE errors > 0")]


SEARCH = SearchFacts(
    percentile="p95", transaction="new-order", limit_s=0.081, users_least=1, users_most=4,
    alone=True,
)  # fmt: skip
SEARCHED = Shape(users=(1, 2, 3, 4), repeat=2, series=False, search=SEARCH)
ASKED = QuestionFacts(
    users=4, metric="nopm", margin_share=0.3, candidates=("disk", "other"), blocks_least=4,
    blocks_most=4,
)  # fmt: skip
ALIKE = Shape(
    candidates=("disk", "memory", "other"), users=(4,), repeat=4, series=False, primary=ASKED
)
DECIDED = Shape(users=(TOP,), repeat=4, series=False)

SENTENCES = {
    "too few blocks": Said("comparison", SHAPE, _too_few),
    "the other metric": Said("comparison", SHAPE, _waited, "on memory was 0", which=1),
    "better": Said(
        "comparison", DECIDED, lambda root: _better(root, TOP, 4), "memory is better than disk: it"
    ),
    "equivalent": Said("comparison", ALIKE, _equivalent, "disk and other are equivalent within"),
    "undecided": Said(
        "comparison",
        replace(ALIKE, primary=ASKED.model_copy(update={"margin_share": 0.001})),
        _undecided,
        "it is undecided which of disk and other is better",
    ),
    "growth": Said("growth", SHAPE, _growth),
    "limits": Said("limits", Shape(users=(TOP,), repeat=3), _limits, "limited disk (", 0, _busy),
    "served": Said("served", SEARCHED, _served, "disk serves "),
    "alone": Said(
        "alone", Shape(candidates=("disk",), users=(4,), series=False), _alone, "in one window"
    ),
    "nothing": Said(
        "nothing",
        Shape(
            candidates=("disk",), users=(4,), series=False,
            changes={window_id("disk", 4, 0): {"errors": 1}},
        ),
        _failed,
        "gives no answer",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SENTENCES)
def test_all_numbers_of_a_sentence_follow_from_the_files(name: str, tmp_path: Path) -> None:
    """As they are said, rounded, in their order."""
    case = SENTENCES[name]
    root = build_run(tmp_path / "run", case.shape).root
    case.prepared(root)
    context = context_of(read_run(root))
    found = findings(context.evidence, context.limited)
    said = sentences([each for each in found if each.kind == case.kind], context.level_unit)
    assert case.words in said[case.which]
    assert_told(said[case.which], case.expected(root))


def test_every_kind_of_sentence_is_among_them() -> None:
    """Whoever adds one, adds its numbers."""
    assert {each.kind for each in SENTENCES.values()} == set(plugins("sentence"))


# Titles, captions and footers of figures


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two candidates, three levels and two blocks, with an invalid window."""
    return build_run(tmp_path_factory.mktemp("said") / "run", SHAPE).root


@pytest.fixture(scope="module")
def context(root: Path) -> Context:
    """What is known of it."""
    return context_of(read_run(root))


@pytest.fixture(scope="module")
def figures(context: Context) -> Mapping[str, Figure]:
    """All its figures by name."""
    drawn = [each for family in plugins("figure").values() for each in family.draw(context)]
    return {each.name: each for each in drawn if isinstance(each, Figure)}


def _ratio(values: Callable[[Path, str], Sequence[float]], more: str = "memory") -> Expected:
    """The level, and how much more the one has than the other."""
    less = "disk" if more == "memory" else "memory"

    def expected(root: Path) -> list[float]:
        return [TOP, ratio_of(values(root, more), values(root, less))[0]]

    return expected


def _of_nopm(root: Path, name: str) -> list[float]:
    return of_windows(root, "nopm", TOP, name)


def _of_tpm(root: Path, name: str) -> list[float]:
    return of_windows(root, "tpm", TOP, name)


def _of_p95(root: Path, name: str) -> list[float]:
    return times_of(root, "p95", TOP, name)


def _of_database(metric: str) -> Callable[[Path, str], Sequence[float]]:
    return lambda root, name: sampled(
        root, TOP, name, f"collector = 'database' AND metric = '{metric}'"
    )


def _nopm_ratio(root: Path) -> list[float]:
    """At the ends of the levels; of the lowest one block has both."""
    disk, memory = (of_windows(root, "nopm", LEAST, name) for name in SHAPE.candidates)
    highest = ratio_of(_of_nopm(root, "memory"), _of_nopm(root, "disk"))[0]
    return [highest, TOP, memory[0] / disk[1], LEAST]


def _slowest_type(root: Path) -> list[float]:
    """Of delivery where there are enough values: none has; of new-order only memory."""
    kinds = [row[0] for row in rows(root, "SELECT DISTINCT transaction FROM transactions")]
    told = {
        (kind, name): value
        for kind in kinds
        for name in SHAPE.candidates
        if kind != "all" and (value := printed_time_s(root, "p95", TOP, name, kind)) is not None
    }
    slowest, _ = max(told, key=lambda key: told[key])
    return [TOP, *(value for (kind, _), value in told.items() if kind == slowest)]


def _most(root: Path) -> list[float]:
    """Of each candidate the level with most orders, and the response time of the headline there."""
    return [
        number
        for name in SHAPE.candidates
        for users in (max(SHAPE.users, key=lambda users: level_mean(root, "nopm", users, name)),)
        for number in (
            level_mean(root, "nopm", users, name), users,
            level_time_s(root, "p95", users, name, "new-order"),
        )
    ]  # fmt: skip


def _level(collector: str, metric: str, subject: str = "") -> Expected:
    """The mean of a metric at the highest level, of each candidate."""
    what = f"collector = '{collector}' AND metric = '{metric}' AND subject = '{subject}'"
    return lambda root: [
        TOP, *(fmean(sampled(root, TOP, name, what)) for name in SHAPE.candidates)
    ]  # fmt: skip


def _device(metric: str, scale: float = 1.0) -> Expected:
    """The mean of a metric of the device at both ends of the levels, each with its level."""
    what = f"collector = 'block' AND metric = '{metric}'"
    return lambda root: [
        number
        for users in (LEAST, TOP)
        for number in (fmean(sampled(root, users, "disk", what)) * scale, users)
    ]


def _flushes(root: Path) -> list[float]:
    return [
        number
        for users in (LEAST, TOP)
        for number in (fmean(weighted_s(root, users, "disk", "flush")), users)
    ]


def _swing(users: int) -> Expected:
    """The least and the most of the measured seconds of the block that is shown."""
    query = (
        "SELECT MIN((committed + rolled_back) * 60), MAX((committed + rolled_back) * 60) "
        "FROM seconds WHERE transaction = 'all' AND phase = 'measure' AND window_id = '{}'"
    )
    return lambda root: [
        users,
        *(
            number
            for name in SHAPE.candidates
            for number in rows(root, query.format(window_id(name, users, _shown(root, users))))[0]
        ),
    ]


def _shown(root: Path, users: int) -> int:
    """The block in the middle by the product of its throughputs, of those that are whole."""
    products = rows(
        root,
        f"SELECT SUM(LN(nopm)), block FROM win WHERE errors = 0 AND users = {users} "
        "GROUP BY block HAVING COUNT(*) = 2 ORDER BY 1",
    )
    return int(products[(len(products) - 1) // 2][1])


TITLES: Mapping[str, Expected] = {
    "forest": lambda root: [TOP],
    "set-up": lambda root: [],
    "nopm-by-users": _ratio(_of_nopm),
    "tpm-by-users": _ratio(_of_tpm),
    "tpm-per-user": _ratio(_of_tpm),
    "nopm-ratio": _nopm_ratio,
    "response-by-users": _ratio(_of_p95, "disk"),
    "response-by-transaction": _slowest_type,
    "response-throughput": _most,
    "limits": lambda root: [TOP],
    "cpu-by-users": _level("cpu", "idle_share"),
    "pressure-by-users": _level("pressure", "some_share", "io"),
    "memory-by-users": lambda root: [TOP],
    "device-rate": _device("writes_per_s"),
    "device-latency": _flushes,
    "device-queue": _device("queue_length"),
    "device-bytes": _device("write_bytes_per_s", 1e-6),
    "device-use": _device("utilisation_share"),
    "wal-by-users": _ratio(_of_database("wal_bytes_per_s")),
    "wal-syncs-by-users": _ratio(_of_database("wal_syncs_per_s")),
    "blocks-read-by-users": _ratio(_of_database("blocks_read_per_s")),
    "waits-by-users": lambda root: [],
    **{f"seconds-{users}-users": _swing(users) for users in SHAPE.users},
}


def _block(users: int) -> Expected:
    """The block that is shown, of how many, the flagged ones beside it, and the checkpoints."""
    inside = "SELECT checkpoints_inside FROM win WHERE window_id = '{}'"

    def expected(root: Path) -> list[float]:
        block = _shown(root, users)
        whole = min(len(of_windows(root, "nopm", users, name)) for name in SHAPE.candidates)
        counts = [
            rows(root, inside.format(window_id(name, users, block)))[0][0]
            for name in SHAPE.candidates
        ]
        flagged = f"SELECT block FROM win WHERE errors > 0 AND users = {users} ORDER BY block"
        beside = [each for (each,) in rows(root, flagged) if each != block]
        return [block, *([whole] if whole > 1 else []), *beside, *counts]

    return expected


CAPTIONS: Mapping[str, Expected] = {
    "nopm-ratio": lambda root: [0.95, 4, 1],
    "device-use": lambda root: [1.0],
    "blocks-read-by-users": lambda root: [8 * 2**10],
    **{f"seconds-{users}-users": _block(users) for users in SHAPE.users},
}
"""Of those with numbers; the forest plot's counts what its own data do not draw."""

ELSEWHERE = {"heat", "percentiles", "blocks", "within", "cost", "canary"}
"""Families that need latency logs, which `tests/unit/report/figures` reads a second time; or more
blocks, a limit, costs or a machine that changed, of which `test_numbers_asked` has a run."""


@pytest.mark.parametrize("name", TITLES)
def test_all_numbers_of_a_title_follow_from_the_files(
    name: str, root: Path, figures: Mapping[str, Figure]
) -> None:
    """And its description begins with it."""
    assert_told(figures[name].title, TITLES[name](root))
    assert figures[name].description.startswith(figures[name].title)


def test_every_figure_of_the_run_has_its_numbers_here(
    context: Context, figures: Mapping[str, Figure]
) -> None:
    """A new family without them fails."""
    assert set(figures) == set(TITLES)
    silent = {
        name
        for name, family in plugins("figure").items()
        if not any(isinstance(each, Figure) for each in family.draw(context))
    }
    assert silent == ELSEWHERE


def test_all_numbers_of_the_captions_follow_from_the_files(
    root: Path, figures: Mapping[str, Figure]
) -> None:
    """Those without any are not listed; one that comes to have some must be."""
    for name, figure in figures.items():
        if name == "forest":
            left = figure.table.frame.filter(~pl.col("drawn")).height
            expected: Sequence[float] = [MARGIN, 1, *([left] if left else [])]
        else:
            expected = CAPTIONS[name](root) if name in CAPTIONS else []
        assert_told(figure.caption, expected)


def test_all_numbers_of_the_footers_follow_from_the_files(
    root: Path, figures: Mapping[str, Figure]
) -> None:
    """Ramp-up and measurement by their time stamps, blocks, and the limit that was enforced."""
    [(ramp_up_s, measured_s, blocks, limit_bytes)] = rows(
        root,
        "SELECT MAX(measure_from_s - started_at_s), MAX(measure_to_s - measure_from_s), "
        "MAX(block) + 1, MAX(memory_limit_bytes) FROM win",
    )
    for figure in figures.values():
        assert_told(figure.footer, [ramp_up_s, measured_s, blocks, limit_bytes])


# What supports and what weakens the answer


def _restored(root: Path) -> list[float]:
    return list(rows(root, "SELECT COUNT(*) FROM restores")[0])


def _held(root: Path) -> list[float]:
    [(held,)] = rows(
        root,
        "SELECT COUNT(*) FROM (SELECT holds FROM run_conditions UNION ALL "
        "SELECT holds FROM window_conditions) WHERE holds",
    )
    return [held]


def _head_room(root: Path) -> list[float]:
    """The busiest window, and what calibration found."""
    [(share,)] = rows(
        root,
        "SELECT MAX(transactions / (measure_to_s - measure_from_s) / driver_rate_per_s_max) "
        "FROM win",
    )
    found = json.loads((root / "manifest.json").read_text())["calibration"]
    most = math.ceil(100 * share) / 100  # "at most" is never rounded down
    return [most, found["rate_per_s_max"], found["connections"]]


def _ledgers(root: Path) -> list[float]:
    """Orders, payments, those in doubt and found."""
    summed = "SUM(acknowledged), SUM(in_doubt), SUM(in_doubt_found)"
    counts = {
        deal: rest for deal, *rest in rows(root, f"SELECT deal, {summed} FROM ledger GROUP BY deal")
    }
    doubt = [counts["order"][n] + counts["payment"][n] for n in (1, 2)]
    return [counts["order"][0], counts["payment"][0], *doubt]


def _invalid(root: Path) -> list[float]:
    return list(rows(root, "SELECT COUNT(*) FILTER (errors > 0), COUNT(*) FROM win")[0])


def _unlimited(root: Path) -> list[float]:
    return list(rows(root, "SELECT COUNT(*) FROM win WHERE NOT memory_limit_enforced")[0])


SUPPORT: Mapping[str, Expected] = {
    "windows are valid": lambda root: list(rows(root, "SELECT COUNT(*) FROM win")[0]),
    "verified consistency conditions held": _held,
    "The driver used at most": _head_room,
    "gave files identical to the master copy": _restored,
    "that the ledgers hold as acknowledged": _ledgers,
    "invalid": _invalid,
    "the memory limit was not enforced": _unlimited,
    "is an emulated drive": lambda root: [],
    "numbers that set a drive's times": lambda root: [2, 5],  # as the sample's profile has them
    "The run was interrupted": lambda root: [],
    "planned windows": lambda root: [
        1, len(json.loads((root / "manifest.json").read_text())["plan"]["windows"])
    ],
}  # fmt: skip
"""By words of a sentence, its numbers."""

RUNS = {
    "well": Shape(users=(1, 4), repeat=2, ledger=True, drives={"disk": 0.0}),
    "flawed": Shape(
        users=(1, 4), repeat=2, changes={window_id("disk", 1, 0): {"errors": 3}},
        left_out=frozenset({window_id("memory", 4, 1)}), memory_limit_enforced=False,
        memory_limit_note="no rights", end="interrupted", end_because="Ctrl-C",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RUNS)
def test_all_numbers_of_what_supports_and_weakens_an_answer_follow_from_the_files(
    name: str, tmp_path: Path
) -> None:
    """Every sentence beside the findings; one with numbers that nobody knows fails."""
    root = build_run(tmp_path / "run", RUNS[name]).root
    context = context_of(read_run(root))
    told = answer(context, findings(context.evidence, context.limited))
    assert len(told.support) + len(told.flawed) >= 3
    for sentence in (*told.support, *told.flawed):
        known = [expected for words, expected in SUPPORT.items() if words in sentence]
        if numbers(sentence) or known:
            assert len(known) == 1, sentence
            assert_told(sentence, known[0](root))
