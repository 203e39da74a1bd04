//! What the workload loads: its tables in slices, the table of marks, and the row of `stithy_meta`.

use serde_json::{Map, Value};
use stithy_measure::Rng;

use super::distribution::Distribution;
use super::loaded::{write_size, MARK_TABLE, SCHEMA_VERSION};
use super::options::Options;
use super::statements::{name_table, Statements};
use super::text::{self, C_GROUPS, PAD_GROUPS};
use super::{Domain, NAME};
use crate::engines::{self, Control};
use crate::error::HammerError;
use crate::loading::{Load, Rows, TableLoad};
use crate::workloads::meta::META_TABLE;

/// Rows that are made at once.
const SLICE_ROWS: u32 = 500;
/// Slices of the first table of which one in ten is a sample of all rows.
const SAMPLED: u64 = 100;

/// What is loaded.
pub struct OltpLoad {
    statements: &'static Statements,
    seed: u64,
    tables: u32,
    rows: u32,
    secondary_index: bool,
    k: Distribution,
}

impl OltpLoad {
    /// The tables of a size; `k` is drawn as rows are.
    pub fn new(seed: u64, options: &Options, statements: &'static Statements) -> Self {
        OltpLoad {
            statements,
            seed,
            tables: options.tables,
            rows: options.rows,
            secondary_index: options.secondary_index,
            k: Distribution::new(options.distribution, options.rows),
        }
    }

    fn table(&self, number: u32) -> TableLoad {
        let slices = u64::from(self.rows.div_ceil(SLICE_ROWS));
        TableLoad {
            name: format!("sbtest{number}"),
            create: name_table(self.statements.create_table, number),
            indexes: self.statements.indexes(number, self.secondary_index),
            keys: self.statements.keys(number, self.rows),
            slices,
            sampled: if number == 1 { slices.min(SAMPLED) } else { 0 },
            cost: 1,
        }
    }

    fn marks(&self) -> TableLoad {
        TableLoad {
            name: MARK_TABLE.into(),
            create: self.statements.create_marks.into(),
            indexes: Vec::new(),
            keys: Vec::new(),
            slices: 0,
            sampled: 0,
            cost: 0,
        }
    }
}

impl Load for OltpLoad {
    fn mark(&self) -> (&'static str, &'static str) {
        (META_TABLE, self.statements.create_meta)
    }

    fn tables(&self) -> Vec<TableLoad> {
        let tables = (1..=self.tables).map(|number| self.table(number));
        tables.chain([self.marks()]).collect()
    }

    fn write_slice(&self, table: usize, slice: u64, rows: &mut Rows) {
        let first = slice as u32 * SLICE_ROWS + 1;
        for id in first..(first + SLICE_ROWS).min(self.rows + 1) {
            let mut rng = Rng::of(self.seed, Domain::Row, table as u64 + 1, id.into());
            rows.begin(4);
            rows.int4(id);
            rows.int4(self.k.draw(&mut rng));
            for groups in [C_GROUPS, PAD_GROUPS] {
                rows.shaped(|_, out| text::push_digits(out, &mut rng, groups));
            }
        }
    }

    async fn finish(&self, control: &impl Control) -> Result<(), HammerError> {
        let values = [
            engines::Value::Text(NAME.into()),
            engines::Value::Integer(SCHEMA_VERSION.into()),
            engines::Value::Integer(i64::from(self.tables) * i64::from(self.rows)),
            engines::Value::Text(write_size(self.tables, self.rows)),
            engines::Value::Text(self.seed.to_string()),
        ];
        let written = control.query("writing stithy_meta", self.statements.write_meta, &values);
        written.await.map(|_| ())
    }

    fn told(&self) -> Map<String, Value> {
        Map::from_iter([("size".into(), write_size(self.tables, self.rows).into())])
    }
}
