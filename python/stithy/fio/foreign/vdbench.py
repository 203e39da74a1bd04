"""A parameter file of Vdbench as a profile: a run definition is a pattern, its workloads streams.

A thread of Vdbench waits for its one request. At random places, threads are jobs of one synchronous
request each; in sequence they take turns at one stream, so one job keeps as many outstanding.
Threads are those of one volume; how many volumes there are, the study decides.
Source: Vdbench Users Guide, versions 5.03 to 5.04.07.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import partial
from itertools import product
from typing import Any, TypeVar

from stithy.fio.foreign import lines, vdbfile
from stithy.fio.foreign.lines import Reader, Word, block_size, parse_count, parse_number, percent
from stithy.fio.foreign.vdbfile import FLAGS, KEEP, KEEP_RUN, Definition, read_definitions
from stithy.fio.profile import IoProfile, Pattern, Stream, round_percents
from stithy.names import suggest_instead, tell_apart

T = TypeVar("T")
NOTHING = Word("", 0)
NONE: dict[str, float] = {}
THREADS = 8
"""What Vdbench gives a storage definition that does not say."""

CURVE = ("10%", "50%", "70%", "80%", "90%", "100%")
"""Shares of the maximum that Vdbench measures where `curve` does not say."""

SKEW_ERROR = 0.0001
"""How far skews may miss 100, as in Vdbench."""

DIRECT = "direct I/O, for which openflags do not ask"
OWN_RATE = "unless the study gives `rate`"
TAKE_TURNS = "asynchronous, because Vdbench's threads take turns at one stream"
VOLUMES = "`volumes`, which have these threads each"


def translate(text: str, name: str, reader: Reader) -> IoProfile | None:
    """The profile; None where nothing is run."""
    definitions = read_definitions(text, reader)
    named = [item for item in definitions if item.kind == "rd" and item.name != "default"]
    runs = [VdbenchRun(run, definitions, reader) for run in named]
    patterns = [pattern for run in runs for pattern in run.read_patterns()]
    if reader.problems or not patterns:
        return None
    names = zip(patterns, tell_apart(pattern.name for pattern in patterns), strict=True)
    renamed = tuple(pattern.model_copy(update={"name": name}) for pattern, name in names)
    title = f"Parameter file {name}.vdb"
    return IoProfile(name=lines.make_profile_name(name), title=title, patterns=renamed)


class VdbenchRun:
    """A run definition, with its workloads and the rates that it asks for."""

    def __init__(self, run: Definition, definitions: Sequence[Definition], reader: Reader) -> None:
        self._name, self._line, self._words, self._reader = run.name, run.line, run.words, reader
        self._general, self._definitions = definitions[0].words, definitions
        self._works = tuple(self._read_workloads())
        self._rates = self._read_rates()

    def read_patterns(self) -> Iterator[Pattern]:
        """A pattern for each combination of the values of its words; several are in its name."""
        axes = []
        for key, parse in vdbfile.SWEEPS.items():
            points: list[tuple[str, Any]] = self._reader.read_value(self._words.get(key), parse, [])
            is_swept = len(points) > 1
            axes += [[(label * is_swept, key, value) for label, value in points]] if points else []
        for chosen in product(*axes) if self._works else ():
            name = "-".join(filter(None, (self._name, *(label for label, _, _ in chosen))))
            pattern = self._read_pattern(name, {key: value for _, key, value in chosen})
            if pattern is not None:
                yield pattern

    def _refuse(self, problem: str, remedy: str = KEEP_RUN) -> None:
        self._reader.refuse(self._line, f"rd={self._name}: {problem}", remedy)

    def _read_workloads(self) -> Iterator[Definition]:
        """Those that it names, or the default one; on its own storage or theirs."""
        named, place = self._words.get("wd"), self._words.get("sd")
        if named is None and place is None:
            self._refuse("no workload definition is run", "name workloads (wd=) or storage (sd=)")
            return
        default = Definition("wd", self._name, self._line)
        for item in self._definitions:
            if named is None and (item.kind, item.name) == ("wd", "default"):
                default.words = item.words
        for work in self._select(named, "wd") if named else [default]:
            storage = place or work.words.get("sd", Word("*", work.line, "sd"))
            yield replace(work, storage=self._select(storage, "sd"))

    def _select(self, word: Word, kind: str) -> list[Definition]:
        """The definitions that a word names: `(sd1,sd3-sd5,log*)`, or `single` ones by turns."""
        among = {item.name: item for item in self._definitions if item.kind == kind}
        among.pop("default", None)
        by_turns = kind == "sd" and re.fullmatch(r"single|range|setsof\d+", word.text)
        chosen: dict[str, Definition] = {}
        for name in ["*"] if by_turns else vdbfile.list_names(word.text):
            hits = {item: among[item] for item in among if is_named(among[item], name)}
            if among and not hits:
                remedy = suggest_instead(name, list(among))
                self._reader.refuse(word.line, f"{word.written}: nothing is called {name}", remedy)
            chosen |= hits
        is_several = kind == "sd" and len(chosen) > 1
        self._reader.note(word, *(("study", VOLUMES) if is_several else ("used", "")))
        return list(chosen.values())

    def _read_rates(self) -> tuple[float | str, ...]:
        """As a study writes them; none where requests go as fast as they can."""
        word, changes = self._words.get("iorate"), self._words.get("distribution", NOTHING)
        if word is None:
            self._refuse("it has no rate", "write iorate=max")
            return ()
        if re.search(r"\b(?:v|sp)", changes.text):
            self._refuse(f"{changes.written}: its rate changes")
            return ()
        text, rates = word.text.lower(), list[float]()
        if text != "max":
            is_curve = text == "curve"
            rates = self._reader.read_value(
                self._words.get("curve") if is_curve else word, vdbfile.parse_rates, rates
            )
        self._reader.note(word, "used", OWN_RATE if text != "max" else "")
        return tuple(rates if text != "curve" else [f"{rate:g}%" for rate in rates] or CURVE)

    def _read_pattern(self, name: str, point: Mapping[str, Any]) -> Pattern | None:
        skews, streams = self._read_skews(), []
        names = tell_apart(work.name for work in self._works)
        places = [{place.name for place in work.storage} for work in self._works]
        # Without skew or rate, workloads on storage of their own do not wait for each other.
        is_free = places.count(places[0]) < len(places)
        is_free &= not any("skew" in work.words for work in self._works)
        if is_free and any(isinstance(rate, str) for rate in self._rates):
            self._refuse("a curve of workloads on storage of their own, without skew")
        for at, work in enumerate(self._works):
            members = [other for other, place in enumerate(places) if place & places[at]] or [at]
            if any(places[other] != places[at] for other in members):
                self._refuse("workloads share some of their storage, and not all of it")
            threads = self._ask(work, point, "threads", vdbfile.parse_threads, THREADS)
            if len(members) > threads:
                self._refuse(f"{len(members)} workloads share {threads} threads")
                return None
            depths = divide(threads, [skews[member] for member in members])
            stream = self._read_stream(work, depths[members.index(at)], point)
            if len(places) > 1 and (self._rates or not is_free):
                stream["weight"] = skews[at]
            streams.append({"name": names[at], **stream})
        if None in [self._reader.make_part(Stream, self._line, stream) for stream in streams]:
            return None
        value, general = self._reader.read_value, self._general
        saved = value(general.get("compratio"), vdbfile.parse_saved, 0.0)
        return self._reader.make_part(Pattern, self._line, {
            "name": lines.make_profile_name(name), "streams": streams, "rates": self._rates,
            "compressible_share": point.get("compratio", saved),
            "duplicate_share": value(general.get("dedupratio"), vdbfile.parse_saved, 0.0),
        })  # fmt: skip

    def _read_skews(self) -> list[float]:
        """Percent of the requests of each workload; those without skew divide what remains."""
        words = [work.words.get("skew") for work in self._works]
        skews = [self._reader.read_value(word, parse_number, 0.0) for word in words]
        rest, missing = 100 - sum(skews), skews.count(0.0)
        if abs(rest) > SKEW_ERROR and (not missing or rest < 0):
            remedy = "Vdbench refuses it, too: correct the skew, or run all workloads of it"
            self._refuse(f"skews add up to {100 - rest:g}, not to 100", remedy)
        return [skew or max(rest, 1.0) / missing for skew in skews]

    def _ask(
        self, work: Definition, point: Mapping[str, Any], key: str,
        parse: Callable[[str], T], default: T,
    ) -> T:  # fmt: skip
        """What a word says: that of the run, of the workload, or of all its storage."""
        word, storage = work.words.get(key), work.storage
        words = [word] if word or not storage else [place.words.get(key) for place in storage]
        values: list[T] = [point[key]] if key in point else []
        values = values or [self._reader.read_value(word, parse, default) for word in words]
        if any(value != values[0] for value in values):
            problem = f"{key} differs among the storage of {work.name}: volumes are used alike"
            self._reader.refuse(work.line, problem, KEEP)
        return values[0]

    def _read_stream(
        self, work: Definition, depth: int, point: Mapping[str, Any]
    ) -> dict[str, Any]:
        ask, words = partial(self._ask, work, point), work.words
        reads = ask("rdpct", percent, 1.0)
        sizes = ask("xfersize", vdbfile.parse_sizes, {"4K": 1.0})
        if "rdpct" not in point and words.get("rdpct", NOTHING).key.startswith("w"):
            reads = round(1 - reads, 9)
        exact, jobs = ask("seekpct", vdbfile.parse_seek, 1.0), ask("streams", parse_count, 1)
        at_random = round(exact, 2)
        if at_random and jobs > 1:
            self._refuse("several streams at random places")
        align = ask("align", block_size, "") if at_random else ""
        # In sequence threads take turns, and fio keeps only a single submitter in order.
        jobs, iodepth = (depth, 1) if at_random else (jobs, -(-depth // jobs))
        rounded = f"as {at_random:.0%}: fio knows whole percents" if at_random != exact else ""
        seek = self._words.get("seekpct") or words.get("seekpct")
        if seek and (rounded or iodepth > 1):
            self._reader.note(seek, "used", rounded or TAKE_TURNS)
        flags = self._words.get("openflags")
        synced = self._reader.read_value(flags, vdbfile.is_synced, False)
        opened = {"openflags": synced} if flags else {}
        syncs = self._ask(work, opened, "openflags", vdbfile.is_synced, False)
        for place in work.storage:
            word = flags or words.get("openflags") or place.words.get("openflags", NOTHING)
            if "direct" not in map(FLAGS.get, vdbfile.list_items(word.text.lower())):
                self._reader.note(Word(place.name, place.line, "sd"), "study", DIRECT)
        mixes = {"read_sizes": reads, "write_sizes": 1 - reads}
        return {
            "read_share": reads, "random_share": at_random, "jobs": jobs, "iodepth": iodepth,
            "submission": "sync" if iodepth == 1 else "async",
            "region": ask("range", vdbfile.parse_range, NONE),
            "sync": "dsync" if syncs and reads < 1 else "none",
            "options": {"ba": align} if align else {},
            **{key: sizes for key, share in mixes.items() if share > 0},
        }  # fmt: skip


def is_named(definition: Definition, name: str) -> bool:
    """Whether a name, or its part before a `*`, is meant; `count` puts numbers behind its own."""
    counted = re.escape(definition.name) + r"\d+" if "count" in definition.words else "$."
    return fnmatchcase(definition.name, name) or re.fullmatch(counted, name) is not None


def divide(threads: int, weights: Sequence[float]) -> list[int]:
    """Threads by weight, at least one for each."""
    free = threads - len(weights)
    shares = round_percents([weight / sum(weights) for weight in weights])
    extra = [free * share // 100 for share in shares]
    extra[extra.index(max(extra))] += free - sum(extra)
    return [1 + more for more in extra]
