"""How PostgreSQL's own client programs are told which server they talk to, and as whom."""

from collections.abc import Mapping

from stithy.engines.postgresql.url import parse_url
from stithy.needs import Package
from stithy.secrets import Secret

CLIENT = Package("postgresql-client", "postgresql")
"""What brings them."""


def words(url: Secret) -> list[str]:
    """The words by which a program finds the server; a password is asked of nobody."""
    target = parse_url(url)
    return ["--no-password", f"--host={target.host}", f"--username={target.user}"]


def environment(url: Secret) -> Mapping[str, str]:
    """Its password, and messages in English."""
    password = parse_url(url).password
    return {"PGPASSWORD": password.reveal() if password else "", "LC_ALL": "C"}
