"""How the data of brokerage are damaged."""

from conformance.samples import Damage

DAMAGE: Damage = {
    7: (
        "UPDATE customer_account SET ca_bal = ca_bal + 1 WHERE ca_id = 9",
        "UPDATE customer_account SET ca_bal = ca_bal - 1 WHERE ca_id = 9",
    ),
}
