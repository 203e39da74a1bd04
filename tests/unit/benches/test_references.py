"""The reference that makes the hammer's own calls makes them in the hammer's mix."""

from pathlib import Path

import references


def test_the_shares_are_those_of_the_mix() -> None:
    """Of 23 calls each procedure has as many as in the hammer."""
    weights = {call.name: call.weight for call in references.CALLS}
    assert weights == {
        "new-order": 10,
        "payment": 10,
        "order-status": 1,
        "delivery": 1,
        "stock-level": 1,
    }


def test_a_script_draws_its_numbers_and_makes_one_call(tmp_path: Path) -> None:
    """pgbench takes a command a line; what it draws lies within the loaded tables."""
    for call in references.CALLS:
        lines = references._script(tmp_path, call).read_text().splitlines()
        assert lines[:3] == [
            "\\set warehouse random(1, 5)",
            "\\set district random(1, 10)",
            "\\set number random(1, 3000)",
        ]
        assert [line.count(";") for line in lines[3:]] == [1]
