"""Block I/O as a scenario: its keys, points and steps, its rates, and its volumes."""

from collections import Counter
from pathlib import Path

import pytest

from stithy.errors import UserError
from stithy.fio.load import WrittenData
from stithy.plan.expand import expand, leaves_devices_as_found
from stithy.plan.sensitivity import check
from stithy.run.preflight import describe_rounding
from stithy.scenarios.block_io.plan import (
    PLUGINS,
    find_spec,
    is_data_laid_out,
    is_laid_out,
    sum_target_bytes,
)
from stithy.scenarios.block_io.values import list_files
from stithy.storage.provider import Role
from stithy.study.load import StudyFile, parse_study
from stithy.study.model import Study
from stithy.study.problems import StudyError
from stithy.units import parse_size

MIB = 2**20


def made(keys: str, more: str = "", a: str = "{path: /var/tmp/a}") -> Study:
    """A study of a candidate and a directory."""
    text = (
        f"study: x?\ncandidates: {{a: {a}, b: {{path: /var/tmp/b}}}}\n"
        f"scenario: {{block-io: {{{keys}}}}}\n{more}"
    )
    return parse_study("study.yaml", text.encode())


def of_sql(keys: str, **others: str) -> Study:
    """The same of one profile."""
    return made(f"profiles: [sql], size: 64 MiB{keys}", **others)


def test_each_pattern_of_each_profile_is_a_point_in_rounds_of_candidates() -> None:
    """A target is written before them; the question is asked at one point, by requests a second."""
    plan = expand(made("profiles: [commit-log, sql], size: 64 MiB, repeat: 2"))
    kinds = [step.kind for step in plan.steps]
    assert kinds[:4] == ["provision", "provision", "lay-out", "lay-out"]
    assert kinds[-2:] == ["tear-down", "tear-down"]
    windows = [step.window for step in plan.steps if step.kind == "window" and step.window]
    points = {str(each.point) for each in windows}
    assert points == {
        f"profile={n}" for n in ("commit-log/one-writer", "commit-log/many-writers", "sql")
    }
    assert [each.block for each in windows] == [0] * 6 + [1] * 6
    assert {each.activities for each in windows} == {("fio",)}
    assert plan.question is not None
    assert (plan.question.metric, plan.master_candidate) == ("fio.iops", None)
    assert all(step.cost.space_bytes == 128 * MIB for step in plan.steps if step.candidate)


@pytest.mark.parametrize("size", ["100 MB", "50.5 MB", "100001 kB", "99999999 B"])
def test_a_size_is_used_in_whole_blocks_and_the_plan_says_so(size: str) -> None:
    """fio could not write the rest; sizes of drives are whole MiB, and others are no such sizes."""
    used = sum_target_bytes(made(f"profiles: [sql], size: {size}"))
    assert (used % 4096, parse_size(size) - used < 4096) == (0, True)
    document = {
        "candidates": {"a": {"drive": "gp3", "size": size}, "b": {"size": "1 GiB"}},
        "scenario": {"block-io": {"size": size, "block_size": "1000 B"}},
        "vary": {"scenario.block-io.size": ["64 MiB", size]},
    }
    drive, *others = describe_rounding(document)
    whole = parse_size(size) // MIB * MIB
    assert drive.startswith(f"candidates.a.size: {size} is {parse_size(size):,} B: {whole:,} B")
    assert [each.partition(": ")[0] for each in others] == [
        "scenario.block-io.size", "vary.scenario.block-io.size",
    ]  # fmt: skip
    assert all(f"{used:,} B are used" in each for each in others)


def test_a_rate_is_written_with_its_unit_or_without() -> None:
    """As people write it, and as `block --rate` hands it on."""
    for rate in ("1000", '"1000/s"', '["60000/min"]'):
        assert find_spec(made(f"profiles: [sql], rate: {rate}")).rates == (1000.0,), rate


