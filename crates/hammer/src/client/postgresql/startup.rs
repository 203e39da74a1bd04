//! The start of a session: parameters, authentication, until the server is ready.

use bytes::BytesMut;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, ScramSha256, SCRAM_SHA_256};
use postgres_protocol::message::frontend;
use tokio_postgres::Config;

use super::message::{server_error, whole_message, HEAD_BYTES};
use super::session::SessionError;
use super::stream::{Input, Stream};

/// A setting of the session, sent with the start.
pub type Setting = (&'static str, &'static str);

/// Sends the start, proves the password, and waits until the server is ready.
pub(super) async fn start(
    stream: &mut Stream,
    config: &Config,
    settings: &[Setting],
) -> Result<(), SessionError> {
    let user = config.get_user().unwrap_or_default();
    let password = config.get_password().unwrap_or_default();
    let mut out = BytesMut::new();
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
    frontend::startup_message(all.chain(settings.iter().copied()), &mut out)?;
    stream.send(&out).await?;

    let mut input = Input::default();
    let mut read = 0;
    let mut scram = None;
    loop {
        let Some((tag, end)) = whole_message(input.bytes(), read)? else {
            stream.receive(&mut input).await?;
            continue;
        };
        let body = &input.bytes()[read + HEAD_BYTES..end];
        read = end;
        out.clear();
        match tag {
            b'R' => answer_authentication(body, user, password, &mut scram, &mut out)?,
            b'E' => return Err(SessionError::Server(server_error(body))),
            b'Z' => return Ok(()),
            // Parameters, the key for cancelling, notices: of no use here.
            _ => {}
        }
        if !out.is_empty() {
            stream.send(&out).await?;
        }
    }
}

/// Answers one authentication request; its kind is a number before the data.
///
/// Source: PostgreSQL documentation, "Message Formats", Authentication….
fn answer_authentication(
    body: &[u8],
    user: &str,
    password: &[u8],
    scram: &mut Option<ScramSha256>,
    out: &mut BytesMut,
) -> Result<(), SessionError> {
    let (kind, data) = body
        .split_at_checked(4)
        .ok_or_else(SessionError::protocol)?;
    match kind {
        [0, 0, 0, 0] => {}
        [0, 0, 0, 3] => frontend::password_message(password, out)?,
        [0, 0, 0, 5] => {
            let salt = data.try_into().map_err(|_| SessionError::protocol())?;
            let hash = md5_hash(user.as_bytes(), password, salt);
            frontend::password_message(hash.as_bytes(), out)?;
        }
        [0, 0, 0, 10] => {
            let begun = ScramSha256::new(password, ChannelBinding::unsupported());
            frontend::sasl_initial_response(SCRAM_SHA_256, begun.message(), out)?;
            *scram = Some(begun);
        }
        [0, 0, 0, 11] => {
            let begun = scram.as_mut().ok_or_else(SessionError::protocol)?;
            begun.update(data)?;
            frontend::sasl_response(begun.message(), out)?;
        }
        [0, 0, 0, 12] => scram
            .as_mut()
            .ok_or_else(SessionError::protocol)?
            .finish(data)?,
        _ => {
            return Err(SessionError::Lost(
                "an unknown way of authentication".into(),
            ))
        }
    }
    Ok(())
}
