"""`stithy cost`: what the candidates of a finished run cost, by its own prices or by others."""

from dataclasses import replace
from pathlib import Path

from stithy.cli.talk.options import RunFolder
from stithy.cli.talk.render import make_table, show, show_json
from stithy.errors import Exit, UserError


def cost(directory: RunFolder, /, *, prices: Path | None = None, json: bool = False) -> Exit:
    """Say what the candidates of a run cost in a year, and what work and users cost.

    Reads results only: nothing is measured, and the run is not changed. With other prices all
    numbers follow from these alone; what was measured stays as it is.

    Examples:

        stithy cost runs/demo-20261121T001627Z
        stithy cost runs/demo-20261121T001627Z --prices next-year.yaml

    Parameters
    ----------
    prices
        A YAML file with the section `cost` of a study, and nothing else. Its prices replace those
        of the study.
    json
        Print all numbers as JSON.
    """
    from stithy.power import METERS
    from stithy.report.context import make_context
    from stithy.report.page import Page
    from stithy.report.sections.cost import (
        describe_costs,
        list_missing,
        list_notes,
        make_cost_tables,
    )
    from stithy.results.files import read_run
    from stithy.study.load import read_prices

    run = read_run(directory)
    manifest = run.manifest
    if manifest is None:
        raise UserError("the manifest of this run cannot be read", where=str(directory),
                        remedy="name a run whose manifest can be read")  # fmt: skip
    if prices is not None:
        names = [candidate.name for candidate in manifest.candidates]
        pricing = read_prices(
            prices, names, has_users=manifest.given_load is not None,
            is_metered=not run.detail(METERS.name).is_empty(),
        )  # fmt: skip
        run = replace(run, manifest=manifest.model_copy(update={"pricing": pricing}))
    elif manifest.pricing is None:
        raise UserError("the study of this run states no prices", where=str(directory),
                        remedy="name a file with them: `--prices FILE`")  # fmt: skip
    context = make_context(run)
    costs, terms, _ = make_cost_tables(Page(context))
    if json:
        assert context.pricing is not None  # it is refused above
        stated = context.pricing.model_dump(mode="json", by_alias=True, exclude_none=True)
        shown = {"cost": stated, "costs": costs.frame.to_dicts(), "terms": terms.frame.to_dicts()}
        show_json({"schema_version": 1, **shown})
        return Exit.OK
    show("\n".join(describe_costs(context)))
    for table in (costs, terms):
        rows = [[cell.text for cell in row] for row in table.cells()]
        sides = "".join(">" if column.is_number else "<" for column in table.columns)
        show("\n" + make_table([column.heading for column in table.columns], rows, sides))
    show("\n" + "\n".join([*list_missing(context), *list_notes(context)]))
    return Exit.OK


COMMAND = cost
