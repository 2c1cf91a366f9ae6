//! Advice about opscope's own rewrites, held against what they do.

use std::path::{Path, PathBuf};

use opscope_model::samples::Sample;
use opscope_rewrite::{ALL, Exactness, Rewrite, rewrite};
use opscope_testing::companions;

use super::graph::LAYER_NORM;
use super::*;
use crate::Does;
use crate::outcome::Outcome;
use crate::rewrites::named;

fn found(case: &Case, id: &str) -> crate::Finding {
    let findings = case.report().findings;
    findings.into_iter().find(|finding| finding.rule.id == id).unwrap_or_else(|| panic!("no {id}"))
}

#[test]
fn a_finding_says_how_opscope_does_it_or_that_its_rewrite_finds_no_place() {
    let pow = stored(&[2, 3], &["Pow x,E: -> y"], &[("E", &[2.0])], &[]);
    let finding = found(&on(Target::OnnxRuntime, pow), "G04");
    assert_eq!(finding.does.and_then(|does| does.options()).as_deref(), Some("--only G04a"));
    assert_eq!(
        (&finding.changes[..], &*finding.evidence[0].detail),
        (&["Pow_y".to_owned()][..], "exponent 2")
    );
    let profile = sequence(&["Conv2D", "Softplus", "Tanh", "Mul"]);
    assert!(found(&profile, "G05").does.is_none(), "there is no model to ask about");
    let other = with_model(profile, &["Relu x -> y"]);
    assert!(matches!(found(&other, "G05").does, Some(Does::Nowhere(ids)) if ids == "G05"));
}

#[test]
fn a_rewrite_of_other_operators_than_those_of_the_finding_is_not_offered() {
    // A cast that goes there and back, and ones that the converter put in.
    let nodes = ["Cast x to=11 -> a", "Cast a to=1 -> b", "Relu b -> y"];
    let case = |cast: &str| {
        let profile = Profile::new(&[(cast, "Cast", AI, 500, &[]), ("Relu_y", "Relu", AI, 500, &[])]);
        let model = crate::testing::declared(&crate::testing::graph(&nodes), &[2, 3]);
        Case { model: Some(model), ..of(profile) }
    };
    let does = found(&case("trans_Cast_2"), "A44").does;
    assert!(matches!(does, Some(Does::Elsewhere(ids)) if ids == "G12"));
    let own = found(&case("Cast_b"), "G12").does;
    let options = own.as_ref().and_then(|does| does.options()).unwrap_or_default();
    assert!(options.starts_with("--only G12"), "{own:?}");
    assert!(case("Cast_b").found("A44").is_empty(), "the model's rule tells what becomes of it");
}

#[test]
fn a_power_is_told_by_the_model_that_has_it_and_else_by_the_profile() {
    let case = |name: &str, exponent: f32| {
        let profile = Profile::new(&[(name, "Pow", AI, 500, &[]), ("Relu_y", "Relu", AI, 500, &[])]);
        let model = stored(&[2, 3], &["Pow x,E: -> a", "Relu a -> y"], &[("E", &[exponent])], &[]);
        let report = Case { trace: Some(profile.trace), ..model }.report();
        ["G04", "A44"].map(|id| report.findings.iter().any(|finding| finding.rule.id == id))
    };
    assert_eq!(case("Pow_a", 2.0), [true, false]);
    assert_eq!(case("Pow_a", 2.7), [false, false], "no simpler form has its exponent");
    assert_eq!(case("elsewhere", 2.7), [false, true], "one that the model doesn't tell of");
}

#[test]
fn a_power_of_caffes_that_no_rule_about_graphs_knows_is_told_by_the_profile() {
    let found = |parameters: &str| {
        let network = format!(
            "input: 'x' input_shape {{ dim: 1 dim: 3 dim: 16 dim: 16 }}
             layer {{ name: 'p' type: 'Power' bottom: 'x' top: 'y' power_param {{ {parameters} }} }}"
        );
        let model = Model::from_any_bytes(network.into_bytes().into()).unwrap();
        let profile = Profile::new(&[("p", "Power", AI, 500, &[]), ("relu", "ReLU", AI, 500, &[])]);
        let case = Case { model: Some(model), shape: Some(vec![1, 3, 16, 16]), ..of(profile) };
        ["G04", "A44"].map(|id| case.finds(id))
    };
    assert_eq!(found("power: 2"), [true, false]);
    assert_eq!(found("power: 2 scale: 0.5 shift: 1"), [false, true]);
}

