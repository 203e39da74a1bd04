"""A real PostgreSQL, backed up while it runs and restored beside itself."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from signal import SIGKILL, SIGXFSZ
from time import perf_counter

import pytest

from stithy.activities.backup.cycles import measure_size
from stithy.engines.backup import FULL, BackupJob, BackupOptions, Source
from stithy.engines.engine import get_engine
from stithy.engines.instance import Start
from stithy.engines.postgresql.connection import connect
from stithy.engines.postgresql.engine import PostgreSQL
from stithy.engines.postgresql.server import Server, remove_segment
from stithy.engines.postgresql.url import parse_url
from stithy.errors import PreconditionError, UserError
from stithy.hosts.runner import Command, LocalRunner, find_server_user
from stithy.storage.volume import remove_tree
from support.servers import PASSWORD, engine, make_folder, request, server_place, start

pytestmark = pytest.mark.needs_postgresql

USER = find_server_user()
NEEDS_PGBACKREST = pytest.mark.needs_pgbackrest


@pytest.fixture
def loaded() -> Iterator[tuple[Path, PostgreSQL]]:
    """A database with a table, whose server rests."""
    with server_place() as place:
        made = engine()
        made.initialise(place / "data", place)
        loading = made.start(start(place, loading=True))
        run(
            loading, "CREATE TABLE kept AS SELECT n, n * 2 AS twice FROM generate_series(1, 1000) n"
        )
        loading.stop()
        yield place, made


@contextmanager
def served(kept: "Kept") -> Iterator[Server]:
    """A server as in a window."""
    server = kept.start()
    memory = server.shared_memory()
    try:
        yield server
    finally:
        server.stop(at_once=True)
        remove_segment(memory)


def run(server: Server, statement: str) -> None:
    """A statement of a person."""
    with connect(parse_url(server.url)) as session:
        session.run(statement)


def done(command: Command) -> None:
    """Run a command as the server's user."""
    finished = LocalRunner().run(replace(command, user=USER.name if USER else None))
    assert finished.code == 0, finished.stderr


@dataclass
class Kept:
    """Where the files of a backup lie, and how it is made."""

    place: Path
    made: PostgreSQL
    name: str
    options: BackupOptions

    def __post_init__(self) -> None:
        """Directories of the server's user."""
        self.method = get_engine("postgresql").get_backup(self.name)
        self.programs = self.made.check().programs
        self.folder, self.sockets = make_folder(self.place, "backup"), make_folder(self.place, "s")
        self.data = make_folder(make_folder(self.place, "restored"), "data")

    def job(self, options: BackupOptions | None = None) -> BackupJob:
        """As a run has it made."""
        return BackupJob(self.programs, options or self.options, self.folder)

    def start(self) -> Server:
        """The server that is backed up, as its method needs it."""
        more: Mapping[str, str] = {}
        method, data = self.method, self.place / "data"
        if method.keeps_repository:
            for command in method.prepare(self.job(), data):
                done(command)
            more = method.set_up_server(self.job(), data)
        return self.made.start(replace(start(self.place), more=more))

    def take(self, server: Server, kind: str | None = None) -> None:
        """Back it up."""
        source = Source(server.url, self.place / "data")
        options = replace(self.options, kind=kind or self.options.kind)
        command = self.method.back_up(self.job(options), source)
        assert PASSWORD not in " ".join(command.argv)
        done(command)

    @contextmanager
    def restored(self) -> Iterator[Server]:
        """A second server on it."""
        method = self.method
        if method.loads_rows:
            self.made.initialise(self.data, self.place)
        else:
            for command in method.restore(self.job(), self.data):
                done(command)
        asked = Start(
            self.data, self.sockets, self.place / "second.log", more=method.restored_settings
        )
        second = self.made.start(asked)
        memory = second.shared_memory()
        try:
            fresh = Source(second.url, self.data)
            for command in method.load(self.job(), fresh):
                done(command)
            yield second
        finally:
            second.stop()
            remove_segment(memory)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("basebackup", BackupOptions(compression="gzip")),
        ("basebackup", BackupOptions(2, "zstd", 2**30)),
        ("dump", BackupOptions(2, "gzip")),
        pytest.param(
            "pgbackrest", BackupOptions(2, "zstd"), marks=[NEEDS_PGBACKREST, pytest.mark.long]
        ),
        pytest.param(
            "pgbackrest", BackupOptions(1, "lz4", kind="incremental"), marks=NEEDS_PGBACKREST
        ),
        pytest.param(
            "pgbackrest",
            BackupOptions(2, "gzip", kind="differential"),
            marks=[NEEDS_PGBACKREST, pytest.mark.long],
        ),
    ],
    ids=str,
)
def test_a_restore_has_all_rows(
    loaded: tuple[Path, PostgreSQL], name: str, options: BackupOptions
) -> None:
    """Rows are compared by their sums; a change after the backup is no part of it.

    The plain options are those with which killed backups are made again below. Long: one width
    more; of backups upon a full one the other kind.
    """
    kept = Kept(*loaded, name, options)
    with served(kept) as server:
        if options.kind != FULL:
            kept.take(server, FULL)
            run(server, "INSERT INTO kept VALUES (0, 0)")
        before = server.checksums()
        kept.take(server)
        run(server, "UPDATE kept SET twice = 0 WHERE n = 1")
        with kept.restored() as second:
            assert second.checksums() == before
            assert server.checksums() != before
            run(second, "DROP TABLE kept")
            assert set(server.checksums()) == set(before)


