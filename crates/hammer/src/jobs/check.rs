//! The job `check`: verifies the consistency conditions, each reported as soon as it is known.

use std::time::Instant;

use stithy_wire::{CheckJob, CheckSummary, Condition, Message};

use super::Found;
use crate::condition::ConditionQuery;
use crate::engines::{Control, Target, Value};
use crate::error::HammerError;
use crate::stop::Stop;
use crate::workloads::{Context, Workload};

/// Verifies the conditions that the job chooses. All see the same state of the database, and none
/// changes it.
///
/// Errors: those of [`Found::at`] and of the server; `interrupted`.
pub(super) async fn check<T: Target, W: Workload>(
    job: &CheckJob,
    context: Context<'_>,
) -> Result<CheckSummary, HammerError> {
    let found = Found::<T, W>::at(&job.url, W::options(&job.workload)?).await?;
    found.control.begin_snapshot().await?;
    let mut summary = CheckSummary {
        checked: 0,
        broken: Vec::new(),
    };
    let conditions = W::conditions(&found.base.facts).into_iter();
    for query in conditions.filter(|each| each.chosen(job.quick, job.after_load)) {
        let mut stop = context.stop.clone();
        let condition = verify(found.target.place(), &found.control, &query, &mut stop).await?;
        summary.checked += 1;
        if !condition.holds {
            summary.broken.push(condition.number);
        }
        (context.sink)(Message::Condition(condition));
    }
    Ok(summary)
}

async fn verify(
    place: &str,
    control: &impl Control,
    query: &ConditionQuery,
    stop: &mut Stop,
) -> Result<Condition, HammerError> {
    let start = Instant::now();
    let (doing, sql) = (
        format!("verifying condition {}", query.number),
        query.counting_sql(),
    );
    let rows = tokio::select! {
        rows = control.query(&doing, &sql, &[]) => rows?,
        () = stop.wait() => {
            control.cancel().await;
            return Err(HammerError::interrupted(place));
        }
    };
    let cell = |at: usize| rows.first().and_then(|row| row.get(at));
    let violations = cell(0).map_or(0, |count| count.integer().unsigned_abs());
    Ok(Condition {
        number: query.number,
        text: query.text().to_string(),
        holds: violations == 0,
        violations,
        example: cell(1).and_then(Value::text).map(str::to_string),
        duration_s: start.elapsed().as_secs_f64(),
    })
}
