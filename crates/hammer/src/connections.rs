//! Sessions for all users, opened before the first of them acts.

use std::future::Future;
use std::sync::Arc;

use crate::engines::{Session, SessionError, SessionSettings, Target};
use crate::error::{ErrorClass, HammerError};
use crate::pool::Opener;
use crate::record::OPENING_AT_ONCE;

/// What is prepared in each session of a run.
pub trait Statements: Clone + Send + Sync + 'static {
    /// The statements, by which every session of the run knows them.
    type Prepared: Send;

    /// Prepares them in one session. They are numbered in the order in which they are prepared, so that
    /// all sessions agree.
    fn prepare<C: Session>(
        &self,
        session: &mut C,
    ) -> impl Future<Output = Result<Self::Prepared, SessionError>> + Send;
}

/// How the sessions of a run are opened, at its start and after a loss.
#[derive(Clone)]
pub struct Opening<T, P> {
    /// Where to.
    pub target: T,
    /// What they are for.
    pub settings: SessionSettings,
    /// What is prepared in each.
    pub prepare: P,
}

impl<T: Target, P: Statements> Opening<T, P> {
    /// Opens a number of sessions, at least one.
    ///
    /// Errors: as [`Target::open`]; `connect-failed` (infrastructure).
    pub async fn all(&self, count: u32) -> Result<(Vec<T::Session>, P::Prepared), HammerError> {
        let mut sessions = open_all(&self.target, count, self.settings).await?;
        let mut prepared = None;
        for session in &mut sessions {
            prepared = Some(self.prepared(session).await?);
        }
        let prepared = prepared.ok_or_else(|| HammerError::bug("no connections", "run"))?;
        Ok((sessions, prepared))
    }

    /// Opens one more session like those, whenever it is asked.
    pub fn opener(&self) -> Opener<T::Session> {
        let opening = self.clone();
        Arc::new(move || {
            let opening = opening.clone();
            Box::pin(async move { opening.one().await })
        })
    }

    async fn one(&self) -> Result<T::Session, HammerError> {
        let mut session = self.target.open(self.settings).await?;
        self.prepared(&mut session).await?;
        Ok(session)
    }

    async fn prepared(&self, session: &mut T::Session) -> Result<P::Prepared, HammerError> {
        let prepared = self.prepare.prepare(session).await;
        prepared.map_err(|e| failed(&self.target, "preparing statements", e))
    }
}

/// Opens a number of sessions with nothing prepared.
///
/// Errors: as [`Target::open`].
pub async fn open_all<T: Target>(
    target: &T,
    count: u32,
    settings: SessionSettings,
) -> Result<Vec<T::Session>, HammerError> {
    let mut sessions = Vec::with_capacity(count as usize);
    while sessions.len() < count as usize {
        let missing = count as usize - sessions.len();
        let mut opening = tokio::task::JoinSet::new();
        for _ in 0..missing.min(OPENING_AT_ONCE) {
            let target = target.clone();
            opening.spawn(async move { target.open(settings).await });
        }
        for opened in opening.join_all().await {
            sessions.push(opened?);
        }
    }
    Ok(sessions)
}

/// The error of a session before the run.
pub fn failed<T: Target>(target: &T, doing: &str, e: SessionError) -> HammerError {
    let (class, code, remedy) = match T::precondition(&e) {
        Some((code, remedy)) => (ErrorClass::Precondition, code, remedy),
        None => (
            ErrorClass::Infrastructure,
            "connect-failed",
            "see the server's log".into(),
        ),
    };
    let place = format!("{}, while {doing}", target.place());
    HammerError::new(class, code, e.to_string(), place, remedy).caused_by(e)
}
