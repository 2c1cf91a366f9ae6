//! How fast a timeline of a million operators is written, beside serde_json writing the same
//! events and beside merely copying and writing the bytes.

use std::fs::File;
use std::hint::black_box;
use std::io::{self, BufWriter, Write};

use criterion::{Criterion, Throughput};
use opscope_formats::{chrome, perfetto};
use opscope_trace::{Task, TaskId, Trace};
use serde::Serialize;

mod million;

use million::{median, trace};

type Work<'a> = Box<dyn FnMut() + 'a>;

fn main() {
    let trace = trace();
    let mut file = Vec::new();
    let written = chrome::write(&trace, &mut file).expect("a vector takes everything");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("timeline.json");
    let events = peer_events(&trace);
    println!("{written:?}");

    let mut copy = vec![0; file.len()];
    let mut contestants: Vec<(&str, Work<'_>)> = vec![
        (
            "opscope, no output",
            Box::new(|| {
                black_box(chrome::write(&trace, io::sink()).expect("no output"));
            }),
        ),
        (
            "opscope, file",
            Box::new(|| {
                black_box(chrome::write_file(&trace, &path).expect("a file"));
            }),
        ),
        (
            "opscope, Perfetto's packets, no output",
            Box::new(|| {
                black_box(perfetto::write(&trace, io::sink()).expect("no output"));
            }),
        ),
        (
            "opscope, Perfetto's packets, file",
            Box::new(|| {
                black_box(perfetto::write_file(&trace, &path).expect("a file"));
            }),
        ),
        ("serde_json, no output", Box::new(|| write_peer(&events, io::sink()))),
        ("serde_json, file", Box::new(|| write_peer(&events, File::create(&path).expect("a file")))),
        ("same bytes copied", Box::new(|| copy.copy_from_slice(black_box(&file)))),
        (
            "same bytes, file",
            Box::new(|| {
                File::create(&path).and_then(|mut out| out.write_all(&file)).expect("a file");
            }),
        ),
    ];

    let mut criterion = Criterion::default().sample_size(10).configure_from_args();
    let mut group = criterion.benchmark_group("chrome timeline, 1 M operators");
    group.throughput(Throughput::Bytes(written.bytes));
    for (name, work) in &mut contestants {
        group.bench_function(*name, |bencher| bencher.iter(&mut *work));
    }
    group.finish();
    criterion.final_summary();

    println!("\nmedian of 7 runs each, one after another:");
    let medians: Vec<_> = contestants.iter_mut().map(|(name, work)| (*name, median(work))).collect();
    for (index, (name, time)) in medians.iter().enumerate() {
        let rate = written.bytes as f64 / time.as_secs_f64() / 1e6;
        // Every contestant is set beside opscope with the same kind of output.
        let ratio = time.as_secs_f64() / medians[index % 2].1.as_secs_f64();
        println!(
            "{name:24} {:8.1} ms {rate:8.0} MB/s  {ratio:5.2} of opscope's time",
            time.as_secs_f64() * 1e3
        );
    }
}

/// The same event as a struct for serde.
#[derive(Serialize)]
struct PeerEvent<'a> {
    ph: &'static str,
    pid: u32,
    tid: u32,
    ts: f64,
    dur: f64,
    cat: &'static str,
    name: &'a str,
    args: PeerArguments<'a>,
}

#[derive(Serialize)]
struct PeerArguments<'a> {
    r#type: &'a str,
    inputs: [&'static str; 2],
    outputs: [&'static str; 1],
    flops: Option<u64>,
    bytes_read: Option<u64>,
    bytes_written: Option<u64>,
    attribution: &'static str,
    unit: &'static str,
    iteration: u32,
}

fn peer_events(trace: &Trace) -> Vec<PeerEvent<'_>> {
    let event = |(_, task): (TaskId, Task)| {
        let operator = trace.operators.get(task.operator.expect("every task has one"));
        PeerEvent {
            ph: "X",
            pid: 2,
            tid: 4,
            ts: task.start.as_micros(),
            dur: task.duration.as_micros(),
            cat: task.unit.name(),
            name: trace.strings.get(operator.name),
            args: PeerArguments {
                r#type: trace.strings.get(operator.op_type),
                inputs: ["1x64x56x56 float32", "64x64x3x3 float32"],
                outputs: ["1x64x56x56 float32"],
                flops: operator.flops,
                bytes_read: operator.bytes_read,
                bytes_written: operator.bytes_written,
                attribution: operator.attribution.name(),
                unit: task.unit.name(),
                iteration: trace.iterations.number()[task.iteration.expect("every task has one").index()],
            },
        }
    };
    trace.tasks.iter().map(event).collect()
}

fn write_peer(events: &[PeerEvent<'_>], out: impl Write) {
    let mut out = BufWriter::with_capacity(1 << 20, out);
    out.write_all(b"{\"traceEvents\":").expect("an output");
    serde_json::to_writer(&mut out, events).expect("an output");
    out.write_all(b"}").and_then(|()| out.flush()).expect("an output");
}
