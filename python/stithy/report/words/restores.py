"""The restore method of a run, as results name it: what its windows start from."""

from stithy.registry import plugins
from stithy.restores.method import RestoreMethod
from stithy.results.manifest import Manifest


def restore_method(manifest: Manifest | None) -> RestoreMethod | None:
    """That of the run's database; None without one, and where nothing is known of it."""
    if manifest is None or manifest.given_database is None:
        return None
    return plugins(RestoreMethod).get(manifest.given_database.restore or "")