@pytest.mark.parametrize(("name", "slowly", "under"), [
    ("basebackup", BackupOptions(bytes_per_s=4 * 2**20), ()),
    ("dump", BackupOptions(), ("prlimit", "--core=0", f"--fsize={2**20}", "--")),
    pytest.param("pgbackrest", BackupOptions(), (), marks=NEEDS_PGBACKREST),
])  # fmt: skip
def test_a_killed_backup_hinders_no_other(
    loaded: tuple[Path, PostgreSQL], name: str, slowly: BackupOptions, under: tuple[str, ...]
) -> None:
    """It is whole, not what was left continued; the server has not noticed.

    Killed in the middle, however late that is seen: one is slow, of one the kernel lets no file
    grow beyond it, and one waits for its log.
    """
    kept = Kept(*loaded, name, BackupOptions())
    with served(kept) as server:
        run(server, "INSERT INTO kept SELECT n, n FROM generate_series(1, 300000) n")
        source = Source(server.url, kept.place / "data")
        command = kept.method.back_up(kept.job(slowly), source)
        command = replace(command, argv=[*under, *command.argv], detached=True)
        before_bytes = measure_size(kept.folder)
        running = LocalRunner().start(replace(command, user=USER.name if USER else None))
        while running.poll() is None and measure_size(kept.folder) < before_bytes + 2**20:
            pass
        running.send_signal(SIGKILL)
        assert -running.wait(60) in (SIGKILL, SIGXFSZ)
        if not kept.method.keeps_repository:
            remove_tree(kept.folder)
            make_folder(kept.place, "backup")
        kept.take(server)
        with kept.restored() as second:
            assert second.checksums() == server.checksums()


@pytest.mark.needs_pgbackrest
def test_temporary_files_are_restored_beside_the_data(loaded: tuple[Path, PostgreSQL]) -> None:
    """The source's place stays as it is."""
    kept = Kept(*loaded, "pgbackrest", BackupOptions())
    temp = make_folder(kept.place, "temp")
    with served(kept) as server:
        server.use_for_temp(temp)
        kept.take(server)
        before = sorted(temp.rglob("*"))
        with kept.restored() as second:
            assert second.checksums() == server.checksums()
            [link] = (kept.data / "pg_tblspc").iterdir()
            assert link.resolve().is_relative_to(kept.data.parent)
            assert sorted(temp.rglob("*")) == before


@pytest.mark.needs_pgbackrest
def test_a_repository_says_how_large_its_last_backup_is(loaded: tuple[Path, PostgreSQL]) -> None:
    """An incremental one has less than the full one before it."""
    kept = Kept(*loaded, "pgbackrest", BackupOptions(kind="incremental"))
    with served(kept) as server:
        sizes = []
        for kind in (FULL, "incremental"):
            kept.take(server, kind)
            sizes.append(measure_size(kept.method.locate_last(kept.folder)))
    assert 0 < sizes[1] < sizes[0] / 2


