//! What a virtual user does; each workload has its own script.

use std::future::Future;

use stithy_measure::Outcome;

use crate::engines::{Session, SessionError};

/// The seam between the running of load and what the load is.
///
/// A copy of a script tries the same drawn transaction; it serves to do that later.
pub trait TransactionScript: Clone + Send + 'static {
    /// Draws the next transaction and gives the index of its type.
    fn draw(&mut self) -> usize;

    /// Tries the drawn transaction once; called again, it tries the same one again.
    fn attempt<C: Session>(
        &mut self,
        session: &mut C,
    ) -> impl Future<Output = Result<Outcome, SessionError>> + Send;
}
