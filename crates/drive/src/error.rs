//! What can go wrong in a drive.

pub use stithy_measure::error::{ErrorClass, ProgramError as DriveError};
