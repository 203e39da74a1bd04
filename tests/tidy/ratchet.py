"""Figures of the tree that may only get better; as a program, print them beside their bounds.

`tests/tidy/bounds.toml` holds the bounds. `--tighten` stores each figure that is better than its
bound; a bound is made looser by hand only, in a commit that says why. Counts are of
`python/stithy` where nothing else is said.
"""

import ast
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median

BOUNDS = Path(__file__).with_name("bounds.toml")
VERBS = frozenset(Path(__file__).with_name("verbs.txt").read_text().split())
"""Verbs with which the name of a function may begin."""

SHORT = 8
"""Lines up to which a private helper with one caller is counted."""

PROBES = {"getattr", "hasattr"}


@dataclass(frozen=True)
class Figure:
    """A number of the tree; `higher_is_better` says which way its bound holds."""

    name: str
    value: float
    higher_is_better: bool = False

    def is_worse_than(self, bound: float) -> bool:
        """Return whether the bound is broken."""
        return self.value < bound if self.higher_is_better else self.value > bound


def count_lines(folder: Path, pattern: str) -> int:
    """Count the lines of all text files below a folder."""
    paths = (path for path in folder.rglob(pattern) if path.is_file())
    texts = (path.read_text(errors="replace") for path in paths if not is_binary(path))
    return sum(len(text.splitlines()) for text in texts)


def is_binary(path: Path) -> bool:
    """Return whether a file holds a picture or what Python compiled."""
    return path.suffix in {".png", ".svg", ".pdf", ".pyc"}


class Census:
    """What is counted in the product's modules, one after the other."""

    def __init__(self) -> None:
        """Start with nothing counted."""
        self.modules: list[int] = []
        self.functions: list[str] = []
        self.classes: Counter[str] = Counter()
        self.probes = self.short_helpers = self.import_lines = self.filled_lines = 0

    def add(self, text: str) -> None:
        """Count one module."""
        lines = text.splitlines()
        self.modules.append(len(lines))
        self.filled_lines += sum(bool(line.strip()) for line in lines)
        for node in ast.walk(ast.parse(text)):
            self._add_node(node, text)

    def _add_node(self, node: ast.AST, text: str) -> None:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() if not node.name.startswith("__"):
                self.functions.append(node.name.lstrip("_"))
                self.short_helpers += is_short_helper(node, text)
            case ast.ClassDef():
                self.classes[node.name.lstrip("_")] += 1
            case ast.Call(func=ast.Name(id=name)):
                self.probes += name in PROBES
            case ast.Import() | ast.ImportFrom():
                self.import_lines += (node.end_lineno or node.lineno) - node.lineno + 1
            case _:
                pass

    def figures(self) -> Iterator[Figure]:
        """Yield the figures of all modules."""
        verbs = sum(name.split("_")[0] in VERBS for name in self.functions)
        yield Figure("modules", len(self.modules))
        yield Figure("median_module_lines", median(self.modules), higher_is_better=True)
        yield Figure("product_lines", sum(self.modules))
        yield Figure("verb_percent", percent(verbs, len(self.functions)), higher_is_better=True)
        yield Figure("class_names_used_twice", sum(count > 1 for count in self.classes.values()))
        yield Figure("attribute_probes", self.probes)
        yield Figure("short_helpers_with_one_caller", self.short_helpers)
        yield Figure("import_percent", percent(self.import_lines, self.filled_lines))


def percent(part: int, whole: int) -> float:
    """Return a share in percent with one decimal."""
    return round(100 * part / whole, 1) if whole else 0.0


def is_short_helper(node: ast.FunctionDef | ast.AsyncFunctionDef, text: str) -> bool:
    """Return whether a private function is short and named only once besides its definition."""
    length = (node.end_lineno or node.lineno) - node.lineno + 1
    uses = len(re.findall(rf"\b{re.escape(node.name)}\b", text))
    return node.name.startswith("_") and length <= SHORT and uses == 2


def measure(root: Path) -> list[Figure]:
    """Measure the tree below `root`."""
    census = Census()
    for path in sorted((root / "python/stithy").rglob("*.py")):
        census.add(path.read_text())
    return [
        *census.figures(),
        Figure("test_lines", count_lines(root / "tests", "*.py")),
        Figure("document_lines", count_lines(root / "docs", "*")),
    ]


def find_broken(figures: list[Figure], bounds: Mapping[str, float]) -> list[str]:
    """Describe each figure that is worse than its bound, and each that has none."""
    broken = []
    for figure in figures:
        if figure.name not in bounds:
            broken.append(f"{figure.name} has no bound in {BOUNDS.name}: add {figure.value:g}")
        elif figure.is_worse_than(bounds[figure.name]):
            broken.append(f"{figure.name} is {figure.value:g}, its bound {bounds[figure.name]:g}")
    return broken


def read_bounds() -> dict[str, float]:
    """Read the stored bounds."""
    return tomllib.loads(BOUNDS.read_text())


def tighten(figures: list[Figure]) -> None:
    """Store every figure that is better than its bound, comments kept."""
    text = BOUNDS.read_text()
    bounds = read_bounds()
    for figure in figures:
        if not figure.is_worse_than(bounds[figure.name]):
            text = re.sub(rf"(?m)^({figure.name} = )\S+", rf"\g<1>{figure.value:g}", text)
    BOUNDS.write_text(text)


def main() -> None:
    """Print each figure with its bound; end with 1 if one is worse."""
    figures = measure(Path(__file__).parents[2])
    if "--tighten" in sys.argv[1:]:
        tighten(figures)
    bounds = read_bounds()
    for figure in figures:
        sign = "at least" if figure.higher_is_better else "at most"
        print(f"{figure.name:32}{figure.value:>10g}  {sign} {bounds[figure.name]:g}")
    if broken := find_broken(figures, bounds):
        sys.exit("\n".join(["worse than the bound:", *broken]))


if __name__ == "__main__":
    main()
