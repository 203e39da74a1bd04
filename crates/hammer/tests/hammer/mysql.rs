//! Sessions and control connections on a private MariaDB: what is sent together, what an error leaves, how rows
//! are loaded, and what each failure is called.

use std::net::Ipv4Addr;
use std::sync::OnceLock;
use std::time::Duration;

use crate::support;
use crate::support::mariadb::MariaDb;
use crate::tls::{give_to_server, make_certificates, Made};
use stithy_hammer::engines::mysql;
use stithy_hammer::engines::{
    Access, Answer, Batch, Control, Copying, Params, Row, Session, Statement, Target, Value,
};
use stithy_hammer::error::HammerError;
use stithy_wire::ErrorKind;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, UnixStream};

static SHARED: OnceLock<Option<MariaDb>> = OnceLock::new();

/// The server that these tests share; its guard ends it with the program.
pub fn shared() -> Option<&'static MariaDb> {
    SHARED.get_or_init(|| MariaDb::start(&[])).as_ref()
}

async fn connect(url: &str) -> mysql::Control {
    let target = mysql::Target::parse(url).unwrap();
    target.connect().await.unwrap()
}

async fn failure(url: &str) -> HammerError {
    let target = mysql::Target::parse(url).unwrap();
    target.connect().await.err().expect("the connection fails")
}

async fn execute(control: &mysql::Control, sql: &str) {
    control.execute("preparing", sql).await.expect(sql);
}

async fn ask(control: &mysql::Control, sql: &str) -> Vec<Vec<Value>> {
    control.query("asking", sql, &[]).await.expect(sql)
}

/// The keys of a table, one after the other.
async fn keys(control: &mysql::Control, table: &str) -> Vec<i64> {
    let rows = ask(control, &format!("SELECT k FROM {table} ORDER BY k")).await;
    rows.iter().map(|row| row[0].integer()).collect()
}

const INSERT: &str = "INSERT INTO TABLE_OF_TEST VALUES (?1, ?2)";
const ADD: &str = "UPDATE TABLE_OF_TEST SET v = v + ?2 WHERE k = ?1; \
     SELECT v, v / 3 FROM TABLE_OF_TEST WHERE k = ?1";
const READ: &str = "SELECT v, k FROM TABLE_OF_TEST WHERE k <= ?1 ORDER BY k";

/// A table of keys 1 and 2, and a session with statements on it: insert, add, read, call.
async fn prepared(server: &MariaDb, table: &str) -> (mysql::Control, mysql::Session) {
    let control = connect(&server.url()).await;
    execute(
        &control,
        &format!(
            "CREATE TABLE {table} (k INT PRIMARY KEY, v INT) ENGINE = InnoDB; \
             INSERT INTO {table} VALUES (1, 10), (2, 20); \
             CREATE PROCEDURE call_{table}(new INT, added TEXT) BEGIN \
               DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END; \
               START TRANSACTION; \
               UPDATE {table} SET v = v + 1 WHERE k IN \
                 (SELECT j.k FROM JSON_TABLE(added, '$[*]' COLUMNS (k INT PATH '$')) AS j); \
               SELECT k, v FROM {table} ORDER BY k; \
               SELECT 'further'; \
               INSERT INTO {table} VALUES (new, 0); \
               COMMIT; \
             END"
        ),
    )
    .await;
    let target = mysql::Target::parse(&server.url()).unwrap();
    let mut session = target.open(support::LOAD).await.unwrap();
    let call = format!("CALL call_{table}(?, ?)");
    let texts = [INSERT, ADD, READ].map(|sql| sql.replace("TABLE_OF_TEST", table));
    let texts: Vec<&str> = texts
        .iter()
        .map(String::as_str)
        .chain([&call[..]])
        .collect();
    assert_eq!(4, session.prepare(&texts).await.unwrap().len());
    (control, session)
}

const INSERTS: Statement = Statement::numbered(0);
const ADDS: Statement = Statement::numbered(1);
const READS: Statement = Statement::numbered(2);
const CALLS: Statement = Statement::numbered(3);

fn insert(session: &mut mysql::Session, key: i32) {
    session.queue(INSERTS, |params| {
        params.int4(key);
        params.null();
    });
}

fn add(session: &mut mysql::Session, key: i16) {
    session.queue(ADDS, |params| {
        params.int2(key);
        params.int4(5);
    });
}

