//! Where rewrites apply to a model, which stays as it is.
//!
//! A [`Survey`] reads a model once and can then be asked about any rewrite. The answer is what
//! `opscope rewrite --only ID` would do, with the options that it needs: each rewrite is tried by itself,
//! on a copy, and only where its pattern is found at all.

use std::collections::{HashMap, HashSet};

use opscope_model::{LoadError, Model};

use crate::draft::{Draft, NodeIndex, Refusal};
use crate::fixpoint::{
    Application, Declined, NodeName, UNREAD_CONSTANT, drop_unread_constants, is_root, to_rest,
};
use crate::info::{Exactness, Info};
use crate::opset::check_opset;
use crate::rewrite::Rewrite;
use crate::rules::g25d_dead::ID as DEAD_CODE;

/// Where one rewrite applies to a model, and with which options.
#[derive(Clone, Debug)]
pub struct Matches {
    /// The rewrite.
    pub rewrite: &'static Info,
    /// Whether it changes what the model computes, so that it must be allowed.
    pub lossy: bool,
    /// The version that ONNX's operators have to be raised to for it.
    pub opset: Option<i64>,
    /// The places at which it applies, in the order in which it does.
    pub places: Vec<Place>,
    /// The places at which its pattern is found and left alone, and why.
    pub declined: Vec<Declined>,
}

/// A place at which a rewrite applies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The node at which the pattern was found.
    pub at: NodeName,
    /// The model's nodes that change or go, each once.
    pub nodes: Vec<NodeName>,
    /// The ones among them that go without one of their kind in their place.
    pub gone: Vec<NodeName>,
    /// The operators that come and that weren't among the nodes before.
    pub made: Vec<String>,
    /// The reason why the place stands out; empty where its nodes say it.
    pub because: String,
}

/// A model that can be asked where rewrites apply.
#[derive(Debug)]
pub struct Survey<'m> {
    model: &'m Model,
    draft: Draft<'m>,
    order: Vec<NodeIndex>,
    /// The places of nodes in the order, by operator.
    by_operator: HashMap<String, Vec<NodeIndex>>,
}

impl<'m> Survey<'m> {
    /// Reads a model.
    ///
    /// # Errors
    /// When the graph isn't sound once it is written anew.
    pub fn of(model: &'m Model) -> Result<Self, LoadError> {
        let mut draft = Draft::new(model);
        draft.infer_shapes()?;
        let order = draft.order();
        let mut by_operator: HashMap<String, Vec<NodeIndex>> = HashMap::new();
        for node in order.iter().filter_map(|id| draft.node(*id)) {
            by_operator.entry(node.op_type().to_owned()).or_default().push(node.id);
        }
        Ok(Self { model, draft, order, by_operator })
    }

    /// Where a rewrite applies: as the model is, or else with newer operators; exactly, or else with
    /// permission to change results.
    pub fn ask(&self, rewrite: &dyn Rewrite) -> Matches {
        let own = self.with_permission(rewrite, &self.draft, None);
        let since = rewrite.since();
        let may_be_raised = since > self.draft.opset() && self.has_roots(rewrite);
        if !own.places.is_empty() || !may_be_raised || check_opset(self.model, since).is_err() {
            return own;
        }
        let mut newer = self.draft.clone();
        newer.set_opset(since);
        self.with_permission(rewrite, &newer, Some(since))
    }

    fn with_permission(&self, rewrite: &dyn Rewrite, draft: &Draft<'m>, opset: Option<i64>) -> Matches {
        let always_lossy = rewrite.info().exactness == Exactness::Lossy;
        let matches = self.tried(rewrite, draft, opset, always_lossy);
        let is_quantised = |declined: &Declined| matches!(declined.reason, Refusal::Quantised { .. });
        if matches.places.is_empty() && matches.declined.iter().any(is_quantised) {
            return self.tried(rewrite, draft, opset, true);
        }
        matches
    }

    fn tried(&self, rewrite: &dyn Rewrite, draft: &Draft<'m>, opset: Option<i64>, lossy: bool) -> Matches {
        let mut matches =
            Matches { rewrite: rewrite.info(), lossy, opset, places: Vec::new(), declined: Vec::new() };
        if !self.is_found(rewrite, draft) {
            return matches;
        }
        let (mut draft, mut applications) = (draft.clone(), Vec::new());
        // A rewrite that turns out to be faulty here does so in `opscope rewrite` as well.
        let Ok(declined) = to_rest(&mut draft, &[rewrite], lossy, &mut applications) else { return matches };
        drop_unread_constants(&[rewrite], &mut draft, &mut applications);
        matches.places = applications.into_iter().map(|done| self.place(done)).collect();
        matches.declined = declined;
        matches
    }

