//! Whether a connection is encrypted, and whom it believes: with the meanings that libpq's `sslmode` and
//! `sslrootcert` have, whatever an engine's URLs call them.
//!
//! Not known here: certificates of clients, lists of revoked certificates, `sslnegotiation=direct`, and
//! root certificates that no URL names (libpq also reads `~/.postgresql/root.crt`).
//! Source: PostgreSQL documentation, "SSL Support" of libpq.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::version::TLS12;
use rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion, ALL_VERSIONS};
use tokio_rustls::client::TlsStream;
use tokio_rustls::TlsConnector;

use super::certificate;
use super::failure::Unreached;
use super::open::Duplex;
use super::trust::{Mistrust, Roots, Trust, Verifier};
use super::{invalid, Dialect};
use crate::error::HammerError;

/// Where systems keep the certificates that they believe: Debian, Fedora, openSUSE, Alpine.
const SYSTEM_ROOTS: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// What stands for the roots of this machine.
pub(in crate::engines) const SYSTEM: &str = "system";

/// One attempt to get a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engines) enum Way {
    /// Not encrypted.
    Plain,
    /// Encrypted if the server can.
    Offered,
    /// Encrypted or not at all.
    Demanded,
}

/// How connections to a server are encrypted.
#[derive(Debug, Clone)]
pub(in crate::engines) struct Tls {
    /// What is tried, in this order.
    pub(in crate::engines) ways: &'static [Way],
    client: Arc<ClientConfig>,
}

impl Tls {
    /// `mode` None is `prefer`; `root` is a file of certificates, or `system`.
    ///
    /// Errors: `url-invalid`, `root-certificate-invalid` (usage).
    pub(in crate::engines) fn new(
        dialect: &Dialect,
        mode: Option<&str>,
        root: Option<&str>,
    ) -> Result<Self, HammerError> {
        let mode = mode.unwrap_or(match root {
            Some(SYSTEM) => "verify-full",
            _ => "prefer",
        });
        let ways = ways(dialect, mode)?;
        refuse_contradiction(dialect, mode, root)?;
        let roots = match root {
            Some(file) if ways == [Way::Demanded] => Some(read_roots(dialect, file)?),
            // libpq looks at no certificate either where a connection may go unencrypted.
            _ => None,
        };
        let trust = match roots {
            Some(roots) if mode == "verify-full" => Trust::Named(roots),
            Some(roots) => Trust::Signed(roots),
            None => Trust::Anyone,
        };
        let client = Arc::new(client(trust, ALL_VERSIONS)?);
        Ok(Tls { ways, client })
    }

    /// For an engine with words of its own: whom a connection believes is whoever has a certificate for the
    /// host's name that a root in a file signed, or without `root` anyone. `inside` is the protocol that is
    /// announced; without one the handshake stands within another protocol, and is that of TLS 1.2, behind
    /// which nothing follows.
    ///
    /// Errors: `root-certificate-invalid` (usage).
    pub(in crate::engines) fn trusting(
        dialect: &Dialect,
        root: Option<&str>,
        inside: Option<&[u8]>,
    ) -> Result<Self, HammerError> {
        let trust = match root {
            Some(file) => Trust::Named(read_roots(dialect, file)?),
            None => Trust::Anyone,
        };
        let versions = match inside {
            Some(_) => ALL_VERSIONS,
            None => &[&TLS12],
        };
        let mut client = client(trust, versions)?;
        client.alpn_protocols.extend(inside.map(<[u8]>::to_vec));
        Ok(Tls {
            ways: &[Way::Demanded],
            client: Arc::new(client),
        })
    }

    /// Encrypts a connection to the server that the URL calls `host`; gives also what binds a password
    /// to it.
    pub(in crate::engines) async fn encrypt<S: Duplex>(
        &self,
        stream: S,
        host: &str,
    ) -> Result<(TlsStream<S>, Option<Vec<u8>>), Unreached> {
        let name = ServerName::try_from(host.to_string())
            .map_err(|e| Unreached::Handshake(io::Error::other(e)))?;
        let connector = TlsConnector::from(self.client.clone());
        let stream = connector.connect(name, stream).await.map_err(not_agreed)?;
        let shown = stream.get_ref().1.peer_certificates().unwrap_or_default();
        let binding = shown
            .first()
            .and_then(|first| certificate::end_point(first));
        Ok((stream, binding))
    }
}

