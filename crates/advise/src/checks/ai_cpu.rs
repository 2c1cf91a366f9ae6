//! Why operators run on a device's general processor, and what to put in their place.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use opscope_trace::{DataType, ExecutionUnit, Operator, OperatorId, Trace};
use serde::Deserialize;

use super::{ascend_types, conversion};
use crate::converter::OperatorLibrary;
use crate::kernels::{Kernel, Kind};
use crate::outcome::{Cause, Causes, Outcome};
use crate::rule::{Check, Rule};
use crate::subject::Subject;
use crate::target::Target;

pub(super) const CHECKS: &[(&str, Check)] =
    &[("A04", any_cause), ("A05", wide_integers), ("A07", types), ("A08", indexing), ("S10", any_cause)];

/// Why an operator is on the general processor, as far as that is known.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Why {
    /// The reason, as a sentence without its full stop.
    pub because: String,
    /// The replacement, or what else to do, as a sentence without its full stop.
    pub instead: String,
    /// The rewrites of opscope's that do it, if there are any.
    pub rewrite: Option<String>,
    /// The rule that tells it, whatever the operator.
    told_by: ToldBy,
    /// Whether it holds whatever the types of the data are, so that no library of operators says more.
    is_certain: bool,
}

/// The rule that tells a reason: each reason has one, so that an operator gets one replacement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ToldBy {
    /// A04, or a rule about this very operator.
    Operator,
    /// A05: integers of 64 bits.
    WideIntegers,
    /// A07: other types, alone or with those.
    Types,
}

