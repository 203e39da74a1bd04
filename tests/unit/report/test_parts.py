"""The parts of a report: what each says of which run, and what it leaves out."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from stithy.analysis.bottlenecks.judge import judge
from stithy.analysis.bottlenecks.observation import Cpus
from stithy.analysis.decision import judge_question
from stithy.analysis.verdict import PrimaryComparison
from stithy.metrics import P95
from stithy.point import Point, Value
from stithy.registry import plugins
from stithy.report import validity
from stithy.report.blocks import SectionKind
from stithy.report.context import Context
from stithy.report.figures.set_up import set_up
from stithy.report.page import Page
from stithy.report.sections import answer, certainty, factors
from stithy.report.sections import levels as searches
from stithy.report.sections.method import describe_unequal_settings
from stithy.report.sections.validity import machine
from stithy.report.sections.validity.work import describe_nominal, describe_specified
from stithy.results.manifest import (
    CalibrationFacts,
    CandidateFacts,
    Fact,
    QuestionFacts,
    SessionFacts,
)
from stithy.search import ResponseTarget, Search
from stithy.statements import Statement
from stithy.workloads.order_entry import ORDER_ENTRY, OrderEntry
from stithy.workloads.workload import Size
from support.drawn import context_built, draw_one
from support.sample_drives import sample_drive
from support.sample_observation import disk, observed, sessions
from support.sample_run import START_S, Shape, manifest, rewrite, window_id
from support.searched import LIMIT, evidence, window

Row = dict[str, Any]


def run(folder: Path, **shape: Any) -> Context:
    """A short run of this shape at 4 users, as the report reads it."""
    usual = {"users": (4,), "duration_s": 2, "series": False, **shape}
    return context_built(folder, Shape(**usual))


def orders(firsts: tuple[str, ...], later_share: float = 0.0) -> Row:
    """Two candidates in these orders; the later window of each block does so much more."""
    changes = {
        window_id(name, 4, block): {
            "position": place,
            "headline_per_min": 6000 * (1 + later_share * place) * (1.002 if block % 2 else 1.0),
        }
        for block, order in enumerate(firsts) for place, name in enumerate(order)
    }  # fmt: skip
    return {"candidates": ("a", "b"), "repeat": len(firsts), "changes": changes}


def _room(of: Context) -> str:
    shown = machine.describe_headroom(of)
    return f"{shown.weakens}: {shown.text}" if shown else "nothing"


SAYS: Mapping[str, Callable[[Context], object]] = {
    "order": certainty.order_sentence, "asked": certainty.describe_question, "room": _room,
    "state": lambda of: certainty.state_sentence(of, judge_question(of.evidence)),
    "same": lambda of: f"{machine.describe_machine(of)} {machine.describe_machine_flaw(of)}",
    "load": lambda of: " ".join(describe_specified(of)), "resumed": validity.describe_resumed,
    "flaws": lambda of: answer.answer(of).flaws,
}  # fmt: skip
"""What a part says, by what it speaks of; of the driver's headroom also whether it weakens."""

BALANCED = ("ab", "ba", "ba", "ab")
QUESTION = QuestionFacts(point=Point.of(users=4), metric="nopm", margin_share=0.02,
    candidates=("disk", "memory"),
                         blocks_least=4, blocks_most=20)  # fmt: skip
LOOSE = QUESTION.model_copy(update={"candidates": None, "blocks_least": 2, "blocks_most": 2,
                                    "derived": ("metric",)})  # fmt: skip
DRIVER = {"users": (1, 13), "duration_s": 20}


def able(rate_per_s: float, **more: Any) -> Row:
    """A run whose driver can do so much."""
    facts = CalibrationFacts(connections=13, rate_per_s_max=rate_per_s, **more)
    return {**DRIVER, "calibration": facts}


