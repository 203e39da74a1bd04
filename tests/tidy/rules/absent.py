"""What is absent on purpose: each power is held by one module, and by no other."""

import ast
import builtins
import re
from collections.abc import Iterator, Sequence
from functools import cache, partial

from tidy.project import Finding, Project, Rule, Source


@cache
def names_used(source: Source) -> tuple[tuple[ast.stmt | ast.expr, str], ...]:
    """What `find_names` finds, once for all rules."""
    return tuple(find_names(source))


def find_names(source: Source) -> Iterator[tuple[ast.stmt | ast.expr, str]]:
    """Every dotted name, and every imported one, resolved through the imports of the file.

    `from time import time` and `import time as t; t.time()` both give `time.time`.
    """
    known: dict[str, str] = {}
    for node in source.nodes:
        match node:
            case ast.Import(names=names):
                for name in names:
                    top = name.name.split(".")[0]
                    known[name.asname or top] = name.name if name.asname else top
                    yield node, name.name
            case ast.ImportFrom(module=str(module), names=names):
                for name in names:
                    known[name.asname or name.name] = f"{module}.{name.name}"
                    yield node, f"{module}.{name.name}"
    for node in source.nodes:
        if not isinstance(node, ast.Attribute | ast.Name) or isinstance(node.ctx, ast.Store):
            continue
        if dotted := _dotted(node):
            head, _, rest = dotted.partition(".")
            if head in known:
                yield node, f"{known[head]}.{rest}" if rest else known[head]
            elif not rest:
                yield node, f"builtins.{head}"


def _dotted(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=attribute):
            head = _dotted(value)
            return f"{head}.{attribute}" if head else ""
    return ""


def uses(power: Sequence[str], project: Project) -> Iterator[Finding]:
    """Every use of the names in the modules below python/stithy that must not, once a line."""
    names, within, what, remedy = power
    pattern, where = re.compile(names), re.compile(f"python/stithy/{within}")
    for source in project.package():
        seen = set()
        for node, name in names_used(source) if where.match(source.path) else ():
            if pattern.fullmatch(name) and node.lineno not in seen:
                seen.add(node.lineno)
                yield source.found(node, f"{name} {what}", remedy)


OF_LIBRARIES = {
    "struct.error", "zlib.error", "binascii.Error", "json.JSONDecodeError",
    "pl.exceptions.PolarsError", "pl.exceptions.PanicException",
}  # fmt: skip


def quoted_texts(project: Project) -> Iterator[Finding]:
    """Every text of an exception of Python's that is put into a text, and what the system says.

    Where several kinds are caught together, one of Python's is enough. `reason_of` has the words.
    """
    for source in project.package():
        for node in source.nodes:
            if isinstance(node, ast.ExceptHandler) and node.name and _is_pythons(node.type):
                for place in _quotes(node):
                    remedy = "say what would be right, or use reason_of (stithy.errors)"
                    yield source.found(place, "a person would read Python's own words", remedy)


def _is_pythons(caught: ast.expr | None) -> bool:
    """Whether exceptions of Python are among them; any at all (`Exception`) may be known ones."""
    names = map(
        _dotted, caught.elts if isinstance(caught, ast.Tuple) else [caught] if caught else []
    )
    kinds = {name: getattr(builtins, name, None) for name in names}
    return any(
        name in OF_LIBRARIES
        or (isinstance(kind, type) and issubclass(kind, Exception) and kind is not Exception)
        for name, kind in kinds.items()
    )


def _quotes(handler: ast.ExceptHandler) -> Iterator[ast.expr]:
    """Where the text of what is caught is taken."""
    for node in ast.walk(handler):
        match node:
            case ast.FormattedValue(value=value):
                taken: ast.expr = value
            case ast.Call(func=ast.Name(id="str" | "repr" | "format"), args=[taken, *_]):
                pass
            case ast.Attribute(attr="args" | "strerror" | "reason" | "msg", value=taken):
                pass
            case _:
                continue
        if _dotted(taken) == handler.name:
            yield taken


PARTS = {"problem", "remedy"}
"""Of a StithyError: its text has both, and its place, which may be replaced by a better one."""


def errors_are_handed_on_whole(project: Project) -> Iterator[Finding]:
    """Handlers that take a part of an error, and neither the other nor its text."""
    for source in project.package():
        for handler in source.nodes:
            if isinstance(handler, ast.ExceptHandler) and handler.name:
                inside = [node for line in handler.body for node in ast.walk(line)]
                aside = {id(part) for node in inside for part in _parts_of(node)}
                uses = [node for node in inside if isinstance(node, ast.Attribute | ast.Name)]
                taken = {use.attr for use in uses
                         if isinstance(use, ast.Attribute) and isinstance(use.value, ast.Name)
                         and use.value.id == handler.name and id(use) not in aside}  # fmt: skip
                is_whole = taken & {"parts", "text"} or any(
                    isinstance(use, ast.Name) and use.id == handler.name and id(use) not in aside
                    for use in uses
                )
                if taken & PARTS and not (is_whole or taken >= PARTS):
                    missing = ", ".join(sorted(PARTS - taken))
                    problem = f"drops the {missing} of an error"
                    yield source.found(handler.lineno, problem, "hand on its text (error.text)")


