//! The start of a session: the server's greeting, TLS, the login, until the server is ready.
//!
//! Source: MySQL "Client/Server Protocol", "Connection Phase".

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::authentication::Plugin;
use super::client::Client;
use super::failure::NotOpened;
use super::message::{capability, ServerError, END, ERROR, OK};
use super::packet::{put_length, put_packet, Fields, Incoming, HEAD_BYTES};
use super::{Host, Target};
use crate::engines::network::{
    open_tcp, open_unix, try_ways, within, Opened, Stream, Unreached, Way,
};

/// What every session can do.
const CAPABILITIES: u32 = capability::LONG_PASSWORD
    | capability::FOUND_ROWS
    | capability::LONG_FLAG
    | capability::CONNECT_WITH_DB
    | capability::PROTOCOL_41
    | capability::TRANSACTIONS
    | capability::SECURE_CONNECTION
    | capability::MULTI_RESULTS
    | capability::PS_MULTI_RESULTS
    | capability::PLUGIN_AUTH
    | capability::PLUGIN_AUTH_LENENC
    | capability::DEPRECATE_EOF;

/// What the server must be able to do: MySQL 5.7 and MariaDB 10.2 can.
const NEEDED: u32 = capability::PROTOCOL_41 | capability::PLUGIN_AUTH;

/// Number of the set of characters utf8mb4_general_ci, which every server has.
const UTF8MB4: u8 = 45;
/// The largest packet that is accepted: what the protocol allows.
const PACKET_BYTES_MAX: u32 = 1 << 30;
const PROTOCOL_VERSION: u8 = 10;
/// A greeting is shorter.
const GREETING_BYTES_MAX: usize = 1024;
/// Random bytes that a proof is made for.
const RANDOM_BYTES: usize = 20;

/// What the server says first.
#[derive(Debug, PartialEq, Eq)]
struct Greeting {
    mariadb: bool,
    thread: u32,
    capabilities: u32,
    random: Vec<u8>,
    plugin: Option<Plugin>,
}

/// Opens a connection that has `more` capabilities, in each way that the target's URL allows until one leads
/// there.
pub(super) async fn open(target: &Target, more: u32) -> Result<Client, NotOpened> {
    try_ways(target.ways(), NotOpened::leads_on, |way| {
        open_in_way(target, more, way)
    })
    .await
}

async fn open_in_way(target: &Target, more: u32, way: Way) -> Result<Client, NotOpened> {
    let patience = target.patience;
    let wanted = CAPABILITIES | more;
    let silent = || Err(Unreached::Silent(patience).into());
    match &target.host {
        Host::Socket(path) => {
            let mut stream = open_unix(path, patience).await?;
            let starting = async {
                let greeting = greet(&mut stream).await?;
                let (stream, _) = Stream::new(Opened::Unix(stream))?;
                log_in(target, stream, greeting, wanted, 1).await
            };
            within(patience, starting).await.unwrap_or_else(silent)
        }
        Host::Tcp(name) => {
            let stream = open_tcp(name, None, target.port, patience).await?;
            let starting = start_on_network(target, name, stream, wanted, way);
            within(patience, starting).await.unwrap_or_else(silent)
        }
    }
}

async fn start_on_network(
    target: &Target,
    name: &str,
    mut stream: TcpStream,
    wanted: u32,
    way: Way,
) -> Result<Client, NotOpened> {
    let greeting = greet(&mut stream).await?;
    let encrypts = greeting.capabilities & capability::SSL != 0;
    if way == Way::Plain || (way == Way::Offered && !encrypts) {
        let (stream, _) = Stream::new(Opened::Tcp(Box::new(stream), None))?;
        return log_in(target, stream, greeting, wanted, 1).await;
    }
    if !encrypts {
        return Err(NotOpened::TlsNotOffered);
    }
    let wanted = wanted | capability::SSL;
    let mut request = Vec::new();
    let number = put_packet(&mut request, 1, |out| {
        put_abilities(out, wanted & with_optional(greeting.capabilities));
    });
    stream.write_all(&request).await?;
    let (stream, _) = target.tls.encrypt(stream, name).await?;
    let (stream, _) = Stream::new(Opened::Tcp(Box::new(stream), None))?;
    log_in(target, stream, greeting, wanted, number).await
}

/// Reads the greeting and not a byte more: what follows may have to be encrypted.
async fn greet(stream: &mut (impl AsyncRead + Unpin)) -> Result<Greeting, NotOpened> {
    let mut head = [0; HEAD_BYTES];
    stream.read_exact(&mut head).await?;
    let length = u32::from_le_bytes([head[0], head[1], head[2], 0]) as usize;
    if head[3] != 0 || length == 0 || length > GREETING_BYTES_MAX {
        return Err(NotOpened::NotMysql);
    }
    let mut payload = vec![0; length];
    stream.read_exact(&mut payload).await?;
    Greeting::read(&payload)
}

impl Greeting {
    fn read(payload: &[u8]) -> Result<Self, NotOpened> {
        match payload.first() {
            Some(&ERROR) => return Err(NotOpened::Refused(ServerError::read(payload))),
            Some(&PROTOCOL_VERSION) => {}
            _ => return Err(NotOpened::NotMysql),
        }
        let greeting = Self::read_fields(&payload[1..]).map_err(|_| NotOpened::NotMysql)?;
        match greeting.capabilities & NEEDED == NEEDED {
            true => Ok(greeting),
            false => Err(NotOpened::TooOld),
        }
    }

