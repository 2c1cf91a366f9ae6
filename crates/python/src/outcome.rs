//! Why something failed, with the program's text.

use std::error::Error;

/// A failure, by the exception that Python raises.
#[derive(Debug)]
pub enum Failure {
    /// There is no such file.
    Missing(String),
    /// An argument has no meaning.
    Value(String),
    /// Anything else that opscope can't do.
    Other(String),
}

impl Failure {
    /// An error, and its causes, in a line.
    pub fn of(error: &dyn Error) -> Self {
        let mut text = error.to_string();
        let mut cause = error.source();
        while let Some(inner) = cause {
            let words = inner.to_string();
            // A cause that an error already quotes needn't be said twice.
            if !text.contains(&words) {
                text = format!("{text}: {words}");
            }
            cause = inner.source();
        }
        Self::Other(text)
    }

    /// The number by which `_profile.py` knows the exception, and the text.
    pub fn parts(&self) -> (i32, &str) {
        match self {
            Self::Missing(text) => (1, text),
            Self::Value(text) => (2, text),
            Self::Other(text) => (3, text),
        }
    }
}
