//! The start of a session: what both sides can, TLS, the login, until the server is ready.
//!
//! Source: MS-TDS, sections 2.2.6.4 "LOGIN7" and 2.2.6.5 "PRELOGIN".

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::client::Client;
use super::failure::NotOpened;
use super::packet::{kind, put_message, put_wide, read_head, HEAD_BYTES};
use super::tunnel::{Tunnel, FIRST_PACKETS};
use super::{Encryption, Target};
use crate::engines::network::{open_tcp, within, Duplex, Opened, Stream, Unreached};

/// TDS 7.4, which every server since 2012 speaks, and TDS 8.
const VERSION_7_4: u32 = 0x7400_0004;
const VERSION_8: u32 = 0x0800_0000;

/// What the sides say of encryption.
mod encryption {
    pub(super) const OF_LOGIN: u8 = 0;
    pub(super) const OF_ALL: u8 = 1;
    pub(super) const NONE: u8 = 2;
}

/// Opens a connection whose packets have no more than `packet_bytes`.
pub(super) async fn open(target: &Target, packet_bytes: usize) -> Result<Client, NotOpened> {
    let patience = target.patience;
    let stream = open_tcp(&target.host, None, target.port, patience).await?;
    let starting = start(target, stream, packet_bytes);
    let silent = || Err(Unreached::Silent(patience).into());
    within(patience, starting).await.unwrap_or_else(silent)
}

async fn start(
    target: &Target,
    mut stream: TcpStream,
    packet_bytes: usize,
) -> Result<Client, NotOpened> {
    let mut login = Vec::new();
    let message = write_login(target, packet_bytes);
    put_message(&mut login, kind::LOGIN, &message, FIRST_PACKETS);
    let stream: Box<dyn Duplex> = if target.encryption == Encryption::FromTheStart {
        let (mut stream, _) = target.tls.encrypt(stream, &target.host).await?;
        // It is encrypted already.
        agree(&mut stream, encryption::NONE).await?;
        send(&mut stream, &login).await?;
        Box::new(stream)
    } else {
        let wanted = match target.encryption {
            Encryption::OfLogin => encryption::OF_LOGIN,
            _ => encryption::OF_ALL,
        };
        let offered = agree(&mut stream, wanted).await?;
        match (wanted, offered) {
            (encryption::OF_ALL, encryption::OF_LOGIN | encryption::NONE) => {
                return Err(NotOpened::TlsNotOffered);
            }
            (_, encryption::NONE) => {
                send(&mut stream, &login).await?;
                Box::new(stream)
            }
            _ => {
                let tunnel = Tunnel::new(stream);
                let (mut stream, _) = target.tls.encrypt(tunnel, &target.host).await?;
                stream.get_mut().0.stop_wrapping();
                send(&mut stream, &login).await?;
                match offered {
                    encryption::OF_LOGIN => Box::new(stream.into_inner().0.into_inner()),
                    _ => Box::new(stream),
                }
            }
        }
    };
    let (stream, _) = Stream::new(Opened::Tcp(stream, None))?;
    let mut client = Client::new(stream, packet_bytes);
    client.finish_login().await?;
    Ok(client)
}

async fn send(stream: &mut impl Duplex, bytes: &[u8]) -> Result<(), NotOpened> {
    stream.write_all(bytes).await?;
    Ok(stream.flush().await?)
}

/// Says what this side can, and gives what the server says of encryption.
async fn agree(stream: &mut impl Duplex, encryption: u8) -> Result<u8, NotOpened> {
    const VERSION: [u8; 6] = [1, 0, 0, 0, 0, 0];
    const VERSION_AT: u8 = 11;
    let encryption_at = VERSION_AT + VERSION.len() as u8;
    // Each option: its number, and where its bytes lie.
    let mut message = vec![0, 0, VERSION_AT, 0, 6, 1, 0, encryption_at, 0, 1, 0xFF];
    message.extend_from_slice(&VERSION);
    message.push(encryption);
    let mut packet = Vec::new();
    put_message(&mut packet, kind::PRELOGIN, &message, FIRST_PACKETS);
    send(stream, &packet).await?;
    let mut head = [0; HEAD_BYTES];
    stream.read_exact(&mut head).await?;
    let length = read_head(&head, &[kind::REPLY])?;
    if length > FIRST_PACKETS - HEAD_BYTES {
        return Err(NotOpened::NotSqlServer);
    }
    let mut answer = vec![0; length];
    stream.read_exact(&mut answer).await?;
    find_encryption(&answer).ok_or(NotOpened::NotSqlServer)
}

fn find_encryption(answer: &[u8]) -> Option<u8> {
    const ENCRYPTION: u8 = 1;
    let mut options = answer.chunks_exact(5);
    let option = options.find(|option| option[0] == ENCRYPTION || option[0] == 0xFF)?;
    let at = usize::from(u16::from_be_bytes([option[1], option[2]]));
    (option[0] == ENCRYPTION).then(|| answer.get(at).copied())?
}

/// The message that names user, password and database.
fn write_login(target: &Target, packet_bytes: usize) -> Vec<u8> {
    const HEAD: usize = 94;
    /// The database must be there; ANSI's meaning of nulls and quotes.
    const FLAGS: [u8; 4] = [0xE0, 0x03, 0, 0];
    let version = match target.encryption {
        Encryption::FromTheStart => VERSION_8,
        _ => VERSION_7_4,
    };
    let mut fixed = Vec::with_capacity(HEAD);
    for number in [version, packet_bytes as u32, 1, std::process::id(), 0] {
        fixed.extend_from_slice(&number.to_le_bytes());
    }
    fixed.extend_from_slice(&FLAGS);
    // Time zone and language of this machine, which nobody asks for.
    fixed.extend_from_slice(&[0; 8]);
    let mut texts = Vec::new();
    let mut put = |fixed: &mut Vec<u8>, text: &str, hide: fn(&mut [u8])| {
        let at = texts.len();
        put_wide(&mut texts, text);
        hide(&mut texts[at..]);
        let units = (texts.len() - at) / 2;
        for number in [HEAD + at, units] {
            fixed.extend_from_slice(&(number as u16).to_le_bytes());
        }
    };
    let shown: fn(&mut [u8]) = |_| ();
    put(&mut fixed, "", shown);
    put(&mut fixed, &target.user, shown);
    put(&mut fixed, target.password.as_str(), hide_password);
    put(&mut fixed, "stithy-hammer", shown);
    put(&mut fixed, &target.host, shown);
    // No extension; no library.
    put(&mut fixed, "", shown);
    put(&mut fixed, "", shown);
    put(&mut fixed, "", shown);
    put(&mut fixed, &target.database, shown);
    fixed.extend_from_slice(&[0; 6]);
    // No Windows login, no file to attach, no new password.
    (0..3).for_each(|_| put(&mut fixed, "", shown));
    fixed.extend_from_slice(&[0; 4]);
    let length = (4 + fixed.len() + texts.len()) as u32;
    [&length.to_le_bytes(), &fixed[..], &texts].concat()
}

/// How the protocol hides a password: from nobody who knows it.
fn hide_password(bytes: &mut [u8]) {
    for byte in bytes {
        *byte = byte.rotate_left(4) ^ 0xA5;
    }
}
