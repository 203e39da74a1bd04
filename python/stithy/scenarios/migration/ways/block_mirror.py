"""A block mirror: QEMU copies the volume to another drive while it is in use, and turns to that.

Every write goes to both drives from the beginning, so that the copy ends however much users write.
Once both are equal QEMU waits for the requests under way, and from then on uses the target alone.
"""

import json
import mmap
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stithy.drives import bridge, filesystems
from stithy.drives.bridge import BLOCK_BYTES
from stithy.errors import InfrastructureError, StithyError
from stithy.hosts.runner import Command
from stithy.needs import Package, ProgramNeed
from stithy.registry import plugins
from stithy.scenarios.migration.way import SWITCH, Move, WayKind, explain_unlike
from stithy.storage.emulation import suspend_pacing
from stithy.storage.layer import LayerKind
from stithy.storage.layers.qemu import Monitor, describe_node, open_monitor
from stithy.storage.provider import EmulatedDrive

if TYPE_CHECKING:
    from stithy.study.model import Study

LAYER, MIRROR = "qemu", "mirror"
WHOLE = f"a single emulated drive with `layer: {{{LAYER}: {{}}}}`"
TARGET, JOB, SINCE = "target", "migration", "since"
"""QEMU's names: of the node, of the job, and of what it keeps of the blocks written since both
drives were equal."""

PIVOT_S = 60.0
"""Own: it takes milliseconds, and a drive that stands still may last."""

POLL_S = 0.01

INFO = ProgramNeed(
    name="nbdinfo", package=Package("libnbd-bin", "libnbd"), asked=("--version",),
    why="comparing the drives of a mirror",
)  # fmt: skip
PIECE_BYTES = 2**20


class BlockMirror(WayKind):
    """Nobody is told of it; requests wait for a moment at the switch."""

    name = "block-mirror"
    text = (
        "lets QEMU's storage daemon mirror the volume to the other drive, below the file system "
        "of the running server, and go on with that once both are equal"
    )
    needs = (*plugins(LayerKind)[LAYER].needs, INFO)
    parts = (MIRROR, SWITCH)
    undamaged_text = "all blocks equal but for those written since the switch"
    standing_cost = (
        "So that volumes can be mirrored, they are read and written through QEMU's storage daemon "
        "in all windows, also in the one without a migration: that adds to each request."
    )

    def explain_refusal(self, study: "Study", candidate: str) -> str | None:
        """Refuse what is not one emulated drive below QEMU on either side, the other as large."""
        return explain_unlike(
            study, candidate, WHOLE,
            lambda spec: spec.layer is not None and spec.layer.name == LAYER,
        )  # fmt: skip

    def explain_uncompared(self, study: "Study") -> str | None:
        """Nobody can have a server on the source: its file system is in use at the target."""
        return "the source's file system is in use at the target: blocks are compared instead"

    def count_damage(self, of: Move) -> int | None:
        """Compare both drives; a block that was not written since they were equal must be."""
        with suspend_pacing(of.source.drives):
            differing = set(find_differing(of.source.emulated[0], of.target.emulated[0]))
            return len(differing.difference(_list_written(of)))

    def move(self, of: Move) -> None:
        """Mirror to the other drive, and turn to it; a move that fails is cancelled."""
        exported, runner = f"/dev/{of.target.devices[0]}", of.context.session.host.runner
        # Before the next window both are made anew; whoever cleans up meanwhile finds no mount.
        of.context.volumes.moved.add(of.window.candidate)
        filesystems.unmount(of.target.path, devices=(exported,), runner=runner)
        bridge.remove(bridge.find_folder(exported))
        with open_monitor(_find_bridge(of) / bridge.MONITOR) as monitor:
            # QEMU mirrors to a node of just the same size: the target may be larger.
            drive = describe_node(of.target.emulated[0].device, f"{TARGET}-drive")
            size_bytes = of.source.emulated[0].size_bytes
            mirror(of, monitor, {"driver": "raw", "size": size_bytes, "file": drive})


