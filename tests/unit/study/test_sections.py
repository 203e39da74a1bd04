"""The sections of a study: what is made of them, and at which key they are refused.

What is said of a wrong value is in tests/golden/errors.
"""

from typing import Any

import pytest

from stithy.search import ResponseTarget
from stithy.study.load_keys import Load
from stithy.study.load_values import Pace
from stithy.study.thresholds import NotAThreshold, parse_threshold
from stithy.thresholds import Constant, MeasuredSide, Threshold
from stithy.workloads.order_entry import OrderEntryKeys
from stithy.workloads.workload import Driving
from support.points import at
from support.sample_thresholds import NAMES
from support.studies import primary, problems, refused, study, study_text, workload

FIND = "find: max users with p95 of new-order ≤ 1 s"
TARGET = ResponseTarget("p95", "new-order", 1.0)


def _section(*lines: str) -> tuple[str, str]:
    return "  users: [1, 4]\n", "".join(f"  {line}\n" for line in lines)


def _load(*lines: str, users: str = "[1, 4]") -> Load:
    return study(_section(f"users: {users}", *lines)).load


def _search(*lines: str) -> Any:
    return study(_section(*lines)).search


def test_a_load_has_its_pace_connections_homes_and_reach() -> None:
    """Back to back over own connections by default; a share is rounded up to whole units."""
    plain = _load()
    assert (plain.pace, plain.rate_per_s) == (Pace("none"), None)
    assert (plain.connections, plain.connections_max) == (None, 4)
    pooled = _load("connections: 64", "pace: {think: 2 s}", users="[100, 15000]")
    assert (pooled.connections_max, pooled.pace) == (64, Pace("think", 2.0))
    assert study(_section(FIND)).load.connections_max == 256
    assert study(_section(FIND, "connections: 8")).load.connections_max == 8
    keyed, homes = _section("users: [1, 4]", "pace: keyed"), workload("users_per_warehouse: 4")
    every = (study(), study(keyed), study(homes))
    choices = [dict(each.workload.choice(each.driving)) for each in every]
    assert [each["users_per_warehouse"] for each in choices] == [None, 10, 4]
    open_loop = _load("rate: 600/min", "arrivals: constant")
    assert (open_loop.rate_per_s, open_loop.arrivals) == (10.0, "constant")
    shares = [Driving(touch_percent=share).touched(10) for share in (1, 30, 31, 100)]
    assert shares == [1, 3, 4, 10]


@pytest.mark.parametrize(("text", "target"), [
    ("p95 of new-order ≤ 1 s", TARGET),
    ("p99.9 of all <= 72 ms", ResponseTarget("p99.9", "all", 0.072)),
    (" p50  of stock-level≤2min", ResponseTarget("p50", "stock-level", 120.0)),
])  # fmt: skip
def test_a_target_is_a_percentile_a_type_and_a_time(text: str, target: ResponseTarget) -> None:
    """However it is spaced; printed and read again it is the same, searched for or not."""
    found = _search(f"find: max  users with {text}").limit
    assert found == _search(f"find: {found}").limit == target
    alone = _load(f"limit: {text}")
    assert alone.limit == alone.response_limit == _load(f"limit: {target.text}").limit == target
    assert alone.search(None) is None


def test_a_search_goes_from_one_user_to_the_usual_end_or_to_the_last_home() -> None:
    """Unless the study says otherwise; listed levels within its ends are known to it."""
    found = _search(FIND)
    assert (found.limit, found.users_least, found.users_most) == (TARGET, 1, 256)
    assert _search(FIND, "pace: keyed").users_most == 20
    within = _search(FIND, "find_within: [2, 8]", "users: [1, 4, 16]")
    assert (within.users_least, within.users_most, within.listed) == (2, 8, (4,))


