//! The address that warehouses, districts and customers have in common (clause 4.3.2.7).

use super::super::random::Rng;
use super::super::text;
use crate::loading::Rows;

/// Writes two streets, city, state and zip: five fields.
pub fn write(rng: &mut Rng, rows: &mut Rows) {
    rows.text(rng, 10..=20);
    rows.text(rng, 10..=20);
    rows.text(rng, 10..=20);
    rows.written(|out| text::push_letters(out, rng, 2));
    rows.written(|out| text::push_zip(out, rng));
}
