//! A server of TDS that says what it is told to say.

use std::io::{Read, Write};

use rustls::ServerConnection;
use stithy_hammer::engines::{sqlserver, Target};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// Types of messages.
pub const TEXT: u8 = 1;
pub const CALL: u8 = 3;
pub const ATTENTION: u8 = 6;
pub const ROWS: u8 = 7;
pub const LOGIN: u8 = 16;
pub const PRELOGIN: u8 = 18;
/// What a server says of encryption.
pub const OF_LOGIN: u8 = 0;
pub const OF_ALL: u8 = 1;
pub const NONE: u8 = 2;

/// A statement or a call is done; a count where there is one; whether more comes.
pub fn done(token: u8, count: Option<u8>, more: bool) -> Vec<u8> {
    let status = u8::from(count.is_some()) << 4 | u8::from(more);
    let count = count.unwrap_or(0);
    vec![token, status, 0, 0, 0, count, 0, 0, 0, 0, 0, 0, 0]
}

/// The end of an answer to text.
pub fn end() -> Vec<u8> {
    done(0xFD, None, false)
}

/// The end of a call that counted so many rows.
pub fn end_of_call(count: Option<u8>, more: bool) -> Vec<u8> {
    let status: &[u8] = b"\x79\0\0\0\0";
    [&done(0xFF, count, true), status, &done(0xFE, None, more)].concat()
}

pub fn wide(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

pub fn counted(token: u8, bytes: &[u8]) -> Vec<u8> {
    let length = (bytes.len() as u16).to_le_bytes();
    [&[token], &length[..], bytes].concat()
}

pub fn error(number: u16, text: &str) -> Vec<u8> {
    let [low, high] = number.to_le_bytes();
    let head = [low, high, 0, 0, 1, 14, text.len() as u8, 0];
    let token = counted(0xAA, &[&head[..], &wide(text), &[0; 6]].concat());
    [token, end()].concat()
}

/// An integer's column, and a row of it for each value.
pub fn integers(values: &[i32]) -> Vec<u8> {
    let mut out = b"\x81\x01\0\0\0\0\0\0\0\x38\x01k\0".to_vec();
    for value in values {
        out.push(0xD1);
        out.extend_from_slice(&value.to_le_bytes());
    }
    out
}

/// Rows of texts in UTF-16; None is null.
pub fn texts(rows: &[&[Option<&str>]]) -> Vec<u8> {
    let count = rows.first().map_or(1, |row| row.len());
    let mut out = vec![0x81, count as u8, 0];
    for _ in 0..count {
        out.extend_from_slice(b"\0\0\0\0\x01\0\xe7\x40\x1f\x09\x04\0\0\x34\0");
    }
    for row in rows {
        out.push(0xD1);
        for value in *row {
            match value {
                None => out.extend_from_slice(&[0xFF; 2]),
                Some(text) => {
                    out.extend_from_slice(&[2 * text.len() as u8, 0]);
                    out.extend_from_slice(&wide(text));
                }
            }
        }
    }
    out
}

/// The number of a prepared statement.
pub fn handle(number: u8) -> Vec<u8> {
    let head: &[u8] = b"\xac\0\0\0\x01\0\0\0\0\0\0\x26\x04\x04";
    [head, &[number, 0, 0, 0]].concat()
}

pub fn begun() -> Vec<u8> {
    [counted(0xE3, &[8, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0]), end()].concat()
}

pub fn committed() -> Vec<u8> {
    [counted(0xE3, &[9, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0]), end()].concat()
}

pub fn rolled_back() -> Vec<u8> {
    counted(0xE3, &[10, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0])
}

/// Lets the user in; the first number of the version.
pub fn let_in(version: u8) -> Vec<u8> {
    let collation = counted(0xE3, b"\x07\x05\x09\x04\0\0\x34\0");
    let packets = counted(0xE3, &[&[4, 4][..], &wide("4096"), &[0]].concat());
    let name = [&[1, 0x74, 0, 0, 4, 2][..], &wide("SQ"), &[version, 0, 0, 0]].concat();
    [collation, packets, counted(0xAD, &name), end()].concat()
}

/// What a server of Microsoft's tells of itself to who loads and checks.
pub fn describe(collation: &str) -> Vec<u8> {
    let text = wide(collation);
    let columns = b"\x81\x02\0\0\0\0\0\x01\0\x26\x04\0\0\0\0\0\x01\0\xe7\0\x01\x09\x04\0\0\x34\0";
    let row = [&[0xD1, 0, text.len() as u8, 0], &text[..]].concat();
    [&columns[..], &row, &end_of_call(Some(1), false)].concat()
}

/// A message: its type and its payload.
pub type Message = (u8, Vec<u8>);
/// What a server says to each message after the login; where it is empty, nothing.
pub type Script = Vec<Vec<u8>>;
pub type Peer = JoinHandle<Vec<Message>>;

/// The bytes under a server's messages: a socket, or TLS, whose handshake stands in messages itself.
struct Wire {
    stream: TcpStream,
    tls: Option<ServerConnection>,
    plain: Vec<u8>,
}

impl Wire {
    async fn read(&mut self, count: usize) -> Option<Vec<u8>> {
        while self.plain.len() < count {
            let mut bytes = vec![0; 4096];
            let read = self.stream.read(&mut bytes).await.ok();
            let length = read.filter(|length| *length > 0)?;
            match &mut self.tls {
                None => self.plain.extend_from_slice(&bytes[..length]),
                Some(tls) => {
                    let mut left = &bytes[..length];
                    while !left.is_empty() {
                        tls.read_tls(&mut left).unwrap();
                        tls.process_new_packets().unwrap();
                    }
                    // More may come later.
                    let _ = tls.reader().read_to_end(&mut self.plain);
                }
            }
        }
        Some(self.plain.drain(..count).collect())
    }

    async fn read_message(&mut self) -> Option<Message> {
        let mut payload = Vec::new();
        loop {
            let head = self.read(8).await?;
            let length = usize::from(u16::from_be_bytes([head[2], head[3]]));
            payload.extend(self.read(length - 8).await?);
            if head[1] & 1 == 1 {
                return Some((head[0], payload));
            }
        }
    }

    /// In packets of 100 bytes, so that every token is cut somewhere.
    async fn write_message(&mut self, of: u8, payload: &[u8]) {
        let mut bytes = Vec::new();
        let mut pieces = payload.chunks(100).peekable();
        while let Some(piece) = pieces.next() {
            let last = u8::from(pieces.peek().is_none());
            bytes.extend_from_slice(&[of, last, 0, piece.len() as u8 + 8, 0, 0, 1, 0]);
            bytes.extend_from_slice(piece);
        }
        if let Some(tls) = &mut self.tls {
            tls.writer().write_all(&bytes).unwrap();
            bytes.clear();
            while tls.wants_write() {
                tls.write_tls(&mut bytes).unwrap();
            }
        }
        // The other end may have gone.
        let _ = self.stream.write_all(&bytes).await;
    }

    /// None where the other end breaks it off.
    async fn shake_hands(&mut self, mut tls: ServerConnection) -> Option<()> {
        while tls.is_handshaking() {
            let (of, payload) = self.read_message().await?;
            assert_eq!(PRELOGIN, of);
            tls.read_tls(&mut &payload[..]).unwrap();
            tls.process_new_packets().ok()?;
            let mut answer = Vec::new();
            while tls.wants_write() {
                tls.write_tls(&mut answer).unwrap();
            }
            self.write_message(PRELOGIN, &answer).await;
        }
        self.tls = Some(tls);
        Some(())
    }
}

/// What a server is like until it lets the user in.
pub struct Greeting {
    pub encryption: u8,
    pub tls: Option<ServerConnection>,
    pub login: Vec<u8>,
}

impl Greeting {
    /// One that encrypts nothing and lets anyone in.
    pub fn plain() -> Self {
        Greeting {
            encryption: NONE,
            tls: None,
            login: let_in(16),
        }
    }
}

/// Does its part, and gives what it heard.
async fn serve(stream: TcpStream, greeting: Greeting, script: Script) -> Vec<Message> {
    let mut wire = Wire {
        stream,
        tls: None,
        plain: Vec::new(),
    };
    let mut heard = Vec::new();
    let Some(message) = wire.read_message().await else {
        return heard;
    };
    heard.push(message);
    let options: &[u8] = b"\0\0\x0b\0\x06\x01\0\x11\0\x01\xff\x10\0\0\0\0\0";
    wire.write_message(4, &[options, &[greeting.encryption]].concat())
        .await;
    if let Some(tls) = greeting.tls {
        if wire.shake_hands(tls).await.is_none() {
            return heard;
        }
    }
    let Some(message) = wire.read_message().await else {
        return heard;
    };
    heard.push(message);
    if greeting.encryption == OF_LOGIN {
        wire.tls = None;
    }
    wire.write_message(4, &greeting.login).await;
    for answer in script {
        let Some(message) = wire.read_message().await else {
            break;
        };
        heard.push(message);
        wire.write_message(4, &answer).await;
    }
    heard
}

/// A server on a port, and its URL, which goes on with options.
pub async fn listen(greeting: Greeting, script: Script) -> (Peer, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let peer = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        serve(stream, greeting, script).await
    });
    let url = format!("sqlserver://me:anvil@127.0.0.1:{port}/db?connect_timeout=2&encrypt=");
    (peer, url)
}

