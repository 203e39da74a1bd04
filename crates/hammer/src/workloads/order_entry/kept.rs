//! What the ledger keeps of a new order or a payment, and how their rows are found: by O_ENTRY_D and
//! H_DATE, which the hammer gives and no other row has.

use super::input::{District, Input};
use crate::date::Date;
use crate::engines::Value;
use crate::ledger::Kept;

/// A new order or a payment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deal {
    /// Which of the two.
    pub kind: DealKind,
    /// O_ENTRY_D or H_DATE: microseconds since the start of 2000, UTC.
    pub date_us: i64,
    /// District, 1 to 10.
    pub d_id: u8,
    /// Warehouse, from 1.
    pub w_id: u32,
    /// The number that the database gave an acknowledged order; 0 otherwise.
    pub number: u32,
    /// Amount of a payment, hundredths; 0 for an order.
    pub amount_cents: u32,
}

/// Which of the transactions that are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DealKind {
    /// A new order.
    Order,
    /// A payment.
    Payment,
}

const KINDS: [DealKind; 2] = [DealKind::Order, DealKind::Payment];

impl Deal {
    /// What is about to be sent; None for transactions that the ledger does not keep.
    pub fn sent(input: &Input, date_us: i64) -> Option<Self> {
        let deal = |kind, district: District, amount_cents| Deal {
            kind,
            date_us,
            d_id: district.d_id as u8,
            w_id: district.w_id as u32,
            number: 0,
            amount_cents,
        };
        match input {
            Input::NewOrder(order) => Some(deal(DealKind::Order, order.district, 0)),
            Input::Payment(payment) => Some(deal(
                DealKind::Payment,
                payment.district,
                payment.amount_cents,
            )),
            _ => None,
        }
    }

    /// The same with the number that the database gave it, where it gives one.
    pub fn numbered(self, number: Option<u32>) -> Self {
        let number = number.filter(|_| self.kind == DealKind::Order).unwrap_or(0);
        Deal { number, ..self }
    }
}

impl Kept for Deal {
    const KINDS: &'static [&'static str] = &["order", "payment"];
    const BYTES: usize = 13;

    fn kind(&self) -> usize {
        self.kind as usize
    }

    fn key(&self) -> i64 {
        self.date_us
    }

    fn words(&self) -> String {
        let place = format!("district {} of warehouse {}", self.d_id, self.w_id);
        let dated = format!("dated {} UTC", Date::of(self.date_us));
        match self.kind {
            DealKind::Order if self.number == 0 => format!("an order of {place}, {dated}"),
            DealKind::Order => format!("order {} of {place}, {dated}", self.number),
            DealKind::Payment => {
                let (whole, cents) = (self.amount_cents / 100, self.amount_cents % 100);
                format!("a payment of {whole}.{cents:02} in {place}, {dated}")
            }
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.push(self.d_id);
        for word in [self.w_id, self.number, self.amount_cents] {
            out.extend_from_slice(&word.to_le_bytes());
        }
    }

    fn read(kind: usize, key: i64, rest: &[u8]) -> Option<Self> {
        let (d_id, words) = rest.split_first()?;
        let word = |at: usize| {
            let bytes = words.get(at..)?.first_chunk()?;
            Some(u32::from_le_bytes(*bytes))
        };
        Some(Deal {
            kind: KINDS[kind],
            date_us: key,
            d_id: *d_id,
            w_id: word(0)?,
            number: word(4)?,
            amount_cents: word(8)?,
        })
    }

    fn of_row(kind: usize, key: i64, columns: &[Value]) -> Self {
        let cell = |at: usize| columns.get(at).map_or(0, Value::integer) as u32;
        Deal {
            kind: KINDS[kind],
            date_us: key,
            d_id: cell(0) as u8,
            w_id: cell(1),
            number: cell(2),
            amount_cents: cell(3),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEAL: Deal = Deal {
        kind: DealKind::Order,
        date_us: 850_000_000_000_001,
        d_id: 4,
        w_id: 4_000_000_000,
        number: 3_001,
        amount_cents: 500_000,
    };

    /// What is kept is read as it was written, whatever its numbers.
    #[test]
    fn deals_are_read_as_written() {
        for kind in KINDS {
            let (deal, mut bytes) = (Deal { kind, ..DEAL }, Vec::new());
            deal.write(&mut bytes);
            assert_eq!(Deal::BYTES, bytes.len());
            assert_eq!(Some(deal), Deal::read(kind as usize, deal.date_us, &bytes));
        }
    }

    /// A person can find the order by what is said of it.
    #[test]
    fn words_name_the_order() {
        let deal = Deal { w_id: 2, ..DEAL };
        assert_eq!(
            "order 3001 of district 4 of warehouse 2, dated 2026-12-07 23:06:40.000001 UTC",
            deal.words()
        );
    }
}
