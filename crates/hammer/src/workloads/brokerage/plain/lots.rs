//! Which holdings a trade uses up, one after the other, and what that gains.

use crate::engines::{Answer, Row};

/// A holding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lot {
    id: i64,
    quantity: i64,
    price_cents: i64,
}

/// What a trade changes of a holding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Change {
    /// The trade that created it.
    pub holding: i64,
    /// Its quantity before.
    pub before: i64,
    /// Its quantity after; 0 where it is used up.
    pub after: i64,
}

/// What a trade uses of holdings.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Used {
    /// Its changes of them.
    pub changes: Vec<Change>,
    /// The quantity for which there is none.
    pub rest: i64,
    /// What it gains, hundredths.
    pub gain_cents: i64,
}

/// The holdings that a step has given, in its order.
pub(super) fn read_lots(answer: &impl Answer, step: u16) -> impl Iterator<Item = Lot> + '_ {
    answer.rows(step).filter_map(|row| {
        Some(Lot {
            id: row.integer(0)?,
            quantity: row.integer(1)?,
            price_cents: row.cents(2)?,
        })
    })
}

/// Trades a quantity at a price; `sign` is 1 for a buy and -1 for a sell, and the holdings have the other.
pub(super) fn use_lots(
    lots: impl Iterator<Item = Lot>,
    quantity: i64,
    sign: i64,
    price_cents: i64,
) -> Used {
    let mut used = Used {
        rest: quantity,
        ..Used::default()
    };
    for lot in lots {
        if used.rest == 0 {
            break;
        }
        let taken = used.rest.min(lot.quantity.abs());
        used.rest -= taken;
        used.gain_cents -= sign * taken * (price_cents - lot.price_cents);
        used.changes.push(Change {
            holding: lot.id,
            before: lot.quantity,
            after: lot.quantity + sign * taken,
        });
    }
    used
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sell uses one holding up and a part of the next, and gains from both; a buy closes what was sold short, and
    /// leaves what is more than that.
    #[test]
    fn holdings_are_used_in_their_order() {
        let lot = |id, quantity, price_cents| Lot {
            id,
            quantity,
            price_cents,
        };
        let change = |holding, before, after| Change {
            holding,
            before,
            after,
        };
        let held = [lot(1, 100, 2_000), lot(2, 400, 2_500), lot(3, 100, 1)];
        let sold = use_lots(held.into_iter(), 200, -1, 2_400);
        assert_eq!(vec![change(1, 100, 0), change(2, 400, 300)], sold.changes);
        assert_eq!((0, 30_000), (sold.rest, sold.gain_cents));
        let bought = use_lots([lot(4, -100, 2_000)].into_iter(), 800, 1, 2_100);
        assert_eq!(vec![change(4, -100, 0)], bought.changes);
        assert_eq!((700, -10_000), (bought.rest, bought.gain_cents));
    }
}