    fn read_fields(fields: &[u8]) -> io::Result<Self> {
        let mut fields = Fields(fields);
        let version = String::from_utf8_lossy(fields.terminated()).into_owned();
        let thread = fields.integer::<4>()? as u32;
        let mut random = fields.take(8)?.to_vec();
        fields.take(1)?;
        let low = fields.integer::<2>()? as u32;
        // Set of characters and status.
        fields.take(3)?;
        let high = fields.integer::<2>()? as u32;
        let random_length = fields.integer::<1>()? as usize;
        // Reserved; in MariaDB further capabilities.
        fields.take(10)?;
        let rest = random_length.max(RANDOM_BYTES + 1) - random.len();
        random.extend_from_slice(fields.take(rest)?);
        random.truncate(RANDOM_BYTES);
        Ok(Greeting {
            mariadb: version.contains("MariaDB"),
            thread,
            capabilities: low | high << 16,
            random,
            plugin: Plugin::named(fields.terminated()),
        })
    }
}

/// What the server may lack is left out.
fn with_optional(capabilities: u32) -> u32 {
    capabilities | capability::LONG_PASSWORD | capability::CONNECT_WITH_DB
}

fn put_abilities(out: &mut Vec<u8>, capabilities: u32) {
    out.extend_from_slice(&capabilities.to_le_bytes());
    out.extend_from_slice(&PACKET_BYTES_MAX.to_le_bytes());
    out.push(UTF8MB4);
    out.extend_from_slice(&[0; 23]);
}

async fn log_in(
    target: &Target,
    mut stream: Stream,
    greeting: Greeting,
    wanted: u32,
    number: u8,
) -> Result<Client, NotOpened> {
    let capabilities = wanted & with_optional(greeting.capabilities);
    // The account may have another plug-in than the server's default; the server then says so.
    let plugin = greeting.plugin.unwrap_or(Plugin::Native);
    let password = target.password.as_str();
    let mut out = Vec::new();
    let number = put_packet(&mut out, number, |out| {
        put_abilities(out, capabilities);
        out.extend_from_slice(target.user.as_bytes());
        out.push(0);
        let proof = plugin.prove(password, &greeting.random);
        put_length(out, proof.len());
        out.extend_from_slice(&proof);
        for text in [target.database.as_str(), plugin.name()] {
            out.extend_from_slice(text.as_bytes());
            out.push(0);
        }
    });
    stream.send(&out).await?;
    let mut incoming = Incoming::default();
    incoming.expect(number);
    let login = Login {
        secret: wanted & capability::SSL != 0 || matches!(target.host, Host::Socket(_)),
        password,
        plugin,
    };
    login.finish(&mut stream, &mut incoming).await?;
    Ok(Client::new(
        stream,
        incoming,
        capabilities & capability::DEPRECATE_EOF == 0,
        greeting.thread,
        greeting.mariadb,
    ))
}

/// A login under way.
struct Login<'a> {
    /// Whether nobody can listen.
    secret: bool,
    password: &'a str,
    plugin: Plugin,
}

impl Login<'_> {
    /// Answers until the server lets the user in.
    async fn finish(
        mut self,
        stream: &mut Stream,
        incoming: &mut Incoming,
    ) -> Result<(), NotOpened> {
        loop {
            let payload = incoming.next(stream).await?;
            let payload = &incoming.bytes()[payload];
            let answer = match payload.first() {
                Some(&OK) => {
                    incoming.clear();
                    return Ok(());
                }
                Some(&ERROR) => return Err(NotOpened::Refused(ServerError::read(payload))),
                Some(&END) => Some(self.switch(&payload[1..])?),
                Some(1) => self.go_on(&payload[1..])?,
                _ => return Err(NotOpened::NotMysql),
            };
            if let Some(answer) = answer {
                let mut out = Vec::new();
                let write = |out: &mut Vec<u8>| out.extend_from_slice(&answer);
                let number = put_packet(&mut out, incoming.number(), write);
                incoming.expect(number);
                stream.send(&out).await?;
            }
        }
    }

    /// The server asks for the proof of another plug-in.
    fn switch(&mut self, request: &[u8]) -> Result<Vec<u8>, NotOpened> {
        let mut fields = Fields(request);
        let name = fields.terminated();
        let unknown = || NotOpened::UnknownPlugin(String::from_utf8_lossy(name).into_owned());
        self.plugin = Plugin::named(name).ok_or_else(unknown)?;
        let random = fields.0.strip_suffix(&[0]).unwrap_or(fields.0);
        Ok(self.plugin.prove(self.password, random))
    }

    /// `caching_sha2_password` knows the account already, or wants the password itself.
    fn go_on(&self, request: &[u8]) -> Result<Option<Vec<u8>>, NotOpened> {
        const LET_IN: &[u8] = &[3];
        const SEND_PASSWORD: &[u8] = &[4];
        match (self.plugin, request) {
            (Plugin::CachingSha2, LET_IN) => Ok(None),
            (Plugin::CachingSha2, SEND_PASSWORD) if self.secret => {
                Ok(Some([self.password.as_bytes(), &[0]].concat()))
            }
            (Plugin::CachingSha2, SEND_PASSWORD) => Err(NotOpened::NotSecret),
            _ => Err(NotOpened::NotMysql),
        }
    }
}