PRIMARY = (
    "users: 0", "users: 2", "blocks: 3", "blocks: 21", "margin: 0%", "margin: 0.05%",
    "candidates: [disk]", "metric: tpmc", "metric: p98", "metric: block.reads_per_sec",
    "metric: p99 of paymnt", "metric: nopm of payment", "metric: pressure.full_share",
)  # fmt: skip
REFUSED = [
    *((f"users: [1, 4]|{text}", key) for text, key in (
        ("pace: fast", "pace"), ("pace: {thnk: 2 s}", "pace"), ("pace: {think: 0 s}", "pace.think"),
        ("rate: 500/s|pace: none", "rate"), ("rate: 5/s|connections: 4", "users"),
        ("connections: 5", "connections"), ("touch: 50%|users_per_warehouse: 3", "touch"),
        ("limit: p96 of all ≤ 1 s", "limit"), ("limit: p95 of al ≤ 1 s", "limit"),
        ("limit: p95 of all ≤ 0 s", "limit"),
    )),
    *((f"find: {text}", "find") for text in (
        "max user with p95 of all ≤ 1 s", "max users with p95 of all ≥ 1 s",
        "max users with p95 of all ≤ 1", "max users with p95",
    )),
    (f"{FIND}|find_within: [5, 5]", "find_within"), (f"{FIND}|connections: 300", "connections"),
    (f"{FIND}|rate: 50/s", "rate"), (f"{FIND}|repeat: 3", "repeat"),
    *((f"users: [1, 4]|{text}", "") for text in (
        "rate: 500/s|arrivals: constant|touch: 50%", "profile: hammerdb|pace: {think: 1 s}",
        "pace: keyed|connections: 50", "pace: keyed|users_per_warehouse: 2", "connections: 2",
        "delivery: deferred|connections: 5", "rate: 5/s|delivery: awaited",
    )),
]  # fmt: skip


@pytest.mark.parametrize(("lines", "key"), REFUSED)
def test_a_load_that_contradicts_itself_is_refused_at_the_key_to_change(
    lines: str, key: str
) -> None:
    """One problem, and no second one that follows from it; what goes together is taken."""
    said = lines.split("|")
    own = [each for each in said if each.split(":")[0] in OrderEntryKeys.model_fields]
    section = _section(*(each for each in said if each not in own))
    assert refused(section, workload(*own)) == ([f"load.{key}"] if key else [])


def test_what_does_not_fit_the_load_is_refused_where_the_workload_says_it() -> None:
    """A rule of the workload is about both sections."""
    for load, own in (
        ("rate: 5/s", "users_per_warehouse: 5"), ("rate: 5/s", "delivery: deferred"),
        ("pace: keyed", "delivery: awaited"), ("pace: keyed", "profile: hammerdb"),
    ):  # fmt: skip
        found = refused(_section("users: [1, 4]", load), workload(own))
        assert found == [f"workload.{own.split(':')[0]}"]


def test_a_question_may_ask_about_any_metric_and_margin_that_fits_the_study() -> None:
    """Else it is refused at its key; without levels there is no question."""
    for text in PRIMARY:
        assert refused(primary(f"{{{text}}}")) == [f"primary.{text.partition(':')[0]}"]
    for metric in ("tpm", "p99  of payment", "block.read_latency_s of sda1", "drive.flush_p99.9"):
        found = study(primary(f"{{metric: {metric}, margin: 1.5%}}")).primary
        assert (found.metric, found.margin_percent) == (" ".join(metric.split()), 1.5)
    assert refused(_section(FIND), primary("{margin: 5%}")) == ["primary.margin"]
    section = ("study:", "thresholds: [disk.nopm_at_4 >= 5]\nstudy:")
    assert refused(_section(FIND), section) == ["thresholds[0]"]


PLACE, SHM = "{path: /var/tmp/stithy}", "{path: /dev/shm/stithy}"


def test_a_candidate_may_have_memory_cpus_and_settings_of_its_own() -> None:
    """The rest stays the study's; case makes no difference. They make no place another one."""
    keys = "memory: 2 GiB, cpus: 3, settings: {Work_Mem: 8MB, fsync: off}"
    own = (SHM, f"{{path: /dev/shm/stithy, {keys}}}")
    read = study(("1 GiB", "1 GiB\n  settings: {work_mem: 4MB, wal_level: minimal}"), own)
    assert read.give_database("disk") == read.database
    found = read.give_database("memory")
    assert found.settings == {"wal_level": "minimal", "Work_Mem": "8MB", "fsync": "off"}
    assert (found.engine, found.memory_bytes, found.cpus) == ("postgresql", 2**31, 3)
    assert read.database.cpus is None
    assert [str(each) for each in read.given_up] == ["fsync off on memory"]
    both = (PLACE, "{path: /var/tmp/stithy, settings: {FSYNC: off}}")
    assert [str(each) for each in study(own, both).given_up] == ["fsync off"]
    for keys, key in (
        ("path: /srv, memory: 1 MiB", "memory"),
        ("path: /srv, cpus: 0", "cpus"),
        ("path: /srv, settings: {Port: 1}", "settings.Port"),
        ("path: /srv, settings: {fsync: on, Fsync: on}", "settings.Fsync"),
        ("path: /var/tmp/stithy, memory: 2 GiB", "path"),
    ):  # fmt: skip
        assert refused((SHM, f"{{{keys}}}")) == [f"candidates.memory.{key}"]


def _of(metric: str, owner: str | None = None, **more: float) -> MeasuredSide:
    return MeasuredSide("disk", metric, at(4), owner, **more)


