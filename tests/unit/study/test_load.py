"""A study file is read with its places, drafted, and described to editors; or told what it is."""

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]  # it has no types
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.study import study_schema
from stithy.errors import UserError
from stithy.plan.expand import expand
from stithy.study.document import FilePlace, read_document
from stithy.study.keys import ANY, Draft, Option, list_all_keys
from stithy.study.keys import write_study_text as draft_text
from stithy.study.load import parse_study, read_study
from stithy.study.problems import StudyError
from support.studies import problems, study, study_text, write_study


def test_quantities_and_settings_are_read_once_and_the_bytes_are_kept(tmp_path: Path) -> None:
    """Seconds and bytes; booleans as the server reads them; results hold the file as written."""
    settings = "384MB\n  settings: {a: true, b: false, c: 3, d: 1.5, e: 8MB, f: off}"
    changes = (("1 GiB", settings), ("2 s", "500 ms"), ("3 s", "2 min"), ("[1, 4]", "[13, 1, 4]"))
    file = write_study(tmp_path, ("study:", "# why\nstudy:"), *changes)
    assert file.content == (tmp_path / "study.yaml").read_bytes()
    load, database = file.study.load, file.study.database
    assert (load.ramp_up_s, load.duration_s, load.users) == (0.5, 120, (13, 1, 4))
    assert database.memory_bytes == 384_000_000
    assert database.settings == {
        "a": "on", "b": "off", "c": "3", "d": "1.5", "e": "8MB", "f": "off"
    }  # fmt: skip
    size = "warehouses: 2"
    plain, shown = (
        study((size, f"{size}{more}")).workload.shape()
        for more in ("", ", data: {compressible: 50%, duplicate: 10 %}")
    )
    assert (plain.compressible_percent, plain.duplicate_percent) == (None, 0)
    assert (shown.compressible_percent, shown.duplicate_percent) == (50, 10)
    [twice] = problems(study_text(("1 GiB", "1 GiB\n  settings: {work_mem: 4MB, Work_Mem: 8MB}")))
    assert "a setting given twice" in str(twice)


def test_a_value_of_a_wrong_kind_is_answered_with_one_that_is_right() -> None:
    """Of a key without an example, too: its default, or the page that says what it takes."""
    wrong = (
        "study: x?\ncandidates:\n  a: {drive: gp3, trace: maybe}\n"
        "  b: {ceph: {hosts: three, policy: {erasure_coding: 9}}}\n"
        "  c: {drive: gp3, count: 2, layer: {md: {level: raid1, chunk: [1]}}}\n"
        "scenario: {block-io: {profiles: [sql]}}\n"
    )
    with pytest.raises(StudyError) as caught:
        parse_study("s.yaml", wrong.encode())
    remedies = [problem.remedy for problem in caught.value.problems]
    assert remedies == [
        "such as false", "such as 3", "one of 2+1, 3+1, 4+2",
        "docs/reference/study.md says what it takes",
    ]  # fmt: skip


@pytest.mark.parametrize("values", ["1, true", "4MB, 4 MB", "on, on", "1, 1.0"])
def test_a_value_is_varied_once(values: str) -> None:
    """Also as another type or amount; values that only read alike are others."""
    vary = "vary: {{database.settings.x: [{}]}}\nstudy:"
    [twice] = problems(study_text(("study:", vary.format(values))))
    assert "a value given twice" in str(twice)
    assert problems(study_text(("study:", vary.format("'%m', '%M', a_b, a-b, ab, Ab")))) == []


def test_keys_and_values_are_texts_with_their_places() -> None:
    """Lines and columns count from 1; `yes`, `1` and dates are names like others."""
    document = read_document("f", "a: 1\nlist:\n  - xyz\nnone:\n\nlast: 2026-01-02\n")
    assert document.data == {"a": 1, "list": ["xyz"], "none": None, "last": "2026-01-02"}
    assert document.keys[("list",)] == FilePlace(2, 1, 5)
    assert document.values[("a",)] == FilePlace(1, 4, 5)
    assert document.values[("list", 0)] == FilePlace(3, 5, 8)
    assert document.values[("none",)] == FilePlace(4, 1, 5)
    names = read_document("f", "{yes: 1, 1: 2, null: 3, 1.0: 4}").data
    assert names == {"yes": 1, "1": 2, "null": 3, "1.0": 4}


