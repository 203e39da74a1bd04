"""Several engines in one study: the key that lists them, and what it has for each of them."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from stithy.engines.engine import Engine
from stithy.names import suggest_instead
from stithy.registry import plugins
from stithy.study.agents import find_agent_problems
from stithy.study.database import find_refused_settings, is_by_engine, select_settings
from stithy.study.network import find_network_problems
from stithy.study.problems import Loc, Violation

if TYPE_CHECKING:
    from stithy.study.model import Study

ENGINE = "database.engine"
"""The factor of a study that compares engines."""

SETTINGS = "database.settings."
"""How the keys of settings begin."""


def drop_other_engines(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Drop what is of other engines than its own from a study, as written."""
    database = data.get("database")
    if not isinstance(database, Mapping):
        return data
    engine, programs = database.get("engine"), database.get("programs")
    if isinstance(programs, Mapping):
        database = {**database, "programs": programs.get(engine)}
    placed = {**data, "database": database}
    for loc, section in list_settings_sections(placed):
        if is_by_engine(section["settings"]):
            settings = select_settings(section["settings"], str(engine))
            placed = _replace_section(placed, loc, {**section, "settings": settings})
    return placed


def list_settings_sections(data: Mapping[str, Any]) -> Iterator[tuple[Loc, Mapping[str, Any]]]:
    """The database and the candidates, as written, that have settings, each with its place."""
    candidates = data.get("candidates")
    every: dict[Loc, Any] = {("database",): data.get("database")}
    if isinstance(candidates, Mapping):
        every |= {("candidates", name): each for name, each in candidates.items()}
    for loc, section in every.items():
        if isinstance(section, Mapping) and isinstance(section.get("settings"), Mapping):
            yield loc, section


def _replace_section(data: dict[str, Any], loc: Loc, section: Mapping[str, Any]) -> dict[str, Any]:
    first, *rest = loc
    value = _replace_section(dict(data[str(first)]), tuple(rest), section) if rest else section
    return {**data, str(first): value}


def find_engine_problems(study: "Study", data: Mapping[str, Any]) -> Iterator[Violation]:
    """What does not fit the engines of a study, read from `data`, each at its place."""
    if study.given_database is None:
        return
    for name, candidate in study.candidates.items():
        for wrong in find_refused_settings(study.database.engine, candidate.settings):
            yield wrong._replace(loc=("candidates", name, "settings", *wrong.loc))
    known = list(plugins(Engine))
    unknown = [(i, name) for i, name in enumerate(study.engines) if name not in known]
    for i, name in unknown:
        right = suggest_instead(name, known)
        yield Violation("not a database engine", right, name, ("vary", ENGINE, i))
    if unknown:
        return
    yield from (*find_agent_problems(study), *find_network_problems(study))
    own = study.database.engine
    if own not in study.engines:
        what, right = "engines without the study's own", f"add {own}, or correct `{ENGINE}`"
        yield Violation(what, right, list(study.engines), ("vary", ENGINE))
    engines = (own, *(name for name in study.engines if name != own))
    for loc, section in list_settings_sections(data):
        for wrong in _find_misfits(engines, section["settings"]):
            yield wrong._replace(loc=(*loc, "settings", *wrong.loc))
    programs, place = data["database"].get("programs"), ("database", "programs")
    if isinstance(programs, Mapping):
        for wrong in _find_strangers(engines, programs):
            yield wrong._replace(loc=(*place, *wrong.loc))
    elif programs is not None and len(engines) > 1:
        right = f"give them by engine, such as `{{{engines[0]}: {programs}}}`"
        yield Violation("programs that do not say of which engine", right, programs, place)
    if len(study.engines) == 1:
        return
    if because := study.scenario.plugin.explain_one_engine(study):
        what, right = f"several engines: {because}", "give each engine a study of its own"
        yield Violation(what, right, list(study.engines), ("vary", ENGINE))
    for key in study.vary:
        if key.startswith(SETTINGS):
            what, right = "a setting beside several engines", "vary it in a study of one engine"
            yield Violation(what, right, key, ("vary", key))


def _find_misfits(engines: tuple[str, ...], settings: Mapping[str, Any]) -> Iterator[Violation]:
    """What of settings, as written, is of no engine, or of one that the study does not have."""
    if is_by_engine(settings):
        yield from _find_strangers(engines, settings)
    elif settings and len(engines) > 1:
        name, value = next(iter(settings.items()))
        right = f"give them by engine, such as `{engines[0]}: {{{name}: {value}}}`"
        yield Violation("settings that do not say of which engine", right, name, (name,))


def _find_strangers(engines: tuple[str, ...], by_engine: Mapping[str, Any]) -> Iterator[Violation]:
    for name in by_engine:
        if name not in engines:
            right = f"leave it out, or list {name} in `vary: {{{ENGINE}: […]}}`"
            yield Violation("an engine that is not in the study", right, name, (name,))
