//! Exported timelines in Perfetto's trace processor, an outside judge: it takes every slice and
//! every arrow of them, and reports no error. Runs where `OPSCOPE_TRACE_PROCESSOR` names it.

mod common;

use std::path::Path;
use std::process::Command;

use opscope_cann::join::Joined;
use opscope_cann::{
    Data, ExportOptions, SampleLayout, SampleMode, SampleOptions, discover, export_timeline, write_sample,
};
use opscope_cann_raw::Chip;
use opscope_testing::companions;
use serde_json::Value;

/// Errors and losses by name, and the numbers of slices and arrows.
const QUERY: &str = "
    select name, value from stats where severity in ('error', 'data_loss') and value > 0
    union all select 'slices', count(*) from slice
    union all select 'arrows', count(*) from flow;
";

/// The answers of the trace processor about a timeline, a line each.
fn judge(processor: &Path, timeline: &Path) -> Vec<String> {
    let query = timeline.with_extension("sql");
    std::fs::write(&query, QUERY).expect("space on disk");
    let answer = Command::new(processor).arg("-q").arg(query).arg(timeline).output().expect("it starts");
    assert!(answer.status.success(), "{}", String::from_utf8_lossy(&answer.stderr));
    let text = String::from_utf8_lossy(&answer.stdout).replace('"', "");
    text.lines().skip(1).map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect()
}

/// Exports the timelines of a profile and has each judged; returns how many slices there were.
fn check(processor: &Path, about: &str, joined: &Joined, options: ExportOptions) -> usize {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let paths = export_timeline(joined, directory.path(), "0", options).expect("space on disk");
    let mut all = 0;
    for path in paths {
        let events: Vec<Value> =
            serde_json::from_slice(&std::fs::read(&path).expect("a timeline")).expect("JSON");
        let count = |phase: &str| events.iter().filter(|event| event["ph"] == phase).count();
        // A mark is a slice too.
        let slices = count("X") + count("i") + count("I");
        let mut found = judge(processor, &path);
        let arrows = found.pop().and_then(|line| line.strip_prefix("arrows,")?.parse::<usize>().ok());
        assert_eq!(found, [format!("slices,{slices}")], "{about}: {}", path.display());
        // An arrow is what ends, because several may begin as one. Arrows between marks end where a
        // device shows no slice if only one iteration is shown, and in a divided timeline an arrow
        // may begin in another file.
        let ends = events.iter().filter(|event| event["cat"] == "HostToDevice" && event["ph"] == "f").count();
        if options.timeline_bytes.is_none() {
            assert!(
                arrows.is_some_and(|arrows| (ends..=count("f")).contains(&arrows)),
                "{about}: {arrows:?}"
            );
        }
        all += slices;
    }
    all
}

#[test]
fn a_trace_processor_takes_every_slice_and_arrow_of_every_timeline() {
    let Some(processor) = companions::trace_processor() else { return };
    let processor = processor.as_path();
    if let Some(golden) = common::golden() {
        for case in common::cases(&golden) {
            let joined = Joined::new(common::load(&golden, &case));
            assert!(check(processor, &case, &joined, ExportOptions::default()) > 10, "{case}");
            let divided = ExportOptions { timeline_bytes: Some(20_000), ..ExportOptions::default() };
            check(processor, &case, &joined, divided);
        }
    }
    for chip in Chip::ALL.into_iter().filter(|chip| *chip != Chip::V5_1_0) {
        for mode in [SampleMode::Static, SampleMode::Dynamic] {
            let directory = tempfile::tempdir().expect("a temporary directory");
            let options = SampleOptions { chip, tasks: 150, mode, layout: SampleLayout::Current, seed: 3 };
            write_sample(directory.path(), options).expect("space on disk");
            let profile = discover(directory.path()).expect("a profile").remove(0);
            let joined = Joined::new(Data::load(profile).expect("a readable profile"));
            let about = format!("{chip:?} {mode:?}");
            assert!(check(processor, &about, &joined, ExportOptions::default()) > 150, "{about}");
        }
    }
}
