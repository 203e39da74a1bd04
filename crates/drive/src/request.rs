//! What is asked of a drive.

/// Kinds of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Give the bytes of a range.
    Read,
    /// Put bytes in place of a range.
    Write,
    /// Make durable what was answered before.
    Flush,
    /// Make a range zero and forget it.
    Discard,
}

impl Operation {
    /// All kinds, in the order of their [`Operation::index`].
    pub const ALL: [Operation; 4] = [
        Operation::Read,
        Operation::Write,
        Operation::Flush,
        Operation::Discard,
    ];

    /// Its place in [`Operation::ALL`].
    pub fn index(self) -> usize {
        self as usize
    }

    /// Whether it reads or writes data.
    pub fn moves_data(self) -> bool {
        matches!(self, Operation::Read | Operation::Write)
    }

    /// Its name in messages.
    pub fn name(self) -> &'static str {
        ["read", "write", "flush", "discard"][self.index()]
    }
}

/// One request; a flush has no range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// What is asked.
    pub operation: Operation,
    /// Where the range begins.
    pub offset_bytes: u64,
    /// How long it is.
    pub length_bytes: u64,
}
