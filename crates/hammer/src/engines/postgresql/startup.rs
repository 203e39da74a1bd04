//! The start of a session: parameters, authentication, until the server is ready.

use bytes::BytesMut;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{
    ChannelBinding, ScramSha256, SCRAM_SHA_256, SCRAM_SHA_256_PLUS,
};
use postgres_protocol::message::frontend;
use tokio_postgres::config::ChannelBinding as Binding;
use tokio_postgres::Config;

use super::failure::NotOpened;
use super::message::{server_error, whole_message, ANSWERS_TO_START, HEAD_BYTES};
use crate::engines::network::{not_understood, Input, Opened, Stream, Unreached};

/// A setting of the session, sent with the start.
pub(super) type Setting = (&'static str, &'static str);

/// Sends the start, proves the password, and waits until the server is ready.
pub(super) async fn start(
    opened: Opened,
    config: &Config,
    settings: &[Setting],
) -> Result<Stream, NotOpened> {
    let (mut stream, binding) = Stream::new(opened)?;
    let mut out = BytesMut::new();
    write_parameters(config, settings, &mut out)?;
    stream.send(&out).await?;

    let mut proof = Proof::new(config, binding);
    let mut input = Input::default();
    let mut read = 0;
    loop {
        let Some((tag, end)) = next_message(&input, read)? else {
            stream.receive(&mut input).await?;
            continue;
        };
        let body = &input.bytes()[read + HEAD_BYTES..end];
        read = end;
        out.clear();
        match tag {
            b'R' => proof.answer(body, &mut out)?,
            b'E' => return Err(NotOpened::Refused(server_error(body))),
            b'Z' => return Ok(stream),
            // Parameters, the key for cancelling, notices: of no use here.
            _ => {}
        }
        if !out.is_empty() {
            stream.send(&out).await?;
        }
    }
}

fn write_parameters(
    config: &Config,
    settings: &[Setting],
    out: &mut BytesMut,
) -> Result<(), NotOpened> {
    let user = config.get_user().unwrap_or_default();
    let parameters = [
        ("user", user),
        ("database", config.get_dbname().unwrap_or(user)),
        (
            "application_name",
            config.get_application_name().unwrap_or_default(),
        ),
        ("client_encoding", "UTF8"),
    ];
    let options = config.get_options().map(|options| ("options", options));
    let all = parameters.into_iter().chain(options);
    frontend::startup_message(all.chain(settings.iter().copied()), out)?;
    Ok(())
}

fn next_message(input: &Input, read: usize) -> Result<Option<(u8, usize)>, NotOpened> {
    match input.bytes().get(read) {
        Some(tag) if !ANSWERS_TO_START.contains(tag) => Err(NotOpened::NotPostgresql),
        _ => whole_message(input.bytes(), read).map_err(|_| NotOpened::NotPostgresql),
    }
}

/// Proves the password, in the way that the server asks for.
struct Proof<'a> {
    user: &'a str,
    password: Option<&'a [u8]>,
    wanted: Binding,
    binding: Option<Vec<u8>>,
    scram: Option<ScramSha256>,
    bound: bool,
}

impl<'a> Proof<'a> {
    fn new(config: &'a Config, binding: Option<Vec<u8>>) -> Self {
        let wanted = config.get_channel_binding();
        Proof {
            user: config.get_user().unwrap_or_default(),
            password: config.get_password(),
            wanted,
            binding: binding.filter(|_| wanted != Binding::Disable),
            scram: None,
            bound: false,
        }
    }

    /// Answers one authentication request; its kind is a number before the data.
    ///
    /// Source: PostgreSQL documentation, "Message Formats", Authentication….
    fn answer(&mut self, body: &[u8], out: &mut BytesMut) -> Result<(), NotOpened> {
        let (kind, data) = body.split_at_checked(4).ok_or_else(not_understood)?;
        match kind {
            [0, 0, 0, 0] => self.refuse_unbound(),
            [0, 0, 0, 3] => {
                self.refuse_unbound()?;
                Ok(frontend::password_message(self.password()?, out)?)
            }
            [0, 0, 0, 5] => {
                self.refuse_unbound()?;
                self.answer_md5(data, out)
            }
            [0, 0, 0, 10] => self.begin_scram(data, out),
            [0, 0, 0, 11] => {
                let begun = self.scram.as_mut().ok_or_else(not_understood)?;
                begun.update(data)?;
                Ok(frontend::sasl_response(begun.message(), out)?)
            }
            [0, 0, 0, 12] => {
                let begun = self.scram.as_mut().ok_or_else(not_understood)?;
                Ok(begun.finish(data)?)
            }
            _ => Err(Unreached::Ended("an unknown way of authentication".into()).into()),
        }
    }

    fn password(&self) -> Result<&'a [u8], NotOpened> {
        self.password.ok_or(NotOpened::NoPassword)
    }

    /// A server that asks for less than the URL demands may be another one.
    fn refuse_unbound(&self) -> Result<(), NotOpened> {
        match self.wanted {
            Binding::Require if !self.bound => Err(NotOpened::NotBound),
            _ => Ok(()),
        }
    }

    fn answer_md5(&self, data: &[u8], out: &mut BytesMut) -> Result<(), NotOpened> {
        let salt = data.try_into().map_err(|_| not_understood())?;
        let hash = md5_hash(self.user.as_bytes(), self.password()?, salt);
        Ok(frontend::password_message(hash.as_bytes(), out)?)
    }

    /// `mechanisms` are texts that end with a zero byte.
    ///
    /// Source: RFC 5802 section 6 for what is said of a binding that the server does not offer.
    fn begin_scram(&mut self, mechanisms: &[u8], out: &mut BytesMut) -> Result<(), NotOpened> {
        let plus = SCRAM_SHA_256_PLUS.as_bytes();
        let offered = mechanisms.split(|byte| *byte == 0).any(|name| name == plus);
        let (mechanism, binding) = match self.binding.take() {
            Some(hash) if offered => (
                SCRAM_SHA_256_PLUS,
                ChannelBinding::tls_server_end_point(hash),
            ),
            Some(_) => (SCRAM_SHA_256, ChannelBinding::unrequested()),
            None => (SCRAM_SHA_256, ChannelBinding::unsupported()),
        };
        self.bound = mechanism == SCRAM_SHA_256_PLUS;
        self.refuse_unbound()?;
        let begun = ScramSha256::new(self.password()?, binding);
        frontend::sasl_initial_response(mechanism, begun.message(), out)?;
        self.scram = Some(begun);
        Ok(())
    }
}