def again(*starts_s: float, **last: Any) -> Row:
    """A run of four windows, 100 s each, in sessions that began so many seconds after it."""
    usual = {"boot_id": "one", "end": "finished"}
    facts = [{**usual, "started_at_s": START_S + start_s} for start_s in starts_s]
    facts[-1] |= last
    facts[0]["end"] = "killed"
    made = tuple(SessionFacts.model_validate(fact) for fact in facts)
    return {"users": (1, 4), "sessions": made}


ODD = {f"w-{name}-u4-b3": {"one_rounds_per_s": 90_000.0} for name in ("disk", "memory")}
GONE = frozenset({"w-disk-u4-b1", "w-memory-u4-b1"})
LATE = {f"w-disk-u4-b{block}": {"lateness_mean_s": 1.0} for block in (0, 1)}
NULL = {"repeat": 4, "null": True, "primary": QUESTION}


@pytest.mark.parametrize(("say", "shape", "parts"), [
    ("order", orders(BALANCED, 0.03), [
        "a came first in 2 of 4 valid blocks (a, b, b, a).", "favours neither candidate",
        "was 1.030 times the earlier one (95 % interval 1.030 to 1.030)"]),
    ("order", orders(BALANCED), ["No effect of position was found."]),
    ("order", orders(("ab", "ba")), ["is not tested: the test needs 2 blocks of each order."]),
    ("order", orders((*BALANCED, "ab"), 0.03),
     ["did not come first equally often, so a part of their difference comes from the position."]),
    ("state", orders(("ab",) * 4, 0.05), ["every valid block has the same order of"]),
    ("state", {"repeat": 2, "primary": QUESTION}, ["may decide it."]),
    ("state", {"repeat": 2, "primary": QUESTION, "changes": LATE},
     ['yet: 2 of 4 windows there are invalid, 2 of them with "driver late".']),
    ("state", {"repeat": 4, "primary": QUESTION.model_copy(
        update={"metric": "p99 of payment"})}, ["yet: p99 of payment needs 10,000 values in each"]),
    ("state", {"repeat": 4, "series": True, "duration_s": 3, "primary": QUESTION.model_copy(
        update={"metric": "database.log_bytes_per_s"})}, ["memory has more than disk: its"]),
    ("asked", {"repeat": 2, "primary": LOOSE}, [
        "(derived: the study names no metric)", "the two candidates farthest apart",
        "number of blocks at this level; 2 blocks were measured."]),
    ("room", able(900.0), ["True: Window w-memory-u13-b0", "The driver may limit this window."]),
    ("room", able(200.0), ["True: The driver headroom is not proven: it did 5",
                         "in w-memory-u13-b0, more than the 200 of the calibration."]),
    ("room", able(700.0, others_share=0.43), ["True: ", "other programs used 43 % of"]),
    ("room", able(12_000.0, others_share=0.43), ["False: "]),
    ("room", {**DRIVER, "calibration": CalibrationFacts(missing_because="nobody asked")},
     ["True: The driver headroom is not proven: nobody asked."]),
    ("same", {"repeat": 6}, ["The baseline check was as usual before each of 6 blocks:",
                           "There was no clear trend over the run. None"]),
    ("same", {"repeat": 6, "baselines": ODD}, ["deviated before 1 of 6", "1 of 6 blocks was"]),
    ("same", {"repeat": 2}, ["2 baseline checks cannot show whether the"]),
    ("load", {"changes": {"w-disk-u4-b0": {"retries": 0}}}, [
        "level read committed, as in most applications", "The specification requires",
        ORDER_ENTRY.deviations]),
    ("load", {"changes": {"w-disk-u4-b0": {"headline_per_min": 30_000.0}}},
     ["They give at most 12.86. This load is not keyed"]),
    ("load", {"changes": {"w-disk-u4-b0": {"headline_per_min": 3e4}}, "load": {"pace": "keyed"}},
     ["The specification has ten users per warehouse"]),
    ("flaws", {"candidates": ("disk", "memory"), **NULL},
     ["This is a null study of two identical candidates", "is an error of the measurement."]),
    ("flaws", {"left_out": GONE, "repeat": 2, "end": "interrupted", "end_because": "Ctrl-C"},
     ["2 of 4 planned windows were not run.", "The run was interrupted: Ctrl-C."]),
    ("flaws", {"again": frozenset({(4, 0)}), "left_out": frozenset({
        "w-disk-u4-b0-again", "w-memory-u4-b0-again"})}, ["2 of 4 requested windows are not"]),
    ("flaws", {"drives": {"disk": 0.0}}, [
        "profiles, 2 of 5 of sample-ssd are", "The database of memory lies in memory: a power"]),
    ("flaws", {"surroundings": {"w-disk-u4-b0": {"others_cpu_s": 5.0}}},
     ["In 1 of 2 windows other programs or the hypervisor took CPU time or bandwidth"]),
    ("resumed", {"users": (1, 4)}, ["None"]),
    ("resumed", again(0, 150), [
        "The run was resumed at 20", "UTC, after it had been killed; windows measured: 2 in "
        "session 1 and 2 in session 2.", "each window starts from a fresh restore"]),
    ("resumed", again(0, 150, master_kept=True), ["identical byte by byte"]),
    ("resumed", again(-10, -5), ["loaded again"]),
])  # fmt: skip
def test_a_part_says_what_is_so(tmp_path: Path, say: str, shape: Row, parts: list[str]) -> None:
    """Orders, question, driver, machine, load, flaws, sessions; the words around are golden."""
    shown = str(SAYS[say](run(tmp_path, **shape)))
    assert [part for part in parts if part not in shown] == [], shown


