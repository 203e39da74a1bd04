"""Studies of published tests are what was published, whole or as scale models."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

import papers
from stithy.fio.profile import Pattern
from stithy.plan.expand import set_aside
from stithy.scenarios.block_io.plan import PLUGINS, find_spec
from stithy.study.load import read_study

KIB, MIB, GIB = 2**10, 2**20, 2**30


def read_published(root: Path, name: str) -> dict[str, Any]:
    """What one file says was published."""
    return tomllib.loads((root / f"studies/papers/{name}.toml").read_text())


@pytest.fixture(scope="module")
def published(root: Path) -> dict[str, Any]:
    """What was published, and which study runs which test."""
    return read_published(root, "published")


@pytest.mark.parametrize("number", range(5))
def test_users_are_as_published(root: Path, published: dict[str, Any], number: int) -> None:
    """Warehouses, memory at every point, and the drives of as many hosts as were published."""
    model = published["study"][number]
    study = read_study(root / "studies/papers" / model["file"]).study
    tests = [each for each in published["test"] if each["id"] in model["tests"]]
    asked = [{**each["parameters"], **each.get("probable", {})} for each in tests]
    assert len(tests) == len(model["tests"])
    users = {tuple(_listed(each["virtual_users"])) for each in asked if "virtual_users" in each}
    assert users <= {tuple(study.load.users)}
    assert {each["warehouses"] for each in asked} == {study.workload.units * model["divisor"]}
    divisor = model.get("memory_divisor", model["divisor"])
    wanted = {-(-each["ram_gb"] * 1024 // divisor) * MIB for each in asked}
    assert {study.at(point).database.memory_bytes for point in study.points} == wanted
    for candidate in study.candidates.values():
        spec: Any = candidate.spec
        # A data store is one profile; of single drives each cluster had nine.
        drives = 1 if spec.drive.endswith("-vsan") else 9
        assert round(model.get("drive_divisor", model["divisor"]) / spec.scale) == drives


@pytest.mark.parametrize(
    ("engine", "number"),
    [*(("mariadb", number) for number in "12345"), *(("sqlserver", number) for number in "123")],
)
def test_whole_studies_have_what_was_published(
    root: Path, published: dict[str, Any], engine: str, number: str
) -> None:
    """Of all but the place of the load; databases by URL have no backups and no neighbours."""
    study = read_study(root / f"studies/papers/whole/{engine}-{number}.yaml").study
    tests = [each for each in published["test"] if each["id"].startswith(number)]
    for asked in ({**each["parameters"], **each.get("probable", {})} for each in tests):
        assert study.workload.units == asked["warehouses"]
        if number != "4":
            assert list(study.load.users) == _listed(asked["virtual_users"])
            assert study.load.ramp_up_s == 60 * asked["ramp_up_min"]
            assert study.load.duration_s == 60 * asked["duration_min"]
        if engine == "mariadb":
            memory = {study.at(point).database.memory_bytes for point in study.points}
            assert asked["ram_gb"] * GIB in memory
            assert study.database.cpus == asked["vcpu"]


@pytest.mark.parametrize("engine", ["mariadb", "sqlserver"])
def test_whole_ramps_have_what_was_published(root: Path, engine: str) -> None:
    """Users in steps, and the limit that they must keep; the server's memory is limited."""
    study = read_study(root / f"studies/papers/whole/{engine}-ramps.yaml").study
    published = read_published(root, "raid")["experiment"]
    assert len(published) == len(study.candidates)
    for each in published:
        asked = each["parameters"]
        assert study.load.limit is not None
        assert study.load.limit.limit_s == asked["response_limit_s"]
        assert study.load.users[-1] == asked["users_highest"]
        assert {*study.load.users} == {*range(500, asked["users_highest"] + 1, 500)}
        assert f"{asked['sql_memory_limit_gb']}" in str(study.database.settings)


