//! What opscope's rewrites find in a model, for the advice about it.

use opscope_advise::Ability;
use opscope_model::Model;
use opscope_rewrite::{ALL, Application, Exactness, Rewrite, rewrite};

/// Groups of rewrites that contract operators to newer ones, and the versions that brought those.
const CONTRACTIONS: [&str; 3] = ["G05", "G06", "G28"];
const VERSIONS: [i64; 5] = [14, 17, 18, 20, 23];

/// What each rewrite does to the model by itself: as the model is, or else with newer operators.
pub fn abilities(model: &Model) -> Vec<Ability> {
    ALL.iter().filter_map(|rewrite| applied(model, *rewrite, None)).chain(raised(model)).collect()
}

/// What rewrites do only once the version of the operators is raised.
fn raised(model: &Model) -> Vec<Ability> {
    let Some(version) = model.opset_version("") else { return Vec::new() };
    let contracts = |rewrite: &&&'static dyn Rewrite| {
        let id = rewrite.info().id;
        CONTRACTIONS.iter().any(|group| id.starts_with(group)) && applied(model, **rewrite, None).is_none()
    };
    let raised = |rewrite: &&'static dyn Rewrite| {
        let newer = VERSIONS.iter().filter(|newer| **newer > version);
        newer.into_iter().find_map(|newer| applied(model, *rewrite, Some(*newer)))
    };
    ALL.iter().filter(contracts).filter_map(raised).collect()
}

fn applied(model: &Model, which: &'static dyn Rewrite, opset: Option<i64>) -> Option<Ability> {
    // What fails here fails in `opscope rewrite` as well.
    let done = rewrite(model, &[which], opset, true).ok()?.applications;
    if done.is_empty() {
        return None;
    }
    let info = which.info();
    // Places where what is computed comes to be quantised need the same permission.
    let needs = |done: &&Application| done.exactness == Exactness::Lossy;
    let lossy = info.exactness == Exactness::Lossy || done.iter().all(|it| needs(&it));
    let usable: Vec<&Application> = done.iter().filter(|it| lossy || !needs(it)).collect();
    let places = usable.iter().map(|done| taken(done)).collect();
    let moves = usable.iter().filter(|done| taken(done).is_empty()).map(|done| moved(done)).collect();
    let mut makes: Vec<String> = usable.iter().flat_map(|done| made(done)).map(str::to_owned).collect();
    makes.sort_unstable();
    makes.dedup();
    Some(Ability { id: info.id.to_owned(), lossy, opset, places, moves, makes })
}

/// The nodes that an application takes away without putting one of their type in their place.
fn taken(done: &Application) -> Vec<(String, String)> {
    let mut kept: Vec<&str> = done.after.iter().map(|text| named(text).1).collect();
    let mut taken = Vec::new();
    for (name, op_type) in done.before.iter().map(|text| named(text)) {
        match kept.iter().position(|kept| *kept == op_type) {
            Some(place) => {
                kept.swap_remove(place);
            }
            None => taken.push((name.to_owned(), op_type.to_owned())),
        }
    }
    taken
}

/// The nodes of an application that takes none away.
fn moved(done: &Application) -> Vec<(String, String)> {
    let owned = |(name, op_type): (&str, &str)| (name.to_owned(), op_type.to_owned());
    done.before.iter().map(|text| owned(named(text))).collect()
}

/// The types of the nodes that an application puts in, without those that it only puts elsewhere.
fn made(done: &Application) -> impl Iterator<Item = &str> {
    let was_there = |op_type: &str| done.before.iter().any(|text| named(text).1 == op_type);
    done.after.iter().map(|text| named(text).1).filter(move |op_type| !was_there(op_type))
}

/// The name and type of `name (type)`.
fn named(text: &str) -> (&str, &str) {
    match text.rsplit_once(" (") {
        Some((name, op_type)) => (name, op_type.trim_end_matches(')')),
        None => ("", text),
    }
}

#[cfg(test)]
mod tests {
    use opscope_model::samples::Sample;

    use super::*;

    #[test]
    fn rules_name_only_rewrites_that_there_are() {
        for rule in opscope_advise::rules() {
            let Some(named) = rule.auto.strip_prefix("rewrite G") else { continue };
            let ids = named.split_whitespace().next().unwrap_or_default();
            for id in format!("G{ids}").split(',') {
                let known = ALL.iter().any(|rewrite| rewrite.info().id.starts_with(id));
                assert!(known, "{} names {id}", rule.id);
            }
        }
    }

    #[test]
    fn what_is_replaced_by_its_like_is_not_taken_away() {
        let model = Model::from_proto(Sample::MaskSsd.build(0), None).expect("a model");
        let abilities = abilities(&model);
        let fold = abilities.iter().find(|ability| ability.id == "G01").expect("normalisations");
        let types: Vec<&str> = fold.places.iter().flatten().map(|(_, op_type)| &**op_type).collect();
        assert!(types.len() > 10 && types.iter().all(|it| *it == "BatchNormalization"), "{types:?}");
    }

    #[test]
    fn contractions_to_newer_operators_say_the_version() {
        let model = Model::from_proto(Sample::YoloMish.build(0), None).expect("a model");
        let abilities = abilities(&model);
        let of = |id: &str| abilities.iter().find(|ability| ability.id == id);
        assert_eq!(of("G05a").and_then(|ability| ability.opset), Some(18));
        assert!(of("G05b").is_some_and(|ability| ability.lossy && ability.opset.is_none()));
        let makes = |id: &str| of(id).map(|ability| ability.makes.join(" "));
        assert_eq!((makes("G05a"), makes("G05b")), (Some("Mish".to_owned()), Some("LeakyRelu".to_owned())));
    }
}
