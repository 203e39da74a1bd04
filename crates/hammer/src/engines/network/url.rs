//! What a connection URL says, in the grammar of libpq's: `scheme://user:password@host:port/database?options`.
//!
//! An option that is not followed is refused, because one that is left out of account would be believed to
//! work. No message holds a part of a URL that could be one of its password.

use std::collections::HashMap;
use std::fmt;
use std::time::Duration;

use percent_encoding::percent_decode_str;

use super::Dialect;
use crate::error::HammerError;

/// A server that does not answer at all is given up after this time, where the URL gives no other.
const PATIENCE: Duration = Duration::from_secs(10);

/// The parts of a URL before its options, by libpq's names for them.
const PARTS: [&str; 5] = ["user", "password", "host", "port", "dbname"];

/// The URL is not what it should be; `problem` holds nothing of it.
pub(in crate::engines) fn invalid(dialect: &Dialect, problem: impl Into<String>) -> HammerError {
    HammerError::usage("url-invalid", problem, "url", dialect.remedy)
}

/// A password, which is not shown.
#[derive(Clone)]
pub(in crate::engines) struct Password(String);

impl Password {
    pub(in crate::engines) fn as_str(&self) -> &str {
        &self.0
    }

    pub(in crate::engines) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

/// The parts and options of a URL, decoded; the last one of a name counts where libpq reads URLs, too.
pub(in crate::engines) struct Given {
    dialect: &'static Dialect,
    values: HashMap<&'static str, String>,
}

impl Given {
    /// Errors: `url-invalid` (usage).
    pub(in crate::engines) fn read(
        url: &str,
        dialect: &'static Dialect,
    ) -> Result<Self, HammerError> {
        let mut schemes = dialect.schemes.iter();
        let rest = schemes.find_map(|scheme| url.strip_prefix(scheme));
        let rest = rest.ok_or_else(|| {
            let product = dialect.product;
            invalid(
                dialect,
                format!("the URL is not one of a {product} database"),
            )
        })?;
        let mut given = Given {
            dialect,
            values: HashMap::new(),
        };
        let (place, options) = given.take_login(rest)?;
        given.take_place(place)?;
        for option in options.split_terminator('&') {
            given.take_option(option)?;
        }
        Ok(given)
    }

    /// Gives what is behind the login: the place, and the options.
    fn take_login<'a>(&mut self, rest: &'a str) -> Result<(&'a str, &'a str), HammerError> {
        let (login, rest) = match rest.split_once('@') {
            Some((login, rest)) if !login.contains('/') => (login, rest),
            _ => ("", rest),
        };
        let (user, password) = login.split_once(':').unwrap_or((login, ""));
        let (place, options) = rest.split_once('?').unwrap_or((rest, ""));
        if place.contains('@') {
            return Err(self.invalid("the URL has an @ after the one before the host"));
        }
        self.insert_parts(&PARTS[..2], [user, password])?;
        Ok((place, options))
    }

    fn take_place(&mut self, place: &str) -> Result<(), HammerError> {
        let (place, dbname) = place.split_once('/').unwrap_or((place, ""));
        if place.contains(',') {
            return Err(self.several());
        }
        let (host, port) = match place.strip_prefix('[').map(|inner| inner.split_once(']')) {
            Some(Some((address, port))) if port.is_empty() => (address, port),
            Some(Some((address, port))) if port.starts_with(':') => (address, &port[1..]),
            Some(_) => return Err(self.unreadable()),
            None => place.split_once(':').unwrap_or((place, "")),
        };
        self.insert_parts(&PARTS[2..], [host, port, dbname])
    }

