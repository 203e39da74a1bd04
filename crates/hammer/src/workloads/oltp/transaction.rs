//! What a transaction consists of, and how it is drawn.

use stithy_measure::Rng;

use super::distribution::Distribution;
use super::options::{Counts, Mix, Options};
use super::text::{self, C_GROUPS, PAD_GROUPS};

/// A statement on a table; its number is its place in the lists of an engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// One row.
    Point,
    /// The rows of a range.
    SimpleRange,
    /// Their sum.
    SumRange,
    /// They, sorted.
    OrderRange,
    /// They, sorted, each value once.
    DistinctRange,
    /// One more in `k`.
    UpdateIndex,
    /// Another `c`.
    UpdateNonIndex,
    /// A row less.
    Delete,
    /// The row again.
    Insert,
    /// A row with a number that the database gives.
    Append,
}

impl Step {
    /// SQL on table `{n}`, parameters as `?`.
    pub fn sql(self) -> &'static str {
        match self {
            Step::Point => "SELECT c FROM sbtest{n} WHERE id=?",
            Step::SimpleRange => "SELECT c FROM sbtest{n} WHERE id BETWEEN ? AND ?",
            Step::SumRange => "SELECT SUM(k) FROM sbtest{n} WHERE id BETWEEN ? AND ?",
            Step::OrderRange => "SELECT c FROM sbtest{n} WHERE id BETWEEN ? AND ? ORDER BY c",
            Step::DistinctRange => {
                "SELECT DISTINCT c FROM sbtest{n} WHERE id BETWEEN ? AND ? ORDER BY c"
            }
            Step::UpdateIndex => "UPDATE sbtest{n} SET k=k+1 WHERE id=?",
            Step::UpdateNonIndex => "UPDATE sbtest{n} SET c=? WHERE id=?",
            Step::Delete => "DELETE FROM sbtest{n} WHERE id=?",
            Step::Insert => "INSERT INTO sbtest{n} (id, k, c, pad) VALUES (?, ?, ?, ?)",
            Step::Append => "INSERT INTO sbtest{n} (k, c, pad) VALUES (?, ?, ?)",
        }
    }

    /// Whether it changes rows.
    pub fn writes(self) -> bool {
        self as usize >= Step::UpdateIndex as usize
    }
}

/// Statements of one kind: they are on one table, which is drawn for each transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Group {
    /// What is done with each row that is drawn.
    steps: &'static [Step],
    count: u32,
}

fn list_groups(mix: Mix, counts: &Counts) -> Vec<Group> {
    let group = |steps, count| Group { steps, count };
    let reads = [
        group(&[Step::Point], counts.point_selects),
        group(&[Step::SimpleRange], counts.simple_ranges),
        group(&[Step::SumRange], counts.sum_ranges),
        group(&[Step::OrderRange], counts.order_ranges),
        group(&[Step::DistinctRange], counts.distinct_ranges),
    ];
    let writes = [
        group(&[Step::UpdateIndex], counts.index_updates),
        group(&[Step::UpdateNonIndex], counts.non_index_updates),
        group(&[Step::Delete, Step::Insert], counts.delete_inserts),
    ];
    let mut groups = match mix {
        Mix::ReadWrite => [&reads[..], &writes[..]].concat(),
        Mix::ReadOnly => reads.to_vec(),
        Mix::WriteOnly => writes.to_vec(),
        Mix::PointSelect => vec![group(&[Step::Point], 1)],
        Mix::UpdateIndex => vec![group(&[Step::UpdateIndex], 1)],
        Mix::UpdateNonIndex => vec![group(&[Step::UpdateNonIndex], 1)],
        Mix::Insert => vec![group(&[Step::Append], 1)],
    };
    groups.retain(|group| group.count > 0);
    groups
}

/// What all transactions of a run have in common.
#[derive(Debug, Clone)]
pub struct Shape {
    groups: Vec<Group>,
    tables: u32,
    range_rows: u32,
    rows: Distribution,
    /// Whether its statements are one transaction of the database.
    pub is_block: bool,
}

impl Shape {
    /// As options say. A transaction of one statement needs no block.
    pub fn new(options: &Options) -> Self {
        let mixed = matches!(options.mix, Mix::ReadWrite | Mix::ReadOnly | Mix::WriteOnly);
        Shape {
            groups: list_groups(options.mix, &options.statements),
            tables: options.tables,
            range_rows: options.statements.range_rows,
            rows: Distribution::new(options.distribution, options.touched()),
            is_block: mixed && !options.skip_trx,
        }
    }

    /// The statements that its transactions need, each once; prepared for one table after the other.
    pub fn steps(&self) -> Vec<Step> {
        let steps = self.groups.iter().flat_map(|group| group.steps);
        steps.copied().collect()
    }

