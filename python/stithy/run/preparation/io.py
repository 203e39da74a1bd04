"""What windows of fio rest on beside the machine: fio's version, its engines, the user's profiles.

The name of a file is in the study; what it holds is not, and may be another thing tomorrow.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from stithy.errors import StithyError
from stithy.fio import library, program
from stithy.fio.profile import Pattern, Profile
from stithy.fio.streamjob import engine_for, submitted
from stithy.hosts.runner import Runner
from stithy.results.comparability import PROFILE, SUBMISSION
from stithy.study.model import Study

HASH_DIGITS = 16


def io_facts(study: Study, runner: Runner) -> dict[str, str]:
    """`fio` with its version, how each pattern is submitted, and `profile.mine.toml` with a hash.

    Empty without windows of fio. A fio that is missing or does not start is another check's to
    tell; it has no version here. Raises PreconditionError where an engine does not work.
    """
    runs = _profiles(study)
    if not runs:
        return {}
    try:
        found = program.find(runner)
    except StithyError:
        facts = {}
    else:
        facts = {"fio": found.version, **_submissions(study, runner, found)}
    for name in dict.fromkeys(name for run in runs for name in run):
        if files := library.own_files(name):
            facts[f"{PROFILE}{files[0]}"] = _hash(files, library.find(name))
    return facts


def _submissions(study: Study, runner: Runner, found: program.Found) -> dict[str, str]:
    """By pattern; where a study varies it, each way that it has."""
    usual, texts = program.async_engine(runner, found), dict[str, dict[str, None]]()
    patterns = list(_patterns(study))
    streams = (stream for _, pattern in patterns for stream in pattern.streams)
    for engine in dict.fromkeys(engine_for(each, usual) for each in streams):
        program.need_engine(runner, found, engine)
    for label, pattern in patterns:
        texts.setdefault(label, {})[submitted(pattern, usual)] = None
    return {f"{SUBMISSION}{label}": " or ".join(each) for label, each in texts.items()}


def profile_tables(study: Study) -> Iterator[str]:
    """How requests are submitted, and what becomes of the words of other tools' files."""
    lines = dict.fromkeys(
        f"{label}, {stream.name}: {stream.submission} by {stream.engine or 'the usual engine'}, "
        f"jobs {stream.jobs}, iodepth {stream.iodepth}"
        for label, pattern in _patterns(study)
        for stream in pattern.streams
    )
    if lines:
        yield "\n  ".join(["How requests are submitted:", *lines])
    for file, words in profile_words(study).items():
        yield "\n  ".join([f"What becomes of the words of {file}:", *words])


def profile_words(study: Study) -> dict[str, tuple[str, ...]]:
    """What becomes of the words of other tools' files, a line for each kind of word."""
    by_file = {library.own_files(name): name for run in _profiles(study) for name in run}
    known = {files: library.find(name).words for files, name in by_file.items()}
    return {str(files[0]): words for files, words in known.items() if words}


def _profiles(study: Study) -> list[Mapping[str, Profile]]:
    """Those that fio runs, as they are run, of each variant."""
    every = (variant.scenario.keys.list_profiles() for variant in study.variants)
    return [profiles for profiles in every if profiles]


def _patterns(study: Study) -> Iterator[tuple[str, Pattern]]:
    """Each with the name that its point has."""
    for run in _profiles(study):
        for name, profile in run.items():
            for pattern in profile.patterns:
                yield name if len(profile.patterns) == 1 else f"{name}/{pattern.name}", pattern


def _hash(files: Iterable[Path], profile: Profile) -> str:
    """Hexadecimal digits of what they hold, and of what variables and other files make of it."""
    whole = hashlib.sha256(profile.model_dump_json(exclude={"words"}).encode())
    for each in files:
        with each.open("rb") as file:
            hashlib.file_digest(file, lambda: whole)
    return whole.hexdigest()[:HASH_DIGITS]
