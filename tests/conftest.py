"""Options, marks and fixtures that all tests share.

A test says what it needs of the machine with a mark for each capability (`needs_postgresql`). Where
that is missing the test is skipped with the reason, or fails if `--require` names the capability.
"""

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import settings

from capabilities import NOBODY, PROBES, missing
from fakes.clock import FakeClock
from stithy.hosts.activity import watch
from stithy.registry import plugins
from stithy.study.scenario import Scenario
from support import reported
from support.places import DISK, LEAVE_DRIVES, a_place, quick_parent
from support.running import Stithy

settings.register_profile("stithy", deadline=None)  # on a busy machine any test may be slow
settings.load_profile("stithy")

# Results are synced to disk file by file: on a disk tests mostly wait for that.
os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(quick_parent()))

ROOT = Path(__file__).resolve().parent.parent
MARK = "needs_"
UNMEASURED = ROOT / "tests/unmeasured"
PLUGINS = ROOT / "tests/fakes/plugins"
LEFT_OUT = os.environ.get("STITHY_LEFT_OUT")
"""Where `make test` collects what was not run, for its last lines."""
SCRATCH = re.compile(r'"(/[\w/]+/stithy-[0-9a-f]{8})"')
"""A directory of sockets, as a register of a run names it."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare --require, --accept-golden and --pictures."""
    parser.addoption(
        "--require",
        default="",
        metavar="CAPABILITY,…",
        help=f"a skip for want of one of these is a failure: {', '.join(PROBES)}",
    )
    parser.addoption(
        "--accept-golden",
        action="store_true",
        help="write golden files as the program gives them now, instead of comparing",
    )
    parser.addoption(
        "--pictures",
        default="",
        metavar="DIR",
        help="write pictures of the pages that tests/browser looks at, to be looked at too",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Declare a mark for each capability; refuse unknown names in --require."""
    for name, probe in PROBES.items():
        config.addinivalue_line("markers", f"{MARK}{name}: {probe.__doc__}")
    config.addinivalue_line("markers", "long: left to `make test-all`; its docstring says why")
    if unknown := sorted(_required(config) - PROBES.keys()):
        known = ", ".join(PROBES)
        raise pytest.UsageError(f"--require: unknown {', '.join(unknown)}: known are {known}")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whole programs come first: where two tests go at a time nobody waits for a last long one."""
    items.sort(key=lambda item: UNMEASURED not in item.path.parents)


def pytest_deselected(items: list[pytest.Item]) -> None:
    """Note the long tests; of processes beside each other, which leave out the same, in one."""
    if os.environ.get("PYTEST_XDIST_WORKER", "gw0") == "gw0":
        for item in items:
            if item.get_closest_marker("long"):
                _leave_out(f"long, run by `make test-all`: {item.location[0]}")


def _leave_out(line: str) -> None:
    if LEFT_OUT:
        with open(LEFT_OUT, "a") as file:
            file.write(f"{line}\n")


NOISE = "needs quiet: "


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip, or fail, a test whose capabilities are not all there."""
    for name in _needs(item):
        if problem := missing(name):
            end = pytest.fail if name in _required(item.config) else pytest.skip
            end(f"needs {name}: {problem}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a skip from inside a test with a required capability into a failure.

    A test that also needs what nobody required, and what is not here, was skipped before it began,
    or found out later that the machine is not quiet.
    """
    report = yield
    needs = _needs(item)
    required = sorted(needs & _required(item.config))
    began = not any(missing(name) for name in needs.difference(required))
    is_noise = report.skipped and call.excinfo is not None and NOISE in str(call.excinfo.value)
    began = began and (not is_noise or "quiet" in _required(item.config))
    if report.skipped and required and began and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped although --require names {', '.join(required)}: {call.excinfo}"
    if report.skipped and isinstance(report.longrepr, tuple):
        _leave_out(f"{report.longrepr[2].lower()}: {item.location[0]}")
    return report


def _required(config: pytest.Config) -> set[str]:
    return {name for name in config.getoption("--require").split(",") if name}


def _needs(item: pytest.Item) -> set[str]:
    return {
        mark.name.removeprefix(MARK) for mark in item.iter_markers() if mark.name.startswith(MARK)
    }


@pytest.fixture
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The state directory of this test alone: runs and drives register there.

    Commands do not wait for a second to see what other programs do. A run that is cut off in it, as
    if by a kill, leaves its scratch directory.
    """
    monkeypatch.setenv("STITHY_STATE", str(tmp_path / "state"))
    monkeypatch.setattr("stithy.hosts.host.watch", lambda _, pids: watch(FakeClock(), pids))
    yield tmp_path / "state"
    for register in (tmp_path / "state/runs").glob("*.jsonl"):
        for scratch in SCRATCH.findall(register.read_text(errors="replace")):
            shutil.rmtree(scratch, ignore_errors=True)


@pytest.fixture
def fakes(monkeypatch: pytest.MonkeyPatch) -> Path:
    """The plug-ins of tests/fakes/plugins are there in this test, and in what it starts."""
    plugins(Scenario)  # their keys describe the engines that are there when they are imported
    monkeypatch.setenv("STITHY_PLUGINS", str(PLUGINS))
    return PLUGINS


@pytest.fixture
def undrawn() -> Iterator[None]:
    """Reports that are made in the test's own process draw nothing."""
    with reported.undrawn():
        yield


@pytest.fixture
def hang_up() -> Iterator[None]:
    """SIGHUP does what it does by default, also where the tests run under nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.fixture
def accept_golden(pytestconfig: pytest.Config) -> bool:
    """Whether golden files are to be written instead of compared."""
    return bool(pytestconfig.getoption("--accept-golden"))


@pytest.fixture(scope="session")
def root() -> Path:
    """The project's own directory."""
    return ROOT


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory that the server's user can reach; pytest's own are closed to others."""
    with a_place() as path:
        yield path


@pytest.fixture
def disk_place() -> Iterator[Path]:
    """The same on a disk, where the machine has one; pytest's own may lie in memory."""
    with a_place(DISK) as path:
        yield path


@pytest.fixture
def stithy(place: Path) -> Iterator[Stithy]:
    """`stithy` with a state directory of its own; used before `place` is removed."""
    program = Stithy(place / "state")
    yield program
    program.end()


@dataclass(frozen=True)
class Unprivileged:
    """How to run this project's programs as a user without rights."""

    prefix: tuple[str, ...]
    project: Path

    def stithy(self, *arguments: str) -> list[str]:
        """The command line of `stithy` as that user."""
        python = [str(self.project / ".venv/bin/python"), "-m", "stithy"]
        path = f"PYTHONPATH={self.project / 'python'}"
        nothing_kept = "XDG_CACHE_HOME=/proc/none"  # what it kept would stay behind
        return [*self.prefix, "env", path, "HOME=/tmp", nothing_kept, *python, *arguments]


DROP = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--")


@pytest.fixture(scope="session")
def unprivileged() -> Unprivileged:
    """A user without rights, also where the project lies below a directory that is private.

    There the project is mounted a second time, for that user's processes alone.
    """
    if os.geteuid() != 0:
        return Unprivileged((), ROOT)
    # What setpriv itself starts is still found with root's rights; what `env` starts is not.
    probe = [*DROP, "env", str(ROOT / ".venv/bin/python"), "-c", ""]
    if subprocess.run(probe, capture_output=True).returncode == 0:
        return Unprivileged(DROP, ROOT)
    place = Path("/mnt")
    mount = LEAVE_DRIVES + f'mount --bind "{ROOT}" "{place}" && exec "$@"'
    return Unprivileged(("unshare", "--mount", "sh", "-c", mount, "sh", *DROP), place)
