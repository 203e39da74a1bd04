"""Instances that go on after their run, for a person to look at, until `stithy clean`."""

from pathlib import Path
from urllib.parse import unquote, urlsplit

from stithy.run.context import Context, own
from stithy.secrets import Secret
from stithy.storage.consent import DATA


def keep_instances(context: Context) -> dict[str, str]:
    """Start a server on each candidate's database; returns URLs without passwords.

    The password is in a file beside the sockets that only the owner may read, in libpq's form, and
    the URL names that file.
    """
    urls = {}
    for candidate, volume in context.state.volumes.items():
        data = volume.path / DATA
        if not data.exists():
            continue
        facts = {"data": str(data), "program": context.engine.program, "candidate": candidate}
        context.record("server", facts)
        log = context.directory.root / "kept" / f"{candidate}.server.log"
        log.parent.mkdir(exist_ok=True)
        instance = context.engine.start(context.start_of(candidate, log))
        context.record("shared-memory", context.memory_facts(candidate, instance))
        urls[candidate] = _url(context, candidate, instance.url)
        context.providers[candidate].keep()
    context.keeper.keep()
    context.register.keep()
    context.register.close(remove=False)
    return urls


def _url(context: Context, candidate: str, url: Secret) -> str:
    """The URL with a file in place of the password."""
    parts = urlsplit(url.reveal())
    sockets = context.sockets(candidate)
    file = _password_file(sockets, unquote(parts.password or ""))
    return f"postgresql://{parts.username}@{parts.path}?host={sockets}&passfile={file}"


def _password_file(sockets: Path, password: str) -> Path:
    file = sockets / "pgpass"
    file.touch(mode=0o600)
    escaped = password.replace("\\", "\\\\").replace(":", "\\:")
    file.write_text(f"*:*:*:*:{escaped}\n")
    own(file, None)
    return file
