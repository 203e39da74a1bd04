//! The ledger: what the hammer meant to do and what the database acknowledged, in a file that lies
//! elsewhere than the database, so that after a failure it can be proven whether anything was lost.
//!
//! What must be durable when. An acknowledgement counts once it is in the file, and it is written
//! only after the database's answer: so an entry that is there is never ahead of the database, and
//! one that is missing only makes the proof smaller, never wrong. Therefore no user ever waits for the
//! ledger: entries are gathered and synced in groups by a thread of its own. What was meant (`Sent`)
//! comes before its outcome in the file, so an outcome is never there without it; the last group may be
//! missing after a loss of power, and with it the knowledge of some doubts.
//!
//! The format is described in `docs/reference/ledger.md`.

mod compare;
mod date;
pub mod format;
pub mod read;
pub mod verify;
pub mod write;

use super::input::Input;
use format::{Deal, Entry};

impl Entry {
    /// What is about to be sent; None for transactions that the ledger does not keep.
    pub fn sent(input: &Input, date_us: i64) -> Option<Self> {
        let entry = |deal, d_id: i16, w_id: i32| Entry {
            deal,
            stage: format::Stage::Sent,
            d_id: d_id as u8,
            w_id: w_id as u32,
            number: 0,
            amount_cents: 0,
            date_us,
        };
        match input {
            Input::NewOrder(order) => {
                Some(entry(Deal::Order, order.district.d_id, order.district.w_id))
            }
            Input::Payment(payment) => Some(Entry {
                amount_cents: payment.amount_cents,
                ..entry(Deal::Payment, payment.district.d_id, payment.district.w_id)
            }),
            _ => None,
        }
    }
}
