//! Which loader does what next: a list of work in the order of its cost, where the indexes of a table
//! wait for its rows. Pure: no connection and no time.

use std::collections::HashMap;
use std::ops::Range;

use super::schema;
use super::sql::Sql;
use super::tables::{Table, TABLES};

/// Something one loader does on one connection.
#[derive(Clone)]
pub enum Work {
    /// Creates a table and copies all its rows in the same transaction, so that the rows are frozen
    /// at once: no later vacuum has to write them again.
    Whole(&'static dyn Table),
    /// Copies some slices of a table that exists; for tables too large for one loader.
    Part(&'static dyn Table, Range<u64>),
    /// Builds one index: table and statement.
    Index(&'static dyn Table, String),
    /// Lets the planner know the table.
    Analyze(&'static dyn Table),
}

impl Work {
    fn table(&self) -> &'static dyn Table {
        match self {
            Work::Whole(t) | Work::Part(t, _) | Work::Index(t, _) | Work::Analyze(t) => *t,
        }
    }

    /// Rows come before indexes, indexes before what is left.
    fn stage(&self) -> u8 {
        match self {
            Work::Whole(_) | Work::Part(..) => 0,
            Work::Index(..) => 1,
            Work::Analyze(_) => 2,
        }
    }

    fn cost(&self) -> u64 {
        let cost = u64::from(self.table().cost_ms());
        match self {
            Work::Whole(_) | Work::Index(..) => cost,
            Work::Part(_, slices) => cost * (slices.end - slices.start),
            Work::Analyze(_) => 0,
        }
    }
}

/// What a loader is told when it asks for work.
pub enum Next {
    /// Do this, then report it.
    Do(Work),
    /// Nothing now; ask again when another loader has reported.
    Wait,
    /// Nothing any more.
    End,
}

/// The work that is left.
pub struct Schedule {
    sql: &'static Sql,
    ready: Vec<Work>,
    /// Unfinished copies of each table.
    copying: HashMap<&'static str, usize>,
    running: usize,
}

impl Schedule {
    /// All work of loading a number of warehouses over a number of connections.
    pub fn new(sql: &'static Sql, warehouses: u32, loaders: u32) -> Self {
        let mut schedule = Schedule {
            sql,
            ready: Vec::new(),
            copying: HashMap::new(),
            running: 0,
        };
        for table in TABLES {
            let copies = copies(*table, warehouses, loaders);
            schedule.copying.insert(table.name(), copies.len());
            schedule.ready.extend(copies);
        }
        schedule.sort();
        schedule
    }

    /// The next piece of work.
    pub fn next(&mut self) -> Next {
        match self.ready.pop() {
            Some(work) => {
                self.running += 1;
                Next::Do(work)
            }
            None if self.running > 0 => Next::Wait,
            None => Next::End,
        }
    }

    /// Takes note that a piece of work was done; may make more work ready.
    pub fn done(&mut self, work: &Work) {
        self.running -= 1;
        if let Work::Whole(table) | Work::Part(table, _) = work {
            let left = self.copying.entry(table.name()).or_insert(1);
            *left -= 1;
            if *left == 0 {
                self.ready.extend(after_copying(self.sql, *table));
                self.sort();
            }
        }
    }

    /// The work to do first stands last.
    fn sort(&mut self) {
        self.ready
            .sort_by_key(|work| (std::cmp::Reverse(work.stage()), work.cost()));
    }
}

/// Whether a table's rows are copied by one loader: yes, as long as this holds up nobody.
pub fn copied_whole(table: &dyn Table, loaders: u32) -> bool {
    let all: u32 = TABLES.iter().map(|table| table.cost_ms()).sum();
    table.cost_ms() * loaders <= all
}

fn copies(table: &'static dyn Table, warehouses: u32, loaders: u32) -> Vec<Work> {
    if copied_whole(table, loaders) {
        return vec![Work::Whole(table)];
    }
    let slices = table.slices(warehouses);
    let parts = u64::from(loaders).min(slices);
    let bound = |part: u64| slices * part / parts;
    (0..parts)
        .map(|part| Work::Part(table, bound(part)..bound(part + 1)))
        .collect()
}

fn after_copying(sql: &Sql, table: &'static dyn Table) -> Vec<Work> {
    let indexes = schema::statements(sql, table).indexes.into_iter();
    indexes
        .map(|sql| Work::Index(table, sql))
        .chain([Work::Analyze(table)])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::sql;
    use super::*;

    fn drain(schedule: &mut Schedule) -> Vec<Work> {
        let mut all = Vec::new();
        while let Next::Do(work) = schedule.next() {
            schedule.done(&work);
            all.push(work);
        }
        all
    }

    /// Whatever the number of loaders, the copies cover every slice of every table exactly once.
    #[test]
    fn copies_cover_every_slice_once() {
        for loaders in [1, 2, 3, 5, 8, 64] {
            for table in TABLES {
                let mut next = 0;
                for work in copies(*table, 3, loaders) {
                    let slices = match work {
                        Work::Part(_, slices) => slices,
                        _ => 0..table.slices(3),
                    };
                    assert_eq!(next, slices.start, "{} with {loaders}", table.name());
                    next = slices.end;
                }
                assert_eq!(table.slices(3), next);
            }
        }
    }

    /// An index is built only after the last row of its table.
    #[test]
    fn indexes_wait_for_the_rows_of_their_table() {
        for loaders in [1, 2, 8] {
            let mut copied = HashMap::new();
            for work in drain(&mut Schedule::new(sql::any(), 2, loaders)) {
                let table = work.table();
                match work {
                    Work::Whole(_) | Work::Part(..) => {
                        *copied.entry(table.name()).or_insert(0) += 1
                    }
                    _ => assert_eq!(copied[table.name()], copies(table, 2, loaders).len()),
                }
            }
        }
    }

    /// All indexes of the schema are built, and every table is analysed.
    #[test]
    fn nothing_is_left_out() {
        let all = drain(&mut Schedule::new(sql::any(), 1, 4));
        let indexes: usize = TABLES
            .iter()
            .map(|t| schema::statements(sql::any(), *t).indexes.len())
            .sum();
        assert_eq!(
            indexes,
            all.iter().filter(|w| matches!(w, Work::Index(..))).count()
        );
        assert_eq!(
            9,
            all.iter().filter(|w| matches!(w, Work::Analyze(_))).count()
        );
    }

    /// Two loaders copy each table whole, so all rows are frozen; many loaders share the large ones.
    #[test]
    fn only_tables_that_hold_up_others_are_split() {
        assert!(TABLES.iter().all(|table| copied_whole(*table, 2)));
        let split = TABLES
            .iter()
            .filter(|table| !copied_whole(**table, 8))
            .count();
        assert!((1..5).contains(&split), "{split} tables");
    }

    /// A loader without work waits while another may still make some ready.
    #[test]
    fn a_loader_waits_while_work_may_come() {
        let mut schedule = Schedule::new(sql::any(), 1, 1);
        let mut running = Vec::new();
        while let Next::Do(work) = schedule.next() {
            running.push(work);
        }
        assert!(matches!(schedule.next(), Next::Wait));
        running.iter().for_each(|work| schedule.done(work));
        assert!(matches!(schedule.next(), Next::Do(Work::Index(..))));
    }
}
