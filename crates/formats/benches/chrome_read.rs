//! How fast a PyTorch profile in Chrome's format becomes a trace, beside serde_json reading the same
//! bytes into a tree of values and beside merely looking at every byte; and how much memory that
//! takes for an event.
//!
//! `cargo bench --bench chrome_read -- --bytes 1000000000` reads a file of that size.

use std::alloc::{GlobalAlloc, Layout, System};
use std::fmt::Write;
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use opscope_formats::chrome;

const DEFAULT_BYTES: usize = 200_000_000;
const RUNS: usize = 5;

fn main() {
    let bytes = requested_bytes();
    // Once from the heap, where a test would have it; a mapped file only costs less.
    let text = profile(bytes);
    let events = text.lines().filter(|line| line.contains("\"ph\"")).count();
    let text = text.as_bytes();
    println!("{} MB, {events} events of {} bytes each", text.len() / 1_000_000, text.len() / events);

    let scan = median(|| {
        black_box(text.iter().fold(0u64, |sum, &byte| sum + u64::from(byte)));
    });
    let before = HELD.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let trace = chrome::read(text).expect("a sound profile");
    let peak = PEAK.load(Ordering::Relaxed) - before;
    let kept = HELD.load(Ordering::Relaxed) - before;
    let rows = trace.tasks.len() + trace.api_calls.len();
    assert!(rows * 10 > events * 6, "{rows} rows of {events} events");
    drop(trace);
    let opscope = median(|| {
        black_box(chrome::read(text).expect("a sound profile"));
    });
    // The tree of values takes many times the bytes; a part of the file tells its rate as well.
    let part = cut_behind_an_event(text, DEFAULT_BYTES);
    let serde = median(|| {
        black_box(serde_json::from_slice::<serde_json::Value>(&part).expect("valid JSON"));
    });

    let rate = |bytes: usize, time: Duration| bytes as f64 / time.as_secs_f64() / 1e6;
    let opscope_rate = rate(text.len(), opscope);
    println!("median of {RUNS} runs each:");
    for (name, rate) in [
        ("opscope, a trace", opscope_rate),
        ("serde_json, values", rate(part.len(), serde)),
        ("every byte looked at", rate(text.len(), scan)),
    ] {
        println!("{name:22} {rate:8.0} MB/s  opscope is {:6.2} times as fast", opscope_rate / rate);
    }
    println!(
        "memory: {} bytes an event at the most, {} kept; {:.2} and {:.2} of the file's size",
        peak / events,
        kept / events,
        peak as f64 / text.len() as f64,
        kept as f64 / text.len() as f64,
    );
}

fn requested_bytes() -> usize {
    let mut arguments = std::env::args().skip_while(|argument| argument != "--bytes").skip(1);
    arguments.next().map_or(DEFAULT_BYTES, |bytes| bytes.parse().expect("a number of bytes"))
}

fn median(mut work: impl FnMut()) -> Duration {
    let mut times: Vec<_> = (0..RUNS)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed()
        })
        .collect();
    times.sort();
    times[RUNS / 2]
}

/// The file up to the event before `bytes`, closed again.
fn cut_behind_an_event(text: &[u8], bytes: usize) -> Vec<u8> {
    let end = bytes.min(text.len());
    if end == text.len() {
        return text.to_vec();
    }
    let end = text[..end].windows(3).rposition(|part| part == b"},\n").expect("an event") + 1;
    [&text[..end], b"\n]}"].concat()
}

/// A profile as Kineto writes it, with the variety of its events: operators of the host with shapes
/// and nested in one another, the functions around them, launches, kernels, and the arrows.
fn profile(bytes: usize) -> String {
    let mut out = String::with_capacity(bytes + 4096);
    out.push_str(
        "{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [\n    {\"id\": 0, \"name\": \"NVIDIA A100\"}\n  ],\n  \
         \"displayTimeUnit\": \"ms\",\n  \"baseTimeNanoseconds\": 1728000000000000000,\n  \"traceEvents\": [\n",
    );
    let mut number = 0u64;
    while out.len() < bytes {
        if number > 0 {
            out.push_str(",\n");
        }
        push_operator(&mut out, number);
        number += 1;
    }
    out.push_str("\n  ],\n  \"traceName\": \"profile.json\"\n}\n");
    out
}

/// One operator with everything that belongs to it: six events.
fn push_operator(out: &mut String, number: u64) {
    let ts = number * 40;
    let (layer, correlation) = (number % 160, 1000 + number);
    let result = write!(
        out,
        r#"  {{
    "ph": "X", "cat": "python_function", "name": "torch/nn/modules/conv.py(456): forward", "pid": 4242, "tid": 4242,
    "ts": {ts}.105, "dur": 38.412,
    "args": {{
      "Python parent id": {number}, "Python id": {correlation}, "Ev Idx": {number}
    }}
  }},
  {{
    "ph": "X", "cat": "cpu_op", "name": "aten::conv2d", "pid": 4242, "tid": 4242,
    "ts": {ts}.871, "dur": 36.204,
    "args": {{
      "External id": {correlation},"Record function id": 0, "Concrete Inputs": ["", "", "", "[1, 1]", "[0, 0]", "[1, 1]", "1"], "Input type": ["float", "float", "float", "ScalarList", "ScalarList", "ScalarList", "Scalar"], "Input Strides": [[200704, 3136, 56, 1], [576, 9, 3, 1], [1], [], [], [], []], "Input Dims": [[{layer}, 64, 56, 56], [64, 64, 3, 3], [64], [], [], [], []], "Ev Idx": {number}
    }}
  }},
  {{
    "ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 4242, "tid": 4242,
    "ts": {ts}.992, "dur": 6.310,
    "args": {{
      "External id": {correlation}, "cbid": 211, "correlation": {correlation}
    }}
  }},
  {{
    "ph": "s", "id": {correlation}, "pid": 4242, "tid": 4242, "ts": {ts}.992,
    "cat": "ac2g", "name": "ac2g"
  }},
  {{
    "ph": "X", "cat": "kernel", "name": "void cudnn::ops::nchwToNhwcKernel<float, float, float, false, true, (cudnnKernelDataType_t)2>(cudnn::ops::nchw2nhwc_params_t<float>, float const*, float*)", "pid": 0, "tid": 7,
    "ts": {ts}.999, "dur": 31.744,
    "args": {{
      "External id": {correlation},
      "queued": 0, "device": 0, "context": 1,
      "stream": 7, "correlation": {correlation},
      "registers per thread": 40,
      "shared memory": 8448,
      "blocks per SM": 7.259259, "warps per SM": 58.074074,
      "grid": [49, 2, 8],
      "block": [256, 1, 1],
      "est. achieved occupancy %": 58
    }}
  }},
  {{
    "ph": "f", "id": {correlation}, "pid": 0, "tid": 7, "ts": {ts}.999,
    "cat": "ac2g", "name": "ac2g", "bp": "e"
  }}"#
    );
    result.expect("text takes everything");
}

/// The bytes that are allocated, and the most there were.
static HELD: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

impl Counting {
    fn add(bytes: usize) {
        let held = HELD.fetch_add(bytes, Ordering::Relaxed) + bytes;
        PEAK.fetch_max(held, Ordering::Relaxed);
    }
}

// SAFETY: everything is handed on to the system's allocator; only sizes are counted beside it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        Self::add(layout.size());
        // SAFETY: the caller keeps the contract of this very function.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        Self::add(size);
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }
}
