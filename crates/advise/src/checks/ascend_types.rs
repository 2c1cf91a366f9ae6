//! Which element types operators have kernels for on the AI Core.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use opscope_trace::{DataType, Operator, Trace};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Tables {
    release: Vec<Release>,
}

/// The types of some releases of CANN.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Release {
    cann: Vec<String>,
    /// Operators that nothing is said about.
    #[serde(default)]
    exempt: Vec<String>,
    /// The types of operators without an entry.
    any: Types,
    /// By the type of the operator in small letters.
    operators: BTreeMap<String, Types>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Types {
    /// The types of inputs and outputs alike.
    types: Vec<String>,
    inputs: Vec<String>,
    outputs: Vec<String>,
}

impl Types {
    fn has(&self, data_type: DataType, is_input: bool) -> bool {
        let further = if is_input { &self.inputs } else { &self.outputs };
        self.types.iter().chain(further).any(|name| DataType::from_name(name) == Some(data_type))
    }
}

/// The tables, the oldest first. The file is part of the program; a test reads it.
static TABLES: LazyLock<Tables> = LazyLock::new(|| {
    let read = toml::from_str(include_str!("../rules/aicpu_types.toml"));
    read.unwrap_or(Tables { release: Vec::new() })
});

/// A type of an input or output that the cores have no kernel for.
pub(super) struct OddType {
    pub data_type: DataType,
    is_input: bool,
    /// The releases of the list.
    cann: String,
}

impl OddType {
    /// It in words, such as `a float64 input, which the AI Core doesn't compute with`.
    pub fn text(&self) -> String {
        match self.data_type {
            DataType::Float64 if self.is_input => {
                "a float64 input, which the AI Core doesn't compute with".to_owned()
            }
            DataType::Float64 => "a float64 output, which the AI Core doesn't compute with".to_owned(),
            other if self.is_input => {
                format!("a {other} input, which is not in the list of CANN {}", self.cann)
            }
            other => format!("a {other} output, which is not in the list of CANN {}", self.cann),
        }
    }

    /// The type to compute with in its place, as a sentence without its full stop.
    pub fn instead(&self) -> &'static str {
        match self.data_type {
            DataType::Float64 => "Compute with float32",
            _ => "Convert to a type of the list before it: float32, float16 or int32",
        }
    }
}

/// The first type of an operator that the cores have no kernel for.
pub(super) fn odd_type(trace: &Trace, row: &Operator) -> Option<OddType> {
    TABLES.odd_type(trace, row)
}

impl Tables {
    fn odd_type(&self, trace: &Trace, row: &Operator) -> Option<OddType> {
        let table = self.for_release(trace.run.cann.as_deref())?;
        let name = trace.strings.get(row.op_type).to_ascii_lowercase();
        let types = table.operators.get(&name).unwrap_or(&table.any);
        let is_exempt = table.exempt.contains(&name);
        let tensors = row.inputs().map(|id| (id, true)).chain(row.outputs().map(|id| (id, false)));
        let (data_type, is_input) = tensors
            .map(|(id, is_input)| (trace.tensors.data_type()[id.index()], is_input))
            .find(|&(data_type, is_input)| {
                // Double precision is slow wherever it is computed, so it counts in any case.
                let is_double = data_type == DataType::Float64 && is_input;
                let is_odd = data_type != DataType::Unknown && !is_exempt && !types.has(data_type, is_input);
                is_double || is_odd
            })?;
        Some(OddType { data_type, is_input, cann: table.cann.join(" and ") })
    }

    /// The table of a release: its own, or else the newest.
    fn for_release(&self, cann: Option<&str>) -> Option<&Release> {
        let named = |table: &&Release| {
            cann.is_some_and(|cann| table.cann.iter().any(|name| name.eq_ignore_ascii_case(cann)))
        };
        self.release.iter().find(named).or_else(|| self.release.last())
    }
}

#[cfg(test)]
mod tests {
    use opscope_trace::Tensor;

    use super::*;

    #[test]
    fn the_tables_can_be_read_and_name_types_that_exist() {
        assert_eq!(TABLES.release.len(), 2);
        for table in &TABLES.release {
            for types in table.operators.values().chain([&table.any]) {
                let all = types.types.iter().chain(&types.inputs).chain(&types.outputs);
                let unknown: Vec<_> = all.filter(|name| DataType::from_name(name).is_none()).collect();
                assert!(unknown.is_empty(), "{unknown:?}");
                assert!(!types.types.is_empty() || !types.inputs.is_empty());
            }
        }
    }

    #[test]
    fn a_release_has_its_own_table_and_an_unlisted_one_the_newest() {
        let table_for = |cann| TABLES.for_release(cann).unwrap();
        assert!(!table_for(Some("7.0.RC1")).any.has(DataType::Complex64, true));
        assert!(table_for(Some("8.3.RC1")).any.has(DataType::Complex64, true));
        assert!(table_for(None).cann.contains(&"8.0.RC1".to_owned()));
    }

    /// The type of an operator's input that the cores of a release have no kernel for.
    fn odd_input(cann: &str, op_type: &str, data_type: DataType) -> Option<DataType> {
        let mut trace = Trace::new();
        trace.run.cann = Some(cann.to_owned());
        let tensor = Tensor { name: None, data_type, dimensions: None, layout: None, parameter: false };
        let first_input = Some(trace.tensors.push(tensor));
        let op_type = trace.strings.intern(op_type);
        let row = Operator { first_input, input_count: 1, ..Operator::new(op_type, op_type) };
        odd_type(&trace, &row).map(|odd| odd.data_type)
    }

    #[test]
    fn every_operator_of_the_tables_is_held_to_its_own_types() {
        for release in &TABLES.release {
            let any = ("Mystery".to_owned(), &release.any);
            let own = release.operators.iter().map(|(name, types)| (name.clone(), types));
            for (op_type, types) in own.chain([any]).filter(|(name, _)| !release.exempt.contains(name)) {
                for data_type in DataType::ALL {
                    let is_odd = data_type == DataType::Float64 || !types.has(data_type, true);
                    let found = odd_input(&release.cann[0], &op_type, data_type).is_some();
                    assert_eq!(found, is_odd, "{op_type} of {data_type} in {}", release.cann[0]);
                }
            }
        }
    }
}
