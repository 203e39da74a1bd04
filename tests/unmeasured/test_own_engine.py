"""Runs on an engine and with a workload of one's own, which only their files know."""

import re
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any

import pytest

from fakes.clock import HurriedClock
from stithy.activities.backup.cycles import HOLDS
from stithy.cli.app import run
from stithy.engines.engine import Engine
from stithy.errors import Exit, PreconditionError, UserError
from stithy.registry import plugins
from stithy.report.context import make_context
from stithy.results.files import read_run
from stithy.run.events import Note
from stithy.run.executor import RunOutcome
from stithy.run.session import Stop
from support.faked_run import FakedRun
from support.own_engine import Committing, OwnEngine
from support.published import TEXTS, publish

pytestmark = pytest.mark.usefixtures("own_state")

STUDY = """study: Does an engine of one's own work?
candidates: {a: {path: "{root}/a"}, b: {path: "{root}/b"}}
database: {engine: memory, memory: 64 MiB, settings: {keep: on}}
workload: {name: order-entry, warehouses: 1}
load: {users: [1, 2], ramp_up: 1 s, duration: 2 s, calibrate: false, repeat: 1}
thresholds: [a.nopm_at_1 >= 1]
"""


class Counting(Committing):
    """One whose users add to counters."""

    shares = MappingProxyType({"increment": 1.0})


OF_COUNTERS = STUDY.replace("order-entry, warehouses: 1", "counter, counters: 3").replace(
    "nopm", "ips"
)


def _run(
    root: Path, uncounted: int = 0, text: str = STUDY, hammer: type[Committing] = Committing
) -> OwnEngine:
    root.mkdir()
    faked = OwnEngine(root, hammer=hammer(sound=True), text=text)
    assert isinstance(faked.hammer, Committing)
    faked.hammer.uncounted = uncounted
    return faked


def _reasons(faked: FakedRun) -> list[str]:
    windows = make_context(read_run(faked.out)).evidence.windows
    return [str(reason) for window in windows for reason in window.reasons]


