"""Whether Stithy's own connections are encrypted: `sslmode` and `sslrootcert`, as libpq has them.

The hammer reads the same options by itself, see `crates/hammer/src/client/postgresql/tls.rs`.
Source: PostgreSQL's manual, "SSL Support" of libpq.
"""

import ssl
from pathlib import Path
from urllib.parse import parse_qsl, quote, urlsplit

from stithy.errors import UserError
from stithy.secrets import Secret

MODES = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
SYSTEM = "system"
"""As `sslrootcert`: the certificates that this machine believes."""


def context(mode: str | None, root: str | None) -> ssl.SSLContext | bool | None:
    """What pg8000 is told: False never encrypts, None does where the server can, a context insists.

    `root` is a file of certificates or `system`; both are None where the URL does not say.
    Raises UserError for what contradicts itself, and for a file that cannot be used.
    """
    mode = mode or ("verify-full" if root == SYSTEM else "prefer")
    _refuse_contradiction(mode, root)
    if mode in ("disable", "allow"):
        return False
    if mode == "prefer":
        return None
    return True if root is None else _verifying(root, name=mode == "verify-full")


def with_absolute_root(url: Secret) -> Secret:
    """The URL with a whole path as `sslrootcert`: the hammer is started in another directory."""
    text = url.reveal()
    options = parse_qsl(urlsplit(text).query, keep_blank_values=True)
    roots = [value for name, value in options if name == "sslrootcert"]
    if not roots or roots[-1] == SYSTEM or Path(roots[-1]).is_absolute():
        return url
    # The last one of a name counts.
    return Secret(f"{text}&sslrootcert={quote(str(Path(roots[-1]).absolute()))}")


def _refuse_contradiction(mode: str, root: str | None) -> None:
    problem, remedy = "", ""
    if mode not in MODES:
        problem, remedy = f"sslmode is {mode!r}", f"give one of {', '.join(MODES)}"
    elif root is None and mode.startswith("verify-"):
        problem = f"sslmode is {mode}, and there is no certificate to verify with"
        remedy = "name a file of root certificates with sslrootcert=, or sslrootcert=system"
    elif root == SYSTEM and mode != "verify-full":
        problem = f"sslmode is {mode}, which is too weak for sslrootcert=system"
        remedy = "give sslmode=verify-full"
    if problem:
        raise UserError(problem, where="database URL", remedy=remedy)


def _verifying(root: str, *, name: bool) -> ssl.SSLContext:
    made = ssl.create_default_context(cafile=_file(root))
    made.check_hostname = name
    # Newer Pythons want more of a self-made certificate than libpq does.
    made.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return made


def _file(root: str) -> str | None:
    """The file of certificates, looked at; None for those of the system."""
    if root == SYSTEM:
        return None
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(root)
    except OSError as error:
        raise UserError(
            f"the root certificates cannot be read: {error.strerror or error}",
            where=root,
            remedy="name a file of certificates in PEM format with sslrootcert=",
        ) from error
    return root
