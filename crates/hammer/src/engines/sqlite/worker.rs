//! The thread of a connection: whatever is asked of it is done there, one thing after the other.

use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use rusqlite::{Connection, InterruptHandle, Statement};
use stithy_measure::{locked, priority};
use tokio::sync::{mpsc, oneshot};

use super::answer::{perform, Answer};
use super::failure::session_error;
use super::{Target, Use};
use crate::engines::SessionError;
use crate::error::HammerError;

/// SQLite's parser needs little, and there may be thousands of threads.
const STACK_BYTES: usize = 512 << 10;

type Call = Box<dyn FnOnce(&Connection) + Send>;

/// What a thread is asked for.
enum Request {
    Prepare(Vec<String>, oneshot::Sender<Result<(), SessionError>>),
    Exchange(Box<Answer>),
    Call(Call),
}

/// A connection and its thread; dropping the last handle interrupts what it does, closes it and waits for
/// that.
#[derive(Clone)]
pub(super) struct Worker(Arc<Inner>);

struct Inner {
    /// None once it is closed.
    requests: Mutex<Option<Sender<Request>>>,
    interrupt: InterruptHandle,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// Where the answers to batches come from.
pub(super) type Answers = mpsc::Receiver<Box<Answer>>;

impl Worker {
    /// Opens a connection in a thread of its own.
    ///
    /// Errors: those of [`Target::error`]; `connect-failed` (infrastructure) where no thread can be had.
    pub(super) async fn start(
        target: &Target,
        purpose: Use,
    ) -> Result<(Worker, Answers), HammerError> {
        let (requests, received) = channel();
        let (answers, answered) = mpsc::channel(1);
        let (opened, opening) = oneshot::channel();
        let inner = target.clone();
        let thread = thread::Builder::new()
            .name("sqlite".into())
            .stack_size(STACK_BYTES)
            .spawn(move || {
                priority::take_ordinary();
                match inner.open_blocking(purpose) {
                    Ok(connection) => {
                        let _ = opened.send(Ok(connection.get_interrupt_handle()));
                        serve(connection, &received, &answers);
                    }
                    Err(error) => drop(opened.send(Err(error))),
                }
            });
        let thread = thread.map_err(|e| {
            let remedy = "use fewer connections, or allow this user more threads";
            HammerError::infrastructure("connect-failed", e.to_string(), &target.place, remedy)
                .caused_by(e)
        })?;
        let interrupt = opening.await.map_err(|_| target.gone())?;
        let worker = Worker(Arc::new(Inner {
            requests: Mutex::new(Some(requests)),
            interrupt: interrupt.map_err(|e| target.error("opening it", e))?,
            thread: Mutex::new(Some(thread)),
        }));
        Ok((worker, answered))
    }

    /// Asks the thread for something; false where it is gone.
    fn send(&self, request: Request) -> bool {
        let requests = locked(&self.0.requests);
        let sent = requests.as_ref().map(|requests| requests.send(request));
        sent.is_some_and(|sent| sent.is_ok())
    }

    /// Hands a batch over; its answer comes through [`Answers`].
    pub(super) fn exchange(&self, batch: Box<Answer>) -> bool {
        self.send(Request::Exchange(batch))
    }

    /// Prepares statements, numbered on from those before.
    pub(super) async fn prepare(&self, texts: &[&str]) -> Result<(), SessionError> {
        let (sender, receiver) = oneshot::channel();
        let texts = texts.iter().map(|text| (*text).to_string()).collect();
        self.send(Request::Prepare(texts, sender));
        let prepared = receiver.await;
        prepared.unwrap_or_else(|_| Err(SessionError::lost("its thread is gone")))
    }

    /// Calls a function with the connection; the result comes through the receiver, which fails where the
    /// thread is gone.
    pub(super) fn call<R: Send + 'static>(
        &self,
        function: impl FnOnce(&Connection) -> R + Send + 'static,
    ) -> oneshot::Receiver<R> {
        let (sender, receiver) = oneshot::channel();
        self.send(Request::Call(Box::new(move |connection| {
            let _ = sender.send(function(connection));
        })));
        receiver
    }

    /// Ends the statement that is executed, with an error.
    pub(super) fn interrupt(&self) {
        self.0.interrupt.interrupt();
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        locked(&self.requests).take();
        self.interrupt.interrupt();
        if let Some(thread) = locked(&self.thread).take() {
            let _ = thread.join();
        }
    }
}

fn serve(
    connection: Connection,
    requests: &Receiver<Request>,
    answers: &mpsc::Sender<Box<Answer>>,
) {
    let mut statements: Vec<Statement> = Vec::new();
    while let Ok(request) = requests.recv() {
        match request {
            Request::Exchange(mut batch) => {
                perform(&connection, &mut statements, &mut batch);
                // Nobody waits any more where the run has ended.
                let _ = answers.blocking_send(batch);
            }
            Request::Prepare(texts, reply) => {
                let prepared = texts.iter().map(|text| connection.prepare(text));
                let prepared: rusqlite::Result<Vec<Statement>> = prepared.collect();
                let prepared = prepared.map(|more| statements.extend(more));
                let _ = reply.send(prepared.map_err(|e| session_error(&e)));
            }
            Request::Call(call) => call(&connection),
        }
    }
}
