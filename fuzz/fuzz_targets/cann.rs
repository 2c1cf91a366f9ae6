//! A whole raw directory: decode, join, project, and export in the ways that the flags choose.
#![no_main]

use libfuzzer_sys::fuzz_target;
use opscope_cann::{
    Data, ExportLayout, ExportOptions, IterationRange, Joined, SheetFormat, discover, export_database,
    export_summary, export_timeline, performance_reports, to_trace,
};
use opscope_fuzz::{PROFILE, folder, unpack};

fuzz_target!(|input: &[u8]| {
    let directory = folder();
    let flags = unpack(input, PROFILE, directory.path());
    let Ok(profiles) = discover(directory.path()) else { return };
    for profile in profiles {
        let Ok(data) = Data::load(profile) else { continue };
        let joined = Joined::new(data);
        let _ = to_trace(&joined);
        let options = ExportOptions {
            format: if flags & 1 == 0 { SheetFormat::Csv } else { SheetFormat::Json },
            layout: if flags & 2 == 0 { ExportLayout::Current } else { ExportLayout::Classic },
            iterations: (flags & 4 != 0).then_some(IterationRange { model: 1, first: 1, count: 2 }),
            timeline_bytes: (flags & 8 != 0).then_some(4_096),
            ..ExportOptions::default()
        };
        let output = directory.path().join("output");
        export_summary(&joined, &output, "0", options).expect("space on disk");
        export_timeline(&joined, &output, "0", options).expect("space on disk");
        for report in performance_reports(&joined, options) {
            let _ = (report.text(), report.json());
        }
        if flags & 0xF0 == 0 {
            let _ = export_database(&joined, &output, "0");
        }
    }
});
