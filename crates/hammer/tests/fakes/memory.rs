//! An engine in memory: numbered counters, which every session of a name shares.
//!
//! `memory://name?conflict_every=7&lose_every=50`: each seventh statement is a conflict, and with each
//! fiftieth the connection is lost after the counter has grown. `memory://name?full`: no row fits in.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use stithy_hammer::engines::{
    Answer, Batch, Control, Copying, Params, Row, RowFormat, Session, SessionError,
    SessionSettings, Statement, TableOrder, Target, Value,
};
use stithy_hammer::error::HammerError;
use stithy_wire::{ErrorKind, Sizes};

#[derive(Default)]
struct Store {
    tables: BTreeSet<String>,
    /// Rows that were copied.
    rows: u64,
    /// What else was executed.
    done: Vec<String>,
    counters: Vec<u64>,
    /// Each increment: its number, and its counter.
    increments: BTreeMap<i64, usize>,
    statements: u64,
}

static STORES: LazyLock<Mutex<HashMap<String, Arc<Mutex<Store>>>>> = LazyLock::new(Mutex::default);

/// A store of a name.
#[derive(Clone)]
pub struct MemoryTarget {
    name: String,
    store: Arc<Mutex<Store>>,
    conflict_every: u64,
    lose_every: u64,
    fails: bool,
}

impl MemoryTarget {
    /// Its tables, how many rows were copied, and what else was executed.
    pub fn loaded(&self) -> (Vec<String>, u64, Vec<String>) {
        let store = self.store.lock().unwrap();
        let tables = store.tables.iter().cloned().collect();
        (tables, store.rows, store.done.clone())
    }

    /// What each counter says.
    pub fn counters(&self) -> Vec<u64> {
        self.store.lock().unwrap().counters.clone()
    }
}

impl Target for MemoryTarget {
    const ENGINE: &'static str = "memory";
    const SCHEMES: &'static [&'static str] = &["memory://"];
    type Session = MemorySession;
    type Control = MemoryControl;

    fn parse(url: &str) -> Result<Self, HammerError> {
        let rest = url.strip_prefix("memory://").unwrap();
        let (name, options) = rest.split_once('?').unwrap_or((rest, ""));
        let option = |key: &str| {
            let mut pairs = options.split('&').filter_map(|pair| pair.split_once('='));
            let value = pairs.find(|(name, _)| *name == key);
            value.map_or(u64::MAX, |(_, value)| value.parse().unwrap())
        };
        let store = STORES
            .lock()
            .unwrap()
            .entry(name.into())
            .or_default()
            .clone();
        Ok(MemoryTarget {
            name: name.into(),
            store,
            conflict_every: option("conflict_every"),
            lose_every: option("lose_every"),
            fails: options == "full",
        })
    }

    fn place(&self) -> &str {
        &self.name
    }

    async fn open(&self, _: SessionSettings) -> Result<MemorySession, HammerError> {
        Ok(MemorySession {
            target: self.clone(),
            texts: Vec::new(),
            batch: Vec::new(),
            answer: Numbers::default(),
        })
    }

    async fn connect(&self) -> Result<MemoryControl, HammerError> {
        Ok(MemoryControl(self.clone()))
    }
}

/// A session.
pub struct MemorySession {
    target: MemoryTarget,
    texts: Vec<String>,
    batch: Vec<(String, Integers)>,
    answer: Numbers,
}

impl MemorySession {
    /// What a statement gives.
    fn answered(&self, text: &str, params: &[i64]) -> Result<i64, SessionError> {
        let mut store = self.target.store.lock().unwrap();
        store.statements += 1;
        let falls_on = |every| store.statements.is_multiple_of(every);
        let (conflict, lost) = (
            falls_on(self.target.conflict_every),
            falls_on(self.target.lose_every),
        );
        if conflict {
            return Err(SessionError {
                kind: ErrorKind::Retryable,
                code: Some("CONFLICT".into()),
                text: "somebody else was faster".into(),
            });
        }
        let counter = params[0] as usize;
        if text == "increment" {
            store.counters[counter] += params[2] as u64;
            store.increments.insert(params[1], counter);
        }
        match lost {
            true => Err(SessionError::lost("it was cut")),
            false => Ok(store.counters[counter] as i64),
        }
    }
}

