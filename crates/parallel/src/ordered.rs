//! Results that are made on all cores and taken one after another, in their order.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rayon::ScopeFifo;

use crate::pool;

/// The number of parts that may wait for each thread before their turn comes.
const PARTS_AHEAD: usize = 2;

/// Produces `count` texts and hands them to `consume` in order. `produce` appends to an empty text.
///
/// # Errors
/// The first of `consume`; nothing is consumed after it.
pub fn texts<E: Send>(
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

/// Produces `count` parts and hands them to `consume` in order. `produce` fills an empty part; `consume`
/// empties it, and it is used again, because fresh memory costs more than to fill it.
///
/// # Errors
/// The first of `consume`; nothing is consumed after it.
pub fn parts<P: Default + Send, E: Send>(
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

/// Produces `count` results and hands them to `consume` in order. No more than `ahead` of them for each
/// thread are in memory.
///
/// Whoever produced the next result in turn consumes it, with those that wait behind it, and then has as
/// many others begun; nobody waits for another. `rayon` has no such thing of its own: its iterators hand
/// results on without an order, or collect them all.
///
/// # Errors
/// The first of `consume`; nothing is consumed after it.
pub fn ordered<R: Send, E: Send>(
    count: usize,
    ahead: usize,
    produce: impl Fn(usize) -> R + Sync,
    mut consume: impl FnMut(R) -> Result<(), E> + Send,
) -> Result<(), E> {
    let Some(pool) = pool().filter(|_| count > 1) else {
        return (0..count).try_for_each(|index| consume(produce(index)));
    };
    let ahead = (ahead.max(1) * pool.current_num_threads()).min(count);
    let turns = Turns {
        count,
        produce,
        queue: Mutex::new(Queue {
            begun: ahead,
            consumed: 0,
            ready: VecDeque::new(),
            consume: Some(consume),
            failure: None,
        }),
    };
    pool.scope_fifo(|scope| (0..ahead).for_each(|index| turns.begin(scope, index)));
    turns.queue.into_inner().unwrap_or_else(PoisonError::into_inner).failure.map_or(Ok(()), Err)
}

/// The work of [`ordered`] and how far it is.
struct Turns<R, E, Produce, Consume> {
    count: usize,
    produce: Produce,
    queue: Mutex<Queue<R, E, Consume>>,
}

struct Queue<R, E, Consume> {
    /// The number of results that were begun.
    begun: usize,
    /// The number of results that were consumed.
    consumed: usize,
    /// The results behind the last consumed one; `None` for those that aren't ready.
    ready: VecDeque<Option<R>>,
    /// The consumer, while nobody consumes.
    consume: Option<Consume>,
    failure: Option<E>,
}

impl<R, E, Produce, Consume> Turns<R, E, Produce, Consume>
where
    R: Send,
    E: Send,
    Produce: Fn(usize) -> R + Sync,
    Consume: FnMut(R) -> Result<(), E> + Send,
{
    /// Has a thread produce a result, and consume what is in turn then.
    fn begin<'scope>(&'scope self, scope: &ScopeFifo<'scope>, index: usize) {
        scope.spawn_fifo(move |scope| {
            self.put(index, (self.produce)(index));
            self.consume_ready(scope);
        });
    }

    fn put(&self, index: usize, result: R) {
        let mut queue = locked(&self.queue);
        let place = index - queue.consumed;
        if queue.ready.len() <= place {
            queue.ready.resize_with(place + 1, || None);
        }
        queue.ready[place] = Some(result);
    }

    fn consume_ready<'scope>(&'scope self, scope: &ScopeFifo<'scope>) {
        let mut queue = locked(&self.queue);
        // Whoever has the consumer looks for what is ready once more before giving it back.
        let Some(mut consume) = queue.consume.take() else { return };
        while queue.failure.is_none()
            && let Some(result) = queue.ready.front_mut().and_then(Option::take)
        {
            drop(queue);
            let consumed = consume(result);
            queue = locked(&self.queue);
            queue.ready.pop_front();
            queue.consumed += 1;
            match consumed {
                Ok(()) if queue.begun < self.count => {
                    queue.begun += 1;
                    self.begin(scope, queue.begun - 1);
                }
                Ok(()) => {}
                Err(failure) => queue.failure = Some(failure),
            }
        }
        queue.consume = Some(consume);
    }
}

/// A lock's content, whether or not another thread panicked with it.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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
