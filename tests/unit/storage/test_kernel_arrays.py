"""Arrays of the kernel: md, lvm and vdo, with a runner that is played."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from fakes.clock import HurriedClock
from fakes.program import EndingRunner
from stithy.drives import filesystems
from stithy.errors import InfrastructureError
from stithy.hosts.runner import Command, Finished
from stithy.storage.layers import lvm, md, vdo

GIB = 2**30


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with mdadm and LVM."""
    for name in ("mdadm", "lvm", "dmsetup"):
        (tmp_path / name).touch(mode=0o755)
    monkeypatch.setattr(filesystems, "SYSTEM_FOLDERS", ())
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


@pytest.fixture
def blocks(programs: Path) -> Path:
    """Devices of its kernel."""
    return programs / "block"


def test_mirrors_are_not_synchronised_and_parity_is() -> None:
    """The identifier is that by which the devices are known as Stithy's; chunks are in KiB."""
    words = {
        level: md.create_words(md.MdKeys(level=level), ["/dev/a", "/dev/b"], "/dev/md200", "12-34")
        for level in ("raid1", "raid5")
    }
    assert "--assume-clean" in words["raid1"]
    assert "--assume-clean" not in words["raid5"]
    for word in words.values():
        assert word[-2:] == ["/dev/a", "/dev/b"]
        assert {"--uuid=12-34", "--raid-devices=2", "--run"} <= {*word}

    spec = md.MdKeys(level="raid5", chunk="64 KiB")
    assert "--chunk=64K" in md.create_words(spec, ["/dev/a"], "/dev/md200", "12")


class Mdadm(EndingRunner):
    """mdadm that knows these arrays by their numbers, with their identifiers."""

    def __init__(self, arrays: dict[str, str]) -> None:
        super().__init__()
        self.arrays = arrays

    def run(self, command: Command, *, timeout_s: float = 600.0, stdin: str = "") -> Finished:
        """Details are of arrays whose members can be read."""
        super().run(command)
        uuid = self.arrays.get(Path(command.argv[-1]).name)
        return Finished(0, f"MD_LEVEL=raid5\nMD_UUID={uuid}\n" if uuid else "", "")

    @property
    def stopped(self) -> list[str]:
        """The nodes."""
        return [words[-1] for words in self.asked if words[1] == "--stop"]


def _array(blocks: Path, name: str, members: Sequence[str] = (), state: str = "clean") -> Path:
    for member in members:
        (blocks / name / "slaves" / member).mkdir(parents=True)
    (blocks / name / "slaves").mkdir(parents=True, exist_ok=True)
    (blocks / name / "md").mkdir()
    (blocks / name / "md/array_state").write_text(f"{state}\n")
    return blocks / name / "md"


RECORDED = {"device": "/dev/md200", "uuid": "0f1e-2d3c", "members": "loop0 loop1"}
OWN, FOREIGN = "0f1e:2d3c", "aaaa:bbbb"


@pytest.mark.parametrize(
    ("arrays", "known", "stopped"),
    [
        pytest.param({"md200": ["loop0"]}, {"md200": OWN}, ["/dev/md200"], id="as it was made"),
        pytest.param({"md127": ["sda"]}, {"md127": OWN}, ["/dev/md127"], id="after a boot"),
        pytest.param({"md200": ["sda"], "md127": ["sdb"]}, {"md200": FOREIGN, "md127": OWN},
                     ["/dev/md127"], id="its number is another's by now"),
        pytest.param({"md200": ["loop0"]}, {}, ["/dev/md200"], id="members that fail"),
        pytest.param({"md200": ["sda"], "md201": ["loop0"]}, {}, [], id="members of others"),
        pytest.param({"md200": []}, {}, ["/dev/md200"], id="killed before it had members"),
        pytest.param({}, {}, [], id="gone"),
    ],
)  # fmt: skip
def test_an_array_is_stopped_wherever_it_is_and_no_other(
    blocks: Path, arrays: dict[str, list[str]], known: dict[str, str], stopped: list[str]
) -> None:
    """By its identifier under any number; by its members only under its own."""
    for name, members in arrays.items():
        _array(blocks, name, members, "clean" if members else "clear")
    mdadm = Mdadm(known)
    md.stop(RECORDED, mdadm, blocks)
    assert mdadm.stopped == stopped