def test_drivers_elsewhere_are_as_published(root: Path, published: dict[str, Any]) -> None:
    """As many agents, and the same users with the same memory over networks and without one."""
    ramps = read_published(root, "raid")["experiment"]
    agents = read_study(root / "studies/papers/ramp-agents.yaml").study.load.agents
    assert {len(agents)} == {each["parameters"]["load_agents"] for each in ramps}
    study = read_study(root / "studies/papers/test-1-driver.yaml").study
    asked = {each["id"]: each["parameters"] for each in published["test"]}
    places = {name: asked[name]["load_generation"] for name in ("1b", "1c")}
    assert places == {"1b": "remote", "1c": "local"}
    assert [study.at(point).load.link_bits_per_s for point in study.points] == [None, 1e10, 1e9]
    assert {asked[name]["virtual_users"][-1] for name in places} == {*study.load.users}
    assert study.database.memory_bytes == -(-asked["1b"]["ram_gb"] * 1024 // 200) * MIB


def test_sysbench_is_as_published(root: Path) -> None:
    """Whole, and as a model of 1/2500 with its own divisor of the data store's limits."""
    published = read_published(root, "sysbench")["experiment"]
    for name, divisor in (("sysbench", 1), ("test-sysbench", 2500)):
        study = read_study(root / f"studies/papers/{name}.yaml").study
        workload: Any = study.workload
        for asked in (each["parameters"] for each in published):
            assert (workload.tables, workload.rows * divisor) == (asked["tables"], asked["rows"])
            assert study.load.users == (*asked["thread_steps"], 1)
            before = study.load.precondition
            assert before is not None
            assert before.users == asked["preconditioning_threads"]
            assert before.for_s == pytest.approx(asked["preconditioning_h"] * 3600 / divisor, abs=1)
            assert study.load.duration_s >= asked["duration_min"] * 60 / divisor
            buffer = study.database.settings["innodb_buffer_pool_size"]
            assert buffer == ("24G" if divisor == 1 else "10M")


def _listed(users: int | list[int]) -> list[int]:
    return [users] if isinstance(users, int) else users


def test_backups_have_the_published_cycles(root: Path, published: dict[str, Any]) -> None:
    """Those of one host; the paper had more of them at work alone than beside backups."""
    asked = {each["id"]: each["parameters"] for each in published["test"]}
    backup: Any = read_study(root / "studies/papers/test-4.yaml").study.scenario.spec
    assert {backup.cycles} == {asked["4a"]["cycles"], asked["4b"]["cycles"]}
    beside = read_study(root / "studies/papers/test-5.yaml").study
    neighbour: Any = beside.scenario.spec
    assert neighbour.cycles == asked["5c"]["backup_cycles"] == asked["5d"]["backup_cycles"]
    assert list(neighbour.instances) == [asked["5c"]["backup_vms_per_host"]]
    hosts = [asked[name]["oltp_vms_per_host"] for name in ("5a", "5b", "5c", "5d")]
    assert hosts == [3, 3, beside.instances, beside.instances]


def test_published_tests_have_studies(published: dict[str, Any]) -> None:
    """So that nothing of what was published is lost; a damaged number has its probable value."""
    ran = [name for each in published["study"] for name in each["tests"]]
    assert ran == [each["id"] for each in published["test"]] == [
        "1a", "1b", "1c", "2a", "2b", "2c", "3a", "3b", "4a", "4b", "5a", "5b", "5c", "5d",
    ]  # fmt: skip
    for each in published["test"]:
        results = {**each["results"], **each.get("probable", {})}
        rates = [results[name] for name in ("tpm", "nopm") if name in results]
        rates += [results[f"{name}_avg_per_vm"] for name in ("tpm", "nopm") if each["id"] > "5"]
        assert each["id"] < "4" or "at_virtual_users" not in results
        assert not rates or 4 < rates[0] / rates[1] < 5.3
        assert bool(rates) is (each["id"] not in ("4a", "4b"))
    backups = [each["results"] for each in published["test"] if each["id"] in ("5c", "5d")]
    for each in backups:
        mean_min = each["backup_duration_total_min"] / each["backup_count"]
        assert int(mean_min) == each["backup_duration_avg_min"]


@pytest.mark.parametrize(("file", "count"), [("space", 9), ("raid", 3), ("sysbench", 4)])
def test_published_policies_have_candidates(root: Path, file: str, count: int) -> None:
    """A candidate of the study that it names; each candidate of these studies stands for one."""
    tests = read_published(root, file)["experiment"]
    assert len({each["id"] for each in tests}) == len(tests) == count
    modelled = [each for each in tests if "not_modelled" not in each]
    for name in {each["study"] for each in modelled}:
        study = read_study(root / "studies/papers" / name).study
        asked = [each["candidate"] for each in modelled if each["study"] == name]
        assert sorted(asked) == sorted(study.candidates)


@pytest.fixture(scope="module")
def of_storage(root: Path) -> dict[str, Any]:
    """What was published of storage alone, and which point of which study stands for it."""
    return read_published(root, "block")


def test_every_experiment_has_a_point(
    root: Path, of_storage: dict[str, Any], monkeypatch: Any
) -> None:
    """45 of them; the candidates of a point are those of its study, in order."""
    monkeypatch.chdir(root)
    points = of_storage["point"]
    named = {name for each in points for name in each["experiments"].values()}
    assert len(named) == 45
    assert named == {each["id"] for each in of_storage["experiment"]}
    studies = {path.name for path in root.glob("studies/papers/block-*.yaml")}
    assert {each["study"] for each in points} == studies
    for name in studies:
        study = read_study(root / "studies/papers" / name).study
        mine = [each for each in points if each["study"] == name]
        asked = [each["at"]["profile"] for each in mine]
        assert sorted(asked) == sorted(PLUGINS[0].list_factors(find_spec(study), None)["profile"])
        assert all(list(each["experiments"]) == list(study.candidates) for each in mine)


def pattern_of(root: Path, point: dict[str, Any]) -> tuple[Pattern, int]:
    """What runs at a point, and by how many workers on all volumes."""
    spec = find_spec(read_study(root / "studies/papers" / point["study"]).study)
    profile = spec.profile_of(point["at"]["profile"])
    return profile.patterns[0], profile.workers * len(spec.volumes)


def test_patterns_are_as_published(
    root: Path, of_storage: dict[str, Any], monkeypatch: Any
) -> None:
    """Of every parameter that was stated as a number."""
    monkeypatch.chdir(root)
    checked, experiments = 0, {each["id"]: each for each in of_storage["experiment"]}
    for point in of_storage["point"]:
        pattern, workers = pattern_of(root, point)
        stream = pattern.streams[0]
        for name in point["experiments"].values():
            asked = experiments[name]["parameters"]
            if "block_size_kib" in asked:
                size = asked["block_size_kib"] * KIB
                assert set(stream.read_sizes) | set(stream.write_sizes) == {size}, name
                reads = asked["read_percent"]
                reads = reads if isinstance(reads, list) else [reads]
                assert round(100 * stream.read_share) in reads, name
                checked += 1
            if "vms" in asked:
                assert (workers, stream.jobs, stream.iodepth) == (
                    asked["vms"], asked["threads"], asked["queue_depth"],
                )  # fmt: skip
            elif "threads" in asked:
                assert stream.outstanding == asked["threads"], name
            elif "queue_depth" in asked:
                assert stream.outstanding == asked["queue_depth"], name
            if (mix := asked.get("mix_as_named", "")) and "oracle" not in name:
                assert mix.startswith(f"{100 * stream.read_share:.0f}-"), name
    assert checked == 22


def test_published_ratios_are_of_the_first(of_storage: dict[str, Any]) -> None:
    """By rates and by latencies, of damaged numbers by the probable ones."""
    rows = papers.published(of_storage)
    found = {(each.at["profile"], each.metric): each.ratio for each in rows}
    assert found["hcibench-70-30/4k", "fio.iops"] == pytest.approx(355 / 178)
    assert found["hcibench-70-30/64k", "fio.mean_s"] == pytest.approx(6.4 / 2.1)
    assert found["four-corners/random-write-4k", "fio.iops"] == pytest.approx(202_081 / 183_947)
    corner = "four-corners/sequential-write-64k"
    assert found[corner, "fio.mean_s"] == pytest.approx(0.623 / 5.58)
    assert found["single-drive-256k/read", "fio.bytes_per_s"] == 6.5
    assert len(found) == 44


NEEDED = dict.fromkeys(("data", "log", "temp", "backup"), 10**9)


def test_each_published_test_of_space_has_its_candidate(root: Path) -> None:
    """Mirrors take two bytes for one, erasure coding of 3+1 four thirds; ratios are of numbers."""
    study = read_study(root / "studies/papers/test-space.yaml").study
    tests = {
        each["candidate"]: each
        for each in read_published(root, "space")["experiment"]
        if each.get("study") == "test-space.yaml"
    }
    assert list(tests) == list(study.candidates)
    whole = tests["mirrors"]["results"]["space_physical_written_gb"]
    for name, each in tests.items():
        coded = "RAID-5" in each["parameters"]["policy"]
        aside = set_aside(study.candidates[name], NEEDED)["data"]
        assert aside.redundancy == pytest.approx(4 / 3 if coded else 2)
        if "saving_ratio" in each["results"]:
            used = {**each["results"], **each.get("probable", {})}["space_used_gb"]
            assert whole / used == pytest.approx(each["results"]["saving_ratio"], abs=0.02)