def test_faults_of_a_file_keep_their_lines_through_the_study(tmp_path: Path) -> None:
    """All of them, each with its word and its reason."""
    file = tmp_path / "log.vdb"
    file.write_text("sd=sd1,lun=/a\nwd=w,sd=sd1,hitarea=10m\nrd=r,wd=w,iorate=max,foo=1\n")
    with pytest.raises(StudyError) as caught:
        made(f"profiles: [{file}]")
    for fault in ("log.vdb:2: wd has no word hitarea: hitarea=10m: ", "log.vdb:3: rd has no word"):
        assert fault in str(caught.value.problems), caught.value.problems


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Job files and a parameter file whose names and patterns are alike."""
    monkeypatch.chdir(tmp_path)
    for name in ("rand_read.fio", "randread.fio", "other/randread.fio"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text("[x]\nioengine=libaio\ndirect=1\nrw=randread\nbs=4k\n")
    Path("collide.vdb").write_text(
        "sd=sd1,lun=/dev/sdb\nwd=wd1,sd=sd1,rdpct=100,seekpct=100\n"
        "rd=run,wd=wd1,iorate=max,elapsed=60,forthreads=(1,16),forxfersize=(4k,64k)\n"
    )


@pytest.mark.usefixtures("files")
def test_alike_names_have_a_window_each() -> None:
    """Names that differ in `_` alone; runs of 1 thread with 64k, and of 16 with 4k."""
    study = made("profiles: [./rand_read.fio, ./randread.fio, ./collide.vdb], repeat: 1")
    windows = [step.window for step in expand(study).steps if step.kind == "window" and step.window]
    assert len({window.id for window in windows}) == len({*windows}) == 2 * 6
    assert {window.id for window in windows if window.candidate == "a"} >= {
        "w-a-profile.rand_read.fio-b0", "w-a-profile.randread.fio-b0",
        "w-a-profile.collide.vdb.run-1-64k-b0", "w-a-profile.collide.vdb.run-16-4k-b0",
    }  # fmt: skip


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("profiles", [
    ("sql", "sql"),
    ("four-corners", "four-corners/random-read-4k"),
    ("./randread.fio", "./other/randread.fio"),
    ("./collide.vdb/run-1-4k", "./collide.vdb"),
])  # fmt: skip
def test_profiles_of_one_name_are_refused(profiles: tuple[str, str]) -> None:
    """Two files, or two entries with a pattern in common; not two patterns of a file."""
    with pytest.raises(StudyError) as caught:
        made(f"profiles: [commit-log, {', '.join(profiles)}]")
    shown = [(each.where, each.problem) for each in caught.value.problems]
    assert [where.split(":")[1] for where, _ in shown] == ["3", "3"]
    for (_, problem), other in zip(shown, reversed(profiles), strict=True):
        assert f"two profiles of one name, here and as `{other}`" in problem
    assert len(made("profiles: [./collide.vdb/run-1-4k, ./collide.vdb/run-16-4k]").points) == 2


def test_a_varied_size_is_laid_out_at_its_largest_and_used_at_each_window() -> None:
    """Room and time are those of the largest, so that no window reads what was never written."""
    vary = "vary: {scenario.block-io.size: [16 MiB, 96 MiB]}"
    study = made("profiles: [sql], size: 16 MiB", vary)
    assert sum_target_bytes(study) == 96 * MIB
    assert PLUGINS[0].count_needed_bytes(study)["data"] == (96 + 64) * MIB
    sizes = {str(point): find_spec(study.at(point)).size_bytes // MIB for point in study.points}
    assert sorted(sizes.values()) == [16, 96]


@pytest.mark.parametrize(("how", "kept"), [("none", True), ("fill", False), ("snia", False)])
def test_a_device_keeps_what_it_holds_only_without_preconditioning(how: str, kept: bool) -> None:
    """`none` is for a device with data."""
    assert leaves_devices_as_found(made(f"profiles: [sql], precondition: {how}")) is kept


def test_what_a_study_varies_has_the_blocks_of_the_question() -> None:
    """At the profile that it asks about; at others one, and its baseline check is spared, too."""
    more = "vary: {scenario.block-io.threads: [1, 8]}\nprimary: {at: {profile: sql}, blocks: 6}\n"
    steps = expand(made("profiles: [sql, oltp-8k], size: 16 MiB", more)).steps
    counted = Counter(str(step.window.point) for step in steps
                      if step.kind == "window" and step.window)  # fmt: skip
    of = {name: [count for point, count in counted.items() if f"profile={name}" in point]
          for name in ("sql", "oltp-8k")}  # fmt: skip
    assert of == {"sql": [12, 12], "oltp-8k": [2, 2]}
    assert all(step.if_undecided == (step.window.block > 3) for step in steps if step.window)


def test_a_target_holds_data_as_the_study_or_its_profiles_say() -> None:
    """Where profiles differ, those of which least is saved; a window writes its own."""
    boot = "vdi-full-clone-like-boot"
    own, mixed = made(f"profiles: [{boot}]"), made(f"profiles: [{boot}, sql]")
    assert is_data_laid_out(own) == WrittenData(0.88, 0.86)
    assert is_data_laid_out(mixed) == WrittenData()
    assert find_spec(mixed).data_of(boot) == WrittenData(0.88, 0.86)
    asked = made(f"profiles: [{boot}, sql], compressible: 30%, duplicate: 0%")
    assert is_data_laid_out(asked) == find_spec(asked).data_of("sql") == WrittenData(0.3, 0.0)


@pytest.mark.parametrize(("more", "same"), [
    (", repeat: 3", True),
    (", rate: 10-120%, stop_at: 20 ms", True),
    (", precondition: none", False),
    (", precondition: snia", False),
    (", verify: true", False),
])  # fmt: skip
def test_runs_are_comparable_whose_points_differ_but_not_their_preconditioning(
    more: str, same: bool
) -> None:
    """A fresh drive is not a steady one, and checksums cost something."""
    plain, other = (made(f"profiles: [{of}").scenario for of in ("commit-log]", f"sql]{more}"))
    assert (plain.comparable == other.comparable) is same


@pytest.mark.parametrize("key", ["repeat", "profiles"])
def test_a_key_that_has_one_value_in_a_study_cannot_vary(key: str) -> None:
    """The number of blocks is the study's, and a list is a factor of its own."""
    with pytest.raises(StudyError) as caught:
        of_sql("", more=f"vary: {{scenario.block-io.{key}: [2, 3]}}")
    assert "not a key whose value may vary" in str(caught.value.problems[0])


