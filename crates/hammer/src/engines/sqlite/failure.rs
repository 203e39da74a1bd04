//! What SQLite's errors mean.

use rusqlite::ffi::{self, ErrorCode};
use stithy_wire::ErrorKind;

use super::Target;
use crate::engines::SessionError;
use crate::error::{ErrorClass, HammerError};

/// The primary code of an error and its extended one; None where the library itself refused.
fn codes(error: &rusqlite::Error) -> Option<&ffi::Error> {
    match error {
        rusqlite::Error::SqliteFailure(code, _) => Some(code),
        rusqlite::Error::SqlInputError { error, .. } => Some(error),
        _ => None,
    }
}

/// The shared memory beside the log could not grow: also a volume without room.
const NO_ROOM_FOR_SHARED_MEMORY: i32 = ffi::SQLITE_IOERR_SHMSIZE;

fn is_full(code: &ffi::Error) -> bool {
    code.code == ErrorCode::DiskFull || code.extended_code == NO_ROOM_FOR_SHARED_MEMORY
}

/// SQLite's name of a code, where users know it by name.
fn name(code: &ffi::Error) -> String {
    let name = match code.code {
        ErrorCode::DatabaseBusy if code.extended_code == ffi::SQLITE_BUSY_SNAPSHOT => {
            "SQLITE_BUSY_SNAPSHOT"
        }
        ErrorCode::DatabaseBusy => "SQLITE_BUSY",
        ErrorCode::DatabaseLocked => "SQLITE_LOCKED",
        ErrorCode::DiskFull => "SQLITE_FULL",
        ErrorCode::DatabaseCorrupt => "SQLITE_CORRUPT",
        ErrorCode::NotADatabase => "SQLITE_NOTADB",
        ErrorCode::CannotOpen => "SQLITE_CANTOPEN",
        ErrorCode::ReadOnly => "SQLITE_READONLY",
        ErrorCode::ConstraintViolation => "SQLITE_CONSTRAINT",
        ErrorCode::OperationInterrupted => "SQLITE_INTERRUPT",
        ErrorCode::SystemIoFailure => return format!("SQLITE_IOERR ({})", code.extended_code),
        _ => return format!("SQLITE {}", code.extended_code),
    };
    name.into()
}

/// Somebody else holds a lock: the same transaction may succeed when tried again.
pub(super) fn session_error(error: &rusqlite::Error) -> SessionError {
    let code = codes(error);
    let kind = match code {
        Some(code) if is_full(code) => ErrorKind::Full,
        Some(code) => match code.code {
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => ErrorKind::Retryable,
            ErrorCode::SystemIoFailure
            | ErrorCode::DatabaseCorrupt
            | ErrorCode::NotADatabase
            | ErrorCode::CannotOpen
            | ErrorCode::ReadOnly => ErrorKind::Storage,
            _ => ErrorKind::Other,
        },
        None => ErrorKind::Other,
    };
    SessionError {
        kind,
        code: code.map(name),
        text: error.to_string(),
    }
}

impl Target {
    /// The meaning of an error that came while `doing` something.
    ///
    /// Errors: `disk-full`, `database-busy`, `database-error` (infrastructure), `no-such-database`,
    /// `not-permitted`, `not-a-database`, `database-damaged` (precondition).
    pub(super) fn error(&self, doing: &str, error: rusqlite::Error) -> HammerError {
        let (class, kind, remedy) = match codes(&error) {
            Some(code) if is_full(code) => (
                ErrorClass::Infrastructure,
                "disk-full",
                "give the database's volume more space",
            ),
            Some(code) => self.meaning(code.code),
            None => FAILED,
        };
        let problem = match codes(&error) {
            Some(code) => format!("{error} ({})", name(code)),
            None => error.to_string(),
        };
        let place = format!("{}, while {doing}", self.place);
        HammerError::new(class, kind, problem, place, remedy).caused_by(error)
    }

    fn meaning(&self, code: ErrorCode) -> (ErrorClass, &'static str, &'static str) {
        let unfit = ErrorClass::Precondition;
        match code {
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => (
                ErrorClass::Infrastructure,
                "database-busy",
                "end the other processes that use the file, or raise busy_timeout_ms in the URL",
            ),
            ErrorCode::CannotOpen if !self.path.exists() => (
                unfit,
                "no-such-database",
                "name a file that is there, or load it with `stithy hammer prepare` into a directory that is there",
            ),
            ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied => (
                unfit,
                "not-permitted",
                "run as a user who may write the file and its directory",
            ),
            ErrorCode::NotADatabase => (unfit, "not-a-database", "name a SQLite database"),
            ErrorCode::DatabaseCorrupt => (
                unfit,
                "database-damaged",
                "restore the file from a backup: PRAGMA integrity_check says what is damaged",
            ),
            _ => FAILED,
        }
    }

    /// The thread of a connection is gone: a defect.
    pub(super) fn gone(&self) -> HammerError {
        HammerError::bug("the thread of a connection is gone", &self.place)
    }
}

const FAILED: (ErrorClass, &str, &str) = (
    ErrorClass::Infrastructure,
    "database-error",
    "see the error, and what the kernel's log says of the volume",
);
