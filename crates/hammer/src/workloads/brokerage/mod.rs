//! Brokerage: 33 tables of a broker's house and twelve transactions on them, derived from the facts of the public
//! TPC-E specification (revision 1.14.0). It is no TPC benchmark, and its results cannot be compared with TPC
//! results.

pub mod conditions;
pub mod exchange;
pub mod fees;
pub mod history;
pub mod input;
pub mod kept;
mod load;
pub mod loaded;
pub mod names;
pub mod options;
pub mod plain;
pub mod population;
pub mod random;
mod reads;
mod run;
pub mod schema;
pub mod statements;
pub mod tables;
pub mod transactions;
pub mod user;

use std::marker::PhantomData;
use std::sync::Arc;

use serde_json::{Map, Value};
use stithy_wire::{PrepareJob, RunJob, WarmUpJob, WorkloadChoice};

use super::{Base, Workload};
use crate::condition::ConditionQuery;
use crate::engines::Control;
use crate::error::HammerError;
use crate::ledger::write::Ledger;
use kept::Deal;
use load::BrokerageLoad;
use loaded::Loaded;
use options::Options;
use reads::BrokerageReads;
use run::BrokerageRun;
use statements::Pair;
pub use statements::{OnMySql, OnPostgresql, OnSqlServer, OnSqlite};

const NAME: &str = "brokerage";

/// The workload on one engine.
pub struct Brokerage<P>(PhantomData<P>);

impl<P: Pair> Workload for Brokerage<P> {
    const NAME: &'static str = NAME;
    const TYPES: &'static [&'static str] = input::NAMES;
    /// One exchange answers the orders of all, and numbers their trades.
    const IS_DIVISIBLE: bool = false;

    type Facts = Loaded;
    type Options = Options;
    type Load = BrokerageLoad;
    type Run = BrokerageRun<P>;
    type Reads = BrokerageReads;
    type Kept = Deal;

    async fn facts(
        place: &str,
        control: &impl Control,
        options: &Options,
    ) -> Result<Loaded, HammerError> {
        Loaded::read(place, control, P::STATEMENTS, options).await
    }

    fn loaded(loaded: &Loaded) -> Map<String, Value> {
        Map::from_iter([
            ("customers".into(), loaded.customers.into()),
            ("days".into(), loaded.days.into()),
            ("seed".into(), loaded.population.seed.into()),
        ])
    }

    fn load(job: &PrepareJob, options: &Options) -> Result<BrokerageLoad, HammerError> {
        Ok(BrokerageLoad::new(job, options, P::STATEMENTS))
    }

    fn options(choice: &WorkloadChoice) -> Result<Options, HammerError> {
        Options::read(choice)
    }

    fn refuse_misfit(_: &Options, _: u32) -> Result<(), HammerError> {
        Ok(())
    }

    fn run(
        job: &RunJob,
        base: &Base<Self>,
        ledger: Option<Arc<Ledger>>,
    ) -> Result<BrokerageRun<P>, HammerError> {
        Ok(BrokerageRun::new(job, base, ledger))
    }

    fn reads(job: &WarmUpJob, base: &Base<Self>) -> BrokerageReads {
        BrokerageReads::new(job, base)
    }

    fn conditions(_: &Loaded) -> Vec<ConditionQuery> {
        conditions::conditions(P::STATEMENTS)
    }

    fn kept_rows(kind: usize) -> &'static str {
        P::STATEMENTS.kept[kind]
    }
}
