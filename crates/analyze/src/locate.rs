//! Where an operator ran.

use opscope_trace::{ExecutionUnit, ModelId, Nanoseconds, StringId, TaskId, Trace};

use crate::kind::WantedType;
use crate::query::{Executed, Execution, Query, Row, Selection, name_and_type, rows_by};
use crate::scope::Chosen;

/// The meaning of a word that names operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Matched {
    /// The whole name of operators.
    Name,
    /// The type of operators.
    Type,
    /// A part of the names of operators, capitals or not.
    Part,
}

/// The tasks of one operator on one unit; tasks of no operator are one by their name, which is their type too.
#[derive(Clone, Debug, PartialEq)]
pub struct Location {
    /// The operator's name.
    pub name: StringId,
    /// Its type.
    pub op_type: StringId,
    /// The model that it belongs to, where that is told.
    pub model: Option<ModelId>,
    /// The unit that executed the tasks.
    pub unit: ExecutionUnit,
    /// The tasks, in the order of the trace.
    pub tasks: Vec<TaskId>,
    /// Their own time.
    pub time: Nanoseconds,
    /// Their share of the own time of all operators, from 0 to 1.
    pub share: f64,
}

/// The operators that a word names in one of its meanings, by where they ran; the one that cost most comes first.
#[derive(Clone, Debug, PartialEq)]
pub struct OperatorMatches {
    /// The meaning of the word.
    pub matched: Matched,
    /// Whether figures of operators count these tasks. Others lie outside of the measured iterations, or only
    /// wait or handle streams; shares are then of all that the profile recorded.
    pub counted: bool,
    /// The operators' tasks on each unit.
    pub locations: Vec<Location>,
}

/// Finds the operators of a name and those of a type; where there are neither, those with such a
/// part in their names. A name that is a type as well is found as both, if the type has operators
/// of other names. Tasks that no figure counts are found where no others are; nothing is where no such
/// operator ran at all.
pub fn locate(trace: &Trace, text: &str) -> Vec<OperatorMatches> {
    let measured = Query::measured(trace, &Chosen::measured(trace, None));
    let counted = locate_among(trace, &measured, text, true);
    if counted.is_empty() { locate_among(trace, &Query::whole_profile(trace), text, false) } else { counted }
}

fn locate_among(trace: &Trace, executed: &Selection, text: &str, counted: bool) -> Vec<OperatorMatches> {
    let (lower, wanted_type) = (text.to_lowercase(), WantedType::new(text));
    let sighting = |matched: Matched| {
        let matches = |name: &str, op_type: &str, engine_type: Option<&str>| match matched {
            Matched::Name => name == text,
            Matched::Type => wanted_type.is(op_type, engine_type),
            Matched::Part => name.to_lowercase().contains(&lower),
        };
        let text = |id| trace.strings.get(id);
        let wanted: Vec<bool> = (trace.operators.iter())
            .map(|(_, row)| matches(text(row.name), text(row.op_type), row.engine_type.map(text)))
            .collect();
        let is_wanted = |execution: &Execution| match execution.subject {
            Executed::Operator(operator) => wanted[operator.index()],
            Executed::Name(name) => matches(text(name), text(name), None),
            Executed::Call(_) => false,
        };
        let locations = locations(trace, &executed.only(is_wanted));
        (!locations.is_empty()).then_some(OperatorMatches { matched, counted, locations })
    };
    let by_name = sighting(Matched::Name);
    let by_type = sighting(Matched::Type).filter(|of_type| {
        by_name
            .as_ref()
            .is_none_or(|named| of_type.locations.iter().any(|location| !named.locations.contains(location)))
    });
    let found: Vec<OperatorMatches> = by_name.into_iter().chain(by_type).collect();
    if found.is_empty() { sighting(Matched::Part).into_iter().collect() } else { found }
}

