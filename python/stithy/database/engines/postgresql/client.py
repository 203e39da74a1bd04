"""How PostgreSQL's own client programs are told which server they talk to, and as whom."""

from collections.abc import Mapping
from urllib.parse import parse_qs, unquote, urlsplit

from stithy.needs import Package
from stithy.secrets import Secret

CLIENT = Package("postgresql-client", "postgresql")
"""What brings them."""


def socket_folder(url: Secret) -> str:
    """The directory of the server's socket."""
    return parse_qs(urlsplit(url.reveal()).query)["host"][0]


def user(url: Secret) -> str:
    """Its role."""
    return unquote(urlsplit(url.reveal()).username or "")


def database(url: Secret) -> str:
    """The database under test."""
    return urlsplit(url.reveal()).path.removeprefix("/")


def words(url: Secret) -> list[str]:
    """The words by which a program finds the server; a password is asked of nobody."""
    return ["--no-password", f"--host={socket_folder(url)}", f"--username={user(url)}"]


def environment(url: Secret) -> Mapping[str, str]:
    """Its password, and messages in English."""
    return {"PGPASSWORD": unquote(urlsplit(url.reveal()).password or ""), "LC_ALL": "C"}
