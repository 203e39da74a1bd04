//! What a connection URL says, and which of libpq's options it may hold.

use std::time::Duration;

use percent_encoding::percent_decode_str;
use tokio_postgres::config::Host;
use tokio_postgres::Config;

use super::failure::with_cause;
use super::tls::Tls;
use super::Target;
use crate::client::Target as _;
use crate::error::HammerError;

/// A server that does not answer at all is given up after this time, where the URL gives no other.
const PATIENCE: Duration = Duration::from_secs(10);

const REMEDY: &str = "write it as postgresql://user:password@host:5432/database, \
     or postgresql://user:password@/database?host=/socket/directory";

/// Options that mean here what they mean to libpq. Others are refused: one that is left out of account
/// would be believed to work.
const OPTIONS: [&str; 12] = [
    "host",
    "hostaddr",
    "port",
    "user",
    "password",
    "dbname",
    "options",
    "connect_timeout",
    "channel_binding",
    "application_name",
    "sslmode",
    "sslrootcert",
];

/// Errors: `url-invalid`, `root-certificate-invalid` (usage).
pub(super) fn parse(url: &str) -> Result<Target, HammerError> {
    if !Target::SCHEMES.iter().any(|scheme| url.starts_with(scheme)) {
        return Err(invalid("the URL is not one of a PostgreSQL database"));
    }
    let (place, mut options) = split(url)?;
    refuse_unknown(&options)?;
    let (mode, root) = (
        take(&mut options, "sslmode"),
        take(&mut options, "sslrootcert"),
    );
    let rest: Vec<&str> = options.iter().map(|option| option.text).collect();
    let mut config: Config = format!("{place}?{}", rest.join("&"))
        .parse()
        .map_err(|e: tokio_postgres::Error| invalid(with_cause(&e)))?;
    refuse_incomplete(&config)?;
    config.application_name("stithy-hammer");
    let patience = config.get_connect_timeout().copied();
    let mut target = Target {
        tls: Tls::new(mode.as_deref(), root.as_deref())?,
        patience: patience.filter(|each| !each.is_zero()).unwrap_or(PATIENCE),
        config,
        place: String::new(),
    };
    target.place = target.described();
    Ok(target)
}

/// The URL is not what it should be; `problem` holds no password.
pub(super) fn invalid(problem: impl Into<String>) -> HammerError {
    HammerError::usage("url-invalid", problem, "url", REMEDY)
}

/// One `key=value` of a URL, as it stands there and decoded.
struct UrlOption<'a> {
    text: &'a str,
    key: String,
    value: String,
}

/// What stands before the question mark, and the options after it. A password may hold one, too.
fn split(url: &str) -> Result<(&str, Vec<UrlOption<'_>>), HammerError> {
    let after_password = url.find('@').unwrap_or(0);
    let Some(mark) = url[after_password..].find('?') else {
        return Ok((url, Vec::new()));
    };
    let (place, options) = url.split_at(after_password + mark);
    let texts = options[1..].split('&').filter(|text| !text.is_empty());
    let options: Result<Vec<_>, _> = texts.map(read_option).collect();
    Ok((place, options?))
}

fn read_option(text: &str) -> Result<UrlOption<'_>, HammerError> {
    let Some((key, value)) = text.split_once('=') else {
        return Err(invalid("an option in the URL has no value"));
    };
    let key = decoded(key);
    let value = decoded(value);
    Ok(UrlOption { text, key, value })
}

fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