@pytest.mark.parametrize(("say", "shape", "word"), [
    ("load", {"changes": {"w-disk-u4-b0": {"headline_per_min": 128.6}}, "candidates": ("disk",)},
     "12.86"),
    ("flaws", {**NULL, "null": False}, "null study"),
    ("state", {"repeat": 1, "primary": QUESTION}, "may decide it."),
    ("order", orders(("ab",)), "earlier one"),
])  # fmt: skip
def test_a_part_says_nothing_beyond(tmp_path: Path, say: str, shape: Row, word: str) -> None:
    """The nearest run of which it would be wrong."""
    assert word not in str(SAYS[say](run(tmp_path, **shape)))


def test_each_tenant_has_warehouses_of_its_own(tmp_path: Path) -> None:
    """Three that do 12 for each of their ten keep to the bound; three that do 15 do not."""
    tenants = {("tenant.tpm", f"tenant-{each}"): {"value": 300.0} for each in (1, 2, 3)}

    def says(each: float) -> str:
        of_all = {"w-disk-u4-b0": {"headline_per_min": 3 * each * 10}}
        of = run(tmp_path / str(each), candidates=("disk",), changes=of_all)
        windows = tuple(replace(window, values=tenants) for window in of.evidence.windows)
        return str(SAYS["load"](replace(of, evidence=replace(of.evidence, windows=windows))))

    assert "per warehouse. " not in says(12.0)
    assert "up to 15 NOPM per warehouse. " in says(15.0)