/// Answers are those of their statement: rows of the part that reads, changes of the part that changes, the first
/// result of a call.
#[tokio::test]
async fn answers_belong_to_their_statements() {
    let Some(server) = shared() else { return };
    let (control, mut session) = prepared(server, "answers").await;
    session.start(Batch::First(Access::Write));
    add(&mut session, 1);
    session.queue(READS, |params| params.int4(2));
    add(&mut session, 9);
    let answer = session.exchange().await.unwrap();
    let sum = answer.first(0).unwrap();
    assert_eq!((Some(15), Some(500)), (sum.integer(0), sum.cents(1)));
    let rows = answer.rows(1).map(|row| row.integer(0)).collect::<Vec<_>>();
    assert_eq!(vec![Some(15), Some(20)], rows);
    assert!(answer.first(2).is_none());
    let affected = [0, 1, 2].map(|step| answer.affected(step));
    assert_eq!([1, 2, 0], affected);
    assert!(session.in_transaction());
    assert_eq!(vec![1, 2], keys(&control, "answers").await);
    session.start(Batch::Last);
    insert(&mut session, 3);
    assert_eq!(1, session.exchange().await.unwrap().affected(0));
    assert!(!session.in_transaction());

    session.start(Batch::Whole(Access::Write));
    session.queue(CALLS, |params| {
        params.int4(4);
        params.int4_list([1, 3].into_iter());
    });
    let answer = session.exchange().await.unwrap();
    let rows = answer.rows(0).map(|row| (row.integer(0), row.integer(1)));
    let expected = [(1, Some(16)), (2, Some(20)), (3, None)];
    let expected = expected.map(|(key, value)| (Some(key), value));
    assert_eq!(expected.to_vec(), rows.collect::<Vec<_>>());
    assert_eq!(3, answer.affected(0));
    assert_eq!(vec![1, 2, 3, 4], keys(&control, "answers").await);
}

/// Nothing of a transaction stays in which a statement failed, nothing behind it is done, and the session goes on.
#[tokio::test]
async fn an_error_leaves_nothing_of_its_transaction() {
    let Some(server) = shared() else { return };
    let (control, mut session) = prepared(server, "errors").await;
    for batch in [Batch::Whole(Access::Write), Batch::First(Access::Write)] {
        session.start(batch);
        insert(&mut session, 5);
        add(&mut session, 1);
        insert(&mut session, 1);
        insert(&mut session, 6);
        let error = session.exchange().await.err().unwrap();
        assert_eq!(ErrorKind::Other, error.kind);
        assert_eq!(Some("1062"), error.code.as_deref());
        assert!(!session.in_transaction());
        session.start(Batch::Whole(Access::Write));
        session.queue(CALLS, |params| {
            params.int4(1);
            params.int4_list([1, 2].into_iter());
        });
        let error = session.exchange().await.err().unwrap();
        assert_eq!(Some("1062"), error.code.as_deref());
        let rows = ask(&control, "SELECT k, v FROM errors ORDER BY k").await;
        let row = |key, value| vec![Value::Integer(key), Value::Integer(value)];
        assert_eq!(vec![row(1, 10), row(2, 20)], rows);
    }
    // What is said to read may not write.
    session.start(Batch::Whole(Access::Read));
    session.queue(READS, |params| params.int4(1));
    insert(&mut session, 7);
    let error = session.exchange().await.err().unwrap();
    assert_eq!(Some("1792"), error.code.as_deref());
    assert_eq!(vec![1, 2], keys(&control, "errors").await);
}

