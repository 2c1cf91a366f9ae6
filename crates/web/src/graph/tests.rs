//! Graphs of small models and profiles, read back as a page reads them.

use opscope_analyze::Query;
use opscope_model::Model;
use opscope_model::proto::{GraphProto, ModelProto, NodeProto, OperatorSetIdProto, ValueInfoProto};
use opscope_trace::*;

use super::draft::{Fate, Kind};
use super::*;
use crate::columns::{Container, to_bytes};

/// An operator that ran: its name, its type, the nodes it stands for, its time, how it was matched.
type Ran<'a> = (&'a str, &'a str, &'a [&'a str], i64, Attribution);

/// A model of nodes `name: Type inputs -> outputs`, with the input `x` and the output `y`.
fn model(nodes: &[&str]) -> Model {
    let node = |text: &&str| {
        let (name, rest) = text.split_once(": ").unwrap();
        let (call, outputs) = rest.split_once(" -> ").unwrap();
        let (op_type, inputs) = call.split_once(' ').unwrap();
        let list = |text: &str| text.split(',').filter(|it| !it.is_empty()).map(str::to_owned).collect();
        NodeProto {
            name: Some(name.into()),
            op_type: Some(op_type.into()),
            input: list(inputs),
            output: list(outputs),
            ..Default::default()
        }
    };
    let value = |name: &str| ValueInfoProto { name: Some(name.into()), ..Default::default() };
    let graph = GraphProto {
        node: nodes.iter().map(node).collect(),
        input: vec![value("x")],
        output: vec![value("y")],
        ..Default::default()
    };
    let proto = ModelProto {
        opset_import: vec![OperatorSetIdProto { domain: None, version: Some(17) }],
        graph: Some(graph),
        ..Default::default()
    };
    Model::from_proto(proto, None).unwrap()
}

/// A profile in which operators ran one after another.
fn profile(ran: &[Ran<'_>]) -> Trace {
    let mut trace = Trace::new();
    let mut start = 0;
    for &(name, op_type, origins, time, attribution) in ran {
        let (name, op_type) = (trace.strings.intern(name), trace.strings.intern(op_type));
        let origins: Vec<StringId> = origins.iter().map(|it| trace.strings.intern(it)).collect();
        let origins = trace.names.push(origins);
        let operator =
            trace.operators.push(Operator { origins, attribution, ..Operator::new(name, op_type) });
        trace.tasks.push(Task {
            operator: Some(operator),
            ..Task::new(name, Nanoseconds(start), Nanoseconds(time))
        });
        start += time;
    }
    trace
}

/// A graph as the page has it.
struct Seen {
    bytes: Vec<u8>,
    facts: Value,
}

impl Seen {
    fn of(trace: &Trace, model: Option<&Model>, chains: &[Chain]) -> Self {
        let answer = Query::default().run(trace).unwrap();
        let graph = Graph::of(trace, &answer, model.map(|model| (model, None)), chains);
        let bytes = to_bytes("graph", &graph.tables);
        Self { bytes, facts: graph.facts }
    }

    /// A column of the nodes.
    fn column(&self, name: &str) -> Vec<usize> {
        self.numbers("nodes", name)
    }

    /// A column of whole numbers.
    fn numbers(&self, table: &str, name: &str) -> Vec<usize> {
        let numbers = Container::read(&self.bytes).unwrap().numbers(&format!("graph_{table}"), name).unwrap();
        numbers.into_iter().map(|it| it as usize).collect()
    }

    fn texts(&self) -> Vec<String> {
        Container::read(&self.bytes).unwrap().strings("graph_strings", "text").unwrap()
    }

    /// Each part with the one around it, its kind and fate as the page numbers them, and its time.
    fn parts(&self) -> Vec<(String, String, usize, usize, usize)> {
        let texts = self.texts();
        let [name, kind, fate, parent, time, op_type] =
            ["name", "kind", "fate", "parent", "time", "type"].map(|it| self.column(it));
        let named = |at: usize| match (texts[name[at]].as_str(), kind[at]) {
            // Its operator's name, which the page takes from there.
            ("", _) => format!("={}", texts[op_type[at]]),
            (name, _) => name.to_owned(),
        };
        (0..name.len())
            .map(|at| {
                let around = if parent[at] == 0 { String::new() } else { named(parent[at] - 1) };
                (named(at), around, kind[at], fate[at], time[at])
            })
            .collect()
    }

    fn links(&self) -> Vec<(usize, usize)> {
        let [from, to] = ["from", "to"].map(|name| self.numbers("edges", name));
        from.into_iter().zip(to).collect()
    }
}

fn part<'a>(
    name: &'a str,
    around: &'a str,
    kind: Kind,
    fate: Fate,
    time: usize,
) -> (String, String, usize, usize, usize) {
    (name.into(), around.into(), kind as usize, fate as usize, time)
}

#[test]
fn a_fused_operator_is_a_box_round_its_nodes_and_its_time_is_none_of_theirs() {
    let model =
        model(&["conv: Conv x,x -> a", "relu: Relu a -> b", "gone: Identity b -> c", "pool: MaxPool c -> y"]);
    let trace = profile(&[
        ("conv", "Conv+Relu", &["conv", "relu"], 700, Attribution::Fused),
        ("reorder", "ReorderOutput", &[], 50, Attribution::Engine),
        ("pool", "MaxPool", &["pool"], 200, Attribution::Exact),
    ]);
    let seen = Seen::of(&trace, Some(&model), &[]);
    let expected = [
        part("=Conv+Relu", "", Kind::Fused, Fate::Fused, 700),
        part("conv", "=Conv+Relu", Kind::Node, Fate::Fused, 0),
        part("relu", "=Conv+Relu", Kind::Node, Fate::Fused, 0),
        part("gone", "", Kind::Node, Fate::Removed, 0),
        part("=MaxPool", "", Kind::Node, Fate::Measured, 200),
        part("=ReorderOutput", "", Kind::Node, Fate::Added, 50),
    ];
    assert_eq!(seen.parts(), expected);
    // Nodes that the engine added stand behind what ran before it, and say that no more is known.
    let orders = seen.numbers("edges", "is_order");
    let added: Vec<_> = seen.links().into_iter().zip(orders).filter(|(_, order)| *order == 1).collect();
    assert_eq!(added, [((0, 5), 1)]);
    assert_eq!((&seen.facts["from"], &seen.facts["is_matched"]), (&json!("model"), &json!(true)));
    // The costliest path goes through the fused operator as one step, and through the node that didn't run.
    assert_eq!((seen.column("next"), &seen.facts["path_ns"]), (vec![4, 0, 0, 5, 5, 0], &json!(900)));
}

#[test]
fn a_profile_of_another_model_leaves_the_graph_without_times_and_says_so() {
    let model = model(&["conv: Conv x,x -> a", "relu: Relu a -> y"]);
    let seen = Seen::of(&profile(&[("other", "Gemm", &[], 9, Attribution::NoGraph)]), Some(&model), &[]);
    assert_eq!(seen.facts["is_matched"], json!(false));
    assert!(seen.parts().iter().all(|part| part.3 == Fate::Unknown as usize && part.4 == 0));
}

#[test]
fn operators_without_origins_are_known_by_their_names() {
    let model = model(&["conv: Conv x,x -> a", "relu: Relu a -> y"]);
    let trace = profile(&[
        ("conv", "FusedConv", &[], 9, Attribution::NoGraph),
        ("conv", "FusedConv", &[], 9, Attribution::NoGraph),
    ]);
    let seen = Seen::of(&trace, Some(&model), &[]);
    let expected =
        [part("=Conv", "", Kind::Node, Fate::Measured, 18), part("relu", "", Kind::Node, Fate::Removed, 0)];
    assert_eq!(seen.parts(), expected);
}

#[test]
fn scopes_hold_what_shares_their_name_and_a_scope_of_one_part_is_none() {
    let model = model(&[
        "/net/a/conv/Conv: Conv x,x -> a",
        "/net/a/Relu: Relu a -> b",
        "/net/b/Add: Add a,b -> c",
        "/net/b/Mul: Mul c,a -> y",
    ]);
    let trace = profile(&[("/net/b/Add", "Add", &["/net/b/Add"], 5, Attribution::Exact)]);
    let seen = Seen::of(&trace, Some(&model), &[]);
    let expected = [
        part("net/a", "", Kind::Scope, Fate::Unknown, 0),
        part("/net/a/conv/Conv", "net/a", Kind::Node, Fate::Removed, 0),
        part("/net/a/Relu", "net/a", Kind::Node, Fate::Removed, 0),
        part("net/b", "", Kind::Scope, Fate::Unknown, 5),
        part("=Add", "net/b", Kind::Node, Fate::Measured, 5),
        part("/net/b/Mul", "net/b", Kind::Node, Fate::Removed, 0),
    ];
    assert_eq!(seen.parts(), expected);
    assert_eq!(
        (seen.column("nodes"), seen.facts["is_folded"].clone()),
        (vec![2, 0, 0, 2, 0, 0], json!(false))
    );
    assert_eq!(seen.column("rank"), [0, 0, 1, 1, 0, 1], "ranks are those within a scope");
}

#[test]
fn a_large_graph_begins_folded_with_its_times_summed_up() {
    let names: Vec<String> = (0..2_100)
        .map(|at| {
            format!(
                "n{}/Relu_{at}: Relu {} -> v{}",
                at / 100,
                if at == 0 { "x".to_owned() } else { format!("v{}", at - 1) },
                at
            )
        })
        .collect();
    let mut nodes: Vec<&str> = names.iter().map(String::as_str).collect();
    nodes.push("last: Relu v2099 -> y");
    let trace = profile(&[
        ("n3/Relu_305", "Relu", &["n3/Relu_305"], 5, Attribution::Exact),
        ("n3/Relu_306", "Relu", &["n3/Relu_306"], 6, Attribution::Exact),
    ]);
    let seen = Seen::of(&trace, Some(&model(&nodes)), &[]);
    assert_eq!((&seen.facts["is_folded"], &seen.facts["nodes"]), (&json!(true), &json!(2_101)));
    let scope = seen.parts().into_iter().find(|part| part.0 == "n3");
    assert_eq!(scope, Some(part("n3", "", Kind::Scope, Fate::Unknown, 11)));
}

#[test]
fn chains_are_those_of_several_nodes_with_why_each_stops() {
    let model = model(&["conv: Conv x,x -> a", "relu: Relu a -> b", "pool: MaxPool b -> y"]);
    let chain = |nodes: &[&str], stop: &str| Chain {
        nodes: nodes.iter().map(|&it| it.into()).collect(),
        stop: stop.into(),
        remedy: String::new(),
        zh: [format!("{stop}（中）"), String::new()],
    };
    let chains = [chain(&["pool"], "alone"), chain(&["conv", "relu"], "pool (MaxPool) is not elementwise")];
    let seen = Seen::of(&Trace::new(), Some(&model), &chains);
    assert_eq!(seen.column("chain"), [1, 1, 0]);
    let stop = seen.numbers("chains", "stop");
    let texts = seen.texts();
    assert_eq!(stop.iter().map(|&at| texts[at].as_str()).collect::<Vec<_>>(), [chains[1].stop.as_str()]);
    let zh = seen.numbers("chains", "stop_zh");
    assert_eq!(zh.iter().map(|&at| texts[at].as_str()).collect::<Vec<_>>(), [chains[1].zh[0].as_str()]);
}

/// A profile whose operators read and write tensors of these names.
fn profile_of_tensors(ran: &[(&str, &[&str], &[&str])]) -> Trace {
    let mut trace = Trace::new();
    for (at, (name, inputs, outputs)) in ran.iter().enumerate() {
        let name = trace.strings.intern(name);
        let mut tensors = |names: &[&str]| {
            let rows: Vec<Tensor> = names
                .iter()
                .map(|name| Tensor {
                    name: Some(trace.strings.intern(name)),
                    data_type: DataType::Float32,
                    dimensions: None,
                    layout: None,
                    parameter: false,
                })
                .collect();
            trace.tensors.push_all(rows)
        };
        let ((first_input, input_count), (first_output, output_count)) = (tensors(inputs), tensors(outputs));
        let row =
            Operator { first_input, input_count, first_output, output_count, ..Operator::new(name, name) };
        let operator = Some(trace.operators.push(row));
        trace.tasks.push(Task { operator, ..Task::new(name, Nanoseconds(10 * at as i64), Nanoseconds(5)) });
    }
    trace
}

#[test]
fn without_a_model_names_of_tensors_make_the_graph_also_where_buffers_are_used_again() {
    let trace = profile_of_tensors(&[
        ("a", &["in"], &["buffer"]),
        ("b", &["buffer"], &["other"]),
        ("c", &["other"], &["buffer"]),
        ("d", &["buffer"], &["out"]),
    ]);
    let seen = Seen::of(&trace, None, &[]);
    assert_eq!(seen.facts["from"], "tensors");
    assert_eq!(seen.links(), [(0, 1), (1, 2), (2, 3)]);
}

#[test]
fn operators_that_wait_for_one_another_in_a_circle_are_drawn_with_the_link_that_goes_up() {
    let trace = profile_of_tensors(&[("a", &["w"], &["v"]), ("b", &["v"], &["w"])]);
    let seen = Seen::of(&trace, None, &[]);
    assert_eq!(seen.links(), [(0, 1), (1, 0)]);
    assert_eq!(seen.numbers("edges", "is_back"), [0, 1]);
}

#[test]
fn without_names_of_tensors_each_stream_is_shown_in_its_order_of_execution() {
    let mut trace = profile(&[]);
    let name = trace.strings.intern("npu");
    let device = trace.devices.push(Device { number: 0, kind: DeviceKind::Npu, name });
    let empty = trace.strings.intern("");
    let streams =
        [3, 7].map(|number| trace.streams.push(Stream { device, number, thread: None, name: empty }));
    for at in 0..5 {
        let name = trace.strings.intern(&format!("op{at}"));
        let operator = Some(trace.operators.push(Operator::new(name, name)));
        let start = Nanoseconds(100 - 10 * at);
        let stream = Some(streams[at as usize % 2]);
        trace.tasks.push(Task { operator, stream, ..Task::new(name, start, Nanoseconds(at + 1)) });
    }
    let seen = Seen::of(&trace, None, &[]);
    assert_eq!((&seen.facts["from"], seen.links().len()), (&json!("order"), 0));
    let parts: Vec<(String, usize)> = seen.parts().into_iter().map(|part| (part.0, part.2)).collect();
    let expected = [("=", 3), ("=op4", 0), ("=op2", 0), ("=op0", 0), ("=", 3), ("=op3", 0), ("=op1", 0)];
    assert_eq!(parts, expected.map(|(name, kind)| (name.to_owned(), kind)));
    assert_eq!(seen.column("rank"), [0, 0, 1, 2, 0, 0, 1]);
    assert_eq!(seen.column("column"), [0, 0, 0, 0, 1, 0, 0], "streams stand side by side");
    assert_eq!(seen.facts["nodes"], json!(5));
}

#[test]
fn an_empty_profile_has_an_empty_graph() {
    let seen = Seen::of(&Trace::new(), None, &[]);
    assert_eq!((seen.parts().len(), &seen.facts["nodes"]), (0, &json!(0)));
}

#[test]
fn hostile_names_are_carried_whole_up_to_a_limit_and_make_no_deep_scopes() {
    let long = "a/".repeat(500_000);
    let names = [long.as_str(), "</script><img onerror=alert(1)>", "//", "", "=cmd()", "\u{202e}/\u{0}/x"];
    let ran: Vec<Ran<'_>> =
        names.iter().map(|&name| (name, "Conv", &[][..], 3, Attribution::NoGraph)).collect();
    let trace = profile(&ran);
    let answer = Query::default().run(&trace).unwrap();
    let graph = Graph::of(&trace, &answer, None, &[]);
    assert_eq!(graph.facts["nodes"], json!(names.len()));

    let tensors: Vec<(&str, &[&str], &[&str])> =
        names.iter().map(|&name| (name, &["t"][..], &["t"][..])).collect();
    let seen = Seen::of(&profile_of_tensors(&tensors), None, &[]);
    assert_eq!(seen.facts["nodes"], json!(names.len()));
    assert!(seen.parts().len() < 30);
    let texts = seen.texts();
    assert!(texts.iter().all(|text| text.len() <= (64 << 10) + 3));
}

#[test]
fn more_nodes_than_a_screen_shows_with_links_stand_in_columns() {
    let names: Vec<(String, String)> =
        (0..20_500).map(|at| (format!("t{at}"), format!("t{}", at + 1))).collect();
    let inputs: Vec<[&str; 1]> = names.iter().map(|(from, _)| [from.as_str()]).collect();
    let outputs: Vec<[&str; 1]> = names.iter().map(|(_, to)| [to.as_str()]).collect();
    let ran: Vec<(&str, &[&str], &[&str])> =
        (0..names.len()).map(|at| (names[at].0.as_str(), &inputs[at][..], &outputs[at][..])).collect();
    let seen = Seen::of(&profile_of_tensors(&ran), None, &[]);
    assert_eq!((&seen.facts["in_columns"], seen.links().len()), (&json!(1), 20_499));
    assert!(seen.column("rank").iter().all(|&rank| rank < 250));
}
