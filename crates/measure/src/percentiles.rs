//! A histogram in the figures of a message.

use hdrhistogram::Histogram;
use stithy_wire::Percentiles;

/// The usual percentiles of a histogram of microseconds, in seconds; all null where nothing was recorded.
pub fn percentiles(histogram: &Histogram<u64>) -> Percentiles {
    percentiles_in(1e6, histogram)
}

/// The same of a histogram in which a second is `units_per_s`.
pub fn percentiles_in(units_per_s: f64, histogram: &Histogram<u64>) -> Percentiles {
    let known = |value: f64| (!histogram.is_empty()).then_some(value / units_per_s);
    let at = |quantile: f64| known(histogram.value_at_quantile(quantile) as f64);
    Percentiles {
        count: histogram.len(),
        mean_s: known(histogram.mean()),
        min_s: known(histogram.min() as f64),
        p50_s: at(0.5),
        p90_s: at(0.9),
        p95_s: at(0.95),
        p99_s: at(0.99),
        p999_s: at(0.999),
        max_s: known(histogram.max() as f64),
    }
}
