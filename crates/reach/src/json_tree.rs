//! Objects of JSON within one another, whose innermost values are taken one by one: the vendor's files of collectives
//! have those of a whole run in one object, of which only some numbers are kept.

use std::fmt;
use std::marker::PhantomData;
use std::path::Path;

use opscope_formats::input::Input;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, Visitor};

/// Takes each value that lies `depth` objects deep in a file, with the names on the way to it.
///
/// # Errors
/// Why the file can't be read, or where it breaks off; what stands before is taken.
pub fn each_value<Value: for<'d> Deserialize<'d>>(
    path: &Path,
    depth: usize,
    mut take: impl FnMut(&[String], Value),
) -> Result<(), String> {
    let bytes = Input::open(path).map_err(|error| error.to_string())?;
    let mut names = Vec::new();
    let tree = Tree { depth, names: &mut names, take: &mut take, value: PhantomData };
    let mut reader = serde_json::Deserializer::from_slice(&bytes);
    let read = tree.deserialize(&mut reader).and_then(|()| reader.end());
    read.map_err(|error| error.to_string())
}

/// An object `depth` objects above the values.
struct Tree<'t, Value> {
    depth: usize,
    names: &'t mut Vec<String>,
    take: &'t mut dyn FnMut(&[String], Value),
    value: PhantomData<Value>,
}

impl<'d, Value: Deserialize<'d>> DeserializeSeed<'d> for Tree<'_, Value> {
    type Value = ();

    fn deserialize<D: Deserializer<'d>>(self, reader: D) -> Result<(), D::Error> {
        if self.depth > 0 {
            return reader.deserialize_map(self);
        }
        let value = Value::deserialize(reader)?;
        (self.take)(self.names, value);
        Ok(())
    }
}

impl<'d, Value: Deserialize<'d>> Visitor<'d> for Tree<'_, Value> {
    type Value = ();

    fn expecting(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(text, "an object with {} more within one another", self.depth)
    }

    fn visit_map<Map: MapAccess<'d>>(self, mut map: Map) -> Result<(), Map::Error> {
        while let Some(name) = map.next_key::<String>()? {
            self.names.push(name);
            let below = Tree {
                depth: self.depth - 1,
                names: &mut *self.names,
                take: &mut *self.take,
                value: PhantomData,
            };
            map.next_value_seed(below)?;
            self.names.pop();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(text: &str) -> (Vec<String>, Result<(), String>) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("values.json");
        std::fs::write(&path, text).expect("a writable temporary folder");
        let mut taken = Vec::new();
        let done =
            each_value(&path, 2, |names, value: u32| taken.push(format!("{}={value}", names.join("."))));
        (taken, done)
    }

    #[test]
    fn values_are_taken_with_the_names_on_the_way_to_them() {
        let (taken, done) = taken(r#"{"a": {"b": 1, "c": 2}, "d": {}, "e": {"f": 3}}"#);
        assert_eq!((taken.join(" "), done), ("a.b=1 a.c=2 e.f=3".to_owned(), Ok(())));
    }

    #[test]
    fn values_before_the_place_where_a_file_breaks_off_are_taken() {
        let (before, done) = taken(r#"{"a": {"b": 1, "c": 2}, "d": {"e""#);
        assert_eq!(before, ["a.b=1", "a.c=2"]);
        assert!(done.is_err_and(|error| error.contains("EOF")));
        let (before, done) = taken(r#"{"a": {"b": 1}, "c": 2}"#);
        assert_eq!(before, ["a.b=1"]);
        assert!(done.is_err_and(|error| error.contains("an object")));
    }
}
