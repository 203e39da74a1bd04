//! Messages of the server: what it answers at the end of a command, and what its errors mean.
//!
//! Source: MySQL "Client/Server Protocol", "OK_Packet", "ERR_Packet", "Column Definition"; MariaDB
//! knowledge base, "MariaDB Error Codes".

use std::fmt;
use std::io;

use stithy_wire::ErrorKind;

use super::packet::Fields;
use crate::engines::network::not_understood;
use crate::engines::SessionError;

/// First bytes of answers.
pub(super) const OK: u8 = 0x00;
pub(super) const ASKS_FOR_FILE: u8 = 0xFB;
pub(super) const END: u8 = 0xFE;
pub(super) const ERROR: u8 = 0xFF;

/// Commands.
pub(super) const QUIT: u8 = 0x01;
pub(super) const QUERY: u8 = 0x03;
pub(super) const PREPARE: u8 = 0x16;
pub(super) const EXECUTE: u8 = 0x17;
pub(super) const CLOSE_STATEMENT: u8 = 0x19;

/// What client and server can do, as both say at the start.
pub(super) mod capability {
    pub(in super::super) const FOUND_ROWS: u32 = 1 << 1;
    pub(in super::super) const LONG_PASSWORD: u32 = 1;
    pub(in super::super) const LONG_FLAG: u32 = 1 << 2;
    pub(in super::super) const CONNECT_WITH_DB: u32 = 1 << 3;
    pub(in super::super) const LOCAL_FILES: u32 = 1 << 7;
    pub(in super::super) const PROTOCOL_41: u32 = 1 << 9;
    pub(in super::super) const SSL: u32 = 1 << 11;
    pub(in super::super) const TRANSACTIONS: u32 = 1 << 13;
    pub(in super::super) const SECURE_CONNECTION: u32 = 1 << 15;
    pub(in super::super) const MULTI_STATEMENTS: u32 = 1 << 16;
    pub(in super::super) const MULTI_RESULTS: u32 = 1 << 17;
    pub(in super::super) const PS_MULTI_RESULTS: u32 = 1 << 18;
    pub(in super::super) const PLUGIN_AUTH: u32 = 1 << 19;
    pub(in super::super) const PLUGIN_AUTH_LENENC: u32 = 1 << 21;
    pub(in super::super) const DEPRECATE_EOF: u32 = 1 << 24;
}

const IN_TRANSACTION: u16 = 1;
const MORE_RESULTS: u16 = 8;

/// What the server says at the end of a statement or of its rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Completion {
    /// Rows that were changed, or that a change would not have altered.
    pub(super) affected: u64,
    status: u16,
    /// How many things were not as they should be.
    pub(super) warnings: u16,
}

impl Completion {
    /// Reads an OK packet, whatever its first byte.
    pub(super) fn read(payload: &[u8]) -> io::Result<Self> {
        let mut fields = Fields(payload.get(1..).unwrap_or_default());
        let affected = fields.length()?;
        let _last_insert_id = fields.length()?;
        Ok(Completion {
            affected,
            status: fields.integer::<2>()? as u16,
            warnings: fields.integer::<2>()? as u16,
        })
    }

    /// Reads what comes after the last row, which of a server that has no newer form is an EOF packet.
    pub(super) fn read_end(payload: &[u8], eof_packets: bool) -> io::Result<Self> {
        if !eof_packets {
            return Self::read(payload);
        }
        let mut fields = Fields(payload.get(1..).unwrap_or_default());
        Ok(Completion {
            affected: 0,
            warnings: fields.integer::<2>()? as u16,
            status: fields.integer::<2>()? as u16,
        })
    }

    pub(super) fn in_transaction(self) -> bool {
        self.status & IN_TRANSACTION != 0
    }

    /// Whether another result of the same statement follows.
    pub(super) fn more_results(self) -> bool {
        self.status & MORE_RESULTS != 0
    }
}

/// What the server said went wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ServerError {
    /// Its number; 0 for what the server did not call an error.
    pub(super) code: u16,
    /// The server's words.
    pub(super) text: String,
}

impl ServerError {
    /// Reads an ERR packet, which before the login has no SQLSTATE.
    pub(super) fn read(payload: &[u8]) -> Self {
        let code = payload.get(1..3).unwrap_or_default();
        let text = payload.get(3..).unwrap_or_default();
        let text = match text {
            [b'#', _, _, _, _, _, text @ ..] => text,
            text => text,
        };
        ServerError {
            code: code.try_into().map_or(0, u16::from_le_bytes),
            text: String::from_utf8_lossy(text).into_owned(),
        }
    }