def test_an_array_that_lost_a_device_while_it_was_synchronised_is_not_measured(
    blocks: Path,
) -> None:
    """It would be slower than its level, or faster."""
    state = _array(blocks, "md200")
    for degraded, action in (("1", "idle"), ("0", "recover")):
        (state / "degraded").write_text(f"{degraded}\n")
        (state / "sync_action").write_text(f"{action}\n")
        said = f"lacks {degraded} of its devices, sync_action is {action}"
        with pytest.raises(InfrastructureError, match=said):
            md.check_whole("/dev/md200", blocks, HurriedClock())
    (state / "sync_action").write_text("idle\n")
    md.check_whole("/dev/md200", blocks, HurriedClock())


def test_mirrors_without_checksums_are_not_synchronised() -> None:
    """The others are: parity and checksums have to be right."""
    words = {
        (level, checksum): lvm.LvmKeys(level=level, checksum=checksum).list_create_words(
            "g", "array", 12, 4
        )
        for level in ("raid10", "raid5")
        for checksum in (False, True)
    }
    assert [key for key, each in words.items() if "--nosync" in each] == [("raid10", False)]
    assert " ".join(words["raid10", True]) == (
        "lvcreate --yes --name array --extents 12 --type raid10 --mirrors 1 --stripes 2 "
        "--stripesize 64k --raidintegrity y g"
    )
    assert {"--stripes", "3"} <= {*words["raid5", False]}
    spec = lvm.LvmKeys(level="raid0", chunk="256 KiB")
    assert "256k" in spec.list_create_words("g", "array", 12, 2)


class Answering(EndingRunner):
    """LVM and dmsetup: each command, by its name, ends as it is told."""

    def __init__(self, **answers: Callable[[str], Finished]) -> None:
        super().__init__()
        self._answers = answers

    def run(self, command: Command, *, timeout_s: float = 600.0, stdin: str = "") -> Finished:
        """By the first word after the program; its last word is what it is about."""
        super().run(command)
        answer = self._answers.get(command.argv[1])
        return answer(command.argv[-1]) if answer else Finished(0, "", "")


def _volumes(blocks: Path, *names: str) -> Path:
    for number, name in enumerate(names):
        (blocks / f"dm-{number}/dm").mkdir(parents=True)
        (blocks / f"dm-{number}/dm/name").write_text(f"{name}\n")
    return blocks


def test_volumes_of_devices_that_fail_are_taken_from_the_kernel(programs: Path) -> None:
    """LVM knows nothing of them any more; those of others are not touched."""
    below, above, other = "stithy_12345678-array_rimage_0", "stithy_12345678-array", "vg-root"
    blocks = _volumes(programs / "block", below, above, other)

    def removed(name: str) -> Finished:
        there = {path.read_text().strip(): path for path in blocks.glob("*/dm/name")}
        if name == below and above in there:
            return Finished(1, "", "Device or resource busy")
        there[name].unlink()
        return Finished(0, "", "")

    runner = Answering(vgs=lambda _: Finished(5, "", "not found"), remove=removed)
    lvm.VolumeGroup(["/dev/gone"], "12345678-9abc", runner).remove(blocks)
    assert [each.read_text().strip() for each in blocks.glob("*/dm/name")] == [other]
    held = Answering(remove=lambda _: Finished(1, "", "busy"))
    with pytest.raises(InfrastructureError, match="in use: stithy_12345678-array: end what uses"):
        lvm.VolumeGroup(["/dev/gone"], "12345678-9abc", held).remove(
            _volumes(programs / "held", above)
        )


