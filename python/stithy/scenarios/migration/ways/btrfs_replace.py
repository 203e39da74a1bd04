"""btrfs replace: the file system moves from one drive to another while all files are in use."""

from contextlib import suppress
from typing import TYPE_CHECKING

from stithy.registry import plugins
from stithy.scenarios.migration.way import Move, WayKind, explain_unlike
from stithy.storage.layer import LayerKind

if TYPE_CHECKING:
    from stithy.study.model import Study

FILESYSTEM, REPLACE = "btrfs", "replace"
WHOLE = f"a single emulated drive with `filesystem: {FILESYSTEM}`"


class BtrfsReplace(WayKind):
    """Nobody pauses for it: blocks are copied below the running server, and new ones mirrored."""

    name = "btrfs-replace"
    text = "moves the blocks of a btrfs to the other drive, below the running server"
    needs = plugins(LayerKind)[FILESYSTEM].needs
    parts = (REPLACE,)
    # It makes a new chunk for each that it copies, while users write to others.
    room_share = 1.0

    def explain_refusal(self, study: "Study", candidate: str) -> str | None:
        """Refuse what is not one emulated drive with btrfs on either side, the other as large."""
        return explain_unlike(study, candidate, WHOLE, lambda spec: spec.filesystem == FILESYSTEM)

    def explain_uncompared(self, study: "Study") -> str | None:
        """Nobody can read the drive that a file system has left."""
        return "btrfs wipes the drive that it leaves, and nothing of the source is left"

    def count_damage(self, of: Move) -> int | None:
        """Let btrfs read all blocks: it took their checksums along."""
        from stithy.storage.emulation import suspend_pacing
        from stithy.storage.layers.btrfs import count_damage

        with suspend_pacing(of.source.drives):
            return count_damage(of.source.path, of.context.session.host.runner)

    def move(self, of: Move) -> None:
        """Empty the other drive, and let btrfs move to it; a move that fails is cancelled."""
        from stithy.drives import filesystems
        from stithy.storage.layers.btrfs import make_command, read_usage

        runner, place = of.context.session.host.runner, of.source.path
        leaves, comes_to = (f"/dev/{end.devices[0]}" for end in (of.source, of.target))
        record = of.context.session.books.recorder(of.window.candidate)
        # Before the next window both are made anew; whoever cleans up meanwhile meets the other.
        of.context.volumes.moved.add(of.window.candidate)
        record("mount", {"path": str(place), "device": f"{leaves} {comes_to}"})
        filesystems.unmount(of.target.path, devices=(comes_to,), runner=runner)
        of.moved_bytes = read_usage(place, runner).physical_bytes
        of.begin(REPLACE)
        command = make_command("replace", "start", "-B", "-f", leaves, comes_to, str(place))
        try:
            of.run(command, as_server=False)
        except BaseException:
            with suppress(Exception):
                runner.run(make_command("replace", "cancel", str(place)))
            raise


PLUGINS = (BtrfsReplace(),)
