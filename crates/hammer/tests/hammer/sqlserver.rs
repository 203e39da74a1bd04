//! Sessions and control connections of SQL Server, against a server that says what it is told to say: what is sent
//! together, what an error leaves, how rows are loaded; and the same on a server of one's own.

use std::time::Duration;

use crate::support;
use crate::tds::*;
use stithy_hammer::engines::sqlserver;
use stithy_hammer::engines::{
    Access, Answer, Batch, Control, Copying, Params, Row, Session, Statement, Target, Value,
};
use stithy_wire::ErrorKind;
use tokio::time::timeout;

const ADDS: Statement = Statement::numbered(0);
const READS: Statement = Statement::numbered(1);
const CALLS: Statement = Statement::numbered(2);

/// Prepares three statements, for which the server looks for a procedure.
async fn prepare(session: &mut sqlserver::Session) -> Result<(), String> {
    let texts = [
        "UPDATE t SET v = v + @p2 OUTPUT inserted.v WHERE k = @p1",
        "SELECT v FROM t WHERE k = @p1",
        "EXEC pay @p2, @p1",
    ];
    let prepared = session.prepare(&texts).await.map_err(|e| e.to_string())?;
    assert_eq!([ADDS, READS, CALLS], prepared[..]);
    Ok(())
}

fn add(session: &mut sqlserver::Session) {
    session.queue(ADDS, |params| {
        params.int4(1);
        params.int2(5);
    });
}

fn read(session: &mut sqlserver::Session) {
    session.queue(READS, |params| params.int4(1));
}

/// The answer to a statement that gave one integer, alone or with others.
fn answer(value: i32, more: bool) -> Vec<u8> {
    [integers(&[value]), end_of_call(Some(1), more)].concat()
}

/// The same, to one that is prepared.
fn first_answer(value: i32, number: u8) -> Vec<u8> {
    let rows = [integers(&[value]), done(0xFF, Some(1), true)].concat();
    [rows, handle(number), end_of_call(None, false)].concat()
}

/// Statements are prepared when they are first executed; reads go with what stands before them, and their answers
/// are theirs. A statement alone has no transaction around it, and a procedure is called by its name.
#[tokio::test]
async fn what_is_known_is_sent_together() {
    let together = [answer(20, true), answer(20, true), answer(21, false)].concat();
    let called = [integers(&[3, 4]), integers(&[9]), end_of_call(None, false)].concat();
    let first = [
        answer(7, false),
        begun(),
        first_answer(15, 1),
        first_answer(15, 2),
    ];
    let then = [committed(), begun(), together, committed(), called];
    let script = [&first[..], &then].concat();
    let (peer, mut session) = open(script).await;
    prepare(&mut session).await.unwrap();
    session.start(Batch::First(Access::Write));
    add(&mut session);
    read(&mut session);
    let value = session.exchange().await.unwrap().first(1);
    assert_eq!(Some(15), value.unwrap().integer(0));
    assert!(session.in_transaction());
    session.start(Batch::Last);
    session.exchange().await.unwrap();
    session.start(Batch::Whole(Access::Write));
    add(&mut session);
    read(&mut session);
    read(&mut session);
    let answer = session.exchange().await.unwrap();
    let values = [0, 1, 2].map(|step| answer.first(step).unwrap().cents(0));
    assert_eq!([Some(2000), Some(2000), Some(2100)], values);
    assert_eq!([1, 1, 1], [0, 1, 2].map(|step| answer.affected(step)));
    assert!(!session.in_transaction());
    session.start(Batch::Whole(Access::Write));
    session.queue(CALLS, |params| {
        params.int2(1);
        params.text(b"x");
    });
    let answer = session.exchange().await.unwrap();
    let values: Vec<_> = answer.rows(0).map(|row| row.integer(0)).collect();
    assert_eq!(vec![Some(3), Some(4)], values);
    session.close().await;
    let heard = heard(peer, 4).await;
    const ASKED: [u8; 8] = [14, 3, 3, 14, 14, 3, 14, 3];
    assert_eq!(ASKED[..], types(&heard));
    assert_eq!([13, 13, 12], [1, 2, 5].map(|at| procedure(&heard[at])));
    assert!(contains(&heard[1], "@p1 int,@p2 smallint"));
    assert_eq!(7, heard[1].1[10], "the transaction is named");
    let call = [&[3, 0][..], &wide("pay"), &[0, 0, 0, 0, 0xA7]].concat();
    assert!(heard[7].1[22..].starts_with(&call));
}

