//! How a login to a server of MySQL's protocol goes, against a server that says what it is told to say.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::support;
use stithy_hammer::engines::{mysql, Target};
use stithy_hammer::error::HammerError;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, UnixListener};
use tokio::task::JoinHandle;

const NATIVE: &str = "mysql_native_password";
const CACHING: &str = "caching_sha2_password";
/// All that a server of today can, but for TLS.
const ABLE: u32 = !SSL;
const SSL: u32 = 1 << 11;
const PLUGIN_AUTH: u32 = 1 << 19;
/// The random bytes of the greeting.
const RANDOM: &[u8; 20] = b"abcdefghijklmnopqrst";

const DENIED: &[u8] = b"\xff\x15\x04#28000Access denied for user 'me'";
const OK: &[u8] = b"\0\0\0\x02\0\0\0";
const LET_IN: &[u8] = b"\x01\x03";
const SEND_PASSWORD: &[u8] = b"\x01\x04";

fn greet(plugin: &str, capabilities: u32) -> Vec<u8> {
    let [a, b, c, d] = capabilities.to_le_bytes();
    let parts: [&[u8]; 8] = [
        b"\x0a8.4.0\0\x07\0\0\0",
        &RANDOM[..8],
        &[0, a, b, 45, 2, 0, c, d, 21],
        &[0; 10],
        &RANDOM[8..],
        &[0],
        plugin.as_bytes(),
        &[0],
    ];
    parts.concat()
}

/// Requests for another plug-in.
const SWITCH: &[u8] = b"\xfecaching_sha2_password\0abcdefghijklmnopqrst\0";
const ASK_DIALOG: &[u8] = b"\xfedialog\0abcdefghijklmnopqrst\0";

/// What is answered to one packet.
type Answers = Vec<Vec<u8>>;
/// The same for each packet, as tests write it.
type Script = &'static [&'static [&'static [u8]]];

fn answers(of: &[&[&[u8]]]) -> Vec<Answers> {
    let to_vec = |answer: &&[u8]| answer.to_vec();
    of.iter()
        .map(|answers| answers.iter().map(to_vec).collect())
        .collect()
}

/// Sends a greeting, then answers each packet that it hears, and gives what it heard.
async fn serve(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    greeting: Vec<u8>,
    script: Vec<Answers>,
) -> Vec<Vec<u8>> {
    let mut heard = Vec::new();
    send(&mut stream, 0, &greeting).await;
    for answers in script {
        let Ok(head) = stream.read_u32_le().await else {
            break;
        };
        let mut payload = vec![0; head as usize & 0xFF_FFFF];
        stream.read_exact(&mut payload).await.unwrap();
        heard.push(payload);
        for (number, answer) in (1..).zip(answers) {
            send(&mut stream, (head >> 24) as u8 + number, &answer).await;
        }
    }
    heard
}

async fn send(stream: &mut (impl AsyncWrite + Unpin), number: u8, payload: &[u8]) {
    let head = (payload.len() as u32 | u32::from(number) << 24).to_le_bytes();
    // The other end may have gone.
    let _ = stream.write_all(&[&head, payload].concat()).await;
}

type Peer = JoinHandle<Vec<Vec<u8>>>;

/// A server that does so on a socket, and its URL.
fn listen_on_socket(greeting: Vec<u8>, script: Vec<Answers>) -> (Peer, String) {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let path: PathBuf = format!("/tmp/stithy-mysql-{}-{number}", std::process::id()).into();
    let listener = UnixListener::bind(&path).unwrap();
    let url = format!(
        "mysql://me:anvil@/db?socket={}&connect_timeout=1",
        path.display()
    );
    let peer = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        std::fs::remove_file(path).unwrap();
        serve(stream, greeting, script).await
    });
    (peer, url)
}

/// The same on a port.
async fn listen_on_port(greeting: Vec<u8>, script: Vec<Answers>) -> (Peer, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let peer = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        serve(stream, greeting, script).await
    });
    (peer, format!("mariadb://me:anvil@127.0.0.1:{port}/db"))
}

async fn failure(url: &str) -> HammerError {
    let opened = mysql::Target::parse(url).unwrap().open(support::LOAD).await;
    opened.err().expect("no session begins")
}

