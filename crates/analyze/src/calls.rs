//! The purpose of the host's calls: inferences again and again, or something that happens once, such as
//! loading a model; and which calls lie within others of the same kind.

use std::collections::HashMap;

use opscope_trace::{ApiCallId, ApiLevel, IterationId, Nanoseconds, StringId, TimeBasis, Trace, words};

use crate::cover::Span;
use crate::nesting::by_lane_and_start;

words! {
    /// When a call is made.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Phase {
        /// While inferences run: from the begin of the first to the end of the last.
        SteadyState = "steady-state",
        /// Before the first inference or after the last, or to load or unload something.
        OneOff = "one-off",
    }
}

/// The kind of a call, by which calls are added up: calls of one name on two levels, such as an
/// interface's and the runtime's below it, are no two samples of one time, nor are a call and one that
/// it makes itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallKind {
    /// The layer.
    pub level: ApiLevel,
    /// The name.
    pub name: StringId,
    /// Whether it lies within a call of the same layer and name on its thread, where that is known.
    pub within_itself: bool,
    /// When it is made; `None` where the profile knows of no inference.
    pub phase: Option<Phase>,
}

/// The calls of a trace by their kinds.
#[derive(Clone, Debug)]
pub struct CallKinds {
    /// By call.
    within_itself: Vec<bool>,
    /// By call.
    phases: Vec<Option<Phase>>,
}

impl CallKinds {
    /// Looks at all calls of a trace.
    pub fn of(trace: &Trace) -> Self {
        let calls = &trace.api_calls;
        let mut meanings = Meanings::new(trace);
        let mut kinds = Self { within_itself: vec![false; calls.len()], phases: vec![None; calls.len()] };
        if !has_times(trace) {
            let phase = |name: &StringId| match meanings.of(*name) {
                Meaning::Executes | Meaning::Runs => Some(Phase::SteadyState),
                Meaning::Once => Some(Phase::OneOff),
                Meaning::Other => None,
            };
            kinds.phases = calls.name().iter().map(phase).collect();
            return kinds;
        }
        let inferences = inferences(trace, &mut meanings);
        let mut lane = None;
        // The outermost call of each layer and name that is open, and the outermost that happens once.
        let mut open: HashMap<(ApiLevel, StringId), Span> = HashMap::new();
        let mut once = NEVER;
        for &index in &by_lane_and_start(calls.thread(), calls.start(), calls.duration()) {
            let index = index as usize;
            if lane != Some(calls.thread()[index]) {
                lane = Some(calls.thread()[index]);
                open.clear();
                once = NEVER;
            }
            let name = calls.name()[index];
            let span = (calls.start()[index], calls.start()[index] + calls.duration()[index]);
            let around = open.entry((calls.level()[index], name)).or_insert(NEVER);
            if contains(*around, span) {
                // Calls of threads that aren't known may be of several.
                kinds.within_itself[index] = calls.thread()[index].is_some();
            } else {
                *around = span;
            }
            let mut is_once = contains(once, span);
            if !is_once && meanings.of(name) == Meaning::Once {
                (once, is_once) = (span, true);
            }
            kinds.phases[index] = match inferences {
                _ if is_once => Some(Phase::OneOff),
                Some(all) if overlaps(all, span) => Some(Phase::SteadyState),
                Some(_) => Some(Phase::OneOff),
                None => None,
            };
        }
        kinds
    }

    /// The kind of a call of the trace.
    pub fn kind(&self, trace: &Trace, call: ApiCallId) -> CallKind {
        let index = call.index();
        CallKind {
            level: trace.api_calls.level()[index],
            name: trace.api_calls.name()[index],
            within_itself: self.within_itself[index],
            phase: self.phases[index],
        }
    }
}

/// The inference of each call: the recorded one, or else that during which it ran.
pub(crate) fn iterations_of_calls(trace: &Trace) -> Vec<Option<IterationId>> {
    let inferences = Inferences::of(trace);
    let calls = trace.api_calls.iter();
    calls
        .map(|(_, call)| {
            call.iteration.or_else(|| inferences.during((call.start, call.start + call.duration)))
        })
        .collect()
}

/// The inferences of a profile by their times.
pub(crate) struct Inferences {
    /// In the order of their begins.
    spans: Vec<(Span, IterationId)>,
    /// The latest end of all up to each: those before the first that reaches a time have all ended.
    ends: Vec<Nanoseconds>,
}

impl Inferences {
    pub fn of(trace: &Trace) -> Self {
        let rows = &trace.iterations;
        let mut spans: Vec<(Span, IterationId)> =
            rows.iter().map(|(id, row)| ((row.start, row.start + row.duration), id)).collect();
        spans.sort_by_key(|(span, id)| (*span, *id));
        let mut latest = Nanoseconds(i64::MIN);
        let ends = spans
            .iter()
            .map(|((_, end), _)| {
                latest = latest.max(*end);
                latest
            })
            .collect();
        Self { spans, ends }
    }

