//! The time that a change would save, predicted before anybody makes it.
//!
//! Tasks run again on paper: each when the one before it on its stream has ended and, where the
//! profile tells which values operators read and write, when those are there. The operators of a
//! changed type take more or less time, and the end of the last task moves. Where several streams
//! ran and no values are told, tasks stay where they lay beside one another. Time between operators
//! stays as it was measured (Amdahl's law).

use std::collections::HashMap;

use opscope_trace::{IterationId, Nanoseconds, OperatorId, StreamId, StringId, TaskId, Trace};

use crate::kind::{WantedType, is_spelling_of, leading_type};
use crate::{Latencies, Measured, side_by_side, work_times};

/// A change to the operators of a profile. Operators are named by their type, in any engine's
/// spelling, or by their own name.
#[derive(Clone, Debug, PartialEq)]
pub enum Edit {
    /// They take no time any more.
    Remove(String),
    /// Their time is multiplied.
    Scale(String, f64),
    /// Of operators that follow one another only the first takes time.
    Fuse(Vec<String>),
}

/// An edit that can't be read or applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the texts say what the fields are")]
pub enum EditError {
    #[error("`{text}` scales nothing: write OPERATOR=FACTOR with a factor of 0 or more, such as Conv=0.5")]
    Scale { text: String },
    #[error("`{text}` fuses nothing: write two types or more with + between, such as Conv+Relu")]
    Fuse { text: String },
    #[error("no operator of the profile matches `{text}`; it has operators of the types {known}")]
    NoMatch { text: String, words: Vec<String>, known: String },
}

impl Edit {
    /// Reads `Conv=0.5`.
    ///
    /// # Errors
    /// When it isn't of this form.
    pub fn scale(text: &str) -> Result<Self, EditError> {
        let parsed = text.rsplit_once('=').and_then(|(what, factor)| {
            let factor: f64 = factor.trim().trim_end_matches('x').parse().ok()?;
            let fits = factor.is_finite() && factor >= 0.0 && !what.trim().is_empty();
            fits.then(|| Self::Scale(what.trim().to_owned(), factor))
        });
        parsed.ok_or_else(|| EditError::Scale { text: text.to_owned() })
    }

    /// Reads `Conv+BatchNormalization+Relu`.
    ///
    /// # Errors
    /// When it isn't of this form.
    pub fn fuse(text: &str) -> Result<Self, EditError> {
        let types: Vec<String> = text.split('+').map(|part| part.trim().to_owned()).collect();
        if types.len() < 2 || types.iter().any(String::is_empty) {
            return Err(EditError::Fuse { text: text.to_owned() });
        }
        Ok(Self::Fuse(types))
    }

    /// The names and types that it has.
    fn operators(&self) -> &[String] {
        match self {
            Self::Remove(what) | Self::Scale(what, _) => std::slice::from_ref(what),
            Self::Fuse(types) => types,
        }
    }

    /// The edit as users write it.
    pub fn text(&self) -> String {
        match self {
            Self::Remove(what) => format!("remove {what}"),
            Self::Scale(what, factor) => format!("scale {what} by {factor}"),
            Self::Fuse(types) => format!("fuse {}", types.join("+")),
        }
    }
}

/// The source of the order of tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// The profile has one stream: the sum of its tasks.
    SerialSum,
    /// Several streams without dependencies: tasks stay beside those that they ran beside.
    SideBySide,
    /// Streams and the values that operators read and write.
    CriticalPath,
}

impl Basis {
    /// It in words.
    pub fn text(self) -> &'static str {
        match self {
            Self::SerialSum => "the serial sum of the only stream",
            Self::SideBySide => {
                "the time in which something ran: the profile records no dependencies, so tasks stay beside \
                 those of other streams that they ran beside"
            }
            Self::CriticalPath => "the critical path through streams and the values between operators",
        }
    }
}

/// The time of an inference after some changes.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// The measured time of an average inference; where the profile knows none, that of all that it recorded,
    /// without the time between operators.
    pub measured: Nanoseconds,
    /// Whether the profile knows inferences.
    pub is_of_inference: bool,
    /// The predicted one.
    pub predicted: Nanoseconds,
    /// The source of the order of tasks.
    pub basis: Basis,
    /// For each edit how many operators it changes, and their own time in an average inference
    /// before it.
    pub edits: Vec<(usize, Nanoseconds)>,
}

