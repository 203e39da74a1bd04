"""How much space a candidate's volumes take, asked once it is loaded and before it is removed."""

from pathlib import Path

from stithy.errors import StithyError, reason_of
from stithy.plan.steps import INSTANCE
from stithy.results.tables import SPACE, Row
from stithy.run.context import Context
from stithy.storage.consent import DATA
from stithy.storage.provider import Storage, Volume
from stithy.storage.space import with_log

NUMBERS = (
    "logical_bytes", "written_bytes", "stored_bytes", "physical_bytes", "redundancy", "reduction",
    "provisioned_bytes", "allocated_bytes", "log_written_bytes", "log_stored_bytes",
)  # fmt: skip


def record(context: Context, candidate: str, moment: str) -> None:
    """Add the rows of a candidate's volumes, unless it has some of this moment and dataset.

    What cannot be read is missing with its reason: no run fails for it.
    """
    volumes = context.volumes
    volume = volumes.made.get(candidate)
    dataset = volumes.held.get(candidate)
    known = [(row["candidate"], row["moment"], row["dataset"])
             for row in context.state.rows.get(SPACE.name, ())]  # fmt: skip
    if volume is None or volume.raw or (candidate, moment, dataset) in known:
        return
    rows = [
        {"candidate": candidate, "role": role, "moment": moment, "dataset": dataset}
        | _row(context, volumes.providers[candidate], part)
        for role, part in volume.by_role.items()
        if not part.raw
    ]
    context.add_rows(SPACE, rows)


def _row(context: Context, provider: Storage, part: Volume) -> Row:
    try:
        space = with_log(provider.space(part), part, _logs(context, part))
    except (OSError, StithyError) as error:
        return dict.fromkeys(NUMBERS) | {"missing_because": reason_of(error)}
    because = "; ".join(dict.fromkeys(space.missing.values()))
    return {name: getattr(space, name) for name in NUMBERS} | {"missing_because": because or None}


def _logs(context: Context, part: Volume) -> list[Path]:
    """The folders of the write-ahead log beside data, those of several instances, too; no links."""
    if context.given_servers is None or (name := context.servers.engine.log_folder) is None:
        return []
    data = part.path / DATA
    found = [data / name, *data.glob(f"{INSTANCE}-*/{name}")]
    return [each for each in found if each.is_dir() and not each.is_symlink()]
