"""Metrics that plug-ins declare."""

from dataclasses import replace
from pathlib import Path

import pytest

from stithy import metrics
from stithy.activity import DeclaredActivity
from stithy.errors import UserError
from stithy.metrics import Metric
from stithy.registry import plugins
from stithy.workloads.workload import Workload


def test_a_metric_that_two_activities_declare_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of the two would silently be the other."""
    again = Metric("backup.pause_s", "s", "lower", "values", "", "pauses", "pauses")
    every = {**plugins(DeclaredActivity), "own": DeclaredActivity("own", (again,))}
    declaring: dict[object, object] = {Workload: plugins(Workload), DeclaredActivity: every}
    assert metrics.find(again.name) is None
    monkeypatch.setattr(metrics, "plugins", declaring.__getitem__)
    # What folders declare is kept, so that each state here needs a folder of its own.
    monkeypatch.setattr(metrics, "list_plugin_folders", lambda: (Path(str(len(every))),))
    assert metrics.find(again.name) == again
    every["again"] = DeclaredActivity("again", (Metric(**vars(again)),))
    with pytest.raises(UserError, match="the metric backup.pause_s is declared twice") as caught:
        metrics.find(again.name)
    assert caught.value.where == "`metrics` of own, again"
    every["again"] = DeclaredActivity("again", (replace(again, name="backup_pause.s"),))
    with pytest.raises(UserError, match="the metric backup_pause.s is declared twice"):
        metrics.find(again.name)  # figures and exports would write both alike
