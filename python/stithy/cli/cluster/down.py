"""`stithy cluster down`: remove a cluster that a person raised."""

from typing import Annotated

from cyclopts import Parameter

from stithy.cli.talk.options import Json
from stithy.cli.talk.render import say, show_json
from stithy.errors import UserError


def take_cluster_down(
    name: str | None = None,
    /,
    *,
    all_of_them: Annotated[bool, Parameter(name="--all")] = False,
    json: Json = False,
) -> None:
    """Remove a cluster that a person raised, or all of them. Their data are lost.

    Unmounts the volume, ends daemons and drives, removes the network. It works at any state of the
    cluster: also while hosts are cut off, and after the cluster was killed. A volume that somebody
    still uses is kept. Clusters of runs are removed by their run, or by `stithy clean`.

    Examples:

        stithy cluster down
        stithy cluster down lab

    Parameters
    ----------
    name
        The cluster; default: the only one.
    all_of_them
        Remove all clusters that a person raised.
    """
    from stithy.run.by_hand import find_cluster, list_clusters, take_down

    if name is not None and all_of_them:
        raise UserError("both a name and --all", where="--all", remedy="give one of them")
    chosen = list(list_clusters()) if all_of_them else [find_cluster(name)]
    for cluster in chosen:
        take_down(cluster)
        if not json:
            say(f"{cluster.name} is down")
    if json:
        show_json({"down": [cluster.name for cluster in chosen]})
    elif not chosen:
        say("No cluster is up.")


COMMAND = take_cluster_down
