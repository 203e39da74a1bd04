"""PostgreSQL's settings: Stithy's own, a study's, and whether the server takes them."""

import tempfile
from collections.abc import Mapping
from pathlib import Path

from stithy.engines.instance import Configuration
from stithy.engines.postgresql.connection import quote_text
from stithy.engines.served import SPARE_CONNECTIONS, require_connections
from stithy.errors import Problems, UserError
from stithy.hosts.runner import Command, Runner
from stithy.units import format_size

MIB = 2**20
BLOCK_BYTES = 8192
SHARED_BUFFERS_BYTES = 128 * MIB
"""PostgreSQL's own default."""

FIXED = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    # Huge pages are not charged to the memory cgroup's limit, so they would escape it.
    "huge_pages": "off",
    "logging_collector": "off",
    "log_destination": "stderr",
    "log_line_prefix": "%m [%p] ",
    "log_timezone": "UTC",
    "log_checkpoints": "on",
    # Every run of autovacuum in a window is reported, however short.
    "log_autovacuum_min_duration": "0",
    "password_encryption": "scram-sha-256",
}

LOADING = {
    # A crash while loading means loading again, so nothing need survive one; the master copy is
    # synced file by file afterwards.
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "archive_mode": "off",
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "autovacuum": "off",
    "checkpoint_timeout": "1d",
}


def complete(given: Configuration, connections_max: int) -> dict[str, str]:
    """All that the configuration file says: Stithy's own first, the study's over them.

    Without a word from the study `shared_buffers` is PostgreSQL's default, but at most a quarter of
    the memory, and there are connections enough for the users of any level.
    """
    buffers = min(SHARED_BUFFERS_BYTES, given.memory_bytes // 4)
    own = {
        "shared_buffers": f"{buffers // 1024}kB",
        "max_connections": str(max(100, connections_max + SPARE_CONNECTIONS)),
        "max_wal_size": "1GB",
    }
    return {**FIXED, **own, **_lower(given.settings)}


def find_differing(settings: Mapping[str, str], shared: Mapping[str, str]) -> dict[str, str]:
    """Those of the settings that have another value among the shared ones, or none."""
    return {name: value for name, value in settings.items() if shared.get(name) != value}


def _lower(settings: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in settings.items()}


def write_configuration(settings: Mapping[str, str]) -> str:
    """The text of `postgresql.conf`."""
    return "".join(f"{name} = {quote_value(value)}\n" for name, value in settings.items())


def quote_value(value: str) -> str:
    """A value as the configuration file wants it."""
    return quote_text(value.replace("\\", "\\\\"))


def list_options(settings: Mapping[str, str]) -> list[str]:
    """Settings as words of the server's command line; they win over the configuration file."""
    return [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]


class Questions:
    """Asks the server program about settings, without a database."""

    def __init__(self, runner: Runner, postgres: Path) -> None:
        self._runner = runner
        self._postgres = postgres

    def check(
        self,
        given: Configuration,
        connections_max: int,
        *,
        where: str = "database",
        shared: Configuration | None = None,
    ) -> None:
        """Raise UserError, with all that is wrong, for settings that the server would refuse.

        `where`: which section of the study gives them. What they have in common with the `shared`
        configuration is not tried again.
        """
        asked = find_differing(_lower(given.settings), _lower(shared.settings) if shared else {})
        problems = Problems()
        found = {name: self._value(name, value) for name, value in asked.items()}
        if refused := {name: text for name, (code, text) in found.items() if code != 0}:
            shown = "; ".join(f"{name}: {text}" for name, text in refused.items())
            problems.found.append(UserError(
                f"PostgreSQL refuses {shown}", where=f"{where}.settings",
                remedy="correct or leave out what it refuses; its manual lists all settings",
            ))  # fmt: skip
        if "shared_buffers" in asked or shared is None or given.memory_bytes != shared.memory_bytes:
            key = "settings.shared_buffers" if "shared_buffers" in asked else "memory"
            problems.attempt(lambda: self._check_memory(given, f"{where}.{key}"))
        if (connections := "max_connections") in asked and connections not in refused:
            key_of_it, most = f"{where}.settings.{connections}", found[connections][1]
            problems.attempt(
                lambda: require_connections(most, int(most), connections_max, key_of_it)
            )
        problems.refuse(where)

    def _check_memory(self, given: Configuration, where: str) -> None:
        value = complete(given, 0)["shared_buffers"]
        code, blocks = self._value("shared_buffers", value)
        if code == 0 and int(blocks) * BLOCK_BYTES > given.memory_bytes * 3 // 4:
            raise UserError(
                f"shared_buffers of {value} leave too little of the memory of "
                f"{format_size(given.memory_bytes)}",
                where=where,
                remedy="at most three quarters of `memory`: lower it, or raise `memory`",
            )

    def _value(self, name: str, value: str) -> tuple[int, str]:
        """Exit code, and the value in the server's unit or its message.

        `-C` must come first: only then may root ask too.
        """
        with tempfile.TemporaryDirectory(prefix="stithy-ask-") as empty:
            (Path(empty) / "postgresql.conf").touch()
            asked = [str(self._postgres), "-C", name, "-D", empty, *list_options({name: value})]
            finished = self._runner.run(Command(asked), timeout_s=30)
        if finished.code == 0:
            return 0, finished.stdout.strip()
        return finished.code, parse_message(finished.stderr)


def parse_message(stderr: str) -> str:
    """The server's own words out of its log lines: the fatal one and its hint.

    >>> parse_message('2026-01-01 00:00:00 GMT [7] FATAL:  no such thing\\n')
    'no such thing'
    """
    parts = []
    for line in stderr.splitlines():
        for tag in ("FATAL:  ", "HINT:  "):
            if tag in line:
                parts.append(line.partition(tag)[2].rstrip("."))
    return ", ".join(parts) or " | ".join(stderr.strip().splitlines()) or "no message"
