//! How a signal reaches a job: asked once, seen everywhere, never lost.
//!
//! Whoever owns the program holds the [`Stopper`]; every part of a job holds a [`Stop`].

use tokio::sync::watch;

/// Asks every [`Stop`] of its pair to stop.
#[derive(Debug)]
pub struct Stopper(watch::Sender<bool>);

/// Whether one should stop.
#[derive(Debug, Clone)]
pub struct Stop(watch::Receiver<bool>);

/// A stopper and what it stops.
pub fn stop_pair() -> (Stopper, Stop) {
    let (sender, receiver) = watch::channel(false);
    (Stopper(sender), Stop(receiver))
}

impl Stopper {
    /// Asks to stop; asking twice is the same.
    pub fn request(&self) {
        self.0.send_replace(true);
    }
}

impl Stop {
    /// Whether somebody asked to stop.
    pub fn requested(&self) -> bool {
        *self.0.borrow()
    }

    /// Returns when somebody asks to stop; never, when nobody can any more.
    pub async fn wait(&mut self) {
        if self.0.wait_for(|requested| *requested).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A request made before anybody waits is still seen, by every copy.
    #[tokio::test]
    async fn a_request_is_seen_by_every_copy() {
        let (stopper, stop) = stop_pair();
        let mut copy = stop.clone();
        assert!(!stop.requested());
        stopper.request();
        stopper.request();
        copy.wait().await;
        assert!(stop.requested() && copy.requested());
    }
}
