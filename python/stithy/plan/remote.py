"""What is said before a run begins of databases by URL, and of users who are elsewhere."""

from collections.abc import Iterator

from stithy.engines.backup import ServerMethod
from stithy.engines.engine import get_engine
from stithy.registry import plugins
from stithy.restores.method import RestoreMethod
from stithy.study.model import Study
from stithy.study.network import list_networks
from stithy.study.scenario import Scenario
from stithy.units import format_list


def describe_remote(study: Study) -> Iterator[str]:
    """Say it of each engine whose databases are by URL, by what its plug-ins declare."""
    for name in study.engines if study.by_url else ():
        engine, ways = get_engine(name), plugins(RestoreMethod).items()
        restores = [
            way for way, of in ways if not (of.needs_files(engine) or of.explain_refusal(engine))
        ]
        scenarios = [each for each, plugin in plugins(Scenario).items() if plugin.has_urls(name)]
        backups = [each.name for each in engine.backups if isinstance(each, ServerMethod)]
        ours = "one that Stithy starts"
        if engine.no_server:
            ours = "other engines' servers that Stithy starts"
        kept = "" if engine.is_set_by_url else ", settings"
        yield (
            f"{name} by URL, unlike {ours}: no limits of memory and CPUs, volumes by role{kept} or "
            f"programs of the study; restores only by {format_list(restores)}; scenarios only "
            f"{format_list(scenarios)}; backups {format_list(backups) or 'none'}; no fresh start "
            "before each window, so that its buffers and its host's page cache keep what earlier "
            "windows left; its host is seen by exporters only (`collect.exporters`)"
        )


def describe_networks(study: Study) -> Iterator[str]:
    """Say what a network of the load driver is here, and what it is not."""
    if networks := list_networks(study):
        yield (
            f"users over {format_list(networks)} come from a network namespace of this machine, by "
            "TCP: its CPUs carry driver and server together, and the link adds no delay but its own"
        )
