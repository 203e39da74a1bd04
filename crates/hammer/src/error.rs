//! What can go wrong in the hammer.

pub use stithy_measure::error::{ErrorClass, ProgramError as HammerError};
