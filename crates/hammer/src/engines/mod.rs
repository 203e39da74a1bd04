//! Ways to speak to a database server: what the hammer asks of all of them, and a folder for each
//! protocol. No SQL of a workload is known here.

mod control;
mod failure;
pub mod postgresql;
mod rows;
mod session;
mod target;

pub use control::{Control, Copying, Value};
pub use failure::SessionError;
pub use rows::RowFormat;
pub use session::{Answer, Params, Row, Session, Statement};
pub use target::{SessionSettings, Target};
