"""The map is true: what the documents name exists, and nothing lies about in the root."""

import re
from collections.abc import Iterator
from posixpath import dirname, normpath

from tidy.project import Finding, Project, Rule

MAPS = ("ARCHITECTURE.md", "CONTRIBUTING.md", "README.md", "docs/", "tests/README.md")
HISTORY = "docs/adr/"
"""What a decision record names was there when it was written."""

FOLDERS = ("benches", "crates", "docs", "python", "studies", "tests", "tools", "wire")
NAMED_PATH = re.compile(rf"`((?:{'|'.join(FOLDERS)})/[\w./-]*)`")
NAMED_DOCUMENT = re.compile(r"\b(?:[\w.-]+/)+[\w.-]+\.md\b")
LINK = re.compile(r"\]\((?!https?://|#|mailto:)([^)#\s]+)")

ROOT_FILES = {
    ".containerignore", ".gitignore", "ARCHITECTURE.md", "CHANGELOG.md", "CITATION.cff",
    "CONTRIBUTING.md", "Cargo.lock", "Cargo.toml", "Containerfile", "LICENSE", "Makefile",
    "README.md", "RELEASE.md", "SECURITY.md", "STYLE.md", "clippy.toml", "deny.toml",
    "pyproject.toml", "rustfmt.toml", "mkdocs.yml",
}  # fmt: skip


def the_map_is_true(project: Project) -> Iterator[Finding]:
    """Every path of the project that a document names exists."""
    for source in project.under(*MAPS):
        if source.path.startswith(HISTORY):
            continue
        for number, line in enumerate(source.lines, 1):
            for path in NAMED_PATH.findall(line):
                if not project.has(path):
                    yield source.found(number, f"{path} does not exist", "correct the map")


def links_lead_somewhere(project: Project) -> Iterator[Finding]:
    """Every relative link of a document leads to a file of the project."""
    for source in project.under("", suffix=".md"):
        for number, line in enumerate(source.lines, 1):
            for link in LINK.findall(line):
                if not project.has(normpath(f"{dirname(source.path)}/{link}".lstrip("/"))):
                    yield source.found(number, f"the link {link} leads nowhere", "correct it")


def named_documents_exist(project: Project) -> Iterator[Finding]:
    """Every document that the code names by its path is there."""
    for source in project.under("python/", "crates/", "tools/", "benches/"):
        if source.path.endswith((".py", ".rs", ".sql")):
            for number, line in enumerate(source.lines, 1):
                for path in NAMED_DOCUMENT.findall(line):
                    if not project.has(path):
                        yield source.found(number, f"{path} is not there", "name what is")


def the_root_is_clean(project: Project) -> Iterator[Finding]:
    """Only known files lie in the root."""
    for path in sorted({path for path in project.sources if "/" not in path} - ROOT_FILES):
        source = project.sources[path]
        yield source.found(1, "a file in the root that is not on the list", "give it a folder")


RULES = (
    Rule("the map is true", the_map_is_true,
         breaks={"docs/a.md": "see `python/stithy/gone.py`\n"},
         keeps={"docs/a.md": "see `python/stithy/`, `a.b` and `x`\n", "python/stithy/a.py": ""}),
    Rule("links lead somewhere", links_lead_somewhere,
         breaks={"docs/a.md": "[b](b.md)\n"},
         keeps={"docs/a.md": "[b](../b.md#top) [c](https://example.org/c)\n", "b.md": "x"}),
    Rule("named documents exist", named_documents_exist,
         breaks={"python/stithy/a.py": '"""Source: gone/method.md, 1."""\n'},
         keeps={"python/stithy/a.py": '"""See docs/a.md."""\n', "docs/a.md": "x"}),
    Rule("the root is clean", the_root_is_clean,
         breaks={"notes.txt": ""},
         keeps={"README.md": ""}),
)  # fmt: skip
