//! Each way in which a connection can fail has a message of its own.

use crate::support;
use stithy_hammer::engines::postgresql;
use stithy_hammer::engines::{Control, Target};
use stithy_hammer::error::HammerError;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// The error, which is the same for control connections and for users.
async fn failure(url: &str) -> HammerError {
    let target = postgresql::Target::parse(url).expect("the URL is well formed");
    let of_client = target.connect().await.err().expect("the connection fails");
    let of_session = target.open(support::LOAD).await.err();
    let of_session = of_session.expect("the connection fails");
    if of_client.code != "connect-timeout" {
        // How long each of them waits is in its message.
        assert_eq!(of_client.to_failure(), of_session.to_failure());
    }
    assert_eq!(of_client.code, of_session.code);
    of_client
}

/// A good URL of a Unix socket leads to a connection that answers and names the hammer.
#[tokio::test]
async fn a_socket_url_connects_and_names_the_hammer() {
    let instance = support::shared();
    let client = postgresql::Target::parse(&instance.url("postgres"))
        .unwrap()
        .connect()
        .await
        .unwrap();
    let sql = "SELECT current_setting('application_name')";
    let rows = client.query("asking", sql, &[]).await.unwrap();
    assert_eq!(Some("stithy-hammer"), rows[0][0].text());
}

/// A wrong password is the user's to fix: exit code 3.
#[tokio::test]
async fn a_wrong_password_is_told_as_such() {
    let instance = support::shared();
    let error = failure(&instance.url_as(support::USER, "wrong", "postgres")).await;
    assert_eq!(("wrong-password", 3), (error.code, error.exit()));
    assert!(!error.to_string().contains("wrong@"), "{error}");
}

/// A password that is missing is reported as such, too.
#[tokio::test]
async fn a_missing_password_is_told_as_such() {
    let instance = support::shared();
    let url = format!(
        "postgresql://{}@/postgres?host={}",
        support::USER,
        instance.directory().display()
    );
    let error = failure(&url).await;
    assert_eq!(("wrong-password", 3), (error.code, error.exit()));
}

/// A database that is not there is named.
#[tokio::test]
async fn a_missing_database_is_named() {
    let error = failure(&support::shared().url("nowhere")).await;
    assert_eq!(("no-such-database", 3), (error.code, error.exit()));
    assert!(error.problem.contains("nowhere"), "{error}");
}

/// Where nothing listens, the message says so: exit code 4.
#[tokio::test]
async fn a_socket_without_server_is_refused() {
    let error = failure("postgresql://a:b@/c?host=/tmp/stithy-no-such-directory").await;
    assert_eq!(("connect-refused", 4), (error.code, error.exit()));
    let error = failure("postgresql://a:b@127.0.0.1:1/c").await;
    assert_eq!(("connect-refused", 4), (error.code, error.exit()));
    assert!(error.place.contains("127.0.0.1 port 1"), "{error}");
}

/// A name without address is distinguished from a server that does not listen.
#[tokio::test]
async fn a_host_without_address_is_told_as_such() {
    let error = failure("postgresql://a:b@no-such-host.invalid/c").await;
    assert_eq!(("host-unknown", 4), (error.code, error.exit()), "{error}");
    assert!(error.place.contains("no-such-host.invalid"), "{error}");
}

/// What listens, and what it answers; it answers every connection alike.
async fn listener(says: &'static [u8], then_closes: bool) -> String {
    let listener = TcpListener::bind("[::1]:0").await.expect("IPv6 is there");
    let port = listener.local_addr().expect("it is bound").port();
    tokio::spawn(async move {
        let mut kept = Vec::new();
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.read(&mut [0; 512]).await;
            let _ = stream.write_all(says).await;
            if !then_closes {
                kept.push(stream);
            }
        }
    });
    format!("postgresql://a:sesame@[::1]:{port}/c?connect_timeout=1")
}

/// Whatever speaks another protocol, or none, is given up in time and reported as such.
#[tokio::test]
async fn what_is_no_postgresql_is_told_as_such() {
    const HTTP: &[u8] = b"HTTP/1.1 400 Bad Request\r\n\r\n";
    const SSH: &[u8] = b"SSH-2.0-OpenSSH_9.2\r\n";
    let cases: [(&'static [u8], _, _, _); 9] = [
        (HTTP, false, "prefer", "not-postgresql"),
        (HTTP, false, "disable", "not-postgresql"),
        (SSH, true, "require", "tls-failed"),
        (SSH, true, "disable", "connect-failed"),
        (b"", true, "prefer", "connect-failed"),
        (b"", true, "disable", "connect-failed"),
        (b"", false, "prefer", "connect-timeout"),
        (b"", false, "disable", "connect-timeout"),
        (b"S\0\0\0", true, "require", "tls-failed"),
    ];
    // All at a time, as some are waited for.
    let together = tokio::task::LocalSet::new();
    let judged = cases.map(|(says, then_closes, mode, expected)| {
        together.spawn_local(async move {
            let url = listener(says, then_closes).await;
            let error = failure(&format!("{url}&sslmode={mode}")).await;
            let seen = (error.code, error.exit());
            assert_eq!((expected, 4), seen, "{says:?} {mode}: {error}");
            assert!(error.place.contains("::1 port"), "{error}");
            assert!(!error.to_string().contains("sesame"), "{error}");
        })
    });
    let all = async {
        for each in judged {
            each.await.expect("it is told as such");
        }
    };
    together.run_until(all).await;
}

/// What is no URL of PostgreSQL is a usage error: exit code 2.
#[test]
fn a_malformed_url_is_a_usage_error() {
    for url in [
        "mysql://a:b@c/d",
        "",
        "postgresql://",
        "postgresql://u:p@/db",
        "postgresql://h:x/db",
    ] {
        let error = postgresql::Target::parse(url).expect_err(url);
        assert_eq!(("url-invalid", 2), (error.code, error.exit()), "{url}");
    }
}

/// Neither place nor debug output holds the password.
#[test]
fn the_password_is_never_shown() {
    let target = postgresql::Target::parse("postgresql://u:sesame@h:5433/db").unwrap();
    assert_eq!("h port 5433, database db", target.place());
    assert!(!format!("{target:?}").contains("sesame"));
}