@pytest.mark.parametrize(("keys", "said"), [
    ("profiles: [sqll]", "did you mean `sql`?"),
    ("profiles: []", "at least 1 is needed"),
    ("profiles: [sql], size: 1 MiB", "too small"),
    ("size: 1 GiB", "a key is missing"),
    ("profiles: [sql], users: 4", "unknown key"),
    ("profiles: [sql], verify: true, precondition: snia, precondition_matrix: full",
     "blocks of 512 bytes"),
    ("profiles: [vdi-full-clone-like-boot], verify: true", "have no duplicates"),
    ("profiles: [sql], verify: true, precondition: none", "blocks without checksums"),
    ("profiles: [sql], duplicate: 100%", "too large"),
    ("profiles: [sql], rate: fast", "not a rate"),
    ("profiles: [sql], rate: [10%, 500]", "all shares or all requests a second"),
    ("profiles: [sql], rate: [10%, 10%]", "a rate given twice"),
    ("profiles: [sql], rate: 0%", "not a share of the maximum"),
    ("profiles: [sql], rate: 120-10%", "not a range of rates"),
    ("profiles: [checkpoint-bursts], rate: 50%", "its streams have no weights"),
    ("profiles: [sql], stop_at: 5 ms", "a latency to stop at without rates"),
    ("profiles: [oracle], block_size: 4 KiB", "it has several streams"),
    ("profiles: [commit-log/one-writer], queue_depth: 4", "needs iodepth = 1"),
    ("profiles: [sql], queue_depth: 4", "submission = 'async'"),
    ("profiles: [single-drive-4k], block_size: 8 KB", "not whole sectors"),
    ("profiles: [sql], rate: 500/parsec", "not a rate"),
    ("profiles: [sql], rate: 10%-50 by 5", "not a rate"),
    ("profiles: [sql], rate: 10-50 by 5%", "not a rate"),
    ("profiles: [sql], rate: [500/s, 30000/min]", "a rate given twice"),
])  # fmt: skip
def test_what_is_wrong_with_its_keys_is_said_with_what_would_be_right(keys: str, said: str) -> None:
    """At its place, as of any key."""
    with pytest.raises(StudyError) as caught:
        made(keys)
    assert any(said in str(each) for each in caught.value.problems), caught.value.problems


