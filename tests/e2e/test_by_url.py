"""Candidates that are databases by URL, on a real server on loopback that asks for a password."""

import re
import shutil
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from fakes.exporters import exporting
from stithy.engines.engine import get_engine
from stithy.errors import Exit
from stithy.results.layout import RunDirectory
from stithy.secrets import Secret
from support.html_page import page_text
from support.offers import WORD, Offer, offer
from support.running import Stithy, entries, seconds_measured, wait_for, window_row

pytestmark = pytest.mark.needs_postgresql
VARIABLE = "STITHY_TEST_OFFER"
CERTIFICATE = Path(__file__).resolve().parents[1] / "data" / "tls" / "server.pem"
HELD = "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace"
STUDY = """study: Which offer serves the users better?
candidates:
  gp3: {{url: "{a}", password_env: {variable}}}
  io2: {{url: "{b}", password_file: {file}}}
database: {{engine: postgresql, restore: native}}
workload: {{name: order-entry, warehouses: 1}}
load: {{users: [2], ramp_up: 0 s, duration: 2 s, calibrate: false, repeat: 1}}
"""
WATCHED = "collect: {{exporters: {{db: {{url: {url}, token_env: {variable}}}}}}}\n"


def _busy_host() -> str:
    """The page of a host whose only CPU is idle for a twentieth of the time."""
    now_s = time.monotonic()
    shares = {"idle": 0.05, "user": 0.95}
    return "".join(f'node_cpu_seconds_total{{cpu="0",mode="{mode}"}} {share * now_s}\n'
                   for mode, share in shares.items())  # fmt: skip


@pytest.fixture(scope="module")
def there() -> Iterator[Offer]:
    """One server for all tests of the file, each of which leaves its databases empty."""
    with offer() as made:
        yield made


@pytest.fixture
def knowing(stithy: Stithy) -> Stithy:
    """A `stithy` that has the password in its environment."""
    return replace(stithy, environment={VARIABLE: WORD})


def _study(place: Path, there: Offer) -> Path:
    secret = place / "secret"
    secret.touch(mode=0o600)
    secret.write_text(f"{WORD}\n")
    path = place / "study.yaml"
    a, b = there.url("a"), there.url("b")
    path.write_text(STUDY.format(a=a, b=b, variable=VARIABLE, file=secret))
    return path


def _all_text(folder: Path) -> Iterator[str]:
    for path in folder.rglob("*"):
        if path.is_file():
            yield path.read_bytes().decode("latin-1")


@pytest.mark.timeout(1500)
def test_databases_by_url_survive_a_kill(knowing: Stithy, place: Path, there: Offer) -> None:
    """It is resumed, reported and compared; nothing stays on the server, nor any secret.

    That a run whose database is loaded again for each window goes on: `unit/run/test_restores.py`.
    """
    study, out = _study(place, there), place / "out"
    with exporting(_busy_host) as fake, study.open("a") as file:
        file.write(WATCHED.format(url=fake.url, variable=VARIABLE))
        file.flush()
        _survive_a_kill(knowing, study, out, there)
    _assert_whole(knowing, out)
    assert there.databases() == ["a", "b"]
    assert [there.ask(name, HELD) for name in ("a", "b")] == [[], []]
    assert knowing.registered() == []
    assert not any(WORD in text for text in _all_text(out))
    assert set(fake.tokens) == {f"Bearer {WORD}"}


def _survive_a_kill(knowing: Stithy, study: Path, out: Path, there: Offer) -> None:
    planned = knowing.run("plan", study)
    assert planned.returncode == 0, planned.stderr
    assert "whether there is room for it is not known" in planned.stdout + planned.stderr
    process = knowing.start("run", study, "--out", out)
    windows = RunDirectory(out).windows
    wait_for(
        lambda: sum(seconds_measured(out, w.name) > 0 for w in windows.glob("w-*")) == 2, process
    )
    process.kill()
    process.communicate()
    forgotten = replace(knowing, environment={}).run("resume", out)
    assert forgotten.returncode == Exit.USAGE, forgotten.stderr
    assert VARIABLE in forgotten.stderr
    with there.down():
        unreachable = knowing.run("resume", out)
    assert unreachable.returncode == Exit.PRECONDITION
    assert "start the server" in unreachable.stderr
    assert "has changed" not in unreachable.stderr
    knowing.run_well("resume", out)


def _assert_whole(knowing: Stithy, out: Path) -> None:
    """All windows have numbers, proven by the database, and the report says what they are of."""
    assert len(entries(out, "run-resumed")) == 1
    for path in RunDirectory(out).windows.glob("w-*"):
        row = window_row(out, path.name)
        assert row["complete"], row["missing_because"]
        assert row["proof_after"] - row["proof_before"] == row["headline_acknowledged"]
        assert 0 < row["round_trip_s"] < 1.0
        assert row["memory_limit_enforced"] is None
        watched = pl.read_parquet(path / "series.parquet").filter(collector="exporters")
        assert watched.filter(metric="idle_share")["value"].to_list() == pytest.approx(
            [0.05] * watched.filter(metric="idle_share").height
        )
        assert watched.filter(metric="idle_share").height > 0
    restores = pl.read_parquet(RunDirectory(out).table("restores"))
    assert restores["identical"].all()
    page = page_text(RunDirectory(out).page)
    assert "the median round trip of a question without work took" in page
    assert "databases by URL, the network included" in page
    assert "memory, devices and log could not be judged" in page
    assert "How other hosts were read" in page
    done = knowing.run("compare", out, shutil.copytree(out, out.with_name("again")))
    assert done.returncode == 0, done.stderr
    assert '"restore": "native"' in RunDirectory(out).manifest.read_text()