    /// The inference during which something of the host ran; of several the one that it overlaps most, and none if it
    /// went on during the whole of several.
    pub fn during(&self, own: Span) -> Option<IterationId> {
        let first = self.ends.partition_point(|end| *end < own.0);
        let (mut best, mut whole) = (None, 0);
        for (span, id) in self.spans[first..].iter().take_while(|(span, _)| span.0 <= own.1) {
            whole += usize::from(contains(own, *span));
            if whole > 1 {
                return None;
            }
            let overlap = span.1.min(own.1) - span.0.max(own.0);
            if overlap >= Nanoseconds::ZERO && best.is_none_or(|(longest, _)| overlap > longest) {
                best = Some((overlap, *id));
            }
        }
        best.map(|(_, id)| id)
    }
}

/// Whether the times of calls are real: tables of totals have none, and what they count is laid end to
/// end.
pub(crate) fn has_times(trace: &Trace) -> bool {
    trace.run.call_times == TimeBasis::Recorded
}

/// Whether a call runs a model and waits for its result: `aclmdlExecute` (which some documents
/// misspell) or `svp_acl_mdl_execute`.
pub fn executes_model(name: &str) -> bool {
    let letters = letters(name);
    ["mdlexecute", "mdlexcute"].iter().any(|end| letters.ends_with(end))
}

/// Whether a call loads a model, whatever the layer: `aclmdlLoadFromFileWithMem`, `ModelLoad`,
/// `model_loading_uri`.
pub fn loads_model(name: &str) -> bool {
    let letters = letters(name);
    letters == "load" || ["mdlload", "modelload", "loadfrom"].iter().any(|part| letters.contains(part))
}

/// The calls of the outermost layer that execute a model: what lies within another of them is how that
/// one does it, and the layers below have records of the same inferences.
pub fn executions(trace: &Trace) -> Vec<ApiCallId> {
    let mut meanings = Meanings::new(trace);
    let executes: Vec<ApiCallId> = trace
        .api_calls
        .ids()
        .filter(|call| meanings.of(trace.api_calls.name()[call.index()]) == Meaning::Executes)
        .collect();
    let level = |call: &ApiCallId| trace.api_calls.level()[call.index()];
    let outermost = executes.iter().map(level).min();
    let mut executes: Vec<ApiCallId> =
        executes.into_iter().filter(|call| Some(level(call)) == outermost).collect();
    if has_times(trace) {
        outermost_of(trace, &mut executes);
    }
    executes
}

/// Leaves out of some calls those that lie within another of them on the same thread.
pub fn outermost_of(trace: &Trace, calls: &mut Vec<ApiCallId>) {
    let rows = &trace.api_calls;
    let span = |call: &ApiCallId| {
        let start = rows.start()[call.index()];
        (start, start + rows.duration()[call.index()])
    };
    let thread = |call: &ApiCallId| rows.thread()[call.index()];
    calls.sort_by_key(|call| (thread(call), span(call).0, -span(call).1));
    let mut around: Option<ApiCallId> = None;
    calls.retain(|call| {
        let is_within =
            around.is_some_and(|outer| thread(&outer) == thread(call) && contains(span(&outer), span(call)));
        if !is_within {
            around = Some(*call);
        }
        !is_within
    });
}

/// A span that nothing lies in.
const NEVER: Span = (Nanoseconds(i64::MAX), Nanoseconds(i64::MIN));

fn contains(outer: Span, inner: Span) -> bool {
    outer.0 <= inner.0 && inner.1 <= outer.1
}

fn overlaps(a: Span, b: Span) -> bool {
    a.0 <= b.1 && b.0 <= a.1
}

/// From the begin of the first inference to the end of the last, as iterations or as the calls that
/// execute a model tell it.
fn inferences(trace: &Trace, meanings: &mut Meanings<'_>) -> Option<Span> {
    let join = |all: Option<Span>, span: Span| {
        Some(all.map_or(span, |all: Span| (all.0.min(span.0), all.1.max(span.1))))
    };
    let iterations = trace.iterations.iter().map(|(_, row)| (row.start, row.start + row.duration));
    let all = iterations.fold(None, join);
    let calls = &trace.api_calls;
    let executions = (0..calls.len())
        .filter(|&index| matches!(meanings.of(calls.name()[index]), Meaning::Executes | Meaning::Runs));
    executions
        .map(|index| (calls.start()[index], calls.start()[index] + calls.duration()[index]))
        .fold(all, join)
}

/// The purpose of a call, as its name tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meaning {
    /// It runs a model and waits for the result.
    Executes,
    /// It has to do with running a model.
    Runs,
    /// It happens once.
    Once,
    Other,
}

impl Meaning {
    fn of(name: &str) -> Self {
        /// Beside loading.
        const ONCE: [&str; 7] = [
            "mdlunload",
            "modelunload",
            "modeldestroy",
            "aclinit",
            "aclfinalize",
            "sessioninitialization",
            "createsession",
        ];
        let letters = letters(name);
        if executes_model(name) {
            Self::Executes
        } else if loads_model(name) || ONCE.iter().any(|part| letters.contains(part)) {
            Self::Once
        } else if ["mdlexecute", "modelexecute"].iter().any(|part| letters.contains(part)) {
            Self::Runs
        } else {
            Self::Other
        }
    }
}

