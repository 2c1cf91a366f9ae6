//! The wish to end a long reading early.

use std::fmt;
use std::sync::Arc;

/// Asked by readers between the parts of their work; clones ask the same. By default nobody ever stops
/// them.
#[derive(Clone, Default)]
pub struct Stop(Option<Arc<dyn Fn() -> bool + Send + Sync>>);

impl Stop {
    /// A wish that `is_wanted` tells of, on any thread; once it does, it has to go on doing so.
    pub fn when(is_wanted: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(is_wanted)))
    }

    /// Whether the reading is to end.
    pub fn is_wanted(&self) -> bool {
        self.0.as_ref().is_some_and(|is_wanted| is_wanted())
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
