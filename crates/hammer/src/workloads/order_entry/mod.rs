//! Order entry: nine tables of a wholesale supplier and five transactions on them, derived from the
//! TPC-C specification (clause numbers in this folder are those of its revision 5.11). It is no TPC
//! benchmark, and its results cannot be compared with TPC results.

pub mod conditions;
mod date;
pub mod execution_mode;
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
pub mod sql;
pub mod tables;
mod terminal;
pub mod text;

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
use sql::Sql;

/// The workload.
pub struct OrderEntry;

impl Workload for OrderEntry {
    const NAME: &'static str = "order-entry";
    const TYPES: &'static [&'static str] = input::NAMES;

    type Sql = Sql;
    type Facts = Loaded;
    type Options = Options;
    type Load = OrderEntryLoad;
    type Run = OrderEntryRun;
    type Reads = OrderEntryReads;
    type Kept = Deal;

    fn sql(engine: &str) -> Result<&'static Sql, HammerError> {
        sql::of(engine)
    }

    async fn facts(
        place: &str,
        control: &impl Control,
        sql: &'static Sql,
        options: &Options,
    ) -> Result<Loaded, HammerError> {
        Loaded::read(place, control, sql, options.warehouses).await
    }

    fn loaded(loaded: &Loaded) -> Map<String, Value> {
        Map::from_iter([
            ("warehouses".into(), loaded.warehouses.into()),
            ("seed".into(), loaded.seed.into()),
        ])
    }

    fn load(job: &PrepareJob, options: &Options, sql: &'static Sql) -> OrderEntryLoad {
        OrderEntryLoad::new(job, options.warehouses, sql)
    }

    fn options(choice: &WorkloadChoice) -> Result<Options, HammerError> {
        Options::read(choice)
    }

    fn refuse_misfit(options: &Options, users: u32) -> Result<(), HammerError> {
        TouchedWarehouses::of(options, users).map(|_| ())
    }

    fn run(
        job: &RunJob,
        base: &Base<Self>,
        ledger: Option<Arc<Ledger>>,
    ) -> Result<OrderEntryRun, HammerError> {
        OrderEntryRun::new(job, base, ledger)
    }

    fn reads(job: &WarmUpJob, base: &Base<Self>) -> OrderEntryReads {
        OrderEntryReads::new(job.seed, base)
    }

    fn conditions(sql: &Sql) -> Vec<ConditionQuery> {
        conditions::conditions(sql)
    }

    fn kept_rows(sql: &Sql, kind: usize) -> &'static str {
        [sql.orders_by_date, sql.payments_by_date][kind]
    }
}