/// The executions by name, type, model and unit.
fn locations(trace: &Trace, executed: &Selection) -> Vec<Location> {
    let key = |execution: &Execution| {
        let named = name_and_type(trace, executed, execution.subject);
        (named, model_of(trace, execution.row as usize), trace.tasks.unit()[execution.row as usize])
    };
    let location = |(row, executions): (Row, Vec<Execution>)| {
        let model = model_of(trace, executions.first()?.row as usize);
        let tasks = executions.iter().map(|execution| TaskId::from_index(execution.row as usize));
        let (name, op_type, unit) = (row.name?, row.op_type?, row.unit?);
        Some(Location {
            name,
            op_type,
            model,
            unit,
            tasks: tasks.collect(),
            time: row.total,
            share: row.share,
        })
    };
    let mut locations: Vec<Location> =
        rows_by(trace, executed, key).into_iter().filter_map(location).collect();
    locations.sort_by_key(|location| (-location.time, location.tasks.first().copied()));
    locations
}

/// The model of a task's operator, or else of the inference in which it ran.
fn model_of(trace: &Trace, task: usize) -> Option<ModelId> {
    let of_operator = trace.tasks.operator()[task].and_then(|id| trace.operators.model()[id.index()]);
    of_operator.or_else(|| trace.tasks.iteration()[task].and_then(|id| trace.iterations.model()[id.index()]))
}

#[cfg(test)]
mod tests {
    use opscope_trace::{Iteration, Model, Operator, Task};

    use super::*;
    use crate::Filter;

    type Found = (Matched, Vec<(ExecutionUnit, i64)>);

    fn found(trace: &Trace, text: &str) -> Vec<Found> {
        let short = |found: OperatorMatches| {
            (found.matched, found.locations.iter().map(|it| (it.unit, it.time.0)).collect())
        };
        locate(trace, text).into_iter().map(short).collect()
    }

    #[test]
    fn an_operator_is_found_by_name_before_type_before_part_and_on_each_of_its_units() {
        let mut trace = Trace::new();
        let mut add = |name: &str, op_type: &str, unit, duration| {
            let (name, op_type) = (trace.strings.intern(name), trace.strings.intern(op_type));
            let operator = Some(trace.operators.push(Operator::new(name, op_type)));
            let task = Task::new(name, Nanoseconds(trace.tasks.len() as i64 * 1_000), Nanoseconds(duration));
            trace.tasks.push(Task { operator, unit, ..task })
        };
        let first = add("Conv", "Conv2D", ExecutionUnit::AiCore, 40);
        let second = add("Conv", "Conv2D", ExecutionUnit::AiCpu, 10);
        add("Conv_1", "Conv2D", ExecutionUnit::AiCore, 50);
        use ExecutionUnit::{AiCore, AiCpu};
        assert_eq!(found(&trace, "Conv"), [(Matched::Name, vec![(AiCore, 40), (AiCpu, 10)])]);
        let of_type = (Matched::Type, vec![(AiCore, 50), (AiCore, 40), (AiCpu, 10)]);
        assert_eq!(found(&trace, "conv2d"), [of_type]);
        assert_eq!(found(&trace, "V_1"), [(Matched::Part, vec![(AiCore, 50)])]);
        assert_eq!(found(&trace, "Relu"), []);
        let locations = &locate(&trace, "Conv")[0].locations;
        assert_eq!((locations[0].tasks.clone(), locations[1].tasks.clone()), (vec![first], vec![second]));
        assert_eq!(locations[0].share, 0.4);
    }

    #[test]
    fn an_operator_is_found_by_the_type_that_the_engine_ran_it_as() {
        let mut trace = Trace::new();
        let [name, op_type, engine_type] =
            ["gelu", "Div+Erf+Mul", "Gelu"].map(|text| trace.strings.intern(text));
        let row = Operator { engine_type: Some(engine_type), ..Operator::new(name, op_type) };
        let operator = Some(trace.operators.push(row));
        let unit = ExecutionUnit::Cpu;
        trace.tasks.push(Task { operator, unit, ..Task::new(name, Nanoseconds(0), Nanoseconds(7)) });
        for text in ["Gelu", "Gelu (Div + Erf + Mul)"] {
            assert_eq!(found(&trace, text), [(Matched::Type, vec![(unit, 7)])], "{text}");
            let filter = Filter { types: vec![text.to_owned()], ..Filter::default() };
            assert_eq!(Query { filter, ..Query::default() }.run(&trace).unwrap().rows.len(), 1, "{text}");
        }
    }

