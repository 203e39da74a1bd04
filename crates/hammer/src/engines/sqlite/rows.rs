//! Rows on their way to the thread that inserts them: a count of fields, then each field behind a tag.

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::Connection;

use crate::engines::RowFormat;

const NULL: u8 = 0;
const INT2: u8 = 1;
const INT4: u8 = 2;
const INT8: u8 = 3;
const TEXT: u8 = 4;

/// The format.
pub struct TaggedRows;

fn put<const N: usize>(out: &mut Vec<u8>, tag: u8, bytes: [u8; N]) {
    out.push(tag);
    out.extend_from_slice(&bytes);
}

impl RowFormat for TaggedRows {
    fn begin(&self, out: &mut Vec<u8>, fields: u16) {
        out.push(fields as u8);
    }

    fn int2(&self, out: &mut Vec<u8>, value: i16) {
        put(out, INT2, value.to_le_bytes());
    }

    fn int4(&self, out: &mut Vec<u8>, value: u32) {
        put(out, INT4, value.to_le_bytes());
    }

    fn int8(&self, out: &mut Vec<u8>, value: i64) {
        put(out, INT8, value.to_le_bytes());
    }

    /// There is no type for it: the number.
    fn date(&self, out: &mut Vec<u8>, value_days: i32) {
        self.int8(out, value_days.into());
    }

    fn timestamp(&self, out: &mut Vec<u8>, value_us: i64) {
        put(out, INT8, value_us.to_le_bytes());
    }

    fn null(&self, out: &mut Vec<u8>) {
        out.push(NULL);
    }

    fn begin_text(&self, out: &mut Vec<u8>) -> usize {
        put(out, TEXT, [0; 4]);
        out.len()
    }

    fn end_text(&self, out: &mut Vec<u8>, at: usize) {
        let length = (out.len() - at) as u32;
        out[at - 4..at].copy_from_slice(&length.to_le_bytes());
    }

    fn cents(&self, out: &mut Vec<u8>, value: i64) {
        put(out, INT8, value.to_le_bytes());
    }

    fn ten_thousandths(&self, out: &mut Vec<u8>, value: u16) {
        put(out, INT4, u32::from(value).to_le_bytes());
    }
}

/// Inserts encoded rows into a table, in the order of its columns.
pub(super) fn insert(connection: &Connection, table: &str, rows: &[u8]) -> rusqlite::Result<()> {
    let Some(&fields) = rows.first() else {
        return Ok(());
    };
    let marks = vec!["?"; fields.into()].join(", ");
    let mut statement = connection.prepare(&format!("INSERT INTO {table} VALUES ({marks})"))?;
    let mut rest = rows;
    while let Some(&fields) = rest.split_off_first() {
        for index in 1..=usize::from(fields) {
            let value = take_field(&mut rest);
            statement.raw_bind_parameter(index, ToSqlOutput::Borrowed(value))?;
        }
        statement.raw_execute()?;
    }
    Ok(())
}

fn take_field<'a>(rest: &mut &'a [u8]) -> ValueRef<'a> {
    match take::<1>(rest) {
        [INT2] => ValueRef::Integer(i16::from_le_bytes(take(rest)).into()),
        [INT4] => ValueRef::Integer(u32::from_le_bytes(take(rest)).into()),
        [INT8] => ValueRef::Integer(i64::from_le_bytes(take(rest))),
        [TEXT] => {
            let length = u32::from_le_bytes(take(rest)) as usize;
            let (text, left) = rest.split_at(length);
            *rest = left;
            ValueRef::Text(text)
        }
        _ => ValueRef::Null,
    }
}

fn take<const N: usize>(rest: &mut &[u8]) -> [u8; N] {
    let (bytes, left) = rest.split_first_chunk().expect("rows are whole");
    *rest = left;
    *bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every kind of field is read from the table as it was written.
    #[test]
    fn rows_are_inserted_as_written() {
        let connection = Connection::open_in_memory().unwrap();
        connection
            .execute_batch("CREATE TABLE t (a, b, c, d, e, f, g)")
            .unwrap();
        let mut rows = Vec::new();
        for number in [-7_i16, 8] {
            TaggedRows.begin(&mut rows, 7);
            TaggedRows.int2(&mut rows, number);
            TaggedRows.int4(&mut rows, 4_000_000_000);
            TaggedRows.timestamp(&mut rows, -5);
            TaggedRows.null(&mut rows);
            let at = TaggedRows.begin_text(&mut rows);
            rows.extend_from_slice(b"a word");
            TaggedRows.end_text(&mut rows, at);
            TaggedRows.cents(&mut rows, -1_234);
            TaggedRows.ten_thousandths(&mut rows, 9_999);
        }
        insert(&connection, "t", &rows).unwrap();
        let sql = "SELECT json_array(a, b, c, d, e, f, g) FROM t ORDER BY a";
        let mut statement = connection.prepare(sql).unwrap();
        let texts = statement
            .query_map([], |row| row.get::<_, String>(0))
            .unwrap();
        let texts: Vec<String> = texts.map(Result::unwrap).collect();
        let row = |a| format!("[{a},4000000000,-5,null,\"a word\",-1234,9999]");
        assert_eq!([row(-7), row(8)].to_vec(), texts);
    }
}
