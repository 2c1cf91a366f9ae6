//! Helpers of the program's tests: a temporary folder to run the real binary in, and the companions that
//! some of them need.

#![allow(dead_code, reason = "each test file uses another part of it")]

pub mod sets;

use std::path::PathBuf;
use std::process::{Command, Output};

use opscope_testing::programs::output_in_time;
use serde_json::Value;
use tempfile::TempDir;

/// A folder of its own for one test.
pub struct Place {
    folder: TempDir,
}

/// The program's answer.
pub struct Answer {
    pub status: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Place {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a temporary folder") }
    }

    /// As [`Place::new`], below a folder that other users may enter.
    pub fn below(folder: &str) -> Self {
        Self { folder: tempfile::tempdir_in(folder).expect("a temporary folder") }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, content).expect("a writable temporary folder");
        path
    }

    pub fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.folder.path()).expect("the folder");
        let mut names: Vec<String> = entries
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_opscope"));
        // Tests look for English, whatever the language of the person who runs them.
        command.args(arguments).current_dir(self.folder.path()).env("OPSCOPE_LANG", "en");
        command
    }

    /// Runs the program in the folder with variables of the environment.
    pub fn run_with(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Answer {
        let mut command = self.command(arguments);
        command.envs(variables.iter().copied());
        Answer::from(output_in_time(&mut command).expect("the program ends"))
    }

    /// Runs the program in the folder.
    pub fn run(&self, arguments: &[&str]) -> Answer {
        Answer::from(output_in_time(&mut self.command(arguments)).expect("the program ends"))
    }

    /// Runs the program, which must succeed.
    pub fn done(&self, arguments: &[&str]) -> Answer {
        let answer = self.run(arguments);
        assert_eq!(answer.status, Some(0), "opscope {arguments:?}\n{}\n{}", answer.stdout, answer.stderr);
        answer
    }

    /// Runs the program, which must fail with a status and say something.
    pub fn fails(&self, status: i32, says: &[&str], arguments: &[&str]) -> Answer {
        let answer = self.run(arguments);
        assert_eq!(
            answer.status,
            Some(status),
            "opscope {arguments:?}\n{}\n{}",
            answer.stdout,
            answer.stderr
        );
        for text in says {
            assert!(
                answer.stderr.contains(text),
                "opscope {arguments:?}: no {text:?} in:\n{}",
                answer.stderr
            );
        }
        assert!(!answer.stderr.contains("panicked"), "{}", answer.stderr);
        answer
    }

    /// Writes a sample model and gives its path.
    pub fn sample(&self, name: &str) -> String {
        let file = format!("{name}.onnx");
        self.done(&["sample", name, "-o", &file]);
        file
    }
}

impl From<Output> for Answer {
    fn from(output: Output) -> Self {
        Self {
            status: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Answer {
    /// The answer as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {}", self.stdout))
    }
}

/// A report, taken apart as its page does it: the answers, and the container of columns.
pub fn report(html: &str) -> (Value, Vec<u8>) {
    use base64ct::{Base64, Encoding};

    let element = |begin: &str| {
        let (_, rest) = html.split_once(begin).unwrap_or_else(|| panic!("no {begin}"));
        rest.split_once("</script>").expect("an end").0
    };
    let answers = element("<script type=\"application/json\" id=\"report\">");
    let packed = Base64::decode_vec(element("<script type=\"text/plain\" id=\"columns\">")).expect("base64");
    let mut columns = Vec::new();
    let mut unpacked = flate2::read::DeflateDecoder::new(&packed[..]);
    std::io::Read::read_to_end(&mut unpacked, &mut columns).expect("a deflated stream");
    (serde_json::from_str(answers).expect("JSON"), columns)
}

/// A number of a JSON answer.
pub fn number(value: &Value, pointer: &str) -> f64 {
    value.pointer(pointer).and_then(Value::as_f64).unwrap_or_else(|| panic!("no number at {pointer}"))
}