def test_a_study_without_users_has_no_sections_of_a_database() -> None:
    """They would say nothing, and whoever wrote them meant something."""
    with pytest.raises(StudyError) as caught:
        of_sql("", more="load: {users: [1]}\n")
    assert "the scenario block-io has no load" in str(caught.value.problems[0])


def test_a_candidate_has_no_memory_cpus_and_settings_without_a_server() -> None:
    """Nor does varying drives say anything without users."""
    for key in ("memory: 1 GiB", "cpus: 2"):
        with pytest.raises(StudyError) as caught:
            of_sql("", a=f"{{path: /var/tmp/a, {key}}}")
        assert "the scenario block-io has no server" in str(caught.value.problems[0])
    file = StudyFile(Path("study.yaml"), b"", made("profiles: [sql]"))
    with pytest.raises(UserError, match="no users who could feel another drive"):
        check(file, expand(file.study).question, {})


@pytest.mark.parametrize(("given", "is_said"), [("", False), (", verify: true", True)])
def test_what_is_as_usual_is_not_said_of_the_scenario(given: str, is_said: bool) -> None:
    """A footer has what was asked."""
    text = str(made(f"profiles: [sql]{given}").scenario)
    assert ("verify: true" in text) is is_said
    assert "precondition_" not in text
    assert "profiles: [sql]" in text
    assert "precondition_test: 5 s" in str(made("profiles: [sql], precondition_test: 5 s").scenario)


@pytest.mark.parametrize(("written", "points"), [
    ("10-120%", [f"{each}%" for each in range(10, 121, 10)]),
    ("5-20% by 5%", ["5%", "10%", "15%", "20%"]),
    ("50%", ["50%"]),
    ("[90%, 12.5%]", ["12.5%", "90%"]),
    ("[2000, 500]", [500, 2000]),
    ("[1000/s, 30000/min, 2.5 / s]", [2.5, 500, 1000]),
    ("500-1500 by 500", [500, 1000, 1500]),
    ("500-1500/s by 500/s", [500, 1000, 1500]),
])  # fmt: skip
def test_rates_are_shares_or_requests_a_second(written: str, points: list[object]) -> None:
    """In rising order, beside the maximum."""
    study = made(f"profiles: [sql], rate: {written}")
    assert list(study.factors["rate"]) == ["max", *points]
    assert str(study.asked_point) == "profile=sql, rate=max"


@pytest.mark.parametrize("stop_at", ["", ", stop_at: 20 ms"])
def test_maxima_come_before_the_rates_that_are_shares_of_them(stop_at: str) -> None:
    """With a latency to stop at, rates rise besides."""
    plan = expand(made(f"profiles: [sql, oltp-8k], rate: 20-100% by 20%, repeat: 2{stop_at}"))
    windows = [step.window for step in plan.steps if step.kind == "window" and step.window]
    for block in (0, 1):
        rates = [str(each.point.values["rate"]) for each in windows if each.block == block]
        assert rates[:4] == ["max"] * 4
        assert "max" not in rates[4:]
        rising = rates == sorted(rates, key=lambda each: float(each.strip("%max") or 0))
        assert rising == bool(stop_at)