    fn has_roots(&self, rewrite: &dyn Rewrite) -> bool {
        let roots = rewrite.roots();
        roots.is_empty() || roots.iter().any(|op_type| self.by_operator.contains_key(*op_type))
    }

    /// Whether a rewrite's pattern is anywhere in the model.
    fn is_found(&self, rewrite: &dyn Rewrite, draft: &Draft<'_>) -> bool {
        if draft.opset() < rewrite.since() {
            return false;
        }
        let found = |id: &NodeIndex| {
            let is_candidate = draft.node(*id).is_some_and(|node| is_root(node, rewrite.roots()));
            is_candidate && rewrite.edit(draft, *id).is_some()
        };
        match rewrite.roots() {
            [] => {
                let has_unread = rewrite.info().id == DEAD_CODE && !draft.unread_constants().is_empty();
                has_unread || self.order.iter().any(found)
            }
            roots => roots.iter().filter_map(|op_type| self.by_operator.get(*op_type)).flatten().any(found),
        }
    }

    /// The place of an application: of its nodes only those that the model has.
    fn place(&self, done: Application) -> Place {
        let graph = self.model.graph();
        let is_own = |node: &&NodeName| {
            graph.node_by_name(&node.name).is_some_and(|known| known.op_type == node.op_type)
        };
        let (mut nodes, mut gone): (Vec<NodeName>, Vec<NodeName>) = (Vec::new(), Vec::new());
        let mut stay: Vec<&str> = done.after.iter().map(|node| kind(&node.op_type)).collect();
        for node in &done.before {
            match stay.iter().position(|op_type| *op_type == kind(&node.op_type)) {
                Some(place) => {
                    stay.swap_remove(place);
                }
                None => gone.push(node.clone()),
            }
        }
        gone.extend(done.unneeded.iter().cloned());
        gone.retain(|node| is_own(&node));
        let mut seen = HashSet::new();
        for node in done.before.iter().chain(&done.unneeded).filter(is_own) {
            if seen.insert(node) {
                nodes.push(node.clone());
            }
        }
        let was_there = |op_type: &str| done.before.iter().any(|node| node.op_type == op_type);
        let new = done.after.iter().filter(|node| !was_there(&node.op_type));
        let mut made: Vec<String> = new.map(|node| node.op_type.clone()).collect();
        made.dedup();
        let at = match nodes.last() {
            Some(last) if !nodes.contains(&done.at) => last.clone(),
            _ => done.at,
        };
        Place { at, nodes, gone, made, because: done.because }
    }
}

impl Place {
    /// Whether it is about a constant that nobody reads, and no node.
    pub fn is_of_constants(&self) -> bool {
        self.at.op_type == UNREAD_CONSTANT
    }
}

