//! The questions of MegEngine's own tool; the first byte chooses one.
#![no_main]

use std::ffi::OsString;

use libfuzzer_sys::fuzz_target;
use opscope_formats::megengine::analyze::profile_analyze;

const QUESTIONS: [&[&str]; 8] = [
    &[],
    &["--aggregate-by", "type", "--aggregate", "max"],
    &["--aggregate", "sum", "--order-by", "+device"],
    &["--copy-time"],
    &["--confluence", "--top", "-1"],
    &["--min-time", "1e-6", "--order-by", "bandwidth"],
    &["--print-only", "summary"],
    &["--dump-only-opr", "--top-end-key", "kern"],
];

fuzz_target!(|input: &[u8]| {
    let Some((&number, content)) = input.split_first() else { return };
    let directory = opscope_fuzz::folder();
    let path = directory.path().join("profile.json");
    std::fs::write(&path, content).expect("space on disk");
    let mut arguments = vec![OsString::from(path)];
    arguments.extend(QUESTIONS[usize::from(number) % QUESTIONS.len()].iter().map(OsString::from));
    let _ = profile_analyze(&arguments, &mut std::io::sink(), &mut std::io::sink());
});
