//! Over TLS everything works as without, and each way in which it can fail has a message of its own.

use std::fs;
use std::net::Ipv4Addr;
use std::os::unix::fs::{chown, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::OnceLock;

use crate::oltp;
use crate::support::{self, jobs, Instance, Place};
use serde_json::json;
use stithy_hammer::engines::postgresql;
use stithy_hammer::engines::{Access, Answer, Batch, Control, Row, Session, Target};
use stithy_hammer::error::HammerError;
use stithy_wire::{DataShape, Job, Message, RunJob, WarmUpJob};

/// The name that certificates are for.
const NAME: &str = "db.test";

static NUMBER: AtomicU8 = AtomicU8::new(1);

/// How a server's certificate is made.
pub enum Made {
    /// Signed by `ca.crt`, for [`NAME`] and the server's address.
    Signed,
    /// As PostgreSQL's documentation makes one by itself: it may sign, and names nobody but in its
    /// subject.
    ByItself,
    /// Signed by `ca.crt`, of version 1.
    Old,
    /// Signed by `ca.crt`, and its time is over.
    Expired,
    /// Not at all: the server has no TLS.
    Not,
}

/// A server on an address of its own, so that all can have the usual port.
struct Server {
    instance: Instance,
    address: Ipv4Addr,
    files: PathBuf,
}

impl Server {
    fn start(made: &Made) -> Self {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let [_, _, high, low] = std::process::id().to_be_bytes();
        let address = Ipv4Addr::new(127, high | 1, low, number);
        // It goes with the shared instance.
        let files = support::shared().directory().join(format!("tls-{number}"));
        fs::create_dir_all(&files).expect("the instance's directory can be written to");
        give_to_server(&files);
        make_certificates(&files, made, address);
        let listen = format!("listen_addresses={address}");
        let certificate = format!("ssl_cert_file={}", files.join("server.crt").display());
        let key = format!("ssl_key_file={}", files.join("server.key").display());
        let settings = match made {
            Made::Not => vec![listen.as_str()],
            _ => vec![listen.as_str(), "ssl=on", &certificate, &key],
        };
        let instance = Instance::start_empty(&settings);
        Server {
            instance,
            address,
            files,
        }
    }

    /// The URL over TCP, by name, with options.
    fn url(&self, database: &str, options: &str) -> String {
        self.url_of(NAME, database, options)
    }

    fn url_of(&self, host: &str, database: &str, options: &str) -> String {
        let (user, password, address) = (support::USER, support::PASSWORD, self.address);
        format!("postgresql://{user}:{password}@{host}/{database}?hostaddr={address}&{options}")
    }

    fn file(&self, name: &str) -> String {
        self.files.join(name).display().to_string()
    }
}

/// The server with a signed certificate, which tests share. Its guard ends it with the program.
fn signed() -> &'static Server {
    static SIGNED: OnceLock<Server> = OnceLock::new();
    SIGNED.get_or_init(|| Server::start(&Made::Signed))
}

/// Makes a server's certificate and key in a folder, and the authority that signed it.
pub fn make_certificates(files: &Path, made: &Made, address: Ipv4Addr) {
    const NEW_KEY: &str = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";
    const SIGN: &str =
        "x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -out server.crt";
    for authority in ["ca", "other"] {
        let files_of =
            format!("-keyout {authority}.key -out {authority}.crt -subj /CN={authority}");
        openssl(files, &format!("req -x509 {NEW_KEY} {files_of} -days 2"));
    }
    let request = format!("req {NEW_KEY} -keyout server.key -out server.csr -subj /CN={NAME}");
    openssl(files, &request);
    let names = format!("subjectAltName=DNS:{NAME},IP:{address}\nbasicConstraints=CA:FALSE\n");
    fs::write(files.join("names"), names).expect("the folder can be written to");
    match made {
        Made::Signed => openssl(files, &format!("{SIGN} -days 2 -extfile names")),
        Made::Expired => openssl(files, &format!("{SIGN} -days -1 -extfile names")),
        Made::Old => openssl(files, &format!("{SIGN} -days 2")),
        Made::ByItself => openssl(
            files,
            &format!("req -x509 -new -key server.key -out server.crt -subj /CN={NAME} -days 2"),
        ),
        Made::Not => {}
    }
    let key = files.join("server.key");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).expect("it is ours");
    give_to_server(&key);
}

fn openssl(files: &Path, arguments: &str) {
    let mut command = Command::new("openssl");
    command.args(arguments.split(' ')).current_dir(files);
    let output = command.output();
    let output = output.expect("these tests need openssl: install the package openssl");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "openssl {arguments}: {errors}");
}

/// The server's user is that of a scratch instance's directory.
pub fn give_to_server(path: &Path) {
    let of = fs::metadata(support::shared().directory()).expect("the shared instance runs");
    if fs::metadata(path).expect("it was made").uid() != of.uid() {
        chown(path, Some(of.uid()), Some(of.gid())).expect("root may give a file away");
    }
}

