//! Paths on the board, and names that come from it.

use std::path::{Path, PathBuf};

/// A word of a shell's command line that means exactly `text`.
pub(crate) fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:,@%".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// A path on the board below another.
pub(crate) fn join(folder: &str, name: &str) -> String {
    if name.starts_with('/') {
        name.to_owned()
    } else if folder.is_empty() || folder.ends_with('/') {
        format!("{folder}{name}")
    } else {
        format!("{folder}/{name}")
    }
}

/// A local path with forward slashes, as the board has it.
pub(crate) fn portable(path: &Path) -> String {
    let parts: Vec<_> = path.components().map(|part| part.as_os_str().to_string_lossy()).collect();
    parts.join("/")
}

/// Where a file that the board names goes below a local folder. `None` for a name that is no single
/// part of a path, and so might lead elsewhere.
pub(crate) fn local_target(folder: &Path, name: &str) -> Option<PathBuf> {
    let is_hostile = matches!(name, "" | "." | "..")
        || name.contains(['/', '\\', '\0', ':'])
        || name.chars().any(char::is_control);
    (!is_hostile).then(|| folder.join(name))
}

/// The characters of a path that the board's profiler doesn't take: it knows letters, digits and
/// underscores only.
pub(crate) fn odd_characters(path: &str) -> String {
    let odd = path.chars().filter(|c| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '/')));
    let mut odd: Vec<char> = odd.collect();
    odd.sort_unstable();
    odd.dedup();
    odd.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_back_what_was_quoted() {
        for text in ["plain/path_1.txt", "", "it's", "a b;rm -rf $HOME", "`x`\"\\\n", "-n"] {
            let command = format!("printf %s {}", quoted(text));
            let output = std::process::Command::new("sh").args(["-c", &command]).output().unwrap();
            assert_eq!(String::from_utf8(output.stdout).unwrap(), text);
        }
    }

    #[test]
    fn a_name_from_the_board_never_leaves_the_folder() {
        let folder = Path::new("out");
        assert_eq!(local_target(folder, "aicore.0 (1)"), Some(folder.join("aicore.0 (1)")));
        for hostile in ["..", "../x", "/etc/passwd", "a/b", "a\\b", "", ".", "C:x", "a\0b", "a\nb"] {
            assert_eq!(local_target(folder, hostile), None, "{hostile:?}");
        }
    }

    #[test]
    fn characters_that_the_profiler_does_not_take_are_named() {
        assert_eq!(odd_characters("/root/App_1/profiling"), "");
        assert_eq!(odd_characters("/home/my-app/a b"), " -");
    }
}
