//! Leads a window from the first user's start to the last answer: keeps the time, tells the seconds,
//! and ends it early when it must.

use std::sync::Arc;
use std::time::Duration;

use stithy_measure::{Clock, CpuUse, Interval, IntervalLogs, Moment};
use stithy_wire::{Message, Second, TransactionSecond, Warning};
use tokio::task::JoinSet;

use crate::error::HammerError;
use crate::record::Record;
use crate::window::{Plan, Window};
use crate::workloads::Context;

/// After the last moment of measuring, answers are waited for this long; then connections are cut.
const DRAIN_LIMIT: Duration = Duration::from_secs(60);

/// The same after a signal: whoever stops a run does not want to wait for a server that stands still.
const DRAIN_LIMIT_STOPPED: Duration = Duration::from_secs(5);

/// Leads one window.
pub(crate) struct RunController<'a> {
    plan: Plan,
    record: Arc<Record>,
    logs: Option<IntervalLogs>,
    context: Context<'a>,
    lost_told: u64,
    next_second: u64,
    cpu_before: Option<CpuUse>,
    cpu: Option<CpuUse>,
    /// Until when answers are waited for; None while users still begin something.
    drain_until: Option<Moment>,
    backlog: u64,
    complete: bool,
}

impl<'a> RunController<'a> {
    /// Errors: `cpu-time-unknown` (precondition) where the machine does not tell the CPU time.
    pub(crate) fn new(
        plan: Plan,
        record: Arc<Record>,
        logs: Option<IntervalLogs>,
        context: Context<'a>,
    ) -> Result<Self, HammerError> {
        cpu_now()?;
        Ok(RunController {
            plan,
            record,
            logs,
            context,
            lost_told: 0,
            next_second: 0,
            cpu_before: None,
            cpu: None,
            drain_until: None,
            backlog: 0,
            complete: true,
        })
    }

    /// Leads until the last user has ended.
    pub(crate) async fn control(mut self, mut users: JoinSet<()>) -> Result<Window, HammerError> {
        let mut stop = self.context.stop.clone();
        let mut giving_up = self.record.giving_up.clone();
        let (mut stopped, mut abandoned) = (false, false);
        loop {
            let going = self.drain_until.is_none();
            let next = self.record.clock.instant(self.next_event());
            tokio::select! {
                ended = users.join_next() => match ended {
                    None => break,
                    Some(Err(e)) if e.is_panic() => return Err(panicked(e)),
                    Some(_) => {}
                },
                () = stop.wait(), if !stopped => {
                    stopped = true;
                    self.interrupt();
                }
                () = giving_up.wait(), if going => {
                    self.cut("error-limit", "more unexpected errors than error_limit allows");
                }
                () = tokio::time::sleep_until(next.into()) => {
                    // Said once: those who are cut off end one after the other.
                    if self.on_time()? && !std::mem::replace(&mut abandoned, true) {
                        self.cut("drain-limit", "answers were missing for too long after the end");
                        users.abort_all();
                    }
                    self.mind_connections();
                }
            }
        }
        self.mind_connections();
        self.end()
    }

    /// The next moment at which something is to be done even if nothing happens.
    fn next_event(&self) -> Moment {
        let recorder = self.record.recorder();
        let measured = &recorder.phases().measured;
        let second = Moment::of_second(self.next_second + 1);
        let phase = match self.drain_until {
            Some(until) if until > self.record.now() => until,
            Some(_) => second,
            None if self.cpu_before.is_none() => measured.start,
            None => measured.end,
        };
        second.min(phase)
    }

    /// Does what is due by now; true when answers are no longer waited for.
    fn on_time(&mut self) -> Result<bool, HammerError> {
        let now = self.record.now();
        let measured = self.record.recorder().phases().measured.clone();
        if self.cpu_before.is_none() && now >= measured.start {
            self.cpu_before = Some(cpu_now()?);
        }
        if self.drain_until.is_none() && now >= measured.end {
            self.finish(now);
        }
        self.record.recorder().advance(now);
        self.tell_seconds(Duration::from_secs(1));
        Ok(self.drain_until.is_some_and(|until| now >= until))
    }

    /// Users begin nothing more.
    fn finish(&mut self, now: Moment) {
        self.cpu = cpu_now().ok();
        self.drain_until = Some(now + DRAIN_LIMIT);
        self.backlog = self.record.waiting();
        self.record.finish();
    }

    /// Ends the measurement, or the waiting for answers, soon after somebody asked for it.
    fn interrupt(&mut self) {
        self.cut("interrupted", "stopped by a signal");
        let soon = self.record.now() + DRAIN_LIMIT_STOPPED;
        self.drain_until = self.drain_until.map(|until| until.min(soon));
    }

