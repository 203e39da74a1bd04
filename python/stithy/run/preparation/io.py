"""What windows of fio rest on beside the machine: fio's version, the user's profiles and traces.

The name of a file is in the study; what it holds is not, and may be another thing tomorrow.
"""

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from stithy.errors import StithyError
from stithy.fio import library, program
from stithy.hosts.runner import Runner
from stithy.study.model import Study

HASH_DIGITS = 16


def io_facts(study: Study, runner: Runner) -> dict[str, str]:
    """`fio` with its version, and `profile.mine.toml` with a hash; empty without windows of fio.

    A fio that is missing or does not start is another check's to tell; it has no version here.
    """
    names = _profile_names(study)
    if not names:
        return {}
    found = {}
    with suppress(StithyError):
        found["fio"] = program.find(runner).version
    for files in map(library.own_files, names):
        if files:
            found[f"profile.{files[0]}"] = _hash(files)
    return found


def word_tables(study: Study) -> Iterator[str]:
    """What becomes of the words of other tools' files among the profiles, a table for each file."""
    by_file = {library.own_files(name): name for name in _profile_names(study)}
    for files, name in by_file.items():
        if lines := library.find(name).words:
            yield "\n  ".join([f"What becomes of the words of {files[0]}:", *lines])


def _profile_names(study: Study) -> list[str]:
    specs = (variant.scenario.spec for variant in study.variants)
    return list(dict.fromkeys(n for spec in specs for n in getattr(spec, "io_profiles", ())))


def _hash(files: Iterable[Path]) -> str:
    """Hexadecimal digits of all that they hold, one after the other."""
    whole = hashlib.sha256()
    for each in files:
        with each.open("rb") as file:
            hashlib.file_digest(file, lambda: whole)
    return whole.hexdigest()[:HASH_DIGITS]
