//! The rows of a workload in one normal form, whatever the engine: money in hundredths, rates in ten-thousandths,
//! days and microseconds since the start of 2000, bytes as text, what is missing as no text.

use std::hash::{DefaultHasher, Hash, Hasher};

use stithy_hammer::engines::{Control, Target};
use stithy_hammer::workloads::brokerage::schema::read_tables;

/// Order entry's tables and their columns: `$` is money, `%` a rate, `@` a moment.
pub const ORDER_ENTRY: [&str; 9] = [
    "warehouse w_id w_tax% w_ytd$ w_name w_street_1 w_street_2 w_city w_state w_zip",
    "district d_w_id d_next_o_id d_id d_tax% d_ytd$ d_name d_street_1 d_street_2 d_city d_state d_zip",
    "customer c_since@ c_w_id c_id c_payment_cnt c_delivery_cnt c_d_id c_discount% c_credit_lim$ \
     c_balance$ c_ytd_payment$ c_credit c_last c_first c_middle c_street_1 c_street_2 c_city c_state \
     c_zip c_phone c_data",
    "history h_date@ h_c_w_id h_c_id h_w_id h_c_d_id h_d_id h_amount$ h_data",
    "item i_id i_im_id i_price$ i_name i_data",
    "new_order no_w_id no_o_id no_d_id",
    "order_line ol_delivery_d@ ol_w_id ol_o_id ol_i_id ol_supply_w_id ol_d_id ol_number ol_quantity \
     ol_amount$ ol_dist_info",
    "orders o_entry_d@ o_w_id o_id o_c_id o_d_id o_ol_cnt o_all_local o_carrier_id",
    "stock s_w_id s_i_id s_ytd s_order_cnt s_remote_cnt s_quantity s_dist_01 s_dist_02 s_dist_03 s_dist_04 \
     s_dist_05 s_dist_06 s_dist_07 s_dist_08 s_dist_09 s_dist_10 s_data",
];

/// The same of brokerage, with `#` for a day and `^` for bytes.
pub fn brokerage() -> Vec<String> {
    let mark = |kind: &str| match kind {
        "price" | "value" | "balance" | "total" | "percent" => "$",
        "rate" => "%",
        "moment" => "@",
        "date" => "#",
        "bytes" => "^",
        _ => "",
    };
    let tables = read_tables().into_iter().map(|table| {
        let columns = table.columns.iter();
        let marked = columns.map(|column| format!(" {}{}", column.name, mark(column.kind)));
        [table.name.into(), marked.collect::<String>()].concat()
    });
    tables.collect()
}

/// How an engine keeps what is no integer and no text: `{}` is the column.
#[derive(Clone, Copy)]
pub struct Dialect {
    money: &'static str,
    rate: &'static str,
    moment: &'static str,
    day: &'static str,
    bytes: &'static str,
    text: &'static str,
    /// Makes one text of several, parted by the first.
    join: &'static str,
}

/// That of PostgreSQL.
pub const POSTGRESQL: Dialect = Dialect {
    money: "CAST({} * 100 AS bigint)",
    rate: "CAST({} * 10000 AS bigint)",
    moment: "CAST(extract(epoch FROM {}) * 1000000 AS bigint) - 946684800000000",
    day: "{} - date '2000-01-01'",
    bytes: "convert_from({}, 'UTF8')",
    text: "text",
    join: "concat_ws",
};

/// That of SQLite, which has no decimals.
pub const SQLITE: Dialect = Dialect {
    money: "{}",
    rate: "{}",
    moment: "{}",
    day: "{}",
    bytes: "{}",
    text: "TEXT",
    join: "concat_ws",
};

/// That of MariaDB and MySQL.
pub const MYSQL: Dialect = Dialect {
    money: "CAST({} * 100 AS SIGNED)",
    rate: "CAST({} * 10000 AS SIGNED)",
    moment: "TIMESTAMPDIFF(MICROSECOND, '2000-01-01', {})",
    day: "DATEDIFF({}, '2000-01-01')",
    bytes: "{}",
    text: "CHAR",
    join: "concat_ws",
};