def test_own_engine_and_workload_are_reported(
    tmp_path: Path, fakes: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is cut off, resumed, reported in all formats, compared and exported.

    Nothing is said in the words of another workload.
    """
    faked = _run(tmp_path / "own", text=OF_COUNTERS, hammer=Counting)
    faked.run_cut_off()
    shown = publish(faked.out, capsys)
    for text in (shown[kind] for kind in TEXTS):
        assert "1.memory" in text
        assert "NOPM" not in text
        assert not re.search("warehouse|new.order", text, re.IGNORECASE)


def test_uncounted_commits_are_noticed(tmp_path: Path, fakes: Path) -> None:
    """By its own allowance, which is none: one is enough."""
    right, wrong = _run(tmp_path / "right"), _run(tmp_path / "wrong", uncounted=1)
    for each in (right, wrong):
        assert each.run().end == "finished"
    assert "commit" not in " ".join(_reasons(right))
    assert "commit" in " ".join(_reasons(wrong))


BY_URL = """study: Does a database by URL need no more of an engine than its module?
candidates:
  a: {url: "memory://me@a/db", password_env: STITHY_TEST_WORD}
  b: {url: "memory://me@b/db", password_env: STITHY_TEST_WORD}
database: {engine: memory, restore: reload}
workload: {name: order-entry, warehouses: 1}
load: {users: [1, 2], ramp_up: 1 s, duration: 2 s, calibrate: false, repeat: 1}
"""


def _load_endpoint() -> ModuleType:
    assert "memory" in plugins(Engine), "the folder of its modules is known from then on"
    import_module("stithy.engines.memory.engine")  # it takes the servers of now by their name
    return import_module("stithy.engines.memory.endpoint")


@pytest.fixture
def urls(monkeypatch: pytest.MonkeyPatch, fakes: Path) -> dict[str, Any]:
    """The stores of servers `a` to `c`, all of one version, by their URLs with the password."""
    monkeypatch.setenv("STITHY_TEST_WORD", "hush")
    endpoint = _load_endpoint()
    running = {f"memory://me:hush@{name}/db": endpoint.Store({}, {}) for name in "abc"}
    monkeypatch.setattr(endpoint, "RUNNING", running)
    monkeypatch.setattr(import_module("stithy.engines.memory.remote"), "MARKS", {})
    return running


def test_an_own_engine_takes_urls(tmp_path: Path, urls: dict[str, Any], undrawn: None) -> None:
    """They are cut off and resumed, and belong to nobody at the end; one with rows is refused."""
    stores = {name: urls[f"memory://me:hush@{name}/db"] for name in "ab"}
    stores["b"].commit("mine", 1)
    with pytest.raises(PreconditionError, match="it is not empty"):
        _run(tmp_path / "refused", text=BY_URL).run()
    assert stores["b"].rows == {"mine": 1}
    stores["b"].rows.clear()
    faked = _run(tmp_path / "own", text=BY_URL)
    faked.run_cut_off()
    assert [store.rows for store in stores.values()] == [{}, {}]
    assert import_module("stithy.engines.memory.remote").MARKS == {}
    assert run(["report", str(faked.out), "--format", "md"]) == 0
    report = (faked.out / "report.md").read_text()
    assert "took 1.50 ms on a and 1.50 ms on b" in report
    assert "hush" not in report


def test_a_server_backs_itself_up(
    tmp_path: Path, urls: dict[str, Any], undrawn: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each backup is restored beside the database, checked, compared, and gone at the end."""
    text = BY_URL.replace("[1, 2]", "[1], rate: 6/min").replace("2 s", "2 h")
    text += "scenario: {backup: {method: remembered, cycles: 2}}\n"
    faked = _run(tmp_path / "own", text=text)
    faked.clock = HurriedClock()
    assert faked.run().end == "finished"
    kept = import_module("stithy.engines.memory.backups").KEPT
    assert (kept, sorted(urls)) == ({}, [f"memory://me:hush@{name}/db" for name in "abc"])
    results = read_run(faked.out)
    assert dict(zip(results.spans["name"], results.spans["outcome"], strict=True)) == {
        "backup 1": "done", "backup 2": "done", "restore": HOLDS,
    }  # fmt: skip
    assert "tables are equal after backup and restore" in str(list(map(str, faked.events)))
    [log, *_] = sorted(faked.out.glob("windows/*/backup.log"))
    assert [line[:11] for line in log.read_text().splitlines()] == [
        "backup: 50%", "backup: 50%", "restored: n",
    ]  # fmt: skip
    assert run(["report", str(faked.out), "--format", "md"]) == 0
    stopped = _run(tmp_path / "stopped", text=text)

    def hang(*_: Any) -> Iterator[float]:
        stopped.stop.signal()
        while True:
            yield 10.0

    with monkeypatch.context() as patch:
        patch.setattr(import_module("stithy.engines.memory.backups").Remembered,
                      "back_up_inside", hang)  # fmt: skip
        assert stopped.run().end == "interrupted"
    wrong = text.replace("remembered", "copy")
    with pytest.raises(UserError, match="candidates are databases by URL"):
        _run(tmp_path / "files", text=wrong).run()


def test_a_restart_costs_the_window(tmp_path: Path, urls: dict[str, Any]) -> None:
    """Though it answers afterwards as if nothing had been; the run goes on with the others."""
    new = _load_endpoint().Store

    def start_anew() -> None:
        if len(faked.hammer.runs) == 1:
            urls.update({url: new(of.rows, {}) for url, of in urls.items()})

    faked = _run(tmp_path / "own", text=BY_URL)
    faked.hammer.before_run = start_anew
    assert faked.run().end == "finished"
    assert len([reason for reason in _reasons(faked) if "the server was restarted" in reason]) == 1


def test_versions_of_servers_are_named(
    tmp_path: Path, urls: dict[str, Any], undrawn: None, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the plan, the report and exports, beside another run, and after a resume."""
    urls["memory://me:hush@b/db"].version = "2.memory"
    faked = _run(tmp_path / "two", text=BY_URL)
    faked.hammer.before_run = lambda: faked.stop.signal() if len(faked.hammer.runs) > 2 else None
    assert faked.run().end == "interrupted"
    warned = [event.text for event in faked.events if isinstance(event, Note)]
    assert any("b server version 2.memory; differences" in each for each in warned)
    faked.hammer, faked.stop = Committing(sound=True), Stop()
    assert faked.resume().end == "finished"
    assert run(["report", str(faked.out), "--format", "md"]) == 0
    report = (faked.out / "report.md").read_text()
    assert "memory 1.memory on a, 2.memory on b" in report
    assert "different versions: 1.memory on a, 2.memory on b. Differences between" in report
    capsys.readouterr()
    assert run(["export", str(faked.out), "--to", "go-bench"]) == 0
    assert "server-version: 1.memory on a, 2.memory on b\n" in capsys.readouterr().out
    urls["memory://me:hush@b/db"].version = "1.memory"
    one = _run(tmp_path / "one", text=BY_URL)
    assert one.run().end == "finished"
    assert run(["compare", str(faked.out), str(one.out)]) == Exit.USAGE
    assert "b: server_version: 2.memory and 1.memory" in capsys.readouterr().err


def test_other_urls_are_not_comparable(
    tmp_path: Path, urls: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """And what stands behind a URL is not known, whether it is the same or not."""
    here = _run(tmp_path / "here", text=BY_URL)
    there = _run(tmp_path / "there", text=BY_URL.replace("@a/", "@c/"))
    for faked in (here, there):
        assert faked.run().end == "finished"
    assert run(["compare", str(here.out), str(there.out)]) == Exit.USAGE
    assert "a: url: memory://me@a/db and memory://me@c/db" in capsys.readouterr().err
    assert run(["compare", str(here.out), str(there.out), "--ignore", "url"]) == 0
    assert "changes of the servers behind its URLs are not known" in capsys.readouterr().out


BACKED_UP = """study: Does a backup restore to an equal database?
candidates: {a: {path: "{root}/a"}}
database: {engine: memory, memory: 64 MiB}
workload: {name: order-entry, warehouses: 1}
load: {users: [1], ramp_up: 1 s, duration: 2 s, calibrate: false, repeat: 1}
scenario: {backup: {method: METHOD}}
"""


def _backed_up(root: Path, method: str) -> RunOutcome:
    faked = _run(root / method, text=BACKED_UP.replace("METHOD", method))
    return replace(faked, clock=HurriedClock()).run()


def test_an_unequal_restore_fails_the_study(tmp_path: Path, fakes: Path) -> None:
    """By exit code 5, with the table and both of its sums; with another method it succeeds."""
    assert _backed_up(tmp_path, "copy").error is None
    error = _backed_up(tmp_path, "careless").error
    assert error is not None
    assert error.exit == Exit.INVALID
    assert "late has no rows in the database and 1 in what was restored" in error.problem