fn refuse_unknown(options: &[UrlOption<'_>]) -> Result<(), HammerError> {
    let unknown = options
        .iter()
        .find(|option| !OPTIONS.contains(&option.key.as_str()));
    let Some(UrlOption { key, .. }) = unknown else {
        return Ok(());
    };
    Err(HammerError::usage(
        "url-invalid",
        format!("the URL has the option {key:?}, which is not known here"),
        "url",
        format!("leave it out; known are {}", OPTIONS.join(", ")),
    ))
}

/// Takes an option out; the last one of a name counts, as with libpq.
fn take(options: &mut Vec<UrlOption<'_>>, key: &str) -> Option<String> {
    let mut found = None;
    options.retain(|option| {
        let other = option.key != key;
        if !other {
            found = Some(option.value.clone());
        }
        other
    });
    found
}

fn refuse_incomplete(config: &Config) -> Result<(), HammerError> {
    let hosts = config.get_hosts();
    // An empty name beside others is what a port without a host becomes.
    if hosts.len() > 1 && hosts.contains(&Host::Tcp(String::new())) {
        return Err(invalid(
            "the URL has a port where it has no host; a socket's port is written &port=5433",
        ));
    }
    match hosts {
        [] => {
            return Err(invalid(
                "the URL names neither a host nor a socket directory",
            ))
        }
        [Host::Tcp(name)] if name.is_empty() => return Err(invalid("the URL's host is empty")),
        [_] => {}
        _ => {
            return Err(invalid(
                "the URL names more than one host; one server is driven at a time",
            ))
        }
    }
    match config.get_user() {
        None | Some("") => Err(invalid("the URL names no user")),
        Some(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(url: &str) -> String {
        let error = parse(url).expect_err(url);
        assert_eq!(("url-invalid", 2), (error.code, error.exit()), "{url}");
        assert!(!error.to_string().contains("sesame"), "{error}");
        error.problem
    }

    /// A password may hold whatever a URL can encode, and a question mark as it is.
    #[test]
    fn passwords_are_decoded() {
        for (written, meant) in [
            ("p%40ss%2Fw%3Frd%25", "p@ss/w?rd%"),
            ("a?b", "a?b"),
            ("", ""),
        ] {
            let url = parse(&format!("postgresql://u:{written}@h/d"))
                .ok()
                .unwrap();
            assert_eq!(Some(meant.as_bytes()), url.config.get_password());
        }
    }

    /// An IPv6 address stands in brackets, with or without a port.
    #[test]
    fn addresses_of_ipv6_stand_in_brackets() {
        for (text, port) in [("[::1]", 5432), ("[::1]:5433", 5433)] {
            let url = parse(&format!("postgresql://u@{text}/d")).ok().unwrap();
            assert_eq!([Host::Tcp("::1".into())], url.config.get_hosts());
            assert_eq!([port], url.config.get_ports());
        }
    }

    /// A socket directory is an option, or stands encoded where a host does.
    #[test]
    fn socket_directories_are_found() {
        for text in [
            "u@/d?host=/run/Pg",
            "u@%2Frun%2FPg/d",
            "u@/d?host=%2Frun%2FPg&port=7",
        ] {
            let url = parse(&format!("postgresql://{text}")).ok().unwrap();
            assert_eq!([Host::Unix("/run/Pg".into())], url.config.get_hosts());
        }
    }

    /// What cannot be followed is named, and the password is not.
    #[test]
    fn what_cannot_be_followed_is_named() {
        for (rest, word) in [
            ("a,b/d", "more than one host"),
            ("h/d?sslcert=x", "sslcert"),
            ("h/d?target_session_attrs=read-only", "target_session_attrs"),
            ("h/d?sslmode", "no value"),
            ("h/d?sslmode=sure", "sure"),
            ("h/d?channel_binding=sure", "channel_binding"),
            ("h:99999/d", "port"),
            (":5433/d", "host is empty"),
            (":5433/d?host=/run", "port"),
            ("/d", "neither"),
            ("[::1/d", "host"),
        ] {
            let url = format!("postgresql://u:sesame@{rest}");
            assert!(problem(&url).contains(word), "{url}: {}", problem(&url));
        }
        assert!(problem("postgresql://h/d").contains("user"));
        assert!(problem("http://u:sesame@h/d").contains("PostgreSQL"));
    }
}
