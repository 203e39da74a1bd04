//! Order entry on each engine, a folder for each: its statements, and how its transactions go through them.

/// The tables of an engine, each in a file of its folder.
macro_rules! tables {
    () => {
        tables!["order_line" "stock" "customer" "orders" "history" "item" "new_order" "district" "warehouse"]
    };
    ($($name:literal)*) => {
        [$(($name, include_str!(concat!("tables/", $name, ".sql")))),*]
    };
}

/// The conditions of an engine that has `format`: four are the same everywhere, the others are in files of its
/// folder.
macro_rules! conditions_with_format {
    () => {
        [
            include_str!("conditions/01.sql"),
            include_str!("conditions/02.sql"),
            include_str!("../conditions/03.sql"),
            include_str!("../conditions/04.sql"),
            include_str!("../conditions/05.sql"),
            include_str!("conditions/06.sql"),
            include_str!("conditions/07.sql"),
            include_str!("conditions/08.sql"),
            include_str!("conditions/09.sql"),
            include_str!("conditions/10.sql"),
            include_str!("../conditions/11.sql"),
            include_str!("conditions/12.sql"),
        ]
    };
}

mod execution_mode;
mod mysql;
mod postgresql;
mod sqlite;
mod sqlserver;

use std::future::Future;

pub use execution_mode::ExecutionMode;
use execution_mode::Modes;
pub use mysql::OnMySql;
pub use postgresql::OnPostgresql;
pub use sqlite::OnSqlite;
pub use sqlserver::OnSqlServer;

use super::input::Input;
use super::options::Options;
use super::output::Shown;
use crate::engines::{Session, SessionError};
use crate::error::HammerError;

/// Order entry on one engine.
pub trait Pair: Send + Sync + 'static {
    /// What is said to the engine outside of transactions.
    const STATEMENTS: &'static Statements;
    /// How its transactions are done.
    type Transactions: Transactions;

    /// Refuses options that the engine has no way for. Errors: `job-invalid` (usage).
    fn refuse_misfit(options: &Options) -> Result<(), HammerError>;
}

/// How the transactions are done on one engine: the prepared statements of a session, and the steps through
/// them. `UPDATE … RETURNING` ([`super::plain`]) and procedures in the server ([`super::procedures`]) are two
/// ways that several engines may share.
pub trait Transactions: Clone + Send + 'static {
    /// Prepares the statements of a session.
    fn prepare(
        session: &mut impl Session,
        options: &Options,
    ) -> impl Future<Output = Result<Self, SessionError>> + Send;

    /// Does one transaction; `date_us` is its date, microseconds since the start of 2000.
    ///
    /// An error of the engine may leave a failed transaction open.
    fn act(
        &self,
        session: &mut impl Session,
        input: &Input,
        date_us: i64,
    ) -> impl Future<Output = Result<Shown, SessionError>> + Send;

    /// The number that the database gave the new order which was just committed.
    fn order_number(&self, session: &impl Session) -> Option<u32>;
}

/// What order entry says to one engine outside of transactions.
pub struct Statements {
    /// Creates the table of one row that says what was loaded.
    pub create_meta: &'static str,
    /// Writes that row: workload, version, warehouses, seed as text, C_LAST, compressible and duplicate
    /// percent.
    pub write_meta: &'static str,
    /// Reads it for a workload: version, warehouses, seed as text, C_LAST.
    pub read_meta: &'static str,
    /// Of each table first `CREATE TABLE`, then indexes, then what makes keys of them.
    pub tables: [(&'static str, &'static str); 9],
    /// What is created after loading: procedures.
    pub created_last: &'static [&'static str],
    /// Statements that read what the transactions of a run touch, old row versions apart: district,
    /// customer by number and by name, lines, last order, oldest waiting order, stock level.
    pub reads: [&'static str; 7],
    /// Gives the rows that break each consistency condition.
    pub conditions: [&'static str; 12],
    /// What the text of conditions calls otherwise than the engine, each with the engine's own.
    pub words: &'static [(&'static str, &'static str)],
    /// Date, district, warehouse, number and amount of orders dated within two bounds, by date.
    pub orders_by_date: &'static str,
    /// The same of payments.
    pub payments_by_date: &'static str,
    /// Sum of D_NEXT_O_ID.
    pub order_numbers: &'static str,
    /// How many orders there are of lists of warehouses, districts and dates.
    pub present_orders: &'static str,
}

/// The conditions of engines that have `CONCAT` and no `format`.
const CONDITIONS_WITH_CONCAT: [&str; 12] = [
    include_str!("conditions/concat/01.sql"),
    include_str!("conditions/concat/02.sql"),
    include_str!("conditions/concat/03.sql"),
    include_str!("conditions/concat/04.sql"),
    include_str!("conditions/concat/05.sql"),
    include_str!("conditions/concat/06.sql"),
    include_str!("conditions/concat/07.sql"),
    include_str!("conditions/concat/08.sql"),
    include_str!("conditions/concat/09.sql"),
    include_str!("conditions/concat/10.sql"),
    include_str!("conditions/concat/11.sql"),
    include_str!("conditions/concat/12.sql"),
];
