//! The graph: its order, its names, and what makes it unusable.

use opscope_model::proto::{
    AttributeProto, AttributeType, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto,
    ValueInfoProto,
};
use opscope_model::{Dim, LoadError, Model, ValueKind};

fn node(name: &str, inputs: &[&str], outputs: &[&str]) -> NodeProto {
    NodeProto {
        name: Some(name.into()),
        op_type: Some("Add".into()),
        input: inputs.iter().map(|&name| name.into()).collect(),
        output: outputs.iter().map(|&name| name.into()).collect(),
        ..Default::default()
    }
}

fn value(name: &str) -> ValueInfoProto {
    ValueInfoProto { name: Some(name.into()), ..Default::default() }
}

fn graph(nodes: Vec<NodeProto>) -> GraphProto {
    GraphProto { node: nodes, input: vec![value("x")], ..Default::default() }
}

fn load(graph: GraphProto) -> Result<Model, LoadError> {
    let proto = ModelProto {
        ir_version: Some(8),
        opset_import: vec![OperatorSetIdProto { domain: None, version: Some(17) }],
        graph: Some(graph),
        ..Default::default()
    };
    Model::from_proto(proto, None)
}

fn error(graph: GraphProto) -> String {
    load(graph).unwrap_err().to_string()
}

fn with_subgraph(mut node: NodeProto, inner: GraphProto) -> NodeProto {
    node.attribute.push(AttributeProto {
        name: Some("body".into()),
        g: Some(Box::new(inner)),
        r#type: Some(AttributeType::Graph as i32),
        ..Default::default()
    });
    node
}

#[test]
fn nodes_come_in_an_order_in_which_they_can_run_and_else_in_the_files() {
    let model = load(graph(vec![
        node("late", &["b"], &["c"]),
        node("free", &["x"], &["f"]),
        node("early", &["x"], &["a"]),
        node("middle", &["a", "x"], &["b"]),
    ]))
    .unwrap();
    let names: Vec<_> = model.graph().nodes().map(|node| (node.name, node.position)).collect();
    assert_eq!(names, [("free", 1), ("early", 2), ("middle", 3), ("late", 0)]);
    for node in model.graph().nodes() {
        for value in node.reads().map(|id| model.graph().value(id)) {
            assert!(value.producer.is_none_or(|producer| producer < node.id));
        }
    }
}

#[test]
fn values_know_where_they_come_from_and_go() {
    let mut graph = graph(vec![node("n", &["x", "w", "", "x"], &["y", ""]), node("m", &["y", "x"], &["z"])]);
    graph.initializer = vec![TensorProto {
        name: Some("w".into()),
        dims: vec![2, 3],
        data_type: Some(1),
        ..Default::default()
    }];
    // An initializer that is listed as an input is a default, not something to give.
    graph.input.push(value("w"));
    graph.output = vec![value("z")];
    let model = load(graph).unwrap();
    let graph = model.graph();
    let by_name = |name| graph.value_by_name(name).unwrap();
    assert_eq!(graph.inputs(), [by_name("x").id]);
    assert_eq!(graph.outputs(), [by_name("z").id]);
    assert_eq!(
        ["x", "w", "y"].map(|name| by_name(name).kind),
        [ValueKind::Input, ValueKind::Initializer, ValueKind::Intermediate]
    );
    let (n, m) = (graph.node_by_name("n").unwrap(), graph.node_by_name("m").unwrap());
    assert_eq!(by_name("x").consumers, [n.id, m.id]);
    assert_eq!((by_name("y").producer, by_name("x").producer), (Some(n.id), None));
    assert_eq!(n.inputs, [Some(by_name("x").id), Some(by_name("w").id), None, Some(by_name("x").id)]);
    assert_eq!(n.outputs, [Some(by_name("y").id), None]);
    assert_eq!((n.input(2), n.input(9), n.output(0)), (None, None, Some(by_name("y").id)));
    assert!(by_name("z").is_output && !by_name("y").is_output);
    assert_eq!(by_name("w").declared().unwrap().dims, Some(vec![Dim::Known(2), Dim::Known(3)]));
}

#[test]
fn values_that_a_subgraph_reads_from_around_it_count_as_read() {
    let inner = GraphProto {
        node: vec![node("", &["a", "own"], &["t"]), node("", &["t", "x"], &["u"])],
        input: vec![value("own")],
        output: vec![value("u")],
        ..Default::default()
    };
    let loops = with_subgraph(node("loop", &["x"], &["y"]), inner);
    let model = load(graph(vec![loops, node("first", &["x"], &["a"])])).unwrap();
    let nodes: Vec<_> = model.graph().nodes().collect();
    assert_eq!([nodes[0].name, nodes[1].name], ["first", "loop"]);
    let a = model.graph().value_by_name("a").unwrap();
    // `x` is an input already.
    assert_eq!(nodes[1].captured, [a.id]);
    assert_eq!(a.consumers, [nodes[1].id]);
}

