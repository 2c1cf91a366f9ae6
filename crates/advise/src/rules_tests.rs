//! Every rule on a case that it is for, and on one that it isn't.

use std::collections::BTreeSet;

use opscope_model::{Bindings, Model, Shapes};
use opscope_trace::*;

use crate::testing::{graph_of, graph_with};
use crate::{ConverterOptions, Environment, Report, Settings, Subject, Target, advise, rules};

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

    fn property(mut self, key: &str, value: &str) -> Self {
        self.trace.set_property(key, value);
        self
    }

    fn call(mut self, name: &str, micros: i64, times: usize) -> Self {
        for _ in 0..times {
            let name = self.trace.strings.intern(name);
            let (start, duration) = (Nanoseconds(0), Nanoseconds(micros * 1_000));
            let (level, thread, iteration) = (ApiLevel::Application, None, None);
            self.trace.api_calls.push(ApiCall { thread, level, name, start, duration, iteration });
        }
        self
    }

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
}

/// What rules are asked about.
#[derive(Default)]
struct Case {
    trace: Option<Trace>,
    model: Option<Model>,
    shape: Option<Vec<u64>>,
    target: Option<Target>,
    environment: Environment,
    converter: Option<&'static str>,
    cores: Option<u32>,
}

impl Case {
    fn report(&self) -> Report {
        let mut bindings = Bindings::new();
        if let Some(shape) = &self.shape {
            bindings = bindings.shape("x", shape);
        }
        let shapes = self.model.as_ref().and_then(|model| Shapes::infer(model, &bindings).ok());
        let converter = self.converter.map(ConverterOptions::parse);
        let mut subject = Subject::new(
            self.trace.as_ref(),
            self.model.as_ref(),
            Some(self.target.unwrap_or(Target::Cann310)),
        );
        subject.shapes = shapes.as_ref();
        subject.converter = converter.as_ref();
        subject.environment = self.environment.clone();
        subject.cores = self.cores;
        advise(&subject, &Settings::default())
    }

    fn finds(&self, id: &str) -> bool {
        self.report().findings.iter().any(|finding| finding.rule.id == id)
    }

    /// Whether the rule was asked at all.
    fn asks(&self, id: &str) -> bool {
        !self.report().not_run.iter().any(|rule| rule.id == id)
    }
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
    Case { model: Some(crate::testing::graph(nodes)), shape: Some(vec![1, 3, 16, 16]), ..Case::default() }
}

fn shaped(shape: &[u64], nodes: &[&str]) -> Case {
    Case { shape: Some(shape.to_vec()), ..graph(nodes) }
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
    let mut all = ascend_cases();
    all.extend(svp_cases());
    all.extend(environment_cases());
    all.extend(fold_cases());
    all.extend(cleanup_cases());
    all.extend(target_cases());
    all.extend(host_cases());
    all.extend(conversion_cases());
    all
}

