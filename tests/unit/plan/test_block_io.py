"""Block I/O as a scenario: its keys, its points, and its steps."""

from collections import Counter
from pathlib import Path

import pytest

from stithy.errors import UserError
from stithy.fio.load import WrittenData
from stithy.plan.expand import expand, leaves_devices_as_found
from stithy.plan.sensitivity import check
from stithy.run.preflight import describe_rounding
from stithy.scenarios.block_io.plan import PLUGINS, find_spec, is_data_laid_out, sum_target_bytes
from stithy.study.load import StudyFile, parse_study
from stithy.study.model import Study
from stithy.study.problems import StudyError
from stithy.units import parse_size

MIB = 2**20


def made(keys: str) -> Study:
    """A study of two directories."""
    text = (
        "study: x?\ncandidates: {a: {path: /var/tmp/a}, b: {path: /var/tmp/b}}\n"
        f"scenario: {{block-io: {{{keys}}}}}\n"
    )
    return parse_study("study.yaml", text.encode())


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
    study = parse_study(
        "study.yaml",
        b"study: x?\ncandidates: {a: {path: /var/tmp/a}}\n"
        b"scenario: {block-io: {profiles: [sql], size: 16 MiB}}\n"
        b"vary: {scenario.block-io.size: [16 MiB, 96 MiB]}\n",
    )
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
    text = (
        b"study: x?\ncandidates: {a: {path: /var/tmp/a}, b: {path: /var/tmp/b}}\n"
        b"scenario: {block-io: {profiles: [sql, oltp-8k], size: 16 MiB}}\n"
        b"vary: {scenario.block-io.threads: [1, 8]}\n"
        b"primary: {at: {profile: sql}, blocks: 6}\n"
    )
    steps = expand(parse_study("study.yaml", text)).steps
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


def test_rare_keys_are_said_where_a_study_sets_them() -> None:
    """A figure need not say how long tests would take that nobody asked for."""
    plain, checked = (made(f"profiles: [sql]{more}").scenario for more in ("", ", verify: true"))
    assert "precondition_" not in str(plain)
    assert "verify" not in str(plain)
    assert "verify: true" in str(checked)


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
    text = "study: x?\ncandidates: {a: {path: /var/tmp/a}}\n"
    text += f"vary: {{scenario.block-io.{key}: [2, 3]}}"
    with pytest.raises(StudyError) as caught:
        parse_study("study.yaml", f"{text}\nscenario: {{block-io: {{profiles: [sql]}}}}\n".encode())
    assert "not a key whose value may vary" in str(caught.value.problems[0])


@pytest.mark.parametrize(("keys", "said"), [
    ("profiles: [sqll]", "did you mean `sql`?"),
    ("profiles: []", "at least 1 is needed"),
    ("profiles: [sql, sql]", "two profiles of one name, here and as `sql`"),
    ("profiles: [sql], size: 1 MiB", "too small"),
    ("size: 1 GiB", "a key is missing"),
    ("profiles: [sql], users: 4", "unknown key"),
    ("profiles: [sql], verify: true, precondition: snia, precondition_matrix: full",
     "blocks of 512 bytes"),
    ("profiles: [vdi-full-clone-like-boot], verify: true", "have no duplicates"),
    ("profiles: [sql], verify: true, precondition: none", "blocks without checksums"),
    ("profiles: [sql], duplicate: 100%", "too large"),
])  # fmt: skip
def test_what_is_wrong_with_its_keys_is_said_with_what_would_be_right(keys: str, said: str) -> None:
    """At its place, as of any key."""
    with pytest.raises(StudyError) as caught:
        made(keys)
    assert any(said in str(each) for each in caught.value.problems), caught.value.problems


def test_a_study_without_users_has_no_sections_of_a_database() -> None:
    """They would say nothing, and whoever wrote them meant something."""
    text = (
        "study: x?\ncandidates: {a: {path: /var/tmp/a}}\nscenario: {block-io: {profiles: [sql]}}\n"
    )
    with pytest.raises(StudyError) as caught:
        parse_study("study.yaml", f"{text}load: {{users: [1]}}\n".encode())
    assert "the scenario block-io has no load" in str(caught.value.problems[0])


def test_a_candidate_has_no_memory_cpus_and_settings_without_a_server() -> None:
    """Nor does varying drives say anything without users."""
    for key in ("memory: 1 GiB", "cpus: 2"):
        text = f"study: x?\ncandidates: {{a: {{path: /var/tmp/a, {key}}}}}\n"
        scenario = "scenario: {block-io: {profiles: [sql]}}\n"
        with pytest.raises(StudyError) as caught:
            parse_study("study.yaml", f"{text}{scenario}".encode())
        assert "the scenario block-io has no server" in str(caught.value.problems[0])
    file = StudyFile(Path("study.yaml"), b"", made("profiles: [sql]"))
    with pytest.raises(UserError, match="no users who could feel another drive"):
        check(file, expand(file.study).question, {})


@pytest.mark.parametrize(("given", "is_said"), [("", False), (", verify: true", True)])
def test_what_is_as_usual_is_not_said_of_the_scenario(given: str, is_said: bool) -> None:
    """A footer has what was asked."""
    text = str(made(f"profiles: [sql]{given}").scenario)
    assert ("verify: true" in text) is is_said
    assert "precondition_test" not in text
    assert "profiles: [sql]" in text
    assert "precondition_test: 5 s" in str(made("profiles: [sql], precondition_test: 5 s").scenario)
