"""What is absent on purpose: each power is held by one module, and by no other."""

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tidy.project import Finding, Project, Rule, Source
from tidy.rules.arrows import package_of

Uses = Iterator[tuple[ast.stmt | ast.expr, str]]


def names_used(source: Source) -> Uses:
    """Every dotted name, and every imported one, resolved through the imports of the file.

    `from time import time` and `import time as t; t.time()` both give `time.time`.
    """
    known: dict[str, str] = {}
    for node in source.nodes:
        match node:
            case ast.Import(names=names):
                for name in names:
                    known[name.asname or name.name.split(".")[0]] = (
                        name.name if name.asname else name.name.split(".")[0]
                    )
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


@dataclass(frozen=True)
class Power:
    """A power, the names that give it, and the paths below python/stithy that hold it."""

    what: str
    names: str
    holders: tuple[str, ...]
    remedy: str

    def check(self, project: Project) -> Iterator[Finding]:
        """Every use of the power elsewhere, once a line."""
        pattern = re.compile(self.names)
        holders = tuple(f"python/stithy/{holder}" for holder in self.holders)
        for source in project.package():
            if source.path.startswith(holders):
                continue
            seen = set()
            for node, name in names_used(source):
                if pattern.fullmatch(name) and node.lineno not in seen:
                    seen.add(node.lineno)
                    yield source.found(node, f"{name} {self.what}", self.remedy)


PROCESSES = Power(
    "starts a process",
    r"(subprocess|multiprocessing)(\..*)?|os\.(system|popen|fork|forkpty|posix_spawn\w*|exec\w+"
    r"|spawn\w+)|asyncio\.create_subprocess_\w+|pty\.(fork|spawn)",
    ("hosts/runner.py",),
    "ask a Runner for it (stithy.hosts.runner)",
)
ENVIRONMENT = Power(
    "reads the environment",
    r"os\.(environb?(\..*)?|getenvb?|putenv|unsetenv)",
    ("environment.py",),
    "add a function to stithy.environment",
)
CLOCK = Power(
    "reads the wall clock",
    r"time\.(time|time_ns|localtime|gmtime|strftime|ctime)"
    r"|datetime\.(datetime|date)\.(now|utcnow|today)",
    ("clock.py",),
    "take a Clock (stithy.clock) as an argument",
)
RANDOM = Power(
    "draws without a named seed",
    r"random\.(?!Random\b|Random\.)\w+|random\.Random\.\w+"
    r"|numpy\.random\.(?!default_rng|Generator|PCG64|SeedSequence)\w+",
    (),
    "make a random.Random(seed) from a seed that the manifest records",
)
EXIT = Power(
    "ends the program",
    r"sys\.exit|os\._exit|builtins\.(exit|quit|SystemExit)",
    ("cli/", "__main__.py"),
    "raise a StithyError",
)
OUTPUT = Power(
    "writes to the terminal",
    r"builtins\.(print|input)|sys\.(stdout|stderr|stdin)(\..*)?|rich\.(print|console\..*|live\..*)",
    ("cli/",),
    "return a value; the command shows it",
)

# Reading and writing, time and chance: what would make an analysis depend on more than its results.
IMPURE = re.compile(
    r"builtins\.(open|print|input)|(os|io|pathlib|shutil|tempfile|socket|sqlite3|urllib|time)(\..*)?"
    r"|polars\.(read|scan)_\w+|stithy\.(results\.(read|write)|hosts|clock|environment)(\..*)?"
)


def analysis_is_pure(project: Project) -> Iterator[Finding]:
    """`analysis` reads nothing but its arguments."""
    for source in project.package():
        if package_of(source.path) != "analysis":
            continue
        for node, name in names_used(source):
            if IMPURE.fullmatch(name):
                remedy = "read in report or cli, and give analysis the values"
                yield source.found(node, f"{name} in analysis, which is pure", remedy)


def _rule(demand: str, check: Callable[[Project], Iterator[Finding]], bad: str, good: str) -> Rule:
    at = "python/stithy/analysis/verdict/effect.py"
    return Rule(demand, check, breaks={at: bad}, keeps={at: good})


RULES = (
    _rule(
        "only hosts/runner.py starts processes",
        PROCESSES.check,
        "from os import system\nsystem('ls')\n",
        "import os\nos.system_wide = os.path.exists\n",
    ),
    _rule(
        "only environment.py reads environment variables",
        ENVIRONMENT.check,
        "import os\nhome = os.environ['HOME']\n",
        "from stithy import environment\nhome = environment.home()\n",
    ),
    _rule(
        "only clock.py reads the wall clock",
        CLOCK.check,
        "from datetime import datetime as d\nnow = d.now()\n",
        "from datetime import datetime as d\nnow = d.fromtimestamp(1.0)\n",
    ),
    _rule(
        "every draw has a seed",
        RANDOM.check,
        "import random\nx = random.random()\n",
        "import random\nx = random.Random(3).random()\n",
    ),
    _rule(
        "only cli exits",
        EXIT.check,
        "raise SystemExit(3)\n",
        "def exit_code() -> int:\n    return 3\n",
    ),
    _rule(
        "only cli writes to the terminal",
        OUTPUT.check,
        "import sys\nsys.stdout.write('x')\n",
        "import sys\nx = sys.platform\n",
    ),
    _rule(
        "analysis is pure",
        analysis_is_pure,
        "from pathlib import Path\nx = Path('a').read_text()\n",
        "import math\nx = math.log(2)\n",
    ),
)
