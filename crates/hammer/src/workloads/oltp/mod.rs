//! OLTP as sysbench has it, statement for statement: tables of numbered rows, and transactions of point
//! selects, ranges, updates, deletes and inserts on them. What differs is listed in
//! `docs/reference/oltp.md`.

mod conditions;
pub mod distribution;
mod load;
pub mod loaded;
pub mod mark;
pub mod options;
mod reads;
mod run;
pub mod statements;
mod text;
pub mod transaction;
mod user;

use std::marker::PhantomData;
use std::sync::Arc;

use serde_json::{Map, Value};
use stithy_wire::{DataShape, PrepareJob, RunJob, WarmUpJob, WorkloadChoice};

use super::{Base, Workload};
use crate::condition::ConditionQuery;
use crate::engines::Control;
use crate::error::HammerError;
use crate::ledger::write::Ledger;
use load::OltpLoad;
use loaded::Loaded;
use mark::Mark;
use options::Options;
use reads::OltpReads;
use run::OltpRun;
pub use statements::{OnMySql, OnPostgresql, OnSqlServer, OnSqlite, Pair};

const NAME: &str = "oltp";

/// What a stream of random numbers is for; the numbers must never change, or the same seed would give other
/// rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
pub enum Domain {
    /// A row of a table.
    Row = 1,
    /// Draws of a virtual user.
    User = 2,
    /// Draws of the warm-up pass.
    WarmUp = 3,
}

impl From<Domain> for u64 {
    fn from(domain: Domain) -> u64 {
        domain as u64
    }
}

/// The workload on one engine.
pub struct Oltp<P>(PhantomData<P>);

impl<P: Pair> Workload for Oltp<P> {
    const NAME: &'static str = NAME;
    const TYPES: &'static [&'static str] = &["transaction"];

    type Facts = Loaded;
    type Options = Options;
    type Load = OltpLoad;
    type Run = OltpRun;
    type Reads = OltpReads;
    type Kept = Mark;

    async fn facts(
        place: &str,
        control: &impl Control,
        options: &Options,
    ) -> Result<Loaded, HammerError> {
        Loaded::read(place, control, P::STATEMENTS, options).await
    }

    fn loaded(loaded: &Loaded) -> Map<String, Value> {
        Map::from_iter([
            ("tables".into(), loaded.tables.into()),
            ("rows".into(), loaded.rows.into()),
            ("seed".into(), loaded.seed.into()),
        ])
    }

    fn load(job: &PrepareJob, options: &Options) -> Result<OltpLoad, HammerError> {
        if job.data != DataShape::default() {
            return Err(HammerError::usage(
                "job-invalid",
                "the text of oltp is random digits, and has no other shape",
                "data",
                "leave out what is to compress or to repeat",
            ));
        }
        Ok(OltpLoad::new(job.seed, options, P::STATEMENTS))
    }

    fn options(choice: &WorkloadChoice) -> Result<Options, HammerError> {
        Options::read(choice, P::STATEMENTS.tables_max)
    }

    /// Any number of users finds rows.
    fn refuse_misfit(_: &Options, _: u32) -> Result<(), HammerError> {
        Ok(())
    }

    fn run(
        job: &RunJob,
        base: &Base<Self>,
        ledger: Option<Arc<Ledger>>,
    ) -> Result<OltpRun, HammerError> {
        OltpRun::new(job, &base.options, ledger, P::STATEMENTS)
    }

    fn reads(job: &WarmUpJob, base: &Base<Self>) -> OltpReads {
        OltpReads::new(job.seed, &base.options, P::STATEMENTS)
    }

    fn conditions(loaded: &Loaded) -> Vec<ConditionQuery> {
        conditions::conditions(loaded, P::STATEMENTS)
    }

    fn kept_rows(_: usize) -> &'static str {
        P::STATEMENTS.marks_by_date
    }
}