/// Of two users who wait for each other one may try again, and so may one who waited too long; the other commits.
#[tokio::test]
async fn conflicts_may_be_tried_again() {
    let Some(server) = shared() else { return };
    let (control, mut one) = prepared(server, "conflicts").await;
    let target = mysql::Target::parse(&server.url()).unwrap();
    let mut other = target.open(support::LOAD).await.unwrap();
    let texts = [INSERT, ADD].map(|sql| sql.replace("TABLE_OF_TEST", "conflicts"));
    other.prepare(&[&texts[0], &texts[1]]).await.unwrap();
    for (session, key) in [(&mut one, 1), (&mut other, 2)] {
        session.start(Batch::First(Access::Write));
        add(session, key);
        session.exchange().await.unwrap();
    }
    let finish = |session: &mut mysql::Session, key| {
        session.start(Batch::Last);
        add(session, key);
    };
    finish(&mut one, 2);
    finish(&mut other, 1);
    let (first, second) = tokio::join!(one.exchange(), other.exchange());
    let errors = [first.err(), second.err()];
    let [error] = &errors.into_iter().flatten().collect::<Vec<_>>()[..] else {
        panic!("one of them is refused");
    };
    assert_eq!(ErrorKind::Retryable, error.kind, "{error}");
    assert!(!one.in_transaction() && !other.in_transaction());
    let sum = ask(&control, "SELECT CAST(SUM(v) AS SIGNED) FROM conflicts").await;
    assert_eq!(vec![vec![Value::Integer(40)]], sum);

    execute(&control, "BEGIN; UPDATE conflicts SET v = 0 WHERE k = 2").await;
    let impatient = "SET STATEMENT innodb_lock_wait_timeout = 0 FOR UPDATE conflicts SET v = 1";
    let statement = one.prepare(&[impatient]).await.unwrap()[0];
    one.start(Batch::First(Access::Write));
    insert(&mut one, 8);
    one.queue(statement, |_| ());
    let error = one.exchange().await.err().unwrap();
    assert_eq!(ErrorKind::Retryable, error.kind, "{error}");
    execute(&control, "ROLLBACK").await;
    assert_eq!(vec![1, 2], keys(&control, "conflicts").await);
}

/// A session that the server ends is lost, whatever is asked of it then.
#[tokio::test]
async fn a_session_that_was_ended_is_lost() {
    let Some(server) = shared() else { return };
    let (control, mut session) = prepared(server, "losses").await;
    let number = session.prepare(&["SELECT connection_id()"]).await.unwrap()[0];
    session.start(Batch::Whole(Access::Read));
    session.queue(number, |_| ());
    let number = session
        .exchange()
        .await
        .unwrap()
        .first(0)
        .unwrap()
        .integer(0);
    execute(&control, &format!("KILL {}", number.unwrap())).await;
    session.start(Batch::Whole(Access::Write));
    insert(&mut session, 3);
    assert!(session.exchange().await.err().unwrap().is_lost());
    assert!(session.roll_back().await.unwrap_err().is_lost());
    assert!(session.prepare(&["SELECT 1"]).await.unwrap_err().is_lost());
    assert_eq!(vec![1, 2], keys(&control, "losses").await);
}

/// Rows of a load: every kind of value, three times as many bytes as one statement takes.
fn rows_to_load(from: u32) -> Vec<u8> {
    let (mut out, format) = (Vec::new(), mysql::Control::FORMAT);
    for key in from..from + 1_000 {
        format.begin(&mut out, 6);
        format.int4(&mut out, key);
        let at = format.begin_text(&mut out);
        out.extend_from_slice(b"tab\t, \\backslash, line\n, 'quoted', caf\xc3\xa9");
        out.resize(out.len() + 1_000, b'x');
        format.end_text(&mut out, at);
        let at = format.begin_text(&mut out);
        format.end_text(&mut out, at);
        format.timestamp(&mut out, 850_000_000_000_001);
        format.cents(&mut out, -5);
        format.null(&mut out);
    }
    out
}

