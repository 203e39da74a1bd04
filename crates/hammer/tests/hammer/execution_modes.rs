//! Procedures and plain SQL do the same on every engine: the same transactions leave the same rows in every table.

use crate::sqlite::Folder;
use crate::support::mariadb::{MariaDb, WAREHOUSES};
use crate::support::normal::{self, Content};
use crate::support::sqlserver::SqlServer;
use crate::support::{self, jobs};
use serde_json::json;
use stithy_hammer::engines::{mysql, postgresql, sqlite, sqlserver};
use stithy_hammer::engines::{Answer, Row, Session, Target};
use stithy_hammer::workloads::order_entry::input::{Customer, District, Draws, Input, Line};
use stithy_hammer::workloads::order_entry::input::{NewOrder, Payment};
use stithy_hammer::workloads::order_entry::input_profile::{InputProfile, TouchedWarehouses};
use stithy_hammer::workloads::order_entry::options::{Options, Profile};
use stithy_hammer::workloads::order_entry::output::Shown;
use stithy_hammer::workloads::order_entry::random::NurandConstants;
use stithy_hammer::workloads::order_entry::statements::{OnMySql, OnPostgresql, OnSqlServer};
use stithy_hammer::workloads::order_entry::statements::{OnSqlite, Pair, Transactions};
use stithy_measure::Outcome;

/// Every kind of row, and those that chance may miss: an item ordered three times, a customer of
/// bad credit paying until the data are cut.
fn inputs() -> Vec<Input> {
    let constants = NurandConstants::for_run(9, 100);
    let mut draws = Draws::new(
        9,
        0,
        InputProfile {
            constants,
            kind: Profile::Specification,
            touched: TouchedWarehouses::spread(WAREHOUSES),
        },
    );
    let mut inputs: Vec<Input> = (0..1_200).map(|_| draws.next_input()).collect();
    let district = District { w_id: 2, d_id: 7 };
    let line = |i_id, quantity| Line {
        supply_w_id: 1,
        i_id,
        quantity,
    };
    let lines = [(5, 3), (77, 1), (77, 9), (77, 10), (78, 2)];
    let lines = lines.map(|(i_id, quantity)| line(i_id, quantity));
    inputs.push(Input::NewOrder(NewOrder {
        district,
        c_id: 3,
        lines: lines.into_iter().collect(),
        unused_item: false,
    }));
    for round in 0..5 {
        inputs.extend((1..=30).map(|c_id| {
            Input::Payment(Payment {
                district,
                customer_district: District { w_id: 1, d_id: 1 },
                customer: Customer::Id(c_id),
                amount_cents: 100 + round,
            })
        }));
    }
    inputs
}

/// What one user is shown: how it ended and which lines are of a brand, and of a payment the addresses.
type Screen = (Shown, Vec<Vec<u8>>);

async fn prepare<P: Pair>(session: &mut impl Session, procedures: bool) -> P::Transactions {
    let workload = jobs::order_entry_with(1, json!({ "procedures": procedures }));
    let options = Options::read(&workload).unwrap();
    P::Transactions::prepare(session, &options).await.unwrap()
}

/// Does all inputs one after the other; gives what is shown of each.
async fn act<T: Target, P: Pair>(url: &str, procedures: bool) -> Vec<Screen> {
    let target = T::parse(url).unwrap();
    let mut session = target.open(support::LOAD).await.unwrap();
    let mode = prepare::<P>(&mut session, procedures).await;
    let mut screens = Vec::new();
    for (date_us, input) in (850_000_000_000_000..).zip(inputs()) {
        let shown = mode.act(&mut session, &input, date_us).await.unwrap();
        assert!(!session.in_transaction());
        let addresses = match input {
            Input::Payment(_) => addresses(&session, procedures),
            _ => Vec::new(),
        };
        screens.push((shown, addresses));
    }
    session.close().await;
    screens
}

/// Those of customer, district and warehouse, five parts each, from the answers to a payment.
fn addresses(session: &impl Session, procedures: bool) -> Vec<Vec<u8>> {
    // A procedure gives one row, plain SQL one of each table; number and balance come first.
    let places: Vec<(u16, usize)> = match procedures {
        true => (2..17).map(|column| (0, column)).collect(),
        false => [(0, 1), (1, 0), (2, 0)]
            .into_iter()
            .flat_map(|(row, first)| (first..first + 5).map(move |column| (row, column)))
            .collect(),
    };
    let part = |(row, column)| {
        let row = session.answer().first(row).expect("a row of each table");
        row.bytes(column).expect("no part is null").to_vec()
    };
    places.into_iter().map(part).collect()
}

