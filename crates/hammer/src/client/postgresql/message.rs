//! Messages of the server: how they are framed, and what an error says.
//!
//! Source: PostgreSQL documentation, "Message Formats".

use super::session::{ServerError, SessionError};

/// Bytes before a message's body: its tag, and its length with the length's own four bytes.
pub(super) const HEAD_BYTES: usize = 5;

/// Tags that a server may answer a start with. Anything else is another protocol, whose bytes would
/// be read as a length and waited for.
pub(super) const ANSWERS_TO_START: &[u8] = b"RESKZNv";

/// Tag and end of the message that begins at `at`, or None while it is not whole.
#[inline]
pub(super) fn whole_message(input: &[u8], at: usize) -> Result<Option<(u8, usize)>, SessionError> {
    let Some(head) = input.get(at..at + HEAD_BYTES) else {
        return Ok(None);
    };
    let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
    if length < 4 {
        return Err(SessionError::protocol());
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

    /// Severity, SQLSTATE and text are found whatever else is told.
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
}
