//! Waiting for a disk many times at once: it takes about as long for some files as for one.

use std::io;
use std::thread;

/// So many are waited for at a time: a disk's journal takes them in one go.
const MOST: usize = 32;

/// The answers of `wait` for all items, in their order.
pub(crate) fn for_each<T: Sync>(
    items: &[T],
    wait: impl Fn(&T) -> io::Result<()> + Sync,
) -> Vec<io::Result<()>> {
    if let [item] = items {
        return vec![wait(item)];
    }
    let wait = &wait;
    let together = |items: &[T]| -> Vec<io::Result<()>> {
        thread::scope(|scope| {
            let started: Vec<_> = items
                .iter()
                .map(|item| {
                    let started = thread::Builder::new().spawn_scoped(scope, move || wait(item));
                    // Where no thread can be had, it is done here.
                    started.map_err(|_| wait(item))
                })
                .collect();
            let ended = started.into_iter().map(|thread| match thread {
                Ok(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                Err(answer) => answer,
            });
            ended.collect()
        })
    };
    items.chunks(MOST).flat_map(together).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_come_in_the_order_of_the_items() {
        let items: Vec<i32> = (0..100).collect();
        let wait = |item: &i32| if item % 3 == 0 { Err(io::Error::other(item.to_string())) } else { Ok(()) };
        let failed: Vec<String> =
            for_each(&items, wait).into_iter().filter_map(|it| Some(it.err()?.to_string())).collect();
        let expected: Vec<String> = (0..100).step_by(3).map(|item| item.to_string()).collect();
        assert_eq!(failed, expected);
    }
}
