//! Times as they were measured under load: by the size of a request and by how many are under way.

use stithy_measure::Rng;

use super::points::{between, interpolated};
use crate::model::NS_PER_S;
use crate::profile::LoadTimes;

/// [`LoadTimes`] made ready to draw from.
#[derive(Debug, Clone)]
pub(super) struct LoadTable {
    /// By size, rising.
    sizes: Vec<Size>,
}

/// All depths of one size.
#[derive(Debug, Clone)]
struct Size {
    length_bytes: f64,
    /// By depth, rising; points as (share, logarithm of nanoseconds).
    depths: Vec<(f64, Vec<(f64, f64)>)>,
}

impl LoadTable {
    pub(super) fn new(described: &LoadTimes) -> Self {
        let mut sizes: Vec<Size> = Vec::new();
        for row in &described.rows {
            let times = row.times_s.iter().map(|time_s| (time_s * NS_PER_S).ln());
            let points = described.shares.iter().copied().zip(times).collect();
            match sizes.last_mut() {
                Some(size) if size.length_bytes == row.length_bytes => {
                    size.depths.push((row.depth, points));
                }
                _ => sizes.push(Size {
                    length_bytes: row.length_bytes,
                    depths: vec![(row.depth, points)],
                }),
            }
        }
        LoadTable { sizes }
    }

    /// The largest size that was measured, bytes.
    pub(super) fn length_bytes_max(&self) -> u64 {
        self.sizes.last().map_or(0, |size| size.length_bytes as u64)
    }

    /// One time of a request of this size, with `depth` under way, itself included; nanoseconds.
    ///
    /// Between measured sizes and depths it grows geometrically. Beyond the greatest depth it grows with
    /// the depth, as the drive gets no faster; a size beyond the greatest is as the greatest.
    pub(super) fn draw_ns(&self, length_bytes: u64, depth: u64, rng: &mut Rng) -> f64 {
        let (share, length, depth) = (rng.share(), length_bytes as f64, depth as f64);
        let logarithm = interpolated(
            &self.sizes,
            |size| size.length_bytes,
            length,
            |size| size.logarithm(depth, share),
        );
        logarithm.exp()
    }
}

impl Size {
    fn logarithm(&self, depth: f64, share: f64) -> f64 {
        let last = self.depths.last().map_or(depth, |(depth, _)| *depth);
        let at = interpolated(
            &self.depths,
            |each| each.0,
            depth,
            |each| between(&each.1, share),
        );
        at + (depth / last).max(1.0).ln()
    }
}
