//! Database engines: what the hammer asks of all of them, and a folder for each. No SQL of a workload is
//! known here.

mod control;
mod failure;
pub mod mysql;
mod network;
pub mod postgresql;
mod rows;
mod session;
pub mod sqlite;
pub mod sqlserver;
mod target;

pub use control::{Control, Copying, TableOrder, Value};
pub use failure::SessionError;
pub use rows::RowFormat;
pub use session::{Access, Answer, Batch, Params, Row, Session, Statement};
pub use target::{SessionSettings, Target};