/// Predicts what edits save; they apply one after another.
///
/// # Errors
/// When an edit matches no operator.
pub fn predict(trace: &Trace, edits: &[Edit]) -> Result<Prediction, EditError> {
    let before = Before::of(trace);
    let mut times = before.times.clone();
    let mut told = Vec::new();
    for edit in edits {
        let touched = apply(trace, &before.tasks, &mut times, edit);
        let Some(touched) = touched else {
            let words = edit.operators().to_vec();
            return Err(EditError::NoMatch { text: edit.text(), words, known: known_types(trace) });
        };
        told.push((touched.0, Nanoseconds(before.of_one(touched.1))));
    }
    Ok(Prediction { edits: told, ..before.with(&times) })
}

/// The parts of operators' time that are saved, from 0 to 1, by name and type.
pub type SavedParts = HashMap<(StringId, StringId), f64>;

/// Predicts an inference for each of several cases in which parts of the operators' time are saved.
pub fn predict_savings(trace: &Trace, cases: &[SavedParts]) -> Vec<Prediction> {
    let before = Before::of(trace);
    let predict = |case: &SavedParts| {
        let left: Vec<f64> = trace
            .operators
            .iter()
            .map(|(_, row)| 1.0 - case.get(&(row.name, row.op_type)).unwrap_or(&0.0).clamp(0.0, 1.0))
            .collect();
        let operator = |task: &TaskId| trace.tasks.operator()[task.index()];
        let left_of = |task| operator(task).map_or(1.0, |operator| left[operator.index()]);
        let times: Vec<f64> =
            before.tasks.iter().zip(&before.times).map(|(task, time)| time * left_of(task)).collect();
        before.with(&times)
    };
    cases.iter().map(predict).collect()
}

/// The measured tasks, stream by stream, and how long they take.
struct Before<'t> {
    trace: &'t Trace,
    tasks: Vec<TaskId>,
    times: Vec<f64>,
    /// How many inferences they are of.
    count: usize,
    knows_inferences: bool,
    basis: Basis,
    /// The time of all inferences together.
    simulated: f64,
}

impl<'t> Before<'t> {
    fn of(trace: &'t Trace) -> Self {
        let measured = Measured::of(trace);
        let mut timed: Vec<(TaskId, f64)> =
            measured.tasks.iter().copied().zip(work_times(trace, &measured)).collect();
        timed
            .sort_by_key(|(task, _)| (trace.tasks.stream()[task.index()], trace.tasks.start()[task.index()]));
        let (tasks, times): (Vec<TaskId>, Vec<f64>) = timed.into_iter().unzip();
        let (basis, simulated) = simulate(trace, &tasks, &times);
        let knows_inferences = !measured.iterations.is_empty();
        Self { trace, tasks, times, count: measured.count(), knows_inferences, basis, simulated }
    }

    fn of_one(&self, sum: f64) -> i64 {
        (sum / self.count as f64).round() as i64
    }

    /// The inference in which the tasks take so long.
    fn with(&self, times: &[f64]) -> Prediction {
        let (_, to) = simulate(self.trace, &self.tasks, times);
        let whole = Latencies::of(self.trace, None).typical().map_or(0, |typical| typical.0);
        let measured = if whole > 0 { whole } else { self.of_one(self.simulated) };
        let predicted = (measured - self.of_one(self.simulated - to)).max(0);
        Prediction {
            measured: Nanoseconds(measured),
            predicted: Nanoseconds(predicted),
            is_of_inference: self.knows_inferences || whole > 0,
            basis: self.basis,
            edits: Vec::new(),
        }
    }
}

/// The names by which a task's operator can be called: its own, its type, and the type that the engine ran it as.
fn names(trace: &Trace, task: TaskId) -> (&str, &str, Option<&str>) {
    let text = |id: StringId| trace.strings.get(id);
    match trace.tasks.operator()[task.index()] {
        Some(id) => {
            let row = trace.operators.get(id);
            (text(row.name), text(row.op_type), row.engine_type.map(text))
        }
        None => (text(trace.tasks.name()[task.index()]), "", None),
    }
}

fn is_called(trace: &Trace, task: TaskId, what: &str) -> bool {
    let (name, op_type, engine_type) = names(trace, task);
    name == what
        || WantedType::new(what).is(op_type, engine_type)
        || leading_type(op_type).eq_ignore_ascii_case(what)
}

/// As [`is_called`], in any engine's spelling of the type. Timelines that tell no types have names of these with the
/// operators' numbers behind (`Conv2D_9`).
fn is_like(trace: &Trace, task: TaskId, what: &str) -> bool {
    let (_, op_type, _) = names(trace, task);
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let unnumbered = op_type.rsplit_once('_').filter(|(_, number)| is_number(number));
    is_called(trace, task, what)
        || is_spelling_of(op_type, what)
        || unnumbered.is_some_and(|(op_type, _)| is_spelling_of(op_type, what))
}