def test_volumes_that_lost_a_device_are_not_measured(programs: Path) -> None:
    """It would be slower than its level, or faster."""

    def asked(health: str) -> lvm.VolumeGroup:
        answers = iter(["100.00", health])
        runner = Answering(lvs=lambda _: Finished(0, f"  {next(answers)}\n", ""))
        return lvm.VolumeGroup(["/dev/a"], "12345678-9abc", runner)

    asked("").wait_in_sync()
    with pytest.raises(InfrastructureError, match="not whole: its health is 'partial'"):
        asked("partial").wait_in_sync()


@pytest.mark.parametrize(
    ("size", "slabs", "of"),
    [(3, 2, 128), (4, 10, 128), (5, 18, 128), (6, 26, 128), (8, 42, 128), (600, 298, 2048)],
)
def test_it_holds_whole_slabs(size: int, slabs: int, of: int) -> None:
    """As many as `vdoformat` 8.3 says of a device of that size."""
    found = vdo.VdoKeys(level="single").count_capacity_bytes([size * GIB + 6 * 2**20])
    assert 0.97 * slabs * of * 2**20 < found < slabs * of * 2**20


def test_a_volume_is_as_large_as_what_it_holds_or_as_it_is_promised() -> None:
    """Compression and deduplication are asked for, or not; what is too small says what it takes."""
    spec = vdo.VdoKeys(level="single")
    words = vdo.convert_words(spec, "g", 5 * GIB)
    size = int(words[words.index("--virtualsize") + 1].removesuffix("b"))
    assert 0 <= spec.count_capacity_bytes([5 * GIB + 6 * 2**20]) - size < 4 * 2**20
    assert " ".join(words[words.index("--compression") :]) == (
        "--compression y --deduplication y --vdosettings slab_size_mb=128 g/pool"
    )
    more = vdo.VdoKeys(level="single", overcommit=3, compression="none", deduplication=False)
    promised = vdo.convert_words(more, "g", 5 * GIB)
    assert int(promised[promised.index("--virtualsize") + 1].removesuffix("b")) > 2.9 * size
    assert {"y"} & {*promised} == set()
    assert "promises 3 times" in more.list_cautions()[-1]

    with pytest.raises(InfrastructureError, match="at least 2944 MiB"):
        vdo.convert_words(vdo.VdoKeys(level="single"), "g", GIB)


# dmsetup message g-pool-vpool 0 stats, its beginning: Linux 6.12.95, 32 MiB of random data twice.
STATS = (
    "{ version : 36, dataBlocksUsed : 8215, overheadBlocksUsed : 731305, logicalBlocksUsed : "
    "24741, physicalBlocks : 1024000, logicalBlocks : 262400, blockMapCacheSize : 134217728, "
    "blockSize : 4096, completeRecoveries : 0, readOnlyRecoveries : 0, mode : normal, "
)


def test_the_books_of_vdo_are_read_for_each_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own data count as what drives hold, not as what is stored."""
    monkeypatch.setattr(filesystems, "find_program", lambda name, _package: name)
    runner = EndingRunner(stdout=STATS)
    found = vdo.read_usage_below("/dev/mapper/stithy_1-array", 2.0, runner)
    assert list(runner.asked[0]) == [
        "dmsetup", "message", "/dev/mapper/stithy_1-pool-vpool", "0", "stats",
    ]  # fmt: skip
    assert (found.stored_bytes, found.physical_bytes) == (8215 * 4096, 2 * 739520 * 4096)
    assert (found.redundancy, found.written_bytes) == (2.0, None)
    for answer in (EndingRunner(1, stderr="no such device"), EndingRunner(stdout="{ version : 36")):
        with pytest.raises(InfrastructureError):
            vdo.read_usage_below("/dev/mapper/stithy_1-array", 2.0, answer)
