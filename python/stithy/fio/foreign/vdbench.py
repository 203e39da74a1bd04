"""A parameter file of Vdbench: a run definition is a pattern, its workload definitions streams.

Source: Vdbench Users Guide, version 5.04.
"""

import fnmatch
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from stithy.errors import TextError
from stithy.fio.foreign.lines import Reader, Word, block_size, different, percent
from stithy.fio.profile import Pattern, Profile, Stream, Sync, size_of, size_text
from stithy.fio.shares import whole_percents

DATA = ("compratio", "dedupratio")
KINDS = {
    "sd": ({"threads", "openflags"}, {"lun", "size", "host", "hd", "offset", "align", "hitarea"}),
    "wd": ({"xfersize", "rdpct", "seekpct", "skew", "range", "sd"}, {"host", "hd"}),
    "rd": (
        {"wd", "iorate", "threads", "forthreads", "forrdpct", "forxfersize", "openflags"},
        {"elapsed", "warmup", "interval", "pause", "curve", "stopcurve"},
    ),
    "hd": (set(), {"system", "vdbench", "user", "shell", "jvms", "clients"}),
}
"""Of each definition: what is read, and what a study decides or does not change the load."""

REPORTING = ("messagescan", "data_errors", "histogram", "report", "monitor", "port")
"""Lines that say how Vdbench reports."""

THREADS = 8
"""What Vdbench gives a storage definition that does not say."""

SYNCED = ("o_dsync", "o_sync")
DIRECT = ("o_direct", "directio")
"""Flags of opening: each write is waited for, or as a study opens its target anyway."""

MANY = ("max", "curve")
_PART = re.compile(r"(\w+)=(\([^)]*\)|[^,]*)")


@dataclass(frozen=True)
class _Definition:
    kind: str
    name: str
    line: int
    words: Mapping[str, Word]


def translate(text: str, name: str, reader: Reader) -> Profile | None:
    """The profile; None where nothing is run."""
    data: dict[str, Word] = {}
    known = list(_definitions(text, data, reader))
    patterns = [
        each
        for run in known
        if run.kind == "rd" and run.name != "default"
        for each in _runs(run, known, reader)
    ]
    if not patterns:
        return None
    shares = {
        key: reader.value(data.get(word), _saved, 0.0)
        for key, word in zip(("compressible_share", "duplicate_share"), DATA, strict=True)
    }
    names = different(each.name for each in patterns)
    made = [
        _pattern(called, each, known, shares, reader)
        for called, each in zip(names, patterns, strict=True)
    ]
    if reader.problems:
        return None
    title = f"Parameter file {name}.vdb"
    return Profile(name=different([name])[0], title=title, patterns=tuple(filter(None, made)))


def _saved(text: str) -> float:
    """The share that a ratio saves. Raises TextError."""
    ratio = float(text.partition(":")[0])
    if ratio < 1:
        raise TextError(f"{text!r} is not a ratio of data to what is stored")
    return 1 - 1 / ratio


