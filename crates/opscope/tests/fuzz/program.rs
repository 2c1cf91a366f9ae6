//! The whole program as a target: a command on files, all of which are changed, with more words behind it.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use opscope_fuzzing::{PROGRAM_FILES, Packed, Trail, folder, unpack};

const TABLE: &str = "op_summary_20251009085320.csv";

/// The commands, by the byte with flags.
const COMMANDS: &[&[&str]] = &[
    &["compare", "a.json", "b.json"],
    &["compare", "a.json", "b.json", "--markdown"],
    &["check", "--baseline", "a.json", "--candidate", "b.json"],
    &["check", "--baseline", "b.json", "--candidate", "a.json", "--json", "--allow-losses"],
    &["check", "--candidate", "a.json", "--target-ms", "1", "--junit", "j.xml"],
    &["analyze", "a.json"],
    &["analyze", "a.json", "--host", "--csv"],
    &["analyze", "a.json", "--group-by", "shape", "--markdown"],
    &["analyze", "JOBA", "--group-by", "type"],
    &["analyze", TABLE, "--json"],
    &["advise", "a.json", "--model", "model.onnx"],
    &["advise", "model.onnx", "--target", "cann-310"],
    &["advise", "model.onnx", "--converter", "convert.sh", "--json"],
    &["advise", "JOBA"],
    &["whatif", "a.json", "--scale", "Conv=0.5"],
    &["show", "a.json"],
    &["show", TABLE],
    &["where", "conv", "a.json"],
    &["info", "."],
    &["info", "model.onnx"],
    &["info", "a.json", "--json"],
    &["sql", "a.json", "SELECT * FROM tasks"],
    &["sql", "a.json", "SELECT * FROM operators", "--csv"],
    &["import", "a.json", "--trace", "t.json", "--db", "t.db", "--profile", "p.json"],
    &["import", TABLE, "--db", "t.db"],
    &["rewrite", "model.onnx", "-o", "out.onnx"],
    &["rewrite", "model.onnx", "-o", "out.onnx", "--allow-lossy", "--json"],
    &["fusion", "model.onnx", "--all"],
    &["fusion", "--fusion-result", "fusion_result.json"],
    &["profile_analyze", "a.json"],
    &["run", "model.onnx", "-n", "1", "--warmup", "0"],
    &["run", "model.onnx", "-n", "1", "--warmup", "0", "--input", "x=input.npy"],
];

/// The most words of an input that are added.
const MOST_WORDS: usize = 6;
/// A run that takes longer than this isn't waited for.
const LIMIT: Duration = Duration::from_secs(60);

/// Runs a command. It ends by itself, in time and memory, with a status and a message; it leaves nothing half
/// done, and no text of a file controls the terminal.
pub fn run(input: &[u8], trail: &mut Trail) {
    let place = folder();
    let flags = unpack(input, PROGRAM_FILES, place.path());
    let command = COMMANDS[usize::from(flags) % COMMANDS.len()];
    let words = words(&Packed::of(input, PROGRAM_FILES));
    let (status, stdout, stderr) = output(place.path(), command, &words);
    let shown = || format!("opscope {} {words:?}: {status}\n{stdout}\n{stderr}", command.join(" "));
    trail.noted(command[0]);
    trail.refused(&stderr.lines().find(|line| line.starts_with("error")).unwrap_or("done"));
    trail.counted("lines", stdout.lines().count());
    assert!(matches!(status.code(), Some(0..=3)), "it ended by itself: {}", shown());
    assert!(!stderr.contains("panicked"), "it panicked: {}", shown());
    if matches!(status.code(), Some(1 | 2)) {
        assert!(!stderr.trim().is_empty() || !stdout.is_empty(), "it failed without a word: {}", shown());
    }
    // Data are exact where a program reads them: comma-separated values, and answers that are MegEngine's to
    // the letter.
    let is_data = command[0] == "profile_analyze" || command.contains(&"--csv");
    for text in [&stderr, &stdout].into_iter().take(if is_data { 1 } else { 2 }) {
        let harmful = text.chars().find(|letter| controls_terminal(*letter));
        assert_eq!(harmful, None, "a text controls the terminal: {}", shown());
    }
    let left = std::fs::read_dir(place.path()).expect("the folder").flatten();
    let left = left
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .find(|name| name.ends_with(".part"));
    assert_eq!(left, None, "a file is left half done: {}", shown());
}

/// The words of an input, but for those that would lead out of its folder.
fn words(packed: &Packed) -> Vec<String> {
    let text = String::from_utf8_lossy(packed.file(PROGRAM_FILES, "words").unwrap_or_default()).into_owned();
    let leads_out = |word: &&str| word.contains(['/', '\0']) || word.contains("..") || word.len() > 10_000;
    text.lines().filter(|word| !leads_out(word)).take(MOST_WORDS).map(str::to_owned).collect()
}

/// Letters that move the cursor, ring, clear, or turn the direction of what follows.
fn controls_terminal(letter: char) -> bool {
    (letter.is_control() && !matches!(letter, '\n' | '\t'))
        || matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn output(place: &Path, command: &[&str], words: &[String]) -> (std::process::ExitStatus, String, String) {
    let (out, errors) = (place.join("stdout"), place.join("stderr"));
    let file = |path: &Path| Stdio::from(File::create(path).expect("space on disk"));
    let mut child = Command::new("sh");
    // Memory in kilobytes, time in seconds.
    child.args(["-c", "ulimit -v 4000000; ulimit -t 20; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_opscope")]);
    child.args(["--memory", "256MiB"]).args(command).args(words);
    child.current_dir(place).env("HOME", place).env("XDG_CACHE_HOME", place).env_remove("ORT_DYLIB_PATH");
    child.stdin(Stdio::null()).stdout(file(&out)).stderr(file(&errors));
    let mut child = child.spawn().expect("a shell");
    let begin = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("a child") {
            break status;
        }
        if begin.elapsed() > LIMIT {
            child.kill().expect("a child");
            child.wait().expect("a child");
            panic!("opscope {} {words:?} doesn't end", command.join(" "));
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let read = |path: &Path| String::from_utf8_lossy(&std::fs::read(path).expect("an output")).into_owned();
    (status, read(&out), read(&errors))
}
