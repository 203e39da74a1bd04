//! Types of columns, and where a value lies in a row.
//!
//! Source: MS-TDS, section 2.2.5.4 "Data Type Definitions".

use std::io;

use super::packet::{decode_wide, Fields};
use crate::engines::network::not_understood;

/// Numbers of types.
pub(super) mod kind {
    pub(in super::super) const INT1: u8 = 0x30;
    pub(in super::super) const BIT: u8 = 0x32;
    pub(in super::super) const INT2: u8 = 0x34;
    pub(in super::super) const INT4: u8 = 0x38;
    pub(in super::super) const FLOAT4: u8 = 0x3B;
    pub(in super::super) const FLOAT8: u8 = 0x3E;
    pub(in super::super) const INT8: u8 = 0x7F;
    pub(in super::super) const INT_N: u8 = 0x26;
    pub(in super::super) const BIT_N: u8 = 0x68;
    pub(in super::super) const DECIMAL_N: u8 = 0x6A;
    pub(in super::super) const NUMERIC_N: u8 = 0x6C;
    pub(in super::super) const FLOAT_N: u8 = 0x6D;
    pub(in super::super) const DATE: u8 = 0x28;
    pub(in super::super) const DATE_TIME_2: u8 = 0x2A;
    pub(in super::super) const BINARY: u8 = 0xAD;
    pub(in super::super) const VAR_BINARY: u8 = 0xA5;
    pub(in super::super) const CHAR: u8 = 0xAF;
    pub(in super::super) const VARCHAR: u8 = 0xA7;
    pub(in super::super) const NCHAR: u8 = 0xEF;
    pub(in super::super) const NVARCHAR: u8 = 0xE7;
}

/// The length of a type whose values come in parts, and that of a null among shorter ones.
pub(super) const IN_PARTS: usize = 0xFFFF;
const NULL_IN_PARTS: u64 = u64::MAX;

/// The order in which a server sorts text, as the protocol has it.
pub(super) type Collation = [u8; 5];

/// How the values of a column come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Column {
    pub(super) flags: u16,
    /// The number of its type.
    pub(super) kind: u8,
    /// Bytes of a value, at most.
    pub(super) size: usize,
    pub(super) precision: u8,
    /// Digits behind the point.
    pub(super) scale: u8,
    pub(super) collation: Collation,
}

/// Where a value lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cell {
    /// Nowhere.
    Null,
    /// In the message.
    Here(u32, u32),
    /// Among texts that were translated.
    Translated(u32, u32),
}

impl Column {
    /// Errors: `InvalidData` for a type that no statement of the hammer gives.
    pub(super) fn read(fields: &mut Fields<'_>) -> io::Result<Self> {
        // The number of a type that a user made.
        fields.take(4)?;
        let flags = fields.integer::<2>()? as u16;
        let kind = fields.integer::<1>()? as u8;
        let mut column = Column {
            flags,
            kind,
            size: 0,
            precision: 0,
            scale: 0,
            collation: Collation::default(),
        };
        match kind {
            kind::INT1 | kind::BIT => column.size = 1,
            kind::INT2 => column.size = 2,
            kind::INT4 | kind::FLOAT4 => column.size = 4,
            kind::INT8 | kind::FLOAT8 => column.size = 8,
            kind::INT_N | kind::BIT_N | kind::FLOAT_N => {
                column.size = fields.integer::<1>()? as usize;
            }
            kind::DECIMAL_N | kind::NUMERIC_N => {
                column.size = fields.integer::<1>()? as usize;
                column.precision = fields.integer::<1>()? as u8;
                column.scale = fields.integer::<1>()? as u8;
            }
            kind::DATE => column.size = 3,
            kind::DATE_TIME_2 => column.scale = fields.integer::<1>()? as u8,
            kind::BINARY | kind::VAR_BINARY => column.size = fields.integer::<2>()? as usize,
            _ if column.is_text() => {
                column.size = fields.integer::<2>()? as usize;
                column.collation.copy_from_slice(fields.take(5)?);
            }
            _ => {
                let text = format!("the server gave a column of the type {kind:#04x}");
                return Err(io::Error::new(io::ErrorKind::InvalidData, text));
            }
        }
        Ok(column)
    }

