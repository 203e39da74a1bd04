"""The pages that are looked at, and the browser that looks."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.browser import Browser, Look, Tab, tab
from support.looking import enliven
from support.pages import CROWD, USUAL, write_page


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """One browser for all tests."""
    started = Browser(tmp_path_factory.mktemp("profile"))
    yield started
    started.close()


@pytest.fixture(scope="session")
def usual(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a run with nearly everything that a page can have."""
    return write_page(tmp_path_factory.mktemp("usual"), USUAL)


@pytest.fixture(scope="session")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of ten candidates, some with names that nobody expects."""
    return write_page(tmp_path_factory.mktemp("crowd"), CROWD)


@contextmanager
def _alive(browser: Browser, page: Path) -> Iterator[Tab]:
    with tab(browser, Look()) as opened:
        opened.open(page)
        enliven(opened)
        yield opened


@pytest.fixture(scope="session")
def live(browser: Browser, usual: Path) -> Iterator[Tab]:
    """The usual page with every figure interactive; who uses it leaves it as it was."""
    with _alive(browser, usual) as opened:
        yield opened


@pytest.fixture(scope="session")
def crowded(browser: Browser, crowd: Path) -> Iterator[Tab]:
    """The page of ten candidates likewise."""
    with _alive(browser, crowd) as opened:
        yield opened


@pytest.fixture
def pictures(pytestconfig: pytest.Config) -> Path | None:
    """Where pictures are wanted, None where they are not."""
    if not (named := pytestconfig.getoption("--pictures")):
        return None
    Path(named).mkdir(parents=True, exist_ok=True)
    return Path(named)
