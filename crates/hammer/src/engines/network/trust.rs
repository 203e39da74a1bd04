//! Whether a server's certificate proves what was asked of it.

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{
    verify_tls12_signature, verify_tls13_signature_with_raw_key, WebPkiSupportedAlgorithms,
};
use rustls::pki_types::{CertificateDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, DigitallySignedStruct, Error, OtherError, RootCertStore, SignatureScheme,
};

use super::{certificate, Dialect};

/// Certificates that are believed, and where they were read.
#[derive(Debug)]
pub(super) struct Roots {
    pub(super) store: RootCertStore,
    pub(super) certificates: Vec<CertificateDer<'static>>,
    pub(super) place: String,
}

/// Whom a connection believes.
#[derive(Debug)]
pub(super) enum Trust {
    /// Whoever answers.
    Anyone,
    /// Whoever has a certificate that a root signed.
    Signed(Roots),
    /// Whoever has such a certificate for the host's name.
    Named(Roots),
}

/// Judges certificates by a [`Trust`].
#[derive(Debug)]
pub(super) struct Verifier {
    trust: Trust,
    algorithms: WebPkiSupportedAlgorithms,
}

impl Verifier {
    pub(super) fn new(trust: Trust, algorithms: WebPkiSupportedAlgorithms) -> Self {
        Verifier { trust, algorithms }
    }

    fn verify_signed(
        &self,
        roots: &Roots,
        shown: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<(), Error> {
        let all = self.algorithms.all;
        let verified = ParsedCertificate::try_from(shown).and_then(|parsed| {
            verify_server_cert_signed_by_trust_anchor(&parsed, &roots.store, between, now, all)
        });
        match verified {
            Err(e) if is_authority(&e) && roots.certificates.iter().any(|root| root == shown) => {
                Ok(())
            }
            Err(e) => Err(Mistrust::because(&e, roots).into()),
            Ok(()) => Ok(()),
        }
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match &self.trust {
            Trust::Anyone => {}
            Trust::Signed(roots) => self.verify_signed(roots, end_entity, intermediates, now)?,
            Trust::Named(roots) => {
                self.verify_signed(roots, end_entity, intermediates, now)?;
                verify_name(end_entity, server_name).map_err(Mistrust::OtherName)?;
            }
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, dss, &self.algorithms)
    }

    /// With the key alone, because webpki reads no certificate of version 1, which many servers have
    /// that let anyone in.
    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let key = certificate::public_key(cert).ok_or(CertificateError::BadEncoding)?;
        let key = SubjectPublicKeyInfoDer::from(key);
        verify_tls13_signature_with_raw_key(message, &key, dss, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// A certificate without alternative names is for its subject's common name, as libpq has it. The error
/// holds the names that it is for.
fn verify_name(shown: &CertificateDer<'_>, name: &ServerName<'_>) -> Result<(), String> {
    let parsed = ParsedCertificate::try_from(shown).map_err(|e| e.to_string())?;
    let presented = match verify_server_name(&parsed, name) {
        Err(Error::InvalidCertificate(CertificateError::NotValidForNameContext {
            presented,
            ..
        })) => presented,
        verified => return verified.map_err(|e| e.to_string()),
    };
    match certificate::common_name(shown).filter(|_| presented.is_empty()) {
        Some(common) if common.eq_ignore_ascii_case(&name.to_str()) => Ok(()),
        Some(common) => Err(common),
        None => Err(presented
            .iter()
            .map(|name| bare(name))
            .collect::<Vec<_>>()
            .join(", ")),
    }
}

/// The name in `DnsName("db.test")` or `IpAddress(127.0.0.1)`, which is how rustls tells names.
fn bare(name: &str) -> &str {
    let inner = name.split_once('(').map_or(name, |(_, inner)| inner);
    inner.trim_end_matches(')').trim_matches('"')
}

/// A self-made certificate mostly says of itself that it may sign others. webpki wants no such
/// certificate from a server, and looks at nothing else after that; here it is one that the user named.
fn is_authority(e: &Error) -> bool {
    let Error::InvalidCertificate(CertificateError::Other(OtherError(inner))) = e else {
        return false;
    };
    inner.downcast_ref() == Some(&webpki::Error::CaUsedAsEndEntity)
}

/// Why a server's certificate is not believed.
#[derive(Debug, Clone, thiserror::Error)]
pub(in crate::engines) enum Mistrust {
    /// No root signed it; where they were read.
    #[error("the server's certificate is signed by none of those in {0}")]
    Unsigned(String),
    /// Its time is over.
    #[error("the server's certificate has expired")]
    Expired,
    /// Its time is to come.
    #[error("the server's certificate is not valid yet")]
    NotYet,
    /// It is for other hosts.
    #[error("the server's certificate is for {0}, not for the host in the URL")]
    OtherName(String),
    /// It cannot be judged.
    #[error("the server's certificate cannot be verified: {0}")]
    Unusable(String),
}

impl Mistrust {
    fn because(e: &Error, roots: &Roots) -> Self {
        use CertificateError::{
            BadSignature, Expired, ExpiredContext, NotValidYet, NotValidYetContext, UnknownIssuer,
        };
        let Error::InvalidCertificate(inner) = e else {
            return Mistrust::Unusable(e.to_string());
        };
        match inner {
            _ if is_authority(e) => Mistrust::Unsigned(roots.place.clone()),
            UnknownIssuer | BadSignature => Mistrust::Unsigned(roots.place.clone()),
            Expired | ExpiredContext { .. } => Mistrust::Expired,
            NotValidYet | NotValidYetContext { .. } => Mistrust::NotYet,
            _ => Mistrust::Unusable(e.to_string()),
        }
    }

    /// What [`Verifier`] said, where it was that which ended a handshake.
    pub(super) fn of(e: &Error) -> Option<Self> {
        match e {
            Error::InvalidCertificate(CertificateError::Other(OtherError(inner))) => {
                inner.downcast_ref::<Mistrust>().cloned()
            }
            _ => None,
        }
    }

    /// The word for programs.
    pub(super) fn code(&self) -> &'static str {
        match self {
            Mistrust::OtherName(_) => "certificate-other-host",
            _ => "certificate-not-trusted",
        }
    }

    /// How to fix it.
    pub(super) fn remedy(&self, dialect: &Dialect) -> String {
        let or = dialect.trust_any;
        let or = or.map_or(String::new(), |option| {
            format!(", or trust any with {option}")
        });
        match self {
            Mistrust::Unsigned(_) => format!(
                "name the certificate of its issuer with {}={or}",
                dialect.root
            ),
            Mistrust::Expired => "give the server a new certificate".into(),
            Mistrust::NotYet => "set the clocks of both machines".into(),
            Mistrust::OtherName(_) => match dialect.trust_any {
                Some(_) => format!("use the certificate's name as host in the URL{or}"),
                None => format!(
                    "use the certificate's name as host in the URL, or ask for less with \
                     {}=verify-ca",
                    dialect.mode
                ),
            },
            Mistrust::Unusable(_) => {
                "give the server a certificate of version 3 with subjectAltName".into()
            }
        }
    }
}

impl From<Mistrust> for Error {
    fn from(mistrust: Mistrust) -> Self {
        CertificateError::Other(OtherError(std::sync::Arc::new(mistrust))).into()
    }
}
