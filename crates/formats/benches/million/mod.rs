//! A trace of a million operators, and a stopwatch, for the benchmarks.

use std::time::{Duration, Instant};

use opscope_trace::*;

const OPERATORS: usize = 200;
/// How many operators are executed.
pub const TASKS: usize = 1_000_000;

/// The median of seven runs.
pub fn median(work: &mut dyn FnMut()) -> Duration {
    let mut times: Vec<_> = (0..7)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed()
        })
        .collect();
    times.sort();
    times[3]
}

/// 5000 inferences of a model with 200 convolutions, one after another on one stream.
pub fn trace() -> Trace {
    let mut trace = Trace::new();
    let name = trace.strings.intern("CPUExecutionProvider");
    let device = trace.devices.push(Device { number: 0, kind: DeviceKind::Cpu, name });
    let stream = trace.streams.push(Stream { device, number: 1, thread: None, name });
    let operators: Vec<_> = (0..OPERATORS)
        .map(|number| {
            let name = trace.strings.intern(&format!("/backbone/stage{}/conv_{number}/Conv", number / 20));
            let op_type = trace.strings.intern("Conv");
            let [image, weight, result] = [[1, 64, 56, 56], [64, 64, 3, 3], [1, 64, 56, 56]].map(|shape| {
                let dimensions = Some(trace.dimensions.push(shape));
                let data_type = DataType::Float32;
                trace.tensors.push(Tensor {
                    name: None,
                    data_type,
                    dimensions,
                    layout: None,
                    parameter: false,
                })
            });
            assert_eq!(weight.index(), image.index() + 1);
            trace.operators.push(Operator {
                first_input: Some(image),
                input_count: 2,
                first_output: Some(result),
                output_count: 1,
                flops: Some(231_211_008),
                bytes_read: Some(950_272),
                bytes_written: Some(802_816),
                attribution: Attribution::Exact,
                ..Operator::new(name, op_type)
            })
        })
        .collect();
    let mut time = Nanoseconds(0);
    for number in 0..TASKS / OPERATORS {
        let start = time;
        let iteration = trace.iterations.push(Iteration {
            model: None,
            number: number as u32,
            warm_up: number < 10,
            start,
            duration: Nanoseconds(OPERATORS as i64 * 51_234),
        });
        for &operator in &operators {
            let name = trace.operators.name()[operator.index()];
            trace.tasks.push(Task {
                operator: Some(operator),
                stream: Some(stream),
                unit: ExecutionUnit::Cpu,
                iteration: Some(iteration),
                ..Task::new(name, time, Nanoseconds(50_123))
            });
            time += Nanoseconds(51_234);
        }
    }
    trace
}
