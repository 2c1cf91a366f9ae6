//! All tensors that a model stores, wherever in it they stand: as initializers, dense or sparse, and in
//! attributes of nodes; in its graph and those within it, in its functions and in what is for training.

use crate::proto::{
    AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, SparseTensorProto, TensorProto,
    TrainingInfoProto,
};

/// The attribute that a tensor is in.
#[derive(Clone, Copy, Debug)]
struct Place<'m> {
    node: Option<&'m String>,
    output: Option<&'m String>,
    attribute: Option<&'m String>,
}

/// All tensors whose data lie in another file than the model, without data of their own. Those that have
/// no name, as in most attributes, are named by their place.
pub fn external_tensors(model: &ModelProto) -> Vec<TensorProto> {
    let mut found = Vec::new();
    each(model, &mut |place, tensor| {
        if is_external(tensor) {
            let mut tensor = TensorProto { raw_data: None, ..tensor.clone() };
            if tensor.name().is_empty() {
                tensor.name = place.map(name_of);
            }
            found.push(tensor);
        }
    });
    found
}

/// The same tensors where they are in the model, to be changed.
pub fn external_tensors_mut(model: &mut ModelProto) -> Vec<&mut TensorProto> {
    let mut found = Vec::new();
    each_mut(model, &mut |_, tensor| {
        if is_external(tensor) {
            found.push(tensor);
        }
    });
    found
}

fn is_external(tensor: &TensorProto) -> bool {
    tensor.data_location == Some(1)
}

fn name_of(place: Place<'_>) -> String {
    let text = |name: Option<&String>| name.cloned().unwrap_or_default();
    let attribute = text(place.attribute);
    match place.node.filter(|name| !name.is_empty()) {
        Some(node) => format!("{attribute} of the node {node}"),
        None => format!("{attribute} of the node that computes {}", text(place.output)),
    }
}

/// The same walk over a model to be read (`each`) and to be changed (`each_mut`).
macro_rules! walk {
    ($each:ident, $in_attributes:ident $(, $mut:tt)?) => {
        fn $each<'m>(
            model: &'m $($mut)? ModelProto,
            visit: &mut impl FnMut(Option<Place<'m>>, &'m $($mut)? TensorProto),
        ) {
            let ModelProto { graph, training_info, functions, .. } = model;
            let mut graphs: Vec<&'m $($mut)? GraphProto> = Vec::new();
            graphs.extend(graph);
            for TrainingInfoProto { initialization, algorithm, .. } in training_info {
                graphs.extend(initialization);
                graphs.extend(algorithm);
            }
            for FunctionProto { node, attribute_proto, name, .. } in functions {
                let place = Place { node: name.as_ref(), output: None, attribute: None };
                $in_attributes(place, attribute_proto, &mut graphs, visit);
                for NodeProto { name, output, attribute, .. } in node {
                    let place = Place { node: name.as_ref(), output: output.first(), attribute: None };
                    $in_attributes(place, attribute, &mut graphs, visit);
                }
            }
            while let Some(GraphProto { node, initializer, sparse_initializer, .. }) = graphs.pop() {
                for tensor in initializer {
                    visit(None, tensor);
                }
                for SparseTensorProto { values, indices, .. } in sparse_initializer {
                    for tensor in values.into_iter().chain(indices) {
                        visit(None, tensor);
                    }
                }
                for NodeProto { name, output, attribute, .. } in node {
                    let place = Place { node: name.as_ref(), output: output.first(), attribute: None };
                    $in_attributes(place, attribute, &mut graphs, visit);
                }
            }
        }

        fn $in_attributes<'m>(
            place: Place<'m>,
            attributes: &'m $($mut)? Vec<AttributeProto>,
            inner: &mut Vec<&'m $($mut)? GraphProto>,
            visit: &mut impl FnMut(Option<Place<'m>>, &'m $($mut)? TensorProto),
        ) {
            for attribute in attributes {
                let AttributeProto { name, t, tensors, sparse_tensor, sparse_tensors, g, graphs, .. } = attribute;
                let place = Some(Place { attribute: name.as_ref(), ..place });
                if let Some(tensor) = t {
                    visit(place, tensor);
                }
                for tensor in tensors {
                    visit(place, tensor);
                }
                if let Some(sparse) = sparse_tensor {
                    let SparseTensorProto { values, indices, .. } = &$($mut)? **sparse;
                    for tensor in values.into_iter().chain(indices) {
                        visit(place, tensor);
                    }
                }
                for SparseTensorProto { values, indices, .. } in sparse_tensors {
                    for tensor in values.into_iter().chain(indices) {
                        visit(place, tensor);
                    }
                }
                if let Some(graph) = g {
                    inner.push(graph);
                }
                inner.extend(graphs);
            }
        }
    };
}

walk!(each, in_attributes);
walk!(each_mut, in_attributes_mut, mut);

#[cfg(test)]
mod tests {
    use super::*;

    fn outside(name: &str) -> TensorProto {
        TensorProto { name: Some(name.into()), data_location: Some(1), ..Default::default() }
    }

    fn boxed(name: &str) -> Option<Box<TensorProto>> {
        Some(Box::new(outside(name)))
    }

    fn sparse(name: &str) -> SparseTensorProto {
        SparseTensorProto {
            values: Some(outside(&format!("{name} values"))),
            indices: Some(outside(&format!("{name} indices"))),
            ..Default::default()
        }
    }

    fn node(attribute: AttributeProto) -> NodeProto {
        let attribute = AttributeProto { name: Some("value".into()), ..attribute };
        NodeProto { output: vec!["y".into()], attribute: vec![attribute], ..Default::default() }
    }

    /// A graph with one initializer, which is outside, and one that isn't.
    fn graph(name: &str) -> GraphProto {
        GraphProto { initializer: vec![outside(name), TensorProto::default()], ..Default::default() }
    }

    #[test]
    fn tensors_outside_are_found_wherever_a_model_has_them() {
        let inner = AttributeProto {
            t: boxed(""),
            tensors: vec![outside("one of several")],
            sparse_tensor: Some(Box::new(sparse("sparse"))),
            sparse_tensors: vec![sparse("one sparse of several")],
            g: Some(Box::new(graph("branch"))),
            graphs: vec![graph("one branch of several")],
            ..Default::default()
        };
        let mut outer = graph("weights");
        outer.sparse_initializer = vec![sparse("sparse weights")];
        outer.node = vec![node(inner)];
        let in_function = node(AttributeProto { t: boxed("in a function"), ..Default::default() });
        let default = AttributeProto { t: boxed("a function's default"), ..Default::default() };
        let mut model = ModelProto {
            graph: Some(outer),
            functions: vec![FunctionProto {
                node: vec![in_function],
                attribute_proto: vec![default],
                ..Default::default()
            }],
            training_info: vec![TrainingInfoProto {
                initialization: Some(graph("before training")),
                algorithm: Some(graph("training")),
                ..Default::default()
            }],
            ..Default::default()
        };
        let mut names: Vec<String> =
            external_tensors(&model).into_iter().filter_map(|tensor| tensor.name).collect();
        names.sort();
        let expected = [
            "a function's default",
            "before training",
            "branch",
            "in a function",
            "one branch of several",
            "one of several",
            "one sparse of several indices",
            "one sparse of several values",
            "sparse indices",
            "sparse values",
            "sparse weights indices",
            "sparse weights values",
            "training",
            "value of the node that computes y",
            "weights",
        ];
        assert_eq!(names, expected);
        for tensor in external_tensors_mut(&mut model) {
            tensor.data_location = None;
        }
        assert!(external_tensors(&model).is_empty());
    }
}
