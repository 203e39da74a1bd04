//! The 33 tables, read from `schema.txt`, and the SQL that creates them on an engine: tables, then indexes, then
//! keys, then the 49 foreign keys.

use std::fmt::Write;

/// Version of tables and rules of population; 1: the first.
pub const SCHEMA_VERSION: i32 = 1;

/// How an engine says what `schema.txt` says.
pub struct Dialect {
    /// Types of columns by name; those of a number, as in `c15`, are text of so many letters.
    pub types: &'static [(&'static str, &'static str)],
    /// The type of text, with `{}` for its length.
    pub text: &'static str,
    /// Whether rows lie in the order of their keys, which are then created with the tables.
    pub clustered: bool,
    /// What begins the statement that adds foreign keys to a table (`{table}`), and what parts two of them; None where
    /// they are a part of it.
    pub alter: Option<[&'static str; 2]>,
    /// What stands behind a table's columns; `{fill}` is its fill factor.
    pub table_end: &'static str,
    /// Whether an index may leave rows out.
    pub partial_indexes: bool,
    /// Makes a key of a table (`{table}`, `{columns}`) when its rows are there; none where keys are clustered.
    pub key: &'static [&'static str],
}

/// A table of `schema.txt`.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// Its name.
    pub name: &'static str,
    /// How full its pages are made, per cent.
    pub fill: u8,
    /// Its columns.
    pub columns: Vec<Column>,
    /// The columns of its key.
    pub key: Vec<&'static str>,
    /// Columns, and the table they refer to.
    references: Vec<(&'static str, &'static str)>,
    /// Columns, and which rows are left in.
    indexes: Vec<(&'static str, Option<&'static str>)>,
}

/// A column of a table.
#[derive(Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// What it holds: a name of [`Dialect::types`], or `c` with the length of a text.
    pub kind: &'static str,
    nullable: bool,
    check: Option<&'static str>,
}

/// All tables, parents before children.
pub fn read_tables() -> Vec<Table> {
    let mut tables: Vec<Table> = Vec::new();
    for line in include_str!("schema.txt").lines() {
        match line.strip_prefix("  ") {
            Some(column) => {
                if let Some(table) = tables.last_mut() {
                    table.read_line(column);
                }
            }
            None if line.is_empty() || line.starts_with('#') => {}
            None => {
                let (name, fill) = line.split_once(' ').unwrap_or((line, "100"));
                tables.push(Table {
                    name,
                    fill: fill.parse().unwrap_or(100),
                    ..Table::default()
                });
            }
        }
    }
    tables
}

impl Table {
    fn read_line(&mut self, line: &'static str) {
        if let Some(index) = line.strip_prefix('+') {
            let (columns, rows) = match index.split_once(" where ") {
                Some((columns, rows)) => (columns, Some(rows)),
                None => (index, None),
            };
            return self.indexes.push((columns, rows));
        }
        let (line, check) = match line.split_once(" {") {
            Some((line, check)) => (line, Some(check.trim_end_matches('}'))),
            None => (line, None),
        };
        let (line, parent) = match line.split_once(" >") {
            Some((line, parent)) => (line, Some(parent)),
            None => (line, None),
        };
        if let (Some(columns), Some(parent)) = (line.strip_prefix('('), parent) {
            return self
                .references
                .push((columns.trim_end_matches(')'), parent));
        }
        let (name, kind) = line.split_once(' ').unwrap_or((line, ""));
        let plain = name.trim_start_matches('*');
        if plain != name {
            self.key.push(plain);
        }
        self.references.extend(parent.map(|parent| (plain, parent)));
        self.columns.push(Column {
            name: plain,
            kind: kind.trim_end_matches('?'),
            nullable: kind.ends_with('?'),
            check,
        });
    }

    /// SQL that creates it.
    pub fn create(&self, dialect: &Dialect, tables: &[Table]) -> String {
        let mut parts: Vec<String> = self.columns.iter().map(|c| c.define(dialect)).collect();
        if dialect.clustered {
            parts.push(format!("PRIMARY KEY ({})", self.key.join(", ")));
        }
        // One that names two columns is no column's.
        let checks = self.columns.iter().filter_map(|column| column.check);
        parts.extend(checks.map(|check| format!("CHECK ({check})")));
        if dialect.alter.is_none() {
            parts.extend(self.constraints(tables));
        }
        let end = dialect.table_end.replace("{fill}", &self.fill.to_string());
        format!("CREATE TABLE {} ({}){end}", self.name, parts.join(", "))
    }

    /// SQL of its indexes, that of the key first.
    pub fn create_indexes(&self, dialect: &Dialect) -> Vec<String> {
        let name = self.name;
        let key = format!(
            "CREATE UNIQUE INDEX {name}_pkey ON {name} ({})",
            self.key.join(", ")
        );
        let mut all: Vec<String> = (!dialect.clustered).then_some(key).into_iter().collect();
        for (columns, rows) in &self.indexes {
            let suffix = columns.replace(", ", "_");
            let mut sql = format!("CREATE INDEX {name}_by_{suffix} ON {name} ({columns})");
            if let Some(rows) = rows.filter(|_| dialect.partial_indexes) {
                let _ = write!(sql, " WHERE {rows}");
            }
            all.push(sql);
        }
        all
    }

