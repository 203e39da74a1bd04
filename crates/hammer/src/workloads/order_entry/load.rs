//! What order entry loads: its nine tables in slices, then keys, procedures and the row of `stithy_meta`.

use serde_json::{Map, Value};
use stithy_wire::{DataShape, PrepareJob};

use super::schema::{self, SCHEMA_VERSION};
use super::statements::Statements;
use super::tables::{Population, TABLES};
use super::NAME;
use crate::engines::{self, Control};
use crate::error::HammerError;
use crate::loading::{Load, Rows, TableLoad};
use crate::workloads::meta::META_TABLE;

/// What is loaded.
pub struct OrderEntryLoad {
    statements: &'static Statements,
    population: Population,
    warehouses: u32,
    data: DataShape,
}

impl OrderEntryLoad {
    /// A number of warehouses, as a job wants them.
    pub fn new(job: &PrepareJob, warehouses: u32, statements: &'static Statements) -> Self {
        OrderEntryLoad {
            statements,
            population: Population::new(job.seed),
            warehouses,
            data: job.data,
        }
    }
}

impl Load for OrderEntryLoad {
    fn mark(&self) -> (&'static str, &'static str) {
        (META_TABLE, self.statements.create_meta)
    }

    fn tables(&self) -> Vec<TableLoad> {
        let loaded = |table| schema::table_load(self.statements, table, self.warehouses);
        TABLES.iter().map(loaded).collect()
    }

    fn write_slice(&self, table: usize, slice: u64, rows: &mut Rows) {
        TABLES[table].write_slice(&self.population, slice, rows);
    }

    async fn finish(&self, control: &impl Control) -> Result<(), HammerError> {
        for create in self.statements.created_last {
            control.execute("creating procedures", create).await?;
        }
        let percent = |value: u8| engines::Value::Integer(value.into());
        let values = [
            engines::Value::Text(NAME.into()),
            engines::Value::Integer(SCHEMA_VERSION.into()),
            engines::Value::Integer(self.warehouses.into()),
            engines::Value::Text(self.population.seed.to_string()),
            engines::Value::Integer(self.population.constants.c_last.into()),
            self.data
                .compressible_percent
                .map_or(engines::Value::Null, percent),
            percent(self.data.duplicate_percent),
        ];
        let written = control.query("writing stithy_meta", self.statements.write_meta, &values);
        written.await.map(|_| ())
    }

    fn told(&self) -> Map<String, Value> {
        let c_last = self.population.constants.c_last;
        Map::from_iter([("c_last_load".into(), c_last.into())])
    }
}

#[cfg(test)]
mod tests {
    use stithy_wire::DataSample;

    use super::super::statements::{OnPostgresql, Pair};
    use super::*;
    use crate::loading::sample::measure;
    use crate::loading::schedule::copied_whole;
    use crate::loading::Shape;
    use crate::plugins::SOME_FORMAT;

    fn load(data: DataShape) -> OrderEntryLoad {
        OrderEntryLoad {
            statements: OnPostgresql::STATEMENTS,
            population: Population::new(3),
            warehouses: 1,
            data,
        }
    }

    fn sample(compressible_percent: Option<u8>, duplicate_percent: u8) -> DataSample {
        let data = DataShape {
            compressible_percent,
            duplicate_percent,
        };
        let shape = Shape::new(3, data);
        measure(SOME_FORMAT, &load(data), shape).expect("zstd compresses")
    }

    fn saved_percent(sample: &DataSample) -> f64 {
        100.0 - 100.0 * sample.text_compressed_bytes as f64 / sample.text_bytes as f64
    }

    fn repeated_percent(sample: &DataSample) -> f64 {
        100.0 * sample.text_repeated_bytes as f64 / sample.text_bytes as f64
    }

    /// Each table is copied whole by one of two loaders, so an engine may spare itself work.
    #[test]
    fn two_loaders_split_no_table() {
        let tables = load(DataShape::default()).tables();
        assert!((0..tables.len()).all(|table| copied_whole(&tables, table, 2)));
    }

    /// Random letters and digits have close to 6 bits in 8, and no value occurs twice.
    #[test]
    fn text_is_random_letters_and_digits_by_default() {
        let sample = sample(None, 0);
        let saved = saved_percent(&sample);
        assert!((24.0..27.0).contains(&saved), "{saved} % in {sample:?}");
        assert_eq!(0, sample.text_repeated_bytes);
    }

    /// zstd saves the share that was asked for, to within 3 in 100.
    #[test]
    fn text_compresses_as_asked() {
        for asked in [30, 50, 70, 90] {
            let sample = sample(Some(asked), 0);
            let saved = saved_percent(&sample);
            let off = (saved - f64::from(asked)).abs();
            assert!(off < 3.0, "asked {asked} %, saved {saved} % in {sample:?}");
        }
    }

    /// The share that was asked for repeats, but for values whose copies lie outside the sample;
    /// compression within a block finds little of it.
    #[test]
    fn text_repeats_as_asked() {
        for asked in [10, 50] {
            let sample = sample(None, asked);
            let repeated = repeated_percent(&sample);
            let off = f64::from(asked) - repeated;
            assert!(
                (0.0..12.0).contains(&off),
                "asked {asked} %, repeated {repeated} %"
            );
            assert!(saved_percent(&sample) < 40.0, "{sample:?}");
        }
    }
}
