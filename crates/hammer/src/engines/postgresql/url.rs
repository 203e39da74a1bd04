//! What a connection URL says: of libpq's options those that are followed here.
//!
//! `tests/real/postgresql/test_urls.py` reads each URL by libpq, too.

use std::net::IpAddr;

use tokio_postgres::config::ChannelBinding;
use tokio_postgres::Config;

use super::{Target, DIALECT};
use crate::engines::network::{Given, Tls};
use crate::error::HammerError;

/// Errors: `url-invalid`, `root-certificate-invalid` (usage).
pub(super) fn parse(url: &str) -> Result<Target, HammerError> {
    let given = Given::read(url, &DIALECT)?;
    let (user, host) = (given.get("user"), given.get("host"));
    if host.contains(',') || given.get("hostaddr").contains(',') {
        return Err(given.several());
    }
    given.require(&[
        ("host", "neither a host nor a socket directory"),
        ("user", "no user"),
    ])?;
    let mut config = Config::new();
    config.host(host).user(user).port(given.port()?);
    config.application_name("stithy-hammer");
    config.channel_binding(channel_binding(&given)?);
    config.dbname(given.optional("dbname").unwrap_or(user));
    if let Some(password) = given.optional("password") {
        config.password(password);
    }
    if let Some(options) = given.optional("options") {
        config.options(options);
    }
    if let Some(address) = given.optional("hostaddr") {
        let address: Result<IpAddr, _> = address.parse();
        let address = address.map_err(|_| given.invalid("the URL's hostaddr is no address"))?;
        config.hostaddr(address);
    }
    let mut target = Target {
        tls: Tls::new(
            &DIALECT,
            given.named("sslmode"),
            given.optional("sslrootcert"),
        )?,
        patience: given.patience()?,
        config,
        place: String::new(),
    };
    target.place = target.described();
    Ok(target)
}

fn channel_binding(given: &Given) -> Result<ChannelBinding, HammerError> {
    match given.named("channel_binding") {
        Some("disable") => Ok(ChannelBinding::Disable),
        None | Some("prefer") => Ok(ChannelBinding::Prefer),
        Some("require") => Ok(ChannelBinding::Require),
        Some(_) => {
            Err(given.invalid("the URL's channel_binding is none of disable, prefer, require"))
        }
    }
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
