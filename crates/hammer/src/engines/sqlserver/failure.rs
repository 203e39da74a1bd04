//! What can go wrong between a target and a session, and what the server's errors mean.

use std::io;

use stithy_wire::ErrorKind;

use super::client::Failed;
use super::reply::ServerError;
use super::{Target, DIALECT};
use crate::engines::network::{down, required, unfit, Meaning, Unreached};
use crate::engines::SessionError;
use crate::error::HammerError;

/// Why there is no session.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotOpened {
    /// No byte stream leads there, or it ended.
    #[error(transparent)]
    Unreached(#[from] Unreached),
    /// What was said is nothing that these servers say.
    #[error("what listens there does not speak SQL Server's protocol")]
    NotSqlServer,
    /// It is from before 2016; the first number of its version.
    #[error("the server is too old: its version is {0}")]
    TooOld(u8),
    /// Encryption is demanded, and the server has none.
    #[error("the server offers no encryption")]
    TlsNotOffered,
    /// Letters are compared in another way than byte by byte; how.
    #[error("the database compares text by {0}")]
    WrongCollation(String),
    /// The server answered with an error.
    #[error("the server refused the connection: {0}")]
    Refused(ServerError),
}

impl From<io::Error> for NotOpened {
    fn from(e: io::Error) -> Self {
        match e.kind() {
            io::ErrorKind::InvalidData => NotOpened::NotSqlServer,
            _ => Unreached::from(e).into(),
        }
    }
}

impl From<Failed> for NotOpened {
    fn from(failed: Failed) -> Self {
        match failed {
            Failed::Refused(error) => NotOpened::Refused(error),
            Failed::Gone(e) => e.into(),
        }
    }
}

impl From<Failed> for SessionError {
    fn from(failed: Failed) -> Self {
        match failed {
            Failed::Gone(e) => e.into(),
            Failed::Refused(error) => match error.kind() {
                ErrorKind::Lost => SessionError::lost(error.text),
                kind => SessionError {
                    kind,
                    code: Some(error.number.to_string()).filter(|_| error.number != 0),
                    text: error.text,
                },
            },
        }
    }
}

impl ServerError {
    /// A deadlock, a lock that was waited for too long, rows that changed since they were read, and the same
    /// among tables in memory; a volume or a log that is full; files that cannot be read or written, or are
    /// damaged (the server ends the session over most of them); a session that the server ends.
    pub(super) fn kind(&self) -> ErrorKind {
        match self.number {
            1205 | 1222 | 3960 | 3961 | 3966 | 41301 | 41302 | 41305 | 41325 => {
                ErrorKind::Retryable
            }
            1101 | 1103 | 1105 | 3257 | 5144 | 5145 | 5149 | 9002 => ErrorKind::Full,
            823..=825 | 8966 => ErrorKind::Storage,
            596 | 6005 | 6104 | 17892 => ErrorKind::Lost,
            _ if self.severity >= 20 => ErrorKind::Lost,
            _ => ErrorKind::Other,
        }
    }
}

impl Target {
    /// The error of a session that could not be opened.
    pub(super) fn not_opened(&self, e: NotOpened) -> HammerError {
        let (class, code, remedy) = match &e {
            NotOpened::Unreached(e) => e.meaning(&DIALECT),
            NotOpened::NotSqlServer => down("not-sqlserver", "correct host and port in the URL"),
            NotOpened::TooOld(_) => unfit("server-too-old", "use SQL Server 2016 (13) or newer"),
            NotOpened::TlsNotOffered => unfit(
                "tls-not-offered",
                "give the server a certificate, or ask for less with encrypt=false",
            ),
            NotOpened::WrongCollation(_) => unfit("wrong-collation", COLLATE),
            NotOpened::Refused(e) => self.meaning_of_refusal(e),
        };
        HammerError::new(class, code, e.to_string(), &self.place, remedy).caused_by(e)
    }

