//! Results that are made on all cores and taken one after another, in their order.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, PoisonError};

use crate::parallel::{locked, on_threads, threads};

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

/// The next step of a worker of [`ordered`].
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

#[cfg(test)]
mod tests {
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
}