/// The operator that stands for those that do the same work.
fn kind(op_type: &str) -> &str {
    if op_type == "Gemm" { "MatMul" } else { op_type }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use opscope_model::samples::Sample;

    use super::*;
    use crate::testing::net;
    use crate::{ALL, Rewritten, rewrite};

    /// A model and what a rewrite does to it, with the options that the survey says.
    fn both(model: &Model, which: &'static dyn Rewrite, matches: &Matches) -> Rewritten {
        rewrite(model, &[which], matches.opset, matches.lossy).expect("a sound rewrite")
    }

    fn by_id(id: &str) -> &'static dyn Rewrite {
        *ALL.iter().find(|rewrite| rewrite.info().id == id).expect("a rewrite")
    }

    fn names(nodes: &[NodeName]) -> Vec<&str> {
        nodes.iter().map(|node| &*node.name).collect()
    }

    #[test]
    fn a_survey_names_the_places_that_each_rewrite_by_itself_changes() {
        let mut found = BTreeSet::new();
        for sample in [Sample::MaskSsd, Sample::YoloMish, Sample::Encoder] {
            let model = Model::from_proto(sample.build(0), None).expect("a model");
            let survey = Survey::of(&model).expect("a sound graph");
            for which in ALL {
                let matches = survey.ask(*which);
                let done = both(&model, *which, &matches);
                assert_eq!(matches.places.len(), done.applications.len(), "{sample} {}", matches.rewrite.id);
                assert_eq!(matches.declined, done.declined, "{sample} {}", matches.rewrite.id);
                found.extend((!matches.places.is_empty()).then_some(matches.rewrite.id));
            }
        }
        for id in ["G01", "G04a", "G05a", "G05b", "G28a"] {
            assert!(found.contains(id), "no place for {id} in {found:?}");
        }
    }

    #[test]
    fn nodes_that_others_of_their_kind_replace_are_not_gone() {
        let model = Model::from_proto(Sample::MaskSsd.build(0), None).expect("a model");
        let places = Survey::of(&model).expect("a sound graph").ask(by_id("G01")).places;
        let gone: Vec<&str> =
            places.iter().flat_map(|place| &place.gone).map(|node| &*node.op_type).collect();
        assert!(gone.len() > 10 && gone.iter().all(|it| *it == "BatchNormalization"), "{gone:?}");
        let model = Model::from_proto(Sample::YoloMish.build(0), None).expect("a model");
        let survey = Survey::of(&model).expect("a sound graph");
        let made = |id: &str| survey.ask(by_id(id)).places[0].made.join(" ");
        assert_eq!((made("G05a"), made("G05b")), ("Mish".to_owned(), "LeakyRelu".to_owned()));
    }

    #[test]
    fn newer_operators_and_permission_are_asked_for_only_where_they_are_needed() {
        let mish = net("opset 13; input x f32[4]; s = Softplus(x); t = Tanh(s); y = Mul(x, t); output y");
        let survey = Survey::of(&mish).expect("a sound graph");
        let ask = |id: &str| survey.ask(by_id(id));
        let options = |matches: &Matches| (matches.opset, matches.lossy, matches.places.len());
        assert_eq!(options(&ask("G05a")), (Some(18), false, 1));
        assert_eq!(options(&ask("G05b")), (None, true, 1));
        assert_eq!(options(&ask("G01")), (None, false, 0));
        let power = "const e f32 3; input x f32[40,40]; y = Pow(x, e)";
        let quantised = net(&format!("{power}; z = Round(y); output z"));
        let survey = Survey::of(&quantised).expect("a sound graph");
        assert_eq!(options(&survey.ask(by_id("G04a"))), (None, true, 1));
        let plain = net(&format!("{power}; output y"));
        assert_eq!(options(&Survey::of(&plain).expect("a sound graph").ask(by_id("G04a"))), (None, false, 1));
    }

    #[test]
    fn a_place_says_which_nodes_go_with_those_that_only_they_needed() {
        let model = net("input x f32[2,3]; a = Transpose(x) perm=[1,0]; b = Transpose(a) perm=[1,0]
             c = Abs(b); output c");
        let survey = Survey::of(&model).expect("a sound graph");
        let places = survey.ask(by_id("G15b")).places;
        let [place] = &places[..] else { panic!("{places:?}") };
        assert_eq!(place.nodes, place.gone);
        assert_eq!(names(&place.nodes).len(), 2, "the first goes because only the second read it: {place:?}");
        let product = net("input x f32[2,3]; const w random[3,4]; const b random[4]
             p = MatMul(x, w); y = Add(p, b); output y");
        let places = Survey::of(&product).expect("a sound graph").ask(by_id("G26")).places;
        assert_eq!(places[0].gone.iter().map(|node| &*node.op_type).collect::<Vec<_>>(), ["Add"]);
        assert_eq!((places[0].nodes.len(), &places[0].made[..]), (2, &["Gemm".to_owned()][..]));
    }

    #[test]
    fn another_limit_finds_other_places_and_a_place_left_alone_says_why() {
        let model = net("const w random[4,3,1,30]; input x f32[1,3,1,40]; y = Conv(x, w); output y");
        let survey = Survey::of(&model).expect("a sound graph");
        let split = by_id("G18");
        assert!(survey.ask(split).places.is_empty());
        let lower = split.with_limit(16).expect("a limit");
        let places = survey.ask(&*lower).places;
        assert_eq!((places.len(), &*places[0].because), (1, "kernel [1, 30]"));
        let shared = net("const s positive[4]; const b random[4]; const m random[4]; const v positive[4]
             const w random[4,3,3,3]; input x f32[1,3,9,9]; c = Conv(x, w); y = BatchNormalization(c, s, b, m, v)
             r = Relu(c); output y; output r");
        let matches = Survey::of(&shared).expect("a sound graph").ask(by_id("G01"));
        assert!(matches.places.is_empty());
        assert!(matches!(matches.declined[..], [Declined { reason: Refusal::AlsoReadBy { .. }, .. }]));
    }
}