    /// Writes what [`Column::read`] reads.
    pub(super) fn write_to(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&self.flags.to_le_bytes());
        out.push(self.kind);
        match self.kind {
            kind::INT_N | kind::BIT_N | kind::FLOAT_N => out.push(self.size as u8),
            kind::DECIMAL_N | kind::NUMERIC_N => {
                out.extend_from_slice(&[self.size as u8, self.precision, self.scale]);
            }
            kind::DATE_TIME_2 => out.push(self.scale),
            kind::VAR_BINARY => out.extend_from_slice(&(self.size as u16).to_le_bytes()),
            _ if self.is_text() => {
                out.extend_from_slice(&(self.size as u16).to_le_bytes());
                out.extend_from_slice(&self.collation);
            }
            _ => {}
        }
    }

    /// Its type in SQL; None for one that no row of a load has.
    pub(super) fn sql(&self) -> Option<String> {
        Some(match (self.kind, self.size) {
            (kind::BIT | kind::BIT_N, _) => "bit".into(),
            (_, 1) if self.is_integer() => "tinyint".into(),
            (_, 2) if self.is_integer() => "smallint".into(),
            (_, 4) if self.is_integer() => "int".into(),
            _ if self.is_integer() => "bigint".into(),
            _ if self.is_decimal() => format!("decimal({}, {})", self.precision, self.scale),
            (kind::DATE, _) => "date".into(),
            (kind::DATE_TIME_2, _) => format!("datetime2({})", self.scale),
            (kind::VAR_BINARY, IN_PARTS) => "varbinary(max)".into(),
            (kind::VAR_BINARY, size) => format!("varbinary({size})"),
            (kind::VARCHAR, IN_PARTS) => "varchar(max)".into(),
            (kind::NVARCHAR, IN_PARTS) => "nvarchar(max)".into(),
            (kind::VARCHAR, size) => format!("varchar({size})"),
            (kind::NVARCHAR, size) => format!("nvarchar({})", size / 2),
            (kind::CHAR, size) => format!("char({size})"),
            (kind::NCHAR, size) => format!("nchar({})", size / 2),
            _ => return None,
        })
    }

    /// Also a truth value.
    pub(super) fn is_integer(&self) -> bool {
        let kinds = [kind::INT1, kind::BIT, kind::INT2, kind::INT4, kind::INT8];
        kinds.contains(&self.kind) || [kind::INT_N, kind::BIT_N].contains(&self.kind)
    }

    pub(super) fn is_decimal(&self) -> bool {
        [kind::DECIMAL_N, kind::NUMERIC_N].contains(&self.kind)
    }

    pub(super) fn is_wide(&self) -> bool {
        [kind::NCHAR, kind::NVARCHAR].contains(&self.kind)
    }

    pub(super) fn is_text(&self) -> bool {
        self.is_wide() || [kind::CHAR, kind::VARCHAR].contains(&self.kind)
    }

    /// Whether its values have no length, and so are never null.
    pub(super) fn is_fixed(&self) -> bool {
        matches!(
            self.kind,
            kind::INT1
                | kind::BIT
                | kind::INT2
                | kind::INT4
                | kind::INT8
                | kind::FLOAT4
                | kind::FLOAT8
        )
    }

    /// The bytes of the next value, which lie in parts where `parts` has any; None where it is null.
    #[inline]
    fn take<'a>(
        &self,
        fields: &mut Fields<'a>,
        parts: &mut Vec<u8>,
    ) -> io::Result<Option<&'a [u8]>> {
        match self.kind {
            _ if self.is_fixed() => fields.take(self.size).map(Some),
            kind::BINARY
            | kind::VAR_BINARY
            | kind::CHAR
            | kind::VARCHAR
            | kind::NCHAR
            | kind::NVARCHAR => match self.size {
                IN_PARTS => take_parts(fields, parts),
                _ => match fields.integer::<2>()? as usize {
                    IN_PARTS => Ok(None),
                    length => fields.take(length).map(Some),
                },
            },
            _ => Ok(Some(fields.counted::<1>()?).filter(|bytes| !bytes.is_empty())),
        }
    }

    /// Reads the next value, which lies in a message of `length` bytes; text that is no UTF-8 there is
    /// translated.
    #[inline]
    pub(super) fn read_cell(
        &self,
        fields: &mut Fields<'_>,
        length: usize,
        texts: &mut Vec<u8>,
    ) -> io::Result<Cell> {
        let mut parts = Vec::new();
        let taken = self.take(fields, &mut parts)?;
        let Some(bytes) = taken else {
            return Ok(Cell::Null);
        };
        let in_parts = self.size == IN_PARTS;
        let value = if in_parts { &parts[..] } else { bytes };
        let at = texts.len();
        if self.is_wide() {
            push_letters(texts, decode_wide(value));
        } else if self.is_text() && !value.is_ascii() {
            match self.is_utf8() {
                true => texts.extend_from_slice(value),
                false => push_letters(texts, value.iter().map(|byte| decode_western(*byte))),
            }
        } else if in_parts {
            texts.extend_from_slice(value);
        } else {
            let start = length - fields.0.len() - bytes.len();
            return Ok(Cell::Here(start as u32, bytes.len() as u32));
        }
        Ok(Cell::Translated(at as u32, (texts.len() - at) as u32))
    }

    fn is_utf8(&self) -> bool {
        const UTF8: u8 = 1 << 2;
        self.collation[3] & UTF8 != 0
    }
}

