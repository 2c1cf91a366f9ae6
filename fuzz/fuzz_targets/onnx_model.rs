//! ONNX models: load, infer shapes, count what they cost, and read their weights.
#![no_main]

use libfuzzer_sys::fuzz_target;
use opscope_model::{Bindings, Cost, Model, Shapes};

fuzz_target!(|input: &[u8]| {
    let Ok(model) = Model::from_bytes(input.to_vec().into(), None) else { return };
    let _ = (model.with_named_nodes(), model.check_external_data());
    if let Some(graph) = &model.proto().graph {
        for tensor in &graph.initializer {
            let _ = model.tensor_data(tensor);
        }
    }
    if let Ok(shapes) = Shapes::infer(&model, &Bindings::new()) {
        for node in model.graph().nodes() {
            let _ = Cost::of(&model, &shapes, node.id);
        }
    }
});
