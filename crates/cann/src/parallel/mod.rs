//! Spreads independent pieces of work over the processor's cores.

mod turns;

pub(crate) use turns::{ordered, parts, texts};

use std::convert::Infallible;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How many threads work at the same time.
pub(crate) fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, |n| n.get()).min(16)
}

/// How many of so many rows a part has, where each part has to find where to begin: few parts, but enough
/// for all cores to end together.
pub(crate) fn rows_per_part(rows: usize) -> usize {
    rows.div_ceil(threads() * 4).max(MANY_ROWS)
}

/// Applies `work` to every item, on all cores, and returns the results in the items' order.
pub(crate) fn map<I: Sync, R: Send>(items: &[I], work: impl Fn(&I) -> R + Sync) -> Vec<R> {
    let workers = threads().min(items.len());
    if workers <= 1 {
        return items.iter().map(work).collect();
    }
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<(usize, R)>> = Mutex::new(Vec::with_capacity(items.len()));
    on_threads(workers, || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(index) else { break };
            let result = work(item);
            locked(&results).push((index, result));
        }
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Makes one column of the results of `work` for all numbers below `count`, on all cores. `work` gets a
/// range of numbers at a time and appends their results.
pub(crate) fn column<R: Send>(count: usize, work: impl Fn(Range<usize>, &mut Vec<R>) + Sync) -> Vec<R> {
    let mut all = Vec::new();
    row_parts(count, work, |part| all.append(part));
    all
}

/// Divides so many rows into ranges, makes a part of each on all cores and hands the parts to `consume` in
/// order, as [`parts`] does.
pub(crate) fn row_parts<P: Default + Send>(
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

/// Runs two pieces of work at the same time.
pub(crate) fn join<A: Send, B: Send>(first: impl FnOnce() -> A + Send, second: impl FnOnce() -> B) -> (A, B) {
    if threads() <= 1 {
        return (first(), second());
    }
    let first = Mutex::new(Some(first));
    let do_first = || {
        let first = locked(&first).take();
        first.map(|first| first())
    };
    std::thread::scope(|scope| {
        let handle = std::thread::Builder::new().spawn_scoped(scope, do_first);
        let second = second();
        let first = match handle.map(std::thread::ScopedJoinHandle::join) {
            Ok(Ok(first)) => first,
            Ok(Err(panic)) => std::panic::resume_unwind(panic),
            // No thread was to be had.
            Err(_) => do_first(),
        };
        (first.unwrap_or_else(|| unreachable!("it is taken once")), second)
    })
}

/// From how many rows on work is divided that takes little time for each.
const MANY_ROWS: usize = 1 << 14;

/// Does all pieces of work, each of so many rows; on all cores if that is worth the while.
pub(crate) fn all(rows: usize, work: &mut [&mut (dyn FnMut() + Send)]) {
    if rows < MANY_ROWS {
        work.iter_mut().for_each(|piece| piece());
        return;
    }
    let workers = threads().min(work.len());
    let next = Mutex::new(work.iter_mut());
    on_threads(workers, || {
        loop {
            let Some(piece) = locked(&next).next() else { break };
            piece();
        }
    });
}

/// Sorts by a key on all cores; what has equal keys keeps its order.
pub(crate) fn sort_by_key<T: Send, K: Ord>(items: &mut [T], key: impl Fn(&T) -> K + Sync) {
    let count = items.len();
    if count >= MANY_ROWS {
        let part = count.div_ceil(threads());
        let (mut parts, key) = (Vec::new(), &key);
        parts.extend(items.chunks_mut(part).map(|part| move || part.sort_by_key(key)));
        let mut work: Vec<&mut (dyn FnMut() + Send)> = Vec::new();
        work.extend(parts.iter_mut().map(|sort| sort as &mut (dyn FnMut() + Send)));
        all(count, &mut work);
    }
    // The sorted runs are found and only merged.
    items.sort_by_key(key);
}

/// Runs the same work on so many threads, of which this is one.
fn on_threads(count: usize, work: impl Fn() + Sync) {
    std::thread::scope(|scope| {
        // Where no more threads are to be had, those that there are do all.
        (1..count).for_each(|_| drop(std::thread::Builder::new().spawn_scoped(scope, &work)));
        work();
    });
}

/// A lock's content, whether or not another thread panicked with it.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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
    fn both_results_of_a_pair_come_back() {
        assert_eq!(super::join(|| 1, || "two"), (1, "two"));
    }
}
