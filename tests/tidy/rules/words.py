"""Words: foreign ones, promises without an owner, what only one machine knows, silenced checkers.

The words not used stand in `docs/words.md`, each with the one to use instead.
"""

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from tidy.project import Finding, Project, Rule, Source

LIST = "docs/words.md"
HEADING = "## Words that are not used\n"
IN_TEXTS = "## Words that are not used in documents and help\n"
ROW = re.compile(r"^\| `(?P<word>[^`]+)` \| (?P<instead>[^|]+?) \|")
PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
# Comments and texts of Rust, which may name a foreign word in order to explain it.
RUST_PROSE = re.compile(r'//[^\n]*|"(?:[^"\\]|\\.)*"')


def words_below(project: Project, heading: str) -> dict[str, str]:
    """From the list: a word as written, and what to use instead."""
    table = project.sources[LIST].text.partition(heading)[2].partition("\n## ")[0]
    rows = [match for line in table.splitlines() if (match := ROW.match(line))]
    return {row["word"]: row["instead"] for row in rows}


def foreign_word(name: str, foreign: dict[str, str]) -> str | None:
    """The foreign word that a name is made with, if any: `tpcc_run`, `TpccRun`, `run-tpc-c`."""
    parts = [part.lower() for part in PARTS.findall(name)]
    joined = [*parts, *("".join(pair) for pair in zip(parts, parts[1:], strict=False))]
    return next((part for part in joined if part in foreign), None)


def identifiers(source: Source) -> Iterator[tuple[int, str]]:
    """Every name in a source of code, with its line."""
    if source.path.endswith(".py"):
        for node in source.nodes:
            for attribute in ("id", "name", "arg", "attr"):
                name = getattr(node, attribute, None)
                if isinstance(name, str) and not isinstance(node, ast.alias):
                    yield getattr(node, "lineno", 1), name
    elif source.path.endswith((".rs", ".sql")):
        for number, line in enumerate(source.lines, 1):
            for name in re.findall(r"[A-Za-z_]\w*", RUST_PROSE.sub("", line)):
                yield number, name


def path_parts(source: Source) -> Iterator[tuple[int, str]]:
    """The names of a source and of its folders."""
    return ((1, part) for part in source.path.split("/"))


def only_our_words(
    project: Project, names: Callable[[Source], Iterable[tuple[int, str]]]
) -> Iterator[Finding]:
    """No such name of any source is made with a word from the list, in whatever letters."""
    listed = words_below(project, HEADING).items()
    foreign = {re.sub(r"\W", "", word).lower(): instead for word, instead in listed}
    words: dict[str, str | None] = {}
    for source in project.sources.values():
        for line, name in names(source):
            if name not in words:
                words[name] = foreign_word(name, foreign)
            if word := words[name]:
                yield source.found(line, f"{name!r} uses {word!r}", f"say {foreign[word]}")


def command_help(source: Source) -> Iterator[tuple[int, str]]:
    """The docstrings of commands and of their options, which help shows, each with its line."""
    for node in source.nodes:
        if isinstance(node, ast.FunctionDef) and "-----" in (ast.get_docstring(node, False) or ""):
            yield node.body[0].lineno, ast.get_docstring(node, False) or ""
        if isinstance(node, ast.ClassDef) and any(map(_is_parameter, node.decorator_list)):
            for each in node.body:
                match each:
                    case ast.Expr(value=ast.Constant(value=str(text))):
                        yield each.lineno, text


def _is_parameter(decorator: ast.expr) -> bool:
    return ast.unparse(decorator).startswith("Parameter(")


DOCUMENTS = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/")
HELP = ("python/stithy/cli/", "python/stithy/study/", "python/stithy/storage/")
CODE_FONT = re.compile(r"^```.*?^```|`[^`\n]*`", re.DOTALL | re.MULTILINE)


def texts_for_people(project: Project) -> Iterator[tuple[Source, int, str]]:
    """Documents, docstrings of commands, help of options and keys; each with its first line."""
    for source in project.under(*DOCUMENTS, suffix=".md"):
        if source.path != LIST:
            yield source, 1, source.text
    for source in project.under(*HELP, suffix=".py"):
        yield from ((source, line, text) for line, text in command_help(source))
        for node in source.nodes:
            match node:
                case ast.keyword(arg="help" | "description", value=ast.Constant(value=str(text))):
                    yield source, node.value.lineno, text


def standard_words_for_people(project: Project) -> Iterator[Finding]:
    """No document or help has a word that only this project would understand, but in code font."""
    private = words_below(project, IN_TEXTS)
    words = "|".join(re.escape(word).replace(r"\ ", r"\s+") for word in private)
    pattern = re.compile(rf"\b({words})(?:s|ed|ing)?\b", re.IGNORECASE)
    for source, first, text in texts_for_people(project):
        plain = CODE_FONT.sub(lambda code: "\n" * code[0].count("\n"), text)
        for match in pattern.finditer(plain):
            line = first + plain.count("\n", 0, match.start())
            instead = private[" ".join(match[1].lower().split())]
            yield source.found(line, f"{match[0]!r} is not a standard term", f"write {instead}")


