//! Order entry: nine tables of a wholesale supplier and five transactions on them, derived from the
//! TPC-C specification (clause numbers in this folder are those of its revision 5.11). It is no TPC
//! benchmark, and its results cannot be compared with TPC results.

mod check;
pub mod conditions;
pub mod execution_mode;
pub mod input;
pub mod input_profile;
pub mod ledger;
mod load;
pub mod loaded;
pub mod order_book;
pub mod output;
pub mod plain;
mod prepare;
pub mod procedures;
pub mod random;
pub mod rows;
mod run;
mod sample;
mod schedule;
pub mod schema;
pub mod sql;
pub mod tables;
mod tally;
mod terminal;
pub mod text;
mod virtual_users;
mod warm_up;

use stithy_wire::{
    CheckJob, CheckSummary, LedgerSummary, PrepareJob, PrepareSummary, RunJob, RunSummary,
    VerifyLedgerJob, WarmUpJob, WarmUpSummary,
};

use super::{Answer, Context, Workload};
use crate::client::Target;

/// The workload.
pub struct OrderEntry;

impl<T: Target> Workload<T> for OrderEntry {
    fn name(&self) -> &'static str {
        "order-entry"
    }

    fn prepare<'a>(
        &'a self,
        job: &'a PrepareJob,
        context: Context<'a>,
    ) -> Answer<'a, PrepareSummary> {
        Box::pin(prepare::prepare::<T>(job, context))
    }

    fn warm_up<'a>(
        &'a self,
        job: &'a WarmUpJob,
        context: Context<'a>,
    ) -> Answer<'a, WarmUpSummary> {
        Box::pin(warm_up::warm_up::<T>(job, context))
    }

    fn run<'a>(&'a self, job: &'a RunJob, context: Context<'a>) -> Answer<'a, RunSummary> {
        Box::pin(run::run::<T>(job, context))
    }

    fn check<'a>(&'a self, job: &'a CheckJob, context: Context<'a>) -> Answer<'a, CheckSummary> {
        Box::pin(check::check::<T>(job, context))
    }

    fn verify_ledger<'a>(
        &'a self,
        job: &'a VerifyLedgerJob,
        context: Context<'a>,
    ) -> Answer<'a, LedgerSummary> {
        Box::pin(ledger::verify::verify::<T>(job, context))
    }
}