@pytest.mark.timeout(600)
def test_clean_removes_what_is_marked(knowing: Stithy, place: Path, there: Offer) -> None:
    """What somebody else made meanwhile is no reason to remove it, and stays known as left."""
    study, out = _study(place, there), place / "out"
    knowing.kill(lambda: entries(out, "step-started", kind="window"), "run", study, "--out", out)
    kept = [database for database in there.databases() if database.startswith("stithy")]
    assert len(kept) == 1
    without = replace(knowing, environment={}).run("clean")
    assert (without.returncode, VARIABLE in without.stderr) == (Exit.INFRASTRUCTURE, True)
    assert there.ask("a", "SELECT count(*) FROM stithy_mark") == [[1]]
    there.ask("a", "CREATE TABLE mine AS SELECT 1 AS one", "stithy")
    refused = knowing.run("clean")
    assert (refused.returncode, "mine" in refused.stderr) == (Exit.INFRASTRUCTURE, True)
    assert there.ask("a", "SELECT one FROM mine", "stithy") == [[1]]
    there.ask("a", "DROP TABLE mine", "stithy")
    cleaned = knowing.run("clean")
    assert cleaned.returncode == 0, cleaned.stderr
    assert there.databases() == ["a", "b"]
    assert [there.ask(name, HELD) for name in ("a", "b")] == [[], []]


def test_a_restarted_server_is_noticed(there: Offer) -> None:
    """Its window has no numbers then: `unmeasured/test_own_engine.py`."""
    remote = get_engine("postgresql").connect_remote(Secret(there.url("a")), Secret(WORD))
    assert remote.ended_by() is None
    with there.down():
        assert "does not answer" in str(remote.ended_by())
    assert remote.ended_by() == "was restarted"


def test_too_few_sessions_are_refused(knowing: Stithy, place: Path, there: Offer) -> None:
    """Before anything is made; users may share connections."""
    study = _study(place, there)
    study.write_text(study.read_text().replace("users: [2]", "users: [2, 200]"))
    refused = knowing.run("plan", study)
    assert refused.returncode == Exit.PRECONDITION, refused.stderr
    assert re.search(r"may open 9\d sessions now, and 200 of users and 10", refused.stderr)
    study.write_text(study.read_text().replace("users:", "connections: 50, users:"))
    assert knowing.run("plan", study).returncode == 0


def test_a_plan_names_differences_of_servers(stithy: Stithy, place: Path, there: Offer) -> None:
    """With a password from where psql has it; an option that is not followed is named."""
    study, knowing = _study(place, there), replace(stithy, environment={"PGPASSWORD": WORD})
    text = re.sub(", password_(env|file): [^}]*", "", study.read_text())
    with offer(CERTIFICATE) as other:
        study.write_text(text.replace(there.url("a"), other.url("a")))
        planned = knowing.run("plan", study)
        assert planned.returncode == 0, planned.stderr
        differ = r"gp3 server version [^;]*, encrypted, io2 server .*, not encrypted;"
        assert re.search(differ, planned.stdout)
        other.ask("postgres", "REVOKE CONNECT ON DATABASE postgres FROM PUBLIC", "stithy")
        refused = knowing.run("plan", study)
    assert refused.returncode == Exit.PRECONDITION
    assert 'permission denied for database "postgres": GRANT CONNECT' in refused.stderr
    study.write_text(text.replace(there.url("a"), f"{there.url('a')}?target_session_attrs=any"))
    refused = stithy.run("plan", study)
    assert refused.returncode == Exit.USAGE
    assert "study.yaml:3:" in refused.stderr
    assert "option target_session_attrs, which is not followed" in refused.stderr


def test_one_database_twice_is_refused(knowing: Stithy, place: Path, there: Offer) -> None:
    """Comparing it with itself would find that two offers do not differ."""
    study = _study(place, there)
    again = there.url("a").replace("127.0.0.1", "localhost")
    study.write_text(study.read_text().replace(there.url("b"), again))
    refused = knowing.run("run", study, "--out", place / "out")
    assert refused.returncode == Exit.PRECONDITION, refused.stderr
    assert "candidates gp3 and io2 are the same database" in refused.stderr
    assert there.ask("a", HELD) == []


def test_a_filled_database_is_refused(knowing: Stithy, place: Path, there: Offer) -> None:
    """By its bytes as `pg_dump` writes them; and so is a password that others may read."""
    study = _study(place, there)
    there.ask("b", "CREATE TABLE orders AS SELECT i FROM generate_series(1, 100) AS i")
    try:
        before = there.dump("b")
        for words in (f"plan {study}", f"run {study} --out {place}/out"):
            refused = knowing.run(*words.split())
            assert refused.returncode == 3, refused.stderr
            assert "is not empty and has no mark of Stithy's: it holds the table" in refused.stderr
        assert there.dump("b") == before
        assert there.ask("a", HELD) == []
        assert not (place / "out").exists()
    finally:
        there.ask("b", "DROP TABLE orders")
    (place / "secret").chmod(0o644)
    for stithy, said in ((knowing, "chmod 600"), (replace(knowing, environment={}), VARIABLE)):
        refused = stithy.run("plan", study)
        assert refused.returncode in (Exit.USAGE, 3)
        assert said in refused.stderr
