//! Independent pieces of work on all cores of the processor, their results in order.
//!
//! All of it runs on one pool of `rayon`'s threads. Where the system grants no threads, or has one core
//! only, whoever asks does the work itself.
//!
//! ```
//! // Parts are made on all cores and taken one after another; their memory is used again.
//! let mut text = String::new();
//! let written: Result<(), std::fmt::Error> = opscope_parallel::parts(
//!     3,
//!     |number, part: &mut Vec<String>| part.push(format!("part {number};")),
//!     |part| {
//!         part.drain(..).for_each(|piece| text.push_str(&piece));
//!         Ok(())
//!     },
//! );
//! assert_eq!((written, text.as_str()), (Ok(()), "part 0;part 1;part 2;"));
//! ```

mod ordered;

pub use ordered::{ordered, parts, texts};

use std::cell::Cell;
use std::convert::Infallible;
use std::num::NonZero;
use std::ops::Range;
use std::sync::OnceLock;

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// The pool of threads; `None` where one core is all that there is, or the system refuses threads.
///
/// It isn't `rayon`'s global pool, because that one panics where it is refused threads.
fn pool() -> Option<&'static ThreadPool> {
    /// More threads only wait for memory and for one another.
    const MOST_THREADS: usize = 16;
    static POOL: OnceLock<Option<ThreadPool>> = OnceLock::new();
    if ALONE.get() {
        return None;
    }
    let start = || {
        let threads = std::thread::available_parallelism().map_or(1, NonZero::get).min(MOST_THREADS);
        let name = |number| format!("opscope-{number}");
        let pool =
            (threads > 1).then(|| ThreadPoolBuilder::new().num_threads(threads).thread_name(name).build());
        pool?.ok()
    };
    POOL.get_or_init(start).as_ref()
}

thread_local! {
    /// Whether this thread does everything itself.
    static ALONE: Cell<bool> = const { Cell::new(false) };
}

/// Does a piece of work on this thread alone: what it would divide, it does itself. Where many small pieces
/// of work keep all cores busy, to wake one another within each of them takes longer than the work.
pub fn alone<R>(work: impl FnOnce() -> R) -> R {
    /// Ends with the work, also where it panics.
    struct Before(bool);
    impl Drop for Before {
        fn drop(&mut self) {
            ALONE.set(self.0);
        }
    }
    let _before = Before(ALONE.replace(true));
    work()
}

/// The number of rows of which work is divided that takes little time for each.
const MANY_ROWS: usize = 1 << 14;

/// The number of rows of a part, where each part has to find where to begin: few parts, but enough for all
/// cores to end together.
pub fn rows_per_part(rows: usize) -> usize {
    let threads = pool().map_or(1, ThreadPool::current_num_threads);
    rows.div_ceil(threads * 4).max(MANY_ROWS)
}

/// Applies `work` to every item and returns the results in the items' order.
pub fn map<I: Sync, R: Send>(items: &[I], work: impl Fn(&I) -> R + Sync) -> Vec<R> {
    match pool() {
        // Items are few and large, so each can go to another thread.
        Some(pool) if items.len() > 1 => {
            pool.install(|| items.par_iter().with_max_len(1).map(&work).collect())
        }
        _ => items.iter().map(work).collect(),
    }
}

/// Makes one column of the results of `work` for all numbers below `count`. `work` gets a range of numbers
/// at a time and appends their results.
pub fn column<R: Send>(count: usize, work: impl Fn(Range<usize>, &mut Vec<R>) + Sync) -> Vec<R> {
    let mut all = Vec::new();
    row_parts(count, work, |part| all.append(part));
    all
}

/// Divides so many rows into ranges, makes a part of each and hands the parts to `consume` in order, as
/// [`parts`] does.
pub fn row_parts<P: Default + Send>(
    count: usize,
    work: impl Fn(Range<usize>, &mut P) + Sync,
    mut consume: impl FnMut(&mut P) + Send,
) {
    let rows = |number: usize| number * MANY_ROWS..((number + 1) * MANY_ROWS).min(count);
    let Ok(()) = parts(
        count.div_ceil(MANY_ROWS),
        |number, part| work(rows(number), part),
        |part| {
            consume(part);
            Ok::<(), Infallible>(())
        },
    );
}

/// Does two pieces of work at the same time.
pub fn join<A: Send, B: Send>(first: impl FnOnce() -> A + Send, second: impl FnOnce() -> B + Send) -> (A, B) {
    match pool() {
        Some(pool) => pool.join(first, second),
        None => (first(), second()),
    }
}

/// Does all pieces of work, each of so many rows; at the same time if that is worth the while.
pub fn all(rows: usize, work: &mut [&mut (dyn FnMut() + Send)]) {
    match pool() {
        Some(pool) if rows >= MANY_ROWS => {
            pool.install(|| work.par_iter_mut().with_max_len(1).for_each(|piece| piece()));
        }
        _ => work.iter_mut().for_each(|piece| piece()),
    }
}

/// Sorts by a key; what has equal keys keeps its order.
pub fn sort_by_key<T: Send, K: Ord>(items: &mut [T], key: impl Fn(&T) -> K + Sync) {
    match pool() {
        Some(pool) if items.len() >= MANY_ROWS => pool.install(|| items.par_sort_by_key(&key)),
        _ => items.sort_by_key(key),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn results_come_back_in_the_order_of_the_items() {
        let items: Vec<u64> = (0..1_000).collect();
        let squares = super::map(&items, |n| n * n);
        assert!(squares.iter().enumerate().all(|(n, square)| *square == (n * n) as u64));
    }

    #[test]
    fn a_column_has_the_results_of_all_ranges_in_order() {
        let even = super::column(200_000, |rows, out| out.extend(rows.filter(|row| row % 2 == 0)));
        assert!(even.len() == 100_000 && even.iter().enumerate().all(|(n, row)| *row == n * 2));
    }

    #[test]
    fn work_that_is_done_alone_stays_on_its_thread_and_no_other_does() {
        let threads = || {
            let ids = super::map(&[(); 64], |()| {
                std::thread::sleep(std::time::Duration::from_millis(1));
                std::thread::current().id()
            });
            let (first, second) = super::join(|| std::thread::current().id(), || std::thread::current().id());
            ids.into_iter().chain([first, second]).collect::<std::collections::HashSet<_>>()
        };
        let here = std::collections::HashSet::from([std::thread::current().id()]);
        assert_eq!(super::alone(|| super::alone(threads)), here);
        let broken = std::panic::catch_unwind(|| super::alone(|| panic!("within")));
        // The pool's threads have other ids than whoever asks.
        assert!(broken.is_err() && (super::pool().is_none() || threads() != here));
    }

    #[test]
    fn both_results_of_a_pair_come_back() {
        assert_eq!(super::join(|| 1, || "two"), (1, "two"));
    }
}
