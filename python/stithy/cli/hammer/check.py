"""`stithy hammer check`: the consistency conditions of a database that is there."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

from stithy.cli.hammer import options
from stithy.cli.hammer.options import Named, Size, Url
from stithy.cli.talk.options import Json, On, until_interrupted
from stithy.cli.talk.render import say, show, show_json, table, time_text
from stithy.exits import Exit

if TYPE_CHECKING:
    from stithy.wire.messages import AnyMessage, Condition
    from stithy.wire.program import OnMessage


def check(
    url: Url,
    *,
    workload: Named = None,
    units: Size = None,
    quick: Annotated[bool, On] = False,
    after_load: Annotated[bool, On] = False,
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
        Verify only conditions 1 to 4, which take little time.
    after_load
        Verify condition 11, too. It holds only as long as nothing has run since loading.
    """
    from stithy.workload.program import Watch
    from stithy.workload.workload import Driving

    choice = options.loaded(url, workload, units).choice(Driving())
    with until_interrupted() as stop:
        watch = Watch(on_message=condition_line(), stop=stop)
        checked = options.hammer(url).check(choice, quick=quick, after_load=after_load, watch=watch)
    if json:
        conditions = [each.model_dump(mode="json") for each in checked.conditions]
        show_json({"conditions": conditions, "broken": list(checked.broken)})
    else:
        show(conditions_text(checked.conditions))
    return Exit.INVALID if checked.broken else Exit.OK


def condition_line() -> "OnMessage":
    """Shows a condition as soon as it is verified."""
    from stithy.wire.messages import Condition

    def tell(message: "AnyMessage") -> None:
        if isinstance(message, Condition):
            say(f"condition {message.number}: {'holds' if message.holds else 'BROKEN'}")

    return tell


def conditions_text(conditions: Iterable["Condition"]) -> str:
    """A row a condition, with a mark and the word."""
    rows = [
        [
            f"{each.number}",
            "✓ holds" if each.holds else "✗ BROKEN",
            time_text(each.duration_s),
            each.text if each.holds else f"{each.text} — {_damage(each)}",
        ]
        for each in conditions
    ]
    return table(["condition", "result", "time", "what must hold"], rows, ["right", *["left"] * 3])  # type: ignore[list-item]  # of one Literal


def _damage(condition: "Condition") -> str:
    example = f", such as {condition.example}" if condition.example else ""
    rows = "row violates" if condition.violations == 1 else "rows violate"
    return f"{condition.violations} {rows} it{example}"


COMMAND = check
