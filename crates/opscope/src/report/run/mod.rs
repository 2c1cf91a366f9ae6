//! The answer of `opscope run` and `import`: as text for a person, and as JSON for a program.

mod json;
mod operators;
mod text;

use std::collections::HashSet;

use opscope_analyze::Summary;
use opscope_trace::{Attribution, ModelId, StringId, Trace};

pub use json::to_json;
pub use text::to_text;

/// A trace with the figures that both forms of the answer show.
pub struct RunReport<'a> {
    /// The trace of the run.
    pub trace: &'a Trace,
    /// The model that the figures are of; `None` is all of them together.
    pub model: Option<ModelId>,
    /// Its figures.
    pub summary: Summary,
    /// How the operators were matched with the model's graph.
    pub matching: Matching,
}

/// How many operators were matched with the model's graph, and how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Matching {
    /// Operators that are one node of the graph.
    pub exact: usize,
    /// Operators that the engine made out of several nodes.
    pub fused: usize,
    /// Nodes of the graph that went into those.
    pub fused_nodes: usize,
    /// Operators that the engine added.
    pub engine: usize,
    /// Operators that no node could be named for.
    pub unattributed: usize,
    /// Nodes of the graph that the engine removed before running it.
    pub removed: usize,
}

impl<'a> RunReport<'a> {
    /// The figures of a trace, all models taken together.
    pub fn of(trace: &'a Trace) -> Self {
        Self::new(trace, None, Summary::of(trace))
    }

    /// The figures of each model, where the trace holds the iterations of several.
    pub fn of_each_model(trace: &'a Trace) -> Vec<Self> {
        let ran = |model: &ModelId| trace.iterations.model().contains(&Some(*model));
        let models: Vec<ModelId> = trace.models.ids().filter(ran).collect();
        match models[..] {
            [] | [_] => Vec::new(),
            _ => models
                .into_iter()
                .map(|id| Self::new(trace, Some(id), Summary::of_model(trace, id)))
                .collect(),
        }
    }

    fn new(trace: &'a Trace, model: Option<ModelId>, summary: Summary) -> Self {
        let mut matching = Matching::default();
        // A node is in several operators where several do its work for themselves.
        let mut fused: HashSet<StringId> = HashSet::new();
        let wanted = |of: Option<ModelId>| model.is_none() || of == model;
        for (_, operator) in trace.operators.iter().filter(|(_, operator)| wanted(operator.model)) {
            match operator.attribution {
                Attribution::NoGraph => {}
                Attribution::Exact => matching.exact += 1,
                Attribution::Fused => {
                    matching.fused += 1;
                    fused.extend(trace.names.get(operator.origins));
                }
                Attribution::Engine => matching.engine += 1,
                Attribution::Unattributed => matching.unattributed += 1,
                Attribution::Removed => matching.removed += 1,
            }
        }
        matching.fused_nodes = fused.len();
        Self { trace, model, summary, matching }
    }
}
