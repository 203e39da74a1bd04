"""Exporters of other hosts: what their pages mean, and what of them is missing and why."""

from pathlib import Path
from typing import Any

import pytest

from fakes.clock import FakeClock
from fakes.exporters import FakeExporter, exporting
from stithy.collectors import exporters as collector
from stithy.collectors.collector import Sample, Scope
from stithy.errors import PreconditionError, UserError
from stithy.exporters.derive import CHANGED, NOTHING_THERE, RESET, derive_samples
from stithy.exporters.given import ExporterKeys
from stithy.exporters.maps import ExporterMap, choose_map, list_maps
from stithy.exporters.metrics import METRICS
from stithy.exporters.page import NoPage, PageReading, parse_page, read_page
from stithy.exporters.seen import SeenExporter, describe_doubts, see_exporter

PAGES = Path(__file__).parents[2] / "data" / "exporters"
HERE = Path("/nonexistent")
PLAIN = "text/plain"

CPU = """# TYPE node_cpu_seconds_total counter
node_cpu_seconds_total{{cpu="0",mode="idle"}} {idle}
node_cpu_seconds_total{{cpu="0",mode="user"}} {user}
# TYPE node_time_seconds gauge
node_time_seconds {time}
"""


PATIENCE_S = 10.0
"""A page of a test comes at once, but on a busy machine."""


def cpu(idle: float, user: float, time: float = 1_000_000.0) -> str:
    """A page with one CPU."""
    return CPU.format(idle=idle, user=user, time=time)


def reading(page: str, at_s: float) -> PageReading:
    """A page as it was read at a time."""
    return PageReading(parse_page(page.encode(), PLAIN), at_s, 0.01, None, page.encode())


def derived(of: ExporterMap, first: str, second: str, **keys: Any) -> dict[tuple[str, str], Any]:
    """What two pages, 2 s apart, say: values, or why there is none."""
    given = ExporterKeys.model_validate({"url": "http://db:9100/metrics", **keys})
    samples = derive_samples("db", given, of, reading(first, 10.0), reading(second, 12.0))
    return {(each.subject, each.metric): each.missing_because or each.value for each in samples}


def grown(page: str) -> str:
    """A page on which every number is half as large again."""
    lines = (line.rsplit(" ", 1) for line in page.splitlines())
    return "".join(f"{a} {b if a.startswith('#') else float(b) * 1.5}\n" for a, b in lines)


@pytest.mark.parametrize("name", list_maps())
def test_a_map_finds_its_metrics_on_a_captured_page(name: str) -> None:
    """All of them, on the page that is recognised as its own; each is one that is declared."""
    page = (PAGES / f"{name}.prom").read_text()
    found = parse_page(page.encode(), PLAIN)
    assert choose_map(ExporterKeys(url="http://db/m"), found.names, HERE)[0] == name
    of = list_maps()[name]
    seen = {metric for _, metric in derived(of, page, grown(page))}
    declared = {metric.name for metric in METRICS}
    assert seen == {metric.metric for metric in of.metrics} <= declared


def test_counters_become_rates_shares_and_latencies() -> None:
    """By time, by another counter, or as what is left of 1; a count is of series."""
    node, windows = list_maps()["node_exporter"], list_maps()["windows_exporter"]
    found = derived(node, cpu(10.0, 5.0), cpu(10.5, 6.5))
    assert (found["db", "user_share"], found["db", "cpus"]) == (0.75, 1.0)
    page = (PAGES / "windows_exporter.prom").read_text()
    later = page.replace('reads_total{volume="C:"} 50000', 'reads_total{volume="C:"} 50400')
    later = later.replace('read_latency_seconds_total{volume="C:"} 60',
                          'read_latency_seconds_total{volume="C:"} 62')  # fmt: skip
    later = later.replace(
        'idle_seconds_total{volume="C:"} 5000', 'idle_seconds_total{volume="C:"} 5001.5'
    )
    found = derived(windows, page, later)
    assert found["db:C:", "reads_per_s"] == 200.0
    assert found["db:C:", "read_latency_s"] == pytest.approx(0.005)
    assert found["db:C:", "utilisation_share"] == 0.25
    assert found["db:C:", "write_latency_s"] == NOTHING_THERE


def test_a_counter_that_began_anew_or_changed_its_series_has_no_rate() -> None:
    """A restart is a gap, and so is a CPU that came or went; a new device begins with the next."""
    of = list_maps()["node_exporter"]
    assert derived(of, cpu(10, 5), cpu(1, 6))["db", "idle_share"] == RESET
    second = 'node_cpu_seconds_total{cpu="1",mode="idle"} 3\n'
    assert derived(of, cpu(10, 5), cpu(11, 6) + second)["db", "idle_share"] == CHANGED
    disk = 'node_disk_reads_completed_total{device="sdb"} 3\n'
    assert ("db:sdb", "reads_per_s") not in derived(of, cpu(10, 5), cpu(11, 6) + disk)


