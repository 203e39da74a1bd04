"""The words of the program: metrics, searches, plug-ins, errors, and the nearest known one."""

import errno
from dataclasses import replace
from pathlib import Path

import pytest

from stithy import metrics
from stithy.activities.hammer.declared import LOAD
from stithy.activity import DeclaredActivity
from stithy.errors import (
    Exit,
    InfrastructureError,
    StithyError,
    UserError,
    convert_machine_failures,
)
from stithy.metrics import (
    ERROR_SHARE,
    PERCENTILES,
    Metric,
    Quantity,
    UnknownQuantity,
    check,
    find,
    list_in_columns,
    list_names,
    parse_quantity,
)
from stithy.names import find_closest, suggest_instead
from stithy.openmetrics import END, MetricPoint, make_family, written
from stithy.registry import plugins
from stithy.results.tables import TRANSACTIONS, WINDOW
from stithy.search import ResponseTarget, Search, list_levels_within
from stithy.study.problems import StudyError, StudyProblem
from stithy.workloads.workload import Workload
from support.openmetrics import read

TARGET = ResponseTarget("p99.9", "new-order", 0.02)


def test_every_metric_names_what_results_have_and_weighs_by_one_of_its_collector() -> None:
    """Else questions would have no values; each has a noun for sentences and whose it may be."""
    columns = {each.name for table in (WINDOW, LOAD, TRANSACTIONS) for each in table.columns}
    columns.add(ERROR_SHARE)  # made of two columns when evidence is gathered
    assert len(set(list_names())) == len(list_names())
    for metric in (find(name) for name in list_names()):
        assert metric is not None
        if metric in list_in_columns():
            assert metric.column in columns, metric.name
        if "." in metric.name and metric.source != "drives":
            assert metric.noun.replace("_", "") == metric.noun != ""
            assert metric.subjects or metric.of_several or not metric.compared, metric.name
        if metric.weight is not None:
            assert find(f"{metric.collector}.{metric.weight}") is not None, metric.name
    assert [percent for percent, _ in PERCENTILES.values()] == [50, 90, 95, 99, 99.9]


def test_a_quantity_has_a_noun_a_label_and_what_is_good_of_it() -> None:
    """Printed it is as a study has it; whether a busy device is good nobody can say.

    Without a workload any transaction type may be meant: a study's reader has checked it.
    """
    for text, noun, better in (
        ("p99 of payment", "99th percentile of response time of payment", "lower"),
        ("block.reads_per_s of sda", "reads per second of the block devices (sda)", None),
        ("drive.read_p99.9", "99.9th percentile of the emulated drive's read time", "lower"),
    ):
        quantity = parse_quantity(text)
        assert (quantity.noun, quantity.label, str(quantity)) == (noun, text, text)
        assert quantity.known.better == better
    nopm = parse_quantity("nopm")
    assert (nopm.noun, nopm.label, nopm.known.better) == ("new orders per minute", "NOPM", "higher")
    with pytest.raises(UnknownQuantity, match="did you mean `nopm`"):
        parse_quantity("nopn")
    assert check(Quantity("p99", "payment")) is None
    assert check(Quantity("p99", "payment"), ["new-order"]) is not None


def test_a_target_is_met_at_its_limit_and_written_as_in_a_study() -> None:
    """At most is written, and at most is meant."""
    assert (TARGET.obeyed(0.02), TARGET.obeyed(0.0200001)) == (True, False)
    assert str(TARGET) == "max users with p99.9 of new-order ≤ 20 ms"
    assert str(ResponseTarget("p50", "all", 2.5e-4)) == "max users with p50 of all ≤ 250 us"


def test_a_search_closes_to_one_user_and_above_twenty_to_about_a_twentieth() -> None:
    """Levels are counted before they are tried; listed ones within its ends save others."""
    search, wide = Search(TARGET, 1, 256), Search(TARGET, 1, 256, width_percent=10)
    levels = (1, 19, 29, 31, 100, 1000)
    assert [search.find_resolution(users) for users in levels] == [1, 1, 1, 2, 5, 50]
    assert [wide.find_resolution(users) for users in levels] == [1, 2, 3, 3, 10, 100]
    ends = ((32, 64), (34, 36), (1, 2))
    assert [search.choose_next_tried(*of) for of in ends] == [48, None, None]
    assert (search.levels_most, wide.levels_most) == (14, 13)
    assert list_levels_within((1, 2, 8, 9), 2, 8) == (2, 8)
    for least, most, listed, tried in (
        (1, 256, (), 14), (100, 150, (), 2 + 4), (1, 64, (1, 2, 4, 8, 16, 32, 64), 4),
        (1, 100, (20, 50), 1 + 5), (1, 256, (1, 200), 8),
    ):  # fmt: skip
        assert Search(TARGET, least, most, listed).levels_most == tried


