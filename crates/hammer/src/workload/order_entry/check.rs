//! The job `check`: verifies the consistency conditions, each reported as soon as it is known.

use std::time::Instant;

use stithy_wire::{CheckJob, CheckSummary, Condition, Message};
use tokio_postgres::Client;

use super::conditions::{chosen, ConditionQuery};
use super::loaded::Loaded;
use crate::client::postgresql::Target;
use crate::client::Target as _;
use crate::error::HammerError;
use crate::stop::Stop;
use crate::workload::Context;

/// All conditions see the same state of the database, and none changes it. The memory lets the sums
/// of some dozens of warehouses be kept without files. Whole tables are read in their own order, once:
/// looking up the lines of each order would read a table larger than the memory in small pieces.
const SESSION: &str = "SET work_mem = '64MB'; SET enable_nestloop = off; SET jit = off; \
     SET statement_timeout = 0; BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY";

/// Verifies the conditions that the job chooses.
///
/// Errors: those of [`Loaded::read`], of connecting and of the server; `interrupted`.
pub async fn check(job: &CheckJob, context: Context<'_>) -> Result<CheckSummary, HammerError> {
    let target = Target::parse(&job.url)?;
    let client = target.connect().await?;
    Loaded::read(&target, &client, &job.workload).await?;
    client
        .batch_execute(SESSION)
        .await
        .map_err(|e| target.error("starting to check", e))?;
    let mut summary = CheckSummary {
        checked: 0,
        broken: Vec::new(),
    };
    for query in chosen(job.quick, job.after_load) {
        let condition = verify(&target, &client, query, &mut context.stop.clone()).await?;
        summary.checked += 1;
        if !condition.holds {
            summary.broken.push(condition.number);
        }
        (context.sink)(Message::Condition(condition));
    }
    Ok(summary)
}

async fn verify(
    target: &Target,
    client: &Client,
    query: &ConditionQuery,
    stop: &mut Stop,
) -> Result<Condition, HammerError> {
    let start = Instant::now();
    let sql = query.counting_sql();
    let row = tokio::select! {
        row = client.query_one(&sql, &[]) => row,
        () = stop.wait() => {
            // Where the request does not arrive, closing the connection ends the query.
            target.cancel(client).await;
            return Err(HammerError::interrupted(target.place()));
        }
    };
    let row = row.map_err(|e| target.error(&format!("verifying condition {}", query.number), e))?;
    let violations = row.get::<_, i64>(0).unsigned_abs();
    Ok(Condition {
        number: query.number,
        text: query.text().to_string(),
        holds: violations == 0,
        violations,
        example: row.get(1),
        duration_s: start.elapsed().as_secs_f64(),
    })
}
