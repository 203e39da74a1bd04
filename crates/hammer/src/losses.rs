//! Connections lost and opened again, and how long the users had none.

use std::time::Duration;

use stithy_measure::Moment;
use stithy_wire::ConnectionCounts;

/// The connections of a run that were lost.
#[derive(Debug)]
pub(crate) struct Losses {
    connections: u64,
    /// Lost so far.
    pub(crate) lost: u64,
    /// Opened again so far.
    pub(crate) reopened: u64,
    first: Option<Moment>,
    last: Option<Moment>,
    success: Option<Moment>,
}

impl Losses {
    /// None lost of a number of connections.
    pub(crate) fn new(connections: u64) -> Self {
        Losses {
            connections,
            lost: 0,
            reopened: 0,
            first: None,
            last: None,
            success: None,
        }
    }

    /// A connection was lost.
    pub(crate) fn add_loss(&mut self, at: Moment) {
        self.lost += 1;
        self.first.get_or_insert(at);
        self.last = Some(at);
    }

    /// A transaction came to its end over a connection that was opened again.
    pub(crate) fn add_success(&mut self, at: Moment) {
        self.success.get_or_insert(at);
    }

    /// From the first loss to the first success after it.
    pub(crate) fn first_success(&self) -> Option<Duration> {
        Some(self.success?.since(self.first?))
    }

    /// For the summary.
    pub(crate) fn counts(&self) -> ConnectionCounts {
        ConnectionCounts {
            opened: self.connections,
            lost: self.lost,
            reopened: self.reopened,
            first_success_s: self.first_success().map(|time| time.as_secs_f64()),
        }
    }

    /// Since when there is no connection at all.
    pub(crate) fn none_since(&self) -> Option<Moment> {
        let open = self.connections + self.reopened - self.lost;
        self.last.filter(|_| open == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The outage begins with the last loss and ends with the first connection; its length for the
    /// users counts from the first loss to the first success.
    #[test]
    fn an_outage_is_from_loss_to_success() {
        let mut losses = Losses::new(2);
        losses.add_loss(Moment(1_000));
        assert_eq!(None, losses.none_since());
        losses.add_loss(Moment(3_000));
        assert_eq!(Some(Moment(3_000)), losses.none_since());
        assert_eq!(None, losses.first_success());
        losses.reopened += 1;
        assert_eq!(None, losses.none_since());
        losses.add_success(Moment(9_000));
        losses.add_success(Moment(12_000));
        let expected = Duration::from_nanos(8_000);
        assert_eq!(Some(expected), losses.first_success());
    }
}