def _parts_of(node: ast.AST) -> Iterator[ast.AST]:
    """What is not the error itself: the base of an attribute, a cause, what a type is asked of."""
    match node:
        case ast.Attribute(value=value):
            yield value
        case ast.Raise(cause=ast.AST() as cause):
            yield cause
        case ast.Call(func=ast.Name(id="isinstance"), args=args):
            yield from args


# What is demanded, the names that give the power, the modules that must not have it, what it does,
# the remedy, and a text that breaks the rule beside one that keeps it. The last is all that would
# make an analysis depend on more than its results: reading and writing, time and chance.
POWERS = (
    (
        "only hosts/runner.py starts processes",
        r"(subprocess|multiprocessing)(\..*)?|os\.(system|popen|fork|forkpty|posix_spawn\w*|exec\w+"
        r"|spawn\w+)|asyncio\.create_subprocess_\w+|pty\.(fork|spawn)",
        r"(?!hosts/runner\.py)", "starts a process", "ask a Runner for it (stithy.hosts.runner)",
        "from os import system\nsystem('ls')\n", "import os\nos.system_wide = os.path.exists\n",
    ),
    (
        "only environment.py reads environment variables",
        r"os\.(environb?(\..*)?|getenvb?|putenv|unsetenv)",
        r"(?!environment\.py)", "reads the environment", "add a function to stithy.environment",
        "import os\nhome = os.environ['HOME']\n",
        "from stithy import environment\nhome = environment.home()\n",
    ),
    (
        "only clock.py reads the wall clock",
        r"time\.(time|time_ns|localtime|gmtime|strftime|ctime)"
        r"|datetime\.(datetime|date)\.(now|utcnow|today)",
        r"(?!clock\.py)", "reads the wall clock", "take a Clock (stithy.clock) as an argument",
        "from datetime import datetime as d\nnow = d.now()\n",
        "from datetime import datetime as d\nnow = d.fromtimestamp(1.0)\n",
    ),
    (
        "every draw has a seed",
        r"random\.(?!Random\b|Random\.)\w+|random\.Random\.\w+"
        r"|numpy\.random\.(?!default_rng|Generator|PCG64|SeedSequence)\w+",
        "", "draws without a named seed",
        "make a random.Random(seed) from a seed that the manifest records",
        "import random\nx = random.random()\n", "import random\nx = random.Random(3).random()\n",
    ),
    (
        "only cli exits",
        r"sys\.exit|os\._exit|builtins\.(exit|quit|SystemExit)",
        r"(?!cli/|__main__\.py)", "ends the program", "raise a StithyError",
        "raise SystemExit(3)\n", "def exit_code() -> int:\n    return 3\n",
    ),
    (
        "only cli writes to the terminal",
        r"builtins\.(print|input)|sys\.(stdout|stderr|stdin)(\..*)?"
        r"|rich\.(print|console\..*|live\..*)",
        r"(?!cli/)", "writes to the terminal", "return a value; the command shows it",
        "import sys\nsys.stdout.write('x')\n", "import sys\nx = sys.platform\n",
    ),
    (
        "analysis is pure",
        r"builtins\.(open|print|input)|(os|io|pathlib|shutil|tempfile|socket|sqlite3|urllib|time)"
        r"(\..*)?|polars\.(read|scan)_\w+"
        r"|stithy\.(results\.(read|write)|hosts|clock|environment)(\..*)?",
        "analysis/(?!analyze|latencies)", "is in analysis, which is pure",
        "read in report or cli, and give analysis the values",
        "from pathlib import Path\nx = Path('a').read_text()\n", "import math\nx = math.log(2)\n",
    ),
)  # fmt: skip
AT = "python/stithy/analysis/effect.py"
_TRY = "try:\n    do()\nexcept StithyError as error:\n    "
RULES = (
    *(
        Rule(demand, partial(uses, power), {AT: bad}, {AT: good})
        for demand, *power, bad, good in POWERS
    ),
    Rule(
        "no text of Python's own errors reaches a person",
        quoted_texts,
        {AT: "try:\n    x = int(y)\nexcept (A, ValueError) as error:\n    said = f'no: {error}'\n"},
        {AT: "try:\n    x = int(y)\nexcept TextError as error:\n    said = str(error)\n"},
    ),
    Rule(
        "an error is handed on whole",
        errors_are_handed_on_whole,
        {AT: f"{_TRY}raise rule('not a profile', error.remedy) from error\n"},
        {AT: f"{_TRY}raise rule('not a profile', error.text) from error\n"},
    ),
)
