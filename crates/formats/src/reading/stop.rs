//! The wish to end a long reading early, and how far it is.

use std::fmt;
use std::sync::Arc;

type Wish = dyn Fn() -> bool + Send + Sync;
type Told = dyn Fn(Read) + Send + Sync;

/// How far a reading has come since it told of that before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Read {
    /// Bytes that were read.
    pub bytes: u64,
    /// Bytes of which it became known that they are to be read.
    pub expected: u64,
}

/// Asked by readers between the parts of their work, and told of those parts; clones ask and tell the same. By
/// default nobody ever stops them, or listens.
#[derive(Clone, Default)]
pub struct Stop {
    wish: Option<Arc<Wish>>,
    told: Option<Arc<Told>>,
}

impl Stop {
    /// A wish that `is_wanted` tells of, on any thread; once it does, it has to go on doing so.
    pub fn when(is_wanted: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self { wish: Some(Arc::new(is_wanted)), told: None }
    }

    /// The same, with somebody who is told how far the reading is, on any thread.
    pub fn telling(self, told: impl Fn(Read) + Send + Sync + 'static) -> Self {
        Self { told: Some(Arc::new(told)), ..self }
    }

    /// Whether the reading is to end.
    pub fn is_wanted(&self) -> bool {
        self.wish.as_ref().is_some_and(|is_wanted| is_wanted())
    }

    /// Says that bytes are to be read, whose number is only asked for where somebody listens.
    pub fn expects(&self, bytes: impl FnOnce() -> u64) {
        if let Some(told) = &self.told {
            told(Read { expected: bytes(), bytes: 0 });
        }
    }

    /// Says that bytes were read.
    pub fn has_read(&self, bytes: usize) {
        if let Some(told) = &self.told {
            told(Read { bytes: bytes as u64, expected: 0 });
        }
    }

    /// The same rows, but no further ones once the reading is to end, which is asked at the first of them and
    /// then at every few thousand. Whoever works on what came of them asks once more.
    pub fn within<R: IntoIterator>(&self, rows: R) -> impl Iterator<Item = R::Item> {
        /// Few enough to take no more than a fraction of a second, and many enough to cost nothing.
        const BETWEEN: usize = 4096;
        let goes_on = |(row, _): &(usize, R::Item)| row % BETWEEN != 0 || !self.is_wanted();
        rows.into_iter().enumerate().take_while(goes_on).map(|(_, row)| row)
    }
}

impl fmt::Debug for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Stop")
    }
}
