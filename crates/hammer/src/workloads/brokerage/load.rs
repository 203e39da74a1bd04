//! What brokerage loads: its tables in slices, then keys, foreign keys, procedures and the row of `stithy_meta`.

use serde_json::{Map, Value};
use stithy_wire::PrepareJob;

use super::loaded::write_size;
use super::options::Options;
use super::population::Population;
use super::schema::{read_tables, SCHEMA_VERSION};
use super::statements::Statements;
use super::tables::{write_slice, Cut, Filled, Histories, FILLED};
use super::NAME;
use crate::engines::{self, Control};
use crate::error::HammerError;
use crate::loading::{Load, Rows, TableLoad};
use crate::workloads::meta::META_TABLE;

/// What is loaded.
pub struct BrokerageLoad {
    statements: &'static Statements,
    population: Population,
    size: String,
    units: i64,
    histories: Histories,
}

impl BrokerageLoad {
    /// A size, as a job wants it.
    pub fn new(job: &PrepareJob, options: &Options, statements: &'static Statements) -> Self {
        let (customers, days) = (options.customers, options.days);
        BrokerageLoad {
            statements,
            population: Population::new(job.seed, customers, days),
            size: write_size(customers, days),
            units: i64::from(customers) * i64::from(days),
            histories: Histories::default(),
        }
    }

    fn cost(&self, filled: &Filled) -> u32 {
        let days = self.population.days as u32;
        match filled.cut {
            Cut::Days => filled.cost_ms * days / 12,
            _ => filled.cost_ms,
        }
    }
}

impl Load for BrokerageLoad {
    fn mark(&self) -> (&'static str, &'static str) {
        (META_TABLE, self.statements.create_meta)
    }

    fn tables(&self) -> Vec<TableLoad> {
        let tables = read_tables();
        let dialect = &self.statements.dialect;
        let loads = tables.iter().zip(FILLED).map(|(table, filled)| {
            debug_assert_eq!(table.name, filled.name);
            TableLoad {
                name: table.name.into(),
                create: table.create(dialect, &tables),
                indexes: table.create_indexes(dialect),
                keys: table.create_key(dialect),
                slices: filled.slices(&self.population),
                // What follows from a whole history is not made twice.
                sampled: u64::from(!matches!(
                    table.name,
                    "broker" | "customer_account" | "holding" | "holding_summary"
                )),
                cost: self.cost(filled),
            }
        });
        loads.collect()
    }

    fn write_slice(&self, table: usize, slice: u64, rows: &mut Rows) {
        write_slice(&self.population, &self.histories, (table, slice), rows);
    }

    async fn finish(&self, control: &impl Control) -> Result<(), HammerError> {
        let tables = read_tables();
        let dialect = &self.statements.dialect;
        let added = tables
            .iter()
            .filter_map(|table| table.add_foreign_keys(dialect, &tables));
        for add in added {
            control.execute("adding foreign keys", &add).await?;
        }
        for create in self.statements.created_last {
            control.execute("creating procedures", create).await?;
        }
        let values = [
            engines::Value::Text(NAME.into()),
            engines::Value::Integer(SCHEMA_VERSION.into()),
            engines::Value::Integer(self.units),
            engines::Value::Text(self.size.clone()),
            engines::Value::Text(self.population.seed.to_string()),
        ];
        let written = control.query("writing stithy_meta", self.statements.write_meta, &values);
        written.await.map(|_| ())
    }

    fn told(&self) -> Map<String, Value> {
        Map::from_iter([("trades".into(), self.population.trades().into())])
    }
}
