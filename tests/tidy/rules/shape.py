"""How big things are, and that each file says what it is for."""

import ast
import re
from collections.abc import Iterator

from tidy.project import Finding, Project, Rule

FILE_LINES_MAX = 600
REPORTS = "docs/evidence/"
FUNCTION_LINES_MAX = 70
PYTHON = ("python/", "tests/", "tools/", "benches/")
CODE_SUFFIXES = (".py", ".rs", ".sql", ".html", ".css", ".js")


def files_are_short(project: Project) -> Iterator[Finding]:
    """No file of code has more lines than the wall; kept reports are no code."""
    for source in project.sources.values():
        if source.path.startswith(REPORTS):
            continue
        if source.path.endswith(CODE_SUFFIXES) and len(source.lines) > FILE_LINES_MAX:
            problem = f"{len(source.lines)} lines, more than {FILE_LINES_MAX}"
            yield source.found(FILE_LINES_MAX + 1, problem, "make it two files with one idea each")


def functions_are_short(project: Project) -> Iterator[Finding]:
    """No Python function has more lines than a page, its docstring apart; clippy sees to Rust's."""
    for source in project.under(*PYTHON, suffix=".py"):
        for node in source.nodes:
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            parts = [node, *(node.body[:1] if ast.get_docstring(node) else ())]
            whole, *docstring = ((each.end_lineno or 0) - each.lineno + 1 for each in parts)
            length = whole - sum(docstring)
            if length > FUNCTION_LINES_MAX:
                problem = f"{node.name} has {length} lines, more than {FUNCTION_LINES_MAX}"
                yield source.found(node, problem, "take its steps out into functions")


def rust_says_what_it_is_for(project: Project) -> Iterator[Finding]:
    """A Rust file begins with `//!`; ruff's D100 sees to Python's modules."""
    for source in project.under("crates/", suffix=".rs"):
        if not source.text.startswith("//!"):
            yield source.found(1, "no module comment", "begin with `//!` and what it answers")


def methods_say_what_they_do(project: Project) -> Iterator[Finding]:
    """A public method has a docstring, unless a class above describes it or it only returns."""
    sources = list(project.under(*PYTHON, suffix=".py"))
    classes = [(source, node) for source in sources for node in source.tree.body
               if isinstance(node, ast.ClassDef)]  # fmt: skip
    by_name = {found.name: found for _, found in classes}

    def is_described(method: str, found: ast.ClassDef) -> bool:
        bases = (ast.unparse(base).split("[")[0].split(".")[-1] for base in found.bases)
        above = (by_name[name] for name in bases if by_name.get(name, found) is not found)
        return any(isinstance(node, ast.FunctionDef) and node.name == method
                   and ast.get_docstring(node) for node in found.body) or any(
                       is_described(method, each) for each in above)  # fmt: skip

    for source, found in classes:
        for node in () if found.name.startswith("_") else found.body:
            if not isinstance(node, ast.FunctionDef) or node.name.startswith("_"):
                continue
            only_returns = len(node.body) == 1 and isinstance(node.body[0], ast.Return)
            if not only_returns and not is_described(node.name, found):
                problem = f"{found.name}.{node.name} has no docstring"
                yield source.found(node, problem, "say what it does")


# `timeout` is not among them: it is Python's own name where a process is waited for.
DIMENSIONS = {"duration", "time", "latency", "lateness", "interval", "delay", "age", "elapsed",
              "size", "space"}  # fmt: skip
NUMERIC = re.compile(r"\b(int|float)\b")


def quantities_end_in_their_unit(project: Project) -> Iterator[Finding]:
    """A numeric field or argument whose name is a dimension ends in the unit, as `duration_s`."""
    for source in project.package():
        for node in source.nodes:
            match node:
                case ast.AnnAssign(target=ast.Name(id=name), annotation=kind):
                    pass
                case ast.arg(arg=name, annotation=ast.expr() as kind):
                    pass
                case _:
                    continue
            if name.split("_")[-1] in DIMENSIONS and NUMERIC.search(ast.unparse(kind)):
                remedy = f"put it last: {name}_s or {name}_bytes"
                yield source.found(kind, f"{name} does not tell its unit", remedy)


RULES = (
    Rule("files are short", files_are_short,
         breaks={"python/stithy/long.py": "x = 1\n" * 601},
         keeps={"python/stithy/long.py": "x = 1\n" * 600, "docs/long.md": "x\n" * 900,
                "docs/evidence/report.html": "x\n" * 900}),
    Rule("functions are short", functions_are_short,
         breaks={"python/stithy/long.py": "def f():\n" + "    x = 1\n" * 70},
         keeps={"python/stithy/long.py": 'def f():\n    """F."""\n' + "    x = 1\n" * 69}),
    Rule("methods say what they do", methods_say_what_they_do,
         breaks={"python/stithy/a.py": "class A:\n    def f(self): ...\n"},
         keeps={"python/stithy/a.py": 'class A:\n    def f(self):\n        """F."""\n',
                "python/stithy/b.py": "class B(A):\n    def f(self): ...\n",
                "python/stithy/c.py": "class C:\n    def f(self):\n        return 1\n"}),
    Rule("Rust modules say what they are for", rust_says_what_it_is_for,
         breaks={"crates/wire/src/lib.rs": "mod job;\n"},
         keeps={"crates/wire/src/lib.rs": "//! Messages.\nmod job;\n"}),
    Rule("quantities end in their unit", quantities_end_in_their_unit,
         breaks={"python/stithy/a.py": "class A:\n    cache_size: int | None\n"},
         keeps={"python/stithy/a.py": "class A:\n    size_bytes: int\n    time: str\n"}),
)  # fmt: skip