def test_a_study_names_what_is_kept() -> None:
    """Further metrics as the page has them: gauges, and counters by time."""
    of = list_maps()["node_exporter"]
    page = cpu(1, 1)
    page += '# TYPE load gauge\nload 3\n# TYPE done_total counter\ndone_total{by="a"} 4\n'
    found = derived(of, page, grown(page), metrics=["load", "done_total"])
    assert found["db:load", "value"] == 4.5
    assert found["db:done_total{by=a}", "count_per_s"] == 1.0


def test_a_page_may_be_openmetrics_and_only_wanted_names_are_parsed() -> None:
    """A counter without an ending keeps its name, and a value that is no number is left out."""
    page = "# TYPE a counter\na_total 2.0\n# TYPE b gauge\nb NaN\nc 1\n# EOF\n"
    found = parse_page(page.encode(), "application/openmetrics-text", {"a_total", "b"})
    assert found.series == {"a_total": {(): 2.0}}
    assert found.names == {"a_total", "b", "c"}
    plain = parse_page(b"# TYPE xact_commit counter\nxact_commit 7\n", PLAIN)
    assert plain.series == {"xact_commit": {(): 7.0}}
    assert plain.counters == {"xact_commit"}


@pytest.mark.parametrize(("page", "why"), [
    ("<html>hello</html>", "no page of metrics"), ("hello world\n", "no page of metrics"),
    ("a 1 1700000000000\n", "times of their own"), ("", "no page of metrics"),
])  # fmt: skip
def test_what_is_no_page_of_metrics_is_refused(page: str, why: str) -> None:
    """And so is one whose samples are of another time."""
    with pytest.raises(NoPage, match=why):
        parse_page(page.encode(), PLAIN)


def test_a_token_goes_to_its_address_alone(tmp_path: Path) -> None:
    """From a file that nobody else may read; it follows no redirect, and is not told."""
    token = tmp_path / "token"
    token.write_text("secret\n")
    token.chmod(0o600)
    with exporting(cpu(1, 1)) as fake:
        keys = ExporterKeys.model_validate({"url": fake.url, "token_file": str(token)})
        read_page(keys, FakeClock(), PATIENCE_S)
        assert fake.tokens == ["Bearer secret"]
        for status, why in ((302, "it answers 302"), (401, "`token_file` name a token")):
            fake.status = status
            with pytest.raises(NoPage, match=why) as error:
                read_page(keys, FakeClock(), PATIENCE_S)
            assert "secret" not in str(error.value)
        assert len(fake.tokens) == 3
        token.chmod(0o644)
        with pytest.raises(NoPage, match="other users may read"):
            read_page(keys, FakeClock(), PATIENCE_S)


@pytest.mark.parametrize(("keys", "why"), [
    ({"url": "db:9100"}, "not the address"), ({"url": "http://me:word@db/metrics"}, "secret"),
    ({"url": "http://db/m", "token_env": "T"}, "clear text"),
    ({"url": "https://db/m", "token_env": "T", "token_file": "t"}, "two tokens"),
    ({"url": "http://db/m", "ca": "x.pem"}, "without TLS"),
])  # fmt: skip
def test_an_address_that_could_tell_a_secret_is_refused(keys: Any, why: str) -> None:
    """Before anything is asked."""
    with pytest.raises(ValueError, match=why):
        ExporterKeys.model_validate(keys)


def see(fake: FakeExporter, **keys: Any) -> SeenExporter:
    """The exporter as a run finds it."""
    given = ExporterKeys.model_validate({"url": fake.url, **keys})
    return see_exporter("db", given, HERE, FakeClock(), "database")