/// That of SQL Server.
pub const SQL_SERVER: Dialect = Dialect {
    money: "CAST({} * 100 AS BIGINT)",
    rate: "CAST({} * 10000 AS BIGINT)",
    moment: "DATEDIFF_BIG(microsecond, '2000-01-01', {})",
    day: "DATEDIFF(day, '2000-01-01', {})",
    bytes: "{}",
    text: "VARCHAR(MAX)",
    // Of Babelfish a VARCHAR, too.
    join: "'' + concat_ws",
};

impl Dialect {
    fn value(self, column: &str) -> String {
        let name = column.trim_end_matches(['$', '%', '@', '#', '^']);
        let form = match column.chars().last() {
            Some('$') => self.money,
            Some('%') => self.rate,
            Some('@') => self.moment,
            Some('#') => self.day,
            Some('^') => self.bytes,
            _ => "{}",
        };
        let value = form.replace("{}", name);
        format!("coalesce(CAST({value} AS {}), '')", self.text)
    }

    /// Gives each row of a table as one text.
    fn select(self, table: &str) -> String {
        let (name, columns) = table.split_once(' ').expect("a table has columns");
        let values: Vec<String> = columns.split_whitespace().map(|c| self.value(c)).collect();
        format!(
            "SELECT {}('|', {}) FROM {name}",
            self.join,
            values.join(", ")
        )
    }
}

/// What a database holds.
pub struct Content<T: Target> {
    control: T::Control,
    dialect: Dialect,
    tables: Vec<String>,
    /// Of each table how many rows, and the sum of their hashes.
    sums: Vec<(u64, u64)>,
}

impl<T: Target> Content<T> {
    /// Reads all tables of order entry.
    pub async fn of(url: &str, dialect: Dialect) -> Self {
        Content::of_tables(url, dialect, ORDER_ENTRY.map(String::from).to_vec()).await
    }

    /// Reads tables with their columns.
    pub async fn of_tables(url: &str, dialect: Dialect, tables: Vec<String>) -> Self {
        let control = T::parse(url).unwrap().connect().await.unwrap();
        let mut content = Content {
            control,
            dialect,
            sums: Vec::new(),
            tables: Vec::new(),
        };
        for table in &tables {
            let mut sum = (0, 0_u64);
            let add = |row: &str| {
                let mut hasher = DefaultHasher::new();
                row.hash(&mut hasher);
                sum = (sum.0 + 1, sum.1.wrapping_add(hasher.finish()));
            };
            content.for_each_row(table, add).await;
            content.sums.push(sum);
        }
        content.tables = tables;
        content
    }

    async fn for_each_row(&self, table: &str, mut take: impl FnMut(&str)) {
        let sql = self.dialect.select(table);
        let take = |row: Vec<stithy_hammer::engines::Value>| take(row[0].text().expect("a text"));
        self.control
            .each_row("reading", &sql, &[], take)
            .await
            .unwrap();
    }

    /// Fails with the first row that differs.
    pub async fn assert_same_as<U: Target>(&self, other: &Content<U>) {
        for (number, table) in self.tables.iter().enumerate() {
            assert!(self.sums[number].0 > 0, "{table}");
            if self.sums[number] != other.sums[number] {
                let (rows, others) = (self.sorted(table).await, other.sorted(table).await);
                let differing = rows.iter().zip(&others).find(|(row, other)| row != other);
                let counts = (rows.len(), others.len());
                panic!("rows differ in {table}: {counts:?}, {differing:#?}");
            }
        }
    }

    async fn sorted(&self, table: &str) -> Vec<String> {
        let mut rows = Vec::new();
        self.for_each_row(table, |row| rows.push(row.to_string()))
            .await;
        rows.sort_unstable();
        rows
    }
}
