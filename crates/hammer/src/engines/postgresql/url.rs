//! What a connection URL says: libpq's grammar, of which the options that are followed here are read.
//!
//! Others are refused, because one that is left out of account would be believed to work. No message
//! holds a part of a URL that could be one of its password. `tests/real/postgresql/test_urls.py` reads
//! each URL by libpq, too.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use tokio_postgres::config::ChannelBinding;
use tokio_postgres::Config;

use super::tls::Tls;
use super::Target;
use crate::engines::Target as _;
use crate::error::HammerError;

/// A server that does not answer at all is given up after this time, where the URL gives no other.
const PATIENCE: Duration = Duration::from_secs(10);

const REMEDY: &str = "write it as postgresql://me@host:5432/database or \
     postgresql://me@/database?host=/run/pg, and percent-encode all but letters and digits: \
     me:p@ss/w@host is me:p%40ss%2Fw@host";

/// Options that mean here what they mean to libpq.
const OPTIONS: [&str; 11] = [
    "host",
    "hostaddr",
    "port",
    "user",
    "password",
    "dbname",
    "options",
    "connect_timeout",
    "channel_binding",
    "sslmode",
    "sslrootcert",
];

/// Errors: `url-invalid`, `root-certificate-invalid` (usage).
pub(super) fn parse(url: &str) -> Result<Target, HammerError> {
    let given = Given::read(url)?;
    let (user, host) = (given.get("user"), given.get("host"));
    if host.contains(',') || given.get("hostaddr").contains(',') {
        return Err(several());
    }
    if host.is_empty() {
        return Err(invalid(
            "the URL names neither a host nor a socket directory",
        ));
    }
    if user.is_empty() {
        return Err(invalid("the URL names no user"));
    }
    let mut config = Config::new();
    config.host(host).user(user).port(given.port()?);
    config.application_name("stithy-hammer");
    config.channel_binding(given.channel_binding()?);
    let optional = |name| Some(given.get(name)).filter(|value| !value.is_empty());
    config.dbname(optional("dbname").unwrap_or(user));
    if let Some(password) = optional("password") {
        config.password(password);
    }
    if let Some(options) = optional("options") {
        config.options(options);
    }
    if let Some(address) = optional("hostaddr") {
        let address: Result<IpAddr, _> = address.parse();
        config.hostaddr(address.map_err(|_| invalid("the URL's hostaddr is no address"))?);
    }
    let mut target = Target {
        tls: Tls::new(
            given.0.get("sslmode").map(String::as_str),
            optional("sslrootcert"),
        )?,
        patience: given.patience()?,
        config,
        place: String::new(),
    };
    target.place = target.described();
    Ok(target)
}

/// The URL is not what it should be; `problem` holds nothing of it.
pub(super) fn invalid(problem: impl Into<String>) -> HammerError {
    HammerError::usage("url-invalid", problem, "url", REMEDY)
}

