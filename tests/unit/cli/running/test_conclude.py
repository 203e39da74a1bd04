"""What the end of a run leaves for later studies."""

import math
from pathlib import Path
from statistics import stdev

import pytest

from stithy.cli.running.conclude import conclude, remember_noise
from stithy.errors import InfrastructureError, InvalidMeasurement, StithyError
from stithy.report.context import context_of
from stithy.results.layout import RunDirectory
from stithy.results.read import read_run
from stithy.run.before.earlier import earlier_noise
from stithy.run.executor import Outcome
from support.sample_run import Shape, build_run


def test_how_much_blocks_varied_is_remembered_where_there_were_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the metric of the question; three blocks tell too little."""
    monkeypatch.setenv("STITHY_STATE", str(tmp_path / "state"))
    for blocks in (3, 4):
        shape = Shape(users=(4,), repeat=blocks, duration_s=2, series=False)
        build_run(tmp_path / str(blocks), shape)
        context = context_of(read_run(tmp_path / str(blocks)))
        remember_noise(context)
    windows = context.run.window.sort("block").to_dicts()
    of = {
        name: [w["nopm"] for w in windows if w["candidate"] == name] for name in ("disk", "memory")
    }
    logs = [math.log(b / a) for a, b in zip(of["disk"], of["memory"], strict=True)]
    assert earlier_noise("nopm") == pytest.approx([stdev(logs)])


@pytest.mark.parametrize(
    ("error", "advised"), [(InvalidMeasurement, False), (InfrastructureError, True)]
)
def test_a_question_without_an_answer_is_not_gone_on_with(
    error: type[StithyError],
    advised: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What the first window showed holds for the rest, too; a server can be started again."""
    monkeypatch.setenv("STITHY_STATE", str(tmp_path / "state"))
    root = tmp_path / "run"
    build_run(root, Shape(users=(4,), duration_s=2, series=False))
    ended = error("it ended", where="here", remedy="look")
    conclude(Outcome(RunDirectory(root), "failed", ended, (), {}), None, json=False)
    assert ("stithy resume" in capsys.readouterr().err) is advised