    /// A full volume is told as a full table (1114), as a file that cannot be written (3, 28, 1021), or by
    /// the system's number in an error of the engine (1030, 1180).
    pub(super) fn is_full(&self) -> bool {
        match self.code {
            3 | 28 | 1021 | 1114 => true,
            1026 | 1030 | 1180 => self.text.contains("error 28") || self.text.contains("errno: 28"),
            _ => false,
        }
    }

    /// Files cannot be read or written, or are damaged; a table whose file could not be read is said not
    /// to exist, or to be in no engine.
    fn is_of_storage(&self) -> bool {
        matches!(
            self.code,
            5 | 30 | 126 | 1016 | 1023..=1026 | 1030 | 1034 | 1036 | 1180 | 1712 | 1877 | 1932
        )
    }

    /// The server ends the session: killed, shut down, or a network that fails.
    pub(super) fn ends_session(&self) -> bool {
        matches!(
            self.code,
            1053 | 1158..=1161 | 1927 | 2006 | 2013 | 3169 | 4031
        )
    }

    /// A deadlock, a lock that was waited for too long, a row that changed since it was read, and a
    /// statement that must be prepared again.
    pub(super) fn kind(&self) -> ErrorKind {
        match self.code {
            1020 | 1205 | 1213 | 1615 => ErrorKind::Retryable,
            _ if self.is_full() => ErrorKind::Full,
            _ if self.is_of_storage() => ErrorKind::Storage,
            _ if self.ends_session() => ErrorKind::Lost,
            _ => ErrorKind::Other,
        }
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        match self.code {
            0 => Ok(()),
            code => write!(f, " (error {code})"),
        }
    }
}

impl From<ServerError> for SessionError {
    fn from(error: ServerError) -> Self {
        match error.kind() {
            ErrorKind::Lost => SessionError::lost(error.text),
            kind => SessionError {
                kind,
                code: Some(error.code.to_string()),
                text: error.text,
            },
        }
    }
}

/// How the values of a column come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Column {
    /// The number of its type.
    pub(super) kind: u8,
    pub(super) unsigned: bool,
    /// Digits behind the point.
    pub(super) decimals: u8,
}

impl Column {
    /// Reads a column's definition. What is of use here lies at its end, behind names that nobody asks for:
    /// set of characters, length, type, flags, decimals, two bytes of nothing.
    #[inline]
    pub(super) fn read(payload: &[u8]) -> io::Result<Self> {
        const UNSIGNED: u8 = 0x20;
        match payload.last_chunk() {
            Some([kind, flags, _, decimals, _, _]) => Ok(Column {
                kind: *kind,
                unsigned: flags & UNSIGNED != 0,
                decimals: *decimals,
            }),
            None => Err(not_understood()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Number and text, with a SQLSTATE between them or without.
    #[test]
    fn an_error_s_fields_are_read() {
        let error = |text: &str| ServerError {
            code: 1213,
            text: text.into(),
        };
        assert_eq!(error("x#y"), ServerError::read(b"\xff\xbd\x04#40001x#y"));
        assert_eq!(error("#123"), ServerError::read(b"\xff\xbd\x04#123"));
    }

    /// Conflicts are worth a retry, a full volume is told apart, and a session that the server ends is lost.
    #[test]
    fn errors_are_classified() {
        use ErrorKind::{Full, Lost, Other, Retryable, Storage};
        let text = "Got error 28 \"No space left on device\" from storage engine InnoDB";
        for (code, text, kind) in [
            (1213, "", Retryable),
            (1205, "", Retryable),
            (1020, "", Retryable),
            (1615, "", Retryable),
            (1114, "", Full),
            (1021, "", Full),
            (1030, text, Full),
            (
                1030,
                "Got error 5 \"Input/output error\" from storage engine",
                Storage,
            ),
            (1927, "", Lost),
            (1053, "", Lost),
            (1062, "", Other),
            (1317, "", Other),
        ] {
            let text = text.to_string();
            let error = SessionError::from(ServerError { code, text });
            assert_eq!(kind, error.kind, "{code}");
        }
    }

    /// The end of rows says the same in its old form and its new one.
    #[test]
    fn both_ends_of_rows_are_read() {
        let old = Completion::read_end(b"\xfe\x02\0\x09\0", true).unwrap();
        let new = Completion::read_end(b"\xfe\0\0\x09\0\x02\0", false).unwrap();
        assert_eq!(old, new);
        assert!(old.in_transaction() && old.more_results());
        assert_eq!(2, old.warnings);
        let done = Completion::read(b"\0\xfc\x2c\x01\0\0\0\0\0").unwrap();
        assert_eq!((300, false), (done.affected, done.in_transaction()));
    }
}
