"""The project as the rules see it: texts by path, syntax trees on demand, and what a rule finds.

Rules are pure functions of a `Project`, so that each can be shown a small broken one.
"""

import ast
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

# Made by tools or by running, never written by people.
SKIPPED_FOLDERS = {
    ".git", ".venv", "target", "runs", "dist", "__pycache__",
    ".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis",
}  # fmt: skip
SOURCES = {".py", ".rs", ".sql", ".md", ".toml", ".yaml", ".yml", ".html", ".css", ".js", ".sh", ""}
GENERATED = {"Cargo.lock", "LICENSE"}
# Outputs and inputs of programs, some broken on purpose: they keep no style.
CAPTURED = ("tests/golden/", "tests/data/", "benches/results/")

Finding = str
"""One place that breaks a rule: `path:line: problem, remedy`, as editors and people read it."""


@dataclass(frozen=True)
class Source:
    """One text file; `path` is relative to the root, with slashes."""

    path: str
    text: str

    @cached_property
    def lines(self) -> list[str]:
        """Its lines, without their ends."""
        return self.text.splitlines()

    @cached_property
    def tree(self) -> ast.Module:
        """Its syntax tree; only for Python."""
        return ast.parse(self.text, self.path)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """All nodes of the tree."""
        return list(ast.walk(self.tree))

    def found(self, place: int | ast.stmt | ast.expr, problem: str, remedy: str) -> Finding:
        """A finding at a line, or where a node begins."""
        line = place if isinstance(place, int) else place.lineno
        return f"{self.path}:{line}: {problem}, {remedy}"


@dataclass(frozen=True)
class Project:
    """All texts of the project, by path."""

    sources: Mapping[str, Source]

    def under(self, *prefixes: str, suffix: str = "") -> Iterator[Source]:
        """The sources whose path starts with one of the prefixes and ends with the suffix."""
        for path, source in self.sources.items():
            if path.startswith(prefixes) and path.endswith(suffix):
                yield source

    def package(self) -> Iterator[Source]:
        """The Python modules of the program itself."""
        return self.under("python/stithy/", suffix=".py")

    def has(self, path: str) -> bool:
        """Whether a file, or a folder with files in it, is there."""
        wanted = path.rstrip("/")
        return wanted in self.sources or any(each.startswith(wanted + "/") for each in self.sources)


Check = Callable[[Project], Iterable[Finding]]


@dataclass(frozen=True)
class Rule:
    """What is demanded and how it is checked; it must find something in `breaks`, none in `keeps`.

    Both are texts by path: the smallest projects that tell it apart.
    """

    demand: str
    check: Check
    breaks: Mapping[str, str]
    keeps: Mapping[str, str]


def project_of(texts: Mapping[str, str]) -> Project:
    """A project made of texts by path."""
    return Project({path: Source(path, text) for path, text in texts.items()})


def read_project(root: Path) -> Project:
    """The project on disk; what is no text is known by its path and has an empty text."""
    texts = {}
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in SKIPPED_FOLDERS)
        # In a further work tree of Git `.git` is a file.
        for name in sorted({*files} - SKIPPED_FOLDERS):
            path = Path(folder, name)
            place = path.relative_to(root).as_posix()
            captured = place.startswith(CAPTURED) and path.suffix != ".py"
            written = path.suffix in SOURCES and name not in GENERATED and not captured
            texts[place] = path.read_text() if written else ""
    return project_of(texts)
