//! How long the program takes to start: `opscope --version` beside `true`, in turn.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn main() {
    let quick = !std::env::args().any(|argument| argument == "--bench");
    let runs = if quick { 1 } else { 100 };
    let mut times = (Vec::new(), Vec::new());
    for _ in 0..runs {
        times.0.push(time(env!("CARGO_BIN_EXE_opscope"), &["--version"]));
        times.1.push(time("true", &[]));
    }
    let (opscope, nothing) = (median(times.0), median(times.1));
    let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
    println!(
        "opscope --version {:.2} ms, true {:.2} ms, ratio {:.2} (limit 20 ms)",
        milliseconds(opscope),
        milliseconds(nothing),
        opscope.as_secs_f64() / nothing.as_secs_f64()
    );
}

fn time(program: &str, arguments: &[&str]) -> Duration {
    let begun = Instant::now();
    let status = Command::new(program).args(arguments).stdout(Stdio::null()).status();
    assert!(status.is_ok_and(|status| status.success()), "{program} failed");
    begun.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
