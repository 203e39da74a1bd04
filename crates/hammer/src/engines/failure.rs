//! Why a batch has no answer, in words that every engine shares.

use std::io;

use stithy_wire::ErrorKind;

/// Why a batch has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text}{}", .code.as_ref().map_or(String::new(), |code| format!(" (code {code})")))]
pub struct SessionError {
    /// What it means.
    pub kind: ErrorKind,
    /// The engine's own code of the error; None where the server told none.
    pub code: Option<String>,
    /// What happened, for people.
    pub text: String,
}

impl SessionError {
    /// The connection is gone, and with it the answer.
    pub fn lost(why: impl std::fmt::Display) -> Self {
        SessionError {
            kind: ErrorKind::Lost,
            code: None,
            text: format!("the connection was lost: {why}"),
        }
    }

    /// The server did what it should not have done; the session goes on.
    pub fn unexpected(text: &str) -> Self {
        SessionError {
            kind: ErrorKind::Other,
            code: None,
            text: text.into(),
        }
    }

    /// Whether no answer will come.
    pub fn is_lost(&self) -> bool {
        self.kind == ErrorKind::Lost
    }
}

impl From<io::Error> for SessionError {
    fn from(e: io::Error) -> Self {
        match e.kind() {
            io::ErrorKind::UnexpectedEof => SessionError::lost("the server closed it"),
            _ => SessionError::lost(e),
        }
    }
}
