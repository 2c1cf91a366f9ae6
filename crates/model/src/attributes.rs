//! The attributes of a node.

use serde_json::{Map, Number, Value as Json, json};

use crate::declared::{Declared, Dim};
use crate::proto::{AttributeProto, AttributeType, GraphProto, TensorProto, TypeProto, data_type_from_onnx};
use crate::tensor::{ExternalFiles, TensorData};

/// Lists and tensors of more elements than this are summarised in JSON.
const MAX_LISTED: usize = 32;

/// A node's attributes, in the file's order. Getters give `None` when there is no such attribute or
/// it is of another type.
#[derive(Clone, Copy, Debug)]
pub struct Attributes<'m> {
    protos: &'m [AttributeProto],
}

impl<'m> Attributes<'m> {
    /// The attributes that a file has.
    pub fn new(protos: &'m [AttributeProto]) -> Self {
        Self { protos }
    }

    /// The attributes as the file has them.
    pub fn iter(self) -> impl ExactSizeIterator<Item = &'m AttributeProto> {
        self.protos.iter()
    }

    /// An attribute by its name.
    pub fn get(self, name: &str) -> Option<&'m AttributeProto> {
        self.protos.iter().find(|attribute| attribute.name() == name)
    }

    /// Whether there is an attribute of this name.
    pub fn has(self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// An integer.
    pub fn int(self, name: &str) -> Option<i64> {
        self.typed(name, AttributeType::Int).map(|attribute| attribute.i.unwrap_or(0))
    }

    /// A list of integers.
    pub fn ints(self, name: &str) -> Option<&'m [i64]> {
        self.typed(name, AttributeType::Ints).map(|attribute| attribute.ints.as_slice())
    }

    /// A number.
    pub fn float(self, name: &str) -> Option<f32> {
        self.typed(name, AttributeType::Float).map(|attribute| attribute.f.unwrap_or(0.0))
    }

    /// A list of numbers.
    pub fn floats(self, name: &str) -> Option<&'m [f32]> {
        self.typed(name, AttributeType::Floats).map(|attribute| attribute.floats.as_slice())
    }

    /// Text; `None` also when it isn't UTF-8.
    pub fn string(self, name: &str) -> Option<&'m str> {
        let attribute = self.typed(name, AttributeType::String)?;
        attribute.s.as_ref().map_or(Some(""), |text| str::from_utf8(text).ok())
    }

    /// A list of texts; those that aren't UTF-8 are left out.
    pub fn strings(self, name: &str) -> Option<Vec<&'m str>> {
        let attribute = self.typed(name, AttributeType::Strings)?;
        Some(attribute.strings.iter().filter_map(|text| str::from_utf8(text).ok()).collect())
    }

    /// A tensor.
    pub fn tensor(self, name: &str) -> Option<&'m TensorProto> {
        self.typed(name, AttributeType::Tensor)?.t.as_deref()
    }

    /// A graph.
    pub fn graph(self, name: &str) -> Option<&'m GraphProto> {
        self.typed(name, AttributeType::Graph)?.g.as_deref()
    }

    /// The attributes as one JSON object; big tensors, lists and all graphs only as summaries.
    pub fn to_json(self) -> String {
        let pairs = self.protos.iter().map(|attribute| (attribute.name().to_owned(), json_of(attribute)));
        Json::Object(pairs.collect::<Map<_, _>>()).to_string()
    }

    fn typed(self, name: &str, wanted: AttributeType) -> Option<&'m AttributeProto> {
        self.get(name).filter(|attribute| type_of(attribute) == wanted)
    }
}

/// The type of an attribute; files of the first IR version don't say it, but set one field only.
fn type_of(attribute: &AttributeProto) -> AttributeType {
    match attribute.r#type() {
        AttributeType::Undefined => {}
        known => return known,
    }
    let set = [
        (attribute.f.is_some(), AttributeType::Float),
        (attribute.i.is_some(), AttributeType::Int),
        (attribute.s.is_some(), AttributeType::String),
        (attribute.t.is_some(), AttributeType::Tensor),
        (attribute.g.is_some(), AttributeType::Graph),
        (!attribute.floats.is_empty(), AttributeType::Floats),
        (!attribute.ints.is_empty(), AttributeType::Ints),
        (!attribute.strings.is_empty(), AttributeType::Strings),
        (!attribute.tensors.is_empty(), AttributeType::Tensors),
        (!attribute.graphs.is_empty(), AttributeType::Graphs),
    ];
    set.into_iter().find(|(is_set, _)| *is_set).map_or(AttributeType::Undefined, |(_, kind)| kind)
}