/// Whether connections of both kinds are encrypted.
async fn encrypted(url: &str) -> [bool; 2] {
    const SQL: &str = "SELECT ssl::int FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
    let target = postgresql::Target::parse(url).expect("the URL is well formed");
    let client = target.connect().await.expect(url);
    let rows = client.query("asking", SQL, &[]).await;
    let mut session = target.open(support::LOAD).await.expect(url);
    let statement = session.prepare(&[SQL]).await.expect("anyone may ask")[0];
    session.start(Batch::Whole(Access::Read));
    session.queue(statement, |_| ());
    let answer = session.exchange().await.expect("anyone may ask");
    let of_session = answer.first(0).and_then(|row| row.integer(0));
    let of_client = rows.expect("anyone may ask")[0][0].integer();
    [of_client == 1, of_session == Some(1)]
}

/// The error, which is the same for control connections and for users.
async fn failure(url: &str) -> HammerError {
    let target = postgresql::Target::parse(url).expect("the URL is well formed");
    let of_session = target.open(support::LOAD).await.err().expect(url);
    let of_client = target.connect().await.err().expect(url);
    assert_eq!(of_session.to_failure(), of_client.to_failure());
    assert!(
        !of_client.to_string().contains(support::PASSWORD),
        "{of_client}"
    );
    of_client
}

async fn fails(url: &str, code: &str, exit: u8, word: &str) {
    let error = failure(url).await;
    assert_eq!((code, exit), (error.code, error.exit()), "{url}: {error}");
    assert!(error.to_string().contains(word), "{error}");
}

/// Loading, checking, warming, driving and a ledger work over TLS with a certificate that is verified.
#[tokio::test]
async fn every_job_works_over_tls() {
    let server = signed();
    server.instance.sql("postgres", "CREATE DATABASE jobs");
    let options = format!("sslmode=verify-full&sslrootcert={}", server.file("ca.crt"));
    let url = server.url("jobs", &options);
    jobs::done(&oltp::prepare(&url, DataShape::default())).await;
    let place = Place::new("tls");
    let run = RunJob {
        ledger: Some(place.text()),
        ..oltp::run(&url, json!({}))
    };
    let (_, summary) = jobs::window(run, |_| ()).await;
    assert!(summary.complete && summary.commits > 0, "{summary:?}");
    let Job::WarmUp(warm_up) = jobs::warm_up(&url, 1, 100) else {
        unreachable!("a warm-up job is one");
    };
    let workload = oltp::choice(json!({}));
    jobs::done(&Job::WarmUp(WarmUpJob {
        workload,
        ..warm_up
    }))
    .await;
    assert!(oltp::broken(&url, false).await.is_empty());
    assert!(oltp::verified(&url, &place).await.holds);
    let mut calibrate = jobs::calibrate(&url, 2, 0.05);
    if let Job::Calibrate(job) = &mut calibrate {
        job.think_s = None; // numbers of users are only tried where users pause
    }
    let messages = jobs::done(&calibrate).await;
    let Some(Message::CalibrateSummary(summary)) = messages.last() else {
        panic!("no summary: {messages:?}");
    };
    assert_eq!((summary.think_s, summary.users_max), (None, None));
    assert!(summary.trials.iter().all(|trial| trial.users.is_none()));
}

/// Each `sslmode` encrypts as libpq does: both kinds of connections, and never over a Unix socket.
#[tokio::test]
async fn each_mode_encrypts_as_it_says() {
    let server = signed();
    for (options, expected) in [
        ("", true),
        ("sslmode=prefer", true),
        ("sslmode=require", true),
        ("sslmode=require&channel_binding=require", true),
        ("sslmode=require&channel_binding=disable", true),
        ("sslmode=allow", false),
        ("sslmode=disable", false),
    ] {
        let url = server.url("postgres", options);
        assert_eq!([expected; 2], encrypted(&url).await, "{url}");
    }
    let socket = server.instance.url("postgres") + "&sslmode=require";
    assert_eq!([false; 2], encrypted(&socket).await);
    let named = format!("sslmode=verify-full&sslrootcert={}", server.file("ca.crt"));
    let by_address = server.url_of(&server.address.to_string(), "postgres", &named);
    assert_eq!([true; 2], encrypted(&by_address).await);
}

/// A certificate is verified as far as the mode says, and what is wrong with it is reported.
#[tokio::test]
async fn a_certificate_is_verified_as_far_as_asked() {
    let server = signed();
    let (ca, other) = (server.file("ca.crt"), server.file("other.crt"));
    for options in [
        format!("sslmode=verify-ca&sslrootcert={ca}"),
        format!("sslmode=require&sslrootcert={ca}"),
    ] {
        let url = server.url_of("elsewhere.test", "postgres", &options);
        assert_eq!([true; 2], encrypted(&url).await, "{url}");
    }
    for mode in ["require", "verify-ca", "verify-full"] {
        let url = server.url("postgres", &format!("sslmode={mode}&sslrootcert={other}"));
        fails(&url, "certificate-not-trusted", 3, &other).await;
    }
    let options = format!("sslmode=verify-full&sslrootcert={ca}");
    let url = server.url_of("elsewhere.test", "postgres", &options);
    fails(&url, "certificate-other-host", 3, "is for db.test, 127.").await;
}