    /// SQL that makes its key.
    pub fn create_key(&self, dialect: &Dialect) -> Vec<String> {
        let key = dialect.key.iter();
        key.map(|sql| sql.replace("{table}", self.name)).collect()
    }

    /// SQL that adds its foreign keys, where it has some and they are added to a table.
    pub fn add_foreign_keys(&self, dialect: &Dialect, tables: &[Table]) -> Option<String> {
        let constraints = self.constraints(tables);
        let [alter, next] = dialect.alter.filter(|_| !constraints.is_empty())?;
        let sql = [alter, &constraints.join(next)].concat();
        Some(sql.replace("{table}", self.name))
    }

    fn constraints(&self, tables: &[Table]) -> Vec<String> {
        let referred = |parent: &str| {
            let parent = tables.iter().find(|table| table.name == parent);
            parent.map_or_else(String::new, |parent| parent.key.join(", "))
        };
        let references = self.references.iter();
        references
            .map(|(columns, parent)| {
                let suffix = columns.replace(", ", "_");
                format!(
                    "CONSTRAINT {}_{suffix}_fk FOREIGN KEY ({columns}) REFERENCES {parent} ({})",
                    self.name,
                    referred(parent)
                )
            })
            .collect()
    }
}

impl Column {
    fn define(&self, dialect: &Dialect) -> String {
        let known = dialect.types.iter().find(|(name, _)| *name == self.kind);
        let kind = match known {
            Some((_, kind)) => (*kind).to_string(),
            None => dialect
                .text
                .replace("{}", self.kind.trim_start_matches('c')),
        };
        let null = if self.nullable { "" } else { " NOT NULL" };
        format!("{} {kind}{null}", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::super::statements::{OnPostgresql, Pair};
    use super::*;

    fn count(part: impl Fn(&Table) -> usize) -> usize {
        read_tables().iter().map(part).sum()
    }

    /// As the specification counts: 33 tables with keys, 50 columns that refer in 49 foreign keys, 22 checks.
    #[test]
    fn the_schema_has_the_specified_keys_and_checks() {
        assert_eq!(33, count(|table| usize::from(!table.key.is_empty())));
        assert_eq!(33, read_tables().len());
        assert_eq!(49, count(|table| table.references.len()));
        let columns = |table: &Table| {
            let columns = table.references.iter();
            columns.map(|(columns, _)| columns.split(',').count()).sum()
        };
        assert_eq!(50, count(columns));
        let checked = |table: &Table| table.columns.iter().filter(|c| c.check.is_some()).count();
        assert_eq!(22, count(checked));
    }

    /// Every column of keys, references and indexes is there, and every parent stands before its children.
    #[test]
    fn what_is_referred_to_is_there() {
        let tables = read_tables();
        for (number, table) in tables.iter().enumerate() {
            let has = |name: &str| table.columns.iter().any(|column| column.name == name);
            let named = table.references.iter().map(|(columns, _)| *columns);
            let indexed = table.indexes.iter().map(|(columns, _)| *columns);
            for columns in named.chain(indexed).chain(table.key.iter().copied()) {
                assert!(columns.split(", ").all(has), "{}: {columns}", table.name);
            }
            for (_, parent) in &table.references {
                let before = &tables[..number];
                assert!(before.iter().any(|table| table.name == *parent), "{parent}");
            }
        }
    }

    /// A table as PostgreSQL gets it.
    #[test]
    fn a_table_is_created_in_the_words_of_its_engine() {
        let tables = read_tables();
        let holding = tables.iter().find(|table| table.name == "holding").unwrap();
        let dialect = &OnPostgresql::STATEMENTS.dialect;
        assert_eq!(
            "CREATE TABLE holding (h_t_id bigint NOT NULL, h_ca_id bigint NOT NULL, \
             h_s_symb varchar(15) NOT NULL, h_dts timestamptz NOT NULL, \
             h_price numeric(8,2) NOT NULL, h_qty integer NOT NULL, CHECK (h_price > 0)) \
             WITH (fillfactor = 100)",
            holding.create(dialect, &tables)
        );
        assert_eq!(
            "ALTER TABLE holding ADD CONSTRAINT holding_h_t_id_fk FOREIGN KEY (h_t_id) REFERENCES trade (t_id), \
             ADD CONSTRAINT holding_h_ca_id_h_s_symb_fk FOREIGN KEY \
             (h_ca_id, h_s_symb) REFERENCES holding_summary (hs_ca_id, hs_s_symb)",
            holding.add_foreign_keys(dialect, &tables).unwrap()
        );
    }
}
