//! What a virtual user does; each workload has its own script.

use stithy_measure::Outcome;

use crate::client::postgresql::{Session, SessionError};

/// The seam between the running of load and what the load is.
///
/// Users are tasks of one thread, so a script's futures need not move between threads.
#[allow(
    async_fn_in_trait,
    reason = "no future needs to move between threads, see above"
)]
pub trait Script {
    /// Draws the next transaction and gives the index of its type.
    fn draw(&mut self) -> usize;

    /// Tries the drawn transaction once; called again, it tries the same one again.
    async fn attempt(&mut self, session: &mut Session) -> Result<Outcome, SessionError>;
}
