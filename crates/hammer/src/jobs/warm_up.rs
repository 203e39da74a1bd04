//! The job `warm-up`: the same fixed, seeded, read-only pass before every window.
//!
//! Rows are chosen by the seed alone and with the distributions of a run, so that what a run would find
//! in memory is there. The sessions are read-only: no file of the database changes.

use std::time::Instant;

use stithy_wire::{Message, Progress, WarmUpJob, WarmUpSummary};
use tokio::sync::mpsc::{unbounded_channel, UnboundedSender};
use tokio::task::JoinSet;

use super::Found;
use crate::connections;
use crate::engines::{Control, Session, SessionError, SessionSettings, Target};
use crate::error::HammerError;
use crate::stop::Stop;
use crate::transaction_script::TransactionScript;
use crate::workloads::{Context, Reads, Workload};

/// Sessions that share the pass; which of them reads a row does not matter.
const SESSIONS: u32 = 4;

/// Progress is reported after so many transactions of each session.
const PROGRESS_STEP: u64 = 1_000;

/// Reads the rows of `transactions` transactions.
///
/// Errors: those of the workload's options, of [`Found::at`] and of connecting; `connection-lost`
/// (infrastructure); `interrupted`.
pub(super) async fn warm_up<T: Target, W: Workload>(
    job: &WarmUpJob,
    context: Context<'_>,
) -> Result<WarmUpSummary, HammerError> {
    let start = Instant::now();
    let found = Found::<T, W>::at(&job.url, W::options(&job.workload)?).await?;
    let reads = W::reads(job, &found.base);
    found.control.require_connections(SESSIONS).await?;
    let target = found.target;
    let sessions = connections::open_all(&target, SESSIONS, SessionSettings::ReadOnly).await?;
    let (sender, mut steps) = unbounded_channel();
    let mut readers = JoinSet::new();
    for (number, mut session) in (0..).zip(sessions) {
        let script = reads.script(number, &mut session).await;
        let reader = Reader {
            script: script.map_err(|e| connections::failed(&target, "warming up", e))?,
            session,
            count: share(job.transactions, number),
        };
        readers.spawn(reader.read(context.stop.clone(), sender.clone()));
    }
    drop(sender);
    let mut done = 0;
    while let Some(step) = steps.recv().await {
        done += step;
        (context.sink)(progress(done, job.transactions));
    }
    for ended in readers.join_all().await {
        ended.map_err(|e| connections::failed(&target, "warming up", e))?;
    }
    if done < job.transactions {
        return Err(HammerError::interrupted(target.place()));
    }
    Ok(WarmUpSummary {
        duration_s: start.elapsed().as_secs_f64(),
        transactions: done,
    })
}

/// The part of a number of transactions that one of the sessions does.
fn share(transactions: u64, number: u32) -> u64 {
    let (number, sessions) = (u64::from(number), u64::from(SESSIONS));
    transactions / sessions + u64::from(number < transactions % sessions)
}

fn progress(done: u64, total: u64) -> Message {
    Message::Progress(Progress {
        stage: "reading rows".to_string(),
        done,
        total,
    })
}

/// One session of the pass.
struct Reader<S, C> {
    script: S,
    session: C,
    count: u64,
}

impl<S: TransactionScript, C: Session> Reader<S, C> {
    async fn read(mut self, stop: Stop, steps: UnboundedSender<u64>) -> Result<(), SessionError> {
        let mut untold = 0;
        for _ in 0..self.count {
            if stop.requested() {
                break;
            }
            self.script.draw();
            self.script.attempt(&mut self.session).await?;
            untold += 1;
            if untold == PROGRESS_STEP {
                let _ = steps.send(std::mem::take(&mut untold));
            }
        }
        if untold > 0 {
            let _ = steps.send(untold);
        }
        self.session.close().await;
        Ok(())
    }
}
