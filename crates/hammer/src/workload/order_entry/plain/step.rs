//! The steps of the transactions, each of which is one statement.

/// A step of a transaction; its number is its place in [`Sql::steps`](super::super::sql::Sql::steps).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Begin,
    Commit,
    TakeNumber,
    Rates,
    Price,
    TakeStock,
    WriteOrder,
    WriteWaiting,
    WriteLine,
    FindByName,
    Labels,
    Pay,
    PayDistrict,
    PayWarehouse,
    WriteHistory,
    Balance,
    LastOrder,
    Lines,
    TakeOldest,
    Carry,
    DateLines,
    Credit,
    CountLowStock,
}
