//! What a ledger keeps of a transaction: the row that it leaves in the table of marks. Rows of the
//! workload's own tables are written again and again, so they do not show which transactions are there.

use crate::date::Date;
use crate::engines::Value;
use crate::ledger::Kept;

/// The mark of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// Its date: microseconds since the start of 2000, UTC.
    pub date_us: i64,
    /// Whose it is, counted from 0.
    pub user: u32,
}

impl Kept for Mark {
    const KINDS: &'static [&'static str] = &["transaction"];
    const BYTES: usize = 4;

    fn kind(&self) -> usize {
        0
    }

    fn key(&self) -> i64 {
        self.date_us
    }

    fn words(&self) -> String {
        let date = Date::of(self.date_us);
        format!("a transaction of user {}, dated {date} UTC", self.user)
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.user.to_le_bytes());
    }

    fn read(_: usize, date_us: i64, rest: &[u8]) -> Option<Self> {
        let user = u32::from_le_bytes(rest.try_into().ok()?);
        Some(Mark { date_us, user })
    }

    fn of_row(_: usize, date_us: i64, columns: &[Value]) -> Self {
        let user = columns.first().map_or(0, Value::integer) as u32;
        Mark { date_us, user }
    }
}