@pytest.mark.parametrize(("name", "shown", "unit"), [
    ("reads_per_s", "reads_per_second", "per_second"),
    ("read_bytes_per_s", "read_bytes_per_second", "bytes_per_second"),
    ("idle_share", "idle_ratio", "ratio"), ("p95_ratio", "p95_ratio", "ratio"),
    ("queue_length", "queue_length", ""),
    ("a.b-c_s", "a_b_c_seconds", "seconds"),
])  # fmt: skip
def test_a_name_ends_in_its_unit_as_openmetrics_wants_it(name: str, shown: str, unit: str) -> None:
    """Texts stay within their quotes and lines; what is no number is not written."""
    each, text = make_family(("block", name), 'a"b\\c\nd'), 'a"b\\c\nd'
    assert (each.name, each.unit) == (f"stithy_block_{shown}", unit)
    found = read(written(each, [MetricPoint(1.5, {"name": text})]) + END)
    assert found[each.name].samples == [({"name": text}, 1.5, None)]
    assert written(each, [MetricPoint(float("nan"), {}), MetricPoint(float("inf"), {})]) == ""


def test_the_nearest_word_is_found_whatever_its_hyphens_and_case() -> None:
    """A word that is like none is answered with all."""
    known = ["users", "ramp_up"]
    found = [find_closest(word, known) for word in ("rampup", "ramp-up", "RAMP_UP", "zebra")]
    assert found == ["ramp_up", "ramp_up", "ramp_up", None]
    assert suggest_instead("user", known, "`") == "did you mean `users`?"
    assert suggest_instead("zebra", known, "`") == "one of users, ramp_up"


def _tree(kind: type[StithyError]) -> list[type[StithyError]]:
    return [kind, *(each for child in kind.__subclasses__() for each in _tree(child))]


def test_every_error_has_its_place_remedy_and_exit_code(root: Path) -> None:
    """1 is for what Stithy did not foresee; the problems of a study are its parts."""
    error = StithyError("it is full", where="/data", remedy="make room")
    assert (str(error), error.parts()) == ("/data: it is full: make room", (error,))
    problem = StudyProblem("odd", where="f:1:1", remedy="mend it")
    both = StudyError("f", [problem, problem])
    assert (both.parts(), str(both)[:13]) == ((problem, problem), "f: 2 problems")
    assert all(kind.exit is not Exit.BUG for kind in _tree(StithyError)[1:])
    page = (root / "docs/reference/exit-codes.md").read_text()
    assert all(f"| {code.value} |" in page for code in Exit)


def test_a_full_disk_is_no_bug_wherever_it_shows_and_a_missing_file_is_one() -> None:
    """Only what a machine can refuse at any time is the machine's failure."""
    full, many = OSError(errno.ENOSPC, "x", "/x/y"), OSError(errno.EMFILE, "x")
    for failure, kind, shown in (
        (full, InfrastructureError, "/x/y: no space left on device: make room there"),
        (many, InfrastructureError, "step w: too many open files: raise the limit"),
        (FileNotFoundError(errno.ENOENT, "x", "/x"), FileNotFoundError, "/x"),
    ):
        with pytest.raises(kind, match=shown), convert_machine_failures("step w"):
            raise failure


def test_a_metric_that_two_activities_declare_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of the two would silently be the other."""
    again = Metric("backup.pause_s", "s", "lower", "values", "", "pauses", "pauses")
    every = {**plugins(DeclaredActivity), "own": DeclaredActivity("own", (again,))}
    declaring: dict[object, object] = {Workload: plugins(Workload), DeclaredActivity: every}
    assert metrics.find(again.name) is None
    monkeypatch.setattr(metrics, "plugins", declaring.__getitem__)
    # What folders declare is kept, so that each state here needs a folder of its own.
    monkeypatch.setattr(metrics, "list_plugin_folders", lambda: (Path(str(len(every))),))
    assert metrics.find(again.name) == again
    every["again"] = DeclaredActivity("again", (Metric(**vars(again)),))
    with pytest.raises(UserError, match="the metric backup.pause_s is declared twice") as caught:
        metrics.find(again.name)
    assert caught.value.where == "`metrics` of own, again"
    every["again"] = DeclaredActivity("again", (replace(again, name="backup_pause.s"),))
    with pytest.raises(UserError, match="the metric backup_pause.s is declared twice"):
        metrics.find(again.name)  # figures and exports would write both alike
