//! Values of rows, read where they lie.

use super::column::{kind, Cell, Column};
use super::reply::Reply;
use crate::date::Date;
use crate::engines::{self, Value};

/// Days from the first of the year 1 to the start of 2000.
pub(super) const DAYS_TO_2000: i64 = 730_119;
pub(super) const US_PER_DAY: i64 = 86_400_000_000;

/// One row: its columns, its cells, and the bytes that these lie in.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    columns: &'a [Column],
    cells: &'a [Cell],
    message: &'a [u8],
    texts: &'a [u8],
}

impl<'a> Row<'a> {
    /// The row whose columns and cells begin at these places.
    pub(super) fn of(reply: &'a Reply, columns_at: usize, cells_at: usize, count: usize) -> Self {
        Row {
            columns: &reply.columns[columns_at..columns_at + count],
            cells: &reply.cells[cells_at..cells_at + count],
            message: reply.incoming.bytes(),
            texts: &reply.texts,
        }
    }

    /// A decimal number, as digits and how many of them are behind the point; None for what is none.
    fn decimal(&self, index: usize) -> Option<(i128, u32)> {
        let column = &self.columns[index];
        let bytes = engines::Row::bytes(self, index)?;
        match bytes {
            _ if column.is_integer() => Some((integer(bytes)?.into(), 0)),
            [sign, digits @ ..] if column.is_decimal() && digits.len() <= 16 => {
                let mut all = [0; 16];
                all[..digits.len()].copy_from_slice(digits);
                let digits = i128::from_le_bytes(all);
                let digits = if *sign == 0 { -digits } else { digits };
                Some((digits, column.scale.into()))
            }
            _ => None,
        }
    }

    /// All values, as those see them who ask once. Numbers with digits behind the point are texts.
    pub(super) fn values(&self) -> Vec<Value> {
        (0..self.columns.len()).map(|at| self.value(at)).collect()
    }

    fn value(&self, index: usize) -> Value {
        let column = &self.columns[index];
        let Some(bytes) = engines::Row::bytes(self, index) else {
            return Value::Null;
        };
        let number = self.decimal(index).filter(|(_, scale)| *scale == 0);
        if let Some(number) = number.and_then(|(digits, _)| digits.try_into().ok()) {
            return Value::Integer(number);
        }
        Value::Text(match (column.kind, bytes) {
            (kind::DATE | kind::DATE_TIME_2, bytes) => moment(bytes, column.scale),
            (kind::FLOAT4 | kind::FLOAT_N, &[a, b, c, d]) => {
                f32::from_le_bytes([a, b, c, d]).to_string()
            }
            (kind::FLOAT8 | kind::FLOAT_N, &[a, b, c, d, e, f, g, h]) => {
                f64::from_le_bytes([a, b, c, d, e, f, g, h]).to_string()
            }
            (kind::BINARY | kind::VAR_BINARY, bytes) => {
                bytes.iter().map(|byte| format!("{byte:02x}")).collect()
            }
            _ => match self.decimal(index) {
                Some((digits, scale)) => point(digits, scale),
                None => String::from_utf8_lossy(bytes).into_owned(),
            },
        })
    }
}

impl<'a> engines::Row<'a> for Row<'a> {
    #[inline]
    fn bytes(&self, index: usize) -> Option<&'a [u8]> {
        let (of, at, length) = match self.cells[index] {
            Cell::Null => return None,
            Cell::Here(at, length) => (self.message, at, length),
            Cell::Translated(at, length) => (self.texts, at, length),
        };
        Some(&of[at as usize..(at + length) as usize])
    }

    #[inline]
    fn integer(&self, index: usize) -> Option<i64> {
        if self.columns[index].is_integer() {
            return integer(self.bytes(index)?);
        }
        let (digits, scale) = self.decimal(index)?;
        (digits / 10_i128.pow(scale)).try_into().ok()
    }

    fn cents(&self, index: usize) -> Option<i64> {
        let (digits, scale) = self.decimal(index)?;
        let hundredths = match scale {
            0..=2 => digits.checked_mul(10_i128.pow(2 - scale))?,
            _ => digits / 10_i128.pow(scale - 2),
        };
        hundredths.try_into().ok()
    }
}

/// The one of one byte has no sign.
fn integer(bytes: &[u8]) -> Option<i64> {
    Some(match *bytes {
        [byte] => byte.into(),
        [a, b] => i16::from_le_bytes([a, b]).into(),
        [a, b, c, d] => i32::from_le_bytes([a, b, c, d]).into(),
        _ => i64::from_le_bytes(bytes.try_into().ok()?),
    })
}

/// `-0.05`.
fn point(digits: i128, scale: u32) -> String {
    let one = 10_u128.pow(scale);
    let (sign, digits) = (if digits < 0 { "-" } else { "" }, digits.unsigned_abs());
    let width = scale as usize;
    format!("{sign}{}.{:0width$}", digits / one, digits % one)
}

/// `2026-11-28 22:09:52.000001`: parts of a second since midnight, then three bytes of days.
fn moment(bytes: &[u8], scale: u8) -> String {
    let (parts, days) = bytes.split_at(bytes.len() - 3);
    let read = |bytes: &[u8]| {
        bytes
            .iter()
            .rev()
            .fold(0, |all, byte| all << 8 | i64::from(*byte))
    };
    let us = read(parts) * 1_000_000 / 10_i64.pow(scale.into());
    Date::of((read(days) - DAYS_TO_2000) * US_PER_DAY + us).to_string()
}
