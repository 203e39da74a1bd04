//! A queue: things are put and taken; whoever finds none waits in line.

use std::collections::VecDeque;
use std::sync::Mutex;

use stithy_measure::locked;
use tokio::sync::Semaphore;

/// Things that wait for takers, or takers who wait for things; both in the order they came.
pub(crate) struct Queue<T> {
    things: Mutex<VecDeque<T>>,
    /// One permit a thing that nobody was promised.
    free: Semaphore,
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Queue {
            things: Mutex::new(VecDeque::new()),
            free: Semaphore::new(0),
        }
    }
}

impl<T> Queue<T> {
    /// Puts a thing behind all others.
    pub(crate) fn put_last(&self, thing: T) {
        locked(&self.things).push_back(thing);
        self.free.add_permits(1);
    }

    /// Puts a thing before all others.
    pub(crate) fn put_first(&self, thing: T) {
        locked(&self.things).push_front(thing);
        self.free.add_permits(1);
    }

    /// Takes the first thing, when there is one and everybody who came before has one.
    ///
    /// Given up while waiting, nothing is taken.
    pub(crate) async fn take(&self) -> T {
        loop {
            // The semaphore is never closed.
            if let Ok(permit) = self.free.acquire().await {
                permit.forget();
            }
            if let Some(thing) = locked(&self.things).pop_front() {
                return thing;
            }
        }
    }

    /// Takes the first thing, if there is one that nobody waits for.
    pub(crate) fn try_take(&self) -> Option<T> {
        self.free.try_acquire().ok()?.forget();
        locked(&self.things).pop_front()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    /// Whoever waits first takes first, and what was given up is left for the next.
    #[tokio::test]
    async fn takers_are_served_in_the_order_they_came() {
        let queue = Arc::new(Queue::default());
        let taker = |queue: Arc<Queue<u32>>| tokio::spawn(async move { queue.take().await });
        let first = taker(queue.clone());
        tokio::task::yield_now().await;
        let given_up = taker(queue.clone());
        tokio::task::yield_now().await;
        let last = taker(queue.clone());
        tokio::task::yield_now().await;
        given_up.abort();
        tokio::task::yield_now().await;
        queue.put_last(1);
        queue.put_last(2);
        assert_eq!((1, 2), (first.await.unwrap(), last.await.unwrap()));
        assert_eq!(None, queue.try_take());
    }

    /// What is put first is taken first, the rest in the order it came.
    #[test]
    fn things_have_an_order() {
        let queue = Queue::default();
        queue.put_last(1);
        queue.put_last(2);
        queue.put_first(0);
        let taken: Vec<_> = std::iter::from_fn(|| queue.try_take()).collect();
        assert_eq!(vec![0, 1, 2], taken);
    }
}
