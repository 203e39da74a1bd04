//! Messages of the server: how they are framed, what an error says, and what it means.
//!
//! Source: PostgreSQL documentation, "Message Formats".

use std::io;

use stithy_wire::ErrorKind;

use crate::engines::network::not_understood;
use crate::engines::SessionError;

/// Bytes before a message's body: its tag, and its length with the length's own four bytes.
pub(super) const HEAD_BYTES: usize = 5;

/// Tags that a server may answer a start with. Anything else is another protocol, whose bytes would
/// be read as a length and waited for.
pub(super) const ANSWERS_TO_START: &[u8] = b"RESKZNv";

/// The system's words for a write to a file system that takes none.
const READ_ONLY: &str = "Read-only file system";

/// Its words for a write beyond a quota.
const QUOTA: &str = "Disk quota exceeded";

/// What the server said went wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerError {
    /// Five letters and digits; empty where the server told none.
    pub sqlstate: String,
    /// The server's words.
    pub text: String,
    /// Whether the server closes the session.
    pub ends_session: bool,
}

impl ServerError {
    /// A serialization failure and a deadlock are conflicts; "disk full" is one code; I/O errors, damaged
    /// tables and indexes; a file system that has become read-only and a reached quota have no code of their own.
    fn kind(&self) -> ErrorKind {
        match self.sqlstate.as_str() {
            "40001" | "40P01" => ErrorKind::Retryable,
            "53100" => ErrorKind::Full,
            "58030" | "XX001" | "XX002" => ErrorKind::Storage,
            _ if self.text.contains(READ_ONLY) => ErrorKind::Storage,
            _ if self.text.contains(QUOTA) => ErrorKind::Full,
            _ => ErrorKind::Other,
        }
    }
}

impl From<ServerError> for SessionError {
    fn from(error: ServerError) -> Self {
        if error.ends_session {
            return SessionError::lost(error.text);
        }
        SessionError {
            kind: error.kind(),
            code: Some(error.sqlstate),
            text: error.text,
        }
    }
}

/// Tag and end of the message that begins at `at`, or None while it is not whole.
#[inline]
pub(super) fn whole_message(input: &[u8], at: usize) -> io::Result<Option<(u8, usize)>> {
    let Some(head) = input.get(at..at + HEAD_BYTES) else {
        return Ok(None);
    };
    let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
    if length < 4 {
        return Err(not_understood());
    }
    let end = at + 1 + length;
    Ok((end <= input.len()).then_some((head[0], end)))
}

/// Reads an ErrorResponse: fields of one letter and a text that ends with a zero byte.
pub(super) fn server_error(body: &[u8]) -> ServerError {
    let field = |letter: u8| {
        body.split(|byte| *byte == 0)
            .find(|field| field.first() == Some(&letter))
            .map(|field| String::from_utf8_lossy(&field[1..]).into_owned())
    };
    let severity = field(b'V').or_else(|| field(b'S')).unwrap_or_default();
    ServerError {
        sqlstate: field(b'C').unwrap_or_default(),
        text: field(b'M').unwrap_or_default(),
        ends_session: severity == "FATAL" || severity == "PANIC",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Severity, SQLSTATE and text are found whatever else is reported.
    #[test]
    fn an_error_s_fields_are_found() {
        let body = b"SFEHLER\0VERROR\0C40P01\0Mdeadlock detected\0Fproc.c\0\0";
        let expected = ServerError {
            sqlstate: "40P01".into(),
            text: "deadlock detected".into(),
            ends_session: false,
        };
        assert_eq!(expected, server_error(body));
        assert!(server_error(b"VFATAL\0C57P01\0Mbye\0\0").ends_session);
    }

    /// A message is only read when all of it is there.
    #[test]
    fn a_message_is_read_only_when_whole() {
        let input = b"..Z\0\0\0\x05IC";
        for end in 2..8 {
            assert_eq!(None, whole_message(&input[..end], 2).unwrap());
        }
        assert_eq!(Some((b'Z', 8)), whole_message(input, 2).unwrap());
    }

    /// A length that cannot be is an error, not an endless loop.
    #[test]
    fn an_impossible_length_is_refused() {
        assert!(whole_message(b"Z\0\0\0\x03I", 0).is_err());
    }

    /// Serialization failures and deadlocks are worth a retry, nothing else is; what ends the session
    /// loses the answer.
    #[test]
    fn errors_are_classified() {
        use ErrorKind::{Full, Lost, Other, Retryable};
        let kind = |sqlstate: &str, ends_session| {
            let error = ServerError {
                sqlstate: sqlstate.into(),
                text: String::new(),
                ends_session,
            };
            SessionError::from(error).kind
        };
        assert_eq!(
            (Retryable, Retryable),
            (kind("40001", false), kind("40P01", false))
        );
        assert_eq!((Full, Lost), (kind("53100", false), kind("53100", true)));
        let quota = ServerError {
            sqlstate: "XX000".into(),
            text: format!("could not extend file \"base/1/2\": {QUOTA}"),
            ends_session: false,
        };
        assert_eq!(Full, SessionError::from(quota).kind);
        for sqlstate in ["23505", "40002", "57014", ""] {
            assert_eq!(Other, kind(sqlstate, false), "{sqlstate}");
        }
    }
}
