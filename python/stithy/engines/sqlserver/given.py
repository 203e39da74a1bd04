"""What a study says of a SQL Server database by URL: its URL, its settings, and their statements.

The hammer reads a URL as this does. What it cannot follow is refused before anything is connected.
No message holds a part of a URL that could be one of its password.
Sources of settings: Microsoft's documentation of CREATE DATABASE, ALTER DATABASE SET options, ALTER
INDEX, BACKUP and sp_configure.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import NamedTuple

from stithy.engines import urls
from stithy.errors import TextError
from stithy.names import suggest_instead
from stithy.secrets import Secret, read_given_secret
from stithy.units import parse_size

PORT = 1433
CONNECT_S = 10
SYSTEM_DATABASES = ("master", "model", "msdb", "tempdb")
URL_CHOICES = {"encrypt": ("true", "false"), "trustServerCertificate": ("false", "true")}
"""By option what it may be; the first is the default."""

URL_OPTIONS = (*URL_CHOICES, "ca", "connect_timeout", "password", "passfile")
_EXAMPLE = (
    "write it as sqlserver://me@host:1433/database, and percent-encode all but letters and digits: "
    "me:p@ss/w@host is me:p%40ss%2Fw@host"
)
_GRAMMAR = urls.Grammar(
    "SQL Server", ("sqlserver",), PORT, URL_OPTIONS, ("user", "host", "database"), _EXAMPLE
)


@dataclass(frozen=True)
class SQLServerAddress:
    """What a URL names; `ca` empty for this machine's certificates.

    `encrypts` False: only the login is encrypted.
    """

    host: str
    port: int
    database: str
    user: str
    password: Secret | None
    encrypts: bool
    trusts_any: bool
    ca: str
    connect_s: int

    @property
    def place(self) -> str:
        """For messages: where it is, without the password."""
        return f"{self.host}:{self.port}, database {self.database}"

    @property
    def url(self) -> Secret:
        """The URL for the hammer: nothing in it has to be found."""
        options = {
            "encrypt": str(self.encrypts).lower(),
            "trustServerCertificate": str(self.trusts_any).lower(),
            "ca": self.ca,
            "connect_timeout": str(self.connect_s),
        }
        server = f"{urls.write_host(self.host)}:{self.port}"
        return urls.write_url("sqlserver", self.user, self.password, server, self.database, options)


def parse_url(url: Secret, password: Secret | None = None) -> SQLServerAddress:
    """Give what the URL names; `password` is one that is given beside it.

    Raises UserError for what is no such URL, and for what the hammer cannot follow; a file with the
    password is read.
    """
    parts = _GRAMMAR.read(url)
    if parts.database.lower() in SYSTEM_DATABASES:
        remedy = "name one of its own; Stithy makes it where it is missing"
        raise _GRAMMAR.refuse(f"{parts.database} is the server's own database", remedy)
    options = {name: value for name, value in parts.options.items() if value}
    _refuse_options(options)
    given = [Secret(of) for of in (parts.word, options.get("password", "")) if of]
    kept = read_given_secret(None, options.get("passfile"))
    return SQLServerAddress(
        host=parts.host, port=parts.port, database=parts.database, user=parts.user,
        password=urls.choose_password(*given, kept, password),
        encrypts=options.get("encrypt") != "false",
        trusts_any=options.get("trustServerCertificate") == "true", ca=options.get("ca", ""),
        connect_s=parts.get_patience_s(_GRAMMAR, CONNECT_S),
    )  # fmt: skip


def _refuse_options(options: Mapping[str, str]) -> None:
    """Raise UserError for a value that an option cannot have, and for a contradiction."""
    for name, value in options.items():
        if name in URL_CHOICES and value not in URL_CHOICES[name]:
            raise _GRAMMAR.refuse(f"the URL's {name} is none of {', '.join(URL_CHOICES[name])}")
        if name in ("ca", "passfile") and not Path(value).is_absolute():
            raise _GRAMMAR.refuse(f"the URL's {name} is no absolute path", "name it from the root")
    if "ca" in options and options.get("trustServerCertificate") == "true":
        problem = "the URL has a ca, and trusts any certificate"
        raise _GRAMMAR.refuse(problem, "take one of them out")
    if "ca" in options:
        urls.require_certificates(options["ca"])


COLLATION = "Latin1_General_100_BIN2"
"""Texts are compared by their bytes, of which each character is one, as on the other engines."""

MIB = 2**20
ON_OFF = "on|off"
SIZE, PATHS = "a size such as 20 GiB", "absolute paths of the server, with commas between them"


class Knob(NamedTuple):
    """A setting: which values it may have as a pattern or as words, and which it has by itself.

    `option`: as ALTER DATABASE calls it, empty for what is no option of the database. `since`: the
    first version of the server that has it.
    """

    values: str
    default: str = ""
    option: str = ""
    since: int = 13


CHOICES: Mapping[str, Knob] = {
    "data_files": Knob(PATHS),
    "log_file": Knob(PATHS),
    "data_size": Knob(SIZE),
    "log_size": Knob(SIZE),
    "file_growth": Knob(SIZE),
    "recovery": Knob("simple|bulk_logged|full", "simple", "RECOVERY"),
    "delayed_durability": Knob("disabled|allowed|forced", "disabled", "DELAYED_DURABILITY ="),
    "read_committed_snapshot": Knob(ON_OFF, "off", "READ_COMMITTED_SNAPSHOT"),
    "allow_snapshot_isolation": Knob(ON_OFF, "off", "ALLOW_SNAPSHOT_ISOLATION"),
    "page_verify": Knob("checksum|torn_page_detection|none", "checksum", "PAGE_VERIFY"),
    "target_recovery_time": Knob("0|[1-9][0-9]{0,4}", "60", "TARGET_RECOVERY_TIME ="),
    "auto_create_statistics": Knob(ON_OFF, "off", "AUTO_CREATE_STATISTICS"),
    "auto_update_statistics": Knob(ON_OFF, "off", "AUTO_UPDATE_STATISTICS"),
    "query_store": Knob(ON_OFF, "off", "QUERY_STORE ="),
    "accelerated_database_recovery": Knob(ON_OFF, "", "ACCELERATED_DATABASE_RECOVERY =", 15),
    "max_server_memory": Knob(SIZE),
    "max_degree_of_parallelism": Knob("[0-9]|[1-9][0-9]{1,3}"),
    "data_compression": Knob("none|row|page"),
    "native_restore": Knob("snapshot|backup", "snapshot"),
    "backup_folders": Knob(PATHS),
    "backup_compression": Knob(ON_OFF, "off"),
    "backup_buffer_count": Knob("[1-9][0-9]{0,3}"),
    "backup_transfer_size": Knob(SIZE),
    "check_database": Knob("off|physical|full", "off"),
}
SERVER_MEMORY, PARALLELISM = "max server memory (MB)", "max degree of parallelism"
"""What is set of the whole server, as sp_configure calls it."""

TRANSFER_LEAST, TRANSFER_MOST = 64 * 2**10, 4 * MIB
STRIPES_MOST = 64


def explain_setting(name: str, value: str) -> tuple[str, str] | None:
    """Say why a study may not give a setting this value, and what to do; None if it may."""
    base, dot, table = name.lower().partition(".")
    choice = CHOICES.get(base)
    if choice is None or (dot and (base != "data_compression" or not table)):
        remedy = suggest_instead(name, list(CHOICES))
        return "not a setting of a SQL Server database by URL", remedy
    if choice.values == SIZE:
        return _explain_size(base, value)
    if choice.values == PATHS:
        return _explain_paths(base, value)
    if re.fullmatch(choice.values, value.strip().lower()):
        return None
    words = choice.values.replace("|", ", ") if "[" not in choice.values else "a whole number"
    return f"{name} cannot be {value}", f"give {words}"


def _explain_size(name: str, value: str) -> tuple[str, str] | None:
    try:
        size = parse_size(value)
    except TextError as error:
        return f"{name} is no size: {error}", f"give {SIZE}"
    if name == "backup_transfer_size":
        fits = TRANSFER_LEAST <= size <= TRANSFER_MOST and size % TRANSFER_LEAST == 0
        return None if fits else (f"{name} cannot be {value}", "give 64 KiB to 4 MiB, by 64 KiB")
    return None if size >= MIB else (f"{name} of {value} is too little", "give at least 1 MiB")


def _explain_paths(name: str, value: str) -> tuple[str, str] | None:
    paths = list_paths(value)
    if not paths or not all(re.match(r"/|[A-Za-z]:[\\/]|\\\\", path) for path in paths):
        return f"{name} is no absolute path of the server", f"give {PATHS}"
    if len(set(paths)) < len(paths):
        return f"{name} names a file twice", "name each once"
    most = {"log_file": 1, "backup_folders": STRIPES_MOST}.get(name, 2**15)
    return None if len(paths) <= most else (f"{name} has more than {most}", "give fewer")


def list_paths(value: str) -> list[str]:
    """Split paths."""
    return [path.strip() for path in value.split(",") if path.strip()]


def quote_name(name: str) -> str:
    """Write a name as SQL has it."""
    return "[" + name.replace("]", "]]") + "]"


def quote_text(text: str) -> str:
    """Write a text as SQL has it."""
    return "N'" + text.replace("'", "''") + "'"


@dataclass(frozen=True)
class Wish:
    """The settings of one database, completed by the defaults, by names in lower case."""

    given: Mapping[str, str]

    def get(self, name: str) -> str:
        """Give the value, or the default; empty for what is left to the server."""
        value = self.given.get(name, CHOICES[name].default).strip()
        return value if CHOICES[name].values == PATHS else value.lower()

    def get_bytes(self, name: str) -> int | None:
        """Give the value of a size."""
        return parse_size(value) if (value := self.get(name)) else None

    @property
    def places_files(self) -> bool:
        """Whether it says where files lie, which is said once, when the database is made."""
        return bool(self.get("data_files") or self.get("log_file"))

    @property
    def keeps_backups(self) -> bool:
        """Whether its own restore is by backups, and not by snapshots."""
        return self.get("native_restore") == "backup"

    @property
    def has_sizes(self) -> bool:
        """Whether it says how large files are, or grow."""
        return any(self.get(name) for name in ("data_size", "log_size", "file_growth"))

    def make_database(self, name: str) -> str:
        """Give the statement that makes it, with its files where they are placed."""
        files = ""
        if data := list_paths(self.get("data_files")):
            parts = [_name_file(f"d{n}", path) for n, path in enumerate(data, 1)]
            files += f" ON PRIMARY {', '.join(parts)}"
        if log := self.get("log_file"):
            files += f" LOG ON {_name_file('l1', log)}"
        return f"CREATE DATABASE {quote_name(name)}{files} COLLATE {COLLATION}"

    def list_options(self, name: str, version: int) -> Iterator[tuple[str, str]]:
        """List each option with the statement that sets it, as far as the version has it."""
        for key, choice in CHOICES.items():
            value = self.get(key).upper()
            if not choice.option or not value or (version < choice.since and key not in self.given):
                continue
            unit = " SECONDS" if key == "target_recovery_time" else ""
            alone = " WITH ROLLBACK IMMEDIATE" if key == "read_committed_snapshot" else ""
            yield key, f"ALTER DATABASE {quote_name(name)} SET {choice.option} {value}{unit}{alone}"

    def fit_file(
        self, name: str, file: str, size_bytes: int, *, is_log: bool, files: int
    ) -> str | None:
        """Give the statement that lets one of so many files have its share; None for none.

        `size_bytes`: what it has now. A file is never made smaller.
        """
        wanted = self.get_bytes("log_size" if is_log else "data_size")
        share, parts = (wanted or 0) // files, []
        if share > size_bytes:
            parts.append(f"SIZE = {share // 1024} KB")
        if growth := self.get_bytes("file_growth"):
            parts.append(f"FILEGROWTH = {growth // 1024} KB")
        changes = ", ".join([f"NAME = {quote_name(file)}", *parts])
        return f"ALTER DATABASE {quote_name(name)} MODIFY FILE ({changes})" if parts else None

    def list_server_values(self) -> dict[str, int]:
        """List what the whole server is set to, by the names of sp_configure."""
        values: dict[str, int] = {}
        if memory := self.get_bytes("max_server_memory"):
            values[SERVER_MEMORY] = memory // MIB
        if degree := self.get("max_degree_of_parallelism"):
            values[PARALLELISM] = int(degree)
        return values

    def get_compression(self, table: str) -> str:
        """Give how a table is compressed; empty where nothing is asked."""
        asked = self.given.get(f"data_compression.{table.lower()}", self.get("data_compression"))
        return asked.strip().upper()

    def list_backup_words(self, *, writes: bool) -> list[str]:
        """List the options of BACKUP or RESTORE that are the same for both, or of BACKUP."""
        words = ["CHECKSUM", "STATS = 5"]
        if count := self.get("backup_buffer_count"):
            words.append(f"BUFFERCOUNT = {count}")
        if size := self.get_bytes("backup_transfer_size"):
            words.append(f"MAXTRANSFERSIZE = {size}")
        if writes:
            packed = "COMPRESSION" if self.get("backup_compression") == "on" else "NO_COMPRESSION"
            words += ["COPY_ONLY", "FORMAT", "INIT", packed]
        return words

    def list_devices(self, name: str, files: int = 1) -> list[str]:
        """List so many files of a backup, at least one in each folder that is given for them.

        A name alone lies in the server's folder of backups.
        """
        begins = []
        for folder in list_paths(self.get("backup_folders")) or [""]:
            separator = "/" if folder.startswith("/") else "\\"  # Windows writes it otherwise
            ended = folder if folder[-1:] in ("", "/", "\\") else f"{folder}{separator}"
            begins.append(f"{ended}{name}")
        if begins == [name] and files == 1:
            return [f"{name}.bak"]
        numbers = range(1, max(files, len(begins)) + 1)
        return [f"{begin}-{n}.bak" for n, begin in zip(numbers, cycle(begins), strict=False)]

    def list_cautions(self, *, keeps_inside: bool) -> Iterator[str]:
        """List what is set, and what that means, as sentences for a plan."""
        defaults = {name: knob.default for name, knob in CHOICES.items() if knob.option}
        own = {**defaults, **self.given}
        shown = ", ".join(f"{name} {value}" for name, value in own.items() if value)
        yield f"Stithy sets of the database: {shown}"
        if self.get("recovery") == "full":
            yield "with recovery full nothing empties the log after the first full backup"
        if keeps_inside and self.keeps_backups:
            yield RESTORE_COST
        elif keeps_inside:
            yield SNAPSHOT_COST


def make_wish(settings: Mapping[str, str]) -> Wish:
    """Give the wish of a study's settings, in whatever case their names are."""
    return Wish({name.lower(): value for name, value in settings.items()})


SNAPSHOT_COST = (
    "the restore is by a database snapshot: in each window the first change of each page reads and "
    "writes that page once more, which is measured; reverting copies the changed pages back and "
    "builds the log anew, and nothing else may have a snapshot of the database. Where the server "
    "refuses snapshots, a backup is used"
)
RESTORE_COST = (
    "the restore is by RESTORE DATABASE: before each window all of a backup is read and written, "
    "the log is zeroed, and the server keeps the backup until the end"
)


def _name_file(name: str, path: str) -> str:
    return f"(NAME = {name}, FILENAME = {quote_text(path)})"