    #[test]
    fn shares_are_of_the_measured_work_whether_an_operator_did_it_or_not() {
        let mut trace = Trace::new();
        let conv = trace.strings.intern("Conv");
        let operator = Some(trace.operators.push(Operator::new(conv, conv)));
        let iterations = [(1, true), (2, false), (3, false)].map(|(number, warm_up)| {
            let (start, duration) = (Nanoseconds(i64::from(number) * 1_000), Nanoseconds(900));
            trace.iterations.push(Iteration { model: None, number, warm_up, start, duration })
        });
        for (place, iteration) in iterations.into_iter().enumerate() {
            let start = trace.iterations.start()[iteration.index()];
            let slow = if place == 0 { 500 } else { 0 };
            let copies = if place == 0 { "load" } else { "SDMA" };
            let (copy, wait) = (trace.strings.intern(copies), trace.strings.intern("EVENT_WAIT"));
            let iteration = Some(iteration);
            let task = |name, after, duration| Task {
                iteration,
                ..Task::new(name, start + Nanoseconds(after), Nanoseconds(duration))
            };
            let unit = ExecutionUnit::AiCore;
            trace.tasks.push(Task { operator, unit, ..task(conv, 0, 30 + slow) });
            trace.tasks.push(Task { unit: ExecutionUnit::MemoryCopy, ..task(copy, 600, 10) });
            trace.tasks.push(Task { unit: ExecutionUnit::Control, ..task(wait, 700, 100) });
        }
        use ExecutionUnit::{AiCore, Control, MemoryCopy};
        assert_eq!(found(&trace, "Conv"), [(Matched::Name, vec![(AiCore, 60)])]);
        assert_eq!(found(&trace, "SDMA"), [(Matched::Name, vec![(MemoryCopy, 20)])]);
        let share = |text: &str| locate(&trace, text)[0].locations[0].share;
        assert_eq!((share("Conv"), share("SDMA")), (0.75, 0.25));
        // A query says the same.
        let rows = Query::default().run(&trace).unwrap().rows;
        assert_eq!(rows.iter().map(|row| row.share).collect::<Vec<_>>(), [0.75, 0.25]);
        // Work beside the measured iterations and waiting are found, and said to count nowhere.
        assert_eq!(found(&trace, "load"), [(Matched::Name, vec![(MemoryCopy, 10)])]);
        assert_eq!(found(&trace, "EVENT_WAIT"), [(Matched::Name, vec![(Control, 300)])]);
        assert!(locate(&trace, "SDMA")[0].counted && !locate(&trace, "load")[0].counted);
    }

    #[test]
    fn operators_of_one_name_in_two_models_are_found_apart() {
        let mut trace = Trace::new();
        let name = trace.strings.intern("conv1");
        for (number, duration) in [(1, 5), (2, 50)] {
            let model = Some(trace.models.push(Model { number, name }));
            let operator = Some(trace.operators.push(Operator { model, ..Operator::new(name, name) }));
            let start = Nanoseconds(number as i64 * 1_000);
            trace.tasks.push(Task { operator, ..Task::new(name, start, Nanoseconds(duration)) });
        }
        let found = locate(&trace, "conv1");
        let locations = found[0].locations.iter().map(|it| (it.model.map(|id| id.index()), it.time.0));
        assert_eq!(locations.collect::<Vec<_>>(), [(Some(1), 50), (Some(0), 5)]);
    }

    #[test]
    fn a_name_that_is_a_type_too_is_found_as_both_if_the_type_has_more() {
        let mut trace = Trace::new();
        let mut add = |name: &str, op_type: &str| {
            let (name, op_type) = (trace.strings.intern(name), trace.strings.intern(op_type));
            let operator = Some(trace.operators.push(Operator::new(name, op_type)));
            let task = Task::new(name, Nanoseconds(trace.tasks.len() as i64 * 1_000), Nanoseconds(25));
            trace.tasks.push(Task { operator, unit: ExecutionUnit::AiCore, ..task })
        };
        add("Add", "Add");
        add("Add_1", "Add");
        add("Mul", "Mul");
        let unit = ExecutionUnit::AiCore;
        let both = [(Matched::Name, vec![(unit, 25)]), (Matched::Type, vec![(unit, 25), (unit, 25)])];
        assert_eq!(found(&trace, "Add"), both);
        assert_eq!(found(&trace, "Mul"), [(Matched::Name, vec![(unit, 25)])]);
    }
}