impl Session for MemorySession {
    type Params<'a> = Integers;
    type Answer = Numbers;

    async fn prepare(&mut self, texts: &[&str]) -> Result<Vec<Statement>, SessionError> {
        let first = self.texts.len();
        self.texts
            .extend(texts.iter().map(|text| (*text).to_string()));
        let numbers = first..self.texts.len();
        Ok(numbers.map(|at| Statement::numbered(at as u16)).collect())
    }

    fn start(&mut self, _: Batch) {
        self.batch.clear();
    }

    fn queue(&mut self, statement: Statement, write: impl FnOnce(&mut Integers)) {
        let mut params = Integers::default();
        write(&mut params);
        let text = self.texts[usize::from(statement.number())].clone();
        self.batch.push((text, params));
    }

    async fn exchange(&mut self) -> Result<&Numbers, SessionError> {
        tokio::time::sleep(Duration::from_millis(1)).await;
        let batch = std::mem::take(&mut self.batch);
        let each = batch.iter();
        let answered = each.map(|(text, params)| self.answered(text, &params.0));
        self.answer = Numbers(answered.collect::<Result<_, _>>()?);
        Ok(&self.answer)
    }

    fn answer(&self) -> &Numbers {
        &self.answer
    }

    fn in_transaction(&self) -> bool {
        false
    }

    async fn roll_back(&mut self) -> Result<(), SessionError> {
        Ok(())
    }

    async fn close(self) {}
}

/// Parameters; only integers are of use here.
#[derive(Default)]
pub struct Integers(Vec<i64>);

impl Params for Integers {
    fn null(&mut self) {
        self.0.push(0);
    }

    fn boolean(&mut self, value: bool) {
        self.0.push(value.into());
    }

    fn int2(&mut self, value: i16) {
        self.0.push(value.into());
    }

    fn int4(&mut self, value: i32) {
        self.0.push(value.into());
    }
    fn int8(&mut self, value: i64) {
        self.0.push(value);
    }

    fn timestamp(&mut self, value_us: i64) {
        self.0.push(value_us);
    }

    fn text(&mut self, value: &[u8]) {
        self.0.push(value.len() as i64);
    }

    fn cents(&mut self, value: u32) {
        self.0.push(value.into());
    }

    fn int2_list(&mut self, values: impl ExactSizeIterator<Item = i16>) {
        self.0.extend(values.map(i64::from));
    }

    fn int4_list(&mut self, values: impl ExactSizeIterator<Item = i32>) {
        self.0.extend(values.map(i64::from));
    }

    fn int8_list(&mut self, values: impl ExactSizeIterator<Item = i64>) {
        self.0.extend(values);
    }
}

/// One row of one number for each statement.
#[derive(Default)]
pub struct Numbers(Vec<i64>);

/// That row.
pub struct Number(i64);

impl Answer for Numbers {
    type Row<'a> = Number;

    fn rows(&self, step: u16) -> impl Iterator<Item = Number> {
        self.0
            .get(usize::from(step))
            .map(|value| Number(*value))
            .into_iter()
    }

    fn affected(&self, _: u16) -> u64 {
        1
    }
}

impl<'a> Row<'a> for Number {
    fn bytes(&self, _: usize) -> Option<&'a [u8]> {
        None
    }

    fn integer(&self, _: usize) -> Option<i64> {
        Some(self.0)
    }

    fn cents(&self, _: usize) -> Option<i64> {
        Some(100 * self.0)
    }
}

/// A connection for what is asked once: `create <table>`, `forget` the last increment,
/// `sum`, `increments`; all else gives a row of 0, or is written down as done.
pub struct MemoryControl(MemoryTarget);

impl Control for MemoryControl {
    const FORMAT: &'static dyn RowFormat = &Words;
    const TABLE_ORDER: TableOrder = TableOrder::Any;
    type Copying = Counters;

    async fn execute(&self, _: &str, sql: &str) -> Result<(), HammerError> {
        let mut store = self.0.store.lock().unwrap();
        if let Some(table) = sql.strip_prefix("create ") {
            store.tables.insert(table.into());
        }
        match sql {
            "forget" => drop(store.increments.pop_last()),
            _ => store.done.push(sql.into()),
        }
        Ok(())
    }

