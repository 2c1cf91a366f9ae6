//! The program to run: found, followed through links, and checked before anything is made.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::error::CaptureError;
use crate::output::link_target;

/// A program and its arguments.
#[derive(Clone, Debug)]
pub struct Program {
    /// As it was named; the program sees this as its own name.
    pub name: OsString,
    /// The file that is executed.
    pub path: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
}

impl Program {
    /// Finds a program as a shell would: in `PATH` unless its name has a slash.
    ///
    /// # Errors
    /// When there is none, or when it can't be executed.
    pub fn find(name: OsString, arguments: Vec<OsString>) -> Result<Self, CaptureError> {
        let shown = name.to_string_lossy().into_owned();
        let path = if name.as_bytes().contains(&b'/') {
            PathBuf::from(&name)
        } else {
            let found = search(Path::new(&name));
            found.ok_or_else(|| CaptureError::NotFound { hint: hint(&shown), name: shown.clone() })?
        };
        if !path.exists() {
            return Err(CaptureError::NotFound { hint: hint(&shown), name: shown });
        }
        check(&path)?;
        Ok(Self { name, path, arguments })
    }

    /// Takes apart what `--application` was given: words, in quotes where they hold blanks.
    ///
    /// # Errors
    /// When a quote isn't closed, when there is nothing, or as [`Program::find`].
    pub fn parse(text: &str) -> Result<Self, CaptureError> {
        /// As many as the reference takes.
        const MOST_CHARACTERS: usize = 2_048;
        if text.chars().count() > MOST_CHARACTERS {
            let text = format!("--application: expected at most {MOST_CHARACTERS} characters");
            return Err(CaptureError::Usage(text));
        }
        let mut words = split(text)
            .ok_or_else(|| CaptureError::Usage("--application: a quote is not closed".to_owned()))?
            .into_iter();
        let Some(name) = words.next() else {
            let text = "--application: expected a program and its arguments, such as \"python3 infer.py\"";
            return Err(CaptureError::Usage(text.to_owned()));
        };
        let arguments: Vec<OsString> = words.map(OsString::from).collect();
        if arguments.is_empty() && is_interpreter(Path::new(&name)) {
            let text = format!("--application: {name} needs a script to run");
            return Err(CaptureError::Usage(text));
        }
        Self::find(name.into(), arguments)
    }

    /// The file that the program's links lead to, if it is one.
    pub fn link_target(&self) -> Option<PathBuf> {
        link_target(&self.path)
    }

    /// The options by which a Python program keeps our site customisation out, if it does.
    pub(crate) fn isolation(&self) -> Option<&str> {
        if !Path::new(&self.name).file_name()?.to_string_lossy().starts_with("python") {
            return None;
        }
        let words = self.arguments.iter().map_while(|word| word.to_str());
        // The first word that is no option names the script; these options take a word of their own.
        let mut is_value = false;
        for word in words {
            if std::mem::take(&mut is_value) {
                continue;
            }
            let letters = word.strip_prefix('-').filter(|letters| !letters.is_empty())?;
            if letters.starts_with('-') {
                is_value = letters == "-check-hash-based-pycs";
                continue;
            }
            let own = letters.find(['c', 'm', 'W', 'X']).unwrap_or(letters.len());
            if letters[..own].contains(['I', 'E', 'S']) {
                return Some(word);
            }
            if letters[own..].starts_with(['c', 'm']) {
                return None;
            }
            is_value = matches!(&letters[own..], "W" | "X");
        }
        None
    }

    /// The program's name without its directory.
    pub fn short_name(&self) -> String {
        Path::new(&self.name).file_name().unwrap_or(&self.name).to_string_lossy().into_owned()
    }
}

fn search(name: &Path) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let mut candidates = std::env::split_paths(&path).map(|folder| folder.join(name));
    candidates.find(|candidate| candidate.is_file() && is_executable(candidate))
}

fn is_executable(path: &Path) -> bool {
    let Ok(text) = std::ffi::CString::new(path.as_os_str().as_bytes()) else { return false };
    // SAFETY: the path is a C string.
    unsafe { libc::access(text.as_ptr(), libc::X_OK) == 0 }
}

