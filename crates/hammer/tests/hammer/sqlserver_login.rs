//! How a login to SQL Server goes, with and without TLS, against a server that says what it is told to say.

use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::Arc;

use crate::support;
use crate::tds::*;
use crate::tls::{make_certificates, Made};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::ServerConnection;
use stithy_hammer::engines::{Session, Target};
use stithy_hammer::error::HammerError;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;

/// The login names user and database and hides the password; the session's settings follow.
#[tokio::test]
async fn a_login_leads_to_a_session() {
    let (peer, session) = open(vec![]).await;
    session.close().await;
    let heard = peer.await.unwrap();
    assert_eq!(vec![PRELOGIN, LOGIN, TEXT], types(&heard));
    let login = &heard[1].1;
    assert_eq!((login.len() as u32).to_le_bytes(), login[..4]);
    let field = |at: usize| {
        let number = |at| usize::from(u16::from_le_bytes([login[at], login[at + 1]]));
        login[number(at)..][..2 * number(at + 2)].to_vec()
    };
    assert_eq!([wide("me"), wide("db")], [field(40), field(68)]);
    let password = field(44).into_iter();
    let password: Vec<u8> = password.map(|byte| (byte ^ 0xA5).rotate_left(4)).collect();
    assert_eq!(wide("anvil"), password);
    for setting in ["SET XACT_ABORT ON", "ISOLATION LEVEL READ COMMITTED"] {
        assert!(contains(&heard[2], setting), "{setting}");
    }
}

/// What keeps a session from beginning is told by its own code and remedy; the password never is.
#[tokio::test]
async fn every_refused_login_has_its_reason() {
    let refused = [
        (18456, "wrong-password", "state"),
        (18452, "not-admitted", "mixed mode"),
        (18470, "not-admitted", "enable"),
        (4060, "no-such-database", "create"),
        (17809, "too-many-connections", "user connections"),
        (921, "not-ready", "wait"),
        (50_000, "connect-failed", "log"),
    ];
    let refused = refused.map(|(number, code, remedy)| {
        let login = error(number, "No.");
        (login, "false", vec![], code, remedy)
    });
    let loose = vec![end(), describe("Latin1_General_CI_AS")];
    let let_in_first: [(Vec<u8>, &str, Script, &str, &str); 4] = [
        (
            let_in(16),
            "true",
            vec![],
            "tls-not-offered",
            "encrypt=false",
        ),
        (let_in(16), "false", vec![], "connect-failed", "log"),
        (
            let_in(12),
            "false",
            vec![end(), describe("X_BIN2")],
            "server-too-old",
            "2016",
        ),
        (let_in(16), "false", loose, "wrong-collation", "BIN2"),
    ];
    for (login, encrypt, script, code, remedy) in refused.into_iter().chain(let_in_first) {
        let greeting = Greeting {
            login,
            ..Greeting::plain()
        };
        let (_peer, url) = listen(greeting, script).await;
        let options = format!("{url}{encrypt}&trustServerCertificate=true");
        let error = failure(&options).await;
        assert_eq!(code, error.code, "{error}");
        assert!(error.remedy.contains(remedy), "{error}");
        assert!(!error.to_string().contains("anvil"), "{error}");
    }
}

async fn failure(url: &str) -> HammerError {
    let connected = parse(url).connect().await;
    connected.err().expect("the connection fails")
}

/// What is no SQL Server, or says nothing, is told apart from one that refuses.
#[tokio::test]
async fn strangers_and_silence_are_told() {
    let answers: [(&[u8], &str); 2] = [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "not-sqlserver"),
        (b"", "connect-timeout"),
    ];
    for (answer, code) in answers {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let url =
            format!("sqlserver://me:anvil@127.0.0.1:{port}/db?connect_timeout=1&encrypt=false");
        let stranger = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            stream.write_all(answer).await.unwrap();
            stream
        };
        let (_stream, error) = tokio::join!(stranger, failure(&url));
        assert_eq!(code, error.code, "{error}");
    }
}

/// A server with a certificate that `ca.crt` signed.
fn encrypts(folder: &Path, encryption: u8) -> Greeting {
    let certificate = CertificateDer::from_pem_file(folder.join("server.crt")).unwrap();
    let key = PrivateKeyDer::from_pem_file(folder.join("server.key")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ServerConfig::builder_with_provider(provider);
    let builder = builder.with_safe_default_protocol_versions().unwrap();
    let config = builder
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key);
    Greeting {
        encryption,
        tls: Some(ServerConnection::new(Arc::new(config.unwrap())).unwrap()),
        login: let_in(16),
    }
}

/// The handshake stands in messages; all is encrypted behind it, or the login alone. Who is not believed is told no
/// user.
#[tokio::test]
async fn connections_are_encrypted_as_the_url_says() {
    let folder = std::env::temp_dir().join(format!("stithy-tds-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    make_certificates(&folder, &Made::Signed, Ipv4Addr::LOCALHOST);
    let file = |name: &str| folder.join(name).display().to_string();
    let trusted = format!("&ca={}", file("ca.crt"));
    for (encryption, options) in [
        (OF_ALL, format!("true{trusted}")),
        (OF_ALL, "true&trustServerCertificate=true".into()),
        (OF_LOGIN, format!("false{trusted}")),
        (OF_LOGIN, "false".into()),
        (OF_ALL, "false".into()),
    ] {
        let (peer, url) = listen(encrypts(&folder, encryption), vec![end()]).await;
        let session = parse(&format!("{url}{options}")).open(support::LOAD).await;
        session.expect(&options).close().await;
        let heard = peer.await.unwrap();
        assert_eq!(3, heard.len(), "{options}");
    }
    let other = format!("true&ca={}", file("other.crt"));
    let (peer, url) = listen(encrypts(&folder, OF_ALL), vec![]).await;
    let error = failure(&format!("{url}{other}")).await;
    assert_eq!("certificate-not-trusted", error.code, "{error}");
    assert!(
        error.remedy.contains("trustServerCertificate=true"),
        "{error}"
    );
    assert_eq!(1, peer.await.unwrap().len());
    fs::remove_dir_all(&folder).unwrap();
}