fn ascend_cases() -> Vec<(&'static str, Case, Case)> {
    let t = |name| (name, "TransData", AI, 10, &[][..]);
    let x = |name| (name, "Mul", AI, 10, &[][..]);
    let on_cpu = |name, micros| Profile::new(&[(name, name, CPU, micros, &[])]);
    let waiting = [("vec_ratio", 0.1)];
    let repeated = |times| {
        let rows: Vec<Op<'_>> = (0..times)
            .flat_map(|_| [("a", "Sub", AI, 10, &waiting[..]), ("b", "Pow", AI, 10, &waiting[..])])
            .collect();
        of(Profile::new(&rows).waits(50))
    };
    let blocks = |blocks| Case { cores: Some(8), ..metrics(&[("block_num", blocks), ("mac_ratio", 0.5)]) };
    let mixed = |blocks| {
        of(Profile::new(&[("a", "MatMul", AI, 50, &[("mix_block_num", blocks)])])
            .property("vector_cores", "8"))
    };
    let around = |model: &[&str]| {
        let rows: [Op<'_>; 4] =
            [("Relu_a", "Relu", AI, 9, &[]), t("t1"), t("t2"), ("Relu_y", "Relu", AI, 9, &[])];
        with_model(ops(&rows), model)
    };
    vec![
        ("A01", ops(&[t("a"), t("b"), t("c")]), ops(&[t("a"), t("b"), x("c")])),
        (
            "A02",
            ops(&[t("a"), x("1"), t("b"), x("2"), t("c"), x("3"), t("d")]),
            ops(&[t("a"), x("1"), t("b"), x("2"), t("c"), x("3"), x("4")]),
        ),
        (
            "A03",
            around(&["Relu x -> a", "Reshape a,S:2 -> b", "Relu b -> y"]),
            around(&["Relu x -> a", "Relu a -> y"]),
        ),
        ("A04", of(on_cpu("TopKD", 5)), ops(&[x("a")])),
        (
            "A05",
            of(on_cpu("Mul", 30).inputs(DataType::Int64, &[8])),
            of(on_cpu("Mul", 19).inputs(DataType::Int64, &[8])),
        ),
        ("A06", of(on_cpu("StridedSliceGrad", 30)), of(on_cpu("StridedSlice", 30))),
        (
            "A07",
            of(on_cpu("Mul", 30).inputs(DataType::Float64, &[8])),
            of(on_cpu("Mul", 30).inputs(DataType::Float32, &[8])),
        ),
        ("A08", of(on_cpu("NonZero", 3)), of(on_cpu("TopKD", 3))),
        (
            "A09",
            ops(&[("a", "TopKD", CPU, 10, &[]), x("b")]),
            ops(&[("a", "TopKD", CPU, 1, &[]), ("b", "Mul", AI, 99, &[])]),
        ),
        ("A10", of(Profile::new(&[x("a"), x("b")]).waits(15)), of(Profile::new(&[x("a"), x("b")]).waits(9))),
        ("A11", metric("memory_bound", 1.5), metric("memory_bound", 0.9)),
        (
            "A12",
            metrics(&[("memory_bound", 1.5), ("mte2_ratio", 0.7)]),
            metrics(&[("memory_bound", 1.5), ("mte2_ratio", 0.9)]),
        ),
        ("A13", metric("main_mem_read_bw", 38.0), metric("main_mem_read_bw", 20.0)),
        ("A14", metric("vector_bound", 1.1), metric("vector_bound", 0.9)),
        (
            "A15",
            metrics(&[("mac_ratio", 0.1), ("vec_ratio", 0.9)]),
            metrics(&[("mac_ratio", 0.0), ("vec_ratio", 0.9)]),
        ),
        (
            "A16",
            metrics(&[("mac_ratio", 0.0), ("vec_ratio", 0.5)]),
            metrics(&[("mac_ratio", 0.0), ("vec_ratio", 0.85)]),
        ),
        ("A17", metric("aic_mac_ratio", 0.5), metric("aic_mac_ratio", 0.85)),
        ("A18", metric("scalar_ratio", 0.9), metric("scalar_ratio", 0.7)),
        ("A19", metric("vec_bank_cflt_ratio", 0.05), metric("vec_bank_cflt_ratio", 0.03)),
        ("A20", blocks(3.0), blocks(8.0)),
        ("A21", blocks(12.0), blocks(16.0)),
        ("A22", mixed(12.0), mixed(24.0)),
        ("A23", metric("memory_workspace", 64.0), metric("memory_workspace", 0.0)),
        (
            "A24",
            metrics(&[("mac_time", 1.0), ("vec_time", 9.0)]),
            metrics(&[("mac_time", 9.0), ("vec_time", 1.0)]),
        ),
        ("A25", metrics(&[("mac_ratio", 0.5), ("vec_ratio", 0.3)]), metrics(&[("mac_ratio", 0.85)])),
        (
            "A26",
            of(Profile::new(&[]).frequencies(&[1000.0, 800.0])),
            of(Profile::new(&[]).frequencies(&[1000.0, 990.0])),
        ),
        (
            "A27",
            of(Profile::new(&[("a", "MatMul", AI, 9, &[("mac_ratio", 0.9)])])
                .inputs(DataType::Float16, &[8, 100])),
            of(Profile::new(&[("a", "MatMul", AI, 9, &[("mac_ratio", 0.9)])])
                .inputs(DataType::Float16, &[8, 128])),
        ),
        ("A28", repeated(6), repeated(4)),
        ("A29", sequence(&["Conv2D", "BNInferenceD", "Relu"]), sequence(&["Conv2D", "Softmax", "Relu"])),
        (
            "A30",
            of(Profile::new(&[]).call("SynchronizeStream", 5, 3).call("launch", 1, 4)),
            of(Profile::new(&[]).call("SynchronizeStream", 5, 1).call("launch", 1, 4)),
        ),
        ("A31", of(Profile::new(&[x("a")]).dynamic(true)), of(Profile::new(&[x("a")]).dynamic(false))),
        (
            "A32",
            of(Profile::new(&[]).call("aclmdlLoadFromFileWithMem", 900, 1).call("aclmdlExecute", 20, 3)),
            of(Profile::new(&[]).call("aclmdlLoadFromFileWithMem", 50, 1).call("aclmdlExecute", 20, 3)),
        ),
        ("A33", of(Profile::new(&[]).range(5_002_280)), of(Profile::new(&[]).range(642_772))),
        ("A34", graph(&["Conv x,W:18x3x3x3 -> y"]), graph(&["Conv x,W:32x3x3x3 -> y"])),
    ]
}

fn svp_cases() -> Vec<(&'static str, Case, Case)> {
    let svp = |case| on(Target::Svp, case);
    let layer = |values: &[(&str, f64)]| on(Target::Svp, metrics(values));
    let low = [
        ("Mac Ppen Ratio", 0.1),
        ("Vec Ppen Ratio", 0.1),
        ("DLD Ratio", 0.1),
        ("WLD Ratio", 0.1),
        ("Dstr Ratio", 0.1),
    ];
    let high = [
        ("Mac Ppen Ratio", 0.9),
        ("Vec Ppen Ratio", 0.1),
        ("DLD Ratio", 0.1),
        ("WLD Ratio", 0.1),
        ("Dstr Ratio", 0.1),
    ];
    let busy =
        |nodes: &[&str]| Case { shape: Some(vec![1, 3, 16, 16]), ..with_model(sequence(&["Conv"]), nodes) };
    // Half precision comes from a cast to type 10.
    let argmax = |axis: u64| shaped(&[1, axis], &["Cast x to=10 -> h", "ArgMax h axis=1 -> y"]);
    vec![
        ("S01", layer(&[("Mac Ppen Ratio", 0.5)]), layer(&[("Mac Ppen Ratio", 0.7)])),
        ("S02", layer(&[("Mac Ppen Ratio", 0.5)]), layer(&[("Mac Ppen Ratio", 0.8)])),
        (
            "S03",
            layer(&[("Mac Ppen Ratio", 0.0), ("Vec Ppen Ratio", 0.4)]),
            layer(&[("Mac Ppen Ratio", 0.0), ("Vec Ppen Ratio", 0.6)]),
        ),
        ("S04", layer(&[("DLD Ratio", 0.75)]), layer(&[("DLD Ratio", 0.65)])),
        ("S05", layer(&[("WLD Ratio", 0.85)]), layer(&[("WLD Ratio", 0.75)])),
        ("S06", layer(&[("Dstr Ratio", 0.75)]), layer(&[("Dstr Ratio", 0.65)])),
        ("S07", layer(&low), layer(&high)),
        ("S08", layer(&[("Memory Bound", 1.2)]), layer(&[("Memory Bound", 0.8)])),
        ("S09", svp(busy(&["Conv x,W:16x3x3x3 -> y"])), svp(busy(&["Identity x -> y"]))),
        ("S10", svp(ops(&[("a", "Softplus", CPU, 5, &[])])), svp(ops(&[("a", "Conv", AI, 5, &[])]))),
        (
            "S11",
            svp(graph(&["Transpose x perm=0.3.2.1 -> y"])),
            svp(graph(&["Transpose x perm=0.2.3.1 -> y"])),
        ),
        ("S12", svp(graph(&["ArgMax x select_last_index=1 -> y"])), svp(graph(&["ArgMax x -> y"]))),
        ("S13", svp(argmax(4096)), svp(argmax(1024))),
        ("S14", svp(of(Profile::new(&[]).call("c", 1, 512))), svp(of(Profile::new(&[]).call("c", 1, 511)))),
    ]
}

fn environment_cases() -> Vec<(&'static str, Case, Case)> {
    let set = |environment| Case { environment, ..Case::default() };
    let mode = |mode| set(Environment { mode: Some(mode), ..Environment::default() });
    let link = |real_path| set(Environment { real_path, ..Environment::default() });
    let ended = |ended| set(Environment { ended: Some(ended), ..Environment::default() });
    let level =
        |level: &str| set(Environment { log_level: Some(level.to_owned()), ..Environment::default() });
    let acl = |text: &str| set(Environment { acl_json: Some(text.to_owned()), ..Environment::default() });
    vec![
        ("E01", mode(0o100_666), mode(0o100_640)),
        ("E02", link(Some("/data/PROF_1".into())), link(None)),
        ("E05", ended(false), ended(true)),
        ("E06", level("1"), level("3")),
        ("E07", acl("{\"dump\": {}}"), acl("{\"profiler\": {}}")),
    ]
}

fn fold_cases() -> Vec<(&'static str, Case, Case)> {
    let pow = |exponent: f32| Case {
        model: Some(graph_with(&["Pow x,E: -> y"], &[("E", &[exponent])])),
        ..Case::default()
    };
    vec![
        (
            "G01",
            graph(&["Conv x,W:16x3x3x3 -> a", "BatchNormalization a,S:16,B:16,M:16,V:16 -> y"]),
            graph(&[
                "Conv x,W:16x3x3x3 -> a",
                "BatchNormalization a,S:16,B:16,M:16,V:16 -> y",
                "Relu a -> z",
            ]),
        ),
        (
            "G03",
            graph(&["Conv x,W:16x3x3x3 -> a", "Mul a,K:1x16x1x1 -> y"]),
            graph(&["Conv x,W:16x3x3x3 -> a", "Mul a,K:1x16x14x14 -> y"]),
        ),
        ("G04", pow(2.0), pow(2.5)),
        (
            "G05",
            graph(&["Softplus x -> s", "Tanh s -> t", "Mul x,t -> y"]),
            graph(&["Softplus x -> s", "Tanh s -> t", "Mul s,t -> y"]),
        ),
        (
            "G16",
            graph(&[
                "Transpose x perm=0.2.1.3 -> a",
                "BatchNormalization a,S:16,B:16,M:16,V:16 -> b",
                "Transpose b perm=0.2.1.3 -> y",
            ]),
            graph(&[
                "Relu x -> a",
                "BatchNormalization a,S:16,B:16,M:16,V:16 -> b",
                "Transpose b perm=0.2.1.3 -> y",
            ]),
        ),
        (
            "G21",
            graph(&[
                "MatMul x,W:16x48 -> a",
                "Reshape a,S:5 -> b",
                "Transpose b perm=2.0.3.1.4 -> c",
                "Gather c,I: -> q",
                "Gather c,J: -> k",
            ]),
            graph(&[
                "MatMul x,W:16x48 -> a",
                "Reshape a,S:5 -> b",
                "Transpose b perm=2.0.3.1.4 -> c",
                "Gather c,I: -> q",
            ]),
        ),
        ("G25", graph(&["Exp C:4 -> a", "Add x,a -> y"]), graph(&["Exp x -> a", "Add x,a -> y"])),
        (
            "G26",
            shaped(&[4, 16], &["MatMul x,W:16x8 -> a", "Add a,B:8 -> y"]),
            shaped(&[2, 4, 16], &["MatMul x,W:16x8 -> a", "Add a,B:8 -> y"]),
        ),
        (
            "G27",
            graph(&["Conv x,W:16x3x3x3 -> a", "Transpose a perm=0.2.3.1 -> b", "Relu b -> y"]),
            graph(&["Conv x,W:16x3x3x3 -> a", "Relu a -> b", "Transpose b perm=0.2.3.1 -> y"]),
        ),
        (
            "G28",
            graph(&["Div x,K: -> a", "Erf a -> b", "Add b,O: -> c", "Mul x,c -> d", "Mul d,H: -> y"]),
            graph(&["Div x,K: -> a", "Erf a -> b", "Add b,O: -> c", "Softmax c -> y"]),
        ),
        (
            "G28",
            graph(&["HardSigmoid x alpha=0.16666667f beta=0.5f -> g", "Mul x,g -> y"]),
            graph(&["HardSigmoid x -> g", "Mul x,g -> y"]),
        ),
        (
            "G28",
            graph(&[
                "ReduceMean x -> m",
                "Sub x,m -> d",
                "Pow d,T: -> s",
                "ReduceMean s -> v",
                "Add v,E: -> w",
                "Sqrt w -> r",
                "Div d,r -> y",
            ]),
            graph(&["ReduceMean x -> m", "Sub x,m -> d", "Sqrt d -> r", "Div d,r -> y"]),
        ),
    ]
}

fn cleanup_cases() -> Vec<(&'static str, Case, Case)> {
    let slice = |start: i64, end: i64| Case {
        model: Some(graph_of(&["Slice x,S:1,E:1 -> y"], &[], &[("S", &[start]), ("E", &[end])])),
        ..Case::default()
    };
    let gathers = |first: i64| Case {
        model: Some(graph_of(
            &["Gather x,I:1 -> a", "Gather x,J:1 -> b"],
            &[],
            &[("I", &[first]), ("J", &[1])],
        )),
        ..Case::default()
    };
    vec![
        (
            "G11",
            shaped(&[1, 4096], &["Cast x to=7 -> a", "Abs a -> y"]),
            shaped(&[1, 4096], &["Cast x to=6 -> a", "Abs a -> y"]),
        ),
        (
            "G12",
            graph(&["Cast x to=10 -> a", "Cast a to=1 -> y"]),
            graph(&["Cast x to=10 -> a", "Relu a -> y"]),
        ),
        (
            "G13",
            graph(&["Concat x,x axis=1 -> a", "Concat a,x axis=1 -> y"]),
            graph(&["Concat x,x axis=1 -> a", "Concat a,a axis=2 -> y"]),
        ),
        ("G14", gathers(0), gathers(3)),
        (
            "G15",
            graph(&["Transpose x perm=0.2.3.1 -> a", "Transpose a perm=0.3.1.2 -> y"]),
            graph(&["Transpose x perm=0.2.3.1 -> a", "Relu a -> y"]),
        ),
        ("G22", graph(&["Shape x -> s", "Reshape x,s -> y"]), graph(&["Reshape x,S:2 -> y"])),
        ("G23", slice(3, 3), slice(0, 3)),
    ]
}

fn target_cases() -> Vec<(&'static str, Case, Case)> {
    let trt = |nodes: &[&str]| on(Target::TensorRt, graph(nodes));
    // The size to resize to is the fourth input; without it, the file says nothing about the output.
    let resize = |to: i64| Case {
        model: Some(graph_of(
            &["Resize x,,,Z:4 mode=linear coordinate_transformation_mode=align_corners -> y"],
            &[],
            &[("Z", &[1, 18, to, to])],
        )),
        shape: Some(vec![1, 18, 175, 175]),
        ..Case::default()
    };
    vec![
        ("G02", sequence(&["Conv2D", "BNInferenceD"]), sequence(&["Conv2D", "Softmax"])),
        ("G06", graph(&["HardSwish x -> y"]), graph(&["LeakyRelu x -> y"])),
        (
            "G07",
            graph(&["Conv x,W:18x3x3x3 -> a", "Relu a -> b", "Conv b,V:32x18x3x3 -> y"]),
            graph(&["Conv x,W:18x3x3x3 -> a", "Softmax a -> b", "Conv b,V:32x18x3x3 -> y"]),
        ),
        (
            "G08",
            graph(&["Pad x,P:8 mode=reflect -> a", "Mul a,K: -> y"]),
            graph(&["Pad x,P:8 mode=constant -> a", "Mul a,K: -> y"]),
        ),
        ("G09", resize(350), resize(349)),
        ("G10", graph(&["Upsample x,S:4 mode=linear -> y"]), graph(&["Upsample x,S:4 mode=nearest -> y"])),
        ("G17", graph(&["Conv x,W:16x3x5 -> y"]), graph(&["Conv x,W:16x3x5x5 -> y"])),
        ("G18", graph(&["Conv x,W:4x3x1x200 -> y"]), graph(&["Conv x,W:4x3x1x100 -> y"])),
        (
            "G19",
            shaped(&[1, 3, 1, 20000], &["Conv x,W:4x3x1x3 -> y"]),
            shaped(&[1, 3, 1, 2000], &["Conv x,W:4x3x1x3 -> y"]),
        ),
        (
            "G20",
            graph(&["AveragePool x kernel_shape=16.16 strides=16.16 -> y"]),
            graph(&["AveragePool x kernel_shape=8.8 strides=8.8 -> y"]),
        ),
        ("G24", graph(&["TopK x,K:1 -> v,i", "Abs i -> y"]), graph(&["TopK x,K:1 -> v,i"])),
        ("H11", trt(&["Gather x,I:2 axis=1 -> y"]), trt(&["Gather x,I:2 axis=0 -> y"])),
    ]
}

fn host_cases() -> Vec<(&'static str, Case, Case)> {
    let ort = |case| on(Target::OnnxRuntime, case);
    let runs = |micros: &[i64]| {
        ort(of(Profile::new(&[("a", "Conv", ExecutionUnit::Cpu, 95, &[])]).iterations(micros)))
    };
    let small = |count: usize| {
        let rows: Vec<Op<'_>> = (0..10)
            .map(|at| ("a", "Add", ExecutionUnit::Cpu, if at < count { 2 } else { 50 }, &[][..]))
            .collect();
        ort(ops(&rows))
    };
    let level = |level: &str| ort(of(Profile::new(&[]).property("optimization", level)));
    let typed = |data_type| of(Profile::new(&[("a", "Conv2D", AI, 50, &[])]).inputs(data_type, &[8]));
    let mge = |op_type| on(Target::MegEngine, sequence(&[op_type]));
    vec![
        ("H01", runs(&[900, 100, 100, 100]), runs(&[120, 100, 100, 100])),
        ("H02", runs(&[100, 140, 80, 160, 70, 150]), runs(&[100, 101, 99, 100, 102, 100])),
        ("H05", runs(&[120]), runs(&[100])),
        ("H06", small(5), small(1)),
        ("H08", ort(sequence(&["Conv", "Transpose"])), ort(sequence(&["Conv", "Relu"]))),
        ("H09", level("off"), level("full")),
        ("H10", typed(DataType::Float32), typed(DataType::Float16)),
        ("H12", mge("ConvolutionForward"), mge("Elemwise")),
    ]
}

fn conversion_cases() -> Vec<(&'static str, Case, Case)> {
    let softmax = |op_type| on(Target::Svp, sequence(&[op_type]));
    let batch = |batch| on(Target::Svp, shaped(&[batch, 3, 8, 8], &["Relu x -> y"]));
    vec![
        ("V01", converted("atc --net_optimize_enable=0"), converted("atc --net_optimize_enable=1")),
        (
            "V02",
            converted("atc --fusion_switch_file=ReluMerge:off"),
            converted("atc --fusion_switch_file=ReluMerge:on"),
        ),
        ("V03", converted("atc --layer_fusion_enable 0"), converted("atc --layer_fusion_enable 1")),
        ("V04", converted("atc --layer_m2m_enable=0"), converted("atc")),
        ("V05", converted("atc"), converted("atc --internal_stride=32")),
        (
            "V06",
            Case {
                model: Some(crate::testing::graph(&["Gemm x,W:8x8 -> y"])),
                ..converted("atc --batch_num=1")
            },
            Case {
                model: Some(crate::testing::graph(&["Gemm x,W:8x8 -> y"])),
                ..converted("atc --batch_num=256")
            },
        ),
        ("V07", softmax("Softmax"), softmax("Conv")),
        ("V08", batch(4), batch(1)),
        ("V09", converted("atc --gelu_high_precision_mode=1"), converted("atc --gelu_high_precision_mode=0")),
        ("V10", converted("compile_mode=6"), converted("compile_mode=0")),
        ("V11", converted("atc"), converted("atc --online_model_type=0")),
        ("V12", converted("atc --force_to_cpu=a,b"), converted("atc")),
        ("V14", converted("atc --model=m.onnx"), converted("atc --soc_version=SS928V100")),
        (
            "V15",
            converted("atc --dynamic_image_size='640,640;320,320'"),
            converted("atc --dynamic_image_size=640,640"),
        ),
        ("V20", on(Target::Svp, graph(&["Softplus x -> y"])), on(Target::Svp, graph(&["Relu x -> y"]))),
    ]
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
    assert_eq!(missing("A20"), Some("how many cores the device has (--cores)"));
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
    let shares: Vec<f64> = report.findings.iter().filter_map(|finding| finding.share).collect();
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

mod settings {
    use super::*;
    use crate::SettingsError;

    fn settings(text: &str) -> Result<Settings, SettingsError> {
        let folder = std::env::temp_dir().join(format!("opscope-settings-{:?}", std::thread::current().id()));
        std::fs::write(&folder, text).unwrap();
        let read = Settings::read(&folder);
        std::fs::remove_file(&folder).unwrap();
        read
    }

    fn found(trace: &Trace, settings: &Settings) -> Vec<String> {
        let subject = Subject::new(Some(trace), None, Some(Target::Cann));
        advise(&subject, settings).findings.into_iter().map(|finding| finding.rule.id).collect()
    }

    #[test]
    fn thresholds_change_what_is_found_and_silence_hides_it() {
        let two = [("a", "TransData", AI, 10, &[][..]), ("b", "TransData", AI, 10, &[][..])];
        let trace = ops(&two).trace.unwrap();
        assert!(!found(&trace, &Settings::default()).contains(&"A01".to_owned()));
        let lower = settings("[thresholds]\nA01.more_than = 1\n").unwrap();
        assert!(found(&trace, &lower).contains(&"A01".to_owned()));
        let silent = settings("silence = [\"A0*\"]\n[thresholds]\nA01.more_than = 1\n").unwrap();
        assert!(!found(&trace, &silent).contains(&"A01".to_owned()));
    }

    #[test]
    fn users_add_rules_of_their_own() {
        let own = settings(
            "[[rule]]\nid = \"U01\"\ntitle = \"slow\"\nlimits = { min_us = 50, busy = 0.5 }\n\
             when = { types = [\"My*\"], metrics = [\"mac_ratio < busy\"] }\n",
        )
        .unwrap();
        let slow = ops(&[("k", "MyKernel", AI, 80, &[("mac_ratio", 0.2)])]).trace.unwrap();
        let busy = ops(&[("k", "MyKernel", AI, 80, &[("mac_ratio", 0.7)])]).trace.unwrap();
        assert!(found(&slow, &own).contains(&"U01".to_owned()));
        assert!(!found(&busy, &own).contains(&"U01".to_owned()));
    }

    #[test]
    fn mistakes_in_settings_are_named_with_what_would_be_right() {
        let refused = |text: &str| settings(text).unwrap_err().to_string();
        assert!(refused("[thresholds]\nA99.x = 1\n").contains("no rule A99"));
        assert!(refused("[thresholds]\nA05.us = 1\n").contains("it has min_us"));
        assert!(refused("silence = [\"Q7\"]").contains("no rule Q7"));
        assert!(
            refused("[[rule]]\nid = \"A01\"\ntitle = \"x\"\nwhen = { types = [\"X\"] }\n").contains("U01")
        );
        assert!(refused("[[rule]]\nid = \"U1\"\ntitle = \"x\"\n").contains("no condition"));
        assert!(refused("[[rule]]\nid = \"U1\"\ntitle = \"x\"\nwhen = {}\n").contains("empty"));
        let unit = "[[rule]]\nid = \"U1\"\ntitle = \"x\"\nwhen = { units = [\"warp\"] }\n";
        assert!(refused(unit).contains("no unit `warp`"));
        let metric = "[[rule]]\nid = \"U1\"\ntitle = \"x\"\nwhen = { metrics = [\"mac > lots\"] }\n";
        assert!(refused(metric).contains("no threshold of the rule"));
        assert!(refused("nonsense").contains("TOML") || refused("nonsense").contains("line 1"));
    }
}
