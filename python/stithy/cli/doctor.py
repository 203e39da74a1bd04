"""`stithy doctor`: what works on this machine, what is missing, and what mends it."""

import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from itertools import chain
from typing import TYPE_CHECKING

from stithy.cli.talk.render import say, show, show_json
from stithy.errors import Exit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stithy.needs import Judgement, Need
    from stithy.run.doctor import Examination, ExaminedPart


def run_doctor(*, json: bool = False) -> Exit:
    """Show what works on this machine, what is missing, and how to fix it.

    Checks rights, the kernel, server programs, memory, disk space, CPUs, the clock and the current
    load. From these it decides which providers, engines, scenarios and collectors work. Names what
    killed runs, drives and clusters have left. Nothing is installed, created or changed. Run it as
    the user who will run studies: root may do more.

    It takes a few seconds; one of them measures the load of the machine. The exit code is 0 if the
    demo (`studies/demo.yaml`) can run here, else 3.

    For example:

        stithy doctor
        stithy doctor --json | jq '.parts[] | select(.works | not)'

    Parameters
    ----------
    json
        Print one JSON document.
    """
    say("looking at this machine")
    from stithy.hosts.host import LocalHost
    from stithy.run.doctor import examine, judge_left_behind

    found = examine(LocalHost(), _list_needs_of_commands(), left=judge_left_behind())
    if json:
        show_json(make_json(found))
    else:
        show(make_text(found))
    return Exit.PRECONDITION if found.demo_lacks else Exit.OK


COMMAND = run_doctor


def _list_needs_of_commands() -> "Mapping[str, tuple[Need, ...]]":
    from stithy.cli import agent, drive, hammer, list_command_modules

    found = {
        f"{package.__name__.rpartition('.')[2]} {name}": module.NEEDS
        for package in (drive, hammer)
        for name, module in list_command_modules(package).items()
        if "NEEDS" in vars(module)
    }
    return {"agent": agent.NEEDS, **found}


WIDTH = 100
INDENT = 18
FAMILIES = (
    "provider", "layer", "engine", "backup method", "scenario", "collector", "meter", "key",
    "command",
)  # fmt: skip
OWN_PREFIX = "stithy-"


def make_json(found: "Examination") -> dict[str, object]:
    """Every check and every need of every part."""
    return {
        "schema_version": 1,
        "demo": {
            "can_run": not found.demo_lacks,
            "lacks": [asdict(demo_lack) for demo_lack in found.demo_lacks],
        },
        "checks": {
            name: [asdict(judgement) for judgement in judged]
            for name, judged in found.checks.items()
        },
        "parts": [
            {
                "family": part.family,
                "name": part.name,
                "works": part.works,
                "needs": [
                    {"why": need.why, "optional": need.optional, **asdict(need.judgement)}
                    for need in part.needs
                ],
            }
            for part in found.parts
        ],
        "left": [asdict(left_run) for left_run in found.left],
    }


def make_text(found: "Examination") -> str:
    """One screen: the answer, what is missing, what may disturb, what there is."""
    judged = chain.from_iterable(found.checks.values())
    disturbing = (judgement for judgement in judged if judgement.state == "disturbing")
    sections = [
        _answer(found),
        _write_section("Missing", _write_missing(found)),
        _write_section("May change results", map(_describe, disturbing)),
        _write_section("Left behind", map(_describe, found.left)),
        _write_section("There is", _write_present(found)),
    ]
    return "\n\n".join(section for section in sections if section)


def _answer(found: "Examination") -> str:
    if not found.demo_lacks:
        return "The demo can run here: stithy run studies/demo.yaml"
    names = ", ".join(dict.fromkeys(demo_lack.what for demo_lack in found.demo_lacks))
    answer = textwrap.fill(
        f"The demo cannot run here yet. It lacks: {names}.", WIDTH, break_on_hyphens=False
    )
    if _list_working(found, "provider", "path") and _list_working(found, "engine", None):
        answer += "\nDirectories can be compared: `stithy new` writes a study of them."
    return answer


def _list_working(found: "Examination", family: str, name: str | None) -> bool:
    return any(
        part.works for part in found.parts if part.family == family and name in (None, part.name)
    )


