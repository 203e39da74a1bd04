"""Where a scheduler of Dask is, who may speak with it, and what Dask does on our behalf.

Beyond this machine everybody needs a certificate: whoever reaches a scheduler may start programs on
its agents, and passwords of databases travel by it.
"""

import ipaddress
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stithy.errors import PreconditionError, UserError
from stithy.secrets import read_closed_text

DEFAULT = "127.0.0.1:8786"
"""Where a scheduler listens, and is looked for, unless a person says otherwise."""

EXTRA = "pip install 'stithy[agents]'"

SETTINGS: Mapping[str, Any] = {
    # A task whose worker died is never done again: its users would be there twice.
    "distributed.scheduler.allowed-failures": 0,
    "distributed.comm.timeouts.connect": "5s",
    "distributed.comm.retry.count": 0,
    # What processes do by themselves costs the hammer CPU; no connection or lease needs it.
    "distributed.worker.profile.enabled": False,
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.admin.tick.interval": "1s",
    "distributed.scheduler.work-stealing": False,
    "distributed.scheduler.active-memory-manager.start": False,
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
}
"""What differs from Dask's own defaults."""


@dataclass(frozen=True)
class SchedulerSite:
    """The address of a scheduler, `tcp://` or `tls://`; `tls`: certificate and key in one file."""

    address: str
    tls: Path | None = None

    @property
    def host(self) -> str:
        """The host's name or address."""
        return self.address.partition("://")[2].rpartition(":")[0].strip("[]")

    @property
    def port(self) -> int:
        """The port."""
        return int(self.address.rpartition(":")[2])

    @property
    def security(self) -> Any:
        """What Dask is told of certificates; of Dask's own settings where no file was given."""
        from distributed.security import Security

        if self.tls is None:
            return Security()
        file = str(self.tls.absolute())
        roles = {f"tls_{role}_cert": file for role in ("client", "scheduler", "worker")}
        return Security(require_encryption=True, tls_ca_file=file, **roles)


def find_site(text: str | None, tls: Path | None) -> SchedulerSite:
    """Read an address, `HOST:PORT` or as Dask writes it; None: the default one.

    Raises UserError where it is none, or anybody could reach it; PreconditionError without Dask.
    """
    text = DEFAULT if text is None else text
    scheme, _, rest = text.rpartition("://")
    host, _, port = rest.rpartition(":")
    if scheme not in ("", "tcp", "tls") or not host or not port.isdecimal():
        remedy = f"give HOST:PORT, such as {DEFAULT}"
        raise UserError(f"{text!r} is not the address of a scheduler", where=text, remedy=remedy)
    if tls is not None:
        _refuse_unusable(tls)
    scheme = scheme or ("tls" if tls else "tcp")
    if scheme == "tcp" and not _is_loopback(host.strip("[]")):
        raise UserError(
            f"{host} can be reached by others, and this connection asks nobody for a certificate",
            where=text,
            remedy="give --tls FILE, a certificate and its key, to scheduler, agents and runs",
        )
    require_dask()
    return SchedulerSite(f"{scheme}://{rest}", tls)


def _refuse_unusable(tls: Path) -> None:
    import ssl

    remedy = (
        "make one as docs/how-to/use-many-hosts.md says: cat agents.crt agents.key > agents.pem"
    )
    text = read_closed_text(tls, remedy, "key file")
    try:
        ssl.create_default_context(cafile=tls).load_cert_chain(tls, password="")
    except ssl.SSLError as error:
        lacks = [what for what in ("CERTIFICATE", "PRIVATE KEY") if f"{what}-----" not in text]
        problem = (
            f"there is no {lacks[0].lower()} in it" if lacks else "its key does not open or fit"
        )
        raise UserError(problem, where=str(tls), remedy=remedy) from error


def require_dask() -> None:
    """Raise PreconditionError where Dask is not installed."""
    try:
        import distributed
    except ImportError as error:
        problem = "load from several hosts needs the Python package `distributed`"
        raise PreconditionError(problem, where="agents", remedy=EXTRA) from error
    assert distributed  # it is only looked for


def read_dask_version() -> str:
    """Read which version of Dask this process runs; a newer one may be installed meanwhile."""
    import distributed

    return str(distributed.__version__)


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@contextmanager
def use_settings() -> Iterator[None]:
    """Inside, Dask does as `SETTINGS` says, and logs nothing: what goes wrong is told by us."""
    import logging

    import dask.config

    for name in ("distributed", "distributed.client", "tornado.application"):
        logging.getLogger(name).setLevel(logging.CRITICAL)  # Dask gave each a level of its own
    with dask.config.set(SETTINGS):
        yield