/// The login names user, database and plug-in and proves the password, whichever plug-in the server asks for; on
/// a socket, where nobody listens, it may ask for the password itself.
#[tokio::test]
async fn every_way_of_logging_in_leads_to_a_session() {
    let settings: [&[&[u8]]; 3] = [&[OK]; 3];
    let cases: [(&str, Script, &str, &[usize]); 4] = [
        (NATIVE, &[&[OK]], NATIVE, &[20]),
        (CACHING, &[&[LET_IN, OK]], CACHING, &[32]),
        (CACHING, &[&[SEND_PASSWORD], &[OK]], CACHING, &[32, 6]),
        ("dialog", &[&[SWITCH], &[LET_IN, OK]], NATIVE, &[20, 32]),
    ];
    for (plugin, login, named, proofs) in cases {
        let script = answers(&[login, &settings].concat());
        let (peer, url) = listen_on_socket(greet(plugin, ABLE), script);
        let target = mysql::Target::parse(&url).unwrap();
        drop(target.open(support::LOAD).await.expect(plugin));
        let heard = peer.await.unwrap();
        assert_eq!(b"me\0", &heard[0][32..35], "{plugin}");
        assert_eq!(proofs[0], usize::from(heard[0][35]), "{plugin}");
        assert!(heard[0].ends_with(format!("db\0{named}\0").as_bytes()));
        let further: Vec<usize> = heard[1..login.len()].iter().map(Vec::len).collect();
        assert_eq!(proofs[1..], further, "{plugin}");
        let settings = &heard[login.len()..];
        assert_eq!(b"\x03SET NAMES utf8mb4"[..], settings[0]);
        assert!(settings[2].ends_with(b"ISOLATION LEVEL READ COMMITTED"));
    }
}

/// What keeps a session from beginning is told by its own code and remedy; the password never is.
#[tokio::test]
async fn every_refused_login_has_its_reason() {
    let too_many = b"\xff\x10\x04Too many connections".to_vec();
    let cases: [(Vec<u8>, Script, &str, &str); 8] = [
        (too_many, &[], "too-many-connections", "max_connections"),
        (
            greet(NATIVE, ABLE),
            &[&[DENIED]],
            "wrong-password",
            "password",
        ),
        (
            greet(NATIVE, ABLE),
            &[&[ASK_DIALOG]],
            "not-admitted",
            NATIVE,
        ),
        (
            greet(CACHING, ABLE),
            &[&[SEND_PASSWORD]],
            "not-admitted",
            "tls=require",
        ),
        (
            greet(CACHING, ABLE & !PLUGIN_AUTH),
            &[],
            "server-too-old",
            "MariaDB",
        ),
        (
            b"220 mail.example.com ESMTP".to_vec(),
            &[],
            "not-mysql",
            "port",
        ),
        (greet(NATIVE, ABLE), &[&[b"\x42"]], "not-mysql", "port"),
        (greet(NATIVE, ABLE), &[], "connect-failed", "log"),
    ];
    for (greeting, script, code, remedy) in cases {
        let (_peer, url) = listen_on_port(greeting, answers(script)).await;
        let error = failure(&url).await;
        assert_eq!(code, error.code, "{error}");
        assert!(error.remedy.contains(remedy), "{error}");
        assert!(!error.to_string().contains("anvil"), "{error}");
    }
}

/// TLS that is demanded and not offered is refused before anything of the login is sent.
#[tokio::test]
async fn a_server_without_tls_is_told_no_user() {
    let (peer, url) = listen_on_port(greet(NATIVE, ABLE), answers(&[&[OK]])).await;
    let error = failure(&format!("{url}?tls=require")).await;
    assert_eq!(("tls-not-offered", 3), (error.code, error.exit()));
    assert!(peer.await.unwrap().is_empty());
}

/// A server that greets and then says nothing is given up, and so is one that says nothing at all.
#[tokio::test]
async fn a_silent_server_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let url = format!("mysql://me:anvil@127.0.0.1:{port}/db?connect_timeout=1");
    let error = failure(&url).await;
    assert_eq!(("connect-timeout", 4), (error.code, error.exit()));
    let (_peer, url) = listen_on_socket(greet(NATIVE, ABLE), answers(&[&[], &[]]));
    assert_eq!("connect-timeout", failure(&url).await.code);
}
