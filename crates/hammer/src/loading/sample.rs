//! How well the generated rows compress and how much of them repeats, measured on a sample.

use stithy_wire::DataSample;

use super::{Load, Rows, Shape};
use crate::engines::RowFormat;
use crate::error::HammerError;

/// One in so many of a table's slices for the sample is made.
const ONE_SLICE_IN: usize = 10;
/// What btrfs and ZFS compress at once.
const BLOCK_BYTES: usize = 128 << 10;
/// The default of zstd and of the file systems that use it.
const LEVEL: i32 = 3;

/// Measures a sample of the rows as they are sent, table by table.
pub fn measure(
    format: &'static dyn RowFormat,
    load: &impl Load,
    shape: Shape,
) -> Result<DataSample, HammerError> {
    let mut sample = DataSample {
        rows_bytes: 0,
        rows_compressed_bytes: 0,
        text_bytes: 0,
        text_compressed_bytes: 0,
        text_repeated_bytes: 0,
    };
    for (number, table) in load.tables().iter().enumerate() {
        let mut rows = Rows::tapped(format, shape);
        for slice in (0..table.sampled).step_by(ONE_SLICE_IN) {
            load.write_slice(number, slice, &mut rows);
        }
        let Some(tap) = &rows.tap else { continue };
        sample.rows_bytes += rows.bytes.len() as u64;
        sample.rows_compressed_bytes += compressed_bytes(&rows.bytes)?;
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
