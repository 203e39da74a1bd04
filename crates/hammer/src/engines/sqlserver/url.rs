//! What a connection URL says.

use super::{Encryption, Target, DIALECT};
use crate::engines::network::{Given, Tls, SYSTEM};
use crate::error::HammerError;

/// Errors: `url-invalid`, `root-certificate-invalid` (usage).
pub(super) fn parse(url: &str) -> Result<Target, HammerError> {
    let given = Given::read(url, &DIALECT)?;
    given.require(&[
        ("host", "no host"),
        ("user", "no user; only SQL logins are followed"),
        ("dbname", "no database"),
    ])?;
    let (host, port, database) = (given.get("host"), given.port()?, given.get("dbname"));
    let encryption = match given.optional("encrypt").unwrap_or("true") {
        "false" => Encryption::OfLogin,
        "true" => Encryption::OfAll,
        "strict" => Encryption::FromTheStart,
        _ => {
            let modes = DIALECT.modes;
            return Err(given.invalid(format!("the URL's encrypt is none of {modes}")));
        }
    };
    Ok(Target {
        tls: read_tls(&given, encryption)?,
        encryption,
        patience: given.patience()?,
        user: given.get("user").into(),
        password: given.password(),
        place: format!("{host} port {port}, database {database}"),
        database: database.into(),
        host: host.into(),
        port,
    })
}

/// Where the login alone is encrypted, a certificate is looked at where one is named to compare it with.
fn read_tls(given: &Given, encryption: Encryption) -> Result<Tls, HammerError> {
    let root = given.optional("ca");
    let trusts_any = match given.optional("trustServerCertificate").unwrap_or("false") {
        "false" => false,
        "true" => true,
        _ => {
            return Err(given.invalid("the URL's trustServerCertificate is none of true, false"));
        }
    };
    if trusts_any && root.is_some() {
        let text = "the URL trusts any certificate, and names one with ca";
        return Err(given.invalid(text));
    }
    let root = match (root, encryption) {
        (None, Encryption::OfLogin) => None,
        _ if trusts_any => None,
        _ => Some(root.unwrap_or(SYSTEM)),
    };
    Tls::trusting(
        &DIALECT,
        root,
        (encryption == Encryption::FromTheStart).then_some(b"tds/8.0"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where a connection goes, and how it is encrypted.
    #[test]
    fn parts_and_options_are_read() {
        for (text, host, port, encryption) in [
            (
                "h/d?trustServerCertificate=true",
                "h",
                1433,
                Encryption::OfAll,
            ),
            ("[::1]:7/d?encrypt=false", "::1", 7, Encryption::OfLogin),
            (
                "h/d?encrypt=strict&trustServerCertificate=true&connect_timeout=3",
                "h",
                1433,
                Encryption::FromTheStart,
            ),
        ] {
            let target = parse(&format!("sqlserver://u:s%40sam%2Fe@{text}")).expect(text);
            assert_eq!((host, port), (&target.host[..], target.port), "{text}");
            assert_eq!(encryption, target.encryption, "{text}");
            assert_eq!("s@sam/e", target.password.as_str());
            assert!(!format!("{target:?}").contains("sam"));
        }
    }

    /// What cannot be followed is named, and nothing of the password is.
    #[test]
    fn what_cannot_be_followed_is_named() {
        for (url, word) in [
            ("u:sesame@h/d?charset=x", "not followed"),
            ("u:sesame@h", "no database"),
            ("h/d", "no user"),
            ("u:sesame@/d", "no host"),
            ("u:sesame@h/d?encrypt=yes", "encrypt is none of"),
            ("u:sesame@h/d?trustServerCertificate=1", "none of true"),
            (
                "u:sesame@h/d?trustServerCertificate=true&ca=f",
                "any certificate",
            ),
            ("u:sesame@h:0/d", "port"),
            ("u:sesame@h/d?password=sesame", "twice"),
        ] {
            let error = parse(&format!("sqlserver://{url}")).expect_err(url);
            assert_eq!(("url-invalid", 2), (error.code, error.exit()), "{url}");
            assert!(error.problem.contains(word), "{url}: {error}");
            assert!(!error.to_string().contains("sesame"), "{error}");
        }
    }
}
