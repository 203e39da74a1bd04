//! The proof that orders were counted rightly: the growth of the districts' order numbers equals the
//! orders acknowledged and those in doubt that are found.

use std::time::Duration;

use stithy_wire::OrderNumbers;
use tokio_postgres::Client;

use super::order_book::{OrderBook, OrderKey};
use crate::client::postgresql::Target;
use crate::error::HammerError;

/// After the run, a server that does not answer within this time is taken for gone.
const ANSWER_LIMIT: Duration = Duration::from_secs(30);

/// Sum of D_NEXT_O_ID; nothing else may run on the database.
pub async fn sum(target: &Target, client: &Client) -> Result<u64, HammerError> {
    let sql = "SELECT sum(d_next_o_id)::bigint FROM district";
    let row = client.query_one(sql, &[]).await;
    let row = row.map_err(|e| target.error("reading order numbers", e))?;
    Ok(row.get::<_, i64>(0).unsigned_abs())
}

/// Reads the sum again and looks for the orders in doubt. What cannot be read is None.
pub async fn compare(target: &Target, before: u64, book: &OrderBook) -> OrderNumbers {
    let in_doubt = book.in_doubt();
    let read = async {
        let client = target.connect().await.ok()?;
        let found = find(&client, &in_doubt).await;
        let after = sum(target, &client).await.ok();
        Some((after, found))
    };
    let read = tokio::time::timeout(ANSWER_LIMIT, read).await;
    let (after, in_doubt_found) = read.ok().flatten().unwrap_or((None, None));
    OrderNumbers {
        before: Some(before),
        after,
        acknowledged: book.acknowledged(),
        in_doubt: in_doubt.len() as u64,
        in_doubt_found,
    }
}

/// How many of these orders the database holds.
async fn find(client: &Client, keys: &[OrderKey]) -> Option<u64> {
    let w_ids: Vec<i32> = keys.iter().map(|key| key.district.w_id).collect();
    let d_ids: Vec<i16> = keys.iter().map(|key| key.district.d_id).collect();
    let dates: Vec<i64> = keys.iter().map(|key| key.entry_us).collect();
    let sql = "SELECT count(*) FROM orders \
         JOIN unnest($1::integer[], $2::smallint[], $3::bigint[]) AS sent (w_id, d_id, date_us) \
           ON o_w_id = w_id AND o_d_id = d_id \
          AND o_entry_d = timestamptz '2000-01-01 00:00:00+00' + date_us * interval '1 microsecond'";
    let row = client
        .query_one(sql, &[&w_ids, &d_ids, &dates])
        .await
        .ok()?;
    Some(row.get::<_, i64>(0).unsigned_abs())
}
