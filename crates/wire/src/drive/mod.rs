//! What the emulated drive is asked to do, and what it answers.
//!
//! `stithy-drive` reads one [`DriveJob`] on standard input and writes one [`DriveMessage`] a line on standard
//! output. While it serves it reads one [`ControlRequest`] a line from its socket and answers each with
//! one [`ControlAnswer`] a line.

mod control;
mod fault;
mod figures;
mod job;
mod message;
mod profile;

pub use control::{ControlAnswer, ControlRequest, TraceCounts};
pub use fault::{CutCounts, CutRule, DriveFault, FaultSchedule, SlowPhase, SlowRule};
pub use figures::{LoadFigures, LoadPoint, PointFigures, ProfileFiguresJob, ProfileFiguresSummary};
pub use job::{
    CatalogueJob, CheckProfileJob, DriveBacking, DriveJob, DriveSpec, DriveUpJob, DriveVolatile,
};
pub use message::{DriveCounters, DriveMessage, DriveReady, OperationCounters};
pub use profile::{
    CatalogueSummary, CheckProfileSummary, ProfileFacts, ProfileProblem, ProfileSource,
    ShippedProfile, ShippedSchedule,
};