    fn meaning_of_refusal(&self, e: &ServerError) -> Meaning {
        match e.number {
            18456 if self.password.is_empty() => {
                unfit("wrong-password", "give the password in the URL")
            }
            18456 => unfit(
                "wrong-password",
                "give the right user and password in the URL; the state in the server's log tells \
                 the cause: 5 no such user, 8 another password, 58 SQL logins are off",
            ),
            18452 => unfit(
                "not-admitted",
                "let the server admit SQL logins (mixed mode), and name one in the URL",
            ),
            18470 | 18486..=18488 => unfit(
                "not-admitted",
                "enable and unlock the login, or set its password anew",
            ),
            911 | 4060 | 4064 => unfit(
                "no-such-database",
                "create the database, let the user into it, or name another in the URL",
            ),
            10928 | 10929 | 17809 => unfit(
                "too-many-connections",
                "raise the server's 'user connections', or use fewer users or loaders",
            ),
            921 | 922 | 924 | 927 | 6005 | 17142 | 18401 => down(
                "not-ready",
                "wait until the server has started and the database is recovered, then try again",
            ),
            916 => unfit("not-permitted", PERMIT),
            _ => down("connect-failed", "see the server's log"),
        }
    }

    /// The meaning of an error that came while `doing` something on an open connection.
    ///
    /// Errors: `connection-lost`, `disk-full`, `server-error` (infrastructure), `not-permitted`,
    /// `wrong-collation`, `server-too-old` (precondition).
    pub(super) fn error(&self, doing: &str, e: Failed) -> HammerError {
        e.at(&self.place, doing, classify)
    }
}

/// Code and remedy of a session's error that settings or rights of the server prevent.
pub(super) fn precondition(e: &SessionError) -> Option<(&'static str, String)> {
    let number = e.code.as_ref()?.parse().ok()?;
    let error = ServerError {
        number,
        ..ServerError::made(&e.text[..])
    };
    required(classify(&error))
}

const PERMIT: &str = "use a user who owns the database: ALTER ROLE db_owner ADD MEMBER …";
const COLLATE: &str = "create the database anew with COLLATE Latin1_General_100_BIN2";

fn classify(e: &ServerError) -> Meaning {
    match e.number {
        9002 => down(
            "disk-full",
            "give the log more space, or back it up; log_reuse_wait_desc in sys.databases tells \
             what keeps it",
        ),
        _ if e.kind() == ErrorKind::Full => {
            down("disk-full", "give the database's volume more space")
        }
        _ if e.kind() == ErrorKind::Lost => {
            down("connection-lost", "see why the server stopped in its log")
        }
        229 | 230 | 262 | 297 | 300 | 2760 | 3704 | 15247 => unfit("not-permitted", PERMIT),
        448 | 468 => unfit("wrong-collation", COLLATE),
        208 if e.text.contains("OPENJSON") => unfit(
            "server-too-old",
            "use SQL Server 2016 or newer, and ALTER DATABASE … SET COMPATIBILITY_LEVEL = 130 or \
             more",
        ),
        _ => down("server-error", "see the server's log"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Conflicts are worth a retry, a full volume is told apart, and a session that the server ends is lost.
    #[test]
    fn errors_are_classified() {
        use ErrorKind::{Full, Lost, Other, Retryable};
        for (kind, numbers) in [
            (Retryable, &[1205, 1222, 3960, 41302][..]),
            (Full, &[1105, 9002]),
            (Lost, &[596]),
            (Other, &[2627, 50_000]),
        ] {
            for number in numbers {
                let error = ServerError {
                    number: *number,
                    ..ServerError::made("")
                };
                assert_eq!(kind, error.kind(), "{number}");
            }
        }
        let fatal = ServerError {
            severity: 20,
            ..ServerError::made("")
        };
        assert!(SessionError::from(Failed::Refused(fatal)).is_lost());
    }

    /// An error of a session names the right or the setting that it wants; others are nobody's to prevent.
    #[test]
    fn preconditions_of_sessions_are_named() {
        for (number, text, expected) in [
            (229, "", Some(("not-permitted", "db_owner"))),
            (468, "", Some(("wrong-collation", "BIN2"))),
            (
                208,
                "Invalid object name 'OPENJSON'.",
                Some(("server-too-old", "130")),
            ),
            (208, "Invalid object name 'stock'.", None),
            (9002, "", None),
        ] {
            let error = ServerError {
                number,
                ..ServerError::made(text)
            };
            let precondition = precondition(&Failed::Refused(error).into());
            let precondition = precondition
                .as_ref()
                .map(|(code, remedy)| (*code, &remedy[..]));
            assert_eq!(
                precondition.map(|(code, _)| code),
                expected.map(|(code, _)| code)
            );
            if let (Some((_, remedy)), Some((_, word))) = (precondition, expected) {
                assert!(remedy.contains(word), "{remedy}");
            }
        }
        assert_eq!(None, precondition(&SessionError::lost("gone")));
    }
}
