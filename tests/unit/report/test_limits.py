"""What limited each window, with what the manifest knows."""

from pathlib import Path

from stithy.report.context import context_of
from stithy.results.read import read_run
from support.sample_run import Shape, build_run


def test_every_window_with_numbers_is_judged(tmp_path: Path) -> None:
    """With the CPUs that the manifest knows of; those of the server only where it is bound."""
    build_run(tmp_path, Shape(users=(4,)))
    context = context_of(read_run(tmp_path))
    assert set(context.limited) == {window.id for window in context.evidence.windows}
    for limited in context.limited.values():
        rules = {each.rule for each in limited.judged}
        assert "host-cpu" in rules
        assert "server-cpu" not in rules


def test_emulated_drives_are_judged_by_their_emulation(tmp_path: Path) -> None:
    """The other candidate has none."""
    build_run(tmp_path, Shape(users=(4,), drives={"disk": 0.5}))
    context = context_of(read_run(tmp_path))
    found = {w.candidate: context.limited[w.id] for w in context.evidence.windows}
    assert found["disk"].kind == "emulation"
    assert "emulation" not in {each.rule for each in found["memory"].judged}


def test_a_run_without_a_manifest_is_judged_by_what_is_left(tmp_path: Path) -> None:
    """How many CPUs there are is not known then."""
    run = build_run(tmp_path, Shape(users=(4,)))
    run.manifest.unlink()
    context = context_of(read_run(tmp_path))
    assert len(context.limited) == 2
    for limited in context.limited.values():
        assert "host-cpu" in {each.rule for each in limited.silent}