/// The facts in `rules/ai_cpu.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Facts {
    operator: Vec<Fact>,
    board: Vec<Replacement>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Fact {
    types: Vec<String>,
    /// Types of data of which the first input must have one.
    #[serde(default)]
    input_types: Vec<String>,
    because: String,
    instead: String,
    #[serde(default)]
    rewrite: Option<String>,
    /// Whether it is so whatever the types of data.
    #[serde(default)]
    always: bool,
    /// Whether the replacement is the one that fits where types of data are the reason.
    #[serde(default)]
    is_for_types: bool,
    /// Where the fact comes from.
    #[serde(rename = "source")]
    _source: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Replacement {
    types: Vec<String>,
    instead: String,
}

/// The file is part of the program; a test reads it.
static FACTS: LazyLock<Facts> = LazyLock::new(|| {
    let read = toml::from_str(include_str!("../rules/ai_cpu.toml"));
    read.unwrap_or(Facts { operator: Vec::new(), board: Vec::new() })
});

/// Whether a type is one of those that patterns name; one with a star at its end names all that begin so.
pub(super) fn is_of(op_type: &str, patterns: &[String]) -> bool {
    patterns.iter().any(|pattern| match pattern.strip_suffix('*') {
        Some(start) => op_type.starts_with(start),
        None => op_type == pattern,
    })
}

/// Why an operator of a profile is on the general processor of its device.
pub fn why_on_ai_cpu(trace: &Trace, operator: OperatorId) -> Why {
    why(trace, &trace.operators.get(operator), Target::of(trace), &FACTS)
}

fn why(trace: &Trace, row: &Operator, target: Target, facts: &Facts) -> Why {
    let op_type = trace.strings.get(row.op_type);
    if target == Target::Svp {
        return why_on_board(op_type, facts);
    }
    let first = row.inputs().next().map(|input| trace.tensors.data_type()[input.index()]);
    let of_type = |fact: &&Fact| {
        let has_type = |name: &String| DataType::from_name(name).is_some_and(|known| Some(known) == first);
        is_of(op_type, &fact.types) && (fact.input_types.is_empty() || fact.input_types.iter().any(has_type))
    };
    let fact = facts.operator.iter().find(of_type);
    if let Some(fact) = fact.filter(|fact| fact.always) {
        return fact.why(String::new());
    }
    if let Some(why) = why_by_types(trace, row, fact) {
        return why;
    }
    if let Some(fact) = fact {
        let types: Vec<&str> = row
            .inputs()
            .take(1)
            .chain(row.outputs().take(1))
            .map(|tensor| trace.tensors.data_type()[tensor.index()].name())
            .collect();
        let are_known = types.len() == 2 && !types.contains(&DataType::Unknown.name());
        return fact.why(if op_type == "Cast" && are_known {
            format!(" (here {} to {})", types[0], types[1])
        } else {
            String::new()
        });
    }
    let shapes = match row.dynamic {
        Some(true) => "; its shapes are known only while it runs, which may be the reason",
        _ => "",
    };
    Why {
        because: format!(
            "The profile doesn't say: the cores have no version of {op_type}, or its inputs break a limit of \
             that version"
        ) + shapes,
        instead:
            "See CANN's list of operators for the types and shapes that the AI Core takes, and meet them, or \
                  replace the operator by others that it has"
                .to_owned(),
        rewrite: None,
        told_by: ToldBy::Operator,
        is_certain: false,
    }
}

/// The reason with what the library of the chip's compiler says of the operator. Its words are those that profiles
/// have for types. That it has the operator proves nothing: which types go together, and with which outputs, is for each
/// of its kernels to say.
fn with_library(why: Why, trace: &Trace, row: &Operator, library: &OperatorLibrary) -> Why {
    if why.is_certain {
        return why;
    }
    let types: BTreeSet<DataType> =
        row.inputs().map(|input| trace.tensors.data_type()[input.index()]).collect();
    let said = match library.operators.get(trace.strings.get(row.op_type)) {
        None => "; the operator information library has no such operator".to_owned(),
        Some(known) => {
            let is_lacking =
                |known_type: &&DataType| **known_type != DataType::Unknown && !known.takes(**known_type);
            let lacking: Vec<&str> = types.iter().filter(is_lacking).map(|lacking| lacking.name()).collect();
            let has = known.input_types.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
            if !lacking.is_empty() && !has.is_empty() {
                let lacking = lacking.join(", ");
                format!("; the operator information library lists it with {has}, not with {lacking} as here")
            } else if row.dynamic == Some(true) && !known.is_dynamic {
                "; the operator information library lists it only for sizes that are known beforehand"
                    .to_owned()
            } else if why.told_by != ToldBy::Operator {
                String::new()
            } else if has.is_empty() {
                "; the operator information library lists it".to_owned()
            } else {
                format!("; for inputs of {has} the operator information library lists it")
            }
        }
    };
    Why { because: why.because + &said, ..why }
}

/// The reason that types of data are. Of several all are told at once, because the operator stays where it is until
/// each is another.
fn why_by_types(trace: &Trace, row: &Operator, fact: Option<&Fact>) -> Option<Why> {
    let (wide, odd) = (wide_integer(trace, row), ascend_types::odd_type(trace, row));
    let odd = odd.filter(|odd| wide.is_none() || !is_wide(odd.data_type));
    let (because, instead, told_by) = match (wide, odd) {
        (Some(wide), Some(odd)) => (
            format!("Types keep it there: {wide}, for which most operators of the AI Core have no version, and {}", odd.text()),
            format!(
                "{}; and use int32 where the values fit: it stays there until both are changed",
                odd.instead()
            ),
            ToldBy::Types,
        ),
        (Some(data_type), None) => (
            format!("It computes with {data_type}, for which most operators of the AI Core have no version"),
            "Use int32 where the values fit, as indices and shapes nearly always do: change the type where the \
             tensor comes from, not by a Cast in front of it"
                .to_owned(),
            ToldBy::WideIntegers,
        ),
        (None, Some(odd)) => (format!("It has {}", odd.text()), odd.instead().to_owned(), ToldBy::Types),
        (None, None) => return None,
    };
    let own = fact.filter(|fact| fact.is_for_types && wide.is_none());
    Some(Why {
        because,
        instead: own.map_or(instead, |fact| fact.instead.clone()),
        rewrite: own.map_or(Some("G11".to_owned()), |fact| fact.rewrite.clone()),
        told_by,
        is_certain: false,
    })
}

impl Fact {
    fn why(&self, further: String) -> Why {
        Why {
            because: format!("{}{further}", self.because),
            instead: self.instead.clone(),
            rewrite: self.rewrite.clone(),
            told_by: ToldBy::Operator,
            is_certain: self.always,
        }
    }
}

fn why_on_board(op_type: &str, facts: &Facts) -> Why {
    let known = facts.board.iter().find(|known| is_of(op_type, &known.types));
    let (because, otherwise) = match conversion::is_for_the_engine(op_type) {
        Some(false) => (
            "The converter lists it for the CPU only, so the network is split here".to_owned(),
            "Replace it by operators of the engine's list (rule V20 says which there are)",
        ),
        Some(true) => (
            "The engine has it, but not in this form, or the converter was told so (--force_to_cpu)"
                .to_owned(),
            "See its limits in the converter's guide, and the command that converted the model",
        ),
        None => (
            "The converter put it there; its lists of ONNX's operators don't name this type".to_owned(),
            "See its device_type in om.json, and its limits in the converter's guide",
        ),
    };
    let instead = known.map_or(otherwise.to_owned(), |known| {
        format!("Put {} in its place, and keep it only if the board measures it faster", known.instead)
    });
    Why { because, instead, rewrite: None, told_by: ToldBy::Operator, is_certain: false }
}

/// The 64-bit integers that an operator computes with. A single number, such as how many are wanted, is
/// no computing.
fn wide_integer(trace: &Trace, row: &Operator) -> Option<DataType> {
    row.inputs().find_map(|input| {
        let data_type = trace.tensors.data_type()[input.index()];
        let is_single = trace.shape(input).is_some_and(|shape| shape.iter().all(|size| *size == 1));
        (is_wide(data_type) && !is_single).then_some(data_type)
    })
}

fn is_wide(data_type: DataType) -> bool {
    matches!(data_type, DataType::Int64 | DataType::Uint64)
}

/// Whether a kernel is HCCL's own, which has the AI CPU launch the steps of a collective operation: no operator of
/// the model, and none that the cores could have.
pub(super) fn unfolds_a_collective(kind: &Kind<'_>) -> bool {
    [kind.name, kind.op_type].iter().any(|name| name.contains("AicpuKernel"))
}

/// Names what is missing to ask where operators run.
fn missing(subject: &Subject<'_>) -> Option<Outcome> {
    if subject.kernels.is_empty() {
        return Some(Outcome::Missing("operators in a profile".to_owned()));
    }
    let unitless = !subject.kernels.any_unit(|unit| unit != ExecutionUnit::Other);
    unitless.then(|| Outcome::Missing("the units that execute operators".to_owned()))
}

/// A cause for each reason why operators are there, with the operators of all types that have it, if one of
/// them is `worth` telling it.
fn causes(
    subject: &Subject<'_>,
    counts: impl Fn(&Kernel<'_>, &Why) -> bool,
    worth: impl Fn(&Kernel<'_>) -> bool,
) -> Outcome {
    if let Some(missing) = missing(subject) {
        return missing;
    }
    let Some(trace) = subject.trace else { return Outcome::Silent };
    let mut known: BTreeMap<OperatorId, Why> = BTreeMap::new();
    let mut causes: BTreeMap<Why, (bool, Cause)> = BTreeMap::new();
    let is_replaceable = |kind: &Kind<'_>| kind.unit == ExecutionUnit::AiCpu && !unfolds_a_collective(kind);
    for kernel in subject.kernels.of_kinds(is_replaceable) {
        let Some(id) = trace.tasks.operator()[kernel.task.index()] else { continue };
        let why = known.entry(id).or_insert_with(|| {
            let row = trace.operators.get(id);
            let why = why(trace, &row, subject.target, &FACTS);
            let library = subject.operator_library.filter(|_| subject.target != Target::Svp);
            library.map_or(why.clone(), |library| with_library(why, trace, &row, library))
        });
        if counts(kernel, why) {
            let (is_told, cause) = causes.entry(why.clone()).or_default();
            *is_told |= worth(kernel);
            cause.claims.claim(subject, kernel, "", 1.0);
        }
    }
    let unit = subject.target.processor();
    let told = causes.into_iter().filter(|(_, (is_told, _))| *is_told);
    let causes = told.map(|(why, (_, cause))| Cause {
        title: Some(format!("{} on the {unit}", types_of(&cause))),
        why: Some(format!("{}.", why.because)),
        advice: Some(format!("{}.", why.instead)),
        auto: Some(why.rewrite.map_or("no".to_owned(), |ids| format!("rewrite {ids}"))),
        ..cause
    });
    Causes { causes: causes.collect(), done: 0 }.outcome()
}

/// The types of a cause's operators, the first few by name.
pub(super) fn types_of(cause: &Cause) -> String {
    const NAMED: usize = 4;
    let types: BTreeSet<&str> = cause.claims.named().map(|(_, op_type)| op_type).collect();
    let named = types.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    match types.len().saturating_sub(NAMED) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

fn any_cause(subject: &Subject<'_>, _: &Rule) -> Outcome {
    causes(subject, |_, _| true, |_| true)
}

fn wide_integers(subject: &Subject<'_>, rule: &Rule) -> Outcome {
    told_by(subject, rule, ToldBy::WideIntegers)
}

fn types(subject: &Subject<'_>, rule: &Rule) -> Outcome {
    told_by(subject, rule, ToldBy::Types)
}

/// The causes that a rule about types of data tells.
fn told_by(subject: &Subject<'_>, rule: &Rule, wanted: ToldBy) -> Outcome {
    let typeless = |trace: &Trace| trace.tensors.data_type().iter().all(|known| *known == DataType::Unknown);
    if missing(subject).is_none() && subject.trace.is_some_and(typeless) {
        return Outcome::Missing("types of the operators' inputs".to_owned());
    }
    let least = rule.limit("min_us") * 1e3;
    causes(subject, |_, why| why.told_by == wanted, |kernel| kernel.duration.0 as f64 > least)
}

fn indexing(subject: &Subject<'_>, _: &Rule) -> Outcome {
    const FAMILY: [&str; 3] = ["Index", "NonZero", "ArgMin"];
    let is_of_family = |kernel: &Kernel<'_>| FAMILY.iter().any(|start| kernel.op_type.starts_with(start));
    causes(subject, |kernel, why| why.told_by == ToldBy::Operator && is_of_family(kernel), |_| true)
}

#[cfg(test)]
mod tests {
    use opscope_trace::Tensor;

    use super::*;
    use crate::rules;

    #[test]
    fn the_facts_can_be_read_and_name_types_and_rewrites_that_exist() {
        let facts: Facts = toml::from_str(include_str!("../rules/ai_cpu.toml")).unwrap();
        assert!(facts.operator.len() > 10 && facts.board.len() > 5);
        for fact in &facts.operator {
            assert!(!fact.because.ends_with('.') && !fact.instead.ends_with('.'), "{}", fact.because);
            assert!(fact.input_types.iter().all(|name| DataType::from_name(name).is_some()), "{fact:?}");
            let known = |id: &String| rules().iter().any(|rule| rule.id == *id);
            assert!(fact.rewrite.iter().all(known), "{fact:?}");
        }
        for op_type in facts.board.iter().flat_map(|known| &known.types) {
            assert_eq!(conversion::is_for_the_engine(op_type), Some(false), "{op_type}");
        }
    }

    /// Why an operator with inputs of these types and shapes is on the AI CPU.
    fn because(op_type: &str, inputs: &[(DataType, &[i64])]) -> String {
        let (trace, row) = operator(op_type, inputs);
        why(&trace, &row, Target::Cann310, &FACTS).because
    }

    /// An operator with inputs of these types and shapes.
    fn operator(op_type: &str, inputs: &[(DataType, &[i64])]) -> (Trace, Operator) {
        let mut trace = Trace::new();
        let mut first = None;
        for (data_type, shape) in inputs {
            let dimensions = Some(trace.dimensions.push(shape.iter().copied()));
            let row =
                Tensor { name: None, data_type: *data_type, dimensions, layout: None, parameter: false };
            first.get_or_insert(trace.tensors.push(row));
        }
        let op_type = trace.strings.intern(op_type);
        let row = Operator {
            first_input: first,
            input_count: inputs.len() as u32,
            ..Operator::new(op_type, op_type)
        };
        (trace, row)
    }

    #[test]
    fn a_library_says_no_more_than_it_proves_and_nothing_where_the_reason_is_certain() {
        use DataType::{Float16, Float32, Int64};
        let library = OperatorLibrary::of(
            "[Cast]\ninput0.name=x\ninput0.dtype=float16,float\n[Mul]\ninput0.name=x\n\
             input0.dtype=float16,int64\n[NonZero]\ninput0.name=x\ninput0.dtype=float16\n\
             [GatherV2]\ninput0.name=x\n",
        );
        let library = library.unwrap();
        let data: &[i64] = &[1_000];
        for (op_type, data_type, said) in [
            ("Cast", Float16, "; for inputs of float, float16 the operator information library lists it"),
            ("GatherV2", Float16, "; the operator information library lists it"),
            ("Gather", Float16, "; the operator information library has no such operator"),
            (
                "Mul",
                Float32,
                "; the operator information library lists it with float16, int64, not with float32 as here",
            ),
            // The reason is the type, and kernels for other inputs of it prove nothing.
            ("Mul", Int64, ""),
            ("NonZero", Float16, ""),
            ("NonZero", Float32, ""),
            ("Where", Float16, ""),
        ] {
            let (trace, row) = operator(op_type, &[(data_type, data)]);
            let before = why(&trace, &row, Target::Cann310, &FACTS);
            let told = with_library(before.clone(), &trace, &row, &library);
            assert_eq!(
                told,
                Why { because: before.because.clone() + said, ..before },
                "{op_type} of {data_type}"
            );
        }
    }

    #[test]
    fn the_reason_is_the_operators_own_or_that_of_its_data_or_said_to_be_unknown() {
        use DataType::{Float16, Float64, Int64};
        let number: &[i64] = &[1];
        assert!(because("Pow", &[(Float16, &[8])]).contains("logarithms"));
        // How many boxes are wanted is a number of 64 bits, and no reason.
        let boxes = because("NonMaxSuppressionV6", &[(Float16, &[8]), (Int64, number)]);
        assert!(boxes.contains("one after the other"), "{boxes}");
        assert!(because("TopK", &[(Int64, &[800])]).contains("integers"));
        assert!(because("TopK", &[(Float16, &[800]), (Int64, number)]).contains("searches"));
        assert!(because("GatherV2", &[(Float16, &[8]), (Int64, &[100])]).contains("int64"));
        assert!(
            because("GatherV2", &[(Float16, &[8]), (DataType::Int32, &[100])]).contains("breaks a limit")
        );
        assert!(because("Mul", &[(Float64, &[8])]).contains("float64"));
        // A product of doubles would be there as well.
        assert!(because("Pow", &[(Float64, &[8]), (Float64, number)]).contains("float64"));
        assert!(because("Where", &[(Float64, &[8])]).contains("known only when it has run"));
        let both = because("GatherV2", &[(Float64, &[8]), (Int64, &[100])]);
        assert!(both.contains("float64") && both.contains("int64"), "{both}");
        assert!(because("Mystery", &[(Float16, &[8])]).contains("doesn't say"));
    }

    #[test]
    fn published_lists_of_types_tell_why_operators_are_not_on_the_cores() {
        use DataType::{Float16, Int16, Int32};
        let data: &[i64] = &[1_000];
        for (op_type, data_type, told) in [
            ("Add", Int16, "the cores' Add takes"),
            ("ArgMaxV2", Int32, "floating-point numbers only on the Ascend 310"),
            ("Sort", Int32, "sorts floating-point numbers only"),
            ("Sort", Float16, "along the last axis only"),
        ] {
            let why = because(op_type, &[(data_type, data)]);
            assert!(why.contains(told), "{op_type} of {data_type}: {why}");
        }
        assert!(because("Add", &[(Float16, data)]).contains("doesn't say"));
        assert!(because("ArgMaxV2", &[(Float16, data)]).contains("doesn't say"));
    }

    #[test]
    fn every_fact_is_told_of_its_operators_and_of_no_others() {
        for fact in &FACTS.operator {
            let data_type = fact.input_types.first().and_then(|name| DataType::from_name(name));
            let data_type = data_type.unwrap_or(DataType::Float16);
            for op_type in fact.types.iter().map(|pattern| pattern.trim_end_matches('*')) {
                let told = because(op_type, &[(data_type, &[100])]);
                assert!(told.starts_with(&fact.because), "{op_type}: {told}");
                let other = because(&format!("X{op_type}"), &[(data_type, &[100])]);
                assert!(!other.starts_with(&fact.because), "X{op_type}: {other}");
            }
        }
        for known in &FACTS.board {
            for op_type in &known.types {
                assert!(why_on_board(op_type, &FACTS).instead.contains(&known.instead), "{op_type}");
                assert!(!why_on_board(&format!("X{op_type}"), &FACTS).instead.contains(&known.instead));
            }
        }
    }

    #[test]
    fn a_board_says_what_its_converter_lists() {
        let on_board = |op_type| why_on_board(op_type, &FACTS);
        assert!(on_board("Softplus").instead.contains("Log(Add(1, Exp"));
        assert!(on_board("NonZero").because.contains("CPU only"));
        assert!(on_board("Transpose").because.contains("not in this form"));
        assert!(on_board("Proposal").because.contains("don't name"));
    }
}
