"""What limited each window, asked with what the manifest knows of CPUs and of emulated drives."""

from stithy.analysis.bottlenecks.judge import Limited, judge
from stithy.analysis.bottlenecks.observe import Abilities, Tables, ability, observations
from stithy.analysis.evidence import Evidence
from stithy.analysis.values.series import Sampled
from stithy.engines.declaration import declaration
from stithy.results.manifest import Manifest
from stithy.results.read import Run


def limited(run: Run, evidence: Evidence, sampled: Sampled) -> dict[str, Limited]:
    """What limited each window that has numbers, by its id; nothing where nothing was watched."""
    manifest = run.manifest
    # What it would be that limits another activity nobody has said yet.
    if sampled.means.is_empty() or (manifest is not None and manifest.given_load is None):
        return {}
    database = manifest.given_database if manifest else None
    tables = Tables(
        sampled, run.seconds, run.surroundings, _cpus(manifest),
        frozenset(each.name for each in (manifest.candidates if manifest else ()) if each.drives),
        _abilities(manifest), declaration(database.engine if database else None),
    )  # fmt: skip
    return {each.window_id: judge(each) for each in observations(evidence, tables)}


def _cpus(manifest: Manifest | None) -> int | None:
    fact = manifest.environment.get("cpus") if manifest else None
    return fact.value if fact is not None and isinstance(fact.value, int) else None


def _abilities(manifest: Manifest | None) -> Abilities:
    return {
        (candidate.name, drive.known_as): able
        for candidate in (manifest.candidates if manifest else ())
        for drive in candidate.drives
        if (able := ability(drive.profile, drive.scale)) is not None
    }
