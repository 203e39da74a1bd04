//! The few parts of an X.509 certificate that neither rustls nor webpki tells.
//!
//! Nothing is verified here. Whatever is not as expected is None.
//! Source: RFC 5280 section 4.1; X.690 for the encoding.

use ring::digest::{digest, Algorithm, SHA256, SHA384, SHA512};

const SEQUENCE: u8 = 0x30;
const OBJECT_ID: u8 = 0x06;
/// The explicit version of a certificate, left out in version 1.
const VERSION: u8 = 0xa0;

const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];
/// `1.2.840.113549.1.1.…`, signatures with RSA.
const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01];
/// `1.2.840.10045.4.…`, signatures with ECDSA.
const ECDSA: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04];

/// The hash of a certificate that binds a password to the connection on which it was shown; None for
/// signatures that have no such hash.
///
/// Source: RFC 5929 section 4.1: the hash of the signature, and SHA-256 instead of MD5 and SHA-1.
pub(super) fn end_point(certificate: &[u8]) -> Option<Vec<u8>> {
    let algorithm = signature_hash(certificate)?;
    Some(digest(algorithm, certificate).as_ref().to_vec())
}

/// The subject's common name.
pub(super) fn common_name(certificate: &[u8]) -> Option<String> {
    let mut names = subject(certificate)?.0.content;
    while let Some(set) = Element::next(&mut names) {
        let mut set = set.content;
        let mut pair = Element::next(&mut set)?.content;
        if Element::next(&mut pair)?.content == COMMON_NAME {
            let name = Element::next(&mut pair)?.content;
            return String::from_utf8(name.to_vec()).ok();
        }
    }
    None
}

/// The public key as it stands in the certificate.
pub(super) fn public_key(certificate: &[u8]) -> Option<&[u8]> {
    let mut rest = subject(certificate)?.1;
    Element::next(&mut rest).map(|key| key.whole)
}

fn signature_hash(certificate: &[u8]) -> Option<&'static Algorithm> {
    let mut whole = certificate;
    let mut parts = Element::of(&mut whole, SEQUENCE)?.content;
    let _signed = Element::of(&mut parts, SEQUENCE)?;
    let mut algorithm = Element::of(&mut parts, SEQUENCE)?.content;
    let id = Element::of(&mut algorithm, OBJECT_ID)?.content;
    match (id.strip_prefix(RSA), id.strip_prefix(ECDSA)) {
        (Some([4 | 5 | 11]), _) | (_, Some([1] | [3, 2])) => Some(&SHA256),
        (Some([12]), _) | (_, Some([3, 3])) => Some(&SHA384),
        (Some([13]), _) | (_, Some([3, 4])) => Some(&SHA512),
        _ => None,
    }
}

/// The subject, and what follows it: the public key first.
fn subject(certificate: &[u8]) -> Option<(Element<'_>, &[u8])> {
    let mut whole = certificate;
    let mut parts = Element::of(&mut whole, SEQUENCE)?.content;
    let mut signed = Element::of(&mut parts, SEQUENCE)?.content;
    if signed.first() == Some(&VERSION) {
        Element::next(&mut signed)?;
    }
    for _serial_algorithm_issuer_validity in 0..4 {
        Element::next(&mut signed)?;
    }
    let subject = Element::of(&mut signed, SEQUENCE)?;
    Some((subject, signed))
}

/// One element of the encoding: a tag, a length, a content.
struct Element<'a> {
    tag: u8,
    content: &'a [u8],
    whole: &'a [u8],
}

impl<'a> Element<'a> {
    /// Takes the first element off `input`.
    fn next(input: &mut &'a [u8]) -> Option<Self> {
        let (tag, length) = (*input.first()?, *input.get(1)?);
        let (head, length) = match length {
            0..=0x7f => (2, usize::from(length)),
            0x81 => (3, usize::from(*input.get(2)?)),
            0x82 => (
                4,
                usize::from(*input.get(2)?) << 8 | usize::from(*input.get(3)?),
            ),
            // No part of a certificate is longer than 64 KB.
            _ => return None,
        };
        let (whole, rest) = input.split_at_checked(head + length)?;
        *input = rest;
        let content = &whole[head..];
        Some(Element {
            tag,
            content,
            whole,
        })
    }

    /// As [`Element::next`], None for another tag.
    fn of(input: &mut &'a [u8], tag: u8) -> Option<Self> {
        Self::next(input).filter(|element| element.tag == tag)
    }
}
