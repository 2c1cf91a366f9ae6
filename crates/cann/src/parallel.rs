//! Spreads independent pieces of work over the processor's cores.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

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

/// How many parts may wait for each worker before their turn comes.
const PARTS_AHEAD: usize = 8;

/// Produces `count` texts on all cores and hands them to `consume` in order. `produce` appends to an empty
/// text.
pub(crate) fn texts<E: Send>(
    count: usize,
    produce: impl Fn(usize, &mut Vec<u8>) + Sync,
    mut consume: impl FnMut(&[u8]) -> Result<(), E> + Send,
) -> Result<(), E> {
    parts(count, produce, |text: &mut Vec<u8>| {
        let result = consume(text);
        text.clear();
        result
    })
}

/// Produces `count` parts on all cores and hands them to `consume` in order. `produce` fills an empty part;
/// `consume` empties it, and it is used again, because fresh memory costs more than to fill it.
pub(crate) fn parts<P: Default + Send, E: Send>(
    count: usize,
    produce: impl Fn(usize, &mut P) + Sync,
    mut consume: impl FnMut(&mut P) -> Result<(), E> + Send,
) -> Result<(), E> {
    let used: Mutex<Vec<P>> = Mutex::default();
    let fresh = |number| {
        let mut part = locked(&used).pop().unwrap_or_default();
        produce(number, &mut part);
        part
    };
    ordered(count, PARTS_AHEAD, fresh, |mut part| {
        let result = consume(&mut part);
        locked(&used).push(part);
        result
    })
}

/// Produces `count` results on all cores and hands them to `consume` in order. No more than `ahead` of them
/// for each core are in memory. Stops early when `consume` fails.
///
/// Whoever produced the next result in turn consumes it, with those that wait behind it; the others go on
/// producing. So no core is woken up for each result, and none waits but where `consume` is the slowest.
pub(crate) fn ordered<R: Send, E: Send>(
    count: usize,
    ahead: usize,
    produce: impl Fn(usize) -> R + Sync,
    mut consume: impl FnMut(R) -> Result<(), E> + Send,
) -> Result<(), E> {
    let workers = threads().min(count);
    if workers <= 1 {
        return (0..count).try_for_each(|index| consume(produce(index)));
    }
    let turns = Turns {
        queue: Mutex::new(Queue { count, ahead: ahead.max(1) * workers, ..Queue::default() }),
        moved: Condvar::new(),
    };
    let consumer = Mutex::new(consume);
    let failure: Mutex<Option<E>> = Mutex::new(None);
    on_threads(workers, || {
        // Nobody waits for a worker that is gone.
        let _stop = StopAtPanic(&turns);
        while let Some(work) = turns.next() {
            match work {
                Work::Produce(index) => turns.put(index, produce(index)),
                Work::Consume(result) => {
                    let result = (locked(&consumer))(result);
                    turns.consumed(result.is_ok());
                    if let Err(error) = result {
                        *locked(&failure) = Some(error);
                    }
                }
            }
        }
    });
    failure.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}

/// What a worker of [`ordered`] is to do.
enum Work<R> {
    Produce(usize),
    Consume(R),
}

/// Who produces and consumes what next.
struct Turns<R> {
    queue: Mutex<Queue<R>>,
    /// Tells those who wait that a result was consumed, or that all stop.
    moved: Condvar,
}

struct Queue<R> {
    /// How many results there are to be.
    count: usize,
    /// How many results may be begun and not consumed.
    ahead: usize,
    /// How many results were begun.
    begun: usize,
    /// How many results were consumed.
    consumed: usize,
    /// The results behind the last consumed one; `None` for those that aren't ready.
    ready: VecDeque<Option<R>>,
    /// Whether someone consumes.
    is_consuming: bool,
    is_stopped: bool,
}

impl<R> Default for Queue<R> {
    fn default() -> Self {
        let ready = VecDeque::new();
        Self { count: 0, ahead: 0, begun: 0, consumed: 0, ready, is_consuming: false, is_stopped: false }
    }
}

impl<R> Turns<R> {
    /// The next piece of work; waits where too many results are in memory. `None` when all that is left
    /// is done by others.
    fn next(&self) -> Option<Work<R>> {
        let mut queue = locked(&self.queue);
        loop {
            if queue.is_stopped {
                return None;
            }
            if !queue.is_consuming
                && let Some(result) = queue.ready.front_mut().and_then(Option::take)
            {
                queue.is_consuming = true;
                return Some(Work::Consume(result));
            }
            if queue.begun == queue.count {
                return None;
            }
            if queue.begun - queue.consumed < queue.ahead {
                queue.begun += 1;
                queue.ready.push_back(None);
                return Some(Work::Produce(queue.begun - 1));
            }
            queue = self.moved.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn put(&self, index: usize, result: R) {
        let mut queue = locked(&self.queue);
        let place = index - queue.consumed;
        queue.ready[place] = Some(result);
    }

    fn consumed(&self, is_good: bool) {
        let mut queue = locked(&self.queue);
        queue.is_consuming = false;
        queue.is_stopped |= !is_good;
        queue.consumed += 1;
        queue.ready.pop_front();
        drop(queue);
        self.moved.notify_all();
    }
}

/// Lets all others stop if its thread panics.
struct StopAtPanic<'a, R>(&'a Turns<R>);

impl<R> Drop for StopAtPanic<'_, R> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            locked(&self.0.queue).is_stopped = true;
            self.0.moved.notify_all();
        }
    }
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
    fn results_are_consumed_in_order_and_a_failure_stops_the_work() {
        let mut seen = Vec::new();
        let all = super::ordered(
            100,
            2,
            |n| n * 2,
            |n| {
                seen.push(n);
                Ok::<(), ()>(())
            },
        );
        assert!(
            all.is_ok() && seen.iter().enumerate().all(|(n, double)| *double == n * 2) && seen.len() == 100
        );
        assert_eq!(super::ordered(1_000_000, 2, |n| n, |n| if n == 5 { Err(n) } else { Ok(()) }), Err(5));
    }

    #[test]
    fn a_panic_stops_all_workers_and_reaches_the_caller() {
        for in_consume in [false, true] {
            let broken = std::panic::catch_unwind(|| {
                super::ordered(
                    100_000,
                    1,
                    |n| assert!(in_consume || n != 50, "produced"),
                    |()| if in_consume { panic!("consumed") } else { Ok::<(), ()>(()) },
                )
            });
            assert!(broken.is_err());
        }
    }

    #[test]
    fn texts_are_whole_though_their_memory_is_used_again() {
        let mut all = String::new();
        let result = super::texts(
            500,
            |number, text| text.extend_from_slice(format!("{number};").as_bytes()),
            |text| {
                all.push_str(&String::from_utf8_lossy(text));
                Ok::<(), ()>(())
            },
        );
        assert_eq!(result, Ok(()));
        assert_eq!(all, (0..500).map(|number| format!("{number};")).collect::<String>());
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
