//! The read-only pass: ranges of rows and of the index, drawn as a run draws rows.

use std::sync::Arc;

use stithy_measure::{Outcome, Rng};

use super::distribution::Distribution;
use super::options::Options;
use super::statements::{Statements, READ_INDEX, READ_ROWS};
use super::Domain;
use crate::engines::{Access, Batch, Params, Session, SessionError, Statement};
use crate::transaction_script::TransactionScript;
use crate::workloads::Reads;

/// Rows of a range: about as many as three pages hold.
const RANGE_ROWS: u32 = 100;

/// The pass.
pub struct OltpReads {
    seed: u64,
    tables: u32,
    rows: Distribution,
    texts: Vec<String>,
}

impl OltpReads {
    /// The pass of a seed, over the rows that users touch.
    pub fn new(seed: u64, options: &Options, statements: &Statements) -> Self {
        // Without its index, a range of `k` would read the whole table.
        let read = match options.secondary_index {
            true => &[READ_ROWS, READ_INDEX][..],
            false => &[READ_ROWS],
        };
        OltpReads {
            seed,
            tables: options.tables,
            rows: Distribution::new(options.distribution, options.touched()),
            texts: statements.texts(read, options.tables),
        }
    }
}

impl Reads for OltpReads {
    type Script = Reader;

    async fn script<C: Session>(
        &self,
        number: u32,
        session: &mut C,
    ) -> Result<Reader, SessionError> {
        let texts: Vec<&str> = self.texts.iter().map(String::as_str).collect();
        Ok(Reader {
            rng: Rng::of(self.seed, Domain::WarmUp, number.into(), 0),
            rows: self.rows,
            tables: self.tables,
            prepared: session.prepare(&texts).await?.into(),
            table: 0,
            first: 1,
        })
    }
}

/// One session of the pass.
#[derive(Clone)]
pub struct Reader {
    rng: Rng,
    rows: Distribution,
    tables: u32,
    prepared: Arc<[Statement]>,
    table: u32,
    first: u32,
}

impl TransactionScript for Reader {
    fn draw(&mut self) -> usize {
        self.table = self.rng.uniform(0, self.tables - 1);
        self.first = self.rows.draw(&mut self.rng);
        0
    }

    async fn attempt<C: Session>(&mut self, session: &mut C) -> Result<Outcome, SessionError> {
        session.start(Batch::Whole(Access::Read));
        let of_table = self.prepared.iter().skip(self.table as usize);
        for statement in of_table.step_by(self.tables as usize) {
            session.queue(*statement, |params| {
                params.int4(self.first as i32);
                params.int4((self.first + RANGE_ROWS - 1) as i32);
            });
        }
        session.exchange().await?;
        Ok(Outcome::Committed)
    }
}
