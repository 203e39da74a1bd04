//! What a connection URL says.

use std::path::PathBuf;

use super::{Host, Target, DIALECT};
use crate::engines::network::{Given, Tls};
use crate::error::HammerError;

/// Errors: `url-invalid`, `root-certificate-invalid` (usage).
pub(super) fn parse(url: &str) -> Result<Target, HammerError> {
    let given = Given::read(url, &DIALECT)?;
    let port = given.port()?;
    let host = read_host(&given)?;
    given.require(&[("user", "no user"), ("dbname", "no database")])?;
    let place = match &host {
        Host::Socket(path) => path.display().to_string(),
        Host::Tcp(name) => format!("{name} port {port}"),
    };
    let database = given.get("dbname").to_string();
    Ok(Target {
        tls: Tls::new(&DIALECT, given.named("tls"), given.optional("ca"))?,
        patience: given.patience()?,
        user: given.get("user").into(),
        password: given.password(),
        place: format!("{place}, database {database}"),
        database,
        host,
        port,
    })
}

fn read_host(given: &Given) -> Result<Host, HammerError> {
    match (given.optional("socket"), given.get("host")) {
        (Some(_), "" | "localhost") if given.get("tls").starts_with("verify") => {
            Err(given.invalid("the URL names a socket, which has no certificate to verify"))
        }
        (Some(socket), "" | "localhost") if socket.starts_with('/') => {
            Ok(Host::Socket(PathBuf::from(socket)))
        }
        (Some(_), "" | "localhost") => Err(given.invalid("the URL's socket is no absolute path")),
        (Some(_), _) => Err(given.invalid("the URL names both a host and a socket")),
        (None, "") => Err(given.invalid("the URL names neither a host nor a socket")),
        (None, host) => Ok(Host::Tcp(host.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where a connection goes, by host, by address and by socket.
    #[test]
    fn hosts_ports_and_sockets_are_read() {
        let tcp = |name: &str| Host::Tcp(name.into());
        for (text, host, port, place) in [
            ("u:p@h/d", tcp("h"), 3306, "h port 3306, database d"),
            ("u@[::1]:7/d", tcp("::1"), 7, "::1 port 7, database d"),
            (
                "u@/d?socket=/run/my.sock",
                Host::Socket("/run/my.sock".into()),
                3306,
                "/run/my.sock, database d",
            ),
            (
                "u@localhost/d?socket=%2Frun%2Fmy.sock",
                Host::Socket("/run/my.sock".into()),
                3306,
                "/run/my.sock, database d",
            ),
        ] {
            for scheme in DIALECT.schemes {
                let target = parse(&format!("{scheme}{text}")).expect(text);
                assert_eq!((&host, port), (&target.host, target.port), "{text}");
                assert_eq!(place, target.place);
            }
        }
    }

    /// A password is decoded, and no one sees it.
    #[test]
    fn passwords_are_decoded_and_never_shown() {
        let target = parse("mariadb://u:s%40sam%2Fe@h/d").unwrap();
        assert_eq!("s@sam/e", target.password.as_str());
        assert!(!format!("{target:?}").contains("sam"));
    }

    /// What cannot be followed is named, and nothing of the password is.
    #[test]
    fn what_cannot_be_followed_is_named() {
        for (url, word) in [
            ("u:sesame@h/d?charset=x", "not followed"),
            ("u:sesame@h", "no database"),
            ("h/d", "no user"),
            ("u:sesame@/d", "neither"),
            ("u:sesame@h/d?socket=/s", "both"),
            ("u:sesame@/d?socket=s", "no absolute path"),
            ("u:sesame@h/d?tls=allow", "tls is none of"),
            ("u:sesame@h/d?tls=verify-ca", "no certificate"),
            ("u:sesame@h/d?tls=require&ca=system", "too weak"),
            ("u:sesame@h:0/d", "port"),
            ("u:sesame@h/d?password=sesame", "twice"),
        ] {
            let error = parse(&format!("mysql://{url}")).expect_err(url);
            assert_eq!(("url-invalid", 2), (error.code, error.exit()), "{url}");
            assert!(error.problem.contains(word), "{url}: {error}");
            assert!(!error.to_string().contains("sesame"), "{error}");
        }
    }
}