pub fn parse(url: &str) -> sqlserver::Target {
    sqlserver::Target::parse(url).unwrap()
}

/// A session on such a server.
pub async fn open(script: Script) -> (Peer, sqlserver::Session) {
    let script = [vec![end()], script].concat();
    let (peer, url) = listen(Greeting::plain(), script).await;
    let session = parse(&format!("{url}false"))
        .open(crate::support::LOAD)
        .await;
    (peer, session.unwrap())
}

pub async fn connect(script: Script) -> (Peer, sqlserver::Control) {
    let description = describe("Latin1_General_100_BIN2");
    let script = [vec![end(), description], script].concat();
    let (peer, url) = listen(Greeting::plain(), script).await;
    let control = parse(&format!("{url}false")).connect().await;
    (peer, control.unwrap())
}

/// What was heard after the login and the settings.
pub async fn heard(peer: Peer, before: usize) -> Vec<Message> {
    peer.await.unwrap().split_off(before)
}

pub fn contains(message: &Message, text: &str) -> bool {
    let text = wide(text);
    message.1.windows(text.len()).any(|part| part == text)
}

pub fn types(messages: &[Message]) -> Vec<u8> {
    messages.iter().map(|message| message.0).collect()
}

/// The number of the server's own procedure that a call is of.
pub fn procedure(message: &Message) -> u8 {
    assert_eq!((CALL, &[0xFF; 2][..]), (message.0, &message.1[22..24]));
    message.1[24]
}