# Promises, written in two halves so that this file keeps its own rule; paths of somebody's machine
# and hosts of package registries; each with what is wrong and the remedy.
PROMISES = (
    re.compile(r"\b(?:" + "TO" + "DO|FIX" + "ME|XX" + r"X)\b"),
    "is a promise", "do it now or open an issue",
)  # fmt: skip
PRIVATE = (
    re.compile(
        r"(?<![\w.<])/(?:work|root|home/\w+)/"
        r"|https?://[^\s/]*(?:pypi|pythonhosted|crates\.io|deb\.debian)|--(?:extra-)?index-url"
    ),
    "exists on one machine or is one site's choice", "leave it out, or make it an argument",
)  # fmt: skip


def nowhere(
    project: Project, pattern: re.Pattern[str], problem: str, remedy: str
) -> Iterator[Finding]:
    """Every line of the project with something that may stand in none."""
    for source in project.sources.values():
        for number, line in enumerate(source.lines, 1):
            if match := pattern.search(line):
                yield source.found(number, f"{match[0]!r} {problem}", remedy)


# The folders, the suffix, a suppression without a reason, and how one looks with it.
OURS = ("python/", "tests/", "tools/", "benches/")
SUPPRESSIONS = (
    (OURS, ".py", r"#\s*noqa(?!: [A-Z]+\d+(?:, ?[A-Z]+\d+)* \S)", "# noqa: E501 why"),
    (OURS, ".py", r"#\s*type: ignore(?!\[[\w-]+(?:, ?[\w-]+)*\] +# \S)",
     "# type: ignore[code]  # why"),
    (("crates/",), ".rs", r"#!?\[(?:allow|expect)\((?![^\]]*reason)(?!.*// )",
     '#[expect(…, reason = "why")]'),
)  # fmt: skip


def suppressions_have_reasons(project: Project) -> Iterator[Finding]:
    """Whoever silences a checker says which message and why, at the same place."""
    for folders, suffix, pattern, example in SUPPRESSIONS:
        bare = re.compile(pattern)
        for source in project.under(*folders, suffix=suffix):
            for match in bare.finditer(source.text):
                line = source.text.count("\n", 0, match.start()) + 1
                problem = "a checker is silenced without a reason"
                yield source.found(line, problem, f"write {example}")


_WORDS = {LIST: f"{HEADING}\n| `TPC-C` | order-entry |\n"}
_PRIVATE = {LIST: f"{IN_TEXTS}\n| `missed start` | suppressed arrival |\n| `told` | shown |\n"}

RULES = (
    Rule("only our words in identifiers", partial(only_our_words, names=identifiers),
         breaks=_WORDS | {"crates/hammer/src/a.rs": "//! A.\nfn run_tpcc() {}\n"},
         keeps=_WORDS | {"crates/hammer/src/a.rs": "//! As TPC-C has it.\nfn run() {}\n"}),
    Rule("only our words in file names", partial(only_our_words, names=path_parts),
         breaks=_WORDS | {"studies/tpc-c.yaml": "study: x\n"},
         keeps=_WORDS | {"studies/order-entry.yaml": "study: tpcc\n"}),
    Rule("standard words in documents", standard_words_for_people,
         breaks=_PRIVATE | {"docs/a.md": "Missed\nstarts count.\n"},
         keeps=_PRIVATE | {"docs/a.md": "See `missed_starts` and `told`.\n"}),
    Rule("standard words in help", standard_words_for_people,
         breaks=_PRIVATE | {"python/stithy/study/a.py": 'A = Parameter(help="It is told.")\n'},
         keeps=_PRIVATE | {"python/stithy/study/a.py": '"""It is told."""\n'}),
    Rule("no promises", lambda project: nowhere(project, *PROMISES),
         breaks={"python/stithy/a.py": "# " + "TO" + "DO: later\n"},
         keeps={"python/stithy/a.py": "# to do it later would lose the count\n"}),
    Rule("nothing of one machine", lambda project: nowhere(project, *PRIVATE),
         breaks={"docs/a.md": "see /" + "work/main\n"},
         keeps={"docs/a.md": "see work/main and ./work/a\n"}),
    Rule("suppressions have reasons", suppressions_have_reasons,
         breaks={"python/stithy/a.py": "x = 1  # " + "noqa: E501\n"},
         keeps={"python/stithy/a.py": "x = 1  # " + "noqa: E501 a table\n",
              "crates/hammer/src/a.rs": '#[allow(\n    dead_code,\n    reason = "why"\n)]\n'}),
)  # fmt: skip
