//! What a server says, token by token.
//!
//! Source: MS-TDS, section 2.2.7 "Packet Data Token Stream Definition".

use std::{fmt, io};

use super::column::{read_columns, read_returned, Cell, Collation, Column};
use super::packet::{decode_wide, Fields, Incoming};
use crate::engines::network::{not_understood, Stream};

/// Numbers of tokens.
pub(super) mod token {
    pub(in super::super) const RETURN_STATUS: u8 = 0x79;
    pub(in super::super) const COLUMNS: u8 = 0x81;
    pub(in super::super) const ERROR: u8 = 0xAA;
    pub(in super::super) const RETURN_VALUE: u8 = 0xAC;
    pub(in super::super) const LOGGED_IN: u8 = 0xAD;
    pub(in super::super) const FEATURES: u8 = 0xAE;
    pub(in super::super) const ROW: u8 = 0xD1;
    pub(in super::super) const ROW_WITH_NULLS: u8 = 0xD2;
    pub(in super::super) const CHANGE: u8 = 0xE3;
    pub(in super::super) const DONE: u8 = 0xFD;
    pub(in super::super) const DONE_CALL: u8 = 0xFE;
    pub(in super::super) const DONE_IN_CALL: u8 = 0xFF;
}

/// Bits of the status of an end.
const COUNTED: u64 = 0x10;
const CANCELLED: u64 = 0x20;

/// An error of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ServerError {
    /// 0 where the hammer makes it.
    pub(super) number: i32,
    pub(super) state: u8,
    /// From 11 on; 20 and more end the session.
    pub(super) severity: u8,
    pub(super) text: String,
}

impl ServerError {
    /// One that the hammer makes.
    pub(super) fn made(text: impl Into<String>) -> Self {
        ServerError {
            number: 0,
            state: 0,
            severity: 16,
            text: text.into(),
        }
    }

    fn read(fields: &mut Fields<'_>) -> io::Result<Self> {
        Ok(ServerError {
            number: fields.integer::<4>()? as u32 as i32,
            state: fields.integer::<1>()? as u8,
            severity: fields.integer::<1>()? as u8,
            text: decode_wide(fields.wide::<2>()?).collect(),
        })
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        match self.number {
            0 => Ok(()),
            number => write!(f, " (error {number}, state {})", self.state),
        }
    }
}

/// The end of a statement or a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Done {
    /// Rows that were given or changed, where they were counted.
    pub(super) count: Option<u64>,
    /// Whether a call ended.
    pub(super) ends_call: bool,
    /// Whether it answers a request to cancel.
    pub(super) cancelled: bool,
}

/// What was read last.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// Columns of a result begin.
    Columns,
    /// A row: its cells are the last ones.
    Row,
    Done(Done),
    Error(ServerError),
    /// The number of a statement that was prepared.
    Handle(Option<i32>),
    /// The server let the user in.
    LoggedIn,
    /// Something that nobody asks for.
    Other,
    /// The message ended.
    End,
}

/// What the server told of the session.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Environment {
    /// The open transaction; 0 where there is none.
    pub(super) transaction: u64,
    /// Bytes of a packet; 0 where the server keeps to what was asked for.
    pub(super) packet_bytes: usize,
    /// The database's order of text.
    pub(super) collation: Collation,
    /// The first number of the server's version.
    pub(super) version: u8,
}

/// Messages of the server, and what was read of them.
#[derive(Debug, Default)]
pub(super) struct Reply {
    pub(super) incoming: Incoming,
    pub(super) columns: Vec<Column>,
    /// Where the columns of the current result begin.
    pub(super) columns_at: usize,
    pub(super) cells: Vec<Cell>,
    pub(super) texts: Vec<u8>,
    pub(super) environment: Environment,
}

impl Reply {
    /// Forgets everything but what the server told of the session.
    pub(super) fn clear(&mut self) {
        self.incoming.clear();
        self.columns.clear();
        self.columns_at = 0;
        self.forget_rows();
    }