def _definitions(text: str, data: dict[str, Word], reader: Reader) -> Iterator[_Definition]:
    """Definitions with the words of the `default` of their kind; ratios of the data aside."""
    defaults: dict[str, dict[str, Word]] = {kind: {} for kind in KINDS}
    for number, line in _lines(text):
        parts = [
            (key.lower(), Word(value.strip(), number, key.lower()))
            for key, value in _PART.findall(line)
        ]
        kind, first = parts[0] if parts else (line, Word("", number))
        if kind in DATA:
            data[kind] = first
        elif kind in KINDS:
            words = _known(kind, parts[1:], reader)
            if first.text == "default":
                defaults[kind] |= words
            yield _Definition(kind, first.text, number, {**defaults[kind], **words})
        elif kind in REPORTING:
            reader.note(first, "none")
        else:
            reader.refuse(number, f"a line that no profile has: {kind}", "leave it out")


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines with their numbers: one that ends with a comma goes on, and a blank ends it."""
    begun, first = "", 0
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if not line or line[0] in "*#/":
            continue
        first = first if begun else number
        begun += _without_comment(line)
        if not begun.endswith(","):
            yield first, begun
            begun = ""
    if begun:
        yield first, begun


def _without_comment(line: str) -> str:
    """All up to the first blank that is neither in a list nor before another word."""
    packed = re.sub(r"\s+(?=[^()]*\))", "", line)
    return re.sub(r",\s+(?=\w+=)", ",", packed).split()[0]


def _known(kind: str, parts: list[tuple[str, Word]], reader: Reader) -> dict[str, Word]:
    read, of_the_study = KINDS[kind]
    for key, word in parts:
        if key not in read | of_the_study:
            reader.refuse(word.line, f"a word that no profile has: {kind} {key}", "leave it out")
        reader.note(word, "used" if key in read else "study")
    return {key: word for key, word in parts if key in read}


@dataclass(frozen=True)
class _Run:
    """One of the runs of a definition: its threads, and the words it has for its workloads."""

    name: str
    line: int
    definition: _Definition
    threads: int
    words: Mapping[str, Word]


def _runs(run: _Definition, known: list[_Definition], reader: Reader) -> Iterator[_Run]:
    """A run for each number of threads, block size and share of reads; several are in its name."""
    threads = _threads(run, known, reader)
    sizes = _swept(run, "forxfersize", lambda text: list(map(str.lower, _steps(text))), reader)
    shares = _swept(run, "forrdpct", _steps, reader)
    for count, size, share in product(threads, sizes, shares):
        ends = (count if len(threads) > 1 else "", size or "", share or "")
        name = "-".join(map(str, filter(None, (run.name, *ends))))
        given = {"xfersize": size, "rdpct": share}
        words = {key: Word(text, run.line) for key, text in given.items() if text is not None}
        yield _Run(name, run.line, run, count, words)


def _swept(
    run: _Definition, key: str, parse: Callable[[str], list[str]], reader: Reader
) -> Sequence[str | None]:
    """The values of a sweep; a single None where there is none."""
    return reader.value(run.words.get(key), parse, []) or [None]


def _steps(text: str) -> list[str]:
    """`(4k,8k)`, `(100-0,25)` in equal steps, or `(4k-64k,d)` by doubling. Raises TextError."""
    parts = _list(text)
    first, dash, last = parts[0].partition("-")
    if not dash or not first:
        return parts
    if len(parts) != 2:
        raise TextError(f"{text!r} is not a range with its step")
    if parts[1] == "d":
        return [size_text(each) for each in _doubled(*map(_bytes, (first, last)))]
    begin, end, step = int(first), int(last), abs(int(parts[1]))
    way = 1 if begin <= end else -1
    if not step:
        raise TextError(f"{text!r} has no step")
    return [str(each) for each in range(begin, end + way, way * step)]


def _doubled(begin: int, end: int) -> Iterator[int]:
    while begin <= end:
        yield begin
        begin *= 2


def _bytes(text: str) -> int:
    return size_of(block_size(text))


def _threads(run: _Definition, known: list[_Definition], reader: Reader) -> list[int]:
    """The number of threads, or each of several."""
    rate = run.words.get("iorate")
    if rate is not None and rate.text not in MANY:
        remedy = "write iorate=max, and give the rate in the study"
        reader.refuse(rate.line, f"a rate is not a profile's: iorate={rate.text}", remedy)
    word = run.words.get("forthreads") or run.words.get("threads")
    if word is None:
        storage = [each.words.get("threads") for each in known if each.kind == "sd"]
        word = next(filter(None, reversed(storage)), None)
    return reader.value(word, lambda text: [int(x) for x in _steps(text)], [THREADS])


def _list(text: str) -> list[str]:
    return [each.strip() for each in text.strip("()").split(",")]


def _pattern(
    name: str, run: _Run, known: list[_Definition], shares: dict[str, float], reader: Reader
) -> Pattern | None:
    asked, threads = run.definition.words.get("wd"), run.threads
    wanted = ["*"] if asked is None else _list(asked.text)
    works = [
        replace(each, words={**each.words, **run.words}) for each in _named("wd", wanted, known)
    ]
    if not works:
        reader.refuse(run.line, "no workload definition is run", "name one with wd=")
        return None
    if len(works) > threads:
        reader.refuse(run.line, f"{len(works)} workloads and {threads} threads", "give each one")
        return None
    weights = _weights(works, reader)
    depths = _divided(threads, weights or [1.0] * len(works))
    names = different(each.name for each in works)
    streams = [
        _stream(called, each, depths[i], weights[i] if weights else None,
                _sync(run.definition, each, known, reader), reader)
        for i, (called, each) in enumerate(zip(names, works, strict=True))
    ]  # fmt: skip
    found = [each.model_dump(exclude_unset=True) for each in streams if each is not None]
    if len(found) < len(works):
        return None
    return reader.model(Pattern, run.line, {"name": name, "streams": found, **shares})


def _named(kind: str, wanted: list[str], known: list[_Definition]) -> list[_Definition]:
    """Definitions of a kind whose names fit one of those wanted, which may have `*`."""
    return [
        each for each in known
        if each.kind == kind and each.name != "default"
        and any(fnmatch.fnmatchcase(each.name, one) for one in wanted)
    ]  # fmt: skip


def _sync(run: _Definition, work: _Definition, known: list[_Definition], reader: Reader) -> Sync:
    """By the flags of the run, or else of the storage that the workload is on."""
    asked = work.words.get("sd")
    storage = _named("sd", ["*"] if asked is None else _list(asked.text), known)
    flags = [run.words.get("openflags")]
    flags = flags if flags[0] else [each.words.get("openflags") for each in storage]
    found = {reader.value(each, _opened, "none") for each in flags}
    if len(found) > 1:
        problem = "its storage is opened both with and without syncs"
        reader.refuse(work.line, problem, "give all of its storage the same openflags")
    return "dsync" if "dsync" in found else "none"


def _opened(text: str) -> Sync:
    """`o_direct`, or `(o_direct,o_dsync)`. Raises TextError."""
    flags = list(filter(None, map(str.lower, _list(text))))
    strange = [each for each in flags if each not in (*SYNCED, *DIRECT)]
    if strange:
        raise TextError(f"no profile has the flag {strange[0]!r}")
    return "dsync" if set(flags) & set(SYNCED) else "none"


def _weights(works: list[_Definition], reader: Reader) -> list[float]:
    """Skews; those without one divide what remains. Empty for a single workload."""
    if len(works) == 1:
        return []
    skews = [reader.value(each.words.get("skew"), float, 0.0) for each in works]
    rest = max(0.0, 100 - sum(skews)) / max(1, skews.count(0.0))
    return [each or rest for each in skews]


def _divided(threads: int, weights: list[float]) -> list[int]:
    """Threads by weight, at least one for each."""
    free = threads - len(weights)
    shares = whole_percents([each / sum(weights) for each in weights])
    extra = [free * each // 100 for each in shares]
    extra[extra.index(max(extra))] += free - sum(extra)
    return [1 + each for each in extra]


def _stream(
    name: str, work: _Definition, depth: int, weight: float | None, sync: Sync, reader: Reader
) -> Stream | None:
    words = work.words
    reads = reader.value(words.get("rdpct"), percent, 1.0)
    sizes = reader.value(words.get("xfersize"), _sizes, {"4K": 1.0})
    at_random = reader.value(words.get("seekpct"), _random, 1.0)
    values: dict[str, Any] = {
        "name": name, "read_share": reads, "random_share": at_random,
        "region": reader.value(words.get("range"), _range, _range("(0,100)")),
    }  # fmt: skip
    # Threads wait for their requests. In sequence they take turns at one stream, which fio keeps in
    # order for a single submitter only.
    is_sync = at_random > 0 or depth == 1
    values |= {"jobs": depth if is_sync else 1, "iodepth": 1 if is_sync else depth,
               "submission": "sync" if is_sync else "async"}  # fmt: skip
    if weight is not None:
        values["weight"] = weight
    if reads < 1:
        values["sync"] = sync
    for direction, share in (("read", reads), ("write", 1 - reads)):
        if share > 0:
            values[f"{direction}_sizes"] = sizes
    return reader.model(Stream, work.line, values)


def _random(text: str) -> float:
    words = {"rand": 1.0, "random": 1.0, "seq": 0.0, "sequential": 0.0, "seqnz": 0.0, "eof": 0.0,
             "-1": 0.0}  # fmt: skip
    return words[text] if text in words else percent(text)


def _sizes(text: str) -> dict[str, float]:
    """`8k`, or `(4k,60,8k,40)`. Raises TextError."""
    parts = _list(text)
    if len(parts) == 1:
        return {block_size(parts[0]): 1.0}
    if len(parts) % 2:
        raise TextError(f"{text!r} is not a list of sizes with shares")
    return {block_size(a): percent(b) for a, b in zip(parts[::2], parts[1::2], strict=True)}


def _range(text: str) -> dict[str, float]:
    first, last = map(percent, _list(text))
    return {"offset_share": first, "size_share": round(last - first, 9)}