#[test]
fn a_normalisation_that_the_rewrite_leaves_alone_is_no_finding() {
    let norm = |attribute: &str| {
        let norm = format!("BatchNormalization a,S:16,B:16,M:16,V:16 {attribute} -> y");
        graph(&["Conv x,W:16x3x3x3 -> a", &norm])
    };
    assert!(norm("epsilon=0.001f").finds("G01"));
    assert!(!norm("spatial=0").finds("G01") && !norm("training_mode=1").finds("G01"));
}

/// A layer normalisation in pieces, as an engine ran it.
fn normalisation(ops: &[Op<'_>]) -> Case {
    let scaled = ["Div d,r -> n", "Mul n,G:16 -> g", "Add g,B:16 -> y"];
    let nodes = [&LAYER_NORM[..6], &scaled].concat();
    let model = stored(&[2, 3, 16], &nodes, &[("T", &[2.0]), ("E", &[1e-5])], &[]);
    Case { model: on(Target::default(), model).model, ..of(Profile::new(ops)) }
}

#[test]
fn pieces_that_the_engine_contracted_are_done_and_so_is_each_of_them() {
    let done = |ops: &[Op<'_>]| {
        let report = normalisation(ops).report();
        let is_found = |id: &str| report.findings.iter().any(|finding| finding.rule.id == id);
        let is_done = |id: &str| report.done.iter().any(|done| done.id == id);
        ["G28", "G04"].map(|id| (is_found(id), is_done(id)))
    };
    let contracted = [("Div_n", "MVN", CPU, 50, &[][..]), ("Add_y", "Subgraph", CPU, 20, &[])];
    assert_eq!(done(&contracted), [(false, true); 2], "OpenVINO's names");
    let contracted = [("Mul_g/LayerNormFusion/", "LayerNormalization", CPU, 50, &[][..])];
    assert_eq!(done(&contracted), [(false, true); 2], "ONNX Runtime's names");
    let pieces = [("Div_n", "Div", CPU, 50, &[][..]), ("Pow_s", "Pow", CPU, 20, &[])];
    assert_eq!(done(&pieces), [(true, false); 2]);
}

#[test]
fn a_threshold_of_the_users_changes_what_is_found_and_not_what_opscope_does() {
    let case = shaped(&[1, 3, 1, 400], &["Conv x,W:4x3x1x100 -> y"]);
    let settings = Settings::default().with_threshold("G18", "kernel", 64.0);
    let report = case.report_with(&settings);
    let finding = report.findings.iter().find(|finding| finding.rule.id == "G18").expect("a long kernel");
    assert_eq!(finding.evidence[0].detail, "kernel [1, 100]");
    assert!(
        matches!(finding.does, Some(Does::Nowhere(_))),
        "opscope rewrite has its own: {:?}",
        finding.does
    );
}

/// The models below a folder.
fn models_below(folder: PathBuf) -> Vec<(String, Model)> {
    let (mut folders, mut found) = (vec![folder], Vec::new());
    while let Some(next) = folders.pop() {
        for path in std::fs::read_dir(&next).expect("a folder").map(|entry| entry.expect("an entry").path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension() == Some("onnx".as_ref()) {
                let name = path.strip_prefix(&next).unwrap_or(Path::new("")).display().to_string();
                // Some are broken on purpose.
                found.extend(Model::load(&path).ok().map(|model| (name, model)));
            }
        }
    }
    found
}

/// The model's nodes that are gone in another, or aren't the same there.
fn differing(before: &Model, after: &Model) -> (BTreeSet<String>, BTreeSet<String>) {
    let (mut gone, mut changed) = (BTreeSet::new(), BTreeSet::new());
    for node in before.graph().nodes() {
        match after.graph().node_by_name(node.name).filter(|known| known.op_type == node.op_type) {
            None => gone.insert(node.name.to_owned()),
            Some(known) if known.proto != node.proto => changed.insert(node.name.to_owned()),
            Some(_) => false,
        };
    }
    (gone, changed)
}

fn by_id(id: &str) -> &'static dyn Rewrite {
    *ALL.iter().find(|rewrite| rewrite.info().id == id).expect("a rewrite")
}

