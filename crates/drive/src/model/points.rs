//! What lies between measured points: values on straight lines, and means of what grows geometrically.

/// The value at a share, on straight lines between points that go from share 0 to share 1.
pub(super) fn between(points: &[(f64, f64)], share: f64) -> f64 {
    let after = points.partition_point(|(s, _)| *s <= share);
    let after = after.clamp(1, points.len() - 1);
    let ((from, low), (to, high)) = (points[after - 1], points[after]);
    low + (high - low) * (share - from) / (to - from)
}

/// The value at a place between two of the rows, on a straight line over the logarithm of the place;
/// outside of them that of the nearest.
pub(super) fn interpolated<T>(
    rows: &[T],
    place: impl Fn(&T) -> f64,
    at: f64,
    value: impl Fn(&T) -> f64,
) -> f64 {
    let after = rows.partition_point(|row| place(row) <= at);
    match (after.checked_sub(1).map(|i| &rows[i]), rows.get(after)) {
        (Some(low), Some(high)) if place(low) < at => {
            let way = (at / place(low)).ln() / (place(high) / place(low)).ln();
            let from = value(low);
            from + way * (value(high) - from)
        }
        (Some(low), _) => value(low),
        (None, Some(high)) => value(high),
        // No profile has a table without rows.
        (None, None) => 0.0,
    }
}

/// The mean of times that grow geometrically between points.
pub(super) fn mean_between(points: &[(f64, f64)]) -> f64 {
    points
        .windows(2)
        .map(|two| (two[1].0 - two[0].0) * mean_of_geometric(two[0].1, two[1].1))
        .sum()
}

/// The mean of a row's times, seconds.
pub(super) fn row_mean_s(shares: &[f64], times_s: &[f64]) -> f64 {
    let points: Vec<(f64, f64)> = shares
        .iter()
        .copied()
        .zip(times_s.iter().copied())
        .collect();
    mean_between(&points)
}

/// The mean of a time that grows geometrically from one to the other: the logarithmic mean.
fn mean_of_geometric(from_s: f64, to_s: f64) -> f64 {
    match (to_s / from_s).ln() {
        // The quotient below is 0 / 0 there.
        growth if growth.abs() < 1e-9 => from_s,
        growth => (to_s - from_s) / growth,
    }
}
