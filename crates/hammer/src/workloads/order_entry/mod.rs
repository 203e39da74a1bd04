//! Order entry: nine tables of a wholesale supplier and five transactions on them, derived from the
//! TPC-C specification (clause numbers in this folder are those of its revision 5.11). It is no TPC
//! benchmark, and its results cannot be compared with TPC results.

pub mod conditions;
pub mod input;
pub mod input_profile;
pub mod kept;
mod load;
pub mod loaded;
pub mod options;
pub mod order_book;
pub mod output;
pub mod plain;
pub mod procedures;
pub mod random;
mod reads;
mod run;
pub mod schema;
pub mod statements;
pub mod tables;
mod terminal;
pub mod text;

use std::marker::PhantomData;
use std::sync::Arc;

use serde_json::{Map, Value};
use stithy_wire::{PrepareJob, RunJob, WarmUpJob, WorkloadChoice};

use super::{Base, Workload};
use crate::condition::ConditionQuery;
use crate::engines::Control;
use crate::error::HammerError;
use crate::ledger::write::Ledger;
use input_profile::TouchedWarehouses;
use kept::Deal;
use load::OrderEntryLoad;
use loaded::Loaded;
use options::Options;
use reads::OrderEntryReads;
use run::OrderEntryRun;
use statements::Pair;
pub use statements::{OnMySql, OnPostgresql, OnSqlServer, OnSqlite};

const NAME: &str = "order-entry";

/// The workload on one engine.
pub struct OrderEntry<P>(PhantomData<P>);

impl<P: Pair> Workload for OrderEntry<P> {
    const NAME: &'static str = NAME;
    const TYPES: &'static [&'static str] = input::NAMES;

    type Facts = Loaded;
    type Options = Options;
    type Load = OrderEntryLoad;
    type Run = OrderEntryRun<P>;
    type Reads = OrderEntryReads;
    type Kept = Deal;

    async fn facts(
        place: &str,
        control: &impl Control,
        options: &Options,
    ) -> Result<Loaded, HammerError> {
        Loaded::read(place, control, P::STATEMENTS, options.warehouses).await
    }

    fn loaded(loaded: &Loaded) -> Map<String, Value> {
        Map::from_iter([
            ("warehouses".into(), loaded.warehouses.into()),
            ("seed".into(), loaded.seed.into()),
        ])
    }

    fn load(job: &PrepareJob, options: &Options) -> Result<OrderEntryLoad, HammerError> {
        let warehouses = options.warehouses;
        Ok(OrderEntryLoad::new(job, warehouses, P::STATEMENTS))
    }

    fn options(choice: &WorkloadChoice) -> Result<Options, HammerError> {
        let options = Options::read(choice)?;
        P::refuse_misfit(&options)?;
        Ok(options)
    }

    fn refuse_misfit(options: &Options, users: u32) -> Result<(), HammerError> {
        TouchedWarehouses::of(options, users).map(|_| ())
    }

    fn run(
        job: &RunJob,
        base: &Base<Self>,
        ledger: Option<Arc<Ledger>>,
    ) -> Result<OrderEntryRun<P>, HammerError> {
        OrderEntryRun::new(job, base, ledger)
    }

    fn reads(job: &WarmUpJob, base: &Base<Self>) -> OrderEntryReads {
        OrderEntryReads::new(job.seed, base)
    }

    fn conditions(_: &Loaded) -> Vec<ConditionQuery> {
        conditions::conditions(P::STATEMENTS)
    }

    fn kept_rows(kind: usize) -> &'static str {
        let sql = P::STATEMENTS;
        [sql.orders_by_date, sql.payments_by_date][kind]
    }
}