def test_a_load_is_told_by_its_nominal_rate(tmp_path: Path) -> None:
    """The least and the most of all windows; more than is allowed is said."""

    class Rated(OrderEntry):
        def get_nominal_rate(self, size: Size) -> float:
            return 1000.0

    class PerWarehouse(OrderEntry):
        def get_nominal_rate(self, size: Size) -> float:
            return 2000.0 * size["warehouses"]

    def says(most: float) -> str:
        rates = {"w-disk-u4-b0": {"headline_per_min": most}}
        of = run(tmp_path / str(most), candidates=("disk",), changes=rates)
        assert of.manifest is not None
        windows = of.evidence.windows
        assert [*describe_nominal(of.manifest, ORDER_ENTRY, windows)] == []
        return str(*describe_nominal(of.manifest, Rated(**vars(ORDER_ENTRY)), windows))

    assert "had 0.50 times the nominal NOPM of its size, 1,000." in says(500.0)
    assert "allows at most 1.02 times" not in says(1020.0)
    assert "allows at most 1.02 times" in says(1030.0)
    sizes = _varied(tmp_path / "sizes", "workload.warehouses", (1, 5), (1.0, 5.0))
    assert sizes.manifest is not None
    rated = PerWarehouse(**vars(ORDER_ENTRY))
    [said] = describe_nominal(sizes.manifest, rated, sizes.evidence.windows)
    assert said.startswith("The load had 0.50 times the nominal NOPM of its size, 2,000 to 10,000.")


def test_the_greatest_backlog_of_an_exchange_is_said(tmp_path: Path) -> None:
    """Of all windows; a workload without an exchange has none."""
    owing = {"w-disk-u4-b0": {"results_open": 1}}
    of = run(tmp_path, candidates=("disk",), changes=owing)
    assert "still owed the results of 1 order at most." in " ".join(describe_specified(of))


def test_windows_that_were_not_needed_are_not_missing(tmp_path: Path) -> None:
    """Others that are not there are; a final check that is missing is a flaw."""
    shape: Row = {"repeat": 2, "primary": QUESTION, "left_out": GONE}
    assert run(tmp_path / "spared", skipped=GONE, **shape).not_run == []
    assert {*run(tmp_path / "lost", **shape).not_run} == GONE
    run(tmp_path / "two", **again(0, 1e6))
    path = tmp_path / "two/tables/conditions.parquet"
    ends = (pl.col("moment") == "end") & (pl.col("candidate") == "disk")
    rewrite(path, pl.read_parquet(path).filter(~ends))
    resumed = context_built(tmp_path / "two")
    [shown] = validity.list_resumed_flaws(resumed)
    assert "is missing for disk" in shown
    assert resumed.run.manifest is not None
    beside = resumed.run.manifest.model_copy(update={"scenario": "noisy-neighbour"})
    other = replace(resumed, run=replace(resumed.run, manifest=beside))
    assert list(validity.list_resumed_flaws(other)) == [], "its scenario has no final check"


def test_windows_without_a_database_start_from_what_the_one_before_left(tmp_path: Path) -> None:
    """Nothing is restored, so that neither a resumed run nor its drives were put back."""
    built = run(tmp_path, drives={"disk": 0.0}, **again(0, 150))
    windows = tuple(
        replace(each, row={**each.row, "activity": "fio"}) for each in built.evidence.windows
    )
    without = replace(built.run, restores=built.run.restores.clear())
    other = replace(built, run=without, evidence=replace(built.evidence, windows=windows))
    said = str(validity.describe_resumed(other))
    assert said.endswith("the same, and what the windows use was prepared again."), said
    for of, state in ((built, "state after loading."), (other, "state after the window before it")):
        assert state in str([*plugins(SectionKind)["method"].make_sections(Page(of))])


CAPPED = judge(observed(places=100, paced=True, under_way=3.0, server=Cpus(2, 0.1)))
FULL = judge(observed(server=Cpus(1, 0.95)))
ALONE = judge(observed(server=Cpus(8, 0.4), sessions=sessions(device=0.8, cpu=3.2), devices=disk()))
OUTSIDE = judge(observed(sessions=sessions(cpu=0.1), server=Cpus(2, 0.2)))


