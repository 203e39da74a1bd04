//! The engines, each with the workloads that have statements for it. Who adds one adds its module beside the
//! others, and its type here.

// Unit tests leave all pairs but one out.
#![cfg_attr(test, allow(unused_imports))]

use std::future::{ready, Future};
use std::pin::Pin;

use stithy_wire::{Job, WorkloadChoice};

use crate::engines::{mysql, postgresql, sqlite, sqlserver, Target};
use crate::error::HammerError;
use crate::job::execute_as;
use crate::workloads::brokerage::{self, Brokerage};
use crate::workloads::oltp::{self, Oltp};
use crate::workloads::order_entry::{OnMySql, OnPostgresql, OnSqlServer, OnSqlite, OrderEntry};
use crate::workloads::{Context, Workload};

/// A job that is done while this is awaited. Behind a pointer, so that all of them are compiled here, and not
/// again in each program and each program of tests.
pub type Execution<'a> = Pin<Box<dyn Future<Output = Result<(), HammerError>> + 'a>>;

/// A job is compiled once for each pair of an engine and a workload, so that choosing costs nothing later.
macro_rules! plugins {
    ($($target:ty: $($workload:ty),+;)+) => {
        const SCHEMES: &[&[&str]] = &[$(<$target>::SCHEMES),+];

        /// The engines that are a part of the hammer, each with its version, one a line: `sqlite 3.50.4`.
        pub fn built_in() -> String {
            let versions = [$((<$target>::ENGINE, <$target>::version())),+];
            let lines = versions.iter().filter_map(|(name, version)| Some(format!("{name} {}\n", (*version)?)));
            lines.collect()
        }

        /// Does a job with the engine of its URL and the workload that it names; one without either is the
        /// same with any. The sink gets every message but a failure, which is the error.
        ///
        /// Errors: those of the job, `url-invalid` and `unknown-workload` (usage).
        pub fn execute<'a>(job: &'a Job, context: Context<'a>) -> Execution<'a> {
            let (url, choice) = needs(job);
            let name = choice.map(|choice| choice.name.as_str());
            $(
                if url.is_none_or(|url| is_of::<$target>(url)) {
                    $(
                        if name.is_none_or(|name| name == <$workload>::NAME) {
                            return Box::pin(execute_as::<$target, $workload>(job, context));
                        }
                    )+
                    let names = [$(<$workload>::NAME),+];
                    return Box::pin(ready(Err(refuse_workload(name.unwrap_or_default(), &names))));
                }
            )+
            Box::pin(ready(Err(refuse_engine())))
        }
    };
}

#[cfg(not(test))]
plugins! {
    postgresql::Target: OrderEntry<OnPostgresql>, Oltp<oltp::OnPostgresql>, Brokerage<brokerage::OnPostgresql>;
    sqlite::Target: OrderEntry<OnSqlite>, Oltp<oltp::OnSqlite>, Brokerage<brokerage::OnSqlite>;
    mysql::Target: OrderEntry<OnMySql>, Oltp<oltp::OnMySql>, Brokerage<brokerage::OnMySql>;
    sqlserver::Target: OrderEntry<OnSqlServer>, Oltp<oltp::OnSqlServer>, Brokerage<brokerage::OnSqlServer>;
}

// Unit tests do no job: compiling one for each pair would take most of their time. The other pairs are then not used.
#[cfg(test)]
plugins! {
    postgresql::Target: OrderEntry<OnPostgresql>;
}

/// The rows of some engine, for what holds of all.
#[cfg(test)]
pub(crate) const SOME_FORMAT: &dyn crate::engines::RowFormat =
    <postgresql::Control as crate::engines::Control>::FORMAT;

fn is_of<T: Target>(url: &str) -> bool {
    T::SCHEMES.iter().any(|scheme| url.starts_with(scheme))
}

fn refuse_engine() -> HammerError {
    let problem = "the URL is of no engine that this hammer knows";
    let remedy = format!("begin it with one of: {}", SCHEMES.concat().join(", "));
    HammerError::usage("url-invalid", problem, "url", remedy)
}

fn refuse_workload(name: &str, names: &[&str]) -> HammerError {
    HammerError::usage(
        "unknown-workload",
        format!("this engine has no workload {name:?}"),
        "workload.name",
        format!("name one of: {}", names.join(", ")),
    )
}

/// Where the job's database is, and what it works on; None where it needs none.
fn needs(job: &Job) -> (Option<&str>, Option<&WorkloadChoice>) {
    match job {
        Job::Prepare(job) => (Some(&job.url), Some(&job.workload)),
        Job::WarmUp(job) => (Some(&job.url), Some(&job.workload)),
        Job::Run(job) => (Some(&job.url), Some(&job.workload)),
        Job::Check(job) => (Some(&job.url), Some(&job.workload)),
        Job::VerifyLedger(job) => (Some(&job.url), Some(&job.workload)),
        Job::Calibrate(job) => (Some(&job.url), None),
        Job::Baseline(_) => (None, None),
    }
}
