"""The section `collect`: what does not fit is refused with its line."""

from pathlib import Path

import pytest

from fakes.clock import FakeClock
from fakes.exporters import exporting
from stithy.errors import Problems
from stithy.plan.remote import describe_remote
from stithy.run.equip import see_exporters
from stithy.study.load import StudyFile, parse_study
from stithy.study.problems import StudyError

URLS = """study: Which server does more?
candidates:
  a: {{url: "{engine}://bench@a.example/bench"}}
  b: {{url: "{engine}://bench@b.example/bench"}}
database: {{engine: {engine}, restore: reload}}
workload: {{name: order-entry, warehouses: 1}}
load: {{users: [2], duration: 20 s}}
"""
HERE = """study: Which place does more?
candidates: {a: {path: /var/tmp/a}, b: {path: /var/tmp/b}}
database: {engine: postgresql, memory: 256 MiB}
workload: {name: order-entry, warehouses: 1}
load: {users: [2], duration: 20 s}
"""
BY_URL = URLS.format(engine="postgresql")
SECTION = "collect:\n  exporters:\n    db: "


@pytest.mark.parametrize(("study", "exporter", "line", "why"), [
    (BY_URL, "{url: http://a/m, candidates: [c]}", 10, "a candidate that the study does not"),
    (BY_URL, "{url: http://a/m, candidates: []}", 10, "empty"),
    (BY_URL, "ftp://a/metrics", 10, "not the address of a page"),
    (BY_URL, "{url: http://a/m, evry: 5 s}", 10, "unknown key"),
    (BY_URL, "{url: http://a/m, every: 2 min}", 10, "too large"),
    (BY_URL, "{url: http://a/m, role: storage, devices: [sda]}", 10, "a host without it"),
    (HERE, "{url: http://a/m, role: database}", 8, "runs on this machine"),
])  # fmt: skip
def test_what_does_not_fit_has_its_place(study: str, exporter: str, line: int, why: str) -> None:
    """Whether it is given as an address or as a mapping."""
    with pytest.raises(StudyError) as error:
        parse_study("study.yaml", f"{study}{SECTION}{exporter}\n".encode())
    [problem] = error.value.problems
    assert problem.where.startswith(f"study.yaml:{line}:"), problem
    assert why in problem.problem


def test_an_exporter_that_cannot_be_used_is_refused_at_its_line() -> None:
    """By plan and run, each with what is to be done; others are found all the same."""
    page = 'node_cpu_seconds_total{cpu="0",mode="idle"} 1\n'
    with exporting(page) as fake:
        text = (f"{BY_URL}{SECTION}{{url: {fake.url}, map: vsan}}\n    gone: http://127.0.0.1:9/m\n"
                f"    here: {fake.url}\n")  # fmt: skip
        file = StudyFile(Path("study.yaml"), text.encode(), parse_study("s", text.encode()))
        problems = Problems()
        found = see_exporters(file, FakeClock(), problems)
    assert [(name, seen.role) for name, seen in found.items()] == [("here", "database")]
    map_problem, gone = problems.found
    assert map_problem.where == f"study.yaml:10:{text.splitlines()[9].index('vsan') + 1}"
    assert "^^^^" in map_problem.excerpt
    assert (gone.where, gone.exit) == ("study.yaml:11:11", 3)


@pytest.mark.parametrize(("engine", "restores", "backups"), [
    ("postgresql", "native and reload", "none"), ("mariadb", "reload", "none"),
    ("sqlserver", "native and reload", "native"),
])  # fmt: skip
def test_a_plan_says_what_a_database_by_url_cannot(
    engine: str, restores: str, backups: str
) -> None:
    """As its engine declares it; of a server that Stithy starts there is nothing to be said."""
    [said] = describe_remote(parse_study("s", URLS.format(engine=engine).encode()))
    assert said.startswith(f"{engine} by URL")
    assert f"restores only by {restores}; " in said
    assert f"backups {backups}; " in said
    assert not [*describe_remote(parse_study("s", HERE.encode()))]