/// Applies an edit; how many operators it touched, and their time before it.
fn apply(trace: &Trace, tasks: &[TaskId], times: &mut [f64], edit: &Edit) -> Option<(usize, f64)> {
    let mut touched: HashMap<(Option<OperatorId>, StringId), ()> = HashMap::new();
    let mut time = 0.0;
    let mut touch = |task: TaskId, now: &mut f64, factor: f64| {
        let index = task.index();
        touched.insert((trace.tasks.operator()[index], trace.tasks.name()[index]), ());
        time += *now;
        *now *= factor;
    };
    match edit {
        Edit::Remove(what) | Edit::Scale(what, _) => {
            let factor = if let Edit::Scale(_, factor) = edit { *factor } else { 0.0 };
            // The exact name goes before the kind, so that Conv2D means no other convolution.
            let exact = tasks.iter().any(|task| is_called(trace, *task, what));
            for (task, now) in tasks.iter().zip(times.iter_mut()) {
                if if exact { is_called(trace, *task, what) } else { is_like(trace, *task, what) } {
                    touch(*task, now, factor);
                }
            }
        }
        Edit::Fuse(types) => {
            let mut at = 0;
            while at + types.len() <= tasks.len() {
                let window = &tasks[at..at + types.len()];
                let stream = |task: &TaskId| trace.tasks.stream()[task.index()];
                let fits = window.iter().zip(types).all(|(task, what)| is_like(trace, *task, what))
                    && window.iter().all(|task| stream(task) == stream(&window[0]));
                if !fits {
                    at += 1;
                    continue;
                }
                for (task, now) in window.iter().zip(&mut times[at..]).skip(1) {
                    touch(*task, now, 0.0);
                }
                at += types.len();
            }
        }
    }
    (!touched.is_empty()).then_some((touched.len(), time))
}

/// The time from the start of each iteration to the end of its last task, added up.
fn simulate(trace: &Trace, tasks: &[TaskId], times: &[f64]) -> (Basis, f64) {
    let mut iterations: HashMap<Option<IterationId>, Vec<usize>> = HashMap::new();
    for (place, task) in tasks.iter().enumerate() {
        iterations.entry(trace.tasks.iteration()[task.index()]).or_default().push(place);
    }
    let mut basis = Basis::SerialSum;
    let mut sum = 0.0;
    for mut places in iterations.into_values() {
        // In the order of their start, so that what a task waits for has been placed before it.
        places.sort_by_key(|place| trace.tasks.start()[tasks[*place].index()]);
        let (used, time) = simulate_one(trace, tasks, times, &places);
        basis = basis_of(basis, used);
        sum += time;
    }
    (basis, sum)
}

fn basis_of(a: Basis, b: Basis) -> Basis {
    match (a, b) {
        (Basis::CriticalPath, _) | (_, Basis::CriticalPath) => Basis::CriticalPath,
        (Basis::SideBySide, _) | (_, Basis::SideBySide) => Basis::SideBySide,
        _ => Basis::SerialSum,
    }
}

fn simulate_one(trace: &Trace, tasks: &[TaskId], times: &[f64], places: &[usize]) -> (Basis, f64) {
    let mut streams: HashMap<Option<StreamId>, f64> = HashMap::new();
    let mut values: HashMap<StringId, f64> = HashMap::new();
    let mut depends = false;
    let mut last = 0.0_f64;
    for place in places {
        let index = tasks[*place].index();
        let stream = trace.tasks.stream()[index];
        let mut start = streams.get(&stream).copied().unwrap_or(0.0);
        let operator = trace.tasks.operator()[index].map(|id| trace.operators.get(id));
        for input in operator.iter().flat_map(|row| row.inputs()) {
            let name = trace.tensors.name()[input.index()];
            if let Some(ready) = name.and_then(|name| values.get(&name)) {
                depends = true;
                start = start.max(*ready);
            }
        }
        let end = start + times[*place];
        for output in operator.iter().flat_map(|row| row.outputs()) {
            if let Some(name) = trace.tensors.name()[output.index()] {
                values.insert(name, end);
            }
        }
        streams.insert(stream, end);
        last = last.max(end);
    }
    match (streams.len(), depends) {
        (0 | 1, _) => (Basis::SerialSum, last),
        (_, true) => (Basis::CriticalPath, last),
        (_, false) => (Basis::SideBySide, side_by_side::time(trace, tasks, times, places)),
    }
}

