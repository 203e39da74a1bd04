//! Ways to speak to a database server: what the hammer asks of all of them, and a folder for each
//! protocol. No SQL of a workload is known here.

mod failure;
pub mod postgresql;
mod session;
mod target;

pub use failure::{SessionError, SessionErrorKind};
pub use session::{Answer, Params, Row, Session, Statement};
pub use target::{SessionSettings, Target};
