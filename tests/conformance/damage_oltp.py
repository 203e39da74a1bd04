"""How the data of oltp are damaged."""

from conformance.samples import Damage

DAMAGE: Damage = {
    1: (
        "UPDATE sbtest2 SET id = 1000000 WHERE id = 7",
        "UPDATE sbtest2 SET id = 7 WHERE id = 1000000",
    ),
}
