"""What the tables of facts may say: numbers of the manifest, by the names of their fields."""

import re

from recompute.files import Files, Row
from recompute.printed import shown

UNIT = re.compile(r"_(bytes|per_s|s)(?=$|_max$|_min$)")


def pool(files: Files, row: Row) -> list[float]:
    """The numbers of the field that a row names; of a row that names none, all and their counts."""
    name = str(row.get("fact", "")).rpartition(": ")[2]
    named = [value for key, value in files.facts if UNIT.sub("", key).replace("_", " ") == name]
    said = [one.value for each in files.texts_of(name) for one in shown(each)]
    if named or said:
        return [*named, *said]
    counts = files.rows(
        "SELECT count(*) AS n, count(*) FILTER (valid) AS valid, count(DISTINCT block) AS blocks "
        "FROM win"
    )[0]
    return [*(value for _, value in files.facts), *counts.values(), *files.levels]


def of_runs(files: Files, text: str) -> list[float]:
    """What may differ between runs: all numbers of their manifests."""
    found = [value for each in (files, *files.others) for _, value in each.facts]
    texts = [text for each in (files, *files.others) for text in each.texts]
    return [*found, *(one.value for text in texts for one in shown(text))]
