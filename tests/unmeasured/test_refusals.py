"""On this machine, as it is: what cannot work is said before anything starts; a new study works."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from conftest import Unprivileged
from stithy.cli import app
from support.running import Stithy, write_study

pytestmark = pytest.mark.needs_postgresql

Run = Callable[..., CompletedProcess[str]]


@pytest.fixture
def run(own_state: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command in this process: what is refused starts nothing."""

    def ended(*words: str | Path) -> CompletedProcess[str]:
        capsys.readouterr()
        code = app.run([*map(str, words)])
        return CompletedProcess(words, code, *capsys.readouterr())

    return ended


def _made(path: Path, *, file: bool = False, mode: int = 0o755) -> Path:
    path.parent.mkdir(mode=mode, exist_ok=True)
    path.touch() if file else path.mkdir(exist_ok=True)
    return path


REFUSED: dict[str, tuple[Callable[[Path], Path], str]] = {
    "a directory in use": (
        lambda place: _made(place / "mine/photo.jpg", file=True).parent,
        "it holds 'photo.jpg', not Stithy's",
    ),
    "a missing parent": (lambda place: place / "no/such", "does not exist: make it: mkdir -p"),
    "a file": (lambda place: _made(place / "file", file=True), "is not a directory"),
    "the whole machine": (lambda place: Path("/"), "is the root of the machine"),
    "a shared directory": (lambda place: Path("/tmp"), "is shared by all users"),
    "the kernel's files": (lambda place: Path("/proc/stithy"), "0 B are free"),
    "a closed directory": (
        lambda place: _made(place / "closed", mode=0o700) / "a", "closed: allow it (chmod o+x"
    ),
}  # fmt: skip


@pytest.mark.needs_root
@pytest.mark.parametrize("case", REFUSED)
def test_a_candidate_that_cannot_be_used_is_refused(run: Run, place: Path, case: str) -> None:
    """Exit code 3, the reason and the remedy; nothing of the user's is touched, nothing is made."""
    make, reason = REFUSED[case]
    used = make(place)
    if case == "a closed directory":
        used.parent.chmod(0o700)
    study = write_study(place / "study.yaml", {"a": used})
    before = sorted(path for path in place.rglob("*") if path.name != "state")
    ended = run("run", study, "--out", place / "out")
    assert (ended.returncode, ended.stdout) == (3, ""), ended.stderr
    assert ended.stderr.startswith("error: candidate a: ")
    assert reason in ended.stderr
    assert len(ended.stderr.splitlines()) == 1
    assert sorted(path for path in place.rglob("*") if path.name != "state") == before


WITHOUT_A_SERVER = """study: May another user stay out?
candidates: {{a: {{path: {place}/closed/a}}}}
scenario: {{block-io: {{profiles: [sql], size: 32 MiB}}}}
"""


@pytest.mark.needs_root
def test_closed_directories_do_without_a_server(run: Run, place: Path) -> None:
    """No other user has to go there."""
    _made(place / "closed", mode=0o700)
    (place / "closed").chmod(0o700)
    (place / "study.yaml").write_text(WITHOUT_A_SERVER.format(place=place))
    planned = run("plan", place / "study.yaml")
    assert planned.returncode == 0, planned.stderr


STUDIES = {
    "shred_buffers": ({"shred_buffers": "1"}, "out", 2, 'configuration parameter "shred_buffers"'),
    "results there": ({}, "there", 2, "is not an empty directory"),
    "results inside": ({}, "a/out", 2, "overlap"),
    "nested": ({}, "out", 3, "the directory of candidate"),
    "no room": ({}, "out", 3, "may be needed"),
}


@pytest.mark.parametrize("case", STUDIES)
def test_a_study_that_cannot_be_run_so_is_refused(run: Run, place: Path, case: str) -> None:
    """By the server's own words, by the plan's numbers; results are never overwritten."""
    settings, out, code, reason = STUDIES[case]
    candidates = {"a": place / "a"}
    if case == "nested":
        _made(place / "a")
        (place / "link").symlink_to(place / "a")
        candidates["b"] = place / "link"
    report = _made(place / "there/report.html", file=True)
    report.write_text("last year's")
    study = write_study(place / "study.yaml", candidates, settings=settings)
    if case == "no room":
        study.write_text(study.read_text().replace("warehouses: 1", "warehouses: 90000"))
    ended = run("run", study, "--out", place / out)
    assert ended.returncode == code
    assert reason in ended.stderr
    assert report.read_text() == "last year's"
    assert not (place / "a").exists() or case == "nested"
    assert not (place / "out").exists()


def test_a_new_study_of_this_machine_can_be_planned(run: Run, place: Path) -> None:
    """Nothing but the file is made."""
    study = place / "study.yaml"
    written = run("new", study, "--short")
    assert written.returncode == 0, written.stderr
    assert [path.name for path in place.iterdir()] == ["study.yaml"]
    assert run("plan", study).returncode == 0


@pytest.mark.needs_unprivileged
def test_a_user_without_rights_gets_a_study(
    place: Path, unprivileged: Unprivileged, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also with a folder on the PATH that is closed; nothing is a bug, and nothing is made."""
    closed = place / "closed"
    closed.mkdir(mode=0o700 if os.geteuid() == 0 else 0o000)
    monkeypatch.setenv("PATH", f"{closed}/bin:{os.environ['PATH']}")
    stithy = Stithy(place / "state", prefix=unprivileged.stithy())
    shown = stithy.run("doctor", "--json")
    assert shown.returncode == 3, shown.stderr
    assert "root" in [load["what"] for load in json.loads(shown.stdout)["demo"]["lacks"]]
    written = stithy.run("new", "-", "--short", "--size", "1")
    assert written.returncode == 0, written.stderr
    (place / "study.yaml").write_text(written.stdout)
    planned = stithy.run("plan", place / "study.yaml", "--out", f"{place}-out")
    assert planned.returncode == 0
    barred = [("space", closed / "in"), ("run", place / "study.yaml", "--out", closed / "out")]
    assert [stithy.run(*words).returncode for words in barred] == [2, 3]
