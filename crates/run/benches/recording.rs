//! The cost of recording every node: the same plan is run with and without it in turn, and each
//! pair gives a ratio, so that a drifting machine speed cancels out.
//!
//! For ONNX Runtime, whose nodes are recorded by its own profiler, see `opscope run --help`.

use std::sync::Arc;

use opscope_model::Model;
use opscope_model::samples::Sample;
use opscope_run::{
    Engine, EngineKind, EngineOptions, InputRequest, Interrupt, Optimization, RunClock, Tract,
};

/// The sample, how many pairs are run, and the limit on the median ratio.
const CASES: [(Sample, usize, f64); 2] = [(Sample::Resnet50, 40, 1.02), (Sample::Encoder, 400, 1.10)];

fn main() {
    // `cargo test --benches` only wants to know that it runs.
    let quick = !std::env::args().any(|argument| argument == "--bench");
    println!(
        "{:14} {:>8} {:>12} {:>12} {:>8} {:>8}",
        "model", "pairs", "plain", "recorded", "ratio", "limit"
    );
    for (sample, pairs, limit) in CASES {
        let (plain, recorded, ratio) = measure(sample, if quick { 1 } else { pairs });
        println!(
            "{:14} {pairs:>8} {:>9.3} ms {:>9.3} ms {ratio:>8.4} {limit:>8.2}",
            sample.name(),
            plain / 1e6,
            recorded / 1e6
        );
    }
}

/// Median nanoseconds without and with recording, and the median ratio of the pairs.
fn measure(sample: Sample, pairs: usize) -> (f64, f64, f64) {
    let model = Arc::new(Model::from_proto(sample.build(0), None).expect("a sample is a model"));
    let inputs = InputRequest::default().resolve(&model).expect("a sample's inputs are fixed");
    let options = EngineOptions {
        kind: EngineKind::Tract,
        optimization: Optimization::Full,
        threads: 1,
        ort_library: None,
    };
    let mut engine =
        Tract::prepare(model, &inputs, &options, RunClock::start()).expect("tract runs the samples");
    let interrupt = Interrupt::new();
    for _ in 0..2 {
        engine.infer_recorded(&interrupt).expect("an inference");
        engine.infer(&interrupt).expect("an inference");
    }
    let mut times = (Vec::new(), Vec::new(), Vec::new());
    for pair in 0..pairs {
        let mut recorded = 0.0;
        // Whichever comes second finds warmer caches: they take turns.
        if pair % 2 == 0 {
            recorded = engine.infer_recorded(&interrupt).expect("an inference").duration.0 as f64;
        }
        let plain = engine.infer(&interrupt).expect("an inference").duration.0 as f64;
        if pair % 2 == 1 {
            recorded = engine.infer_recorded(&interrupt).expect("an inference").duration.0 as f64;
        }
        times.0.push(plain);
        times.1.push(recorded);
        times.2.push(recorded / plain);
    }
    (median(times.0), median(times.1), median(times.2))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
