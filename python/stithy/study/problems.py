"""What can be wrong with a study file: broken rules of the model, and problems with their places.

A rule of the model says what is wrong with `wrong` and `refuse`; `locate` adds the place. All
problems of a file are carried by one error.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, get_args

from pydantic import AfterValidator, ValidationError
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError, core_schema

from stithy.errors import FileError, FileProblem
from stithy.names import find_closest, suggest_instead
from stithy.registry import Plugin, plugins
from stithy.units import make_rule_error

Loc = tuple[str | int, ...]
"""The path to a value: keys and list indices from the top of the file."""


class StudyProblem(FileProblem):
    """One thing wrong with a study file: `file:line:column: what: the value: what is right`."""


class StudyError(FileError):
    """A study file that cannot be used."""

    def __init__(self, file: str, problems: Sequence[StudyProblem], what: str = "study file"):
        super().__init__(file, problems, what)


class Violation(NamedTuple):
    """One broken rule: what is wrong, with which value, below the field that is checked.

    `part`: from which character of a text to before which, where not all of it is wrong.
    """

    what: str
    right: str
    value: object = None
    loc: Loc = ()
    part: tuple[int, int] | None = None


def refuse(found: Iterable[Violation]) -> None:
    """Raise all broken rules at once, if there are any, each at its own place."""
    details = [
        InitErrorDetails(
            type=make_rule_error(each.what, each.right, each.part), loc=each.loc, input=each.value
        )
        for each in found
    ]
    if details:
        raise ValidationError.from_exception_data("study", details)


def list_kinds(value: Any, known: Sequence[str], what: str, kind: str) -> list[str]:
    """List those of the known kinds that a mapping has as keys, at least one.

    `what` the mapping describes, and how people call its `kind`, are for what is refused.
    """
    listed = " or ".join(f"`{name}: …`" for name in known)
    if not isinstance(value, dict):
        raise make_rule_error(f"a {what} must be a mapping", f"it needs {listed}")
    if named := [key for key in value if key in known]:
        return named
    refuse(
        Violation("unknown key", f"did you mean `{guess}`?", value[key], (key,))
        for key in value
        if (guess := find_closest(str(key), known))
    )
    raise make_rule_error(f"a {what} without {kind}", f"it needs {listed}")


def put_below(name: str, error: ValidationError) -> ValidationError:
    """The same problems, of values that stand below a name."""
    return ValidationError.from_exception_data("study", _list_details(error, name))


def _list_details(error: ValidationError, *above: str) -> list[InitErrorDetails]:
    return [
        InitErrorDetails(
            type=_read_type(each),
            loc=(*above, *each["loc"]), input=each["input"], ctx=each.get("ctx", {}),
        )
        for each in error.errors(include_url=False)
    ]  # fmt: skip


def _read_type(error: ErrorDetails) -> str | PydanticCustomError:
    """Pydantic's core knows its own types by name; ours say what is wrong and would be right."""
    context, kind = error.get("ctx", {}), error["type"]
    if "what" in context:
        return PydanticCustomError(kind, "{what}: {right}", context)
    # That of a path, for example, is not of the core.
    return kind if kind in _CORE else PydanticCustomError(kind, "{said}", {"said": error["msg"]})


_CORE = frozenset(get_args(core_schema.ErrorType))


def join_problems(errors: Iterable[ValidationError | InitErrorDetails]) -> ValidationError:
    """All these problems as one error."""
    details: list[InitErrorDetails] = []
    for error in errors:
        details += _list_details(error) if isinstance(error, ValidationError) else [error]
    return ValidationError.from_exception_data("study", details)


def require_plugin(family: type[Plugin], what: str) -> AfterValidator:
    """Require the name of a plug-in that is there; `what` it is not otherwise."""

    def check(name: str) -> str:
        known = list(plugins(family))
        if name not in known:
            raise make_rule_error(what, suggest_instead(name, known))
        return name

    return AfterValidator(check)
