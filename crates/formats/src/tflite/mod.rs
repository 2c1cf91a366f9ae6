//! Profiles of TensorFlow Lite's (LiteRT's) `benchmark_model`.
//!
//! | option | content |
//! |---|---|
//! | `--enable_op_profiling=true`, `--use_profiler=true` | text on standard output: `Run Order`, `Top by Computation Time`, `Summary by node type` |
//! | `--op_profiling_output_mode=csv`, `--profiling_output_csv_file` | the same sections with commas |
//! | `--op_profiling_output_mode=proto` | a message `BenchmarkProfilingData` of the public `profiling_info.proto` |
//!
//! Times are means over all runs; only the rows of `Run Order` count, the other sections sum them up.

mod message;
mod text;

use opscope_trace::{ApiLevel, DeviceKind, ExecutionUnit, LossKind, Nanoseconds, ProfileFormat, Trace};

use crate::layers::{Layer, Layers, MOST_EXECUTIONS};

pub use message::{looks_like as looks_like_message, read as read_message};
pub use text::{looks_like as looks_like_text, read as read_text};

/// A file that is none of them.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Text without a row of a run's order.
    #[error(
        "this has no section 'Run Order' with operators; run benchmark_model with --enable_op_profiling=true"
    )]
    NoRunOrder,
    /// A message without an operator.
    #[error("this has no operator of a run; run benchmark_model again with --op_profiling_output_mode=proto")]
    NoOperator,
}

/// An operator as a row or a message tells it.
struct Operator<'t> {
    op_type: &'t str,
    name: &'t str,
    /// The mean of a call.
    mean: Option<Nanoseconds>,
    /// The calls in a run.
    calls: u64,
    /// The memory that it allocated.
    memory_kb: Option<f64>,
}

/// The operators of one section in the making.
struct Runs {
    layers: Layers,
    position: u32,
    executions: u64,
    /// Operators that aren't called in each run, until it is known whether others are.
    rare: Vec<(String, String, Option<Nanoseconds>)>,
    has_calls: bool,
}

impl Runs {
    fn new() -> Self {
        let layers = Layers::new(ProfileFormat::TensorFlowLite, DeviceKind::Other, ExecutionUnit::Other);
        Self { layers, position: 0, executions: 0, rare: Vec::new(), has_calls: false }
    }

    fn is_empty(&self) -> bool {
        self.layers.trace.operators.is_empty() && self.rare.is_empty()
    }

    /// A step of the preparation, which is no part of an inference.
    fn preparation(&mut self, operator: &Operator<'_>) {
        match operator.mean {
            Some(mean) => {
                let duration = Nanoseconds(mean.0.saturating_mul(operator.calls.clamp(1, 1 << 20) as i64));
                self.layers.call(operator.op_type, ApiLevel::Model, duration);
            }
            None => self.layers.losses.count(LossKind::LayerWithoutDuration, operator.op_type, 1),
        }
    }

    /// An operator of an inference.
    fn operator(&mut self, operator: &Operator<'_>) {
        if operator.calls == 0 {
            self.rare.push((operator.op_type.to_owned(), operator.name.to_owned(), operator.mean));
            return;
        }
        self.has_calls = true;
        self.enter(operator);
    }

    fn enter(&mut self, operator: &Operator<'_>) {
        let (name, position) = bare(operator.name);
        let layer = Layer {
            name: name.to_owned(),
            op_type: operator.op_type.to_owned(),
            position: position.or(Some(self.position)),
            ..Layer::default()
        };
        self.position += 1;
        let id = self.layers.operator(&layer);
        let fits = self.executions.saturating_add(operator.calls) <= MOST_EXECUTIONS;
        let calls = if fits { operator.calls.max(1) } else { 1 };
        self.executions += calls;
        for call in 0..calls {
            let Some(task) = self.layers.task(id, operator.mean, operator.name) else { return };
            let memory = operator.memory_kb.filter(|memory| *memory > 0.0 && call == 0);
            self.layers.measured(task, &[("allocated memory", "KB", memory)]);
        }
    }

    /// The trace. Versions before 2019 count no calls: then each operator ran once in a run.
    fn finish(mut self, runs: Option<u64>, latency: Option<Nanoseconds>) -> Trace {
        for (op_type, name, mean) in std::mem::take(&mut self.rare) {
            let operator = Operator { op_type: &op_type, name: &name, mean, calls: 1, memory_kb: None };
            match self.has_calls {
                // It is called in a few runs of many, as the allocation of tensors is.
                true => self.preparation(&operator),
                false => self.enter(&operator),
            }
        }
        self.layers.end_inference(latency);
        let runs = runs.filter(|runs| *runs > 0);
        (self.layers.trace.run.summed_runs, self.layers.trace.run.are_means) = (runs, runs.is_none());
        self.layers.finish()
    }
}

/// A name without its brackets and number: `[conv1/Relu]:3` is `conv1/Relu`, the third operator.
fn bare(name: &str) -> (&str, Option<u32>) {
    let name = name.trim();
    let Some((inner, number)) = name.rsplit_once("]:") else {
        return (name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name), None);
    };
    match (inner.strip_prefix('['), number.parse()) {
        (Some(inner), Ok(number)) => (inner, Some(number)),
        _ => (name, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lose_their_brackets_and_numbers() {
        assert_eq!(bare("[a/b, c]:12"), ("a/b, c", Some(12)));
        assert_eq!(bare("[a]"), ("a", None));
        assert_eq!(bare("Delegate/Convolution (NHWC, F32):0"), ("Delegate/Convolution (NHWC, F32):0", None));
        assert_eq!(bare("[a]:x"), ("[a]:x", None));
    }
}