    async fn each_row(
        &self,
        _: &str,
        sql: &str,
        values: &[Value],
        mut take: impl FnMut(Vec<Value>),
    ) -> Result<(), HammerError> {
        let store = self.0.store.lock().unwrap();
        match sql {
            "sum" => take(vec![Value::Integer(
                store.counters.iter().sum::<u64>() as i64
            )]),
            "increments" => {
                let [from, to] = values else {
                    panic!("two bounds: {values:?}")
                };
                let within = store.increments.range(from.integer()..=to.integer());
                within.for_each(|(number, counter)| {
                    take(vec![
                        Value::Integer(*number),
                        Value::Integer(*counter as i64),
                    ]);
                });
            }
            _ => take(vec![Value::Integer(0), Value::Null]),
        }
        Ok(())
    }

    async fn copy(&self, doing: &str, _: &str, _: bool) -> Result<Counters, HammerError> {
        if self.0.fails {
            let remedy = "load another database";
            return Err(HammerError::infrastructure(
                "disk-full",
                "it is full",
                doing,
                remedy,
            ));
        }
        Ok(Counters(self.0.clone()))
    }

    async fn cancel(&self) {}

    async fn present_tables(&self, names: &[&str]) -> Result<Vec<String>, HammerError> {
        let store = self.0.store.lock().unwrap();
        let present = names.iter().filter(|name| store.tables.contains(**name));
        Ok(present.map(|name| name.to_string()).collect())
    }

    async fn require_connections(&self, _: u32) -> Result<(), HammerError> {
        Ok(())
    }

    async fn sizes(&self) -> Sizes {
        Sizes::default()
    }

    async fn begin_loading(&self) -> Result<(), HammerError> {
        Ok(())
    }

    async fn begin_snapshot(&self) -> Result<(), HammerError> {
        Ok(())
    }

    async fn begin(&self, doing: &str) -> Result<(), HammerError> {
        self.execute(doing, "begin").await
    }

    async fn commit(&self, doing: &str) -> Result<(), HammerError> {
        self.execute(doing, "commit").await
    }

    async fn drop_tables(&self, _: &[&str]) -> Result<(), HammerError> {
        *self.0.store.lock().unwrap() = Store::default();
        Ok(())
    }

    fn end_loading(table: &str) -> Option<String> {
        Some(format!("end {table}"))
    }

    fn analyze(table: &str) -> String {
        format!("analyze {table}")
    }
}

/// Counters under way: each row makes the one of its number.
pub struct Counters(MemoryTarget);

impl Copying for Counters {
    async fn send(&mut self, rows: Vec<u8>) -> Result<(), HammerError> {
        let mut store = self.0.store.lock().unwrap();
        for number in rows.chunks(4) {
            let number = u32::from_le_bytes(number.try_into().unwrap()) as usize;
            let counters = store.counters.len().max(number + 1);
            store.counters.resize(counters, 0);
            store.rows += 1;
        }
        Ok(())
    }

    async fn finish(self) -> Result<(), HammerError> {
        Ok(())
    }
}

/// Rows of integers of four bytes; nothing else is of use here.
pub struct Words;

impl RowFormat for Words {
    fn begin(&self, _: &mut Vec<u8>, _: u16) {}

    fn int2(&self, _: &mut Vec<u8>, _: i16) {}

    fn int4(&self, out: &mut Vec<u8>, value: u32) {
        out.extend_from_slice(&value.to_le_bytes());
    }

    fn int8(&self, _: &mut Vec<u8>, _: i64) {}

    fn timestamp(&self, _: &mut Vec<u8>, _: i64) {}

    fn null(&self, _: &mut Vec<u8>) {}

    fn begin_text(&self, out: &mut Vec<u8>) -> usize {
        out.len()
    }

    fn end_text(&self, _: &mut Vec<u8>, _: usize) {}

    fn cents(&self, _: &mut Vec<u8>, _: i64) {}

    fn ten_thousandths(&self, _: &mut Vec<u8>, _: u16) {}
}