@pytest.mark.parametrize(("limited", "repeat", "shown"), [
    ((CAPPED, CAPPED), 1, ["disk and memory was limited by the number of users. It is not a "
                           "storage result. Compare response times, or use more users."]),
    ((ALONE, FULL), 1, ["disk was limited by the number of users. Storage took at most 20 % of "
                        "the users' time, so storage without any latency would give at most "
                        "1.25 times as much."]),
    ((FULL, OUTSIDE), 1, ["memory was limited by the load driver. It is not a storage result."]),
    ((OUTSIDE, OUTSIDE), 6, ["memory was limited by the load driver. The true difference may "
                             "be larger than the measured one."]),
    ((FULL, FULL), 1, []),
])  # fmt: skip
def test_a_capped_throughput_weakens_the_answer_unless_times_are_asked_for(
    tmp_path: Path, limited: tuple[Any, Any], repeat: int, shown: list[str]
) -> None:
    """Candidates of one cap are named together; a verdict refutes it for who did less."""
    made = run(tmp_path, repeat=repeat, duration_s=20)
    by_name = dict(zip(("disk", "memory"), limited, strict=True))
    known = {each.id: by_name[each.candidate] for each in made.evidence.windows}
    times = replace(made.evidence, primary=PrimaryComparison(metric=P95))
    for known_of, said in ((made.evidence, shown), (times, [])):
        context = Context(made.run, known_of, made.sampled)
        context.__dict__["limited"] = known
        texts = [f"At 4 users, the throughput of {each}" for each in said]
        assert [*answer.list_cap_flaws(context)] == texts


def test_reasons_of_one_kind_and_candidate_are_one_row_with_their_range(tmp_path: Path) -> None:
    """Candidates are not thrown together, nor what differs in more than numbers."""
    lateness = {"disk": 0.020, "memory": 0.996}
    changes: Mapping[str, Row] = {
        window_id(name, 4, block): {"lateness_mean_s": first_s + block * 1e-3}
        for name, first_s in lateness.items() for block in range(5)
    }  # fmt: skip
    for block in range(5):
        text = "a page is locked" if block else "another one"
        changes[window_id("disk", 4, block)].update(errors=1, error_text=text)
    context = run(tmp_path, repeat=5, changes=changes)
    rows = validity.make_gathered_table(context).frame.to_dicts()
    late = {row["windows"]: row for row in rows if row["sentence"].startswith("The driver was")}
    assert "late by 20 to 24 ms in the mean" in late["all 5 of disk"]["sentence"]
    assert "late by 996 ms to 1 s in the mean" in late["all 5 of memory"]["sentence"]
    assert late["all 5 of disk"]["weight"] == "invalid"
    assert late["all 5 of disk"]["window_ids"] == ", ".join(f"w-disk-u4-b{n}" for n in range(5))
    assert sum("errors" in row["sentence"] for row in rows) == 2
    assert (
        validity.make_reasons_table(context).frame["sentence"].str.contains("was late").sum() == 10
    )


def test_notes_that_most_candidates_have_are_one_row_with_their_drives(tmp_path: Path) -> None:
    """Of four candidates the drives by their first and last, the windows by candidate."""
    names = ("a", "b", "c", "d")
    seen = [
        validity._Seen(True, Statement(
            "Drive of {drive:drive} was late with {share:.1f %}, {s:duration}.",
            drive=f"data-host{at + 1}", share=0.01 + at / 1000, s=(9 + at) / 1e6), "",
                      (window_id(name, 4, 0), window_id(name, 4, 1))[: 1 + at])
        for at, name in enumerate(names)
    ]  # fmt: skip
    owner = {window_id(name, 4, block): name for name in names for block in (0, 1)}
    [row] = validity._gather_group(seen, owner)
    assert (
        row.sentence == "Drive of data-host1 to data-host4 was late with 1.0 to 1.3 %, 9 to 12 µs."
    )
    said = validity._name_windows(row.ids, owner)
    assert said == "1 of 2 of a\nall 2 of b\nall 2 of c\nall 2 of d"


def test_braces_in_names_stay_what_they_are(tmp_path: Path) -> None:
    """No name of a person's becomes a field of a template."""
    context = run(tmp_path, candidates=("{disk}", "{"), repeat=4)
    said = answer.answer(context)
    assert said.headline.startswith("At 4 users, { ")
    assert "{disk}" in said.headline