def _write_section(title: str, lines: Iterable[str]) -> str:
    body = "\n".join(lines)
    return f"{title}\n{body}" if body else ""


def _write_entry(what: str, *texts: str) -> str:
    margin = " " * INDENT
    lines = [
        line
        for text in texts
        for line in textwrap.wrap(
            text,
            WIDTH - INDENT,
            break_on_hyphens=False,
            break_long_words=False,
            subsequent_indent="  " if text.startswith("→") else "",
        )
    ]
    head = f"  {what}".ljust(INDENT)
    if len(head) > INDENT:
        return "\n".join([head, *(margin + line for line in lines)])
    return "\n".join([head + lines[0], *(margin + line for line in lines[1:])])


def _write_missing(found: "Examination") -> Iterator[str]:
    """What the demo lacks first, what can wait last; what one package brings in one row."""
    wanted = _list_wanted(found)
    rows: dict[tuple[str, str], list[Judgement]] = {}
    for judged in dict.fromkeys([*found.demo_lacks, *wanted]):
        rows.setdefault((judged.found, _write_remedy(judged)), []).append(judged)
    for (seen, remedy), group in rows.items():
        wishes = [wish for judged in group for wish in wanted.get(judged, ["the demo"])]
        text = f"{seen}; needed for {', '.join(dict.fromkeys(wishes))}"
        yield _write_entry(", ".join(judged.what for judged in group), text, remedy)


def _list_wanted(found: "Examination") -> "dict[Judgement, list[str]]":
    """What is missing, with who wants it and why; what a part cannot do without comes first."""
    by_family = sorted(found.parts, key=lambda each: FAMILIES.index(each.family))
    missing = [
        (part, need)
        for part in by_family
        for need in part.needs
        if need.judgement.state == "missing"
    ]
    wanted: dict[Judgement, list[str]] = {}
    for part, need in sorted(missing, key=lambda pair: pair[1].optional):
        wish = need.why if need.optional else f"the {part.family} {part.name}"
        wish = f"`stithy {part.name}`" if part.family == "command" else wish
        wanted.setdefault(need.judgement, []).append(wish)
    return wanted


def _write_remedy(judged: "Judgement") -> str:
    return f"→ {judged.remedy}" if judged.remedy else "→ no fix is known"


def _describe(judged: "Judgement") -> str:
    return _write_entry(judged.what, judged.found, _write_remedy(judged))


def _write_present(found: "Examination") -> Iterator[str]:
    for family in FAMILIES:
        parts = [part for part in found.parts if part.family == family]
        yield _write_entry(f"{family}s", ", ".join(_name_part(part) for part in parts))
    seen = dict.fromkeys(
        f"{need.judgement.what} {need.judgement.found}"
        for part in found.parts
        if part.family != "engine"
        for need in part.needs
        if need.judgement.state == "there"
        and need.judgement.found[:1].isdigit()
        and " " not in need.judgement.what
    )
    programs = sorted(seen, key=lambda each: not each.startswith(OWN_PREFIX))
    yield _write_entry("programs", ", ".join(programs))
    kernel = [
        judgement for judgement in found.checks.get("kernel", ()) if judgement.state == "there"
    ]
    yield _write_entry(
        "kernel", ", ".join(_name_feature(judgement) for judgement in kernel) or "nothing of use"
    )
    if absent := [
        judgement.what
        for judgement in found.checks.get("kernel", ())
        if judgement.state == "absent"
    ]:
        yield _write_entry(
            "not here", f"{', '.join(absent)} (needed only where a line above says so)"
        )
    for name, judged in found.checks.items():
        if name != "kernel":
            for judgement in judged:
                if judgement.state in ("there", "unknown"):
                    yield _write_entry(
                        judgement.what,
                        judgement.found + (f": {judgement.remedy}" if judgement.remedy else ""),
                    )


def _name_part(part: "ExaminedPart") -> str:
    if not part.works:
        return f"{part.name} (not here)"
    if part.family == "engine":
        return f"{part.name} {part.needs[0].judgement.found}"
    return part.name


def _name_feature(judged: "Judgement") -> str:
    if judged.what == "Linux":
        return f"Linux {judged.found}"
    if judged.what == "control groups":
        return f"control groups of {judged.found.partition(':')[0]}"
    return judged.what