/// What was sent is stored as it was, in several statements; what does not fit is no warning but an error.
#[tokio::test]
async fn rows_are_loaded_as_they_are() {
    let Some(server) = shared() else { return };
    let control = connect(&server.url()).await;
    execute(
        &control,
        "CREATE TABLE loaded (k INT PRIMARY KEY, t VARCHAR(2000), e CHAR(3), d DATETIME(6), \
         m DECIMAL(12, 2), n INT) ENGINE = InnoDB CHARACTER SET latin1 COLLATE latin1_bin",
    )
    .await;
    control.begin_loading().await.unwrap();
    let mut copying = control.copy("copying", "loaded", false).await.unwrap();
    for part in 0..50 {
        copying.send(rows_to_load(1_000 * part)).await.unwrap();
    }
    copying.finish().await.unwrap();
    let sql = "SELECT COUNT(*), COUNT(n), CAST(SUM(m) * 100 AS SIGNED), MIN(d), MAX(d), MAX(e), \
         MIN(t) = MAX(t), LEFT(MIN(t), 42), LENGTH(MIN(t)) FROM loaded";
    let date = || Value::Text("2026-12-07 23:06:40.000001".into());
    let text = "tab\t, \\backslash, line\n, 'quoted', café";
    let expected = vec![
        Value::Integer(50_000),
        Value::Integer(0),
        Value::Integer(-250_000),
        date(),
        date(),
        Value::Text(String::new()),
        Value::Integer(1),
        Value::Text(format!("{text}xx")),
        Value::Integer(1_000 + text.chars().count() as i64),
    ];
    let mut given = ask(&control, sql).await.remove(0);
    if let Value::Text(start) = &mut given[7] {
        start.truncate(text.len() + 2);
    }
    assert_eq!(expected, given);

    let mut copying = control.copy("copying", "loaded", false).await.unwrap();
    copying.send(rows_to_load(49_500)).await.unwrap();
    let error = copying.finish().await.unwrap_err();
    assert_eq!(("server-error", 4), (error.code, error.exit()));
    assert!(error.problem.contains("500 rows"), "{error}");
    assert!(error.problem.contains("Duplicate entry '49500'"), "{error}");
    let copying = control.copy("copying", "nowhere", false).await;
    let error = copying.unwrap().send(b"1\t".to_vec()).await.unwrap_err();
    assert!(error.problem.contains("nowhere"), "{error}");

    execute(&control, "SET GLOBAL local_infile = OFF").await;
    let mut copying = control.copy("copying", "loaded", false).await.unwrap();
    let error = copying.send(b"1\t".to_vec()).await.unwrap_err();
    execute(
        &connect(&server.url()).await,
        "SET GLOBAL local_infile = ON",
    )
    .await;
    assert_eq!(("local-infile-off", 3), (error.code, error.exit()));
}

/// Texts larger than a packet go both ways.
#[tokio::test]
async fn texts_larger_than_a_packet_go_both_ways() {
    let Some(server) = shared() else { return };
    let sql = "SET GLOBAL max_allowed_packet = 1 << 26";
    execute(&connect(&server.url()).await, sql).await;
    let control = connect(&server.url()).await;
    let text = "0123456789abcdef".repeat((33 << 20) / 16);
    let values = [Value::Text(text.clone())];
    let rows = control.query("asking", "SELECT ?, 7", &values).await;
    let row = rows.unwrap().remove(0);
    assert!(row[0].text() == Some(&text));
    assert_eq!(7, row[1].integer());
}

/// A statement that is cancelled ends on the server, and the connection that gave it up still drops tables.
#[tokio::test]
async fn a_cancelled_statement_ends() {
    let Some(server) = shared() else { return };
    let control = connect(&server.url()).await;
    execute(&control, "CREATE TABLE given_up (k INT)").await;
    let sleep = "SELECT SLEEP(600) /* given up */";
    let watching = connect(&server.url()).await;
    let sleeping = "SELECT COUNT(*) FROM information_schema.processlist \
         WHERE info LIKE '%/* given up */' AND id <> connection_id()";
    tokio::select! {
        result = control.execute("sleeping", sleep) => panic!("it ended: {result:?}"),
        () = async {
            while ask(&watching, sleeping).await[0][0].integer() == 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        } => control.cancel().await,
    }
    while ask(&watching, sleeping).await[0][0].integer() > 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let error = control.execute("asking", "SELECT 1").await.unwrap_err();
    assert_eq!("connection-lost", error.code);
    control.drop_tables(&["given_up"]).await.unwrap();
    let names = ["given_up", "warehouse"];
    let present = control.present_tables(&names).await.unwrap();
    assert_eq!(vec!["warehouse"], present);
}