def test_what_makes_a_search_doubtful_is_told(tmp_path: Path) -> None:
    """A response that is not monotone, windows that disagree, too few answers."""
    context = run(tmp_path, candidates=("disk",))
    rare, usual = (Search(limit, 1, 256) for limit in (ResponseTarget("p99.9", "all", 1.0), LIMIT))
    few = [replace(each, transactions={"all": {**each.transactions["all"], "response_p999_s": 0.2}})
           for each in window("sata", 1, [0.1, 0.1])]  # fmt: skip
    for windows, search, said in (
        ([*window("sata", 1, [0.1]), *window("sata", 2, [1.2, 1.2]), *window("sata", 4, [0.8])],
         usual, "meets the target at 4, and not always at 2"),
        ([*window("sata", 1, [0.1]), *window("sata", 2, [0.9, 1.1])], usual,
         "Windows of sata at 2 disagree"),
        (few, rare, "2 of 2 windows of the search completed fewer than 100,000 transactions"),
    ):  # fmt: skip
        [flaw] = searches.list_flaws(replace(context, evidence=evidence(windows, search)))
        assert said in flaw


def test_the_set_up_has_each_server_volume_and_what_is_under_it() -> None:
    """CPUs by number, limits that were not held, devices by model, drives named as emulated."""
    made = manifest(Shape(memory_limit_enforced=False))
    known: Row = {"filesystem_size_bytes": 100 * 2**30, "device.vda.model": "An SSD",
             "device.vda.size_bytes": 200 * 2**30}  # fmt: skip
    facts = {name: Fact(value=value) for name, value in known.items()}
    facts["device.md0.model"] = Fact(value=None, missing_because="it has none")
    disk, memory = made.candidates
    drives = sample_drive(), sample_drive().model_copy(update={"role": "log", "scale": 1.0})
    candidates = (
        disk.model_copy(update={"environment": facts, "devices": ("md0", "vda")}), memory,
        memory.model_copy(update={"drives": drives}),
    )  # fmt: skip
    assert set_up(made).lanes[0].server.lines[2] == "any CPU"
    database = made.database.model_copy(update={"cpus": (2, 3)})
    found = set_up(made.model_copy(update={"candidates": candidates, "given_database": database}))
    server = found.lanes[0].server.lines
    assert server == ("postgresql 15.13", "1 GiB NOT ENFORCED", "CPUs 2, 3")
    assert found.hammer.lines[-1] == "on the other CPUs"
    own = memory.model_copy(update={"memory_limit_bytes": 2**31, "settings": {"Work_Mem": "8MB"}})
    lanes = set_up(made.model_copy(update={"candidates": (disk, own)})).lanes
    assert [lane.server.lines[1:] for lane in lanes] == [
        ("1 GiB NOT ENFORCED", "work_mem=server default"),
        ("2 GiB NOT ENFORCED", "work_mem=8MB"),
    ]
    of_four = memory.model_copy(update={"cpus": (1, 2, 3, 4)})
    lanes = set_up(made.model_copy(update={"candidates": (disk, of_four)})).lanes
    assert [each.server.lines[2] for each in lanes] == ["any CPU", "CPUs 1, 2, 3, 4"]
    [one], [plain], emulated = (lane.parts for lane in found.lanes)
    headings = one.volume.heading, one.storage.heading
    assert headings == ("data, log, temp, backup", "/var/tmp/stithy-0")
    assert one.storage.lines == ("file system of 100 GiB", "md0 on vda (An SSD, 200 GiB)")
    assert plain.storage.lines == ("size not known", "its pages are memory")
    of = [(part.volume.heading, part.storage.heading, part.emulated) for part in emulated]
    assert of == [
        ("data, temp, backup", "EMULATED sample-ssd at scale 1/8", True),
        ("log", "EMULATED sample-ssd", True),
    ]


