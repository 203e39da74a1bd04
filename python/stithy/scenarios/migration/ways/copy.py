"""Copy: the server is stopped, its files are copied and synced, and it is started with the copy."""

from typing import TYPE_CHECKING

from stithy.scenarios.migration.way import SWITCH, Move, WayKind, explain_unmovable

if TYPE_CHECKING:
    from stithy.study.model import Study


class FileCopy(WayKind):
    """The plain way: nobody works meanwhile, so users pause for the whole copy."""

    name = "copy"
    text = "stops the server, copies its files, syncs them, and starts it with the copy"
    expects = frozenset({"lost"})
    parts = (SWITCH,)

    def explain_refusal(self, study: "Study", candidate: str) -> str | None:
        """Refuse what no server of Stithy's has in one place."""
        return explain_unmovable(study, candidate)

    def move(self, of: Move) -> None:
        """Copy what a clean end left; where that fails the server goes on with its own files."""
        from stithy.run.volumes import get_parts
        from stithy.storage.copy import copy_tree, measure_tree, sync_filesystem

        servers, server, data = of.context.servers, of.find_server(), get_parts(of.source).data
        place = of.make_place()
        of.begin(SWITCH)
        server.stop()
        try:
            copy_tree(data, place, has_holes=of.has_holes(), watch=of.check)
            sync_filesystem(place)
            of.check()
            of.moved_bytes = measure_tree(place)[1]
        except BaseException:
            servers.start_again(of.window.candidate)
            raise
        of.settle_at(place)
        servers.start_again(of.window.candidate, place)


PLUGINS = (FileCopy(),)
