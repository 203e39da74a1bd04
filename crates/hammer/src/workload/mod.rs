//! The workloads; one folder each, found by name in a list.

use std::future::Future;
use std::pin::Pin;

use stithy_wire::{
    CheckJob, CheckSummary, LedgerSummary, Message, PrepareJob, PrepareSummary, RunJob, RunSummary,
    VerifyLedgerJob, WarmUpJob, WarmUpSummary,
};

use crate::client::Target;
use crate::error::HammerError;
use crate::stop::Stop;

pub mod order_entry;

/// Every workload of the hammer.
fn all<T: Target>() -> [&'static dyn Workload<T>; 1] {
    [&order_entry::OrderEntry]
}

/// What a job is given besides its own text.
pub struct Context<'a> {
    /// Takes every message of the job but the first and the last.
    pub sink: &'a mut dyn FnMut(Message),
    /// Whether somebody asked the job to stop.
    pub stop: Stop,
}

/// What a job ends with.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, HammerError>> + 'a>>;

/// A kind of work that databases are measured with.
pub trait Workload<T: Target>: Sync {
    /// Its name in jobs.
    fn name(&self) -> &'static str;

    /// Loads an empty database.
    fn prepare<'a>(
        &'a self,
        job: &'a PrepareJob,
        context: Context<'a>,
    ) -> Answer<'a, PrepareSummary>;

    /// Reads the same rows before every window.
    fn warm_up<'a>(&'a self, job: &'a WarmUpJob, context: Context<'a>)
        -> Answer<'a, WarmUpSummary>;

    /// Drives the database with virtual users for one window.
    fn run<'a>(&'a self, job: &'a RunJob, context: Context<'a>) -> Answer<'a, RunSummary>;

    /// Verifies the consistency conditions.
    fn check<'a>(&'a self, job: &'a CheckJob, context: Context<'a>) -> Answer<'a, CheckSummary>;

    /// Compares a run's ledger with the database.
    fn verify_ledger<'a>(
        &'a self,
        job: &'a VerifyLedgerJob,
        context: Context<'a>,
    ) -> Answer<'a, LedgerSummary>;
}

/// The workload of a name.
///
/// Errors: `unknown-workload` (usage).
pub fn find<T: Target>(name: &str) -> Result<&'static dyn Workload<T>, HammerError> {
    let all = all::<T>();
    let found = all.iter().find(|workload| workload.name() == name);
    found.copied().ok_or_else(|| {
        let known: Vec<&str> = all.iter().map(|workload| workload.name()).collect();
        HammerError::usage(
            "unknown-workload",
            format!("there is no workload {name:?}"),
            "workload.name",
            format!("name one of: {}", known.join(", ")),
        )
    })
}
