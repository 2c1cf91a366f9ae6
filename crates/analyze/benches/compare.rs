//! Comparing two profiles of a million operators each, without and with a graph to align by.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use opscope_analyze::Comparison;
use opscope_trace::{Nanoseconds, Operator, Task, Trace};

const OPERATORS: usize = 1_000_000;

/// Convolutions, each with an activation that the second profile has fused into it.
fn profile(fused: bool, with_origins: bool) -> Trace {
    let mut trace = Trace::new();
    let types = ["Conv", "Relu"].map(|name| trace.strings.intern(name));
    let mut start = 0;
    for number in 0..OPERATORS {
        if fused && number % 2 == 1 {
            continue;
        }
        let name = trace.strings.intern(&format!("layer{}/{}", number / 2, number % 2));
        let follower = trace.strings.intern(&format!("layer{}/1", number / 2));
        let origins: &[_] = match (with_origins, fused) {
            (false, _) => &[],
            (true, false) => &[name],
            (true, true) => &[name, follower],
        };
        let origins = trace.names.push(origins.iter().copied());
        let operator = trace.operators.push(Operator { origins, ..Operator::new(name, types[number % 2]) });
        let duration = 1_000 + (number as i64 * 7_919) % 5_000;
        let task = Task::new(name, Nanoseconds(start), Nanoseconds(duration));
        trace.tasks.push(Task { operator: Some(operator), ..task });
        start += duration;
    }
    trace
}

fn benches(criterion: &mut Criterion) {
    for (name, with_origins) in [("by name and order", false), ("by the graph", true)] {
        let (before, after) = (profile(false, with_origins), profile(true, with_origins));
        criterion.bench_function(&format!("compare 1,000,000 operators {name}"), |bencher| {
            bencher.iter(|| black_box(Comparison::of(black_box(&before), black_box(&after))));
        });
    }
}

criterion_group! {
    name = group;
    config = Criterion::default().sample_size(10);
    targets = benches
}
criterion_main!(group);
