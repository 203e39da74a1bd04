"""The memory limit of a server: the study's, widened where pages of a volume are memory."""

from dataclasses import replace
from pathlib import Path

import pytest

from stithy.run.windows.memory import limit_of
from stithy.storage.volume import describe
from support.faked_run import FakedRun

MIB = 2**20


def test_the_limit_grows_by_the_servers_files_only_where_they_are_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The note says by how much and why; the master copy does not count."""
    monkeypatch.setenv("STITHY_STATE", str(tmp_path / "state"))
    faked = FakedRun(tmp_path)
    context = faked.start()
    volume = replace(describe(tmp_path), memory_backed=False)
    context.state.volumes["a"] = volume
    assert limit_of(context, "a") == (192 * MIB, None)
    context.state.volumes["a"] = replace(volume, memory_backed=True, filesystem="tmpfs")
    limit, note = limit_of(context, "a")
    assert limit == 192 * MIB + context.plan.database_bytes + context.plan.growth_bytes
    assert note is not None
    assert note.startswith("the limit of 192 MiB was widened by ")
    assert note.endswith("because the pages of tmpfs are memory")
    context.register.close(remove=True)
    context.scratch.rmdir()