#[test]
fn every_node_gets_a_name_of_its_own_and_only_given_ones_count_as_such() {
    let nodes =
        || vec![node("", &["x"], &["a"]), node("twice", &["a"], &["b"]), node("twice", &["b"], &["c"])];
    let model = load(graph(nodes())).unwrap();
    let names: Vec<_> = model.graph().nodes().map(|node| (node.name, node.named)).collect();
    assert_eq!(names, [("Add_0", false), ("twice", true), ("Add_2", false)]);

    let named = model.with_named_nodes();
    let written: Vec<_> = named.graph.as_ref().unwrap().node.iter().map(|node| node.name()).collect();
    assert_eq!(written, ["Add_0", "twice", "Add_2"]);
    let again = Model::from_proto(named, None).unwrap();
    assert!(again.graph().nodes().all(|node| node.named));
}

#[test]
fn nodes_of_subgraphs_are_named_after_the_node_around_them() {
    let inner = GraphProto {
        node: vec![node("", &["x"], &["t"]), node("kept", &["t"], &["u"])],
        output: vec![value("u")],
        ..Default::default()
    };
    let model = load(graph(vec![with_subgraph(node("", &["x"], &["y"]), inner)])).unwrap();
    let named = model.with_named_nodes();
    let outer = &named.graph.as_ref().unwrap().node[0];
    let inner = outer.attribute[0].g.as_ref().unwrap();
    assert_eq!(outer.name(), "Add_0");
    assert_eq!([inner.node[0].name(), inner.node[1].name()], ["Add_0/body/Add_0", "kept"]);
}

#[test]
fn a_value_that_nothing_or_more_than_one_thing_defines_is_refused() {
    let dangling = error(graph(vec![node("n", &["x", "ghost"], &["y"])]));
    assert!(dangling.contains("`n`") && dangling.contains("`ghost`"), "{dangling}");
    let twice = error(graph(vec![node("n", &["x"], &["y"]), node("m", &["x"], &["y"])]));
    assert!(twice.contains("`y`") && twice.contains("`n`") && twice.contains("`m`"), "{twice}");
    let input = error(graph(vec![node("n", &["x"], &["x"])]));
    assert!(input.contains("an input of the graph") && input.contains("`n`"), "{input}");
    let mut twice_listed = graph(Vec::new());
    twice_listed.input.push(value("x"));
    assert!(error(twice_listed).contains("defined twice"));
    let mut no_output = graph(Vec::new());
    no_output.output.push(value("nothing"));
    assert!(error(no_output).contains("`nothing`"));
    let inner = GraphProto { node: vec![node("", &["ghost"], &["t"])], ..Default::default() };
    let captured = error(graph(vec![with_subgraph(node("n", &["x"], &["y"]), inner)]));
    assert!(captured.contains("`n`") && captured.contains("`ghost`"), "{captured}");
}

#[test]
fn a_circle_is_told_by_the_nodes_in_it_alone() {
    let nodes = vec![
        node("before", &["x"], &["a"]),
        node("one", &["a", "d"], &["b"]),
        node("two", &["b"], &["c"]),
        node("three", &["c"], &["d"]),
        node("behind", &["d"], &["e"]),
    ];
    let text = error(graph(nodes));
    assert!(text.contains("`one`") && text.contains("`two`") && text.contains("`three`"), "{text}");
    assert!(!text.contains("`before`") && !text.contains("`behind`"), "{text}");
    let itself = error(graph(vec![node("self", &["y"], &["y"])]));
    assert!(itself.contains("`self`"), "{itself}");
}

#[test]
fn graphs_nested_too_deep_are_refused_before_the_stack_ends() {
    let mut inner = GraphProto { node: vec![node("", &["x"], &["t"])], ..Default::default() };
    for _ in 0..200 {
        inner =
            GraphProto { node: vec![with_subgraph(node("", &["x"], &["t"]), inner)], ..Default::default() };
    }
    let text = error(inner_with_input(inner));
    assert!(text.contains("nested more than 32"), "{text}");
}

fn inner_with_input(inner: GraphProto) -> GraphProto {
    GraphProto { input: vec![value("x")], ..inner }
}

#[test]
fn a_long_chain_of_nodes_does_not_depend_on_the_stack() {
    let count = 200_000;
    let name = |n: usize| if n == 0 { "x".to_owned() } else { format!("v{n}") };
    // Backwards, so that the order has to be found.
    let nodes = (0..count).rev().map(|n| node("", &[&name(n)], &[&name(n + 1)])).collect();
    let model = load(graph(nodes)).unwrap();
    assert_eq!(model.graph().node_count(), count);
    let last = model.graph().nodes().next_back().unwrap();
    assert_eq!(last.position, 0);
}
