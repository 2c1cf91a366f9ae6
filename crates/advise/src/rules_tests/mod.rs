//! Every rule on a case that it is for, and on one that it isn't.

mod ascend;
mod cited;
mod conversion;
mod environment;
mod graph;
mod host;
mod ranking;
mod rewritten;
mod settings;
mod svp;
mod thresholds;

use std::collections::BTreeSet;

use opscope_analyze::Roofline;
use opscope_model::{Bindings, Model, Shapes};
use opscope_trace::*;

use crate::converter::{FusionResult, Switches};
use crate::testing::{declared, graph_of};
use crate::{ConverterOptions, Environment, Kind, Report, Settings, Subject, Target, advise, rules};

/// An operator: name, type, unit, microseconds, and metrics with their values.
type Op<'a> = (&'a str, &'a str, ExecutionUnit, i64, &'a [(&'a str, f64)]);

const AI: ExecutionUnit = ExecutionUnit::AiCore;
const CPU: ExecutionUnit = ExecutionUnit::AiCpu;

struct Profile {
    trace: Trace,
    at: i64,
}

impl Profile {
    fn new(ops: &[Op<'_>]) -> Self {
        let mut profile = Self { trace: Trace::new(), at: 0 };
        for op in ops {
            profile.add(op);
        }
        profile
    }

    fn add(&mut self, (name, op_type, unit, micros, metrics): &Op<'_>) -> OperatorId {
        let trace = &mut self.trace;
        let (name, op_type) = (trace.strings.intern(name), trace.strings.intern(op_type));
        let operator = trace.operators.push(Operator::new(name, op_type));
        let task = Task::new(name, Nanoseconds(self.at), Nanoseconds(micros * 1_000));
        let task = trace.tasks.push(Task { operator: Some(operator), unit: *unit, ..task });
        self.at += micros * 1_000;
        let (ids, values): (Vec<MetricId>, Vec<f64>) =
            metrics.iter().map(|(name, value)| (trace.enter_metric(name, ""), *value)).unzip();
        if !ids.is_empty() {
            trace.push_reading(task, &ids, &values);
        }
        operator
    }

    /// Gives all operators an input of a type and shape.
    fn inputs(mut self, data_type: DataType, shape: &[i64]) -> Self {
        for id in self.trace.operators.ids().collect::<Vec<_>>() {
            let dimensions = Some(self.trace.dimensions.push(shape.iter().copied()));
            let row = Tensor { name: None, data_type, dimensions, layout: None, parameter: false };
            let first_input = Some(self.trace.tensors.push(row));
            let row = self.trace.operators.get(id);
            self.trace.operators.set(id, Operator { first_input, input_count: 1, ..row });
        }
        self
    }

    fn dynamic(mut self, dynamic: bool) -> Self {
        for id in self.trace.operators.ids().collect::<Vec<_>>() {
            let row = self.trace.operators.get(id);
            self.trace.operators.set(id, Operator { dynamic: Some(dynamic), ..row });
        }
        self
    }

    fn waits(mut self, micros: i64) -> Self {
        for id in self.trace.tasks.ids().collect::<Vec<_>>() {
            let row = self.trace.tasks.get(id);
            self.trace.tasks.set(id, Task { wait: Some(Nanoseconds(micros * 1_000)), ..row });
        }
        self
    }

    /// Moves the operators apart, each of which waits meanwhile.
    fn apart(mut self, micros: i64) -> Self {
        for id in self.trace.tasks.ids().collect::<Vec<_>>() {
            let row = self.trace.tasks.get(id);
            let moved = row.start + Nanoseconds(micros * 1_000 * id.index() as i64);
            self.trace.tasks.set(id, Task { start: moved, ..row });
        }
        self.waits(micros)
    }

    fn property(mut self, key: &str, value: &str) -> Self {
        assert!(self.trace.run.read_fact(key, value), "{key} is no fact");
        self
    }

    /// Calls one behind the other, from the end of the last on.
    fn call(mut self, name: &str, micros: i64, times: usize) -> Self {
        for _ in 0..times {
            let name = self.trace.strings.intern(name);
            let ends = self.trace.api_calls.iter().map(|(_, row)| row.start + row.duration);
            let start = ends.max().unwrap_or(Nanoseconds::ZERO);
            let duration = Nanoseconds(micros * 1_000);
            let (level, thread, iteration) = (ApiLevel::Application, None, None);
            self.trace.api_calls.push(ApiCall { thread, level, name, start, duration, iteration });
        }
        self
    }

    /// A range from the begin on.
    fn range(mut self, micros: i64) -> Self {
        let name = self.trace.strings.intern("phase");
        let range = Range::new(name, Nanoseconds(0), Nanoseconds(micros * 1_000));
        self.trace.ranges.push(Range { kind: RangeKind::PushPop, ..range });
        self
    }

    fn frequencies(mut self, values: &[f64]) -> Self {
        let (name, unit) = (self.trace.strings.intern("AI core frequency"), self.trace.strings.intern("MHz"));
        let counter = self.trace.counters.push(Counter { name, unit, device: None });
        for value in values {
            self.trace.samples.push(Sample { counter, time: Nanoseconds(0), value: *value });
        }
        self
    }

    /// Counters of bytes, by name, with a sample each time that one is named.
    fn samples(mut self, rows: &[(&str, f64)]) -> Self {
        for (name, value) in rows {
            let (name, unit) = (self.trace.strings.intern(name), self.trace.strings.intern("B"));
            let known = self.trace.counters.iter().find(|(_, row)| row.name == name).map(|(id, _)| id);
            let counter =
                known.unwrap_or_else(|| self.trace.counters.push(Counter { name, unit, device: None }));
            self.trace.samples.push(Sample { counter, time: Nanoseconds(0), value: *value });
        }
        self
    }

    /// Gives each operator an input of its own type and shape, and an output of a shape; the last type
    /// and shape hold for those that are left.
    fn tensors(mut self, inputs: &[(DataType, &[i64])], output: &[i64]) -> Self {
        for id in self.trace.operators.ids().collect::<Vec<_>>() {
            let Some(&(data_type, input)) = inputs.get(id.index()).or(inputs.last()) else { return self };
            let mut tensor = |shape: &[i64]| {
                let dimensions = Some(self.trace.dimensions.push(shape.iter().copied()));
                let row = Tensor { name: None, data_type, dimensions, layout: None, parameter: false };
                Some(self.trace.tensors.push(row))
            };
            let (first_input, first_output) = (tensor(input), tensor(output));
            let row = self.trace.operators.get(id);
            let row = Operator { first_input, input_count: 1, first_output, output_count: 1, ..row };
            self.trace.operators.set(id, row);
        }
        self
    }

    /// Gives the outputs of operators types of their own.
    fn output_types(mut self, types: &[DataType]) -> Self {
        for (id, data_type) in self.trace.operators.ids().collect::<Vec<_>>().into_iter().zip(types) {
            let Some(output) = self.trace.operators.get(id).first_output else { continue };
            let row = self.trace.tensors.get(output);
            self.trace.tensors.set(output, Tensor { data_type: *data_type, ..row });
        }
        self
    }

    /// The same where each operator gives what it takes.
    fn tensors_like_inputs(mut self, inputs: &[(DataType, &[i64])]) -> Self {
        self = self.tensors(inputs, &[]);
        for id in self.trace.operators.ids().collect::<Vec<_>>() {
            let row = self.trace.operators.get(id);
            self.trace.operators.set(id, Operator { first_output: row.first_input, ..row });
        }
        self
    }

    /// The model's nodes that an operator stands for.
    fn stands_for(mut self, name: &str, nodes: &[&str]) -> Self {
        let nodes: Vec<StringId> = nodes.iter().map(|node| self.trace.strings.intern(node)).collect();
        let origins = self.trace.names.push(nodes);
        for id in self.trace.operators.ids().collect::<Vec<_>>() {
            let row = self.trace.operators.get(id);
            if self.trace.strings.get(row.name) == name {
                self.trace.operators.set(id, Operator { origins, ..row });
            }
        }
        self
    }

    /// Gives each operator its number of operations, and all of them bytes that they read.
    fn costs(mut self, flops: &[u64], bytes: u64) -> Self {
        for (id, flops) in self.trace.operators.ids().collect::<Vec<_>>().into_iter().zip(flops) {
            let row = self.trace.operators.get(id);
            let (flops, bytes_read) = (Some(*flops), Some(bytes));
            self.trace.operators.set(id, Operator { flops, bytes_read, bytes_written: Some(0), ..row });
        }
        self
    }

    /// Iterations of these microseconds; tasks belong to the last.
    fn iterations(mut self, micros: &[i64]) -> Self {
        let mut start = 0;
        let mut last = None;
        for (number, duration) in micros.iter().enumerate() {
            let (number, duration) = (number as u32, Nanoseconds(duration * 1_000));
            let row = Iteration { model: None, number, warm_up: false, start: Nanoseconds(start), duration };
            last = Some(self.trace.iterations.push(row));
            start += duration.0 + 1;
        }
        for id in self.trace.tasks.ids().collect::<Vec<_>>() {
            let row = self.trace.tasks.get(id);
            self.trace.tasks.set(id, Task { iteration: last, ..row });
        }
        self
    }

    /// Makes every other inference one of another model.
    fn of_two_models(mut self) -> Self {
        let models = [1, 2].map(|number| self.trace.enter_model(number));
        for id in self.trace.iterations.ids().collect::<Vec<_>>() {
            let row = self.trace.iterations.get(id);
            let model = Some(models[id.index() % 2]);
            self.trace.iterations.set(id, Iteration { model, ..row });
        }
        self
    }
}

/// A profile or a model that rules are asked about.
#[derive(Default)]
struct Case {
    trace: Option<Trace>,
    model: Option<Model>,
    shape: Option<Vec<u64>>,
    target: Option<Target>,
    environment: Environment,
    converter: Option<&'static str>,
    switches: Option<&'static str>,
    fusion_result: Option<&'static str>,
    cores: Option<u32>,
    roof: Option<Roofline>,
    sweep: Vec<Trace>,
}

impl Case {
    fn report(&self) -> Report {
        self.report_with(&Settings::default())
    }

    fn report_with(&self, settings: &Settings) -> Report {
        let mut bindings = Bindings::new();
        if let Some(shape) = &self.shape {
            bindings = bindings.shape("x", shape);
        }
        let shapes = self.model.as_ref().and_then(|model| Shapes::infer(model, &bindings).ok());
        let converter = self.converter.map(ConverterOptions::parse);
        let switches = self.switches.map(|text| Switches::parse(text).unwrap());
        let fusion_result = self.fusion_result.map(|text| FusionResult::parse(text).unwrap());
        let mut subject = Subject::new(
            self.trace.as_ref(),
            self.model.as_ref(),
            Some(self.target.unwrap_or(Target::Cann310)),
        );
        subject.shapes = shapes.as_ref();
        subject.converter = converter.as_ref();
        subject.switches = switches.as_ref();
        subject.fusion_result = fusion_result.as_ref();
        subject.environment = self.environment.clone();
        subject.cores = self.cores;
        subject.roof = self.roof;
        subject.sweep = self.sweep.iter().collect();
        advise(&subject, settings)
    }

    fn finds(&self, id: &str) -> bool {
        is_found(&self.report(), id)
    }

    /// The findings of a rule.
    fn found(&self, id: &str) -> Vec<crate::Finding> {
        self.report().findings.into_iter().filter(|finding| finding.rule.id == id).collect()
    }

    /// Whether the rule was asked at all.
    fn asks(&self, id: &str) -> bool {
        !self.report().not_run.iter().any(|rule| rule.id == id)
    }
}

/// Whether a rule finds something, be it under another's id.
fn is_found(report: &Report, id: &str) -> bool {
    let findings = &report.findings;
    findings.iter().any(|finding| finding.rule.id == id || finding.also.iter().any(|also| also == id))
}

fn of(profile: Profile) -> Case {
    Case { trace: Some(profile.trace), ..Case::default() }
}

fn ops(ops: &[Op<'_>]) -> Case {
    of(Profile::new(ops))
}

fn on(target: Target, case: Case) -> Case {
    Case { target: Some(target), ..case }
}

fn graph(nodes: &[&str]) -> Case {
    shaped(&[1, 3, 16, 16], nodes)
}

/// A graph whose input has a shape.
fn shaped(shape: &[u64], nodes: &[&str]) -> Case {
    stored(shape, nodes, &[], &[])
}

/// The same with the elements of some stored inputs.
fn stored(shape: &[u64], nodes: &[&str], data: &[(&str, &[f32])], integers: &[(&str, &[i64])]) -> Case {
    let model = declared(&graph_of(nodes, data, integers), shape);
    Case { model: Some(model), shape: Some(shape.to_vec()), ..Case::default() }
}

fn converted(command: &'static str) -> Case {
    on(Target::Svp, Case { converter: Some(command), ..Case::default() })
}

/// An operator with one metric.
fn metric(name: &str, value: f64) -> Case {
    ops(&[("a", "Conv2D", AI, 100, &[(name, value)])])
}

fn metrics(values: &[(&str, f64)]) -> Case {
    ops(&[("a", "Conv2D", AI, 100, values)])
}

fn with_model(case: Case, nodes: &[&str]) -> Case {
    Case { model: Some(crate::testing::graph(nodes)), ..case }
}

fn sequence(types: &[&str]) -> Case {
    let rows: Vec<Op<'_>> = types.iter().map(|op_type| (*op_type, *op_type, AI, 10, &[][..])).collect();
    ops(&rows)
}

/// For each rule a case that it is for, and one that it isn't but that it can be asked about.
fn cases() -> Vec<(&'static str, Case, Case)> {
    let families = [
        ascend::cases(),
        svp::cases(),
        environment::cases(),
        graph::cases(),
        host::cases(),
        conversion::cases(),
    ];
    families.into_iter().flatten().collect()
}

#[test]
fn every_rule_finds_what_it_is_for_and_is_silent_otherwise() {
    let mut wrong = Vec::new();
    for (id, fires, silent) in cases() {
        if !fires.finds(id) {
            let why = fires.report().not_run.into_iter().find(|rule| rule.id == id);
            wrong.push(format!("{id} is silent where it should find something: {why:?}"));
        }
        if silent.finds(id) {
            wrong.push(format!("{id} finds something where it should be silent"));
        }
        if !silent.asks(id) {
            wrong.push(format!("{id} is not even asked: {:?}", silent.report().not_run));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_rule_is_without_a_case() {
    let tested: BTreeSet<&str> = cases().iter().map(|(id, ..)| *id).collect();
    let untested: Vec<String> =
        rules().into_iter().map(|rule| rule.id).filter(|id| !tested.contains(&**id)).collect();
    assert!(untested.is_empty(), "{untested:?}");
}

#[test]
fn rules_that_lack_data_say_what_is_missing() {
    let report = sequence(&["Conv2D"]).report();
    let missing =
        |id: &str| report.not_run.iter().find(|rule| rule.id == id).map(|rule| rule.missing.as_str());
    assert_eq!(missing("A11"), Some("the metric memory_bound"));
    assert_eq!(missing("G01"), Some("the model (--model)"));
    assert_eq!(missing("A20"), Some("how many cores of this kind the device has (--cores)"));
    assert_eq!(missing("A04"), None);
}

#[test]
fn findings_are_ranked_by_what_they_could_save_and_never_save_more_than_there_is() {
    let report = ops(&[
        ("a", "TransData", AI, 10, &[]),
        ("b", "TransData", AI, 10, &[]),
        ("c", "TransData", AI, 10, &[]),
        ("d", "Conv2D", AI, 100, &[]),
        ("e", "BNInferenceD", AI, 60, &[]),
        ("f", "TopKD", CPU, 40, &[]),
    ])
    .report();
    let acts = report.findings.iter().filter(|finding| finding.rule.kind == Kind::Change);
    let shares: Vec<f64> = acts.filter_map(|finding| finding.share).collect();
    assert!(shares.len() >= 3 && shares.is_sorted_by(|a, b| a >= b), "{shares:?}");
    assert!(shares.iter().all(|share| (0.0..=1.0).contains(share)));
    let missed = report.findings.iter().find(|finding| finding.rule.id == "A29").unwrap();
    assert_eq!(missed.saves, Some(Nanoseconds(60_000)));
    assert_eq!(missed.evidence[0].name, "e");
}

#[test]
fn a_profile_with_nothing_in_it_and_a_model_of_one_node_do_no_harm() {
    for target in Target::NAMES.map(|(_, target)| target) {
        let empty = on(target, of(Profile::new(&[])));
        assert!(empty.report().findings.iter().all(|finding| finding.saves.is_none()));
        on(target, graph(&["Relu x -> y"])).report();
    }
}
