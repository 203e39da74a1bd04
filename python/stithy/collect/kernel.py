"""Files of /proc, /sys and control groups that are read each second: opened once, read in place."""

import os
from pathlib import Path


class KernelFile:
    """One file, kept open; each `read` gives its present content."""

    def __init__(self, path: Path, size_bytes: int = 16384) -> None:
        """Open `path`; `size_bytes` is more than is ever needed of it. Raises OSError."""
        self.path = path
        self._size_bytes = size_bytes
        self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def read(self) -> bytes:
        """Its first `size_bytes` bytes. Raises OSError."""
        return os.pread(self._descriptor, self._size_bytes, 0)

    def close(self) -> None:
        """Close it."""
        os.close(self._descriptor)