def _on(name: str, read_ahead: int | None) -> CandidateFacts:
    facts = {
        "device.loop1.read_ahead_bytes": Fact(value=read_ahead, missing_because=None),
        "device.loop1.scheduler": Fact(value="none", missing_because=None),
    }
    return CandidateFacts(
        name=name, provider="directory", path="/", devices=("loop1",), environment=facts
    )


@pytest.mark.parametrize(("second", "said"), [
    (128 * 2**10, None),
    (None, None),
    (2560 * 2**10, "The kernel treats the candidates' block devices differently: "
                   "read-ahead 128 KiB on a and 2.5 MiB on b."),
])  # fmt: skip
def test_settings_of_the_kernel_by_which_candidates_differ_are_said(
    second: int | None, said: str | None
) -> None:
    """The report says so: storage that is read ahead differently is not compared by itself."""
    assert describe_unequal_settings([_on("a", 128 * 2**10), _on("b", second)]) == said


def _varied(
    tmp_path: Path, name: str, values: tuple[Value, ...], gain: tuple[float, ...]
) -> Context:
    """One candidate that does so many times as much with each value of a factor."""
    levels = (10, 20, 40)[: len(values)]
    changes = {
        window_id("a", level, block): {"headline_per_min": 1000.0 * times * (1 + block % 2 / 1000)}
        for level, times in zip(levels, gain, strict=True) for block in range(5)
    }  # fmt: skip
    context = run(tmp_path, candidates=("a",), users=levels, repeat=5, changes=changes)
    points = tuple(Point((("users", 4), (name, value))) for value in values)
    windows = tuple(
        replace(each, row={**each.row, "point": str(points[levels.index(each.row["users"])])})
        for each in context.evidence.windows
    )
    return replace(context, evidence=replace(context.evidence, points=points, windows=windows))


def test_words_have_no_more_and_less_so_that_nothing_improves_up_to_one(tmp_path: Path) -> None:
    """Their ratios are said, and no line joins them."""
    context = _varied(tmp_path, "database.settings.jit", ("off", "on"), (1.0, 2.0))
    [sentence] = factors.describe_steps(context)
    assert sentence.startswith(
        "On a, new orders per minute at other values of database.settings.jit: from off to on the "
        "ratio is 2.000"
    )
    figure = draw_one("factors", context)
    assert "lines join" not in figure.caption
    # Nothing was sampled, so that hits and reads have no panel.
    assert figure.title == "Throughput against database.settings.jit"
    assert "buffers" not in figure.caption


@pytest.mark.parametrize(("gain", "words"), [
    ((1.0, 2.0, 2.0), "new orders per minute improved with workload.warehouses up to 20; the "
     "next step made no difference larger than the margin: from 10 to 20 the ratio is 2.000"),
    ((1.0, 2.0, 1.0), "improved with workload.warehouses up to 20; the next step made it worse"),
    ((1.0, 1.5, 2.0), "still improved with the last step of workload.warehouses, to 40: from 20"),
    ((1.0, 0.5, 0.5), "got worse with the step of workload.warehouses to 20: from 10 to 20"),
    ((4.0, 2.0, 1.0), "got worse with the steps of workload.warehouses to 20 and 40: from 10 to"),
    ((1.0, 1.0, 1.0), "no step of workload.warehouses changed new orders per minute by more than "
     "the margin: from 10 to 20"),
])  # fmt: skip
def test_what_the_steps_of_a_factor_changed_is_true_where_more_is_a_burden(
    gain: tuple[float, ...], words: str, tmp_path: Path
) -> None:
    """As where more is a help: said is what was found, with the ratios that show it."""
    [sentence] = factors.describe_steps(
        _varied(tmp_path, "workload.warehouses", (10, 20, 40), gain)
    )
    assert words in sentence
    assert "from 20 to 40" in sentence or "up to" not in sentence