@pytest.mark.parametrize(("text", "expected"), [
    ("disk.nopm_at_4>=100/s", Threshold(_of("nopm"), ">=", Constant(6000.0, "1/min"))),
    ("disk.tpm_at_4 >= 1.2 * disk.nopm_at_4", Threshold(_of("tpm"), ">=", _of("nopm", factor=1.2))),
    ("disk.nopm_at_4*2<disk.tpm_at_4", Threshold(_of("nopm", factor=2.0), "<", _of("tpm"))),
    ("5 ms >= disk.stock-level.p95_at_4",
     Threshold(Constant(0.005, "s"), ">=", _of("p95", "stock-level"))),
    ("disk.block.reads_per_s_at_4 >= 6000/min",
     Threshold(_of("block.reads_per_s"), ">=", Constant(100.0, "1/s"))),
    ("disk.sda.block.write_bytes_per_s_at_4 <= 64 MiB/s",
     Threshold(_of("block.write_bytes_per_s", "sda"), "<=", Constant(2.0**26, "B/s"))),
    ("disk.cgroup.used_bytes_at_4 < 1 GiB",
     Threshold(_of("cgroup.used_bytes"), "<", Constant(2.0**30, "B"))),
    ("disk.io.pressure.some_share_at_4 < 12.5%",
     Threshold(_of("pressure.some_share", "io"), "<", Constant(0.125, "share"))),
    ("disk.data.drive.write_p99.9_at_4 < 900us",
     Threshold(_of("drive.write_p99.9", "data"), "<", Constant(900 * 1e-6, "s"))),
])  # fmt: skip
def test_a_threshold_is_two_values_and_a_relation(text: str, expected: Threshold) -> None:
    """Numbers, durations and rates; a factor on either side of its star; spaces or none."""
    assert parse_threshold(text, NAMES) == expected


@pytest.mark.parametrize("text", [
    "«dsk».nopm_at_4 > 5", "disk.«nopn»_at_4 > 5", "disk.nopm_at_«5» > 5", "disk.nopm_at«_» > 5",
    "disk.«pay».p95_at_4 < 5 s", "disk.«payment».nopm_at_4 > 5", "disk.nopm_at_4 > «5 ms»",
    "disk.block.write_bytes_per_s_at_4 > «5»", "«disk.nopm_at_4» > disk.p95_at_4",
    "disk.«pressure.some_share»_at_4 < 5%", "disk.«logs».drive.read_p99_at_4 < 5 ms",
    "disk.p95_at_4 > «5 MiB»", "disk.nopm_at_4 > «5,000»", "disk.nopm_at_4 > «1e3»",
    "disk.nopm_at_4 > «-5»", "disk.nopm_at_4 «=» 5", "1 < disk.nopm_at_4 «<» 5",
    "«disk.nopm_at_4»", "disk.nopm_at_4 «>»", "«disk» > 5", "«nopm_at_4» > 5", "«5 > 4»",
    "disk.nopm_at_4 > «0» * memory.nopm_at_4", "2 * «3» > disk.nopm_at_4",
    "«disk.nopm_at_4 > 2 * disk.nopm_at_4»",
])  # fmt: skip
def test_a_mistake_is_told_at_its_characters(text: str) -> None:
    """Here between « and »; tests/golden/errors has the words."""
    plain = text.replace("«", "").replace("»", "")
    with pytest.raises(NotAThreshold) as caught:
        parse_threshold(plain, NAMES)
    (mistake,) = caught.value.mistakes
    assert (mistake.start, mistake.end) == (text.index("«"), text.index("»") - 1)


def test_all_mistakes_of_thresholds_are_told_at_once_with_line_and_column() -> None:
    """Checked against what else stands in the file; in plain and in quoted texts."""
    with pytest.raises(NotAThreshold) as caught:
        parse_threshold("dsk.nopn_at_3 > 2 * mem.nopm_at_4", NAMES)
    assert len(caught.value.mistakes) == 4
    text = study_text() + (
        "thresholds:\n  - disk.nopm_at_4 > 5 ms\n  - 'disk.nopm_at_9 > 5'\n  - 5\n"
        "  - disk.nopm_at_4 > 5\n  - disk.nopm_at_4 > 5.0\n"
    )
    places = [problem.where for problem in problems(text)]
    assert places == [f"study.yaml:{place}" for place in ("14:22", "15:19", "16:5", "18:5")]
    text = study_text(("{path: /var/tmp/stithy}", "{pat: x}")) + "thresholds: [a.b_at_4 > 5]\n"
    assert all("thresholds" not in str(problem) for problem in problems(text))
