"""URLs of databases as several engines have them: what is read and written alike.

No message holds a part of a URL that could be one of its password.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import quote, unquote

from stithy.errors import UserError
from stithy.secrets import Secret


def make_url_refusal(problem: str, remedy: str) -> UserError:
    """Refuse a URL, which is not quoted."""
    return UserError(problem, where="database URL", remedy=remedy)


def parse_options(query: str, followed: Sequence[str]) -> dict[str, str]:
    """Read what stands behind a URL's question mark. Raises UserError for what is not followed."""
    options: dict[str, str] = {}
    for part in filter(None, query.split("&")):
        name, _, value = part.partition("=")
        if name not in followed:
            problem = f"the URL has the option {name}, which is not followed"
            raise make_url_refusal(problem, f"leave it out; followed are {', '.join(followed)}")
        if name in options:
            problem = f"the URL has the option {name} twice"
            raise make_url_refusal(problem, "take one of them out")
        options[name] = unquote(value)
    return options


def choose_password(*given: Secret | None) -> Secret | None:
    """Choose the password that is given. Raises UserError where there are two."""
    passwords = [password for password in given if password is not None]
    if len(passwords) > 1:
        problem = "the URL has a password, and another is given"
        raise make_url_refusal(problem, "take one of them out")
    return passwords[0] if passwords else None


def require_certificates(file: str) -> None:
    """Raise UserError where the file of certificates that a URL names as `ca` is not there."""
    if not Path(file).is_file():
        remedy = "name a file of certificates in PEM format with ca="
        raise UserError("there is no such file of certificates", where=file, remedy=remedy)


def write_host(host: str) -> str:
    """Write a host as a URL has it: a name, or an address."""
    return f"[{host}]" if ":" in host else quote(host)


def write_url(
    scheme: str,
    user: str,
    password: Secret | None,
    server: str,
    database: str,
    options: Mapping[str, str],
) -> Secret:
    """Write a URL; `server`: host and port as they stand in it. Options without a value are out."""
    word = "" if password is None else f":{quote(password.reveal(), safe='')}"
    given = (f"{name}={quote(value, safe='/')}" for name, value in options.items() if value)
    login, name = f"{quote(user, safe='')}{word}", quote(database, safe="")
    return Secret(f"{scheme}://{login}@{server}/{name}?{'&'.join(given)}")
