//! Exports a profile and tells how long each step took.
//!
//! `cargo run --release -p opscope-cann --example export -- DIRECTORY OUTPUT`, or with `sample TASKS OUTPUT`
//! instead of a directory, a profile that is made first; behind it may stand the chip's number and
//! `static`, `graph` or `collective`.

use std::path::{Path, PathBuf};
use std::time::Instant;

use opscope_cann::join::Joined;
use opscope_cann::{
    Data, ExportOptions, Result, SampleLayout, SampleMode, SampleOptions, discover, export_database,
    export_summary, export_timeline, write_sample,
};
use opscope_cann_raw::Chip;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [word, tasks, output, rest @ ..] if word == "sample" => {
            let version = rest.first().and_then(|number| number.parse().ok()).unwrap_or(5);
            let options = SampleOptions {
                chip: Chip::from_platform_version(version).unwrap_or(Chip::V4_1_0),
                tasks: tasks.parse().unwrap_or(1_000),
                mode: match rest.get(1).map(String::as_str) {
                    Some("static") => SampleMode::Static,
                    Some("graph") => SampleMode::Graph,
                    Some("collective") => SampleMode::Collective,
                    _ => SampleMode::Dynamic,
                },
                layout: SampleLayout::Current,
                seed: 1,
            };
            let path = timed("write the sample", || write_sample(Path::new(output), options))?;
            println!("{}", path.display());
            Ok(())
        }
        [directory, output] => export(Path::new(directory), Path::new(output)),
        _ => {
            eprintln!(
                "give a directory and an output directory, or: sample TASKS OUTPUT [CHIP [static|dynamic|graph|collective]]"
            );
            Ok(())
        }
    }
}

fn export(directory: &Path, output: &Path) -> Result<()> {
    for profile in discover(directory)? {
        let data = timed("decode", || Data::load(profile))?;
        let joined = timed("join", || Joined::new(data));
        let options = ExportOptions::default();
        let show = |files: Vec<PathBuf>| {
            for file in files {
                let bytes = std::fs::metadata(&file).map_or(0, |metadata| metadata.len());
                println!("{bytes:>14} {}", file.display());
            }
        };
        show(timed("export the summary", || export_summary(&joined, output, "0", options))?);
        show(timed("export the timeline", || export_timeline(&joined, output, "0", options))?);
        let database = timed("export the database", || export_database(&joined, output, "0"))?;
        show(database.into_iter().collect());
        for loss in joined.all_losses().rows() {
            println!("{:>10} {} ({})", loss.count, loss.kind, loss.place);
        }
    }
    Ok(())
}

fn timed<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let begin = Instant::now();
    let result = work();
    println!("{:>8.3} s {what}", begin.elapsed().as_secs_f64());
    result
}
