"""What all end-to-end tests share: a real `stithy`, ended and cleaned whatever happens."""

from collections.abc import Iterator

import pytest

from support.finished import Finished, finished_run


@pytest.fixture(scope="session")
def finished() -> Iterator[Finished]:
    """One whole run for all who only look; whoever writes into it copies it before."""
    with finished_run() as run:
        yield run
