//! The operator information library of Ascend's compiler: which operators there are for a chip, and the types of
//! elements that they read.
//!
//! CANN has one for each chip, `aic-CHIP-ops-info.json`. Operators of users are described in `.ini` files, of which their
//! build makes the same. An operator has parts, among them its inputs and outputs, and each part has fields ("TBE
//! Operator Information Library" in CANN's guide to the development of operators):
//!
//! ```text
//! [Add]                            {"Add": {
//! input0.name=x1                     "input0": {"name": "x1", "dtype": "float16,float"},
//! input0.dtype=float16,float         "dynamicShapeSupport": {"flag": "true"}}}
//! dynamicShapeSupport.flag=true
//! ```

use std::collections::{BTreeMap, BTreeSet};

use opscope_trace::DataType;

use super::json::Json;

/// The operators that a library describes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OperatorLibrary {
    /// By type.
    pub operators: BTreeMap<String, LibraryOperator>,
}

/// An operator as a library describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LibraryOperator {
    /// The types of elements that any of its inputs may have, in the library's words.
    pub input_types: BTreeSet<String>,
    /// Whether sizes of its inputs may be known only when it runs.
    pub is_dynamic: bool,
    /// Whether any input or output is described.
    has_tensors: bool,
}

impl OperatorLibrary {
    /// The library that a text is, by its content; `None` where it is none.
    pub fn of(text: &str) -> Option<Self> {
        let text = text.trim_start_matches('\u{feff}').trim_start();
        let operators = if text.starts_with('{') { of_json(text)? } else { of_lines(text) };
        // A few operators have neither inputs nor outputs.
        let described = operators.values().filter(|operator| operator.has_tensors).count();
        (described > 0 && 2 * described >= operators.len()).then_some(Self { operators })
    }
}

fn of_json(text: &str) -> Option<BTreeMap<String, LibraryOperator>> {
    let library: Json = serde_json::from_str(text).ok()?;
    let mut operators: BTreeMap<String, LibraryOperator> = BTreeMap::new();
    for (name, parts) in library.members() {
        let operator = operators.entry(name.clone()).or_default();
        for (part, fields) in parts.members() {
            for (field, value) in fields.members() {
                operator.take(part, field, value.text().unwrap_or_default());
            }
        }
    }
    Some(operators)
}

fn of_lines(text: &str) -> BTreeMap<String, LibraryOperator> {
    let mut operators: BTreeMap<String, LibraryOperator> = BTreeMap::new();
    let mut name = "";
    for line in text.lines().map(str::trim) {
        if let Some(found) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            name = found.trim();
            operators.entry(name.to_owned()).or_default();
        } else if let Some((key, value)) = line.split_once('=')
            && let Some((part, field)) = key.trim().split_once('.')
            && let Some(operator) = operators.get_mut(name)
        {
            operator.take(part, field, value.trim());
        }
    }
    operators
}

impl LibraryOperator {
    /// Whether any of its inputs may have a type of elements.
    pub fn takes(&self, data_type: DataType) -> bool {
        let own_word = match data_type {
            DataType::Float64 => "double",
            DataType::Float32 => "float",
            DataType::BFloat16 => "bf16",
            other => other.name(),
        };
        self.input_types.iter().any(|word| word == own_word || word == data_type.name())
    }

    /// Takes in what a field of one of its parts says.
    fn take(&mut self, part: &str, field: &str, value: &str) {
        let is_numbered = |word: &str| {
            let number = part.strip_prefix(word).filter(|number| !number.is_empty());
            number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
        };
        match field {
            "name" => self.has_tensors |= is_numbered("input") || is_numbered("output"),
            "dtype" if is_numbered("input") => {
                let types = value.split(',').map(str::trim).filter(|word| !word.is_empty());
                self.input_types.extend(types.map(str::to_owned));
            }
            "flag" if part == "dynamicShapeSupport" => self.is_dynamic = value.eq_ignore_ascii_case("true"),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JSON: &str = r#"{"Add": {"input0": {"name": "x1", "dtype": "float16,float,float16"},
        "input1": {"name": "x2", "dtype": "float16, int32"}, "output0": {"name": "y", "dtype": "bool"},
        "dynamicShapeSupport": {"flag": "true"}, "opFile": {"value": "add"}},
        "NoOp": {"opFile": {"value": "no_op"}}}"#;

    const LINES: &str = "\u{feff}[Add]\r\ninput0.name=x1\r\ninput0.dtype=float16,float\r\n\
        input1.name = x2\r\ninput1.dtype = int32\r\noutput0.name=y\r\noutput0.dtype=bool\r\n\
        dynamicShapeSupport.flag=TRUE\r\n[NoOp]\r\nopFile.value=no_op\r\n";

    #[test]
    fn both_forms_of_a_library_tell_operators_with_the_types_of_their_inputs() {
        let library = OperatorLibrary::of(JSON).unwrap();
        assert_eq!(OperatorLibrary::of(LINES), Some(library.clone()));
        let add = &library.operators["Add"];
        assert_eq!(add.input_types.iter().collect::<Vec<_>>(), ["float", "float16", "int32"]);
        let takes = |types: &[DataType]| types.iter().all(|data_type| add.takes(*data_type));
        assert!(takes(&[DataType::Float32, DataType::Float16, DataType::Int32]));
        assert!(
            !add.takes(DataType::Float64) && !add.takes(DataType::Int64) && !add.takes(DataType::BFloat16)
        );
        assert!(add.is_dynamic && !library.operators["NoOp"].is_dynamic);
    }

    #[test]
    fn other_files_of_these_forms_and_libraries_that_are_cut_off_are_none() {
        for text in [
            "",
            "{}",
            "[]",
            "[section]\nname=x\ninput.dtype=float\n",
            r#"{"model": {"input0": "x"}, "layers": {"inputs": {"name": "x"}}}"#,
            r#"{"Switch": {"GraphFusion": {"ALL": "on"}}}"#,
        ] {
            assert_eq!(OperatorLibrary::of(text), None, "{text}");
        }
        assert!((0..JSON.len()).all(|end| OperatorLibrary::of(&JSON[..end]).is_none()));
    }
}
