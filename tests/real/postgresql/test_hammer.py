"""The native hammer against a real server, through everything that Python makes of its answers."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from stithy.analysis.validity.work import commit_bounds
from stithy.cli import app
from stithy.collect.collector import Scope
from stithy.collect.sampler import Sampler, series_rows
from stithy.database.engines.postgresql.connection import connect, parse_url
from stithy.database.engines.postgresql.counters import loaded_warehouses, read_commit_counters
from stithy.database.engines.postgresql.server import Server
from stithy.engines import declaration
from stithy.hosts.runner import LocalRunner
from stithy.results.convert import read_latencies, second_rows, transaction_rows, window_numbers
from stithy.results.tables import SECONDS, SERIES, TRANSACTIONS
from stithy.results.write import frame_of
from stithy.wire.jobs import WorkloadSize
from stithy.wire.messages import AnyMessage, Second
from stithy.workload.hammer import Hammer
from stithy.workload.program import RunRequest, Watch
from support.servers import running_server

pytestmark = pytest.mark.needs_postgresql

SIZE = WorkloadSize(name="order-entry", warehouses=1)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A server with one warehouse, loaded once."""
    with running_server({"autovacuum": "off"}) as running:
        Hammer(LocalRunner(), running.url).prepare(SIZE, seed=1, loaders=2)
        yield running


def request(stem: Path | None = None, users: int = 2, duration_s: float = 2.0) -> RunRequest:
    """A short run."""
    return RunRequest(seed=1, users=users, ramp_up_s=1.0, duration_s=duration_s, hlog_stem=stem)


def test_a_run_fills_every_table_and_its_parts_agree(server: Server, tmp_path: Path) -> None:
    """Messages, latency logs and series join; what the types add up to is what `all` says."""
    sampler = Sampler(Scope((Path("/"),), server))
    sampler.start()
    driven = Hammer(LocalRunner(), server.url).run(SIZE, request(tmp_path / "hammer"))
    readings = sampler.stop()
    latencies = read_latencies(tmp_path / "hammer")
    totals = frame_of(TRANSACTIONS, transaction_rows("w", driven.summary, latencies))
    seconds = frame_of(SECONDS, second_rows("w", driven.seconds, latencies))
    series = frame_of(SERIES, series_rows("w", readings, driven.summary.started_at_s))
    numbers = window_numbers(driven.summary, "new-order", None)
    assert driven.summary.complete
    assert numbers["nopm"] > 0
    *types, merged = totals["committed"].to_list()
    assert merged == sum(types)
    measured = seconds.filter(phase="measure", transaction="all")
    assert measured["committed"].sum() == merged
    assert measured["response_p95_s"].null_count() == 0
    assert series["second"].max() >= 2  # type: ignore[operator]  # a number, by the table


def test_the_servers_commits_agree_with_the_hammers(server: Server) -> None:
    """Within the bounds that a window must keep."""
    before = read_commit_counters(server.url)
    summary = Hammer(LocalRunner(), server.url).run(SIZE, request(users=3)).summary
    after = read_commit_counters(server.url)
    least, most = commit_bounds(
        declaration("postgresql").commits, summary.commits, 3.0, connections=3, maintenance_runs=0
    )
    assert least <= after.commits - before.commits <= most
    assert after.rollbacks - before.rollbacks == summary.rollbacks


def test_a_stop_ends_a_run_with_a_summary(server: Server) -> None:
    """What was measured until then is reported, and that it was cut short."""
    stop = threading.Event()

    def on_message(message: AnyMessage) -> None:
        if isinstance(message, Second) and message.second >= 1:
            stop.set()

    watch = Watch(on_message=on_message, stop=stop)
    driven = Hammer(LocalRunner(), server.url).run(SIZE, request(duration_s=600), watch=watch)
    assert not driven.summary.complete
    orders = driven.summary.order_numbers
    assert orders.before is not None
    assert orders.after == orders.before + orders.acknowledged


def test_the_command_drives_and_checks_by_url(
    server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without being told the size; what is loaded is not overwritten, but its tables named."""
    assert loaded_warehouses(server.url) == 1
    url = server.url.reveal()
    assert app.run(["hammer", "prepare", url, "--warehouses", "1"]) == 3
    assert "the database holds tables" in capsys.readouterr().err
    words = ["--users", "2", "--ramp-up", "500ms", "--duration", "1s"]
    assert app.run(["hammer", "run", url, *words]) == 0
    assert "order numbers agree" in capsys.readouterr().out
    assert app.run(["hammer", "check", url]) == 0
    assert capsys.readouterr().out.count("✓ holds") == 11


def test_damage_is_found_and_gives_exit_code_5(
    server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    """A warehouse whose payments do not add up."""
    damage = "UPDATE warehouse SET w_ytd = w_ytd {} 1 WHERE w_id = 1"
    with connect(parse_url(server.url)) as session:
        session.run(damage.format("+"))
        assert app.run(["hammer", "check", server.url.reveal(), "--quick", "--json"]) == 5
        session.run(damage.format("-"))
    assert '"broken": [\n    1\n  ]' in capsys.readouterr().out
