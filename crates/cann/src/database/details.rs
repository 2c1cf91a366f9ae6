//! Details of a row in one text: names and values in turn, as the reference has them. It is a list, not an object.

use crate::text::numbers::push_float;
use crate::text::quoting::push_json;

/// A list of names and values.
#[derive(Default)]
pub(super) struct Details(Vec<u8>);

impl Details {
    fn key(&mut self, key: &str) -> &mut Vec<u8> {
        self.0.push(if self.0.is_empty() { b'[' } else { b',' });
        push_json(&mut self.0, key);
        self.0.push(b',');
        &mut self.0
    }

    pub(super) fn integer(&mut self, key: &str, value: impl Into<u64>) {
        let value: u64 = value.into();
        self.key(key).extend_from_slice(value.to_string().as_bytes());
    }

    pub(super) fn float(&mut self, key: &str, value: f64) {
        push_float(self.key(key), value);
    }

    pub(super) fn text(&mut self, key: &str, value: &str) {
        push_json(self.key(key), value);
    }

    /// The whole list.
    pub(super) fn finish(mut self) -> String {
        if self.0.is_empty() {
            self.0.push(b'[');
        }
        self.0.push(b']');
        String::from_utf8_lossy(&self.0).into_owned()
    }
}