def test_a_backup_reads_no_faster_than_it_is_told(loaded: tuple[Path, PostgreSQL]) -> None:
    """The server's own clock shows it: its files, at that bandwidth, take so long at least."""
    limit = 16 * 2**20
    kept = Kept(*loaded, "basebackup", BackupOptions(bytes_per_s=limit))
    with served(kept) as server:
        began_s = perf_counter()
        kept.take(server)
        took_s = perf_counter() - began_s
    assert took_s >= 0.8 * (kept.folder / "base.tar").stat().st_size / limit


@pytest.mark.parametrize(("name", "program", "package"), [
    ("basebackup", "pg_basebackup", "postgresql-client"),
    ("dump", "pg_restore", "postgresql-client"),
    ("pgbackrest", "pgbackrest", "pgbackrest"),
])  # fmt: skip
def test_a_missing_program_names_its_package(name: str, program: str, package: str) -> None:
    """With all programs there is nothing to say."""
    method = get_engine("postgresql").get_backup(name)
    found = dict.fromkeys(method.list_programs(BackupOptions()), "/bin/true")
    method.check_programs(BackupOptions(), found)
    with pytest.raises(PreconditionError, match=program) as missing:
        method.check_programs(BackupOptions(), {**found, program: None})
    assert f"apt-get install {package}" in missing.value.remedy


@pytest.mark.parametrize(("name", "options", "said"), [
    ("basebackup", BackupOptions(processes=4), "zstd"),
    ("basebackup", BackupOptions(bytes_per_s=1024), "32 KiB to 1 GiB"),
    ("basebackup", BackupOptions(kind="incremental"), "full backups"),
    ("dump", BackupOptions(kind="differential"), "full backups"),
    ("dump", BackupOptions(bytes_per_s=2**20), "no `bandwidth`"),
    ("dump", BackupOptions(processes=17), "at most 16"),
    ("pgbackrest", BackupOptions(bytes_per_s=2**20), "no `bandwidth`"),
], ids=str)  # fmt: skip
def test_impossible_options_are_refused(name: str, options: BackupOptions, said: str) -> None:
    """Before anything is asked of the machine."""
    with pytest.raises(UserError, match=said):
        get_engine("postgresql").get_backup(name).check_options(options)


def test_a_missing_compression_is_refused() -> None:
    """The program itself says what it takes: others than `gzip` from version 16 on."""
    installed = engine().check()
    dump, programs = get_engine("postgresql").get_backup("dump"), installed.programs
    for compression in ("none", "gzip"):
        dump.check_installed(BackupOptions(compression=compression), programs, LocalRunner().run)
    is_new = int(installed.version.split(".")[0]) >= 16
    refused = pytest.raises(PreconditionError, match="no compression lz4")
    with nullcontext() if is_new else refused:
        dump.check_installed(BackupOptions(compression="lz4"), programs, LocalRunner().run)


@NEEDS_PGBACKREST
def test_the_engine_names_versions_of_backups() -> None:
    """Each by the program itself; without backups there are none."""
    every = ("basebackup", "dump", "pgbackrest")
    asked = replace(request(), backups=[(name, BackupOptions()) for name in every])
    found = PostgreSQL(asked).check()
    tools = {name: tool.split(" ") for name, tool in found.backups.items()}
    assert {name: tool[0] for name, tool in tools.items()} == dict(
        zip(every, ("pg_basebackup", "pg_dump", "pgbackrest"), strict=True)
    )
    assert tools["dump"][1] == tools["basebackup"][1] == found.version.split(" ")[0]
    assert re.fullmatch(r"\d+(\.\d+)+", tools["pgbackrest"][1])
    assert engine().check().backups == {}


def test_the_engine_refuses_before_anything_is_made() -> None:
    """Its check knows the methods of the study."""
    asked = replace(request(), backups=[("basebackup", BackupOptions(processes=4))])
    with pytest.raises(UserError, match="zstd"):
        PostgreSQL(asked).check()
