//! Order entry: nine tables of a wholesale supplier and five transactions on them, derived from the
//! TPC-C specification (clause numbers in this folder are those of its revision 5.11). It is no TPC
//! benchmark, and its results cannot be compared with TPC results.

pub mod binary;
mod check;
pub mod conditions;
mod load;
pub mod loaded;
mod prepare;
pub mod procedures;
pub mod random;
mod schedule;
pub mod schema;
pub mod tables;
mod tally;
pub mod text;

use stithy_wire::{CheckJob, CheckSummary, PrepareJob, PrepareSummary};

use super::{Answer, Context, Workload};

/// The workload.
pub struct OrderEntry;

impl Workload for OrderEntry {
    fn name(&self) -> &'static str {
        "order-entry"
    }

    fn prepare<'a>(
        &'a self,
        job: &'a PrepareJob,
        context: Context<'a>,
    ) -> Answer<'a, PrepareSummary> {
        Box::pin(prepare::prepare(job, context))
    }

    fn check<'a>(&'a self, job: &'a CheckJob, context: Context<'a>) -> Answer<'a, CheckSummary> {
        Box::pin(check::check(job, context))
    }
}