/// The same seeded transactions in both execution modes: the same outcomes, brands and addresses, the same
/// rows, and all conditions hold.
#[tokio::test]
async fn procedures_and_plain_sql_leave_the_same_rows() {
    let instance = support::shared();
    let copy = || instance.loaded_database_of(WAREHOUSES);
    let (first, second) = (copy(), copy());
    let screens = act::<postgresql::Target, OnPostgresql>(&first, true).await;
    assert_eq!(
        screens,
        act::<postgresql::Target, OnPostgresql>(&second, false).await
    );
    let some = |holds: fn(&Screen) -> bool| screens.iter().any(holds);
    assert!(some(|(shown, _)| shown.outcome == Outcome::RolledBack));
    assert!(some(|(shown, _)| shown.brand_lines != 0));
    assert!(some(|(_, addresses)| addresses
        .iter()
        .all(|part| !part.is_empty())
        && addresses.len() == 15));
    assert_eq!(
        instance.fingerprints(&first),
        instance.fingerprints(&second)
    );
    jobs::assert_all_conditions_hold(&second, WAREHOUSES).await;
    let (folder, server) = (Folder::new(), MariaDb::start(&[]));
    // However many loaders split the rows.
    jobs::done(&jobs::prepare(&folder.url(""), WAREHOUSES, 7)).await;
    assert_eq!(
        screens,
        act::<sqlite::Target, OnSqlite>(&folder.url(""), false).await
    );
    let expected = Content::<postgresql::Target>::of(&first, normal::POSTGRESQL).await;
    let on_sqlite = Content::<sqlite::Target>::of(&folder.url(""), normal::SQLITE).await;
    expected.assert_same_as(&on_sqlite).await;
    if let Some(server) = server {
        assert_eq!(
            screens,
            act::<mysql::Target, OnMySql>(&server.url(), true).await
        );
        let on_mariadb = Content::<mysql::Target>::of(&server.url(), normal::MYSQL).await;
        expected.assert_same_as(&on_mariadb).await;
        compare_ways_on_mariadb(&server, &screens).await;
    }
    for procedures in [true, false] {
        let purpose = format!("ways_{procedures}");
        if let Some(database) = SqlServer::loaded(&purpose, WAREHOUSES).await {
            let url = database.url();
            assert_eq!(
                screens,
                act::<sqlserver::Target, OnSqlServer>(&url, procedures).await
            );
            let content = Content::<sqlserver::Target>::of(&url, normal::SQL_SERVER).await;
            expected.assert_same_as(&content).await;
            drop(content);
            jobs::assert_all_conditions_hold(&url, WAREHOUSES).await;
            database.drop().await;
        }
    }
    instance.drop_database(&first);
    instance.drop_database(&second);
}

/// The rows of one server, on which procedures were called, are those of another on which they were not.
async fn compare_ways_on_mariadb(called: &MariaDb, screens: &[Screen]) {
    let plain = MariaDb::start(&[]).expect("there is one already");
    assert_eq!(
        screens,
        act::<mysql::Target, OnMySql>(&plain.url(), false).await
    );
    let sums = [called.checksums().await, plain.checksums().await];
    assert_eq!(sums[0], sums[1]);
    jobs::assert_all_conditions_hold(&plain.url(), WAREHOUSES).await;
}

/// An item ordered three times changes its stock three times, one after the other.
#[tokio::test]
async fn an_item_ordered_three_times_is_taken_three_times() {
    let instance = support::shared();
    let url = instance.loaded_database();
    instance.sql_at(&url, "UPDATE stock SET s_quantity = 15 WHERE s_i_id = 77");
    let target = postgresql::Target::parse(&url).unwrap();
    let mut session = target.open(support::LOAD).await.unwrap();
    let mode = prepare::<OnPostgresql>(&mut session, true).await;
    let line = |quantity| Line {
        supply_w_id: 1,
        i_id: 77,
        quantity,
    };
    let order = NewOrder {
        district: District { w_id: 1, d_id: 1 },
        c_id: 1,
        lines: [line(3), line(5), line(10)].into_iter().collect(),
        unused_item: false,
    };
    mode.act(&mut session, &Input::NewOrder(order), 1)
        .await
        .unwrap();
    session.close().await;
    // 15 - 3 = 12; 12 is below 5 + 10, so 12 - 5 + 91 = 98; 98 - 10 = 88.
    let stock = "SELECT s_quantity, s_ytd, s_order_cnt, s_remote_cnt FROM stock WHERE s_i_id = 77";
    assert_eq!("88|18|3|0", instance.sql_at(&url, stock));
    instance.drop_database(&url);
}

/// A line is of a brand where item and stock both say so, in both execution modes; the lines of an item that is
/// ordered twice are both.
#[tokio::test]
async fn an_order_says_which_lines_are_of_a_brand() {
    let instance = support::shared();
    let url = instance.loaded_database();
    let says = |table, column, id, text| {
        let sql = format!("UPDATE {table} SET {column}_data = '{text}' WHERE {column}_i_id = {id}");
        instance.sql_at(&url, &sql.replace("i_i_id", "i_id"));
    };
    for (id, item, stock) in [
        (5, "an ORIGINAL one", "ORIGINAL"),
        (6, "ORIGINAL", "ORIGINA"),
        (7, "original", "say ORIGINAL"),
        (8, "ORIGINAL", "xORIGINALx"),
    ] {
        says("item", "i", id, item);
        says("stock", "s", id, stock);
    }
    let lines = [5, 6, 7, 8, 8].map(|i_id| Line {
        supply_w_id: 1,
        i_id,
        quantity: 1,
    });
    let order = Input::NewOrder(NewOrder {
        district: District { w_id: 1, d_id: 1 },
        c_id: 1,
        lines: lines.into_iter().collect(),
        unused_item: false,
    });
    for procedures in [true, false] {
        let target = postgresql::Target::parse(&url).unwrap();
        let mut session = target.open(support::LOAD).await.unwrap();
        let mode = prepare::<OnPostgresql>(&mut session, procedures).await;
        let shown = mode.act(&mut session, &order, 1).await.unwrap();
        assert_eq!(0b11001, shown.brand_lines, "{procedures}");
        session.close().await;
    }
    instance.drop_database(&url);
}