fn json_of(attribute: &AttributeProto) -> Json {
    if let Some(outer) = attribute.ref_attr_name.as_ref().filter(|name| !name.is_empty()) {
        return json!({ "attribute_of_function": outer });
    }
    match type_of(attribute) {
        AttributeType::Float => json_of_number(attribute.f.unwrap_or(0.0).into()),
        AttributeType::Int => attribute.i.unwrap_or(0).into(),
        AttributeType::String => json_of_text(attribute.s.as_deref().unwrap_or_default()),
        AttributeType::Tensor => attribute.t.as_deref().map_or(Json::Null, json_of_tensor),
        AttributeType::Graph => attribute.g.as_deref().map_or(Json::Null, json_of_graph),
        AttributeType::Floats => list(&attribute.floats, |x| json_of_number(f64::from(*x))),
        AttributeType::Ints => list(&attribute.ints, |n| (*n).into()),
        AttributeType::Strings => list(&attribute.strings, |text| json_of_text(text)),
        AttributeType::Tensors => list(&attribute.tensors, json_of_tensor),
        AttributeType::Graphs => list(&attribute.graphs, json_of_graph),
        AttributeType::TypeProto => attribute.tp.as_deref().map_or(Json::Null, json_of_type),
        AttributeType::TypeProtos => list(&attribute.type_protos, json_of_type),
        AttributeType::SparseTensor | AttributeType::SparseTensors => json!("sparse"),
        AttributeType::Undefined => Json::Null,
    }
}

fn list<T>(items: &[T], convert: impl Fn(&T) -> Json) -> Json {
    let listed = items.iter().take(MAX_LISTED).map(convert).collect::<Vec<_>>();
    if items.len() <= MAX_LISTED {
        Json::Array(listed)
    } else {
        json!({ "count": items.len(), "first": listed })
    }
}

/// A number; JSON has no words for those that aren't finite, so they become text.
fn json_of_number(x: f64) -> Json {
    Number::from_f64(x).map_or_else(|| x.to_string().into(), Json::Number)
}

fn json_of_text(text: &[u8]) -> Json {
    let listed = text.len() <= 1024;
    match str::from_utf8(text) {
        Ok(text) if listed => text.into(),
        _ => json!({ "bytes": text.len() }),
    }
}

fn json_of_tensor(tensor: &TensorProto) -> Json {
    let data_type = data_type_from_onnx(tensor.data_type.unwrap_or(0));
    let mut summary = json!({ "data_type": data_type.name(), "dims": tensor.dims });
    let count = tensor.dims.iter().try_fold(1i64, |product, &n| product.checked_mul(n));
    if count.is_some_and(|count| count <= MAX_LISTED as i64)
        && let Ok(data) = TensorData::read(tensor, &ExternalFiles::default())
    {
        let values = match data.to_i64s() {
            Some(integers) => Some(integers.into_iter().map(Json::from).collect()),
            None => data.to_f64s().map(|numbers| numbers.into_iter().map(json_of_number).collect()),
        };
        if let Some(values) = values {
            summary["values"] = Json::Array(values);
        }
    }
    summary
}

fn json_of_graph(graph: &GraphProto) -> Json {
    json!({ "graph": graph.name(), "nodes": graph.node.len() })
}

fn json_of_type(declared: &TypeProto) -> Json {
    Declared::from_type(declared).map_or(Json::Null, |declared| {
        let dims = declared.dims.map(|dims| dims.iter().map(Dim::to_string).collect::<Vec<_>>());
        json!({ "data_type": declared.data_type.name(), "dims": dims })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str, attribute: AttributeProto) -> AttributeProto {
        AttributeProto { name: Some(name.into()), ..attribute }
    }

    #[test]
    fn a_getter_gives_nothing_for_another_type() {
        let protos = [named(
            "axis",
            AttributeProto { i: Some(-1), r#type: Some(AttributeType::Int as i32), ..Default::default() },
        )];
        let attributes = Attributes::new(&protos);
        assert_eq!(attributes.int("axis"), Some(-1));
        assert_eq!((attributes.float("axis"), attributes.ints("axis")), (None, None));
        assert_eq!(attributes.int("axes"), None);
    }

    #[test]
    fn an_attribute_without_a_type_is_of_the_type_of_its_field() {
        let protos = [named("pads", AttributeProto { ints: vec![1, 1], ..Default::default() })];
        assert_eq!(Attributes::new(&protos).ints("pads"), Some(&[1, 1][..]));
    }

    #[test]
    fn json_lists_small_things_and_summarises_big_ones() {
        let tensor = |count: i64| TensorProto {
            dims: vec![count],
            data_type: Some(7),
            int64_data: (0..count).collect(),
            ..Default::default()
        };
        let protos = [
            named("alpha", AttributeProto { f: Some(0.5), ..Default::default() }),
            named("huge", AttributeProto { f: Some(f32::INFINITY), ..Default::default() }),
            named("mode", AttributeProto { s: Some("a\"b".into()), ..Default::default() }),
            named("many", AttributeProto { ints: (0..1000).collect(), ..Default::default() }),
            named("small", AttributeProto { t: Some(Box::new(tensor(2))), ..Default::default() }),
            named("big", AttributeProto { t: Some(Box::new(tensor(1000))), ..Default::default() }),
        ];
        let json: Json = serde_json::from_str(&Attributes::new(&protos).to_json()).unwrap();
        assert_eq!(json["alpha"], 0.5);
        assert_eq!(json["huge"], "inf");
        assert_eq!(json["mode"], "a\"b");
        assert_eq!(
            (json["many"]["count"].as_i64(), json["many"]["first"][31].as_i64()),
            (Some(1000), Some(31))
        );
        assert_eq!(json["small"], json!({ "data_type": "int64", "dims": [2], "values": [0, 1] }));
        assert_eq!(json["big"], json!({ "data_type": "int64", "dims": [1000] }));
    }
}
