"""Runs on the engine that a study names, such as that of tests/fakes, with a fake hammer."""

from dataclasses import replace
from importlib import import_module

from fakes.hammer import FakeHammer
from stithy.run.equip import Tools
from stithy.secrets import Secret
from stithy.wire.hammer import NOBODY, Driven, ProgressWatch
from stithy.wire.jobs import RunRequest, WorkloadChoice
from support.faked_run import FakedRun


class Committing(FakeHammer):
    """A fake hammer whose transactions are committed in the server, so that it can count them.

    `uncounted`: so many of a run never reach the server, though they were acknowledged.
    """

    url = Secret("")
    uncounted = 0

    def run(
        self, workload: WorkloadChoice, request: RunRequest, *, watch: ProgressWatch = NOBODY
    ) -> Driven:
        """As many of each as its summary says."""
        driven = super().run(workload, request, watch=watch)
        store = import_module("stithy.engines.memory.endpoint").Endpoint(self.url).store
        headline, *others = driven.summary.transactions
        store.commit(headline.name, headline.committed - self.uncounted)
        for each in others:
            store.commit(each.name, each.committed)
        commits = sum(each.committed for each in driven.summary.transactions)
        return replace(driven, summary=driven.summary.model_copy(update={"commits": commits}))


class OwnEngine(FakedRun):
    """The engine is the one that the study names."""

    @property
    def tools(self) -> Tools:
        """The hammer hears where the server is."""
        return replace(super().tools, engine=Tools().engine, hammer=lambda *_: self._at)

    def _at(self, url: Secret) -> FakeHammer:
        assert isinstance(self.hammer, Committing)
        self.hammer.url = url
        return self.hammer