    /// Forgets the rows.
    pub(super) fn forget_rows(&mut self) {
        self.incoming.forget_read();
        self.cells.clear();
        self.texts.clear();
    }

    /// Reads what comes next.
    ///
    /// Errors: those of the stream; `InvalidData` where it is nothing of the protocol.
    pub(super) async fn next(&mut self, stream: &mut Stream) -> io::Result<Event> {
        loop {
            let (columns, cells) = (self.columns.len(), self.cells.len());
            let texts = self.texts.len();
            match self.read_token() {
                Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => {}
                read => return read,
            }
            if self.incoming.is_whole() {
                return match self.incoming.unread() {
                    [] => Ok(Event::End),
                    _ => Err(not_understood()),
                };
            }
            self.columns.truncate(columns);
            self.cells.truncate(cells);
            self.texts.truncate(texts);
            self.incoming.receive(stream).await?;
        }
    }

    fn read_token(&mut self) -> io::Result<Event> {
        let bytes = self.incoming.unread();
        let mut fields = Fields(bytes);
        let event = match fields.integer::<1>()? as u8 {
            token::COLUMNS => {
                let at = self.columns.len();
                read_columns(&mut fields, &mut self.columns)?;
                self.columns_at = at;
                Event::Columns
            }
            token @ (token::ROW | token::ROW_WITH_NULLS) => {
                let columns = &self.columns[self.columns_at..];
                let nulls = match token {
                    token::ROW => &[],
                    _ => fields.take(columns.len().div_ceil(8))?,
                };
                let length = self.incoming.bytes().len();
                for (at, column) in columns.iter().enumerate() {
                    let bits = nulls.get(at / 8).copied().unwrap_or(0);
                    self.cells.push(match bits >> (at % 8) & 1 {
                        1 => Cell::Null,
                        _ => column.read_cell(&mut fields, length, &mut self.texts)?,
                    });
                }
                Event::Row
            }
            token @ (token::DONE | token::DONE_CALL | token::DONE_IN_CALL) => {
                let status = fields.integer::<2>()?;
                fields.take(2)?;
                let count = fields.integer::<8>()?;
                Event::Done(Done {
                    count: (status & COUNTED != 0).then_some(count),
                    ends_call: token == token::DONE_CALL,
                    cancelled: status & CANCELLED != 0,
                })
            }
            token::ERROR => Event::Error(ServerError::read(&mut Fields(fields.counted::<2>()?))?),
            token::RETURN_VALUE => Event::Handle(read_returned(&mut fields)?),
            token::RETURN_STATUS => {
                fields.take(4)?;
                Event::Other
            }
            token::CHANGE => {
                self.environment.change(Fields(fields.counted::<2>()?))?;
                Event::Other
            }
            token::LOGGED_IN => {
                let [.., version, _, _, _] = *fields.counted::<2>()? else {
                    return Err(not_understood());
                };
                self.environment.version = version;
                Event::LoggedIn
            }
            token::FEATURES => {
                const LAST: u64 = 0xFF;
                while fields.integer::<1>()? != LAST {
                    fields.counted::<4>()?;
                }
                Event::Other
            }
            // Notes to people, and what only tells of columns.
            0xA4 | 0xA5 | 0xA9 | 0xAB | 0xED => {
                fields.counted::<2>()?;
                Event::Other
            }
            _ => return Err(not_understood()),
        };
        let read = bytes.len() - fields.0.len();
        self.incoming.skip(read);
        Ok(event)
    }
}

impl Environment {
    fn change(&mut self, mut fields: Fields<'_>) -> io::Result<()> {
        match fields.integer::<1>()? {
            4 => {
                let text: String = decode_wide(fields.wide::<1>()?).collect();
                self.packet_bytes = text.parse().map_err(|_| not_understood())?;
            }
            7 => {
                if let Ok(collation) = fields.counted::<1>()?.try_into() {
                    self.collation = collation;
                }
            }
            8 => self.transaction = Fields(fields.counted::<1>()?).integer::<8>()?,
            9 | 10 | 17 => self.transaction = 0,
            _ => {}
        }
        Ok(())
    }
}
