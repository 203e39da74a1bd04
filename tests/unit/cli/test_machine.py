"""Commands that look at the machine: doctor, new and plan; and what is seen of a run."""

import json
import os
import socket
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT
from fakes.clock import FakeClock
from fakes.machine import FakeMachine
from stithy.cli import app
from stithy.cli.talk.display import Plain, describe_event
from stithy.cli.talk.page import watch_run
from stithy.errors import PreconditionError, Problems, StithyError, UserError
from stithy.needs import Judgement
from stithy.run import doctor, draft, events, preflight
from stithy.study.load import read_study
from support.examples import STEP, WINDOW
from support.studies import write_study

pytestmark = pytest.mark.usefixtures("own_state", "machine")
Captured = pytest.CaptureFixture[str]
DEMO = str(ROOT / "studies/demo.yaml")


def _found(patch: pytest.MonkeyPatch, *problems: StithyError, warnings: str = "") -> None:
    """Let the checks of the machine find this."""
    known = Problems()
    known.found += problems
    checked = preflight.Preflight(None, known, (warnings,) if warnings else ())
    patch.setattr(preflight, "check_machine", lambda *_, **__: checked)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A good machine in the place of this one, on which everything fits and every study runs."""
    monkeypatch.chdir(tmp_path)
    there = Judgement("postgresql", "there", "15.1 in /x")
    for module in (doctor, draft):
        monkeypatch.setattr(module, "judge_engine", lambda host, name: there)
    monkeypatch.setattr("stithy.hosts.host.LocalHost", FakeMachine)
    monkeypatch.setattr(draft, "check_here", lambda host, study, plan: None)
    _found(monkeypatch)


def test_what_the_demo_lacks_gives_3(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    """It is data; programs get every check and every need. tests/golden has the words."""
    assert app.run(["doctor"]) == 0
    monkeypatch.setattr("stithy.hosts.host.LocalHost", lambda: FakeMachine(is_root=False))
    assert app.run(["doctor"]) == 3
    assert set(capsys.readouterr().err.splitlines()) == {"looking at this machine"}
    assert app.run(["doctor", "--json"]) == 3
    reported = json.loads(capsys.readouterr().out)
    assert [each["what"] for each in reported["demo"]["lacks"]] == ["root"]
    assert (reported["schema_version"], reported["demo"]["can_run"]) == (1, False)
    [drive] = [each for each in reported["parts"] if each["name"] == "drive" and each["needs"]]
    assert (drive["works"], drive["needs"][0]["remedy"]) == (False, "start it with sudo")
    assert {"drive profile", "drive compare"} <= {each["name"] for each in reported["parts"]}


def test_a_new_study_can_be_planned_at_once(tmp_path: Path, capsys: Captured) -> None:
    """Its name is study.yaml unless another is given; standard output gets the study alone."""
    assert app.run(["new"]) == 0
    out, err = capsys.readouterr()
    assert (out, os.listdir()) == ("", ["study.yaml"])
    assert "study.yaml: compares var-tmp, generic-nvme, with postgresql; takes about " in err
    assert app.run(["plan", "study.yaml"]) == 0
    capsys.readouterr()
    assert app.run(["new", "-", "--short"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("# A study for this machine (8 CPUs, ")
    assert err == "looking at this machine\n"
    assert app.run(["new", "a.yaml", "--drive", "gp3", "--size", "3", "--json"]) == 0
    reported = json.loads(capsys.readouterr().out)
    assert (reported["file"], reported["candidates"], reported["size"]) == (
        "a.yaml",
        ["gp3"],
        {"warehouses": 3},
    )
    assert (reported["scenario"], reported["workload"]) == ("load", "order-entry")
    assert reported["time_s_least"] <= reported["time_s"] < reported["time_s_max"]
    assert list(read_study(Path("a.yaml")).study.candidates) == ["gp3"]
    assert app.run(["new", "b.yaml", "--scenario", "block-io", "--json"]) == 0
    reported = json.loads(capsys.readouterr().out)
    assert [reported[name] for name in ("engine", "workload", "size")] == [None] * 3
    assert app.run(["new", "c.yaml", "--scenario", "block-io"]) == 0
    assert "c.yaml: compares var-tmp, generic-nvme; takes about " in capsys.readouterr().err


def test_what_no_new_study_can_be_is_a_mistake(tmp_path: Path, capsys: Captured) -> None:
    """Nothing is written, over no file, and through no link that leads nowhere."""
    (tmp_path / "mine.yaml").write_text("mine")
    (tmp_path / "link.yaml").symlink_to("nowhere")
    for words, reported in (
        ("mine.yaml", "is not overwritten"),
        ("link.yaml", "is not overwritten"),
        ("no/such/study.yaml", "this user sees no directory no/such"),
        ("x" * 300, "cannot be the name of a file: file name too long"),
        ("--engine postgre", "did you mean postgresql?"),
        ("--engine x", "one of mariadb, mysql, postgresql, sqlite, sqlserver"),
        ("--workload order_entri", "--workload: 'order_entri' is not a workload: did you mean"),
        ("--scenario backups", "'backups' is not a scenario: did you mean backup?"),
        ("failure", "write stithy new failure.yaml --scenario failure"),
        ("--scenario block-io --size 3", "--size: the scenario block-io has no workload"),
        ("--size 0", "warehouses"),
        ("- --json", "a study is printed as YAML"),
        ("--path /a --path /a/b", "share the same storage"),
    ):
        assert app.run(["new", *words.split()]) == 2
        assert reported in capsys.readouterr().err
    assert sorted(os.listdir()) == ["link.yaml", "mine.yaml"]
    assert Path("mine.yaml").read_text() == "mine"


def test_a_new_study_that_fails_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    """The half of one would be taken for a whole one; what mends it is reported."""

    def refuse(*_: Any, **__: Any) -> None:
        raise PermissionError(13, "Permission denied")

    def gone(*_: object) -> None:
        raise PreconditionError("none", where="engine", remedy="apt-get install postgresql")

    removed: list[Path] = []
    with Path("/dev/full").open("w") as full, monkeypatch.context() as patch:
        patch.setattr("stithy.cli.new._need_free", lambda _: None)
        patch.setattr(Path, "unlink", lambda path, missing_ok: removed.append(path))
        kept = Path.open
        patch.setattr(
            Path, "open", lambda path, mode="r", *words, **more:
            full if mode == "x" else kept(path, mode, *words, **more),
        )  # fmt: skip
        assert app.run(["new", "full.yaml"]) == 4
        assert "no space left" in capsys.readouterr().err
        assert removed == [Path("full.yaml")]
        patch.setattr(Path, "open", refuse)
        assert app.run(["new"]) == 3
        assert "may not write to" in capsys.readouterr().err
    monkeypatch.setattr(draft, "choose_engine", gone)
    assert app.run(["new"]) == 3
    assert "apt-get install postgresql" in capsys.readouterr().err


def test_all_problems_are_shown_below_a_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    """Whoever fixes them fixes all in one round; a warning prevents nothing, nothing is made."""
    settings = UserError("PostgreSQL refuses it", where="database.settings", remedy="correct it")
    place = PreconditionError("/b is not empty", where="candidate b", remedy="empty it")
    write_study(tmp_path)
    assert app.run(["plan", "study.yaml", "--json"]) == 0
    reported = json.loads(capsys.readouterr().out)
    assert (reported["schema_version"], reported["master_candidate"]) == (1, "disk")
    assert set(reported["totals"]["space_bytes"]) == {"disk", "memory"}
    likely_s = sum(step["cost"]["time_s"] for step in reported["steps"])
    assert reported["totals"]["time_s"] == pytest.approx(likely_s)
    _found(monkeypatch, settings, place, warnings="the machine is not quiet")
    assert app.run(["plan", "study.yaml"]) == 3
    out, err = capsys.readouterr()
    assert "2 problems prevent a run" in out
    assert "warning: the machine is not quiet" in out
    assert all(text in err for text in ("PostgreSQL refuses it", "/b is not empty"))
    _found(monkeypatch, settings)
    assert app.run(["plan", "study.yaml", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["schema_version"] == 1
    assert app.run(["plan", "study.yaml", "--sensitivity"]) == 2
    assert "no candidate is an emulated drive" in capsys.readouterr().err
    assert os.listdir() == ["study.yaml"]


def test_a_plan_shows_its_steps_on_request(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    """The plan of the demo fits a screen."""
    monkeypatch.setattr(preflight, "check_sensitivity", lambda file: None)  # asks the program
    shown = {}
    for option in ("", "--steps", "--sensitivity", "--json", "--sensitivity --json"):
        assert app.run(["plan", DEMO, *option.split()]) == 0
        shown[option] = capsys.readouterr().out
    assert len(shown[""].splitlines()) <= 40
    assert [each for each in shown if "  restore-w-" in shown[each]] == ["--steps"]
    varied = "every assumed number of the drives 25%"
    assert [each for each in shown if varied in shown[each]] == ["--sensitivity"]
    assert json.loads(shown["--json"])["sensitivity"] is None
    reported = json.loads(shown["--sensitivity --json"])["sensitivity"]
    assert 0 < reported["time_s_least"] <= reported["time_s"] <= reported["time_s_max"]
    assert (reported["runs_least"], reported["runs_most"]) == (1, 2)


def test_each_event_has_its_line_or_none(capsys: Captured) -> None:
    """On standard error, with the time of day; every tenth second is enough for a log of hours."""
    second = events.SecondPassed(WINDOW, 9, "measure", 12_345.6, 0.0123)
    begun = events.RunStarted("runs/x", 50, 440.0, 700.0)
    look = events.InterimAnalysis("b is better.", 4, decided=True)
    reported: list[tuple[events.Event, str | None]] = [
        (begun, "50 steps, about 7 min 20 s (11 min 40 s if it stays undecided); results go to "
                "runs/x"),
        (events.StepStarted(STEP, 7, 17, 88.4), "[7/17] w-disk-u4-b0, about 1 min 28 s left"),
        (look, "interim analysis: b is better."),
        (events.StepSkipped(STEP, "b is better."), None),
        (events.StepFinished(STEP, 31.25, "4,400 NOPM"), "    4,400 NOPM (31.2 s)"),
        (second, "    10 s (measure), last second: 12,346 TPM, p95 12.3 ms"),
        (replace(second, p95_s=None, rate=0.0), "    10 s (measure), last second: 0 TPM"),
        (replace(second, second=10), None),
        (events.StepProgress("loading", 1, 2), None),
    ]  # fmt: skip
    for event, expected in reported:
        assert describe_event(event) == expected
        Plain(FakeClock()).show(event)
        out, err = capsys.readouterr()
        assert (out, err[9:]) == ("", f"{expected}\n" if expected else "")


def test_live_numbers_are_told_where_an_address_is_given(tmp_path: Path, capsys: Captured) -> None:
    """A port in use, or one for other machines, ends a command before anything starts."""
    for address, reported in ((None, ""), ("127.0.0.1:0", "live numbers: http://127.0.0.1:")):
        with watch_run(address, None) as tell:
            tell(events.StepProgress("loading", 1, 2))
        assert reported in capsys.readouterr().err
    with socket.create_server(("127.0.0.1", 0)) as taken:
        used = f"127.0.0.1:{taken.getsockname()[1]}"
        for command, address, code in (
            ("run", used, 3), ("resume", used, 3), ("run", "0.0.0.0:9464", 2),
        ):  # fmt: skip
            assert app.run([command, str(tmp_path / "gone"), "--metrics", address]) == code
            assert f"--metrics {address}" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
