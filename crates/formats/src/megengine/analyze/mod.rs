//! `profile_analyze`: the questions of MegEngine's own analyser, and its output to the letter.
//!
//! Where the reference stops with an exception on a valid file, such as ordering by a column in
//! which some operators have no value, this one gives the answer that the option promises.

mod grid;
mod help;
pub(super) mod numbers;
mod options;
mod pattern;
mod records;
mod report;
mod tabulate;
mod wrap;

use std::ffi::OsString;
use std::io::{self, BufWriter, Write};

pub use self::help::HELP;
use self::options::Request;
use self::report::Report;
use super::Profile;

/// The begin of error messages.
const PROGRAM: &str = "opscope profile_analyze";

/// Runs `profile_analyze` with its command line, without the program's name, and returns the exit
/// status: 0 done, 1 the file can't be read or the output not written, 2 wrong usage.
///
/// Losses of the file are told on `errors`, a line each, and so is every error.
pub fn profile_analyze(arguments: &[OsString], output: &mut dyn Write, errors: &mut dyn Write) -> i32 {
    // If not even that can be said, the exit status is all that is left.
    let mut say = |text: &str| drop(writeln!(errors, "{PROGRAM}: {}", text.replace(['\n', '\r'], " ")));
    let options = match options::parse(arguments) {
        Ok(Request::Analysis(options)) => options,
        Ok(Request::Help) => return written(output.write_all(HELP.as_bytes()), &mut say),
        Err(error) => {
            say(&format!("{error}; see --help"));
            return 2;
        }
    };
    let profile = match Profile::read(&options.file) {
        Ok(profile) => profile,
        Err(error) => {
            say(&error.to_string());
            return 1;
        }
    };
    for loss in profile.losses.rows() {
        say(&format!("{}: left out {} {}", options.file.display(), loss.count, loss.kind));
    }
    match Report::new(&profile, &options) {
        Ok(report) => {
            let mut output = BufWriter::with_capacity(1 << 16, output);
            written(report.write(&mut output).and_then(|()| output.flush()), &mut say)
        }
        Err(error) => {
            say(&error);
            2
        }
    }
}

/// Whether a command line, without the program's name, asks for [`HELP`].
pub fn asks_for_help(arguments: &[OsString]) -> bool {
    matches!(options::parse(arguments), Ok(Request::Help))
}

/// The exit status after writing; a reader that has seen enough is no failure.
fn written(result: io::Result<()>, say: &mut dyn FnMut(&str)) -> i32 {
    match result {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            say(&format!("can't write the output: {error}"));
            1
        }
        _ => 0,
    }
}