def mirror(of: Move, monitor: Monitor, node: Mapping[str, Any]) -> None:
    """Let QEMU copy what it exports to another node, made of these options, and turn to that."""
    of.begin(MIRROR)
    monitor.ask("blockdev-add", {**node, "node-name": TARGET})
    # `background` might never end: users may write faster than it copies.
    asked = {"job-id": JOB, "device": bridge.NODE, "target": TARGET, "sync": "full",
             "copy-mode": "write-blocking"}  # fmt: skip
    monitor.ask("blockdev-mirror", asked)
    try:
        of.wait_until(lambda: _has_become("BLOCK_JOB_READY", monitor, of))
        since = {"node": TARGET, "name": SINCE, "granularity": BLOCK_BYTES}
        monitor.ask("block-dirty-bitmap-add", since)
        of.begin(SWITCH)
        monitor.ask("job-complete", {"id": JOB})
        clock = of.context.session.clock
        until_s = clock.monotonic_s() + PIVOT_S
        while not _has_become("BLOCK_JOB_COMPLETED", monitor, of):
            if clock.monotonic_s() > until_s:
                raise _make_error(f"it did not turn to the target within {PIVOT_S:g} s")
    except BaseException:
        with suppress(StithyError):
            monitor.ask("block-job-cancel", {"device": JOB, "force": True})
        raise


def _has_become(state: str, monitor: Monitor, of: Move) -> bool:
    """Whether QEMU says this of its job by now; notes when, and how many bytes were copied."""
    for event in monitor.take_events(POLL_S):
        if "error" in event.facts:
            raise _make_error(f"it could not be mirrored: {event.facts['error']}")
        if event.name == state:
            of.moved_bytes, of.ended_s = event.facts["offset"], event.at_s
            return True
    return False


def _make_error(problem: str) -> InfrastructureError:
    return InfrastructureError(
        f"QEMU's storage daemon: {problem}", where="the volume's mirror",
        remedy="read the kernel log (dmesg) for errors of either drive",
    )  # fmt: skip


def _find_bridge(of: Move) -> Path:
    return bridge.find_folder(f"/dev/{of.source.devices[0]}")


def find_differing(source: EmulatedDrive, target: EmulatedDrive) -> Iterator[int]:
    """Find the blocks of the source, by number, that differ from those of the target."""
    opened = [os.open(drive.device, os.O_RDONLY | os.O_DIRECT) for drive in (source, target)]
    try:
        with mmap.mmap(-1, PIECE_BYTES) as a, mmap.mmap(-1, PIECE_BYTES) as b:
            for at in range(0, source.size_bytes, PIECE_BYTES):
                for descriptor, piece in zip(opened, (a, b), strict=True):
                    os.preadv(descriptor, [piece], at)
                # The last piece may be shorter, and the target longer than the source.
                length = min(PIECE_BYTES, source.size_bytes - at)
                if a[:length] != b[:length]:
                    for begin in range(0, length, BLOCK_BYTES):
                        end = begin + BLOCK_BYTES
                        if a[begin:end] != b[begin:end]:
                            yield (at + begin) // BLOCK_BYTES
    finally:
        for descriptor in opened:
            os.close(descriptor)


def _list_written(of: Move) -> Iterator[int]:
    """List the blocks of the target, by number, that were written since both were equal."""
    folder, runner = _find_bridge(of), of.context.session.host.runner
    with open_monitor(folder / bridge.MONITOR) as monitor:
        monitor.ask("block-dirty-bitmap-disable", {"node": TARGET, "name": SINCE})
        export = {"type": "nbd", "id": SINCE, "node-name": TARGET, "name": SINCE}
        monitor.ask("block-export-add", {**export, "bitmaps": [SINCE]})
    asked = (f"--map=qemu:dirty-bitmap:{SINCE}", f"nbd+unix:///{SINCE}?socket={bridge.SOCKET}")
    words = (filesystems.find_program(INFO.name, INFO.package), "--json", *asked)
    finished = runner.run(Command(words, directory=folder), timeout_s=PIVOT_S)
    if finished.code != 0:
        raise _make_error(f"it does not say what was written: {finished.stderr.strip()}")
    for extent in json.loads(finished.stdout):
        if extent["type"] != 0:
            end = extent["offset"] + extent["length"]
            yield from range(extent["offset"] // BLOCK_BYTES, -(-end // BLOCK_BYTES))


PLUGINS = (BlockMirror(),)
