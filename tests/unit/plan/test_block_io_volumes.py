"""The volumes of block I/O: how a study writes them, what room they take, what is refused."""

import pytest

from stithy.plan.expand import expand
from stithy.scenarios.block_io.plan import PLUGINS, find_spec, is_laid_out
from stithy.scenarios.block_io.values import list_files
from stithy.storage.provider import Role
from stithy.study.load import parse_study
from stithy.study.model import Study
from stithy.study.problems import StudyError

MIB = 2**20


def made(keys: str, a: str = "{path: /var/tmp/a}", vary: str = "") -> Study:
    """A study of a candidate and a directory."""
    text = (
        f"study: x?\ncandidates: {{a: {a}, b: {{path: /var/tmp/b}}}}\n"
        f"scenario: {{block-io: {{profiles: [sql], size: 64 MiB{keys}}}}}\n{vary}"
    )
    return parse_study("study.yaml", text.encode())


@pytest.mark.parametrize(("given", "roles", "written"), [
    ("1", ["data"], 1),
    ("3", ["data"] * 3, 3),
    ("[data, log]", ["data", "log"], ["data", "log"]),
    ("data+log", ["data", "log"], ["data", "log"]),
    ("[data, data, backup]", ["data", "data", "backup"], ["data", "data", "backup"]),
])  # fmt: skip
def test_volumes_are_a_number_of_files_or_the_roles_of_a_candidate(
    given: str, roles: list[Role], written: object
) -> None:
    """A study says them as short as it can."""
    spec = find_spec(made(f", volumes: {given}"))
    assert list(spec.volumes) == roles
    assert spec.model_dump(mode="json", by_alias=True)["volumes"] == written


@pytest.mark.parametrize("given", ["0", "65", "1.5", "true", "[]", "[data, logs]", "data+", "-1"])
def test_anything_else_is_no_volumes(given: str) -> None:
    """With what would be right."""
    with pytest.raises(StudyError) as caught:
        made(f", volumes: {given}")
    assert "not volumes" in str(caught.value.problems[0])
    assert "a number from 1 to 64" in str(caught.value.problems[0])


def test_more_fio_than_a_machine_runs_at_once_are_refused() -> None:
    """Workers are those of each volume, whether a study or a profile says them."""
    assert find_spec(made(", volumes: 64, workers: 2")).workers == 2
    with pytest.raises(StudyError) as caught:
        made(", volumes: 64, workers: 3")
    assert "192 fio at once" in str(caught.value.problems[0])


def test_room_is_that_of_all_files_on_the_volume_that_serves_their_role() -> None:
    """A candidate without a log of its own has that file beside the data."""
    apart = "{path: /var/tmp/a, roles: {log: {path: /var/tmp/log}}}"
    needed = PLUGINS[0].count_needed_bytes(made(", volumes: [data, data, log]", apart))
    assert [needed[role] // MIB - 64 for role in ("data", "log", "temp")] == [3 * 64, 64, 0]
    both = made(", volumes: [data, data, log]", apart)
    alone = both.model_copy(update={"candidates": {"a": both.candidates["a"]}})
    assert PLUGINS[0].count_needed_bytes(alone)["data"] == (2 * 64 + 64) * MIB


def test_varied_volumes_are_all_laid_out_before_any_window() -> None:
    """Each role as often as any window uses it; time and space are those of all of them."""
    vary = 'vary: {scenario.block-io.volumes: [1, 3, "data+log"]}\n'
    study = made(", repeat: 1", vary=vary)
    assert is_laid_out(study) == ("data", "data", "data", "log")
    one, all_four = (
        next(each.cost for each in expand(of).steps if each.kind == "lay-out")
        for of in (made(", repeat: 1"), study)
    )
    assert all_four.space_bytes - one.space_bytes == 3 * 64 * MIB
    assert all_four.time_s - 1 == pytest.approx(4 * (one.time_s - 1))


def test_files_of_a_role_are_numbered() -> None:
    """So the same file is used by whatever window names that role."""
    assert list_files(["data", "log", "data"]) == (("data", 1), ("log", 1), ("data", 2))


def test_one_volume_is_not_said_of_a_scenario_but_several_are() -> None:
    """A footer has what was asked."""
    assert "volumes" not in str(made("").scenario)
    assert "volumes: 4" in str(made(", volumes: 4").scenario)