/// Checks every rule about graphs that names rewrites against what those do, and counts those that found
/// something.
fn check_against_rewrites(name: &str, model: &Model, target: Target, seen: &mut BTreeSet<String>) {
    let subject = Subject::new(None, Some(model), Some(target));
    let survey = subject.rewrites.as_ref().expect("a sound graph");
    for rule in rules().iter().filter(|rule| rule.id.starts_with('G') && rule.is_about(target)) {
        let Some(ids) = named(&rule.auto) else { continue };
        let what = format!("{name} on {}: {}", target.name(), rule.id);
        let causes = match crate::checks::check(&subject, rule) {
            Outcome::Operators(found) => found.causes,
            _ => Vec::new(),
        };
        let named: BTreeSet<String> = causes.iter().flat_map(|cause| cause.claims.changes()).collect();
        if named.is_empty() {
            // Exact changes that need no newer operators aren't passed over.
            for which in ALL.iter().filter(|which| ids.split(',').any(|id| which.info().id.starts_with(id))) {
                let is_slower = target.is_slower_with(which.info().id);
                if which.info().exactness == Exactness::Lossy || is_slower || rule.matches.is_none() {
                    continue;
                }
                let done = rewrite(model, &[*which], None, false).expect("a sound rewrite").applications;
                let counts = done.iter().any(|done| {
                    let made = || done.after.iter().any(|node| target.lacks(&node.op_type));
                    done.before.iter().any(|node| node.op_type != "unread constant") && !made()
                });
                assert!(!counts, "{what} says nothing of {done:?}");
            }
            continue;
        }
        let Some(Does::Rewrites(matches)) = survey.does(&rule.auto, target) else {
            panic!("{what}: by whom?")
        };
        let (mut gone, mut changed) = (BTreeSet::new(), BTreeSet::new());
        for matches in crate::rewrites::proposed(matches) {
            let which = by_id(matches.rewrite.id);
            let done = rewrite(model, &[which], matches.opset, matches.lossy).expect("a sound rewrite");
            let after = Model::from_proto(done.proto, model.folder()).expect("a sound model");
            let (went, others) = differing(model, &after);
            gone.extend(went);
            changed.extend(others);
        }
        assert!(gone.is_subset(&named), "{what} doesn't name {:?}", gone.difference(&named));
        let kept: Vec<_> =
            named.iter().filter(|name| !gone.contains(*name) && !changed.contains(*name)).collect();
        assert!(kept.is_empty(), "{what} names {kept:?}, which stay as they are");
        seen.insert(rule.id.clone());
    }
}

#[test]
fn rules_about_graphs_name_the_nodes_that_rewrites_change() {
    let samples = Sample::ALL.map(|sample| {
        (sample.name().to_owned(), Model::from_proto(sample.build(0), None).expect("a sample is a model"))
    });
    let mut seen = BTreeSet::new();
    for (name, model) in samples {
        for target in [Target::Cann310, Target::OnnxRuntime] {
            check_against_rewrites(&name, &model, target, &mut seen);
        }
    }
    let outside = companions::onnx_data().into_iter().chain(companions::models());
    for (name, model) in outside.flat_map(models_below) {
        check_against_rewrites(&name, &model, Target::Cann310, &mut seen);
    }
    for (id, fires, _) in cases() {
        if let Some(model) = fires.model.as_ref().filter(|_| id.starts_with('G')) {
            check_against_rewrites(id, model, fires.target.unwrap_or(Target::Cann310), &mut seen);
        }
    }
    let silent: Vec<String> = rules()
        .into_iter()
        .filter(|rule| rule.matches.is_some() && !seen.contains(&rule.id))
        .map(|rule| rule.id)
        .collect();
    assert!(silent.is_empty(), "no model shows what {silent:?} name");
}

#[test]
fn rules_name_only_rewrites_that_there_are() {
    for rule in rules() {
        for id in named(&rule.auto).into_iter().flat_map(|ids| ids.split(',')) {
            assert!(ALL.iter().any(|rewrite| rewrite.info().id.starts_with(id)), "{} names {id}", rule.id);
        }
    }
}
