"""The sentence on where a workload comes from, for every report."""

from stithy.registry import plugins
from stithy.results.manifest import Manifest


def provenance(manifest: Manifest | None) -> str:
    """The provenance of the run's workload; of all known ones where the run's is not known."""
    known = plugins("workload")
    if manifest is not None and manifest.workload.name in known:
        return str(known[manifest.workload.name].WORKLOAD.provenance)
    return " ".join(module.WORKLOAD.provenance for module in known.values())