@pytest.mark.parametrize(
    ("content", "places", "shown"),
    [
        (b"study: caf\xe9\n", ["1:11"], "UTF-8"),
        (b"\xff\xfes\x00t\x00", ["1:1"], "UTF-8"),
        (b"\xef\xbb\xbf" + study_text().encode(), [], ""),
        (study_text(("1 GiB", "1 KiB")).replace("\n", "\r\n").encode(), ["7:11"], ""),
        (study_text(("1 GiB", "1 KiB"), ("ramp_up: 2 s", "ramp_up: 2 s\n  ramp_up: 3 s")).encode()
         + b"\nfoo: 3\n", ["7:11", "12:3", "15:1"], ""),
        (("a: " + "[" * 1000).encode(), ["1:"], "nested too deeply"),
        (b"study: x\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + b"".join(
            b"a%d: &a%d [%s]\n" % (i, i, b", ".join([b"*a%d" % (i - 1)] * 10))
            for i in range(1, 12)), [], "more values than a study can have"),
        (study_text(("1 GiB", "9" * 30 + " TiB")).encode(), ["7:11"], "too large"),
        (b"study: \x1b[2Jx\n", ["1:"], ""),
        (b"password: tiger\nuser: scott\n", ["1:1"], "not a study file"),
    ],
)  # fmt: skip
def test_every_problem_of_a_file_has_its_place(
    content: bytes, places: list[str], shown: str
) -> None:
    """Nothing steers the terminal, and nothing is shown of a file that is no study."""
    found = problems(content)
    assert len(found) >= len(places)
    for problem, place in zip(found, places, strict=False):
        assert problem.where.startswith(f"study.yaml:{place}")
        assert "tiger" not in f"{problem}{problem.excerpt}"
        assert problem.excerpt.replace("\n", "").isprintable()
    assert any(shown in str(each) for each in found) or not shown


