//! Which loader does what next: a list of work in the order of its cost, where the indexes of a table
//! wait for its rows. Pure: no connection and no time. Tables are named by their numbers.

use std::ops::Range;
use std::sync::Arc;

use super::TableLoad;

/// Something one loader does on one connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Work {
    /// Creates a table and copies all its rows in the same transaction, so that an engine may spare
    /// itself what it does for rows that others could see.
    Whole(usize),
    /// Copies some slices of a table that exists; for tables too large for one loader.
    Part(usize, Range<u64>),
    /// Builds one index of a table.
    Index(usize, usize),
    /// Lets the planner know the table.
    Analyze(usize),
}

impl Work {
    fn table(&self) -> usize {
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
    tables: Arc<[TableLoad]>,
    ready: Vec<Work>,
    /// Unfinished copies of each table.
    copying: Vec<usize>,
    running: usize,
}

impl Schedule {
    /// All work of loading tables over a number of connections.
    pub fn new(tables: Arc<[TableLoad]>, loaders: u32) -> Self {
        let copies: Vec<Vec<Work>> = (0..tables.len())
            .map(|table| copies(&tables, table, loaders))
            .collect();
        let mut schedule = Schedule {
            tables,
            copying: copies.iter().map(Vec::len).collect(),
            ready: copies.into_iter().flatten().collect(),
            running: 0,
        };
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
        if let Work::Whole(table) | Work::Part(table, _) = *work {
            self.copying[table] -= 1;
            if self.copying[table] == 0 {
                let indexes = 0..self.tables[table].indexes.len();
                self.ready
                    .extend(indexes.map(|index| Work::Index(table, index)));
                self.ready.push(Work::Analyze(table));
                self.sort();
            }
        }
    }

    /// The work to do first stands last.
    fn sort(&mut self) {
        let tables = &self.tables;
        self.ready
            .sort_by_key(|work| (std::cmp::Reverse(work.stage()), cost(tables, work)));
    }
}

fn cost(tables: &[TableLoad], work: &Work) -> u64 {
    let cost = u64::from(tables[work.table()].cost);
    match work {
        Work::Whole(_) | Work::Index(..) => cost,
        Work::Part(_, slices) => cost * (slices.end - slices.start),
        Work::Analyze(_) => 0,
    }
}

/// Whether a table's rows are copied by one loader: yes, as long as this holds up nobody.
pub fn copied_whole(tables: &[TableLoad], table: usize, loaders: u32) -> bool {
    let all: u32 = tables.iter().map(|table| table.cost).sum();
    tables[table].cost * loaders <= all
}

fn copies(tables: &[TableLoad], table: usize, loaders: u32) -> Vec<Work> {
    if copied_whole(tables, table, loaders) {
        return vec![Work::Whole(table)];
    }
    let slices = tables[table].slices;
    let parts = u64::from(loaders).min(slices);
    let bound = |part: u64| slices * part / parts;
    (0..parts)
        .map(|part| Work::Part(table, bound(part)..bound(part + 1)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::sample_tables;
    use super::*;

    fn schedule(loaders: u32) -> Schedule {
        Schedule::new(sample_tables().into(), loaders)
    }

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
        let tables = sample_tables();
        for loaders in [1, 2, 3, 5, 8, 64] {
            for (number, table) in tables.iter().enumerate() {
                let mut next = 0;
                for work in copies(&tables, number, loaders) {
                    let slices = match work {
                        Work::Part(_, slices) => slices,
                        _ => 0..table.slices,
                    };
                    assert_eq!(next, slices.start, "{} with {loaders}", table.name);
                    next = slices.end;
                }
                assert_eq!(table.slices, next);
            }
        }
    }

    /// All indexes are built and all tables analysed, each only after the last row of its table.
    #[test]
    fn indexes_wait_for_the_rows_of_their_table() {
        let tables = sample_tables();
        for loaders in [1, 2, 8] {
            let (mut copied, mut after) = (vec![0; tables.len()], vec![0; tables.len()]);
            for work in drain(&mut schedule(loaders)) {
                let table = work.table();
                if work.stage() == 0 {
                    copied[table] += 1;
                } else {
                    assert_eq!(copied[table], copies(&tables, table, loaders).len());
                    after[table] += 1;
                }
            }
            let expected: Vec<usize> = tables.iter().map(|t| t.indexes.len() + 1).collect();
            assert_eq!(expected, after);
        }
    }

    /// Two loaders copy each table whole; many loaders share the costly one.
    #[test]
    fn only_tables_that_hold_up_others_are_split() {
        let tables = sample_tables();
        let whole = |loaders| [0, 1, 2].map(|table| copied_whole(&tables, table, loaders));
        assert_eq!([true; 3], whole(2));
        assert_eq!([false, true, true], whole(3));
    }

    /// A loader without work waits while another may still make some ready.
    #[test]
    fn a_loader_waits_while_work_may_come() {
        let mut schedule = schedule(1);
        let mut running = Vec::new();
        while let Next::Do(work) = schedule.next() {
            running.push(work);
        }
        assert!(matches!(schedule.next(), Next::Wait));
        running.iter().for_each(|work| schedule.done(work));
        assert!(matches!(schedule.next(), Next::Do(Work::Index(..))));
    }
}