/// The types of a profile, for whoever misspelled one.
fn known_types(trace: &Trace) -> String {
    let mut types: Vec<&str> = trace.operators.op_type().iter().map(|id| trace.strings.get(*id)).collect();
    types.sort_unstable();
    types.dedup();
    const NAMED: usize = 20;
    let more = if types.len() > NAMED { ", …" } else { "" };
    types.truncate(NAMED);
    if types.is_empty() { "none".to_owned() } else { format!("{}{more}", types.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use opscope_trace::{Device, DeviceKind, Operator, Stream, Task, Tensor};

    /// Tasks by type, stream, start, duration, what they read and what they write.
    fn profile(rows: &[(&str, u64, i64, i64, &str, &str)]) -> Trace {
        let mut trace = Trace::new();
        let nameless = trace.strings.intern("");
        let device = trace.devices.push(Device { number: 0, kind: DeviceKind::Npu, name: nameless });
        let streams =
            [0, 1].map(|number| trace.streams.push(Stream { device, number, thread: None, name: nameless }));
        for &(op_type, stream, start, duration, read, written) in rows {
            let name = trace.strings.intern(op_type);
            let mut tensor = |name: &str| {
                (!name.is_empty()).then(|| {
                    let name = Some(trace.strings.intern(name));
                    let data_type = opscope_trace::DataType::Float32;
                    trace.tensors.push(Tensor {
                        name,
                        data_type,
                        dimensions: None,
                        layout: None,
                        parameter: false,
                    })
                })
            };
            let (first_input, first_output) = (tensor(read), tensor(written));
            let operator = trace.operators.push(Operator {
                first_input,
                input_count: u32::from(first_input.is_some()),
                first_output,
                output_count: u32::from(first_output.is_some()),
                ..Operator::new(name, name)
            });
            let task = Task::new(name, Nanoseconds(start), Nanoseconds(duration));
            let stream = Some(streams[stream as usize]);
            trace.tasks.push(Task { operator: Some(operator), stream, ..task });
        }
        trace
    }

    #[test]
    fn parts_that_are_saved_are_predicted_as_scaling_predicts_them() {
        let trace = profile(&[
            ("Conv", 0, 0, 100, "", "a"),
            ("Relu", 1, 100, 40, "a", "b"),
            ("Add", 0, 140, 60, "b", ""),
        ]);
        let named = |name: &str| {
            let (_, row) =
                trace.operators.iter().find(|(_, row)| trace.strings.get(row.name) == name).unwrap();
            (row.name, row.op_type)
        };
        let cases = [
            SavedParts::new(),
            SavedParts::from([(named("Conv"), 0.25)]),
            SavedParts::from([(named("Conv"), 0.25), (named("Add"), 1.0)]),
        ];
        let edits = [Edit::scale("Conv=0.75").unwrap(), Edit::scale("Add=0").unwrap()];
        for (count, prediction) in predict_savings(&trace, &cases).iter().enumerate() {
            let expected = predict(&trace, &edits[..count]).unwrap();
            assert_eq!((prediction.predicted, prediction.basis), (expected.predicted, expected.basis));
        }
    }

    #[test]
    fn on_one_stream_what_is_removed_is_saved() {
        let trace = profile(&[
            ("Conv", 0, 0, 100, "", ""),
            ("TransData", 0, 100, 30, "", ""),
            ("Relu", 0, 130, 20, "", ""),
        ]);
        let prediction = predict(&trace, &[Edit::Remove("TransData".to_owned())]).unwrap();
        assert_eq!((prediction.measured, prediction.predicted), (Nanoseconds(150), Nanoseconds(120)));
        assert_eq!(prediction.basis, Basis::SerialSum);
        let both =
            predict(&trace, &[Edit::scale("Conv=0.5").unwrap(), Edit::fuse("TransData+Relu").unwrap()]);
        assert_eq!(both.unwrap().predicted, Nanoseconds(80));
    }

    #[test]
    fn waiting_and_handling_of_streams_is_no_operator_that_could_change() {
        let mut trace = profile(&[("Conv", 0, 0, 100, "", ""), ("EVENT_WAIT", 1, 0, 300, "", "")]);
        let wait = opscope_trace::TaskId::from_index(1);
        let unit = opscope_trace::ExecutionUnit::Control;
        trace.tasks.set(wait, Task { unit, operator: None, ..trace.tasks.get(wait) });
        let wait = predict(&trace, &[Edit::Scale("EVENT_WAIT".to_owned(), 0.5)]);
        assert!(matches!(wait, Err(EditError::NoMatch { .. })), "{wait:?}");
        let conv = predict(&trace, &[Edit::Scale("Conv".to_owned(), 0.5)]).unwrap();
        assert_eq!((conv.measured, conv.predicted), (Nanoseconds(100), Nanoseconds(50)));
    }

    #[test]
    fn beside_a_longer_stream_nothing_is_saved() {
        let trace = profile(&[("Conv", 0, 0, 100, "", ""), ("Copy", 1, 0, 60, "", "")]);
        let prediction = predict(&trace, &[Edit::Remove("Copy".to_owned())]).unwrap();
        assert_eq!(prediction.predicted, prediction.measured);
        assert_eq!(prediction.basis, Basis::SideBySide);
        let longer = predict(&trace, &[Edit::Remove("Conv".to_owned())]).unwrap();
        assert_eq!(longer.predicted, Nanoseconds(60));
    }

    #[test]
    fn streams_that_take_turns_save_what_goes_from_either() {
        let rows =
            [("Send", 1, 0, 300, "", ""), ("MatMul", 0, 300, 14, "", ""), ("Send", 1, 314, 20, "", "")];
        let trace = profile(&rows);
        for (what, left) in [("MatMul", 320), ("Send", 14)] {
            let prediction = predict(&trace, &[Edit::Remove(what.to_owned())]).unwrap();
            assert_eq!((prediction.measured, prediction.predicted), (Nanoseconds(334), Nanoseconds(left)));
            assert!(!prediction.is_of_inference);
        }
    }

    #[test]
    fn what_waits_for_a_value_of_another_stream_moves_with_it() {
        let trace = profile(&[("Conv", 0, 0, 100, "", "v"), ("Relu", 1, 100, 50, "v", "")]);
        let prediction = predict(&trace, &[Edit::Scale("Conv".to_owned(), 0.5)]).unwrap();
        assert_eq!(prediction.basis, Basis::CriticalPath);
        assert_eq!((prediction.measured, prediction.predicted), (Nanoseconds(150), Nanoseconds(100)));
    }

    #[test]
    fn beginnings_of_a_spelling_mean_no_operators_of_its_kind() {
        let trace = profile(&[("Conv2D", 0, 0, 100, "", ""), ("Relu", 0, 100, 20, "", "")]);
        let removed = |what: &str| predict(&trace, &[Edit::Remove(what.to_owned())]);
        for what in ["Conv", "convolution", "CONV_2D", "relu"] {
            assert_eq!(removed(what).unwrap().edits[0].0, 1, "{what}");
        }
        let numbered = profile(&[("Conv2D_9", 0, 0, 100, "", ""), ("Relu_1", 0, 100, 20, "", "")]);
        assert_eq!(predict(&numbered, &[Edit::Remove("Conv2D".to_owned())]).unwrap().edits[0].0, 1);
        for what in ["Conv3D", "conv10", "Convert", "ConvTranspose", "relu1", "Relu6"] {
            let error = removed(what).unwrap_err();
            assert!(matches!(error, EditError::NoMatch { words, .. } if words == [what]), "{what}");
        }
    }

    #[test]
    fn operators_are_found_by_the_type_that_the_engine_ran_them_as() {
        let mut trace = profile(&[("Div+Erf+Mul", 0, 0, 100, "", ""), ("Add", 0, 100, 20, "", "")]);
        let (first, gelu) = (OperatorId::from_index(0), trace.strings.intern("Gelu"));
        let row = Operator { engine_type: Some(gelu), ..trace.operators.get(first) };
        trace.operators.set(first, row);
        for what in ["Gelu", "Gelu (Div + Erf + Mul)"] {
            let predicted = predict(&trace, &[Edit::Remove(what.to_owned())]).unwrap().predicted;
            assert_eq!(predicted, Nanoseconds(20), "{what}");
        }
    }

    #[test]
    fn an_edit_that_matches_nothing_names_what_there_is() {
        let trace = profile(&[("Conv", 0, 0, 100, "", "")]);
        let error = predict(&trace, &[Edit::Remove("Mish".to_owned())]).unwrap_err();
        assert!(error.to_string().contains("Conv"), "{error}");
        assert!(
            Edit::scale("Conv").is_err() && Edit::scale("Conv=-1").is_err() && Edit::scale("=2").is_err()
        );
        assert!(Edit::fuse("Conv").is_err() && Edit::fuse("Conv+").is_err());
    }
}
