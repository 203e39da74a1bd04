"""Which processes a cluster's removal ends: its own, and nobody else's."""

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from stithy.cluster.image import find_pids

SCRIPT = "#!/usr/bin/env python3\nprint(flush=True)\ninput()\n"


@contextmanager
def working_in(folder: Path, *words: Sequence[str]) -> Iterator[list[int]]:
    """Inside, programs that wait work in the folder; their ids."""
    with ExitStack() as stack:
        started = [
            stack.enter_context(
                subprocess.Popen(
                    word, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
                )
            )
            for word in words
        ]
        for each in started:
            assert each.stdout is not None
            each.stdout.readline()
        yield [each.pid for each in started]


def test_a_shell_that_works_in_the_folder_of_a_cluster_is_none_of_its_processes(
    tmp_path: Path,
) -> None:
    """Programs of Ceph and of its image are, also those written in Python, wherever they lie."""
    folder, programs = tmp_path / "cluster", tmp_path / "programs"
    for each in (folder, programs):
        each.mkdir()
    monitor, client = programs / "ceph-mon", programs / "ceph"
    shutil.copy(shutil.which("bash") or "/bin/bash", monitor)
    client.write_text(SCRIPT)
    client.chmod(0o755)
    wait = "echo; read"
    shell = ("bash", "-c", wait, str(monitor))
    with working_in(folder, (str(monitor), "-c", wait), (str(client),), shell) as pids:
        assert sorted(find_pids(folder)) == sorted(pids[:2])
