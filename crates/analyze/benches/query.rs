//! How long questions to a trace of a million tasks take, beside merely adding up their durations.
//!
//! `cargo bench -p opscope-analyze --bench query`

use std::hint::black_box;
use std::time::{Duration, Instant};

use opscope_analyze::{Aggregate, Filter, GroupBy, Overview, Query, Scope};
use opscope_trace::{
    Device, DeviceKind, ExecutionUnit, Iteration, Nanoseconds, Operator, Stream, Task, Trace,
};
use regex::Regex;

const TASKS: usize = 1_000_000;
const OPERATORS: usize = 2_000;
const ROUNDS: usize = 5;

fn main() {
    let trace = trace();
    let plain = median(|| {
        black_box(trace.tasks.duration().iter().sum::<Nanoseconds>());
    });
    println!("{TASKS} tasks of {OPERATORS} operators; the median of {ROUNDS} rounds");
    let ask = |query: &Query| drop(black_box(query.run(&trace)));
    let by_type = Query { group_by: GroupBy::Type, aggregate: Aggregate::P99, ..Query::default() };
    let name = Some(Regex::new("conv[0-9]*7$").expect("a pattern"));
    let named = Query { filter: Filter { name, ..Filter::default() }, ..Query::default() };
    let contenders: [(&str, &dyn Fn()); 5] = [
        ("adding up all durations", &|| assert!(black_box(plain) > Duration::ZERO)),
        ("the first sight", &|| drop(black_box(Overview::of(&trace, Scope::default())))),
        ("operators by time", &|| ask(&Query::default())),
        ("types by p99", &|| ask(&by_type)),
        ("operators of a name", &|| ask(&named)),
    ];
    for (index, (name, run)) in contenders.into_iter().enumerate() {
        let time = if index == 0 { plain } else { median(run) };
        let ratio = time.as_secs_f64() / plain.as_secs_f64();
        println!("{name:24} {:8.1} ms, {ratio:7.1} times the sum", time.as_secs_f64() * 1e3);
    }
}

/// Inferences of a net one after another on one stream, with varied times.
fn trace() -> Trace {
    let mut trace = Trace::new();
    let name = trace.strings.intern("npu");
    let device = trace.devices.push(Device { number: 0, kind: DeviceKind::Npu, name });
    let stream = trace.streams.push(Stream { device, number: 1, thread: None, name });
    let operators: Vec<_> = (0..OPERATORS)
        .map(|number| {
            let name = trace.strings.intern(&format!("conv{number}"));
            let op_type = trace.strings.intern(&format!("Type{}", number % 40));
            trace.operators.push(Operator { flops: Some(1_000_000), ..Operator::new(name, op_type) })
        })
        .collect();
    let mut start = Nanoseconds::ZERO;
    for number in 0..TASKS / OPERATORS {
        let begin = start;
        let row = Iteration {
            model: None,
            number: number as u32,
            warm_up: false,
            start,
            duration: Nanoseconds(OPERATORS as i64 * 1_100),
        };
        let iteration = trace.iterations.push(row);
        for (index, &operator) in operators.iter().enumerate() {
            let duration = Nanoseconds(500 + (index * 7_919 + number * 104_729) as i64 % 1_000);
            trace.tasks.push(Task {
                operator: Some(operator),
                stream: Some(stream),
                unit: ExecutionUnit::AiCore,
                iteration: Some(iteration),
                ..Task::new(trace.operators.name()[operator.index()], start, duration)
            });
            start += duration + Nanoseconds(50);
        }
        assert!(start > begin);
    }
    trace
}

fn median(mut work: impl FnMut()) -> Duration {
    let mut times: Vec<_> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed()
        })
        .collect();
    times.sort();
    times[ROUNDS / 2]
}