fn ways(dialect: &Dialect, mode: &str) -> Result<&'static [Way], HammerError> {
    let Dialect {
        mode: name, modes, ..
    } = dialect;
    let unknown = || invalid(dialect, format!("the URL's {name} is none of {modes}"));
    Ok(match mode {
        _ if !modes.split(", ").any(|possible| possible == mode) => return Err(unknown()),
        "disable" => &[Way::Plain],
        "allow" => &[Way::Plain, Way::Offered],
        "prefer" => &[Way::Offered, Way::Plain],
        "require" | "verify-ca" | "verify-full" => &[Way::Demanded],
        _ => return Err(unknown()),
    })
}

fn refuse_contradiction(
    dialect: &Dialect,
    mode: &str,
    root: Option<&str>,
) -> Result<(), HammerError> {
    let (name, file) = (dialect.mode, dialect.root);
    let (problem, remedy) = match root {
        None if mode.starts_with("verify-") => (
            format!("{name} is {mode}, and there is no certificate to verify with"),
            format!(
                "name a file of root certificates with {file}=, or those of this machine with \
                 {file}=system"
            ),
        ),
        Some(SYSTEM) if mode != "verify-full" => (
            format!("{name} is {mode}, which is too weak for {file}=system"),
            format!("give {name}=verify-full"),
        ),
        _ => return Ok(()),
    };
    Err(HammerError::usage("url-invalid", problem, "url", remedy))
}

fn read_roots(dialect: &Dialect, file: &str) -> Result<Roots, HammerError> {
    let path = match file {
        SYSTEM => SYSTEM_ROOTS
            .iter()
            .map(Path::new)
            .find(|path| path.exists()),
        _ => Some(Path::new(file)),
    };
    let path = path.map_or_else(|| PathBuf::from(SYSTEM_ROOTS[0]), Path::to_path_buf);
    let unreadable = |problem: String| {
        let place = path.display().to_string();
        let remedy = format!(
            "name a file of certificates in PEM format with {}=",
            dialect.root
        );
        HammerError::usage("root-certificate-invalid", problem, place, remedy)
    };
    let text = std::fs::read(&path)
        .map_err(|e| unreadable(format!("the root certificates cannot be read: {e}")))?;
    let certificates: Result<Vec<CertificateDer<'static>>, _> =
        CertificateDer::pem_slice_iter(&text).collect();
    let certificates =
        certificates.map_err(|e| unreadable(format!("it holds what is no certificate: {e}")))?;
    let mut store = RootCertStore::empty();
    if store.add_parsable_certificates(certificates.clone()).0 == 0 {
        return Err(unreadable(
            "it holds no certificate that can be used".into(),
        ));
    }
    let place = path.display().to_string();
    Ok(Roots {
        store,
        certificates,
        place,
    })
}

fn client(
    trust: Trust,
    versions: &[&'static SupportedProtocolVersion],
) -> Result<ClientConfig, HammerError> {
    let provider = Arc::new(ring::default_provider());
    let verifier = Verifier::new(trust, provider.signature_verification_algorithms);
    let builder = ClientConfig::builder_with_provider(provider).with_protocol_versions(versions);
    let builder =
        builder.map_err(|e| HammerError::bug(e.to_string(), "setting up TLS").caused_by(e))?;
    Ok(builder
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth())
}

/// What a failed handshake means.
fn not_agreed(e: io::Error) -> Unreached {
    let inner = e.get_ref().and_then(|inner| inner.downcast_ref());
    match inner.and_then(Mistrust::of) {
        Some(mistrust) => Unreached::Mistrusted(mistrust),
        None => Unreached::Handshake(e),
    }
}
