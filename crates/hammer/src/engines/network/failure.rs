//! Why no byte stream leads to a server, or a request has no answer, in words that every engine shares.

use std::time::Duration;
use std::{fmt, io};

use super::trust::Mistrust;
use super::Dialect;
use crate::error::{ErrorClass, HammerError};

/// Why there is no byte stream, or it ended before there was a session.
#[derive(Debug, thiserror::Error)]
pub(in crate::engines) enum Unreached {
    /// The name of the host has no address.
    #[error("the host's name has no address ({0})")]
    NoAddress(io::Error),
    /// Nobody answered the call.
    #[error("{}", describe_call(.0))]
    NotConnected(io::Error),
    /// The call itself was not answered in time.
    #[error("no answer within {} s", .0.as_secs_f64())]
    TooLate(Duration),
    /// The call was taken, and then nothing was said.
    #[error("the connection was accepted, and then nothing was answered for {} s", .0.as_secs_f64())]
    Silent(Duration),
    /// The connection ended before there was a session.
    #[error("the connection ended before the session began ({0})")]
    Ended(String),
    /// The server's certificate does not prove what was asked for.
    #[error("{0}")]
    Mistrusted(Mistrust),
    /// Both ends could not agree on how to encrypt.
    #[error("the TLS handshake failed: {0}")]
    Handshake(io::Error),
}

/// Class, code and remedy of an error.
pub(in crate::engines) type Meaning = (ErrorClass, &'static str, String);

/// Nobody can prevent it.
pub(in crate::engines) fn down(code: &'static str, remedy: impl Into<String>) -> Meaning {
    (ErrorClass::Infrastructure, code, remedy.into())
}

/// Server or URL must change.
pub(in crate::engines) fn unfit(code: &'static str, remedy: impl Into<String>) -> Meaning {
    (ErrorClass::Precondition, code, remedy.into())
}

/// Code and remedy of what server or URL must change for.
pub(in crate::engines) fn required(meaning: Meaning) -> Option<(&'static str, String)> {
    match meaning {
        (ErrorClass::Precondition, code, remedy) => Some((code, remedy)),
        _ => None,
    }
}

/// What came is nothing of the protocol; nothing after it can be trusted.
pub(in crate::engines) fn not_understood() -> io::Error {
    let text = "the server's answer could not be understood";
    io::Error::new(io::ErrorKind::InvalidData, text)
}

/// Why a request has no answer; `E` is an error of the server.
#[derive(Debug, thiserror::Error)]
pub(in crate::engines) enum Failed<E> {
    /// The server refused it.
    #[error("{0}")]
    Refused(E),
    /// The connection is gone.
    #[error("{0}")]
    Gone(#[from] io::Error),
}

impl<E: fmt::Debug + fmt::Display + Send + Sync + 'static> Failed<E> {
    /// What it means that this came while `doing` something on an open connection to a place; `classify` tells
    /// it of the server's own errors.
    pub(in crate::engines) fn at(
        self,
        place: &str,
        doing: &str,
        classify: impl FnOnce(&E) -> Meaning,
    ) -> HammerError {
        let (class, code, remedy) = match &self {
            Failed::Refused(e) => classify(e),
            Failed::Gone(_) => down("connection-lost", "see the server's log for why it stopped"),
        };
        let place = format!("{place}, while {doing}");
        HammerError::new(class, code, self.to_string(), place, remedy).caused_by(self)
    }
}

impl Unreached {
    /// The server ended it.
    pub(in crate::engines) fn closed() -> Self {
        Unreached::Ended("the server closed it".into())
    }

    /// What it means to whoever wrote the URL.
    pub(in crate::engines) fn meaning(&self, dialect: &Dialect) -> Meaning {
        let product = dialect.product;
        match self {
            Unreached::NoAddress(_) => down(
                "host-unknown",
                "correct the host in the URL, or make its name known to this machine",
            ),
            Unreached::NotConnected(e) => match e.kind() {
                io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound => down(
                    "connect-refused",
                    "start the server, or correct host and port in the URL",
                ),
                io::ErrorKind::PermissionDenied => down(
                    "connect-failed",
                    "run as a user who may, or open the socket's directory",
                ),
                _ => down("connect-failed", "check host, port and the network"),
            },
            Unreached::TooLate(_) => down("connect-timeout", "check host, port and firewall"),
            Unreached::Silent(_) => down(
                "connect-timeout",
                format!(
                    "make sure that a {product} server listens there; if one does, see its log"
                ),
            ),
            Unreached::Ended(_) => down(
                "connect-failed",
                "check host and port, and see the server's log",
            ),
            Unreached::Mistrusted(mistrust) => unfit(mistrust.code(), mistrust.remedy(dialect)),
            Unreached::Handshake(_) => down(
                "tls-failed",
                format!("see the server's log, and its {}", dialect.ciphers),
            ),
        }
    }
}

/// A call that nobody took.
fn describe_call(e: &io::Error) -> String {
    match e.kind() {
        io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound => {
            "no server listens there".into()
        }
        io::ErrorKind::PermissionDenied => "the socket may not be opened by this user".into(),
        _ => format!("the server cannot be reached: {e}"),
    }
}

impl From<io::Error> for Unreached {
    fn from(e: io::Error) -> Self {
        match e.kind() {
            io::ErrorKind::UnexpectedEof => Unreached::closed(),
            _ => Unreached::Ended(e.to_string()),
        }
    }
}
