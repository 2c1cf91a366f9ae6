//! Spreads independent pieces of work over the processor's cores.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// How many threads work at the same time.
pub(crate) fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, |n| n.get()).min(16)
}

/// Applies `work` to every item, on all cores, and returns the results in the items' order.
pub(crate) fn map<I: Sync, R: Send>(items: &[I], work: impl Fn(&I) -> R + Sync) -> Vec<R> {
    let workers = threads().min(items.len());
    if workers <= 1 {
        return items.iter().map(work).collect();
    }
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<(usize, R)>> = Mutex::new(Vec::with_capacity(items.len()));
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(index) else { break };
                    let result = work(item);
                    results.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push((index, result));
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Makes one column of the results of `work` for all numbers below `count`, on all cores. `work` gets a
/// range of numbers at a time and appends their results.
pub(crate) fn column<R: Send>(count: usize, work: impl Fn(Range<usize>, &mut Vec<R>) + Sync) -> Vec<R> {
    const ROWS: usize = 1 << 16;
    let starts: Vec<usize> = (0..count).step_by(ROWS).collect();
    let parts = map(&starts, |&start| {
        let rows = start..(start + ROWS).min(count);
        let mut part = Vec::with_capacity(rows.len());
        work(rows, &mut part);
        part
    });
    let mut all = Vec::with_capacity(parts.iter().map(Vec::len).sum());
    parts.into_iter().for_each(|part| all.extend(part));
    all
}

/// Runs two pieces of work at the same time.
pub(crate) fn join<A: Send, B: Send>(first: impl FnOnce() -> A + Send, second: impl FnOnce() -> B) -> (A, B) {
    if threads() <= 1 {
        return (first(), second());
    }
    std::thread::scope(|scope| {
        let handle = scope.spawn(first);
        let second = second();
        match handle.join() {
            Ok(first) => (first, second),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// How many texts a worker may be ahead of their use: enough for it to go on while the user of the texts
/// has no core.
const TEXTS_AHEAD: usize = 8;

/// Produces `count` texts on all cores and hands them to `consume` in order. `produce` appends to an empty
/// text; texts that were consumed are used again, because fresh memory costs more than to fill it.
pub(crate) fn texts<E>(
    count: usize,
    produce: impl Fn(usize, &mut Vec<u8>) + Sync,
    mut consume: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let used: Mutex<Vec<Vec<u8>>> = Mutex::default();
    let used = || used.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let fresh = |number| {
        let mut text = used().pop().unwrap_or_default();
        text.clear();
        produce(number, &mut text);
        text
    };
    ordered(count, TEXTS_AHEAD, fresh, |text| {
        let result = consume(&text);
        used().push(text);
        result
    })
}

/// Produces `count` results on all cores and hands them to `consume` in order. Each core keeps no more
/// than `ahead` of them in memory besides the one that it is at. Stops early when `consume` fails.
pub(crate) fn ordered<R: Send, E>(
    count: usize,
    ahead: usize,
    produce: impl Fn(usize) -> R + Sync,
    mut consume: impl FnMut(R) -> Result<(), E>,
) -> Result<(), E> {
    let workers = threads();
    if workers <= 1 || count <= 1 {
        return (0..count).try_for_each(|index| consume(produce(index)));
    }
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let mut receivers = Vec::with_capacity(workers);
        for first in 0..workers {
            // Each worker makes every so-manieth result and waits when it is too far ahead.
            let (sender, receiver) = std::sync::mpsc::sync_channel::<R>(ahead);
            receivers.push(receiver);
            let (stop, produce) = (&stop, &produce);
            scope.spawn(move || {
                let mut index = first;
                while index < count && !stop.load(Ordering::Relaxed) {
                    if sender.send(produce(index)).is_err() {
                        break;
                    }
                    index += workers;
                }
            });
        }
        for index in 0..count {
            let Ok(result) = receivers[index % workers].recv() else { break };
            if let Err(error) = consume(result) {
                stop.store(true, Ordering::Relaxed);
                return Err(error);
            }
        }
        Ok(())
    })
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
