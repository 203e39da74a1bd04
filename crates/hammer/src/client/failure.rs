//! Why a batch has no answer, in words that every engine shares.

/// What an error means to whoever sent the batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionErrorKind {
    /// The same transaction may succeed when tried again: a conflict with another one.
    Retryable,
    /// The server has no room left on a volume.
    Full,
    /// The connection is gone, and with it the answer.
    Lost,
    /// Anything else; the session goes on.
    Other,
}

/// Why a batch has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text}{}", .code.as_ref().map_or(String::new(), |code| format!(" (code {code})")))]
pub struct SessionError {
    /// What it means.
    pub kind: SessionErrorKind,
    /// The engine's own code of the error; None where the server told none.
    pub code: Option<String>,
    /// What happened, for people.
    pub text: String,
}

impl SessionError {
    /// The connection is gone, and with it the answer.
    pub fn lost(why: impl std::fmt::Display) -> Self {
        SessionError {
            kind: SessionErrorKind::Lost,
            code: None,
            text: format!("the connection was lost: {why}"),
        }
    }

    /// The server did what it should not have done; the session goes on.
    pub fn unexpected(text: &str) -> Self {
        SessionError {
            kind: SessionErrorKind::Other,
            code: None,
            text: text.into(),
        }
    }

    /// Whether no answer will come.
    pub fn is_lost(&self) -> bool {
        self.kind == SessionErrorKind::Lost
    }
}
