"""An array of the kernel's own RAID: md, made by mdadm, with a file system on it.

Levels and options as in mdadm(8). Mirrors begin as if they were in sync: what was never written
may differ between copies, and nobody reads it. Levels with parity are synchronised before they are
used, because wrong parity makes wrong data once a drive fails.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from stithy.clock import Clock, SystemClock
from stithy.drives import filesystems
from stithy.errors import InfrastructureError
from stithy.hosts.runner import Finished, LocalRunner, Runner
from stithy.needs import Package, ProgramNeed, Readable
from stithy.storage.layer import (
    COPIES,
    PARITY,
    BuildTask,
    Chunk,
    LayerKind,
    Level,
    RaidKeys,
    make_chunk_field,
)
from stithy.units import parse_size

AS_MDADM: dict[Level, str] = {
    "single": "linear", "raid0": "0", "raid1": "1", "raid1c3": "1", "raid10": "10", "raid5": "5",
    "raid6": "6",
}  # fmt: skip
METADATA_BYTES = 130 * 2**20
"""What mdadm may keep of each device before its data. Source: mdadm, super1.c, at most 128 MiB."""
NUMBERS = range(200, 500)
SYNC_TIMEOUT_S = 24 * 3600
TIMEOUT_S = 120
BLOCKS = Path("/sys/block")
WHOLE = ("0", "idle")
"""`degraded` and `sync_action` of an array that has all its devices in sync."""

SETTLED_S = 10.0
BEGUN = ("clear", "inactive")
"""`array_state` of an array without devices. Source: Documentation/admin-guide/md.rst of Linux."""

PACKAGE = Package("mdadm", "mdadm")


class MdKeys(RaidKeys):
    """An array of md, with a file system on it."""

    chunk: Chunk = make_chunk_field("that of mdadm, 512 KiB")

    def count_capacity_bytes(self, sizes_bytes: Sequence[int]) -> int:
        """Count what copies and parity leave of the smallest; `single` adds all up."""
        usable = [max(0, size_bytes - METADATA_BYTES) for size_bytes in sizes_bytes]
        if self.level == "single":
            return sum(usable)
        return int(len(usable) * min(usable) / self.count_redundancy(len(usable)))

    def build(self, devices: Sequence[str], task: BuildTask) -> str:
        node = _find_free_node()
        members = " ".join(Path(device).resolve().name for device in devices)
        task.record("md", {"device": node, "uuid": task.identifier, "members": members})
        words = create_words(self, devices, node, task.identifier)
        _require_done(_run_mdadm(words, task.runner), node, "made")
        if self.level in PARITY:
            # It ends with 1 where nothing was to be waited for.
            _run_mdadm(["--wait", node], task.runner, timeout_s=SYNC_TIMEOUT_S)
        if self.level in (*COPIES, *PARITY):
            check_whole(node)
        return node


def create_words(spec: MdKeys, devices: Sequence[str], node: str, identifier: str) -> list[str]:
    """The words of `mdadm` that make the array."""
    words = [
        "--create", node, "--run", "--metadata=1.2", f"--uuid={identifier}", "--homehost=any",
        f"--level={AS_MDADM[spec.level]}", f"--raid-devices={len(devices)}",
    ]  # fmt: skip
    if spec.level == "single" and len(devices) == 1:
        words.append("--force")
    if spec.level in COPIES:
        words += ["--assume-clean", "--bitmap=internal"]
    if spec.chunk is not None:
        words.append(f"--chunk={parse_size(spec.chunk) // 1024}K")
    return [*words, *devices]


def _find_free_node() -> str:
    number = next((each for each in NUMBERS if not (BLOCKS / f"md{each}").exists()), None)
    if number is None:
        raise InfrastructureError(
            "there is no free number for one more array of md",
            where="/dev/md*",
            remedy="stop arrays that nobody needs: mdadm --stop",
        )
    return f"/dev/md{number}"


def _run_mdadm(words: Sequence[str], runner: Runner, timeout_s: float = TIMEOUT_S) -> Finished:
    return filesystems.run_tool(runner, PACKAGE, "mdadm", *words, timeout_s=timeout_s)


def _require_done(finished: Finished, node: str, what: str) -> None:
    if finished.code != 0:
        said = [line for line in finished.stderr.splitlines() if line.strip()] or [
            "no reason given"
        ]
        raise InfrastructureError(
            f"the array could not be {what}: {said[-1].strip()}",
            where=node,
            remedy="check the kernel log (dmesg), and that nothing else uses its devices",
        )


def check_whole(node: str, blocks: Path = BLOCKS, clock: Clock | None = None) -> None:
    """Raise InfrastructureError where an array with redundancy lacks a device, or still syncs.

    The kernel counts a device that was synchronised a moment after it ends the work.
    """
    time, state = clock or SystemClock(), blocks / Path(node).name / "md"
    until_s = time.monotonic_s() + SETTLED_S
    while True:
        degraded, action = (
            (state / name).read_text().strip() for name in ("degraded", "sync_action")
        )
        if (degraded, action) == WHOLE:
            return
        if time.monotonic_s() > until_s:
            raise InfrastructureError(
                f"the array is not whole: it lacks {degraded} of its devices, sync_action is "
                f"{action}",
                where=node,
                remedy="check the kernel log (dmesg) for a device that failed, and replace it",
            )
        time.sleep_s(0.1)


def stop(facts: Mapping[str, str], runner: Runner, blocks: Path = BLOCKS) -> None:
    """Stop the array, under whatever number it is; others are not touched.

    Whoever boots a machine may assemble it anew, as /dev/md127 and the like.
    """
    for block in sorted(blocks.glob("md*")):
        if _is_own(block, facts, runner):
            node = f"/dev/{block.name}"
            _require_done(_run_mdadm(["--stop", node], runner), node, "stopped")


def _is_own(block: Path, facts: Mapping[str, str], runner: Runner) -> bool:
    """By its identifier, which lies on its members; they may all have failed.

    The recorded number also by the names of its members, or as one that has none yet.
    """
    said = _run_mdadm(["--detail", "--export", f"/dev/{block.name}"], runner).stdout
    if _read_digits(facts["uuid"]) in map(_read_digits, said.splitlines()):
        return True
    if block.name != Path(facts["device"]).name:
        return False
    try:
        held = {path.name for path in (block / "slaves").iterdir()}
        state = (block / "md/array_state").read_text().strip()
    except OSError:  # it has gone meanwhile
        return False
    return held <= set(facts.get("members", "").split()) if held else state in BEGUN


def _read_digits(text: str) -> str:
    """A UUID without its separators: mdadm sets colons elsewhere than blkid its hyphens."""
    return "".join(each for each in text.removeprefix("MD_UUID=") if each.isalnum()).lower()


PLUGINS = (
    LayerKind(
        name="md",
        keys=MdKeys,
        needs=(
            ProgramNeed(name="mdadm", package=PACKAGE, asked=("--version",), why="arrays of md"),
            Readable(
                path="/proc/mdstat",
                why="arrays of md",
                remedy="load the module (modprobe md_mod), or use a kernel with md, or the engine "
                "btrfs",
            ),
        ),
        handlers={"md": lambda facts: stop(facts, LocalRunner())},
    ),
)
