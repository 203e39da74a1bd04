"""Arrays of md as mdadm is asked for them. Where the kernel has md, tests/real/test_layers.py."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from fakes.clock import HurriedClock
from fakes.program import EndingRunner
from stithy.drives import filesystems
from stithy.errors import InfrastructureError
from stithy.hosts.runner import Command, Finished
from stithy.storage.layers import md

GIB = 2**30


def test_mirrors_are_not_synchronised_and_parity_is() -> None:
    """The identifier is that by which the devices are known as Stithy's."""
    words = {
        level: md.create_words(md.MdKeys(level=level), ["/dev/a", "/dev/b"], "/dev/md200", "12-34")
        for level in ("raid1", "raid5")
    }
    assert "--assume-clean" in words["raid1"]
    assert "--assume-clean" not in words["raid5"]
    for word in words.values():
        assert word[-2:] == ["/dev/a", "/dev/b"]
        assert {"--uuid=12-34", "--raid-devices=2", "--run"} <= {*word}


def test_chunks_are_given_in_kib() -> None:
    """As mdadm takes them."""
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


@pytest.fixture
def blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Devices of a kernel, on a machine with mdadm."""
    (tmp_path / "mdadm").touch(mode=0o755)
    monkeypatch.setattr(filesystems, "SYSTEM_FOLDERS", ())
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path / "block"


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