def test_what_cannot_be_read_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any file may be read but an endless one; a slip of the name is answered with one there."""
    (tmp_path / "demo.yaml").touch()
    for path, shown in (
        (tmp_path / "dmeo.yaml", f"there is no such file: did you mean {tmp_path / 'demo.yaml'}?"),
        (tmp_path / "no/demo.yaml", "check the directory's name"),
        (tmp_path, "this is a directory"),
        (Path("/dev/zero"), "larger than any study file"),
        (Path("a\0b"), "cannot be read"),
        (Path("a" * 5000), "cannot be read"),
        (tmp_path / "a\x1b[2Jb\nc", "no such file"),
    ):
        with pytest.raises(UserError) as caught:
            read_study(path)
        assert not isinstance(caught.value, StudyError), "no file, so no problems in it"
        assert shown in str(caught.value)
        assert str(caught.value).isprintable()
    read_end, write_end = os.pipe()
    os.write(write_end, study_text().encode())
    os.close(write_end)
    assert read_study(Path(f"/dev/fd/{read_end}")).study.load.users == (1, 4)
    os.close(read_end)


def test_editors_and_stithy_agree(root: Path) -> None:
    """The schema is closed everywhere, accepts every shipped study and refuses what is wrong."""
    schema = study_schema()
    for each in (schema, *schema["$defs"].values()):
        assert each["additionalProperties"] is False
    validator = jsonschema.Draft202012Validator(schema)
    paths = sorted((root / "studies").rglob("*.yaml"))
    shipped = {path.stem: read_document(path.name, path.read_text()).data for path in paths}
    for name, data in shipped.items():
        assert [each.message for each in validator.iter_errors(data)] == [], name
    demo: Any = shipped["demo"]
    by_url = {"a": {"url": "postgresql://me@db/a", "roles": {}}, "b": {"path": "/b", "roles": {}}}
    for wrong, count in (
        ({"load": {"duration": "20 s"}}, 1),
        ({"load": {**demo["load"], "duration": "20 parsecs", "userz": 1}}, 2),
        ({"candidates": by_url}, 1),
    ):
        assert len(list(validator.iter_errors(demo | wrong))) == count
    for key in list_all_keys():
        assert (key.info.description or "").endswith("."), key.dotted


DRAFT = Draft(
    head=("A study for a test.",),
    question="Which one is better?",
    candidates=(
        Option("disk", {"path": "/var/tmp/stithy"}, "ext4, 1 GiB free"),
        Option("nvme", {"drive": "generic-nvme"}, "emulated"),
    ),
    others=(Option("memory", {"path": "/dev/shm/stithy"}, "tmpfs"),),
    engine="postgresql", memory_bytes=512 * 2**20, workload="order-entry", size={"warehouses": 3},
    levels=(1, 4), ramp_up_s=30.0, duration_s=60.0,
)  # fmt: skip


def test_a_draft_reads_back_as_what_was_meant_and_can_be_planned() -> None:
    """Every key stands in it; what else could be is a comment that works once it is none."""
    text = draft_text(DRAFT)
    lines = [line.strip().removeprefix("# ") for line in text.splitlines()]
    for key in list_all_keys():
        of_another = key.path[0] == "workload" and key.plugin not in (None, DRAFT.workload)
        if ANY not in key.path and len(key.path) <= 2 and not of_another:
            shown = re.compile(rf"(^|\{{|, ){key.path[-1]}:")
            assert any(map(shown.search, lines)), key.dotted
    for hidden in ("memory: {path: /dev/shm/stithy}", "touch: 30%\n", "ledger: true\n"):
        assert f"# {hidden}" in text
        text = text.replace(f"# {hidden}", hidden)
    read = parse_study("new", text.encode())
    assert read.study == DRAFT.question
    assert {name: each.provider for name, each in read.candidates.items()} == {
        "disk": "path", "nvme": "drive", "memory": "path"
    }  # fmt: skip
    assert (read.database.memory_bytes, read.workload.units) == (DRAFT.memory_bytes, 3)
    assert (read.load.users, read.load.ramp_up_s, read.load.duration_s) == ((1, 4), 30, 60)
    assert expand(read).steps


def test_a_draft_and_messages_keep_the_keys_of_plug_ins_apart(fakes: Path) -> None:
    """A draft has those of its own workload; a key of another one is not its own misspelling."""
    assert (fakes / "workloads/counter.py").is_file()
    assert "counters" not in draft_text(DRAFT)
    text = draft_text(DRAFT).replace("  warehouses: 3", "  warehouses: 3\n  counters: 4")
    text = text.replace("path: /var/tmp/stithy", "path: /var/tmp/stithy, scale: 3")
    with pytest.raises(StudyError) as caught:
        parse_study("new", text.encode())
    remedies = [str(each) for each in caught.value.problems]
    for said in ("`scale` is a key of drive only", "`counters` is a key of counter only"):
        assert any(said in each for each in remedies), said


@settings(max_examples=25)  # of several names: a study is read in a tenth of a second
@given(st.lists(st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1),
                min_size=1, max_size=8))  # fmt: skip
def test_any_directory_can_be_a_candidate(names: list[str]) -> None:
    """Whatever its name holds: quotes, braces, signs of comments."""
    paths = {f"odd{n}": Path(f"/srv/{n}-{name}") for n, name in enumerate(names)}
    options = tuple(Option(key, {"path": str(path)}, "x") for key, path in paths.items())
    draft = replace(DRAFT, candidates=options, others=(), question=f"What of {names[0]}?")
    read = parse_study("new", draft_text(draft).encode())
    assert {key: each.spec.model_dump()["path"] for key, each in read.candidates.items()} == paths