/// Behind an error nothing is sent but what undoes an open transaction, and the error has its class; a procedure that
/// is not there is refused at once.
#[tokio::test]
async fn an_error_ends_the_batch() {
    for (number, kind, undone) in [
        (1205, ErrorKind::Retryable, true),
        (2627, ErrorKind::Other, false),
        (1105, ErrorKind::Full, false),
    ] {
        let error = error(number, "No.");
        let refused = match undone {
            true => [rolled_back(), error].concat(),
            false => error,
        };
        let undo = [rolled_back(), end()].concat();
        let script = vec![answer(7, false), begun(), refused, undo];
        let (peer, mut session) = open(script).await;
        prepare(&mut session).await.unwrap();
        session.start(Batch::Whole(Access::Write));
        add(&mut session);
        add(&mut session);
        let error = session.exchange().await.err().unwrap();
        assert_eq!((kind, Some(number.to_string())), (error.kind, error.code));
        assert!(!session.in_transaction());
        session.close().await;
        let heard = heard(peer, 4).await;
        assert_eq!(if undone { 2 } else { 3 }, heard.len(), "{number}");
    }
    let absent = [texts(&[&[None]]), end_of_call(Some(1), false)].concat();
    let (_peer, mut session) = open(vec![absent]).await;
    let error = prepare(&mut session).await.unwrap_err();
    assert!(error.contains("no procedure pay"), "{error}");
}

/// An answer that does not come, or ends in its midst, is a lost connection.
#[tokio::test]
async fn a_lost_connection_is_told() {
    for last in [vec![], integers(&[1])] {
        let (_peer, mut session) = open(vec![answer(7, false), last]).await;
        prepare(&mut session).await.unwrap();
        session.start(Batch::Whole(Access::Write));
        add(&mut session);
        let exchanged = timeout(Duration::from_secs(10), session.exchange()).await;
        assert!(exchanged.unwrap().err().unwrap().is_lost());
    }
}

/// Rows are sent in the order of the table's key, in the types of its columns; what the server then refuses is told.
#[tokio::test]
async fn rows_are_loaded_in_the_order_of_keys() {
    let columns =
        b"\x81\x02\0\0\0\0\0\0\0\x34\x01k\0\0\0\0\0\x01\0\xaf\x02\0\x09\x04\0\0\x34\x01c\0";
    let names = texts(&[&[Some("k")], &[Some("c]")]]);
    let table = [
        [names, end_of_call(Some(2), false)].concat(),
        [integers_of_order(), end_of_call(Some(1), false)].concat(),
        [&columns[..], &end()].concat(),
        end(),
    ];
    let full = error(9002, "The log is full.");
    let script = [&table[..], &[end()], &table, &[full]].concat();
    let (peer, control) = connect(script).await;
    for failure in [None, Some("disk-full")] {
        let mut copying = control.copy("copying t", "t", true).await.unwrap();
        let format = <sqlserver::Control as Control>::FORMAT;
        let mut rows = Vec::new();
        for number in [1, 2] {
            format.begin(&mut rows, 2);
            format.int2(&mut rows, number);
            match number {
                1 => format.null(&mut rows),
                _ => {
                    let at = format.begin_text(&mut rows);
                    rows.extend_from_slice(b"ab");
                    format.end_text(&mut rows, at);
                }
            }
        }
        copying.send(rows).await.unwrap();
        let error = copying.finish().await.err();
        assert_eq!(failure, error.map(|error| error.code));
    }
    drop(control);
    let heard = heard(peer, 4).await;
    let insert = "INSERT BULK t ([k] smallint, [c]]] char(2)) WITH (TABLOCK, ORDER([k] DESC))";
    assert!(contains(&heard[3], insert));
    let (of, rows) = &heard[4];
    assert_eq!(ROWS, *of);
    let [head, tail] = [
        &b"\x81\x02\0"[..],
        b"\xd1\x01\0\xff\xff\xd1\x02\0\x02\0ab\xfd\0\0\0\0\0\0\0\0\0\0\0\0",
    ];
    assert!(rows.starts_with(head) && rows.ends_with(tail), "{rows:x?}");
}

/// A key that descends.
fn integers_of_order() -> Vec<u8> {
    let columns = b"\x81\x02\0\0\0\0\0\x01\0\xe7\x40\x1f\x09\x04\0\0\x34\0\0\0\0\0\0\0\x38\0";
    [&columns[..], b"\xd1\x02\0k\0\x01\0\0\0"].concat()
}

