//! The jobs, a file each: what a workload need not know of them.

mod baseline;
mod calibrate;
mod check;
mod prepare;
mod run;
mod saturation_search;
mod verify_ledger;
mod warm_up;

pub(crate) use baseline::READ_BYTES;

use stithy_wire::{Job, Message};

use crate::engines::Target;
use crate::error::HammerError;
use crate::workloads::{Base, Context, Workload};

/// Does a job of a workload on an engine; gives its summary.
pub(crate) async fn summary<'a, T: Target, W: Workload>(
    job: &'a Job,
    context: Context<'a>,
) -> Result<Message, HammerError> {
    Ok(match job {
        Job::Prepare(job) => Message::PrepareSummary(prepare::prepare::<T, W>(job, context).await?),
        Job::Check(job) => Message::CheckSummary(check::check::<T, W>(job, context).await?),
        Job::WarmUp(job) => Message::WarmUpSummary(warm_up::warm_up::<T, W>(job, context).await?),
        Job::Run(job) => Message::RunSummary(Box::new(run::run::<T, W>(job, context).await?)),
        Job::VerifyLedger(job) => {
            Message::LedgerSummary(verify_ledger::verify_ledger::<T, W>(job, context).await?)
        }
        Job::Calibrate(job) => {
            Message::CalibrateSummary(calibrate::calibrate::<T>(job, context).await?)
        }
        Job::Baseline(job) => Message::BaselineSummary(baseline::baseline(job)?),
    })
}

/// A loaded database, as a job finds it.
pub(crate) struct Found<T: Target, W: Workload> {
    pub(crate) target: T,
    pub(crate) control: T::Control,
    pub(crate) base: Base<W>,
}

impl<T: Target, W: Workload> Found<T, W> {
    /// Looks at the database of a URL.
    ///
    /// Errors: those of connecting and of [`Workload::facts`].
    pub(crate) async fn at(url: &str, options: W::Options) -> Result<Self, HammerError> {
        let target = T::parse(url)?;
        let control = target.connect().await?;
        let facts = W::facts(target.place(), &control, &options).await?;
        Ok(Found {
            target,
            control,
            base: Base { options, facts },
        })
    }
}