fn check(path: &Path) -> Result<(), CaptureError> {
    let refuse = |reason: String| Err(CaptureError::NotExecutable { path: path.to_owned(), reason });
    let status = match path.metadata() {
        Ok(status) => status,
        Err(error) => return refuse(error.to_string()),
    };
    if status.is_dir() {
        return refuse("this is a directory; name the program in it".to_owned());
    }
    if !is_executable(path) {
        let mode = status.permissions().mode() & 0o777;
        let advice = match path.extension().and_then(|extension| extension.to_str()) {
            Some("py") => {
                format!("run it with an interpreter: opscope collect -- python3 {}", path.display())
            }
            _ => format!("if it is a program, allow it: chmod +x {}", path.display()),
        };
        return refuse(format!("this file (mode {mode:04o}) may not be executed; {advice}"));
    }
    Ok(())
}

fn hint(name: &str) -> String {
    let rooted = format!("/{name}");
    if !name.starts_with('/') && name.contains('/') && Path::new(&rooted).exists() {
        return format!("; did you mean {rooted}?");
    }
    if name.contains('/') {
        return String::new();
    }
    if Path::new(name).exists() {
        return format!(" in PATH; did you mean ./{name}?");
    }
    " in PATH".to_owned()
}

/// Whether a program only runs what it is given.
pub fn is_interpreter(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    matches!(&*name, "bash" | "sh") || name.starts_with("python")
}

/// Splits a command line at blanks, except within quotes; a backslash takes the next character as
/// it is. `None` if a quote is not closed.
fn split(text: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), letter) if letter == open => quote = None,
            (Some('\''), letter) => word.get_or_insert_default().push(letter),
            (_, '\\') => word.get_or_insert_default().push(letters.next().unwrap_or('\\')),
            (Some(_), letter) => word.get_or_insert_default().push(letter),
            (None, '"' | '\'') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, blank) if blank.is_whitespace() => words.extend(word.take()),
            (None, letter) => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_application_is_split_like_a_shell_would() {
        let words = |text| split(text).unwrap_or_default();
        assert_eq!(words("python3 a.py  --x 1 "), ["python3", "a.py", "--x", "1"]);
        assert_eq!(words(r#"./run "two words" 'it is' "" a\ b"#), ["./run", "two words", "it is", "", "a b"]);
        assert_eq!(split("./run 'open"), None);
    }

    #[test]
    fn options_that_isolate_python_are_found_among_its_own() {
        let isolation = |name: &str, text: &str| {
            let arguments = text.split_whitespace().map(OsString::from).collect();
            let program = Program { name: name.into(), path: PathBuf::from(name), arguments };
            program.isolation().map(str::to_owned)
        };
        for (text, option) in [("-I a.py", "-I"), ("-u -sE a.py", "-sE"), ("-W error -S -m x", "-S")] {
            assert_eq!(isolation("/usr/bin/python3.11", text).as_deref(), Some(option), "{text}");
        }
        for text in ["a.py -I", "-c -I", "-mx -E", "-cIES", "-X I a.py", "-WIgnore a.py", "- -I", ""] {
            assert_eq!(isolation("python3", text), None, "{text}");
        }
        assert_eq!(isolation("perl", "-I lib"), None);
    }

    #[test]
    fn what_cannot_be_run_is_said_with_advice() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let says = |text: &str| Program::parse(text).expect_err(text).to_string();
        assert!(says("").contains("expected a program"));
        assert!(says("python3").contains("script"));
        assert!(says(&"x".repeat(3_000)).contains("2048"));
        assert!(says("no-such-program-here").contains("PATH"));
        assert!(says(&folder.path().display().to_string()).contains("directory"));
        let script = folder.path().join("a.py");
        std::fs::write(&script, "print(1)").expect("a file");
        assert!(says(&script.display().to_string()).contains("python3"));
    }

    #[test]
    fn links_are_followed() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("/bin/sh", &link).expect("a link");
        let program = Program::find(link.into(), Vec::new()).expect("a program");
        assert_eq!(program.link_target(), Path::new("/bin/sh").canonicalize().ok());
    }
}
