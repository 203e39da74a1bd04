//! How well the generated rows compress and how much of them repeats, measured on a sample.

use stithy_wire::DataSample;

use super::rows::Rows;
use super::tables::{Population, TABLES};
use crate::client::RowFormat;
use crate::error::HammerError;

/// Of the slices of a table's first warehouse, one in so many is sampled: about 8 MiB of rows.
const ONE_SLICE_IN: usize = 10;
/// What btrfs and ZFS compress at once.
const BLOCK_BYTES: usize = 128 << 10;
/// The default of zstd and of the file systems that use it.
const LEVEL: i32 = 3;

/// Measures a sample of the rows as they are sent, table by table.
///
/// The sample depends on the population alone, not on the number of warehouses.
pub fn measure(
    format: &'static dyn RowFormat,
    population: &Population,
) -> Result<DataSample, HammerError> {
    let mut sample = DataSample {
        rows_bytes: 0,
        rows_compressed_bytes: 0,
        text_bytes: 0,
        text_compressed_bytes: 0,
        text_repeated_bytes: 0,
    };
    for table in TABLES {
        let mut rows = Rows::tapped(format, population.shape);
        for slice in (0..table.slices(1)).step_by(ONE_SLICE_IN) {
            table.write_slice(population, slice, &mut rows);
        }
        let Some(tap) = rows.tap() else { continue };
        sample.rows_bytes += rows.bytes().len() as u64;
        sample.rows_compressed_bytes += compressed_bytes(rows.bytes())?;
        sample.text_bytes += tap.bytes.len() as u64;
        sample.text_compressed_bytes += compressed_bytes(&tap.bytes)?;
        sample.text_repeated_bytes += tap.repeated_bytes;
    }
    Ok(sample)
}

fn compressed_bytes(bytes: &[u8]) -> Result<u64, HammerError> {
    let failed = |e: std::io::Error| {
        HammerError::bug(e.to_string(), "measuring a sample of the rows").caused_by(e)
    };
    let mut compressor = zstd::bulk::Compressor::new(LEVEL).map_err(failed)?;
    let mut total = 0;
    for block in bytes.chunks(BLOCK_BYTES) {
        total += compressor.compress(block).map_err(failed)?.len() as u64;
    }
    Ok(total)
}

#[cfg(test)]
mod tests {
    use stithy_wire::DataShape;

    use super::*;
    use crate::client::{postgresql, Control};

    fn sample(compressible_percent: Option<u8>, duplicate_percent: u8) -> DataSample {
        let data = DataShape {
            compressible_percent,
            duplicate_percent,
        };
        measure(postgresql::Control::FORMAT, &Population::shaped(3, data)).expect("zstd compresses")
    }

    fn saved_percent(sample: &DataSample) -> f64 {
        100.0 - 100.0 * sample.text_compressed_bytes as f64 / sample.text_bytes as f64
    }

    fn repeated_percent(sample: &DataSample) -> f64 {
        100.0 * sample.text_repeated_bytes as f64 / sample.text_bytes as f64
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
