"""What the study gives the server of each candidate, where candidates differ in it."""

from stithy.results.manifest import CandidateFacts, Manifest
from stithy.units import format_size


def are_there(manifest: Manifest | None) -> bool:
    """Whether Stithy started none of the servers, but was given URLs."""
    database = manifest.given_database if manifest else None
    return database is not None and database.by_url


def version(manifest: Manifest, candidate: CandidateFacts) -> str | None:
    """The version of a candidate's server; None if no candidate has a version of its own."""
    if all(each.server_version is None for each in manifest.candidates):
        return None
    return manifest.server_version_of(candidate)


def versions(manifest: Manifest) -> str | None:
    """`15.18`, or `15.18 on gp3, 16.2 on io2`; None where none is known."""
    own = [(each.name, version(manifest, each)) for each in manifest.candidates]
    found = ", ".join(f"{text} on {name}" for name, text in own if text)
    return found or manifest.database.server_version


def memory(manifest: Manifest, candidate: CandidateFacts) -> str | None:
    """The memory limit of a candidate; None if no candidate has a limit of its own."""
    limit_bytes = manifest.memory_limit_of(candidate)
    if limit_bytes is None or all(each.memory_limit_bytes is None for each in manifest.candidates):
        return None
    return format_size(limit_bytes)


def cpus(manifest: Manifest, candidate: CandidateFacts) -> int | None:
    """How many CPUs the server of a candidate has; None if no candidate has its own number."""
    if all(each.cpus is None for each in manifest.candidates):
        return None
    bound = manifest.cpus_of(candidate)
    return None if bound is None else len(bound)


def settings(manifest: Manifest, candidate: CandidateFacts) -> str | None:
    """`work_mem = 8MB`: the settings that any candidate has of its own, as this one has
    them; None if no candidate has any.
    """
    names = dict.fromkeys(name.lower() for each in manifest.candidates for name in each.settings)
    effective = manifest.effective_settings_of(candidate) or {}
    known = {name.lower(): value for name, value in effective.items()}
    values = {**known, **manifest.settings_of(candidate)}
    given = [f"{name} = {values.get(name, 'server default')}" for name in names]
    return ", ".join(given) or None