def test_an_exporter_is_refused_before_a_run_with_the_key_to_change() -> None:
    """Not there, a map that does not fit, a page that nobody knows, names that it has not."""
    with exporting(cpu(1, 1, 1_000_003.0)) as fake:
        seen = see(fake)
        assert (seen.map_name, seen.role) == ("node_exporter", "database")
        assert seen.first.offset_s == pytest.approx(3.0)
        assert "3.0 s ahead" in next(describe_doubts("db", seen, 60.0))
        for keys, where, why in (
            ({"map": "vsan"}, "map", "finds none"), ({"map": "none"}, "map", "no map none"),
            ({"map": "mine.toml"}, "map", "cannot be read"),
            ({"metrics": ["node_tim"]}, "metrics", "has no node_tim"),
            ({"devices": ["sda"]}, "devices", "has no sda"),
        ):  # fmt: skip
            with pytest.raises(UserError, match=why) as error:
                see(fake, **keys)
            assert error.value.where == where
        fake.page = "mine 1\n"
        with pytest.raises(UserError, match="no shipped map knows this page"):
            see(fake)
        assert see(fake, metrics=["mine"]).map_name == ""
        for ahead_s, offset_s in ((0.0, 0.0), (-0.5, 0.0), (5.0, 5.0), (-5.0, -4.0)):
            fake.now_s = 1_000_000 + ahead_s
            assert see(fake, metrics=["mine"]).first.offset_s == offset_s
    with pytest.raises(PreconditionError, match="cannot be read: connection refused"):
        see(fake)


def ask(live: collector.ExporterReadings, clock: FakeClock) -> dict[str, Sample]:
    """What is said a second later."""
    clock.sleep_s(1.0)
    return {each.metric: each for each in live.sample()}


def test_gaps_are_gaps_and_a_page_that_was_not_made_anew_is_no_reading(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Rates begin again after a failure; after an old page the next covers all the time."""
    for name in ("WAIT_S", "PATIENCE_SHARE"):
        monkeypatch.setattr(collector, name, PATIENCE_S)
    clock = FakeClock()
    with exporting(cpu(10, 5)) as fake:
        live = collector.create(Scope((), exporters={"db": see(fake)}, clock=clock))
        assert live.sample() == []
        fake.page = cpu(10.5, 5.5)
        found = ask(live, clock)
        assert (found["user_share"].value, found["user_share"].age_s) == (0.5, 0.0)
        assert found["clock_offset_s"].value == pytest.approx(-1.0)
        fake.status = 500
        found = ask(live, clock)
        assert found.keys() == {"scrape_s"}
        assert "it answers 500" in (found["scrape_s"].missing_because or "")
        fake.status = 200
        assert ask(live, clock).keys() == {"scrape_s"}, "only the base of the next rate"
        assert ask(live, clock).keys() == {"scrape_s"}, "the same page"
        fake.page = cpu(12.5, 6.5)
        found = ask(live, clock)
        assert found["user_share"].value == pytest.approx(1 / 3)
        assert found["user_share"].age_s == 0.5
    live.close()


def test_a_server_is_trusted_by_the_certificates_that_a_study_names(tmp_path: Path) -> None:
    """Without them, or by those of another one, its page is not read."""
    tls = PAGES.parent / "tls"
    with exporting(cpu(1, 1), certificate=tls / "server.pem") as fake:
        keys = {"url": fake.url}
        for ca in (None, tls / "other.pem"):
            given = ExporterKeys.model_validate({**keys, **({"ca": ca} if ca else {})})
            with pytest.raises(NoPage, match="its certificate is not trusted"):
                read_page(given, FakeClock(), PATIENCE_S)
        trusted = ExporterKeys.model_validate({**keys, "ca": tls / "server.pem"})
        assert "node_cpu_seconds_total" in read_page(trusted, FakeClock(), PATIENCE_S).page.names


@pytest.mark.parametrize(("metric", "why"), [
    ('{metric = "reads_per_s", name = "a_total", by = "disk"}', None),
    ('{metric = "reads", name = "a_total"}', "no metric reads: did you mean `reads_per_s`"),
    ('{metric = "value", kind = "gauge", name = "a", per = {name = "b"}}', "only a counter has"),
    ('{metric = "value", name = "a", where = {x = "("}}', "no pattern"),
    ('{metric = "value", nam = "a"}', "metrics.0.name: Field required"), ("{", "it is no TOML"),
])  # fmt: skip
def test_a_map_of_ones_own_is_used_or_refused(metric: str, why: str | None, tmp_path: Path) -> None:
    """It lies beside the study; what is wrong in it has its place."""
    text = f'recognised_by = ["a_total"]\nmetrics = [\n{metric}]\n'
    (tmp_path / "mine.toml").write_text(text)
    keys = ExporterKeys(url="http://db/m", map="mine.toml")
    if why is None:
        name, of = choose_map(keys, {"a_total"}, tmp_path)
        found = derived(of, 'a_total{disk="x"} 1\n', 'a_total{disk="x"} 5\n')
        assert (name, found) == ("mine.toml", {("db:x", "reads_per_s"): 2.0})
        return
    with pytest.raises(UserError, match=why):
        choose_map(keys, {"a_total"}, tmp_path)