fn take_parts<'a>(fields: &mut Fields<'a>, parts: &mut Vec<u8>) -> io::Result<Option<&'a [u8]>> {
    if fields.integer::<8>()? == NULL_IN_PARTS {
        return Ok(None);
    }
    loop {
        match fields.counted::<4>()? {
            [] => return Ok(Some(&[])),
            part => parts.extend_from_slice(part),
        }
    }
}

fn push_letters(texts: &mut Vec<u8>, letters: impl Iterator<Item = char>) {
    for letter in letters {
        texts.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
    }
}

/// A letter of the code page of Western languages, 1252, which differs from Latin-1 in these.
fn decode_western(byte: u8) -> char {
    const DIFFERENT: [char; 32] = [
        '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž',
        '\u{8f}', '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}',
        'ž', 'Ÿ',
    ];
    match byte {
        0x80..=0x9F => DIFFERENT[usize::from(byte - 0x80)],
        _ => char::from(byte),
    }
}

/// Columns of a result. Errors: as [`Column::read`].
pub(super) fn read_columns(fields: &mut Fields<'_>, columns: &mut Vec<Column>) -> io::Result<()> {
    const NONE: u64 = 0xFFFF;
    let count = match fields.integer::<2>()? {
        NONE => 0,
        count => count,
    };
    for _ in 0..count {
        columns.push(Column::read(fields)?);
        // The name.
        fields.wide::<1>()?;
    }
    Ok(())
}

/// The 32 bits of an error or a handle: a value that a procedure gives back.
pub(super) fn read_returned(fields: &mut Fields<'_>) -> io::Result<Option<i32>> {
    // Its place, its name, its status.
    fields.take(2)?;
    fields.wide::<1>()?;
    fields.take(1)?;
    let column = Column::read(fields)?;
    let bytes = column.take(fields, &mut Vec::new())?;
    bytes
        .map(|bytes| bytes.try_into().map(i32::from_le_bytes))
        .transpose()
        .map_err(|_| not_understood())
}
