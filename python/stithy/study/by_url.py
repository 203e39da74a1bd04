"""What a study with databases by URL may not have: all that says how Stithy starts a server."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from stithy.engines.engine import Engine, get_engine
from stithy.registry import plugins
from stithy.restores.method import RestoreMethod
from stithy.study.problems import Violation
from stithy.study.scenario import Scenario
from stithy.study.sections import CandidateKeys, url_of

if TYPE_CHECKING:
    from stithy.study.model import Study

ELSEWHERE = "the server of a database by URL is not Stithy's"


def misfits(study: "Study", data: Mapping[str, Any]) -> Iterator[Violation]:
    """Each broken rule, at its place in the study, which was read from `data`.

    Candidates of both kinds in one study are refused: they would differ in the server's CPUs and
    memory, in the network, and in who else uses both, and the storage would get the blame.
    """
    urls = {name: url for name, each in study.candidates.items() if (url := url_of(each))}
    if not urls:
        return
    for name in study.candidates:
        if name not in urls:
            what = "a candidate on this machine beside databases by URL"
            right = "compare them in two studies: their servers and networks are not the same"
            yield Violation(what, right, name, ("candidates", name))
        else:
            yield from _check_candidate(study, name, urls[name])
    if not study.scenario.plugin.is_by_url:
        able = [name for name, scenario in plugins(Scenario).items() if scenario.is_by_url]
        what = f"the scenario {study.scenario.name} needs storage that Stithy can see"
        yield Violation(what, f"use {' or '.join(able)}", study.scenario.name, ("scenario",))
    yield from _check_database(study, data)


def _check_candidate(study: "Study", name: str, url: str) -> Iterator[Violation]:
    given = study.candidates[name].spec.model_fields_set & set(CandidateKeys.model_fields)
    for field in sorted(given - {"cost"}):
        key = CandidateKeys.model_fields[field].alias or field
        yield Violation(ELSEWHERE, "leave this key out", key, ("candidates", name, key))
    database = study.given_database
    if database and urlsplit(url).scheme not in plugins(Engine)[database.engine].url_schemes:
        what = f"the URL of another engine than {database.engine}"
        yield Violation(what, "correct `database.engine`", url, ("candidates", name, "url"))


def _check_database(study: "Study", data: Mapping[str, Any]) -> Iterator[Violation]:
    database, given = study.given_database, data.get("database")
    if database is None or not isinstance(given, Mapping):
        return
    if not plugins(Engine)[database.engine].has_remote:
        able = [name for name, engine in plugins(Engine).items() if engine.has_remote]
        what = "an engine that has no databases by URL"
        yield Violation(what, f"use {' or '.join(able)}", database.engine, ("database", "engine"))
    for key in ("memory", "cpus", "programs", "settings"):
        if key in given:
            right = "leave this key out, and set up the server itself"
            yield Violation(ELSEWHERE, right, given[key], ("database", key))
    methods = plugins(RestoreMethod)
    if methods[database.restore].keeps_files:
        engine = get_engine(database.engine)
        able = [
            name
            for name, method in methods.items()
            if not (method.keeps_files or method.explain_refusal(engine))
        ]
        what = f"the restore method {database.restore} needs the server's files"
        right = f"give `restore: {'` or `restore: '.join(able)}`"
        yield Violation(what, right, database.restore, ("database", "restore"))
    for key in study.vary:
        if key.startswith("database."):
            yield Violation(ELSEWHERE, "leave it out", key, ("vary", key))
