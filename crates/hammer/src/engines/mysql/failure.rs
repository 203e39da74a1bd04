//! What can go wrong between a target and a session, and what the server's errors mean.

use std::io;

use super::client::Failed;
use super::message::ServerError;
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
    #[error("what listens there does not speak MySQL's protocol")]
    NotMysql,
    /// It is from before the protocol of 4.1 or plug-ins of authentication.
    #[error("the server is too old")]
    TooOld,
    /// TLS is demanded, and the server has none.
    #[error("the server offers no TLS")]
    TlsNotOffered,
    /// The account is proven in another way; its name.
    #[error("the account logs in by {0:?}, which the hammer cannot")]
    UnknownPlugin(String),
    /// The server wants the password itself.
    #[error("the server wants the password itself, and the connection is not encrypted")]
    NotSecret,
    /// The server answered with an error.
    #[error("the server refused the connection: {0}")]
    Refused(ServerError),
}

impl NotOpened {
    /// Whether another way of encrypting may lead further.
    pub(super) fn leads_on(&self) -> bool {
        matches!(self, NotOpened::Unreached(Unreached::Handshake(_)))
    }
}

impl From<io::Error> for NotOpened {
    fn from(e: io::Error) -> Self {
        match e.kind() {
            io::ErrorKind::InvalidData => NotOpened::NotMysql,
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

impl Target {
    /// The error of a session that could not be opened.
    pub(super) fn not_opened(&self, e: NotOpened) -> HammerError {
        let (class, code, remedy) = match &e {
            NotOpened::Unreached(e) => e.meaning(&DIALECT),
            NotOpened::NotMysql => down("not-mysql", "correct host and port in the URL"),
            NotOpened::TooOld => unfit("server-too-old", "use MariaDB 10.6, MySQL 8.0 or newer"),
            NotOpened::TlsNotOffered => unfit(
                "tls-not-offered",
                "set ssl_cert and ssl_key in the server, or ask for less with tls=prefer",
            ),
            NotOpened::UnknownPlugin(_) => unfit(
                "not-admitted",
                "use an account that logs in by mysql_native_password or caching_sha2_password",
            ),
            NotOpened::NotSecret => unfit(
                "not-admitted",
                "encrypt the connection with tls=require, or use the server's socket",
            ),
            NotOpened::Refused(e) => self.meaning_of_refusal(e),
        };
        HammerError::new(class, code, e.to_string(), &self.place, remedy).caused_by(e)
    }

    fn meaning_of_refusal(&self, e: &ServerError) -> Meaning {
        match e.code {
            1045 | 1698 if self.password.is_empty() => {
                unfit("wrong-password", "give the password in the URL")
            }
            1045 | 1698 => unfit(
                "wrong-password",
                "give the right user and password in the URL",
            ),
            // So the server also calls a database that is not there, to those who may make none.
            1044 | 1142 | 1227 => unfit(
                "not-permitted",
                "use a user who has all privileges on the database, and make sure that it is there",
            ),
            1049 => unfit(
                "no-such-database",
                "create the database, or name another in the URL",
            ),
            1040 | 1203 | 1226 => unfit(
                "too-many-connections",
                "raise max_connections, or use fewer users or loaders",
            ),
            1129 | 1130 => unfit(
                "not-admitted",
                "let the server admit this user from this host; after many failures also \
                 FLUSH HOSTS",
            ),
            3159 | 4163 => unfit("not-admitted", "encrypt the connection with tls=require"),
            1053 => down(
                "not-ready",
                "wait until the server has started, then try again",
            ),
            _ => down("connect-failed", "see the server's log"),
        }
    }

    /// The meaning of an error that came while `doing` something on an open connection.
    ///
    /// Errors: `connection-lost`, `disk-full`, `server-error` (infrastructure), `not-permitted`,
    /// `local-infile-off`, `too-many-statements` (precondition).
    pub(super) fn error(&self, doing: &str, e: Failed) -> HammerError {
        e.at(&self.place, doing, classify)
    }
}

/// Code and remedy of a session's error that settings or rights of the server prevent.
pub(super) fn precondition(e: &SessionError) -> Option<(&'static str, String)> {
    let (code, text) = (e.code.as_ref()?.parse().ok()?, e.text.clone());
    required(classify(&ServerError { code, text }))
}

fn classify(e: &ServerError) -> Meaning {
    match e.code {
        _ if e.is_full() => down("disk-full", "give the database's volume more space"),
        _ if e.ends_session() => down("connection-lost", "see why the server stopped in its log"),
        1044 | 1045 | 1142 | 1143 | 1227 | 1370 | 1419 => unfit(
            "not-permitted",
            "use a user who has all privileges on the database",
        ),
        1148 | 3948 | 4166 => unfit("local-infile-off", "set local_infile = ON in the server"),
        1461 => unfit(
            "too-many-statements",
            "raise max_prepared_stmt_count in the server, or use fewer connections",
        ),
        _ => down("server-error", "see the server's log"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An error of preparing names the setting or the right that it wants; others are nobody's to prevent.
    #[test]
    fn preconditions_of_sessions_are_named() {
        for (code, expected) in [
            (
                1461,
                Some(("too-many-statements", "max_prepared_stmt_count")),
            ),
            (1370, Some(("not-permitted", "all privileges"))),
            (1064, None),
        ] {
            let text = String::new();
            let precondition = precondition(&ServerError { code, text }.into());
            match (&precondition, expected) {
                (Some((code, remedy)), Some((expected, word))) => {
                    assert_eq!(expected, *code);
                    assert!(remedy.contains(word), "{remedy}");
                }
                (precondition, expected) => {
                    assert_eq!(precondition.is_some(), expected.is_some());
                }
            }
        }
        assert_eq!(None, precondition(&SessionError::lost("gone")));
    }
}
