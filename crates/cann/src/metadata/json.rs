//! Values of JSON files whose numbers may be written as text.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use serde_json::Value;

use crate::error::{Error, Result};

/// A metadata file larger than this isn't one.
pub(super) const MAX_METADATA_BYTES: u64 = 16 << 20;

/// Reads the first line of a file as JSON.
pub(super) fn read_json(path: &Path) -> Result<Value> {
    let file = File::open(path).map_err(Error::io("open the file", path))?;
    let mut line = Vec::new();
    BufReader::new(file.take(MAX_METADATA_BYTES))
        .read_until(b'\n', &mut line)
        .map_err(Error::io("read the file", path))?;
    serde_json::from_slice(&line).map_err(|problem| Error::Metadata {
        path: path.to_owned(),
        field: "first line",
        expected: "a JSON object",
        found: problem.to_string(),
    })
}

/// A string, or a number as text; empty if there is neither.
pub(super) fn text(json: &Value, key: &str) -> String {
    match json.get(key) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        Some(Value::Bool(flag)) => flag.to_string(),
        _ => String::new(),
    }
}

pub(super) fn number(json: &Value, key: &str) -> Option<f64> {
    text(json, key).trim().parse().ok().filter(|value: &f64| value.is_finite())
}

/// A positive number; 0 if there is none. Quantities that weren't sampled may have any rate: whoever needs
/// one that isn't there counts it.
pub(super) fn rate(json: &Value, key: &str) -> f64 {
    number(json, key).filter(|rate| *rate > 0.0).unwrap_or(0.0)
}

pub(super) fn count(json: &Value, key: &str) -> u32 {
    number(json, key).map_or(0, |value| value as u32)
}
