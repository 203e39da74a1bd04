"""The database of a candidate under a fault: killed, mounted and started again, and examined."""

import os
from contextlib import suppress
from pathlib import Path

from stithy.drives import filesystems
from stithy.engines.engine import get_engine
from stithy.engines.served import START_PATIENCE_S, ServerProcess
from stithy.errors import InfrastructureError, StithyError, convert_machine_failures
from stithy.scenarios.failure.fault import Target
from stithy.storage.copy import drop_cached_pages, sync_filesystem
from stithy.storage.emulation import list_mounted_drives, suspend_pacing

POLL_S, PROBE = 0.05, ".stithy-probe"


def find_server(target: Target) -> ServerProcess | None:
    """Find the server of a candidate; None where its database has none."""
    from stithy.run.volumes import get_parts

    instance = target.context.servers.live[get_parts(target.volume).data]
    return instance if isinstance(instance, ServerProcess) else None


def list_live_pids(target: Target) -> list[int]:
    """List the processes of the server that have not ended."""
    server = find_server(target)
    pids = server.list_pids() if server else []
    return pids[1:] if server and server.ended_by() is not None else pids


def restart_server(target: Target) -> None:
    """Start the server again if it has ended, or ends as it recovers; wait until it answers.

    Raises InfrastructureError where it does neither.
    """
    server, session = find_server(target), target.context.session
    if server is None:
        return
    began_s = session.clock.monotonic_s()
    while (asked_s := session.clock.monotonic_s() - began_s) < START_PATIENCE_S:
        if server.ended_by() is not None:
            target.context.servers.start_again(target.candidate)
            return
        if server.can_answer():
            return
        server.require_readable(asked_s)
        session.stop.pause(POLL_S)
    raise InfrastructureError(
        f"the server did not answer within {START_PATIENCE_S:g} s", where=str(server.data),
        remedy="read server.log of this window: something still holds it up",
    )  # fmt: skip


def bring_back(target: Target) -> None:
    """Mount what an error made read-only, start a server that has ended; else see `find_outage`."""
    from stithy.drives.power_cut import mount_again

    runner = target.context.session.host.runner
    by_folder = {drive.folder: drive for drive in list_mounted_drives(target.volume)}
    try:
        for drive in by_folder.values():
            with suppress(OSError):  # what the fault kept from being written is told once, here
                sync_filesystem(drive.folder)
            if filesystems.is_mounted(drive.folder) and _is_writable(drive.folder):
                continue
            if (server := find_server(target)) is not None:
                server.kill()
            filesystems.unmount(drive.folder, runner=runner)
            mount_again([drive], runner=runner)
        restart_server(target)
        target.notes.pop("outage", None)  # of several faults another kept it away before
    except StithyError as error:
        target.context.session.stop.check()
        target.notes["outage"] = error.text


def _is_writable(folder: Path) -> bool:
    try:
        with (folder / PROBE).open("wb", buffering=0) as probe:
            probe.write(b"-")
            os.fsync(probe)
        (folder / PROBE).unlink()
    except OSError:
        return False
    return True


def find_outage(target: Target) -> str | None:
    """Say why the database did not come back after a fault; None where it did."""
    server = find_server(target)
    lost = [drive for drive in list_mounted_drives(target.volume)
            if not filesystems.is_mounted(drive.folder)]  # fmt: skip
    if lost:
        return f"its file system could not be mounted: {target.notes.get('outage')}"
    ended = server is not None and server.ended_by() is not None
    known = target.notes.get("orphans") or target.notes.get("outage")
    outage = known or (server.last_words() if server and ended else None)
    return f"its database did not come back: {outage}" if outage else None


def check_files(target: Target) -> str | None:
    """Let the engine check all with cold caches: empty where all is well, None without a check.

    Raises InfrastructureError where it could not be done: that says nothing of the files.
    """
    from stithy.run.volumes import get_parts

    context, parts = target.context, get_parts(target.volume)
    server = find_server(target)
    with suspend_pacing(target.volume.drives), convert_machine_failures(str(parts.data)):
        if server is not None and server.ended_by() is None:
            server.stop()
        for folder in parts.list_kept():
            sync_filesystem(folder)
            drop_cached_pages(folder)
        if server is not None:
            context.servers.start_again(target.candidate)
        engine = context.servers.find_study(target.candidate).database.engine
        return get_engine(engine).find_damage(context.servers.live[parts.data])
