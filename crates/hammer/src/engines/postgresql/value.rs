//! Neutral values as parameters and cells of tokio-postgres.

use std::error::Error as StdError;

use bytes::BytesMut;
use tokio_postgres::types::{to_sql_checked, FromSql, IsNull, ToSql, Type};
use tokio_postgres::Row;

use crate::engines::Value;

type Failed = Box<dyn StdError + Sync + Send>;

/// The parameters of a query.
pub(super) fn parameters(values: &[Value]) -> impl ExactSizeIterator<Item = &(dyn ToSql + Sync)> {
    values.iter().map(|value| value as &(dyn ToSql + Sync))
}

/// The cells of a row.
pub(super) fn cells(row: &Row) -> Result<Vec<Value>, tokio_postgres::Error> {
    (0..row.len()).map(|at| row.try_get(at)).collect()
}

impl ToSql for Value {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, Failed> {
        match self {
            Value::Null => Ok(IsNull::Yes),
            Value::Text(text) => text.to_sql(ty, out),
            Value::Integer(value) => match *ty {
                Type::INT2 => i16::try_from(*value)?.to_sql(ty, out),
                Type::INT4 => i32::try_from(*value)?.to_sql(ty, out),
                _ => value.to_sql(ty, out),
            },
            Value::Integers(values) => match *ty {
                Type::INT2_ARRAY => sized::<i16>(values)?.to_sql(ty, out),
                Type::INT4_ARRAY => sized::<i32>(values)?.to_sql(ty, out),
                _ => values.to_sql(ty, out),
            },
        }
    }

    fn accepts(_: &Type) -> bool {
        // Whether value and type fit is known only with the value; the server refuses the rest.
        true
    }

    to_sql_checked!();
}

fn sized<T: TryFrom<i64>>(values: &[i64]) -> Result<Vec<T>, T::Error> {
    values.iter().map(|value| T::try_from(*value)).collect()
}

impl<'a> FromSql<'a> for Value {
    fn from_sql(ty: &Type, raw: &'a [u8]) -> Result<Self, Failed> {
        Ok(match *ty {
            Type::BOOL => Value::Integer(bool::from_sql(ty, raw)?.into()),
            Type::INT2 => Value::Integer(i16::from_sql(ty, raw)?.into()),
            Type::INT4 => Value::Integer(i32::from_sql(ty, raw)?.into()),
            Type::INT8 => Value::Integer(i64::from_sql(ty, raw)?),
            _ => Value::Text(String::from_sql(ty, raw)?),
        })
    }

    fn from_sql_null(_: &Type) -> Result<Self, Failed> {
        Ok(Value::Null)
    }

    fn accepts(ty: &Type) -> bool {
        let integer = matches!(*ty, Type::BOOL | Type::INT2 | Type::INT4 | Type::INT8);
        integer || <String as FromSql>::accepts(ty)
    }
}
