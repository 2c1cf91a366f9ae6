//! How long a profile of 100,000 operators takes to read and analyse, against peers that read the
//! same file in the same run: its plain bytes, and a generic JSON reader.

use std::ffi::OsString;
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use opscope_formats::megengine::Profile;
use opscope_formats::megengine::analyze::profile_analyze;
use opscope_testing::megengine_network::network;

const OPERATORS: usize = 100_000;
const ROUNDS: usize = 7;

fn main() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("profile.json");
    std::fs::write(&path, network(OPERATORS)).expect("room for the profile");
    let bytes = std::fs::metadata(&path).map(|found| found.len()).expect("the file is there");
    println!("{OPERATORS} operators, {} MB; the median of {ROUNDS} rounds", bytes / 1_000_000);

    // First of all, while the allocator has nothing to use again.
    if let Some(before) = anonymous_memory() {
        let profile = Profile::read(&path).expect("the generated profile is one");
        let grown = anonymous_memory().unwrap_or(before).saturating_sub(before);
        println!("Profile::read holds {} MB of anonymous memory", grown / 1_000_000);
        drop(profile);
    }

    let grouped = ["--aggregate-by", "type", "--aggregate", "sum", "--show-host"];
    let contenders: [(&str, &dyn Fn()); 6] = [
        ("plain read of the bytes", &|| drop(black_box(std::fs::read(&path)))),
        ("serde_json into a Value", &|| read_generically(&path)),
        ("Profile::read", &|| drop(black_box(Profile::read(&path)))),
        ("profile_analyze", &|| analyze(&path, &[])),
        ("profile_analyze by type, with host", &|| analyze(&path, &grouped)),
        ("Profile::read and to_trace", &|| {
            drop(black_box(Profile::read(&path).map(|profile| profile.to_trace())));
        }),
    ];
    let mut times = vec![Vec::with_capacity(ROUNDS); contenders.len()];
    // In turns, so that a busy moment of the machine meets all of them.
    for _ in 0..ROUNDS {
        for ((_, run), times) in contenders.iter().zip(&mut times) {
            let start = Instant::now();
            run();
            times.push(start.elapsed());
        }
    }
    let medians: Vec<Duration> = times.iter_mut().map(|times| median(times)).collect();
    for ((name, _), time) in contenders.iter().zip(&medians) {
        let rate = bytes as f64 / 1e6 / time.as_secs_f64();
        let against = |peer: Duration| time.as_secs_f64() / peer.as_secs_f64();
        println!(
            "{name:<36} {:>8.1} ms {rate:>8.0} MB/s, {:>6.2} x the plain read, {:>6.3} x serde_json",
            time.as_secs_f64() * 1e3,
            against(medians[0]),
            against(medians[1])
        );
    }
}

fn read_generically(path: &Path) {
    let bytes = std::fs::read(path).expect("the file is there");
    drop(black_box(serde_json::from_slice::<serde_json::Value>(&bytes)));
}

fn analyze(path: &Path, options: &[&str]) {
    let arguments: Vec<OsString> =
        std::iter::once(path.into()).chain(options.iter().map(OsString::from)).collect();
    let (mut output, mut errors) = (Vec::new(), Vec::new());
    assert_eq!(profile_analyze(&arguments, &mut output, &mut errors), 0);
    assert!(!black_box(output).is_empty());
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// Bytes of this process that no file backs, where the system tells.
fn anonymous_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("RssAnon:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kibibytes| kibibytes * 1024)
}