    /// Ends the measurement now.
    fn cut(&mut self, code: &str, text: &str) {
        let now = self.record.now();
        self.complete = false;
        self.record.recorder().cut_measurement(now);
        if self.drain_until.is_none() {
            self.finish(now);
        }
        self.warn(code, text.to_string());
    }

    fn warn(&mut self, code: &str, text: String) {
        let code = code.to_string();
        (self.context.sink)(Message::Warning(Warning { code, text }));
    }

    /// Tells of lost connections, and gives up when there has been none for too long.
    fn mind_connections(&mut self) {
        let losses = self.record.losses();
        let (lost, reopened) = (losses.lost, losses.reopened);
        let none_since = losses.none_since();
        drop(losses);
        if lost > self.lost_told {
            self.lost_told = lost;
            let error = self.record.errors().pop().map_or(String::new(), |e| e.text);
            let text =
                format!("connections lost so far: {lost}, opened again: {reopened}; {error}");
            self.warn("connection-lost", text);
        }
        let over = |since| self.record.now().since(since) >= self.plan.reconnect_limit;
        if self.drain_until.is_none() && none_since.is_some_and(over) {
            let text = "no connection is left and none could be opened again, the run ends early";
            self.cut("all-connections-lost", text);
        }
    }

    /// Tells every second that is over, in the log and in a message.
    fn tell_seconds(&mut self, length: Duration) {
        loop {
            let ended = self.record.recorder().take_second();
            let Some((second, interval)) = ended else {
                return;
            };
            self.next_second = second + 1;
            self.log(second, length, &interval);
            let message = self.second_message(second, &interval);
            (self.context.sink)(Message::Second(message));
            self.record.recorder().give_back(interval);
        }
    }

    fn log(&mut self, second: u64, length: Duration, interval: &Interval) {
        let at = self.record.clock.unix_start() + Duration::from_secs(second);
        let Some(logs) = &mut self.logs else { return };
        if let Err(e) = logs.write(at, length, interval) {
            // The window is worth its figures without the log; the log ends here.
            self.logs = None;
            self.warn("hlog-failed", format!("the interval logs end early: {e}"));
        }
    }

    fn second_message(&self, second: u64, interval: &Interval) -> Second {
        let start = Moment::of_second(second);
        Second {
            second,
            at_s: self.record.clock.unix_s(start),
            phase: self.record.recorder().phases().at(start),
            waiting: self.record.waiting(),
            transactions: transactions(self.plan.names, interval),
        }
    }

    fn end(mut self) -> Result<Window, HammerError> {
        let ended = self.record.now();
        let mut recorder = self.record.recorder();
        recorder.advance(ended);
        drop(recorder);
        self.tell_seconds(Duration::from_secs(1));
        self.record.recorder().end_second();
        self.tell_seconds(ended.since(Moment::of_second(ended.second())));
        let after = self.cpu.map_or_else(cpu_now, Ok)?;
        let recorder = self.record.recorder();
        Ok(Window {
            clock: self.record.clock,
            phases: recorder.phases().clone(),
            woke_late: None,
            first_late: self.record.first_late(),
            ended,
            complete: self.complete,
            measured: recorder.measured().clone(),
            whole: *recorder.whole(),
            errors: self.record.errors(),
            connections: self.record.losses().counts(),
            gaps: self.record.gaps.summary(&self.record.clock, ended)?,
            backlog: self.backlog + self.record.unqueued(),
            unanswered: recorder.unanswered().clone(),
            suppressed_arrivals: None,
            // Without a moment of measuring there is nothing that it cost.
            cpu: after.since(&self.cpu_before.unwrap_or(after)),
        })
    }
}

fn transactions(names: &[&str], interval: &Interval) -> Vec<TransactionSecond> {
    let types = names.iter().zip(&interval.types);
    types
        .map(|(name, record)| {
            let live_s = |quantile| {
                let value_us = record.response.value_at_quantile(quantile) as f64;
                (!record.response.is_empty()).then_some(value_us / 1e6)
            };
            TransactionSecond {
                name: (*name).to_string(),
                committed: record.counts.committed,
                rolled_back: record.counts.rolled_back,
                errors: record.counts.errors,
                retries: record.counts.retries,
                live_p50_s: live_s(0.5),
                live_p95_s: live_s(0.95),
                live_p99_s: live_s(0.99),
            }
        })
        .collect()
}

fn cpu_now() -> Result<CpuUse, HammerError> {
    CpuUse::now().ok_or_else(|| {
        HammerError::precondition(
            "cpu-time-unknown",
            "the machine does not tell the hammer's CPU time",
            "/proc/self",
            "mount /proc",
        )
    })
}

fn panicked(e: tokio::task::JoinError) -> HammerError {
    HammerError::bug(format!("a virtual user ended in a panic: {e}"), "run")
}
