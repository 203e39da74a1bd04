//! The few parts of an X.509 certificate that neither rustls nor webpki tells.
//!
//! Nothing is verified here. Whatever is not as expected is None.

use ring::digest::{digest, Algorithm, SHA256, SHA384, SHA512};
use x509_cert::certificate::{CertificateInner, Raw};
use x509_cert::der::oid::db::rfc4519::COMMON_NAME;
use x509_cert::der::oid::db::rfc5912::{
    ECDSA_WITH_SHA_256, ECDSA_WITH_SHA_384, ECDSA_WITH_SHA_512, MD_5_WITH_RSA_ENCRYPTION,
    SHA_1_WITH_RSA_ENCRYPTION, SHA_256_WITH_RSA_ENCRYPTION, SHA_384_WITH_RSA_ENCRYPTION,
    SHA_512_WITH_RSA_ENCRYPTION,
};
use x509_cert::der::oid::ObjectIdentifier;
use x509_cert::der::{Decode, Encode};

/// The only one of these that the crate's list of names lacks.
const ECDSA_WITH_SHA_1: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.4.1");

/// The hash of a certificate that binds a password to the connection on which it was shown; None for
/// signatures that have no such hash.
///
/// Source: RFC 5929 section 4.1: the hash of the signature, and SHA-256 instead of MD5 and SHA-1.
pub(super) fn end_point(certificate: &[u8]) -> Option<Vec<u8>> {
    let algorithm = signature_hash(read(certificate)?.signature_algorithm.oid)?;
    Some(digest(algorithm, certificate).as_ref().to_vec())
}

/// The subject's common name.
pub(super) fn common_name(certificate: &[u8]) -> Option<String> {
    let subject = read(certificate)?.tbs_certificate.subject;
    let mut parts = subject.0.iter().flat_map(|part| part.0.iter());
    let name = parts.find(|part| part.oid == COMMON_NAME)?;
    String::from_utf8(name.value.value().to_vec()).ok()
}

/// The public key as it stands in the certificate.
pub(super) fn public_key(certificate: &[u8]) -> Option<Vec<u8>> {
    let key = read(certificate)?.tbs_certificate.subject_public_key_info;
    key.to_der().ok()
}

/// Whatever its serial number: a server that lets anyone in may have any.
fn read(certificate: &[u8]) -> Option<CertificateInner<Raw>> {
    CertificateInner::from_der(certificate).ok()
}

fn signature_hash(signature: ObjectIdentifier) -> Option<&'static Algorithm> {
    match signature {
        MD_5_WITH_RSA_ENCRYPTION | SHA_1_WITH_RSA_ENCRYPTION | SHA_256_WITH_RSA_ENCRYPTION => {
            Some(&SHA256)
        }
        ECDSA_WITH_SHA_1 | ECDSA_WITH_SHA_256 => Some(&SHA256),
        SHA_384_WITH_RSA_ENCRYPTION | ECDSA_WITH_SHA_384 => Some(&SHA384),
        SHA_512_WITH_RSA_ENCRYPTION | ECDSA_WITH_SHA_512 => Some(&SHA512),
        _ => None,
    }
}
