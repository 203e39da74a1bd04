"""What volumes take is asked once loaded and at the end, and is part of the report."""

from pathlib import Path

import pytest

from stithy.errors import InfrastructureError
from stithy.results.files import read_rows
from stithy.results.tables import SPACE
from stithy.run import drives
from support.faked_run import FakedRun

MIB = 2**20


@pytest.fixture
def faked(tmp_path: Path, own_state: Path) -> FakedRun:
    """A run of which only its session and its volumes are used."""
    return FakedRun(
        tmp_path,
        text="study: x?\ncandidates: {a: {path: '{root}/a'}, b: {path: '{root}/b'}}\n"
        "scenario: {block-io: {profiles: [sql], size: 16 MiB}}\n",
    )


def test_each_volume_is_asked_once_a_moment(faked: FakedRun) -> None:
    """A directory has files; nothing is set aside for it, which has a reason."""
    context = faked.start()
    volume = context.volumes.provision("a")
    (volume.path / "file").write_bytes(b"x" * MIB)
    for moment in ("loaded", "loaded", "end"):
        drives.record(context, "a", moment)
    drives.record(context, "b", "end")  # which was not made
    rows = context.state.rows[SPACE.name]
    assert [(row["candidate"], row["role"], row["moment"]) for row in rows] == [
        ("a", "data", "loaded"), ("a", "data", "end"),
    ]  # fmt: skip
    assert rows[0]["logical_bytes"] >= MIB
    assert rows[0]["provisioned_bytes"] is None
    assert rows[0]["missing_because"]
    assert len(read_rows(context.session.directory.table(SPACE.name), SPACE)) == 2


def test_what_cannot_be_read_has_its_reason_and_fails_no_run(
    faked: FakedRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An array may not say what it holds."""
    context = faked.start()
    context.volumes.provision("a")

    def refuse(*_: object) -> None:
        raise InfrastructureError("no books", where="a", remedy="none")

    monkeypatch.setattr(context.volumes.providers["a"], "measure_space", refuse)
    drives.record(context, "a", "end")
    [row] = context.state.rows[SPACE.name]
    assert row["physical_bytes"] is None
    assert "no books" in row["missing_because"]
