//! Encoding pieces on several threads and writing them in their order.

use std::io::{self, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Encodes the pieces `0..count` on all processors and writes them to `out` in order; returns how
/// many bytes that were.
///
/// Every thread takes the next piece, encodes it into a buffer of its own and writes it when its
/// turn has come, so that no more than one piece a thread is held in memory.
///
/// # Errors
/// The first that `out` reports; nothing is written after it.
pub(super) fn write_pieces<Out: Write + Send>(
    out: Out,
    count: usize,
    encode: impl Fn(usize, &mut Vec<u8>) + Sync,
) -> io::Result<u64> {
    let next_piece = AtomicUsize::new(0);
    let output = Output {
        state: Mutex::new(State { out, turn: 0, written: 0, failure: None }),
        turn_passed: Condvar::new(),
    };
    let work = || {
        let _stop_others = StopOthersOnPanic(&output);
        let mut buffer = Vec::new();
        loop {
            let piece = next_piece.fetch_add(1, Ordering::Relaxed);
            if piece >= count {
                return;
            }
            buffer.clear();
            encode(piece, &mut buffer);
            if !output.write_in_turn(piece, &buffer) {
                return;
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, |threads| threads.get()).min(count);
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
    let mut state = output.state.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(failure) = state.failure {
        return Err(failure);
    }
    state.out.flush()?;
    Ok(state.written)
}

struct Output<Out> {
    state: Mutex<State<Out>>,
    turn_passed: Condvar,
}

struct State<Out> {
    out: Out,
    /// The piece that is to be written next.
    turn: usize,
    written: u64,
    failure: Option<io::Error>,
}

impl<Out> Output<Out> {
    fn lock(&self) -> MutexGuard<'_, State<Out>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<Out: Write> Output<Out> {
    /// Waits for the piece's turn and writes it; `false` when a thread failed.
    fn write_in_turn(&self, piece: usize, bytes: &[u8]) -> bool {
        let not_yet = |state: &mut State<Out>| state.turn != piece && state.failure.is_none();
        let mut state =
            self.turn_passed.wait_while(self.lock(), not_yet).unwrap_or_else(PoisonError::into_inner);
        if state.failure.is_some() {
            return false;
        }
        if let Err(failure) = state.out.write_all(bytes) {
            state.failure = Some(failure);
        }
        state.turn += 1;
        state.written += bytes.len() as u64;
        self.turn_passed.notify_all();
        state.failure.is_none()
    }
}

/// Lets the other threads end instead of waiting for a turn that a panic has taken away.
struct StopOthersOnPanic<'a, Out>(&'a Output<Out>);

impl<Out> Drop for StopOthersOnPanic<'_, Out> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.lock().failure.get_or_insert_with(|| io::Error::other("a thread stopped while encoding"));
            self.0.turn_passed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encode_number(piece: usize, out: &mut Vec<u8>) {
        // Uneven work, so that later pieces are often ready first.
        std::thread::sleep(std::time::Duration::from_micros(if piece.is_multiple_of(3) { 200 } else { 0 }));
        out.extend_from_slice(format!("{piece} ").as_bytes());
    }

    #[test]
    fn pieces_arrive_in_order_and_are_counted() {
        let mut out = Vec::new();
        let written = write_pieces(&mut out, 200, encode_number).unwrap();
        let expected: String = (0..200).map(|piece| format!("{piece} ")).collect();
        assert_eq!(String::from_utf8(out).unwrap(), expected);
        assert_eq!(written, expected.len() as u64);
        assert_eq!(write_pieces(io::sink(), 0, encode_number).unwrap(), 0);
    }

    #[test]
    fn a_failing_output_ends_all_threads_with_its_error() {
        struct Full(usize);
        impl Write for Full {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
                Ok(bytes.len())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let failed = write_pieces(Full(100), 10_000, encode_number).unwrap_err();
        assert_eq!(failed.kind(), io::ErrorKind::StorageFull);
    }

    #[test]
    fn a_panic_while_encoding_is_passed_on_instead_of_waiting_forever() {
        let caught = std::panic::catch_unwind(|| {
            write_pieces(io::sink(), 100, |piece, _| assert_ne!(piece, 50, "piece 50 is bad")).unwrap();
        });
        assert!(caught.is_err());
    }
}
