"""How the data of order entry are damaged."""

from conformance.samples import Damage

DAMAGE: Damage = {
    1: ("UPDATE warehouse SET w_ytd = w_ytd + 1", "UPDATE warehouse SET w_ytd = w_ytd - 1"),
}
