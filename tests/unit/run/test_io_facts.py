"""fio and a user's own I/O profiles are facts of a run, which must not change while it goes on."""

from pathlib import Path

import pytest

from stithy.errors import PreconditionError
from stithy.fio import library
from stithy.results.comparability import check_comparable, find_differences
from stithy.results.manifest import Manifest
from stithy.run.manifest import ManifestFile
from support.faked_run import FakedRun
from support.running import manifest
from support.sample_run import Shape
from support.sample_run import manifest as sample

pytestmark = pytest.mark.usefixtures("own_state")

TEXT = (
    "study: x?\ncandidates: {a: {path: '{root}/a'}, b: {path: '{root}/b'}}\n"
    "scenario: {block-io: {profiles: [sql, '{root}/mine.toml'], size: 16 MiB}}\n"
)
SHIPPED = (library.FOLDER / "sql.toml").read_text()


@pytest.fixture
def fio(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A program that only says its version."""
    program = tmp_path / "bin/fio"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho fio-3.36\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    return program


def test_a_run_with_fio_keeps_its_version_and_what_ones_own_profiles_hold(
    fio: Path, tmp_path: Path
) -> None:
    """A shipped profile is Stithy's own, whose version is known."""
    own = tmp_path / "mine.toml"
    own.write_text(SHIPPED)
    faked = FakedRun(tmp_path, text=TEXT)
    ManifestFile(faked.start()).write()
    known = manifest(faked.out)["comparability"]
    assert known["fio"] == "fio-3.36"
    assert [name for name in known if name.startswith("profile.")] == [f"profile.{own}"]
    assert (known["submission.sql"], known[f"submission.{own}"]) == ("sync by psync",) * 2


def test_a_varied_submission_is_each_way_and_a_stream_that_differs_is_named(
    fio: Path, tmp_path: Path
) -> None:
    """By the engine that works on this machine."""
    works = 'case "$*" in *--version) echo fio-3.36;; *enghelp) echo libaio io_uring;; '
    fio.write_text(f"#!/bin/sh\n{works}*io_uring*) exit 1;; esac\n")
    text = TEXT.replace("[sql, '{root}/mine.toml']", "[sql, vmfleet-sql]")
    faked = FakedRun(
        tmp_path, text=f"{text}vary: {{scenario.block-io.submission: [sync, async]}}\n"
    )
    ManifestFile(faked.start()).write()
    known = manifest(faked.out)["comparability"]
    assert known["submission.sql"] == "sync by psync or async by libaio"
    (tmp_path / "plain").mkdir()
    plain = FakedRun(tmp_path / "plain", text=text)
    ManifestFile(plain.start()).write()
    known = manifest(plain.out)["comparability"]
    assert known["submission.vmfleet-sql"] == "data async by libaio, log sync by psync"


def test_an_engine_that_does_not_work_is_refused_before_anything_is_made(
    fio: Path, tmp_path: Path
) -> None:
    """None is taken for another."""
    own = tmp_path / "mine.toml"
    for named in ("", 'engine = "pvsync2"\n'):
        text = SHIPPED if named else (library.FOLDER / "single-drive-4k.toml").read_text()
        own.write_text(text.replace("iodepth = 1\n", f"iodepth = 1\n{named}"))
        fio.write_text(
            '#!/bin/sh\ncase "$*" in *--version) echo fio-3.36;; *pvsync2*) exit 1; esac\n'
        )
        faked = FakedRun(tmp_path, text=TEXT)
        with pytest.raises(
            PreconditionError, match="pvsync2 does not work" if named else "no async"
        ):
            faked.start()
        assert not faked.out.exists()


@pytest.mark.parametrize("changed", ["profile", "fio"])
def test_a_run_whose_profile_or_fio_has_changed_is_not_resumed(
    changed: str, fio: Path, tmp_path: Path
) -> None:
    """Its windows would be of two patterns, or of two programs, under one name."""
    own = tmp_path / "mine.toml"
    own.write_text(SHIPPED)
    faked = FakedRun(tmp_path, text=TEXT)
    faked.start()
    if changed == "profile":
        own.write_text(f"{SHIPPED}# another\n")
    else:
        fio.write_text("#!/bin/sh\necho fio-3.37\n")
    said = {"profile": f"profile.{own}: ", "fio": "fio: fio-3.36 before, fio-3.37 now"}
    with pytest.raises(PreconditionError, match=said[changed]):
        faked.resume()


@pytest.mark.needs_fio
def test_a_job_file_is_what_its_variables_and_included_files_make_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its words are kept with the run; with another variable it is another load."""
    monkeypatch.setenv("QD", "4")
    job = tmp_path / "mine.fio"
    job.write_text("[j]\nrw=randread\ndirect=1\nioengine=libaio\niodepth=${QD}\nruntime=9\n")
    faked = FakedRun(tmp_path, text=TEXT.replace("mine.toml", "mine.fio"))
    ManifestFile(faked.start()).write()
    (words,) = manifest(faked.out)["profile_words"].values()
    assert [line.split()[2:4] for line in words[-2:]] == [
        ["iodepth=4", "used"],
        ["runtime=9", "the"],
    ]
    monkeypatch.setenv("QD", "8")
    with pytest.raises(PreconditionError, match="profile"):
        faked.resume()


def test_ones_own_files_of_a_profile_are_told_from_shipped_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One pattern of a file is of that file; blktrace writes a file for each processor."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").touch()
    for number in range(2):
        (tmp_path / f"sda.blktrace.{number}").touch()
    asked = ("sql", "four-corners/random-read-4k", "./mine.toml/reads", "mine.fio", "a/b.trace",
             f"{tmp_path}/sda.blktrace.0")  # fmt: skip
    found = [tuple(map(str, library.own_files(each))) for each in asked]
    of_blktrace = tuple(f"{tmp_path}/sda.blktrace.{number}" for number in range(2))
    assert found == [(), (), ("mine.toml",), ("mine.fio",), ("a/b.trace",), of_blktrace]


def test_profiles_of_one_run_alone_are_points_that_the_other_does_not_have() -> None:
    """Another content under one name, or another fio, is a difference."""
    base = sample(Shape())

    def run(facts: dict[str, str]) -> Manifest:
        parts = check_comparable("block-io", None, None, None, None, "0.1.0", io_facts=facts)
        return base.model_copy(update={"comparability": parts})

    def found(other: dict[str, str]) -> list[str]:
        one = run({"fio": "3.36", "profile.a.toml": "12"})
        return [str(difference) for difference in find_differences(one, run(other), ())]

    assert found({"fio": "3.36", "profile.b.toml": "34", "submission.sql": "x"}) == []
    assert found({"fio": "3.37", "profile.a.toml": "34"}) == [
        "fio: 3.36 and 3.37",
        "profile.a.toml: 12 and 34",
    ]
