"""`stithy hammer check`: the consistency conditions of a database that is there."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from stithy.cli.hammer import options
from stithy.cli.hammer.options import Named, PasswordEnv, Size, Url
from stithy.cli.talk.options import Json
from stithy.cli.talk.render import format_time_text, make_table, show, show_json
from stithy.errors import Exit

if TYPE_CHECKING:
    from stithy.wire.messages import Condition


def check(
    url: Url,
    *,
    password_env: PasswordEnv = None,
    workload: Named = None,
    size: Size = None,
    quick: bool = False,
    after_load: bool = False,
    json: Json = False,
) -> Exit:
    """Verify the consistency conditions of the workload. Changes nothing.

    The exit code is 5 if a condition does not hold.

    Example:

    ```
    stithy hammer check {url}
    ```

    Parameters
    ----------
    quick
        Verify only the conditions that take little time: 1 to 4 of order-entry.
    after_load
        Verify the condition that holds only as long as nothing has run since loading, too.
    """
    from stithy.study.sections import get_workload
    from stithy.workloads.workload import Driving

    database = options.open_database(url, password_env)
    section = options.find_loaded(database, workload, size)
    if get_workload(section.name).conditions is None:
        raise options.refuse_unable(section.name, "has no consistency conditions")
    choice = section.choice(Driving())
    with options.watch_job({"condition": describe_condition}) as watch:
        checked = options.make_hammer(database).check(
            choice, quick=quick, after_load=after_load, watch=watch
        )
    if json:
        conditions = [condition.model_dump(mode="json") for condition in checked.conditions]
        show_json({"conditions": conditions, "broken": list(checked.broken)})
    else:
        show(make_conditions_text(checked.conditions))
    return Exit.INVALID if checked.broken else Exit.OK


def describe_condition(verified: "Condition") -> str:
    """A condition as soon as it is verified."""
    return f"condition {verified.number}: {'holds' if verified.holds else 'BROKEN'}"


def make_conditions_text(conditions: Iterable["Condition"]) -> str:
    """A row a condition, with a mark and the word."""
    rows = [
        [
            f"{condition.number}",
            "✓ holds" if condition.holds else "✗ BROKEN",
            format_time_text(condition.duration_s),
            condition.text
            if condition.holds
            else f"{condition.text} — {_describe_damage(condition)}",
        ]
        for condition in conditions
    ]
    return make_table(["condition", "result", "time", "what must hold"], rows, "><<<")


def _describe_damage(condition: "Condition") -> str:
    example = f", such as {condition.example}" if condition.example else ""
    rows = "row violates" if condition.violations == 1 else "rows violate"
    return f"{condition.violations} {rows} it{example}"


COMMAND = check
