//! Models of one node, for tests.

use opscope_trace::DataType;

use crate::cost::Cost;
use crate::graph::NodeId;
use crate::load::Model;
use crate::proto::{
    AttributeProto, AttributeType, Dimension, DimensionValue, GraphProto, ModelProto, NodeProto,
    OperatorSetIdProto, TensorProto, TensorShapeProto, TensorType, TypeProto, TypeValue, ValueInfoProto,
    data_type_to_onnx,
};
use crate::shapes::{Bindings, Shapes};

/// A node of a given operator; `Case::new("com.microsoft:Gelu")` is one of another domain.
pub(crate) struct Case {
    node: NodeProto,
    graph: GraphProto,
    version: i64,
}

/// The declaration of a tensor; −1 is a dimension of any size.
pub(crate) fn declared(name: &str, data_type: DataType, dims: &[i64]) -> ValueInfoProto {
    let dim = |&n: &i64| Dimension { value: Some(DimensionValue::Value(n)), denotation: None };
    let tensor = TensorType {
        elem_type: Some(data_type_to_onnx(data_type)),
        shape: Some(TensorShapeProto { dim: dims.iter().map(dim).collect() }),
    };
    let declared = TypeProto { value: Some(TypeValue::Tensor(tensor)), denotation: None };
    ValueInfoProto { name: Some(name.into()), r#type: Some(declared), ..Default::default() }
}

/// The name of a value without a type.
pub(crate) fn untyped(name: &str) -> ValueInfoProto {
    ValueInfoProto { name: Some(name.into()), ..Default::default() }
}

/// A node.
pub(crate) fn node(op_type: &str, inputs: &[&str], outputs: &[&str]) -> NodeProto {
    let (domain, op_type) = op_type.split_once(':').unwrap_or(("", op_type));
    NodeProto {
        domain: Some(domain.into()),
        op_type: Some(op_type.into()),
        input: inputs.iter().map(|&name| name.into()).collect(),
        output: outputs.iter().map(|&name| name.into()).collect(),
        ..Default::default()
    }
}

/// An attribute that is a graph.
pub(crate) fn graph_attribute(name: &str, graph: GraphProto) -> AttributeProto {
    let (g, r#type) = (Some(Box::new(graph)), Some(AttributeType::Graph as i32));
    AttributeProto { name: Some(name.into()), g, r#type, ..Default::default() }
}

/// A model around a graph.
pub(crate) fn model_of(graph: GraphProto, version: i64) -> ModelProto {
    let opset_import = vec![OperatorSetIdProto { domain: None, version: Some(version) }];
    ModelProto { ir_version: Some(8), opset_import, graph: Some(graph), ..Default::default() }
}

/// Known dimensions.
pub(crate) fn dims(dims: &[u64]) -> Option<Vec<Option<u64>>> {
    Some(dims.iter().copied().map(Some).collect())
}

impl Case {
    pub(crate) fn new(op_type: &str) -> Self {
        Self { node: node(op_type, &[], &["out0"]), graph: GraphProto::default(), version: 18 }
    }

    pub(crate) fn version(mut self, version: i64) -> Self {
        self.version = version;
        self
    }

    pub(crate) fn outputs(mut self, count: usize) -> Self {
        self.node.output = (0..count).map(|place| format!("out{place}")).collect();
        self
    }

    /// An input of floating-point numbers; −1 is a dimension that isn't known.
    pub(crate) fn input(self, dims: &[i64]) -> Self {
        self.typed(DataType::Float32, dims)
    }

    pub(crate) fn typed(mut self, data_type: DataType, dims: &[i64]) -> Self {
        let name = self.next_input();
        self.graph.input.push(declared(&name, data_type, dims));
        self
    }

    /// An input that is left out.
    pub(crate) fn skip(mut self) -> Self {
        self.node.input.push(String::new());
        self
    }

    /// A stored list of integers.
    pub(crate) fn list(self, list: &[i64]) -> Self {
        let dims = vec![list.len() as i64];
        self.stored(TensorProto { data_type: Some(7), dims, int64_data: list.to_vec(), ..Default::default() })
    }

    pub(crate) fn scalar(self, n: i64) -> Self {
        self.stored(TensorProto { data_type: Some(7), int64_data: vec![n], ..Default::default() })
    }

    pub(crate) fn floats(self, list: &[f32]) -> Self {
        let dims = vec![list.len() as i64];
        self.stored(TensorProto { data_type: Some(1), dims, float_data: list.to_vec(), ..Default::default() })
    }

    /// A stored tensor of zeros.
    pub(crate) fn weight(self, dims: &[i64]) -> Self {
        let (count, dims) = (dims.iter().product::<i64>() as usize, dims.to_vec());
        self.stored(TensorProto {
            data_type: Some(1),
            dims,
            float_data: vec![0.0; count],
            ..Default::default()
        })
    }

    pub(crate) fn stored(mut self, tensor: TensorProto) -> Self {
        let name = Some(self.next_input());
        self.graph.initializer.push(TensorProto { name, ..tensor });
        self
    }

    pub(crate) fn int(self, name: &str, i: i64) -> Self {
        self.attribute(name, AttributeType::Int, AttributeProto { i: Some(i), ..Default::default() })
    }

    pub(crate) fn ints(self, name: &str, ints: &[i64]) -> Self {
        self.attribute(
            name,
            AttributeType::Ints,
            AttributeProto { ints: ints.to_vec(), ..Default::default() },
        )
    }

    pub(crate) fn string(self, name: &str, text: &str) -> Self {
        let s = Some(text.to_owned().into());
        self.attribute(name, AttributeType::String, AttributeProto { s, ..Default::default() })
    }

    pub(crate) fn strings(self, name: &str, texts: &[&str]) -> Self {
        let strings = texts.iter().map(|text| (*text).to_owned().into()).collect();
        self.attribute(name, AttributeType::Strings, AttributeProto { strings, ..Default::default() })
    }

    /// The declared type of the first output, for operators that nothing else tells of.
    pub(crate) fn output(mut self, dims: &[i64]) -> Self {
        self.graph.value_info.push(declared("out0", DataType::Float32, dims));
        self
    }

    pub(crate) fn graph(mut self, name: &str, graph: GraphProto) -> Self {
        self.node.attribute.push(graph_attribute(name, graph));
        self
    }

    pub(crate) fn attribute(mut self, name: &str, kind: AttributeType, attribute: AttributeProto) -> Self {
        let (name, r#type) = (Some(name.into()), Some(kind as i32));
        self.node.attribute.push(AttributeProto { name, r#type, ..attribute });
        self
    }

    /// Adds another node behind, such as one that makes elements visible as dimensions.
    pub(crate) fn then(mut self, node: NodeProto) -> Self {
        self.graph.node.push(node);
        self
    }

    /// Another input of the graph.
    pub(crate) fn add_input(&mut self, input: ValueInfoProto) {
        self.graph.input.push(input);
    }

    pub(crate) fn model(self) -> Model {
        let mut graph = self.graph;
        graph.node.insert(0, self.node);
        Model::from_proto(model_of(graph, self.version), None).expect("the test's model loads")
    }

    pub(crate) fn shapes(self) -> (Model, Shapes) {
        let model = self.model();
        let shapes = Shapes::infer(&model, &Bindings::new()).expect("nothing is bound");
        (model, shapes)
    }

    /// Type and dimensions of each output of the node; there must be no notes.
    pub(crate) fn types(self) -> Vec<(DataType, Option<Vec<Option<u64>>>)> {
        let (model, shapes) = self.shapes();
        assert_eq!(shapes.notes(), []);
        let node = model.graph().node(NodeId::from_index(0));
        let outputs = node.outputs.iter().flatten().map(|id| shapes.get(*id));
        outputs
            .map(|shape| {
                (shape.map_or_else(Default::default, |s| s.data_type), shape.map(|s| s.dims.clone()))
            })
            .collect()
    }

    /// The dimensions of each output of the node.
    pub(crate) fn dims(self) -> Vec<Option<Vec<Option<u64>>>> {
        self.types().into_iter().map(|(_, dims)| dims).collect()
    }

    /// The dimensions of the first output.
    pub(crate) fn first(self) -> Option<Vec<Option<u64>>> {
        self.dims().swap_remove(0)
    }

    /// The elements of the first output, which must be a vector of integers: the dimensions of a tensor
    /// that is made of them.
    pub(crate) fn elements(self) -> Option<Vec<Option<u64>>> {
        let (model, shapes) = self.then(node("ConstantOfShape", &["out0"], &["made"])).shapes();
        let made = model.graph().value_by_name("made").expect("it was added").id;
        shapes.get(made).map(|shape| shape.dims.clone())
    }

    /// The objection of the inference to the node.
    pub(crate) fn note(self) -> String {
        let (_, shapes) = self.shapes();
        shapes.notes().iter().map(|note| note.text.clone()).collect::<Vec<_>>().join("; ")
    }

    pub(crate) fn cost(self) -> Cost {
        let (model, shapes) = self.shapes();
        Cost::of(&model, &shapes, NodeId::from_index(0))
    }

    pub(crate) fn flops(self) -> Option<u64> {
        self.cost().flops
    }

    fn next_input(&mut self) -> String {
        let name = format!("in{}", self.node.input.len());
        self.node.input.push(name.clone());
        name
    }
}
