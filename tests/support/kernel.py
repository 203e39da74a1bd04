"""A made-up /proc and /sys, which a test fills with devices and mounts."""

from pathlib import Path

from stithy.hosts.devices import list_devices_under


class Kernel:
    """`proc` and `sys` of a machine; `root` is the directory that stands for `/`."""

    def __init__(self, root: Path) -> None:
        """Without any device or mount."""
        self.root, self.proc, self.sys = root / "fs", root / "proc", root / "sys"
        blocks = (self.sys / "class/block", self.sys / "dev/block")
        for folder in (self.root, self.proc / "self", *blocks):
            folder.mkdir(parents=True)
        self.lines = ""

    def mount(
        self, point: Path | str, number: str, kind: str, source: str, options: str = "rw"
    ) -> Path:
        """Mount what has this number at a directory, which is made where it is missing."""
        path = self.root / point
        path.mkdir(parents=True, exist_ok=True)
        self.lines += f"1 0 {number} / {path} {options} - {kind} {source} rw\n"
        (self.proc / "self/mountinfo").write_text(self.lines)
        return path

    def add_device(self, name: str, number: str, parent: str = "", model: str = "") -> Path:
        """Add a disk, or a partition of one; give its place in `sys`."""
        place = self.sys / "devices" / parent / name
        place.mkdir(parents=True)
        (place / "dev").write_text(f"{number}\n")
        if model:
            (place / "device").mkdir()
            (place / "device/model").write_text(f"{model}\n")
        if parent:
            (place / "partition").write_text("1\n")
        (self.sys / "class/block" / name).symlink_to(place)
        (self.sys / "dev/block" / number).symlink_to(place)
        return place

    def under(self, path: Path) -> tuple[str, ...]:
        """The devices under a directory, from top to bottom."""
        return list_devices_under(path, self.proc, self.sys)