/// The meanings of names; each is looked at once.
struct Meanings<'t> {
    trace: &'t Trace,
    known: HashMap<StringId, Meaning>,
}

impl<'t> Meanings<'t> {
    fn new(trace: &'t Trace) -> Self {
        Self { trace, known: HashMap::new() }
    }

    fn of(&mut self, name: StringId) -> Meaning {
        *self.known.entry(name).or_insert_with(|| Meaning::of(self.trace.strings.get(name)))
    }
}

/// A name in small letters and without what joins words: interfaces write `mdl_execute` and
/// `mdlExecute`.
fn letters(name: &str) -> String {
    name.chars().filter(|letter| *letter != '_').map(|letter| letter.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use opscope_trace::{ApiCall, Iteration, Process, Thread};

    use super::*;

    /// Calls of one thread: level, name, begin and end.
    fn trace(calls: &[(ApiLevel, &str, i64, i64)]) -> Trace {
        let mut trace = Trace::new();
        let name = trace.strings.intern("");
        let process = trace.processes.push(Process { pid: 1, name });
        let thread = Some(trace.threads.push(Thread { process, tid: 1, name }));
        for (level, name, start, end) in calls {
            let (level, name) = (*level, trace.strings.intern(name));
            let (start, duration) = (Nanoseconds(*start), Nanoseconds(end - start));
            trace.api_calls.push(ApiCall { thread, level, name, start, duration, iteration: None });
        }
        trace
    }

    fn phases(trace: &Trace) -> Vec<&'static str> {
        let kinds = CallKinds::of(trace);
        let phase = |id| kinds.kind(trace, id).phase.map_or("unknown", Phase::name);
        trace.api_calls.ids().map(phase).collect()
    }

    #[test]
    fn loading_and_what_it_calls_happen_once_and_executing_again_and_again() {
        use ApiLevel::{Application, Runtime};
        let trace = trace(&[
            (Application, "aclInit", 0, 5),
            (Application, "aclmdlLoadFromFileWithMem", 10, 610),
            (Runtime, "rtMalloc", 20, 30),
            (Application, "aclmdlExecute", 700, 708),
            (Runtime, "StreamSynchronize", 702, 707),
            (Application, "aclrtMemcpy", 709, 710),
            (Application, "aclmdlLoadFromFile", 711, 720),
            (Application, "aclmdlExecute", 730, 738),
            (Application, "aclrtFree", 800, 801),
        ]);
        let (once, steady) = ("one-off", "steady-state");
        assert_eq!(phases(&trace), [once, once, once, steady, steady, steady, once, steady, once]);
    }

    #[test]
    fn without_an_inference_only_loading_is_known_to_happen_once() {
        let trace = trace(&[(ApiLevel::Model, "ModelLoad", 0, 9), (ApiLevel::Runtime, "rtMalloc", 20, 30)]);
        assert_eq!(phases(&trace), ["one-off", "unknown"]);
    }

    #[test]
    fn executions_are_those_of_the_outermost_layer() {
        use ApiLevel::{Application, Runtime};
        let trace = trace(&[
            (Application, "aclmdlExecute", 0, 8_010),
            (Runtime, "aclmdlExecute", 10, 30),
            (Runtime, "aclmdlExecute", 9_000, 9_020),
            (Application, "aclmdlExecute", 8_999, 17_000),
            (Application, "aclmdlExecute", 9_100, 9_200),
        ]);
        let starts: Vec<i64> =
            executions(&trace).into_iter().map(|id| trace.api_calls.get(id).start.0).collect();
        assert_eq!(starts, [0, 8_999]);
        let kinds = CallKinds::of(&trace);
        let within: Vec<bool> =
            trace.api_calls.ids().map(|id| kinds.kind(&trace, id).within_itself).collect();
        assert_eq!(within, [false, false, false, false, true]);
    }

    #[test]
    fn a_call_belongs_to_the_inference_that_it_ran_in_unless_it_saw_several() {
        let mut trace = trace(&[
            (ApiLevel::Application, "aclmdlExecute", 95, 205),
            (ApiLevel::Application, "aclmdlExecute", 290, 410),
            (ApiLevel::Application, "aclrtMemcpy", 210, 220),
            (ApiLevel::Application, "main", 0, 1_000),
        ]);
        for (number, start) in [(1, 100), (2, 300)] {
            let (start, duration) = (Nanoseconds(start), Nanoseconds(100));
            trace.iterations.push(Iteration { model: None, number, warm_up: false, start, duration });
        }
        let number = |id: IterationId| trace.iterations.get(id).number;
        let numbers: Vec<_> = iterations_of_calls(&trace).into_iter().map(|id| id.map(number)).collect();
        assert_eq!(numbers, [Some(1), Some(2), None, None]);
    }
}