def test_block_sizes_depths_and_shares_of_reads_are_factors_like_any_other() -> None:
    """Each point's windows run the pattern as changed."""
    study = made(
        "profiles: [sql], threads: 2, submission: async",
        "vary: {scenario.block-io.block_size: [4 KiB, 64 KiB],"
        " scenario.block-io.read_share: [0%, 70%], scenario.block-io.queue_depth: [1, 32]}",
    )
    assert len(study.points) == 8
    found = set()
    for point in study.points:
        stream = find_spec(study.at(point)).profile_of("sql").patterns[0].streams[0]
        assert stream.jobs == 2
        found.add((*stream.write_sizes, stream.read_share, stream.iodepth))
    assert found == {(b, r, d) for b in (4096, 65536) for r in (0.0, 0.7) for d in (1, 32)}


@pytest.mark.parametrize(("given", "roles", "written"), [
    ("1", ["data"], 1),
    ("3", ["data"] * 3, 3),
    ("[data, log]", ["data", "log"], ["data", "log"]),
    ("data+log", ["data", "log"], ["data", "log"]),
    ("[data, data, backup]", ["data", "data", "backup"], ["data", "data", "backup"]),
])  # fmt: skip
def test_volumes_are_a_number_of_files_or_the_roles_of_a_candidate(
    given: str, roles: list[Role], written: object
) -> None:
    """A study says them as short as it can."""
    spec = find_spec(of_sql(f", volumes: {given}"))
    assert list(spec.volumes) == roles
    assert spec.model_dump(mode="json", by_alias=True)["volumes"] == written


@pytest.mark.parametrize("given", ["0", "65", "1.5", "true", "[]", "[data, logs]", "data+", "-1"])
def test_anything_else_is_no_volumes(given: str) -> None:
    """With what would be right."""
    with pytest.raises(StudyError) as caught:
        of_sql(f", volumes: {given}")
    assert "not volumes" in str(caught.value.problems[0])
    assert "a number from 1 to 64" in str(caught.value.problems[0])


def test_more_fio_than_a_machine_runs_at_once_are_refused() -> None:
    """Workers are those of each volume, whether a study or a profile says them."""
    assert find_spec(of_sql(", volumes: 64, workers: 2")).workers == 2
    with pytest.raises(StudyError) as caught:
        of_sql(", volumes: 64, workers: 3")
    assert "192 fio at once" in str(caught.value.problems[0])


def test_room_is_that_of_all_files_on_the_volume_that_serves_their_role() -> None:
    """A candidate without a log of its own has that file beside the data."""
    apart = "{path: /var/tmp/a, roles: {log: {path: /var/tmp/log}}}"
    needed = PLUGINS[0].count_needed_bytes(of_sql(", volumes: [data, data, log]", a=apart))
    assert [needed[role] // MIB - 64 for role in ("data", "log", "temp")] == [3 * 64, 64, 0]
    both = of_sql(", volumes: [data, data, log]", a=apart)
    alone = both.model_copy(update={"candidates": {"a": both.candidates["a"]}})
    assert PLUGINS[0].count_needed_bytes(alone)["data"] == (2 * 64 + 64) * MIB


def test_varied_volumes_are_all_laid_out_before_any_window() -> None:
    """Each role as often as any window uses it; time and space are those of all of them."""
    vary = 'vary: {scenario.block-io.volumes: [1, 3, "data+log"]}\n'
    study = of_sql(", repeat: 1", more=vary)
    assert is_laid_out(study) == ("data", "data", "data", "log")
    one, all_four = (
        next(each.cost for each in expand(of).steps if each.kind == "lay-out")
        for of in (of_sql(", repeat: 1"), study)
    )
    assert all_four.space_bytes - one.space_bytes == 3 * 64 * MIB
    assert all_four.time_s - 1 == pytest.approx(4 * (one.time_s - 1))


def test_files_of_a_role_are_numbered() -> None:
    """So the same file is used by whatever window names that role."""
    assert list_files(["data", "log", "data"]) == (("data", 1), ("log", 1), ("data", 2))


def test_one_volume_is_not_said_of_a_scenario_but_several_are() -> None:
    """A footer has what was asked."""
    assert "volumes" not in str(of_sql("").scenario)
    assert "volumes: 4" in str(of_sql(", volumes: 4").scenario)
