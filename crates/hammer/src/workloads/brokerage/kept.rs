//! What the ledger keeps of an order, of its result, and of the feed that reached its limit: by the number of the
//! trade, which the hammer gives.

use super::input::{Execution, Order};
use super::population::Population;
use crate::date::Date;
use crate::engines::Value;
use crate::ledger::Kept;

/// An order, a result, or a limit that a feed has reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deal {
    /// Which of the three: the place in [`Deal::KINDS`].
    pub kind: u8,
    /// Number of the trade.
    pub id: i64,
    /// Of an order account, quantity and price; of a result the price and what of it is there; of a feed its date.
    pub numbers: [i64; 3],
    /// Symbol of an order.
    pub symbol: [u8; 6],
    /// Type of an order.
    pub trade_type: [u8; 3],
}

/// What belongs to a result: the state of the trade, settlement, state in the history, cash transaction or none.
const PARTS: i64 = 4;

impl Deal {
    /// An order; its price is known once it was acknowledged.
    pub fn of_order(population: &Population, order: &Order, price_cents: i64) -> Self {
        let mut trade_type = [0; 3];
        trade_type.copy_from_slice(order.kind.id().as_bytes());
        Deal {
            kind: 0,
            id: order.id,
            numbers: [
                order.account.number as i64 + 1,
                order.quantity.into(),
                price_cents,
            ],
            symbol: population.symbol(order.security),
            trade_type,
        }
    }

    /// A result.
    pub fn of_result(done: &Execution) -> Self {
        Deal::numbered(1, done.id, [done.price_cents, PARTS, 0])
    }

    /// An order whose limit was reached by the feed of a date.
    pub fn of_reached(id: i64, date_us: i64) -> Self {
        Deal::numbered(2, id, [date_us, 0, 0])
    }

    fn numbered(kind: u8, id: i64, numbers: [i64; 3]) -> Self {
        Deal {
            kind,
            id,
            numbers,
            symbol: [0; 6],
            trade_type: [0; 3],
        }
    }
}

fn price_words(cents: i64) -> String {
    format!("{}.{:02}", cents / 100, cents % 100)
}

impl Kept for Deal {
    const KINDS: &'static [&'static str] = &["order", "result", "feed"];
    const BYTES: usize = 33;

    fn kind(&self) -> usize {
        self.kind.into()
    }

    fn key(&self) -> i64 {
        self.id
    }

    fn words(&self) -> String {
        let (id, [first, second, third]) = (self.id, self.numbers);
        match self.kind {
            0 => {
                let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                let (symbol, kind) = (text(&self.symbol), text(&self.trade_type));
                format!(
                    "order {id} of account {first}: {kind} of {second} {symbol} at {}",
                    price_words(third)
                )
            }
            1 => format!(
                "the result of order {id} at {}, {second} of {PARTS} parts of it",
                price_words(first)
            ),
            _ => format!(
                "the feed of {} UTC that reached the limit of order {id}",
                Date::of(first)
            ),
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        for number in self.numbers {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.extend_from_slice(&self.symbol);
        out.extend_from_slice(&self.trade_type);
    }

    fn read(kind: usize, key: i64, rest: &[u8]) -> Option<Self> {
        let (numbers, texts) = rest.split_at_checked(24)?;
        let number = |at: usize| Some(i64::from_le_bytes(*numbers.get(8 * at..)?.first_chunk()?));
        Some(Deal {
            kind: kind as u8,
            id: key,
            numbers: [number(0)?, number(1)?, number(2)?],
            symbol: *texts.first_chunk()?,
            trade_type: *texts.get(6..)?.first_chunk()?,
        })
    }

    fn of_row(kind: usize, key: i64, columns: &[Value]) -> Self {
        let number = |at: usize| columns.get(at).map_or(0, Value::integer);
        let text = |at: usize| columns.get(at).and_then(Value::text).unwrap_or_default();
        let mut deal = Deal::numbered(kind as u8, key, [number(0), number(1), number(2)]);
        for (letter, place) in text(3).bytes().zip(&mut deal.symbol) {
            *place = letter;
        }
        for (letter, place) in text(4).bytes().zip(&mut deal.trade_type) {
            *place = letter;
        }
        deal
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORDER: Deal = Deal {
        kind: 0,
        id: 691_207,
        numbers: [17, 400, 3_105],
        symbol: *b"QWERTY",
        trade_type: *b"TLB",
    };

    /// What is kept is read as it was written, and as the database gives it.
    #[test]
    fn deals_are_read_as_written() {
        for kind in 0..3 {
            let (deal, mut bytes) = (Deal { kind, ..ORDER }, Vec::new());
            deal.write(&mut bytes);
            assert_eq!(Deal::BYTES, bytes.len());
            assert_eq!(Some(deal), Deal::read(kind.into(), deal.id, &bytes));
        }
        let texts = ["QWERTY", "TLB"].map(|text| Value::Text(text.into()));
        let columns: Vec<Value> = ORDER
            .numbers
            .map(Value::Integer)
            .into_iter()
            .chain(texts)
            .collect();
        assert_eq!(ORDER, Deal::of_row(0, ORDER.id, &columns));
    }

    /// A person can find each of them by what is said of it.
    #[test]
    fn words_name_the_order() {
        assert_eq!(
            "order 691207 of account 17: TLB of 400 QWERTY at 31.05",
            ORDER.words()
        );
        let result = Deal::numbered(1, 5, [3_105, 3, 0]);
        assert_eq!(
            "the result of order 5 at 31.05, 3 of 4 parts of it",
            result.words()
        );
    }
}
