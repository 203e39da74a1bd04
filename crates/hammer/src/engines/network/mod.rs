//! What connections to servers have in common, whatever their protocol: URLs, byte streams, TLS, why no stream
//! leads there, and why a request has no answer.

mod certificate;
mod failure;
mod open;
mod stream;
mod tls;
mod trust;
mod url;

pub(super) use failure::{down, not_understood, required, unfit, Failed, Meaning, Unreached};
pub(super) use open::{open_tcp, open_unix, try_ways, within, Duplex, Opened};
pub(super) use stream::{Input, Stream};
pub(super) use tls::{Tls, Way, SYSTEM};
pub(super) use url::{invalid, Given, Password};

/// How an engine's URLs are written, and what it and its server call things.
#[derive(Debug)]
pub(super) struct Dialect {
    /// The product, as people call it.
    pub(super) product: &'static str,
    /// How its URLs begin.
    pub(super) schemes: &'static [&'static str],
    /// How to write one.
    pub(super) remedy: &'static str,
    /// Options that are followed.
    pub(super) options: &'static [&'static str],
    /// The option that says whether a connection is encrypted.
    pub(super) mode: &'static str,
    /// What it may be, separated by a comma and a blank.
    pub(super) modes: &'static str,
    /// The option that names a file of root certificates.
    pub(super) root: &'static str,
    /// The option that lets any certificate pass, where there is one besides the mode.
    pub(super) trust_any: Option<&'static str>,
    /// The server's settings that say how it encrypts.
    pub(super) ciphers: &'static str,
    /// The server's port where a URL names none.
    pub(super) port: u16,
    /// Whether libpq reads its URLs, too: the last option of a name counts, and `ssl=true` is JDBC's word.
    pub(super) is_of_libpq: bool,
}
