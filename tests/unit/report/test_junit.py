"""JUnit XML: the shape that CI systems read, whatever a study is called."""

import re
from pathlib import Path
from xml.etree import ElementTree

from stithy.report.context import context_of
from stithy.report.junit import SUITE, junit_xml
from stithy.report.parts.thresholds import judged
from stithy.results.read import read_run
from support.sample_run import Shape, build_run
from support.sample_thresholds import thresholds

SHAPE: dict[str, tuple[set[str], set[str], list[str]]] = {
    "testsuites": (set(), {"name", "tests", "failures", "errors", "time"}, ["testsuite"]),
    "testsuite": (
        {"name", "tests", "failures", "errors"},
        {
            "skipped",
            "time",
            "timestamp",
            "hostname",
            "id",
            "package",
            "group",
            "file",
            "log",
            "url",
        },
        ["properties", "testcase", "system-out", "system-err"],
    ),
    "properties": (set(), set(), ["property"]),
    "property": ({"name", "value"}, set(), []),
    "testcase": (
        {"name", "classname"},
        {"time", "group"},
        ["skipped", "error", "failure", "system-out", "system-err"],
    ),
    "failure": ({"type"}, {"message"}, []),
    "error": ({"type"}, {"message"}, []),
    "system-out": (set(), set(), []),
}
"""What Jenkins' schema (junit-10.xsd of its xunit plugin) allows: attributes, needed ones first,
and children. Where Surefire's asks for more, that: a class, a type, children in this order."""

MIXED = {"failure", "error", "system-out"}
"""The elements that hold text."""

TIME = re.compile(r"\d+(\.\d+)?")
"""Narrower than the schemas, which admit commas."""

TEXTS = ("memory.nopm_at_4 >= disk.nopm_at_4", "disk.p95_at_4 <= 5 ms", "disk.nopm_at_1 > 5")


def document(tmp_path: Path, shape: Shape) -> ElementTree.Element:
    """What is written of a synthetic run, read back."""
    context = context_of(read_run(build_run(tmp_path / "run", shape).root))
    return ElementTree.fromstring(junit_xml(context, judged(context)))


def shape_of(*texts: str, **more: object) -> Shape:
    """A small run with these thresholds."""
    return Shape(users=(1, 4), duration_s=3, series=False, thresholds=thresholds(*texts), **more)  # type: ignore[arg-type]  # fields of Shape


def well_formed(element: ElementTree.Element) -> None:
    """Fail unless an element and all below it are as the schemas want them."""
    needed, allowed, children = SHAPE[element.tag]
    assert needed <= set(element.keys()) <= needed | allowed, element.tag
    order = [children.index(each.tag) for each in element]
    assert order == sorted(order), element.tag
    assert element.tag in MIXED or not (element.text or "").strip(), element.tag
    assert TIME.fullmatch(element.get("time", "0")), element.tag
    if element.tag == "testcase":
        assert len(element) == 1, "one outcome"
    for name in {"tests", "failures", "errors", "skipped"} & set(element.keys()):
        assert element.get(name, "").isdecimal(), name
    for each in element:
        well_formed(each)


def test_the_document_has_the_shape_that_ci_systems_read(tmp_path: Path) -> None:
    """Elements, attributes and their order; counts that fit the cases; times as numbers."""
    root = document(tmp_path, shape_of(*TEXTS, changes={"w-disk-u1-b0": {"errors": 500}}))
    well_formed(root)
    (suite,) = root
    cases = suite.findall("testcase")
    assert [case.get("name") for case in cases] == list(TEXTS)
    assert {case.get("classname") for case in cases} == {SUITE}
    counts = {"tests": 3, "failures": len(suite.findall(".//failure")), "errors": 1, "skipped": 0}
    assert counts["failures"] == 1
    assert {name: int(suite.get(name, "")) for name in counts} == counts
    assert float(suite.get("time", "")) > 0
    assert suite.get("timestamp") == "2027-01-15T08:00:00"


def test_the_shape_holds_of_every_metric_and_of_a_run_that_did_not_end(tmp_path: Path) -> None:
    """Names with dots, spaces in messages, units; and without an end there is no duration."""
    texts = (
        "disk.payment.p99.9_at_4 <= 200 ms", "disk.vda.block.writes_per_s_at_4 > 100/s",
        "memory.block.read_latency_s_at_4 < 1 ms", "memory.io.pressure.some_share_at_1 < 12.5%",
        "disk.cgroup.used_bytes_at_4 < 64 MiB", "disk.database.wal_bytes_per_s_at_4 < 64 MiB/s",
    )  # fmt: skip
    shape = Shape(users=(1, 4), duration_s=3, thresholds=thresholds(*texts), end="interrupted")
    root = document(tmp_path, shape)
    well_formed(root)
    assert [case.get("name") for case in root.iter("testcase")] == [
        text.replace("100/s", "100") for text in texts
    ]


def test_a_failure_tells_both_values(tmp_path: Path) -> None:
    """Short in the message, with all digits in the text."""
    (failure,) = document(tmp_path, shape_of("disk.p95_at_4 <= 5 ms")).findall(".//failure")
    assert failure.get("message", "").startswith("not met: ")
    assert failure.get("message", "").endswith(" ms and 5 ms")
    assert failure.text is not None
    assert "disk.p95_at_4 = 0.0" in failure.text
    assert "5 ms = 0.005 s" in failure.text


def test_properties_tell_the_validity_of_every_window(tmp_path: Path) -> None:
    """With what makes a window invalid."""
    root = document(tmp_path, shape_of(*TEXTS, changes={"w-disk-u1-b0": {"errors": 500}}))
    told = {each.get("name"): each.get("value") for each in root.iter("property")}
    assert told["window.w-memory-u1-b0"] == "valid"
    assert (told["window.w-disk-u1-b0"] or "").startswith("invalid: ")
    assert told["end"] == "finished"


def test_no_name_breaks_the_document(tmp_path: Path) -> None:
    """Markup is escaped, and what XML cannot hold at all is replaced."""
    question = 'Is <b> "faster" & cheaper\uffff\x01 than ]]> \U0001f41c?'
    root = document(tmp_path, shape_of(*TEXTS, question=question))
    told = {each.get("name"): each.get("value") for each in root.iter("property")}
    assert told["question"] == 'Is <b> "faster" & cheaper\ufffd\ufffd than ]]> \U0001f41c?'


def test_a_study_without_thresholds_is_an_empty_suite(tmp_path: Path) -> None:
    """The file that a CI job expects is there."""
    (suite,) = document(tmp_path, shape_of())
    assert suite.get("tests") == "0"
    assert not suite.findall("testcase")


def test_what_was_emulated_is_told_beside_the_thresholds(tmp_path: Path) -> None:
    """Whoever reads no report must not take an emulated drive for a real one."""
    shape = Shape(users=(1,), drives={"disk": 0.0}, thresholds=thresholds("disk.nopm_at_1 > 1"))
    context = context_of(read_run(build_run(tmp_path, shape).root))
    document = junit_xml(context, judged(context)).decode()
    assert 'name="note" value="EMULATED drives: disk = ' in document
