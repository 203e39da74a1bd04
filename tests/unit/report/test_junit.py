"""JUnit XML: the shape that CI systems read, whatever a study is called."""

import re
from pathlib import Path
from xml.etree import ElementTree

from stithy.report.context import context_of
from stithy.report.junit import SUITE, junit_xml
from stithy.report.parts.answer import judged
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


def test_a_failure_tells_both_values(tmp_path: Path) -> None:
    """Short in the message, with all digits in the text."""
    (failure,) = document(tmp_path, shape_of("disk.p95_at_4 <= 5 ms")).findall(".//failure")
    assert failure.get("message", "").startswith("not met: ")
    assert failure.get("message", "").endswith(" ms and 5 ms")
    assert failure.text is not None
    assert "disk.p95_at_4 = 0.0" in failure.text
    assert "5 ms = 0.005 s" in failure.text


def test_no_name_breaks_the_document(tmp_path: Path) -> None:
    """Markup is escaped, and what XML cannot hold at all is replaced."""
    question = 'Is <b> "faster" & cheaper\uffff\x01 than ]]> \U0001f41c?'
    root = document(tmp_path, shape_of(*TEXTS, question=question))
    told = {each.get("name"): each.get("value") for each in root.iter("property")}
    assert told["question"] == 'Is <b> "faster" & cheaper\ufffd\ufffd than ]]> \U0001f41c?'


def test_what_was_emulated_is_told_beside_the_thresholds(tmp_path: Path) -> None:
    """Whoever reads no report must not take an emulated drive for a real one."""
    shape = Shape(users=(1,), drives={"disk": 0.0}, thresholds=thresholds("disk.nopm_at_1 > 1"))
    context = context_of(read_run(build_run(tmp_path, shape).root))
    document = junit_xml(context, judged(context)).decode()
    assert 'name="note" value="EMULATED drives: disk = ' in document