/// The parts and options of a URL by libpq's names for them, decoded; the last one of a name counts.
struct Given(HashMap<&'static str, String>);

impl Given {
    fn read(url: &str) -> Result<Self, HammerError> {
        let rest = Target::SCHEMES
            .iter()
            .find_map(|scheme| url.strip_prefix(scheme));
        let rest = rest.ok_or_else(|| invalid("the URL is not one of a PostgreSQL database"))?;
        let mut given = Given(HashMap::new());
        let (login, rest) = match rest.split_once('@') {
            Some((login, rest)) if !login.contains('/') => (login, rest),
            _ => ("", rest),
        };
        let (user, password) = login.split_once(':').unwrap_or((login, ""));
        let (place, options) = rest.split_once('?').unwrap_or((rest, ""));
        if place.contains('@') {
            return Err(invalid("the URL has an @ after the one before the host"));
        }
        let (place, dbname) = place.split_once('/').unwrap_or((place, ""));
        if place.contains(',') {
            return Err(several());
        }
        let (host, port) = match place.strip_prefix('[').map(|inner| inner.split_once(']')) {
            Some(Some((address, port))) if port.is_empty() => (address, port),
            Some(Some((address, port))) if port.starts_with(':') => (address, &port[1..]),
            Some(_) => return Err(unreadable()),
            None => place.split_once(':').unwrap_or((place, "")),
        };
        let parts = [user, password, host, port, dbname];
        for (name, part) in ["user", "password", "host", "port", "dbname"]
            .into_iter()
            .zip(parts)
        {
            if !part.is_empty() {
                given.0.insert(name, decoded(part)?);
            }
        }
        for option in options.split_terminator('&') {
            let (name, value) = option.split_once('=').ok_or_else(unreadable)?;
            let (name, value) = match (decoded(name)?, decoded(value)?) {
                // What libpq reads for the sake of JDBC.
                (name, value) if name == "ssl" && value == "true" => {
                    ("sslmode".into(), "require".into())
                }
                option => option,
            };
            let followed = OPTIONS.into_iter().find(|option| *option == name);
            given.0.insert(followed.ok_or_else(not_followed)?, value);
        }
        Ok(given)
    }

    /// What is said of it; empty where nothing is.
    fn get(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    fn port(&self) -> Result<u16, HammerError> {
        match self.get("port") {
            "" => Ok(5432),
            port => match port.parse() {
                Ok(port @ 1..) => Ok(port),
                _ => Err(invalid("the URL's port is no number from 1 to 65535")),
            },
        }
    }

    fn channel_binding(&self) -> Result<ChannelBinding, HammerError> {
        match self.0.get("channel_binding").map(String::as_str) {
            Some("disable") => Ok(ChannelBinding::Disable),
            None | Some("prefer") => Ok(ChannelBinding::Prefer),
            Some("require") => Ok(ChannelBinding::Require),
            Some(_) => Err(invalid(
                "the URL's channel_binding is none of disable, prefer, require",
            )),
        }
    }

    fn patience(&self) -> Result<Duration, HammerError> {
        let seconds: Result<i32, _> = match self.get("connect_timeout") {
            "" => Ok(0),
            text => text.parse(),
        };
        match seconds {
            Ok(seconds @ 1..) => Ok(Duration::from_secs(seconds.unsigned_abs().into())),
            Ok(_) => Ok(PATIENCE),
            Err(_) => Err(invalid(
                "the URL's connect_timeout is no whole number of seconds",
            )),
        }
    }
}

fn several() -> HammerError {
    invalid("the URL names more than one host; one server is driven at a time")
}

fn unreadable() -> HammerError {
    invalid("the URL cannot be read")
}

fn not_followed() -> HammerError {
    HammerError::usage(
        "url-invalid",
        "the URL has an option that is not followed",
        "url",
        format!("leave it out; followed are {}", OPTIONS.join(", ")),
    )
}

/// A `%` begins two hexadecimal digits, which are not those of a zero; blanks are encoded.
fn decoded(text: &str) -> Result<String, HammerError> {
    let after_percent = text.split('%').skip(1);
    let is_encoded = |code: &str| {
        let digits = code.as_bytes().get(..2);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit) && digits != b"00")
    };
    if !after_percent.clone().all(is_encoded) || text.contains(char::is_whitespace) {
        return Err(unreadable());
    }
    let text = percent_decode_str(text).decode_utf8();
    text.map(std::borrow::Cow::into_owned)
        .map_err(|_| unreadable())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio_postgres::config::Host;

    /// A password may hold whatever a URL can encode, and a question mark as it is.
    #[test]
    fn passwords_are_decoded() {
        for (written, meant) in [("p%40ss%2Fw%3Frd%25", "p@ss/w?rd%"), ("a?b:c", "a?b:c")] {
            let url = parse(&format!("postgresql://u:{written}@h/d"))
                .ok()
                .unwrap();
            assert_eq!(Some(meant.as_bytes()), url.config.get_password());
        }
    }

    /// An address in brackets, a name, a socket's directory, each with or without a port.
    #[test]
    fn hosts_and_ports_are_found() {
        let run = || Host::Unix("/run/Pg".into());
        for (text, host, port) in [
            ("u@[::1]/d", Host::Tcp("::1".into()), 5432),
            ("u@[::1]:5433/d", Host::Tcp("::1".into()), 5433),
            ("u@h:7/d", Host::Tcp("h".into()), 7),
            ("u@/d?host=/run/Pg", run(), 5432),
            ("u@%2Frun%2FPg/d", run(), 5432),
            ("u@:7/d?host=%2Frun%2FPg", run(), 7),
            ("u@h/d?host=/run/Pg&port=7", run(), 7),
        ] {
            let url = parse(&format!("postgresql://{text}")).expect(text);
            assert_eq!(
                ([host].as_slice(), [port].as_slice()),
                (url.config.get_hosts(), url.config.get_ports())
            );
        }
    }

    /// What cannot be followed is named, and nothing of the password is.
    #[test]
    fn what_cannot_be_followed_is_named() {
        for (url, word) in [
            ("u:sesame@a,b/d", "more than one host"),
            ("u:sesame@h/d?sslcert=x", "not followed"),
            ("u:sesame@h/d?sslmode", "cannot be read"),
            ("u:ses%ame@h/d", "cannot be read"),
            ("u:ses ame@h/d", "cannot be read"),
            ("u:ses/ame@h/d", "an @ after"),
            ("u:ses@ame@h/d", "an @ after"),
            ("u:ses/ame?a@h/d", "cannot be read"),
            ("u@h/d?password=ses&ame", "cannot be read"),
            ("u:sesame@h/d?sslmode=sure", "sslmode is none of"),
            (
                "u:sesame@h/d?channel_binding=sure",
                "channel_binding is none of",
            ),
            ("u:sesame@h:99999/d", "port"),
            ("u:sesame@:5433/d", "neither"),
            ("u:sesame@[::1/d", "cannot be read"),
            ("h/d", "no user"),
        ] {
            let error = parse(&format!("postgresql://{url}")).expect_err(url);
            assert_eq!(("url-invalid", 2), (error.code, error.exit()), "{url}");
            assert!(error.problem.contains(word), "{url}: {error}");
            let pieces = ["sesame", "ses ", "ses@", "ses/", "ame@", "ame ", "ame\""];
            assert!(
                !pieces.iter().any(|piece| error.to_string().contains(piece)),
                "{error}"
            );
        }
    }
}
