//! Brokerage on each engine, a folder for each: its statements, and how its transactions go through them.

mod mysql;
mod postgresql;
mod sqlite;

use std::future::Future;

pub use mysql::OnMySql;
pub use postgresql::OnPostgresql;
pub use sqlite::OnSqlite;

use super::input::Input;
use super::population::Population;
use super::schema::Dialect;
use super::transactions::Texts;
use crate::engines::{Session, SessionError};

/// Brokerage on one engine.
pub trait Pair: Send + Sync + 'static {
    /// What is said to the engine.
    const STATEMENTS: &'static Statements;
    /// How its transactions are done.
    type Transactions: Transactions;
    /// Whether procedures begin and end their transactions themselves, with all that these read: what comes behind a
    /// call would be a wait of its own.
    const CALLS_COMMIT: bool = false;
}

/// What a transaction showed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Shown {
    /// Whether it was rolled back as it should be.
    pub rolled_back: bool,
    /// Hundredths: the price with which an order was sent.
    pub price_cents: i64,
    /// Orders whose limits a feed has reached.
    pub reached: Vec<i64>,
}

/// How the transactions are done on one engine: the prepared statements of a session, and the steps through them.
pub trait Transactions: Clone + Send + Sync + 'static {
    /// Prepares the statements of a session.
    fn prepare(
        session: &mut impl Session,
    ) -> impl Future<Output = Result<Self, SessionError>> + Send;

    /// Does one transaction; `date_us` is its date, microseconds since the start of 2000.
    fn act(
        &self,
        session: &mut impl Session,
        population: &Population,
        input: &Input,
        date_us: i64,
    ) -> impl Future<Output = Result<Shown, SessionError>> + Send;
}

/// What brokerage says to one engine.
pub struct Statements {
    /// How it is told of tables.
    pub dialect: Dialect,
    /// Creates the table of one row that says what was loaded.
    pub create_meta: &'static str,
    /// Writes that row: workload, version, units, size and seed as text.
    pub write_meta: &'static str,
    /// Reads it for a workload: version, size and seed as text.
    pub read_meta: &'static str,
    /// What is created after loading: procedures.
    pub created_last: &'static [&'static str],
    /// What its transactions say.
    pub texts: Texts,
    /// Gives the rows that break each consistency condition.
    pub conditions: [&'static str; CONDITIONS.len()],
    /// What the common text of conditions calls otherwise than the engine, each with the engine's own.
    pub words: &'static [(&'static str, &'static str)],
    /// Cancels, in one transaction, the orders that were left open.
    pub clean_up: &'static [&'static str],
    /// Of orders, results and feeds with numbers within two bounds: the number, three integers, symbol and type.
    pub kept: [&'static str; 3],
    /// How many trades brokers have completed.
    pub completed: &'static str,
    /// How many of a list of trades are settled.
    pub completed_of: &'static str,
}

/// The conditions in common SQL, in their order.
pub const CONDITIONS: [&str; 16] = [
    include_str!("conditions/01.sql"),
    include_str!("conditions/02.sql"),
    include_str!("conditions/03.sql"),
    include_str!("conditions/04.sql"),
    include_str!("conditions/05.sql"),
    include_str!("conditions/06.sql"),
    include_str!("conditions/07.sql"),
    include_str!("conditions/08.sql"),
    include_str!("conditions/09.sql"),
    include_str!("conditions/10.sql"),
    include_str!("conditions/11.sql"),
    include_str!("conditions/12.sql"),
    include_str!("conditions/13.sql"),
    include_str!("conditions/14.sql"),
    include_str!("conditions/15.sql"),
    include_str!("conditions/16.sql"),
];
