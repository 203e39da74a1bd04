//! Lines for whoever started the program, written by a thread of their own: a reader that stands still must
//! hold up neither the end of the program nor what it writes down.

use std::io::{self, Write};
use std::sync::mpsc::{channel, sync_channel, Receiver, SyncSender, TrySendError};
use std::thread;
use std::time::Duration;

use stithy_wire::DriveMessage;

use crate::fleet::Sink;
use crate::host;

/// Lines that may wait for the reader: minutes of a few drives.
const LINES: usize = 1_024;

/// How long a line that must not be lost waits for a place, and the end for the last line: ten seconds.
const TRIES: u32 = 1_000;
const PAUSE: Duration = Duration::from_millis(10);

enum Line {
    Text(String),
    End,
}

/// The way of the lines.
pub struct Output {
    lines: SyncSender<Line>,
    ended: Receiver<()>,
}

impl Output {
    /// Writes lines to `target` from now on. Signals to end the program wait from now on as well.
    ///
    /// Errors: the thread cannot be started.
    pub fn start(target: impl Write + Send + 'static) -> io::Result<Self> {
        // One that came to the thread would end the process.
        host::hold_signals();
        let (lines, waiting) = sync_channel(LINES);
        let (end, ended) = channel();
        let writing = move || {
            write(target, &waiting);
            // Whoever waits no more has gone on.
            let _ = end.send(());
        };
        thread::Builder::new()
            .name("output".to_string())
            .spawn(writing)?;
        Ok(Output { lines, ended })
    }

    /// Takes messages from any thread. A second of a drive for which there is no place is left out; its numbers
    /// are in the totals.
    pub fn sink(&self) -> Sink {
        let lines = self.lines.clone();
        Box::new(move |message| {
            let tries = match message {
                DriveMessage::DriveSecond(_) => 1,
                _ => TRIES,
            };
            let text = serde_json::to_string(&message).unwrap_or_default();
            give(&lines, Line::Text(text), tries);
        })
    }

    /// Waits until everything is written, or the reader has stood still for long.
    pub fn finish(self) {
        give(&self.lines, Line::End, TRIES);
        // A reader that stands still does not read the end either.
        let _ = self.ended.recv_timeout(PAUSE * TRIES);
    }
}

fn give(lines: &SyncSender<Line>, mut line: Line, tries: u32) {
    for left in (0..tries).rev() {
        match lines.try_send(line) {
            Ok(()) | Err(TrySendError::Disconnected(_)) => return,
            Err(TrySendError::Full(back)) => line = back,
        }
        if left > 0 {
            thread::sleep(PAUSE);
        }
    }
}

/// Writes each line at once. Where nobody reads any more there is nobody left to tell.
fn write(mut target: impl Write, lines: &Receiver<Line>) {
    while let Ok(Line::Text(text)) = lines.recv() {
        let _ = writeln!(target, "{text}").and_then(|()| target.flush());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use stithy_wire::{Failure, Warning};

    use super::*;
    use crate::counters::{Counters, Tally};
    use stithy_measure::Moment;

    /// Takes lines, but only while nobody else holds it.
    #[derive(Clone, Default)]
    struct Reader(Arc<Mutex<Vec<u8>>>);

    impl Write for Reader {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn second() -> DriveMessage {
        let counters = Arc::new(Mutex::new(Counters::new(Moment::START)));
        let mut tally = Tally::new("d", 0.0, counters, Moment::START);
        DriveMessage::DriveSecond(Box::new(tally.total(Moment::START)))
    }

    /// While a reader stands still, seconds are left out and nothing waits; what came before and what must not be
    /// lost is there when it reads on.
    #[test]
    fn a_reader_that_stands_still_holds_up_nothing() {
        let reader = Reader::default();
        let output = Output::start(reader.clone()).expect("a thread");
        let (sink, second) = (output.sink(), second());
        {
            let _stands_still = reader.0.lock().unwrap();
            (0..2 * LINES).for_each(|_| sink(second.clone()));
        }
        sink(DriveMessage::Warning(Warning {
            code: "late".to_string(),
            text: "told all the same".to_string(),
        }));
        sink(DriveMessage::Failure(Failure {
            code: "last".to_string(),
            problem: String::new(),
            place: String::new(),
            remedy: String::new(),
            exit: 1,
        }));
        output.finish();
        let text = String::from_utf8(reader.0.lock().unwrap().clone()).expect("JSON");
        let lines: Vec<&str> = text.lines().collect();
        assert!(
            (LINES..=LINES + 4).contains(&lines.len()),
            "{}",
            lines.len()
        );
        assert!(lines[lines.len() - 2].contains("told all the same"));
        assert!(lines[lines.len() - 1].contains("\"last\""));
    }
}
