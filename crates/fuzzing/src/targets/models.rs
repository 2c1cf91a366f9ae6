//! ONNX models: reading, shapes, costs, and all rewrites.

use std::path::Path;

use opscope_model::{Bindings, Cost, LoadError, Model, ModelKind, Shapes};
use opscope_rewrite::{ALL, NEWEST, Rewrite, RewriteError, Selection, Survey, to_bytes};

use crate::packing::{OPENVINO_MODEL, folder, unpack};
use crate::trail::Trail;

fn load(input: &[u8], trail: &mut Trail) -> Option<Model> {
    Model::from_bytes(input.to_vec().into(), None).map_err(|error| trail.refused(&error)).ok()
}

/// A model is loaded, its weights are read, its shapes and costs worked out.
pub fn read(input: &[u8], trail: &mut Trail) {
    let Some(model) = load(input, trail) else { return };
    ask(&model, trail);
}

/// A model of another format is told by its content, read, and asked the same.
pub fn other(input: &[u8], trail: &mut Trail) {
    trail.counted(ModelKind::of(input).map_or("none", ModelKind::name), 1);
    ask_other(Model::from_any_bytes(input.to_vec().into()), trail);
}

/// A model of OpenVINO with its constants beside it.
pub fn openvino(input: &[u8], trail: &mut Trail) {
    let directory = folder();
    unpack(input, OPENVINO_MODEL, directory.path());
    ask_other(Model::load(directory.path().join("model.xml")), trail);
}

fn ask_other(model: Result<Model, LoadError>, trail: &mut Trail) {
    match model {
        Ok(model) => {
            trail.counted("losses", model.provenance().losses.len());
            trail.counted("origins", model.provenance().origins.len());
            trail.counted("stated", model.provenance().stated.len());
            ask(&model, trail);
        }
        Err(error) => trail.refused(&error),
    }
}

fn ask(model: &Model, trail: &mut Trail) {
    let _ = (model.with_named_nodes(), model.check_external_data());
    if let Some(graph) = &model.proto().graph {
        for tensor in &graph.initializer {
            if let Err(error) = model.tensor_data(tensor) {
                trail.refused(&error);
            }
        }
    }
    match Shapes::infer(model, &Bindings::new()) {
        Ok(shapes) => {
            trail.counted("unresolved", shapes.unresolved().len());
            trail.counted("notes", shapes.notes().len());
            for node in model.graph().nodes() {
                let _ = Cost::of(model, &shapes, node.id).intensity();
                let unresolved = shapes.unresolved().contains(&node.id);
                trail.named(node.op_type, unresolved);
            }
        }
        Err(error) => trail.refused(&error),
    }
}

/// A model is rewritten: by all rewrites together, by each alone, and to newer operators. Whatever comes of it is
/// a model with the same inputs and outputs.
pub fn rewrite(input: &[u8], trail: &mut Trail) {
    let Some(model) = load(input, trail) else { return };
    trail.counted("nodes", model.graph().node_count());
    let everything = Selection { allow_lossy: true, all_uses: true, ..Selection::default() };
    let everything = everything.resolve().expect("known rewrites");
    let usual = Selection::default().resolve().expect("known rewrites");
    apply(&model, &usual, None, trail);
    apply(&model, &everything, None, trail);
    apply(&model, &usual, Some(NEWEST), trail);
    match Survey::of(&model) {
        Ok(survey) => {
            for rewrite in ALL {
                let matches = survey.ask(*rewrite);
                trail.counted(matches.rewrite.id, matches.places.len());
            }
        }
        // The draft of a model that is left as it is.
        Err(error) => is_fault("nothing", &error),
    }
}

fn apply(model: &Model, rewrites: &[&'static dyn Rewrite], opset: Option<i64>, trail: &mut Trail) {
    let rewritten = match opscope_rewrite::rewrite(model, rewrites, opset, true) {
        Ok(rewritten) => rewritten,
        Err(error @ (RewriteError::Broken { .. } | RewriteError::Endless { .. })) => panic!("{error}"),
        Err(error @ RewriteError::Opset(_)) => return trail.refused(&error),
    };
    trail.counted("applications", rewritten.applications.len());
    trail.counted("declined", rewritten.declined.len());
    let ids: Vec<&str> = rewritten.applications.iter().map(|done| done.rewrite.id).collect();
    let bytes = match to_bytes(model, rewritten.proto, Path::new("/nowhere")) {
        Ok(bytes) => bytes,
        Err(error) => return trail.refused(&error),
    };
    let after = match Model::from_bytes(bytes.into(), None) {
        Ok(after) => after,
        Err(error) => return is_fault(&ids.join(", "), &error),
    };
    let interface = |model: &Model| -> (Vec<String>, Vec<String>) {
        let graph = model.graph();
        let names = |ids: &[_]| ids.iter().map(|id| graph.value(*id).name.to_owned()).collect();
        (names(graph.inputs()), names(graph.outputs()))
    };
    assert_eq!(interface(model), interface(&after), "{} changed inputs or outputs", ids.join(", "));
    let _ = Shapes::infer(&after, &Bindings::new());
}

fn is_fault(ids: &str, error: &LoadError) {
    panic!("after {ids} the model can't be loaded: {error}");
}
