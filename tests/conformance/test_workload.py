"""What every workload must do on every engine, through everything that Python makes of its answers.

That any split over loaders gives the same rows, that each condition can fail, what a ledger finds,
and what a run that was stopped sums up, is proved in `crates/hammer/tests/`.
"""

from pathlib import Path

import pytest

from conformance.conftest import Loaded
from conformance.samples import damage
from stithy.cli import app
from stithy.collectors.collector import Collector, InstanceScope, Scope
from stithy.engines.instance import Instance
from stithy.metrics import ALL
from stithy.registry import plugins
from stithy.results.convert import make_second_rows, make_transaction_rows, read_latencies
from stithy.results.files import make_frame
from stithy.results.tables import SECONDS, SERIES, TRANSACTIONS
from stithy.run.sampler import Sampler, make_series_rows
from stithy.wire.jobs import RunRequest
from stithy.workloads.workload import Workload


def test_a_run_fills_every_table(loaded: Loaded, server: Instance, tmp_path: Path) -> None:
    """Messages, latency logs and series join; what the types add up to is what `all` says."""
    sampler = Sampler(Scope((Path("/"),), (InstanceScope("", server),)), plugins(Collector))
    sampler.start()
    asked = RunRequest(
        seed=1, users=2, ramp_up_s=1.0, duration_s=2.0, hlog_stem=tmp_path / "hammer"
    )
    driven = loaded.hammer(server.url).run(loaded.choice, asked)
    readings = sampler.stop()
    latencies = read_latencies(tmp_path / "hammer")
    totals = make_frame(TRANSACTIONS, make_transaction_rows("w", driven.summary))
    seconds = make_frame(SECONDS, make_second_rows("w", driven.seconds, latencies))
    series = make_frame(SERIES, make_series_rows("w", readings, driven.summary.started_at_s))
    assert driven.summary.complete
    *types, merged = totals["committed"].to_list()
    assert merged == sum(types) > 0
    known = {transaction.name for transaction in plugins(Workload)[loaded.workload].transactions}
    assert {*totals["transaction"].to_list()} == {*known, ALL}
    measured = seconds.filter(phase="measure", transaction=ALL)
    assert measured["committed"].sum() == merged
    assert measured["response_p95_s"].null_count() == 0
    assert series["second"].max() >= 2  # type: ignore[operator]  # a number, by the table


def test_commands_check_and_overwrite_nothing(
    loaded: Loaded, server: Instance, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without being told the size; the tables that are there are named."""
    workload = plugins(Workload)[loaded.workload]
    size = ",".join(f"{key}={number}" for key, number in loaded.size.items())
    found = server.loaded()
    assert found is not None
    assert (found.workload, workload.parse_size(found.size)) == (loaded.workload, loaded.size)
    url = server.url.reveal()
    asked = ["--workload", loaded.workload, "--size", size]
    assert app.run(["hammer", "prepare", url, *asked]) == 3
    assert "the database holds tables" in capsys.readouterr().err
    words = ["--users", "2", "--ramp-up", "500ms", "--duration", "1s"]
    assert app.run(["hammer", "run", url, *words]) == 0
    shown = capsys.readouterr().out
    assert ("acknowledged work agrees" in shown) == workload.counts_headline
    quick = ["--quick"] if loaded.workload == "brokerage" else []  # all take half a minute
    assert app.run(["hammer", "check", url, *quick]) == 0
    shown = capsys.readouterr().out
    assert shown.count("✓ holds") == len(shown.splitlines()) - 1 > len(damage(loaded.workload))


def test_damage_ends_a_check_with_5(
    loaded: Loaded, server: Instance, capsys: pytest.CaptureFixture[str]
) -> None:
    """The condition that is broken is named, and no other."""
    for number, (harm, mend) in damage(loaded.workload).items():
        loaded.sample.run(server.url, harm)
        assert app.run(["hammer", "check", server.url.reveal(), "--quick", "--json"]) == 5
        loaded.sample.run(server.url, mend)
        assert f'"broken": [\n    {number}\n  ]' in capsys.readouterr().out