    fn insert_parts<const N: usize>(
        &mut self,
        names: &[&'static str],
        parts: [&str; N],
    ) -> Result<(), HammerError> {
        for (name, part) in names.iter().zip(parts) {
            if !part.is_empty() {
                let value = self.decode(part)?;
                self.values.insert(name, value);
            }
        }
        Ok(())
    }

    fn take_option(&mut self, option: &str) -> Result<(), HammerError> {
        let (name, value) = option.split_once('=').ok_or_else(|| self.unreadable())?;
        let (name, value) = match (self.decode(name)?, self.decode(value)?) {
            // What libpq reads for the sake of JDBC.
            (name, value) if self.dialect.is_of_libpq && name == "ssl" && value == "true" => {
                (self.dialect.mode.into(), "require".into())
            }
            option => option,
        };
        let mut options = self.dialect.options.iter();
        let followed = options.find(|option| **option == name);
        let followed = followed.ok_or_else(|| self.not_followed())?;
        match self.values.insert(followed, value) {
            Some(_) if !self.dialect.is_of_libpq => {
                Err(self.invalid("the URL has an option, or its password, twice"))
            }
            _ => Ok(()),
        }
    }

    /// What is said of it; empty where nothing is.
    pub(in crate::engines) fn get(&self, name: &str) -> &str {
        self.named(name).unwrap_or_default()
    }

    /// What is said of it; None where nothing or an empty text is.
    pub(in crate::engines) fn optional(&self, name: &str) -> Option<&str> {
        self.named(name).filter(|value| !value.is_empty())
    }

    /// What is said of it, also where that is empty.
    pub(in crate::engines) fn named(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    /// The password; an empty one where none is given.
    pub(in crate::engines) fn password(&self) -> Password {
        Password(self.get("password").into())
    }

    /// Refuses a URL without one of the parts, each of which has words for its absence.
    ///
    /// Errors: `url-invalid` (usage).
    pub(in crate::engines) fn require(&self, parts: &[(&str, &str)]) -> Result<(), HammerError> {
        match parts.iter().find(|(name, _)| self.get(name).is_empty()) {
            Some((_, words)) => Err(self.invalid(format!("the URL names {words}"))),
            None => Ok(()),
        }
    }

    /// Errors: `url-invalid` (usage).
    pub(in crate::engines) fn port(&self) -> Result<u16, HammerError> {
        match self.get("port") {
            "" => Ok(self.dialect.port),
            port => match port.parse() {
                Ok(port @ 1..) => Ok(port),
                _ => Err(self.invalid("the URL's port is no number from 1 to 65535")),
            },
        }
    }

    /// How long an answer is waited for. Errors: `url-invalid` (usage).
    pub(in crate::engines) fn patience(&self) -> Result<Duration, HammerError> {
        let seconds: Result<i32, _> = match self.get("connect_timeout") {
            "" => Ok(0),
            text => text.parse(),
        };
        match seconds {
            Ok(seconds @ 1..) => Ok(Duration::from_secs(seconds.unsigned_abs().into())),
            Ok(_) => Ok(PATIENCE),
            Err(_) => Err(self.invalid("the URL's connect_timeout is no whole number of seconds")),
        }
    }

    /// The URL is not what it should be; `problem` holds nothing of it.
    pub(in crate::engines) fn invalid(&self, problem: impl Into<String>) -> HammerError {
        invalid(self.dialect, problem)
    }

    /// More than one server.
    pub(in crate::engines) fn several(&self) -> HammerError {
        self.invalid("the URL names more than one host; one server is driven at a time")
    }

    fn unreadable(&self) -> HammerError {
        self.invalid("the URL cannot be read")
    }

    fn not_followed(&self) -> HammerError {
        HammerError::usage(
            "url-invalid",
            "the URL has an option that is not followed",
            "url",
            format!(
                "leave it out; followed are {}",
                self.dialect.options.join(", ")
            ),
        )
    }

    /// A `%` begins two hexadecimal digits, which are not those of a zero; blanks are encoded.
    fn decode(&self, text: &str) -> Result<String, HammerError> {
        let after_percent = text.split('%').skip(1);
        let is_encoded = |code: &str| {
            let digits = code.as_bytes().get(..2);
            digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit) && digits != b"00")
        };
        if !after_percent.clone().all(is_encoded) || text.contains(char::is_whitespace) {
            return Err(self.unreadable());
        }
        let text = percent_decode_str(text).decode_utf8();
        text.map(std::borrow::Cow::into_owned)
            .map_err(|_| self.unreadable())
    }
}