/// A statement that was given up is cancelled, and the connection goes on.
#[tokio::test]
async fn what_is_given_up_is_cancelled() {
    let cancelled = vec![0xFD, 0x22, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let (peer, control) = connect(vec![vec![], cancelled, end()]).await;
    let waiting = control.execute("waiting", "WAITFOR DELAY '1:00'");
    assert!(timeout(Duration::from_millis(100), waiting).await.is_err());
    control.cancel().await;
    control.execute("going on", "SELECT 1").await.unwrap();
    drop(control);
    assert_eq!(vec![TEXT, ATTENTION, TEXT], types(&heard(peer, 4).await));
}

/// A table of 3,000 rows on a real server, loaded in a transaction with its creation, and a procedure on it.
async fn load_real(control: &sqlserver::Control) {
    let execute = |sql: &'static str| control.execute("testing", sql);
    let drop = "DROP TABLE IF EXISTS tds_test; DROP PROCEDURE IF EXISTS tds_pay";
    execute(drop).await.unwrap();
    control.begin("testing").await.unwrap();
    let create = "CREATE TABLE tds_test (k int NOT NULL PRIMARY KEY, v decimal(8,2) NULL, \
         c char(4) NOT NULL, at datetime2(6) NULL)";
    execute(create).await.unwrap();
    let mut copying = control.copy("testing", "tds_test", true).await.unwrap();
    let format = <sqlserver::Control as Control>::FORMAT;
    let mut rows = Vec::new();
    for number in 1..=3000 {
        format.begin(&mut rows, 4);
        format.int4(&mut rows, number);
        format.cents(&mut rows, -5);
        let at = format.begin_text(&mut rows);
        rows.extend_from_slice(b"ab");
        format.end_text(&mut rows, at);
        match number {
            1 => format.null(&mut rows),
            _ => format.timestamp(&mut rows, 850_000_000_000_001),
        }
    }
    copying.send(rows).await.unwrap();
    copying.finish().await.unwrap();
    control.commit("testing").await.unwrap();
    let procedure = "CREATE PROCEDURE tds_pay @k int, @keys nvarchar(max) AS BEGIN \
         SET NOCOUNT ON; BEGIN TRAN; UPDATE tds_test SET v = v + 1 WHERE k = @k; \
         SELECT v, c FROM tds_test WHERE k = @k; COMMIT; END";
    execute(procedure).await.unwrap();
}

/// On a server that executes SQL: rows that are loaded are read as they were, statements and procedures answer, and
/// an error undoes its transaction.
#[tokio::test]
async fn a_real_server_does_what_is_asked() {
    let Some(url) = support::sqlserver::server_url() else {
        return;
    };
    let target = parse(&url);
    let control = target.connect().await.unwrap();
    load_real(&control).await;
    let sql = "SELECT k, v, c, at FROM tds_test WHERE k <= @p1 ORDER BY k";
    let rows = control.query("testing", sql, &[Value::Integer(2)]).await;
    let text = |text: &str| Value::Text(text.into());
    let row = |k, at| vec![Value::Integer(k), text("-0.05"), text("ab  "), at];
    let moment = text("2026-12-07 23:06:40.000001");
    assert_eq!(vec![row(1, Value::Null), row(2, moment)], rows.unwrap());
    let mut session = target.open(support::LOAD).await.unwrap();
    let texts = [
        "UPDATE tds_test SET v = v + @p2 OUTPUT inserted.v WHERE k = @p1",
        "SELECT v, c FROM tds_test WHERE k <= @p1 ORDER BY k",
        "EXEC tds_pay @p1, @p2",
        "INSERT INTO tds_test (k, c) VALUES (@p1, @p2)",
    ];
    session.prepare(&texts).await.unwrap();
    for round in 1..=3 {
        session.start(Batch::Whole(Access::Write));
        session.queue(ADDS, |params| {
            params.int4(2);
            params.cents(5);
        });
        (0..2).for_each(|_| session.queue(READS, |params| params.int4(2)));
        let answer = session.exchange().await.unwrap();
        assert_eq!(Some(5 * round - 5), answer.first(0).unwrap().cents(0));
        assert_eq!([1, 2, 2], [0, 1, 2].map(|step| answer.affected(step)));
        let values: Vec<_> = answer.rows(2).map(|row| row.cents(0)).collect();
        assert_eq!(vec![Some(-5), Some(5 * round - 5)], values);
        assert!(!session.in_transaction());
    }
    session.start(Batch::Whole(Access::Write));
    session.queue(CALLS, |params| {
        params.int4(3);
        params.int4_list([1, 2].into_iter());
    });
    let row = session.exchange().await.unwrap().first(0).unwrap();
    assert_eq!((Some(95), Some(&b"ab  "[..])), (row.cents(0), row.bytes(1)));
    session.start(Batch::Whole(Access::Write));
    for key in [5000, 1, 5001] {
        session.queue(Statement::numbered(3), |params| {
            params.int4(key);
            params.text(b"x");
        });
    }
    let error = session.exchange().await.err().unwrap();
    assert_eq!(Some("2627"), error.code.as_deref(), "{error}");
    assert!(!session.in_transaction());
    let sql = "SELECT COUNT(*) FROM tds_test";
    let count = control.query("testing", sql, &[]).await;
    assert_eq!(3000, count.unwrap()[0][0].integer());
    session.close().await;
    control.require_connections(2).await.unwrap();
    control.drop_tables(&["tds_test"]).await.unwrap();
}
