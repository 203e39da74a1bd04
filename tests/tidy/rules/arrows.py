"""Which package may know which: the way of the data goes forward only; and what is declared.

`study` → `plan` → `run` → `results` → `analysis` → `report`; `storage`, `drives`, `cluster`,
`engines`, `workloads`, `collectors`, `hosts` and `wire` are what `run` uses; `cli` is above all.
`fio` is for all of them, and knows none but `hosts`.
"""

import ast
import sys
import tomllib
from collections.abc import Iterator
from re import split

from stithy.collectors.collector import Collector
from stithy.registry import FAMILIES
from stithy.registry import INTERFACES as INTERFACES_OF
from tidy.project import Finding, Project, Rule, Source

TOOLS_OF_RUN = {
    "storage",
    "drives",
    "cluster",
    "engines",
    "workloads",
    "collectors",
    "hosts",
    "wire",
}
AFTER_RUN = {"analysis", "report"}

# A package, and what it must not import. Single modules (`errors`, `units`) are for everyone.
FORBIDDEN: dict[str, set[str]] = {
    "study": {"plan", "run", "results", "hosts", "collectors", "wire", *AFTER_RUN},
    "plan": {"run", "results", "hosts", "collectors", "wire", *AFTER_RUN},
    "results": {"run", "hosts", "storage", "engines", "collectors", *AFTER_RUN},
    "analysis": {"study", "plan", "run", "report", *TOOLS_OF_RUN - {"workloads"}},
    "report": {"run", *TOOLS_OF_RUN - {"workloads", "collectors"}},
    "run": AFTER_RUN,
    "fio": {"study", "plan", "run", "results", *AFTER_RUN, *TOOLS_OF_RUN - {"hosts"}},
    **{package: {"study", "plan", "run", *AFTER_RUN} for package in TOOLS_OF_RUN},
}
# The layers of a package that has many, in their order: each may know those before it, and none
# after it. What lies in the package itself is before them, or puts them together.
LAYERS: dict[str, tuple[str, ...]] = {
    "analysis": ("values", "steady", "validity", "verdict", "search", "bottlenecks", "answers"),
    "cli": ("talk", "running", "hammer", "drive", "cluster"),
    "run": ("cleanup", "preparation", "copies", "restores", "windows", "steps", "resuming"),
    "report": (
        "words", "drawing", "findings", "parts", "figures", "sections", "formats", "exports",
    ),
}  # fmt: skip
# What a plug-in's family says of itself without doing anything is everybody's.
DECLARED = ("stithy.engines.declaration",)
REMEDY = "give it what it needs as an argument, or move the code to where the arrow starts"


def imported_modules(source: Source) -> Iterator[tuple[ast.stmt, str]]:
    """Every module of `stithy` that a source imports, in functions too, and where."""
    for node in source.nodes:
        match node:
            case ast.Import(names=names):
                for name in names:
                    yield node, name.name
            case ast.ImportFrom(module=str(module), names=names):
                yield node, module
                for name in names:
                    yield node, f"{module}.{name.name}"


def arrows_go_forward(project: Project) -> Iterator[Finding]:
    """No package imports one that it must not know; nobody imports `cli`."""
    for source in project.package():
        package = source.path.removeprefix("python/stithy/").split("/")[0].removesuffix(".py")
        known = set() if package in {"cli", "__main__"} else {"cli"}
        forbidden = FORBIDDEN.get(package, set()) | known
        seen = set()
        for node, module in imported_modules(source):
            target = (module.split(".") + ["", ""])[:2]
            is_known = target[1] not in forbidden or module.startswith(DECLARED)
            if target[0] == "stithy" and not is_known and node.lineno not in seen:
                seen.add(node.lineno)
                problem = f"{package} imports stithy.{target[1]}, which it must not know"
                yield source.found(node, problem, REMEDY)


def layer_of(module: str) -> tuple[str, int] | None:
    """The package of a module and the place of its layer in the order; None outside of one."""
    _, package, layer, *_ = [*module.split("."), "", "", ""]
    layers = LAYERS.get(package, ())
    return (package, layers.index(layer)) if layer in layers else None


def layers_keep_their_order(project: Project) -> Iterator[Finding]:
    """No layer of a package imports one that comes after it."""
    for source in project.package():
        own = layer_of(source.path.removeprefix("python/").removesuffix(".py").replace("/", "."))
        for node, module in imported_modules(source):
            other = layer_of(module)
            if own and other and own[0] == other[0] and own[1] < other[1]:
                layer, later = (LAYERS[own[0]][place] for _, place in (own, other))
                yield source.found(node, f"{layer} imports {module}, but {later} is later", REMEDY)


# Where plug-ins lie that nobody imports, and those that only other plug-ins import: a scenario and
# what acts, is a step or is reported because of it.
APART = (
    "engines", "workloads", "collectors", "plan.restores", "run.restores", "storage.layers",
)  # fmt: skip
INTERFACES = {
    FAMILIES[family].removeprefix("stithy."): names for family, names in INTERFACES_OF.items()
} | {"collectors": Collector.family.interface}
AMONG = ("scenarios", "activities", "run.activities", "storage.providers")
ALSO_PLUGINS = ("run.steps", "report.figures", "report.sections", "report.findings",
                "report.exports", "report.formats", "analysis.validity.checks")  # fmt: skip