/// A certificate made as PostgreSQL's documentation shows is its own root, and for its common name.
#[tokio::test]
async fn a_self_made_certificate_is_its_own_root() {
    let server = Server::start(&Made::ByItself);
    let options = format!(
        "sslmode=verify-full&sslrootcert={}",
        server.file("server.crt")
    );
    assert_eq!(
        [true; 2],
        encrypted(&server.url("postgres", &options)).await
    );
    let elsewhere = server.url_of("elsewhere.test", "postgres", &options);
    fails(
        &elsewhere,
        "certificate-other-host",
        3,
        "is for db.test, not",
    )
    .await;
    let unknown = format!("sslmode=verify-ca&sslrootcert={}", server.file("ca.crt"));
    fails(
        &server.url("postgres", &unknown),
        "certificate-not-trusted",
        3,
        "ca.crt",
    )
    .await;
}

/// A certificate whose time is over, or of an old version, is refused only where it is verified.
#[tokio::test]
async fn only_who_verifies_minds_an_old_certificate() {
    for (made, word) in [(Made::Expired, "expired"), (Made::Old, "version 3")] {
        let server = Server::start(&made);
        let url = server.url("postgres", "sslmode=require&channel_binding=require");
        assert_eq!([true; 2], encrypted(&url).await);
        let options = format!("sslmode=verify-ca&sslrootcert={}", server.file("ca.crt"));
        fails(
            &server.url("postgres", &options),
            "certificate-not-trusted",
            3,
            word,
        )
        .await;
    }
}

/// Without TLS in the server, `prefer` goes without, and what demands it says so.
#[tokio::test]
async fn a_server_without_tls_is_told_as_such() {
    let server = Server::start(&Made::Not);
    assert_eq!([false; 2], encrypted(&server.url("postgres", "")).await);
    let require = server.url("postgres", "sslmode=require");
    fails(&require, "tls-not-offered", 3, "ssl = on").await;
    let bound = server.url("postgres", "channel_binding=require");
    fails(&bound, "not-bound", 3, "channel_binding").await;
}

/// A server that admits a user in one way only is reached by the modes that may go that way.
#[tokio::test]
async fn a_second_way_is_tried_where_the_server_admits_only_that() {
    let server = signed();
    let sql = "SELECT current_setting('hba_file')";
    let rules = server.instance.sql("postgres", sql);
    let usual = fs::read_to_string(&rules).expect("root or the owner reads it");
    let admit = |rule: &str| {
        fs::write(&rules, format!("{rule}\n{usual}")).expect("root or the owner writes it");
        server.instance.sql("postgres", "SELECT pg_reload_conf()");
    };
    server
        .instance
        .sql("postgres", "CREATE ROLE only_plain LOGIN PASSWORD 'anvil'");
    admit("hostssl all only_plain all reject");
    let url = |mode: &str| {
        server
            .url("postgres", mode)
            .replace(support::USER, "only_plain")
    };
    // The server reads its rules a moment after it was asked to.
    while postgresql::Target::parse(&url("sslmode=require"))
        .unwrap()
        .connect()
        .await
        .is_ok()
    {
        tokio::task::yield_now().await;
    }
    fails(&url("sslmode=require"), "not-admitted", 3, "pg_hba.conf").await;
    assert_eq!([false; 2], encrypted(&url("sslmode=prefer")).await);
}

/// What is wrong in the URL is reported before anything is opened.
#[test]
fn what_is_wrong_in_the_url_is_told_first() {
    let folder = support::shared()
        .directory()
        .join("password")
        .display()
        .to_string();
    for (options, code, word) in [
        ("sslmode=verify-full".into(), "url-invalid", "sslrootcert"),
        ("sslmode=verify-ca".into(), "url-invalid", "sslrootcert"),
        ("sslmode=sure".into(), "url-invalid", "verify-full"),
        (
            "sslmode=require&sslrootcert=system".into(),
            "url-invalid",
            "verify-full",
        ),
        (
            "sslmode=verify-ca&sslrootcert=/no/such".into(),
            "root-certificate-invalid",
            "/no/such",
        ),
        (
            format!("sslmode=verify-ca&sslrootcert={folder}"),
            "root-certificate-invalid",
            "PEM",
        ),
    ] {
        let error = postgresql::Target::parse(&format!("postgresql://u:sesame@h/d?{options}"));
        let error = error.expect_err(&options);
        assert_eq!((code, 2), (error.code, error.exit()), "{options}: {error}");
        assert!(error.to_string().contains(word), "{error}");
        assert!(!error.to_string().contains("sesame"), "{error}");
    }
}

/// A user's session whose server goes away learns of it over TLS as well.
#[tokio::test]
async fn a_session_over_tls_learns_that_the_server_is_gone() {
    let server = Server::start(&Made::Signed);
    let target = postgresql::Target::parse(&server.url("postgres", "sslmode=require")).unwrap();
    let mut session = target.open(support::LOAD).await.expect("the server runs");
    server.instance.crash();
    let lost = session
        .prepare(&["SELECT 1"])
        .await
        .expect_err("the server is gone");
    assert!(lost.to_string().contains("lost"), "{lost}");
}
