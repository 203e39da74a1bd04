//! Locks of what is only changed in whole steps: whoever panicked with one has not harmed it.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Waits for a lock, and takes what it guards as it is.
#[inline]
pub fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
