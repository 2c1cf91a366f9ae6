//! What is said of opscope's own rewrites.

use super::*;
use crate::Does;

fn ability(id: &str, lossy: bool, opset: Option<i64>, node: &str) -> Ability {
    let places = vec![vec![(node.to_owned(), "Pow".to_owned())]];
    Ability { id: id.to_owned(), lossy, opset, places, moves: Vec::new(), makes: Vec::new() }
}

fn found(case: &Case, id: &str) -> crate::Finding {
    let findings = case.report().findings;
    findings.into_iter().find(|finding| finding.rule.id == id).unwrap_or_else(|| panic!("no {id}"))
}

#[test]
fn a_finding_says_how_opscope_does_it_or_that_its_rewrite_finds_no_place() {
    let pow = || Case {
        model: Some(graph_with(&["Pow x,E: -> y"], &[("E", &[2.0])])),
        target: Some(Target::OnnxRuntime),
        ..Case::default()
    };
    assert_eq!(found(&pow(), "G04").does, None, "nobody asked the rewrites");
    let asked = Case { rewrites: Some(vec![ability("G04a", false, None, "Pow_y")]), ..pow() };
    let does = found(&asked, "G04").does.unwrap();
    assert_eq!((does.options().as_deref(), does.places()), (Some("--only G04a"), 1));
    let none = Case { rewrites: Some(Vec::new()), ..pow() };
    assert_eq!(found(&none, "G04").does, Some(Does::Nowhere("G04".to_owned())));
}

#[test]
fn what_a_rewrite_finds_and_the_rule_alone_does_not_is_a_finding_too() {
    let model = || on(Target::OnnxRuntime, graph(&["Relu x -> y"]));
    assert!(!model().finds("G04"));
    let case = Case { rewrites: Some(vec![ability("G04b", false, None, "Relu_y")]), ..model() };
    assert_eq!(found(&case, "G04").evidence[0].name, "Relu_y");
    let lossy = Case { rewrites: Some(vec![ability("G10", true, None, "Relu_y")]), ..model() };
    assert!(!lossy.finds("G10"), "what changes results isn't proposed for its own sake");
}

#[test]
fn options_raise_the_version_and_allow_what_is_lossy_only_where_they_must() {
    let mish = |abilities: Vec<Ability>| Does::Rewrites(abilities).options().unwrap();
    let (exact, lossy) = (ability("G05a", false, Some(18), "m"), ability("G05b", true, None, "m"));
    assert_eq!(mish(vec![exact, lossy.clone()]), "--only G05a --opset 18");
    assert_eq!(mish(vec![lossy]), "--only G05b --allow-lossy");
}
