"""What a storage policy means for Ceph: copies or shards, hosts, and the least that still serves.

`min_size` is such that a policy serves through as many failed hosts as its name says; Ceph's own
would stop earlier, to be safe from a further failure while data are written.
"""

from dataclasses import dataclass

OSD_OVERHEAD_BYTES = 640 * 2**20
"""What BlueStore takes of a drive for its own database and log, with the share that must be free.
"""
SPARE = 1.3
"""Placement by hash fills some OSDs more than others."""

CODES: dict[str, tuple[int, int]] = {"2+1": (2, 1), "3+1": (3, 1), "4+2": (4, 2)}
"""Erasure codes by name: shards of data, shards of parity."""


@dataclass(frozen=True)
class Policy:
    """What is kept of each object, and how.

    `data_shards` is 1 for copies; `failures` is how many hosts may fail. `checksum` and
    `compression` are Ceph's names of algorithms, `none` for without. `iops_limit` None: no limit.
    """

    data_shards: int
    failures: int
    checksum: str = "crc32c"
    compression: str = "none"
    thick: bool = False
    iops_limit: int | None = None

    @property
    def coded(self) -> bool:
        """Whether data are erasure-coded."""
        return self.data_shards > 1

    @property
    def hosts(self) -> int:
        """How many hosts it needs, which is the pool's `size`."""
        return self.data_shards + self.failures

    @property
    def min_size(self) -> int:
        """With how many copies or shards it still serves."""
        return self.data_shards

    @property
    def redundancy(self) -> float:
        """Physical bytes for each byte, without compression."""
        return self.hosts / self.data_shards

    def drive_bytes(self, image_bytes: int, osds: int) -> int:
        """How large each drive must be that the whole image has room, bytes; whole MiB."""
        share = image_bytes * self.redundancy * SPARE / osds
        return -(-round(share + OSD_OVERHEAD_BYTES) // 2**20) * 2**20

    def __str__(self) -> str:
        """`FTT 1 (2 copies, min_size 1)`, with what else was asked for."""
        if self.coded:
            kept = f"erasure coding {self.data_shards}+{self.failures}"
            words = [f"{kept} (min_size {self.min_size})"]
        else:
            copies = "1 copy" if self.hosts == 1 else f"{self.hosts} copies"
            words = [f"FTT {self.failures} ({copies}, min_size {self.min_size})"]
        words += [f"checksum {self.checksum}"] if self.checksum != "crc32c" else []
        words += [f"compression {self.compression}"] if self.compression != "none" else []
        words += ["thick"] if self.thick else []
        words += [f"at most {self.iops_limit} IOPS"] if self.iops_limit else []
        return ", ".join(words)