/// What keeps users from connecting is named, with what to do about it.
#[tokio::test]
async fn refusals_of_the_server_are_named() {
    let Some(server) = shared() else { return };
    let url = server.url();
    let socket = url.split('?').next_back().unwrap();
    let url_of = |login: &str, rest: &str| format!("mariadb://{login}@/{rest}?{socket}");
    let control = connect(&url_of("root", "stithy")).await;
    execute(
        &control,
        "CREATE USER limited@localhost IDENTIFIED BY 'x' WITH MAX_USER_CONNECTIONS 3; \
         GRANT SELECT ON stithy.* TO limited@localhost; \
         CREATE USER of_system@localhost IDENTIFIED VIA unix_socket",
    )
    .await;
    // In Debian the plugin comes with a package that starts a server of its own; without it the user is one of none.
    let signs = "INSTALL SONAME 'auth_ed25519'; \
                 CREATE USER signing@localhost IDENTIFIED VIA ed25519 USING PASSWORD('x')";
    let signing = match control.execute("creating a user", signs).await {
        Ok(()) => "not-admitted",
        Err(error) if error.problem.contains("auth_ed25519") => "wrong-password",
        Err(error) => panic!("{error}"),
    };
    let (user, password) = (support::USER, support::PASSWORD);
    for (url, code) in [
        (url_of(&format!("{user}:wrong"), "stithy"), "wrong-password"),
        (url_of(user, "stithy"), "wrong-password"),
        (
            url_of(&format!("{user}:{password}"), "nowhere"),
            "no-such-database",
        ),
        (url_of("limited:x", "mysql"), "not-permitted"),
        (url_of("of_system:x", "stithy"), "wrong-password"),
        (url_of("signing:x", "stithy"), signing),
    ] {
        let error = failure(&url).await;
        assert_eq!((code, 3), (error.code, error.exit()), "{error}");
        assert!(!error.to_string().contains(password), "{error}");
    }
    let limited = connect(&url_of("limited:x", "stithy")).await;
    let error = limited.execute("creating", "CREATE TABLE t (k INT)").await;
    assert_eq!("not-permitted", error.unwrap_err().code);
    limited.require_connections(2).await.unwrap();
    for (control, count, limit) in [
        (&limited, 3, "max_user_connections to 4"),
        (&control, 300, "max_connections to 3"),
    ] {
        let error = control.require_connections(count).await.unwrap_err();
        assert_eq!(("too-many-connections", 3), (error.code, error.exit()));
        assert!(error.remedy.contains(limit), "{error}");
    }
    let sizes = control.sizes().await;
    assert_eq!(Some(1 << 30), sizes.cache_bytes);
    assert!(sizes.database_bytes > Some(100 << 20), "{sizes:?}");
}

/// A port of this machine that leads to a server's socket.
async fn bridge(socket: String) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut near, _)) = listener.accept().await {
            let mut far = UnixStream::connect(&socket).await.unwrap();
            tokio::spawn(async move {
                // Either end may close first.
                let _ = copy_bidirectional(&mut near, &mut far).await;
            });
        }
    });
    port
}

/// Users and control are encrypted as the URL says, and believe the certificates that it names.
#[tokio::test]
async fn connections_are_encrypted_as_the_url_says() {
    let Some(plain) = shared() else { return };
    let files = support::shared().directory().join("tls-mysql");
    std::fs::create_dir(&files).unwrap();
    // Whose guard removes it.
    give_to_server(&files);
    make_certificates(&files, &Made::Signed, Ipv4Addr::LOCALHOST);
    let file = |name: &str| files.join(name).display().to_string();
    let settings = [
        format!("ssl-cert={}", file("server.crt")),
        format!("ssl-key={}", file("server.key")),
    ];
    let settings = settings.each_ref().map(String::as_str);
    let server = MariaDb::start(&settings).unwrap();
    let socket_of = |server: &MariaDb| {
        let url = server.url();
        url.rsplit_once('=').unwrap().1.to_string()
    };
    let (user, password) = (support::USER, support::PASSWORD);
    let port = bridge(socket_of(&server)).await;
    let url =
        |options: &str| format!("mariadb://{user}:{password}@127.0.0.1:{port}/stithy?{options}");
    let (ca, other) = (file("ca.crt"), file("other.crt"));
    for (options, encrypted) in [
        ("tls=disable".to_string(), false),
        ("tls=prefer".into(), true),
        ("tls=require".into(), true),
        (format!("tls=verify-ca&ca={ca}"), true),
        (format!("tls=verify-full&ca={ca}"), true),
    ] {
        let control = connect(&url(&options)).await;
        let cipher = ask(&control, "SHOW SESSION STATUS LIKE 'Ssl_cipher'").await;
        assert_eq!(encrypted, cipher[0][1].text() != Some(""), "{options}");
        let target = mysql::Target::parse(&url(&options)).unwrap();
        let mut session = target.open(support::LOAD).await.unwrap();
        session.prepare(&["SELECT 1"]).await.unwrap();
        session.close().await;
    }
    let error = failure(&url(&format!("tls=verify-full&ca={other}"))).await;
    assert_eq!("certificate-not-trusted", error.code);
    assert!(error.remedy.contains("ca="), "{error}");
    let plain = bridge(socket_of(plain)).await;
    let url = format!("mariadb://{user}:{password}@127.0.0.1:{plain}/stithy?tls");
    connect(&format!("{url}=prefer")).await;
    let error = failure(&format!("{url}=require")).await;
    assert_eq!("tls-not-offered", error.code);
}