# Who else imports one of them, and what: the users of a load and their table are everybody's.
ACCEPTED = {
    "analysis.bottlenecks.observe": "activities.hammer",
    "analysis.validity.instruments": "activities.hammer",
    "analysis.validity.work": "activities.hammer",
    "report.words.loads": "activities.hammer",
    "results.read": "activities.hammer",
    "run.resuming.remaining": "activities.hammer",
    "run.manifest": "run.activities.hammer",
    "report.parts.backups": "scenarios.backup",
    "report.parts.neighbour": "scenarios.noisy_neighbour",
    "report.parts.neighbour_findings": "scenarios.noisy_neighbour",
    "report.parts.neighbour_marks": "scenarios.noisy_neighbour",
    "run.preparation.equip": "storage.providers.path",
    "run.by_hand": "storage.providers.ceph",
    "cli.cluster.up": "storage.providers.ceph",
}


def plugin_in(module: str, folders: tuple[str, ...]) -> str | None:
    """The plug-in of one of these folders in which a module lies."""
    for folder in folders:
        name = module.removeprefix(f"{folder}.").split(".")[0]
        if module.startswith(f"{folder}.") and name not in INTERFACES.get(folder, ()):
            return f"{folder}.{name}"
    return None


def plugins_are_asked_through_the_registry(project: Project) -> Iterator[Finding]:
    """Whoever imports a plug-in knows its name: all others take what the registry finds."""
    for source in project.package():
        own = source.path.removeprefix("python/stithy/").removesuffix(".py").replace("/", ".")
        is_plugin = plugin_in(own, (*AMONG, *ALSO_PLUGINS)) is not None
        seen = set()
        for node, module in imported_modules(source):
            name = module.removeprefix("stithy.")
            found = plugin_in(name, (*APART, *AMONG))
            is_known = is_plugin and plugin_in(name, AMONG) or own.startswith(str(found))
            if found is None or is_known or ACCEPTED.get(own) == found or node.lineno in seen:
                continue
            seen.add(node.lineno)
            remedy = "ask what is declared of it (`stithy.registry`), or move the code into it"
            yield source.found(node, f"{own} imports the plug-in stithy.{found}", remedy)


DECLARATION = "pyproject.toml"
# Packages whose modules are called otherwise, or whose interface includes a second one.
MODULES = {
    "vl-convert-python": {"vl_convert"}, "ruamel.yaml": {"ruamel"},
    "pydantic": {"pydantic", "pydantic_core"}, "jinja2": {"jinja2", "markupsafe"},
}  # fmt: skip


def imports_are_declared(project: Project) -> Iterator[Finding]:
    """The program imports itself, Python's own modules, and its declared dependencies only."""
    table = tomllib.loads(project.sources[DECLARATION].text)
    names = [split(r"[<>=!~;\[ ]", each)[0] for each in table["project"]["dependencies"]]
    declared = (MODULES.get(name, {name.replace("-", "_")}) for name in names)
    known = {"stithy", *sys.stdlib_module_names}.union(*declared)
    for source in project.package():
        for node, module in imported_modules(source):
            if module.split(".")[0] not in known:
                remedy = f"declare it in {DECLARATION} and run `make lock`, or do without"
                yield source.found(node, f"{module} is not a declared dependency", remedy)


_DECLARED = {DECLARATION: '[project]\ndependencies = ["vl-convert-python>=1.9,<2"]\n'}

RULES = (
    Rule("arrows go forward", arrows_go_forward,
         breaks={"python/stithy/plan/a.py": "def f():\n    from stithy.run import journal\n"},
         keeps={"python/stithy/run/a.py": "from stithy.plan.steps import Step\n",
              "python/stithy/plan/b.py": "from stithy.running import x\nimport stithy.errors\n"}),
    Rule("nobody imports cli", arrows_go_forward,
         breaks={"python/stithy/errors.py": "from stithy import cli\n"},
         keeps={"python/stithy/cli/a.py": "from stithy.cli import render\n"}),
    Rule("layers keep their order", layers_keep_their_order,
         breaks={"python/stithy/report/words/a.py": "from stithy.report.figures import cpu\n"},
         keeps={"python/stithy/report/figures/a.py": "from stithy.report.words import count\n",
              "python/stithy/report/words/b.py": "from stithy.report.tables import Show\n",
              "python/stithy/report/page.py": "from stithy.report.parts import answer\n"}),
    Rule("plug-ins are asked through the registry", plugins_are_asked_through_the_registry,
         breaks={"python/stithy/report/sections/a.py":
                 "from stithy.engines.postgresql import checks\n"},
         keeps={"python/stithy/engines/postgresql/b.py":
                "from stithy.engines.postgresql import checks\n",
                "python/stithy/run/steps/c.py": "from stithy.run.activities.fio import targets\n",
                "python/stithy/results/read.py": "from stithy.activities.hammer import LOAD\n"}),
    Rule("only plug-ins import scenarios", plugins_are_asked_through_the_registry,
         breaks={"python/stithy/plan/a.py": "from stithy.scenarios.load import plan\n"},
         keeps={"python/stithy/plan/a.py": "import stithy.scenarios\n"}),
    Rule("imports are declared", imports_are_declared,
         breaks=_DECLARED | {"python/stithy/a.py": "import numpy\n"},
         keeps=_DECLARED | {"python/stithy/a.py": "import os, vl_convert\n"}),
)  # fmt: skip