    /// Whether its transactions change rows.
    pub fn writes(&self) -> bool {
        self.steps().iter().any(|step| step.writes())
    }

    /// Whether its transactions have no statement at all.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Draws the next transaction.
    pub fn draw(&self, rng: &mut Rng, transaction: &mut Transaction) {
        transaction.calls.clear();
        transaction.texts.clear();
        let mut first = 0;
        for group in &self.groups {
            let table = rng.uniform(0, self.tables - 1);
            for _ in 0..group.count {
                let id = self.rows.draw(rng);
                for (number, step) in (0..).zip(group.steps) {
                    let call = Call {
                        step: *step,
                        prepared: (first + number) * self.tables + table,
                        id: id as i32,
                        other: self.draw_other(*step, id, rng),
                    };
                    transaction.calls.push(call);
                    push_texts(*step, rng, &mut transaction.texts);
                }
            }
            first += group.steps.len() as u32;
        }
    }

    /// What a statement has besides the row's number: the end of a range, or a new `k`.
    fn draw_other(&self, step: Step, id: u32, rng: &mut Rng) -> i32 {
        match step {
            Step::SimpleRange | Step::SumRange | Step::OrderRange | Step::DistinctRange => {
                (id + self.range_rows - 1) as i32
            }
            Step::Insert => self.rows.draw(rng) as i32,
            _ => 0,
        }
    }
}

fn push_texts(step: Step, rng: &mut Rng, texts: &mut Vec<u8>) {
    if matches!(step, Step::UpdateNonIndex | Step::Insert | Step::Append) {
        text::push_digits(texts, rng, C_GROUPS);
    }
    if matches!(step, Step::Insert | Step::Append) {
        text::push_digits(texts, rng, PAD_GROUPS);
    }
}

/// A statement that is to be executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    /// Which.
    pub step: Step,
    /// Its place among the prepared statements of a session.
    pub prepared: u32,
    /// The row that was drawn; `k` of an [`Step::Append`].
    pub id: i32,
    /// The end of a range, or a new `k`.
    pub other: i32,
}

/// A transaction that was drawn, in buffers that are kept.
#[derive(Debug, Clone, Default)]
pub struct Transaction {
    /// Its statements.
    pub calls: Vec<Call>,
    /// The text that they write, one after the other.
    pub texts: Vec<u8>,
}

#[cfg(test)]
mod tests {
    use super::super::options::tests::options;
    use super::*;

    fn draw(shape: &Shape) -> Transaction {
        let mut transaction = Transaction::default();
        shape.draw(&mut Rng::new(7, 1), &mut transaction);
        transaction
    }

    /// sysbench's scripts: read-write has 10 points, 4 ranges, 2 updates, a delete and an insert.
    #[test]
    fn mixes_have_the_statements_of_sysbench() {
        let expected = [
            (Mix::ReadWrite, 18, true),
            (Mix::ReadOnly, 14, true),
            (Mix::WriteOnly, 4, true),
            (Mix::PointSelect, 1, false),
            (Mix::UpdateIndex, 1, false),
            (Mix::UpdateNonIndex, 1, false),
            (Mix::Insert, 1, false),
        ];
        for (mix, calls, is_block) in expected {
            let shape = Shape::new(&Options { mix, ..options() });
            assert_eq!(
                (calls, is_block),
                (draw(&shape).calls.len(), shape.is_block)
            );
        }
    }

    /// The statements of a kind share a table, which each kind draws; a row is inserted as it was deleted;
    /// a range has its size; the text is that of two updates' worth.
    #[test]
    fn each_kind_keeps_to_one_table() {
        let shape = Shape::new(&options());
        let Transaction { calls, texts } = draw(&shape);
        let tables = |calls: &[Call]| calls.iter().map(|c| c.prepared % 3).collect::<Vec<_>>();
        let of_points = tables(&calls[..10]);
        assert!(of_points.iter().all(|table| *table == of_points[0]));
        let all = tables(&calls);
        assert!(all.iter().any(|table| *table != all[0]), "{all:?}");
        let [.., delete, insert] = &calls[..] else {
            panic!("a transaction has two statements")
        };
        assert_eq!((Step::Delete, delete.id), (delete.step, insert.id));
        assert_eq!(delete.prepared + 3, insert.prepared);
        assert_eq!(calls[10].id + 99, calls[10].other);
        assert_eq!(119 + 119 + 59, texts.len());
    }

    /// Kinds that never occur are neither prepared nor drawn.
    #[test]
    fn kinds_without_statements_are_left_out() {
        let mut options = options();
        options.statements.point_selects = 0;
        options.statements.delete_inserts = 0;
        let shape = Shape::new(&options);
        assert!(!shape.steps().contains(&Step::Point) && shape.writes());
        let calls = draw(&shape).calls;
        assert_eq!((6, 0), (calls.len(), calls[0].prepared / 3));
    }
}
