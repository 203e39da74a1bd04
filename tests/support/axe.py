"""axe-core's judgement of a page: which rules of accessibility it breaks, and where.

axe-core (MPL-2.0) lies in a wheel that is installed for tests alone (`requirements/axe.lock`).
"""

from functools import cache
from importlib.util import find_spec
from pathlib import Path

from support.browser import Tab

PACKAGE = "axe_playwright_python"


def script() -> Path | None:
    """Where axe-core is, None where it is not installed."""
    found = find_spec(PACKAGE)
    places = found.submodule_search_locations if found else None
    return Path(places[0]) / "axe.min.js" if places else None


@cache
def _source() -> str:
    place = script()
    assert place is not None, "needs the mark needs_browser"
    return place.read_text(encoding="utf-8")


def violations(page: Tab) -> list[str]:
    """Each rule that the page breaks as it is now, with what breaks it."""
    if not page.ask("'axe' in globalThis"):
        page.ask(f"void function () {{ {_source()} }}.call(globalThis)")
    asked = "axe.run(document, {resultTypes: ['violations']}).then(result => result.violations)"
    found = page.ask(asked)
    return [f"{each['id']}: {each['help']}: {_where(each['nodes'])}" for each in found]


def _where(nodes: list[dict[str, list[str]]]) -> str:
    shown = [str(node["target"][0]) for node in nodes[:5]]
    return f"{len(nodes)} × {'; '.join(shown)}"
