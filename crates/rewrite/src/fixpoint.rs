//! Applying rewrites until nothing more changes.

use opscope_model::proto::{GraphProto, ModelProto};
use opscope_model::{LoadError, Model};

use crate::draft::{Draft, Edit, Refusal};
use crate::opset::{OpsetError, check_opset};
use crate::rewrite::{Exactness, Info, Rewrite};
use crate::rules::g25d_dead::ID as DEAD_CODE;

/// Rounds over the whole graph after which it must have come to rest.
const MOST_ROUNDS: usize = 64;

/// A rewrite at one place.
#[derive(Clone, Debug)]
pub struct Application {
    /// What was applied.
    pub rewrite: &'static Info,
    /// How close the results are here: what is quantised behind it, and some types, make it farther
    /// than the rewrite by itself.
    pub exactness: Exactness,
    /// The nodes that went, as `name (operator)`.
    pub before: Vec<String>,
    /// The nodes that came.
    pub after: Vec<String>,
}

/// A pattern that was found but left alone, because someone else needs what would go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declined {
    /// The rewrite's id.
    pub rewrite: &'static str,
    /// The node at which the pattern was found.
    pub node: String,
    /// Why it was left alone.
    pub reason: Refusal,
}

/// A model that was rewritten.
#[derive(Clone, Debug)]
pub struct Rewritten {
    /// The model as it is now.
    pub proto: ModelProto,
    /// What was done, in order.
    pub applications: Vec<Application>,
    /// What couldn't be done in the end.
    pub declined: Vec<Declined>,
    /// How many nodes there were before.
    pub nodes_before: usize,
    /// How many nodes there are now.
    pub nodes_after: usize,
    /// How many nodes there are inside of others (`If`, `Loop`, `Scan`), which are left as they are.
    pub inner_nodes: usize,
    /// The version of ONNX's operators, if it was raised: before and now.
    pub opset: Option<(i64, i64)>,
}

/// Why a model couldn't be rewritten.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the texts say what the fields are")]
pub enum RewriteError {
    #[error(transparent)]
    Opset(#[from] OpsetError),
    #[error("the rewrites {ids} left no sound graph, which is a fault of opscope: {source}")]
    Broken { ids: String, source: LoadError },
    #[error(
        "the rewrites {ids} went on changing the graph after {MOST_ROUNDS} rounds, which is a fault of opscope"
    )]
    Endless { ids: String },
}

/// Applies rewrites to a model, each wherever its pattern is found, until none finds anything more. With
/// `opset`, the version of ONNX's operators is then raised, and the rewrites get another go; what a
/// rewrite has replaced by then needn't keep its meaning. Without `allow_lossy`, a rewrite that may round
/// in another way is declined where its results come to be quantised.
///
/// # Errors
/// When the version can't be raised without changing what an operator means; and when a rewrite turns
/// out to be faulty.
pub fn rewrite(
    model: &Model,
    rewrites: &[&'static dyn Rewrite],
    opset: Option<i64>,
    allow_lossy: bool,
) -> Result<Rewritten, RewriteError> {
    let mut draft = Draft::new(model);
    let nodes_before = draft.node_count();
    let mut applications = Vec::new();
    let mut declined = to_rest(&mut draft, rewrites, allow_lossy, &mut applications)?;
    let mut raised = None;
    if let Some(target) = opset.filter(|target| *target != draft.opset()) {
        let now = Model::from_proto(draft.to_proto(), model.folder());
        check_opset(&now.map_err(|source| broken(&applications, source))?, target)?;
        raised = Some((draft.opset(), target));
        draft.set_opset(target);
        declined = to_rest(&mut draft, rewrites, allow_lossy, &mut applications)?;
    }
    drop_unread_constants(rewrites, &mut draft, &mut applications);
    let nodes_after = draft.node_count();
    let proto = draft.to_proto();
    let inner_nodes = inner_nodes(model.graph().proto());
    Ok(Rewritten { proto, applications, declined, nodes_before, nodes_after, inner_nodes, opset: raised })
}

/// How many nodes the graphs inside a graph's nodes have, at any depth.
fn inner_nodes(graph: &GraphProto) -> usize {
    let (mut graphs, mut count) = (vec![graph], 0);
    while let Some(next) = graphs.pop() {
        for attribute in next.node.iter().flat_map(|node| &node.attribute) {
            for inner in attribute.g.iter().map(|graph| &**graph).chain(&attribute.graphs) {
                count += inner.node.len();
                graphs.push(inner);
            }
        }
    }
    count
}

/// Applies rewrites until nothing changes any more, and gives what couldn't be done in the last round.
fn to_rest(
    draft: &mut Draft<'_>,
    rewrites: &[&'static dyn Rewrite],
    allow_lossy: bool,
    applications: &mut Vec<Application>,
) -> Result<Vec<Declined>, RewriteError> {
    for _ in 0..MOST_ROUNDS {
        draft.infer_shapes().map_err(|source| broken(applications, source))?;
        let (done, mut declined) = (applications.len(), Vec::new());
        for rewrite in rewrites {
            apply_everywhere(*rewrite, draft, allow_lossy, applications, &mut declined);
        }
        if applications.len() == done {
            return Ok(declined);
        }
    }
    Err(RewriteError::Endless { ids: ids(applications) })
}

fn broken(applications: &[Application], source: LoadError) -> RewriteError {
    RewriteError::Broken { ids: ids(applications), source }
}

/// The ids of what was applied, each once.
fn ids(applications: &[Application]) -> String {
    let mut ids: Vec<_> = applications.iter().map(|done| done.rewrite.id).collect();
    ids.sort_unstable();
    ids.dedup();
    ids.join(", ")
}

/// What was stored in vain goes when dead code is to go.
fn drop_unread_constants(
    rewrites: &[&'static dyn Rewrite],
    draft: &mut Draft<'_>,
    applications: &mut Vec<Application>,
) {
    let Some(rewrite) = rewrites.iter().find(|rewrite| rewrite.info().id == DEAD_CODE) else { return };
    let unread = draft.unread_constants();
    if unread.is_empty() {
        return;
    }
    unread.iter().for_each(|name| draft.forget_constant(name));
    let before = unread.into_iter().map(|name| format!("{name} (unread constant)")).collect();
    let (rewrite, exactness) = (rewrite.info(), Exactness::Exact);
    applications.push(Application { rewrite, exactness, before, after: Vec::new() });
}

/// One rewrite at every node there is now.
fn apply_everywhere(
    rewrite: &dyn Rewrite,
    draft: &mut Draft<'_>,
    allow_lossy: bool,
    applications: &mut Vec<Application>,
    declined: &mut Vec<Declined>,
) {
    let roots = rewrite.roots();
    for id in draft.order() {
        let Some(node) = draft.node(id) else { continue };
        if !(roots.is_empty() || roots.contains(&node.op_type())) {
            continue;
        }
        let name = node.name().to_owned();
        let Some(edit) = rewrite.edit(draft, id) else { continue };
        let mut exactness = edit.own_exactness().unwrap_or(rewrite.info().exactness);
        let mut done = Ok(());
        if rewrite.computes()
            && let Some(by) = quantiser(draft, &edit, exactness)
        {
            exactness = Exactness::Lossy;
            done = if allow_lossy { done } else { Err(Refusal::Quantised { by }) };
        }
        let (before, after) = described(draft, &edit);
        match done.and_then(|()| draft.commit(edit)) {
            Ok(()) => applications.push(Application { rewrite: rewrite.info(), exactness, before, after }),
            Err(reason) => declined.push(Declined { rewrite: rewrite.info().id, node: name, reason }),
        }
    }
}

/// The node that makes whole steps of what an edit rounds in another way.
fn quantiser(draft: &Draft<'_>, edit: &Edit, exactness: Exactness) -> Option<String> {
    match exactness {
        Exactness::Exact | Exactness::Lossy => None,
        Exactness::Rounding | Exactness::Bounded => draft.quantiser_behind(edit),
    }
}

/// The nodes that go and that come, for people.
fn described(draft: &Draft<'_>, edit: &Edit) -> (Vec<String>, Vec<String>) {
    let shown = |name: &str, op_type: &str| {
        if name.is_empty() { op_type.to_owned() } else { format!("{name} ({op_type})") }
    };
    let before = edit.removed().iter().filter_map(|&id| draft.node(id));
    let before = before.map(|node| shown(node.name(), node.proto.op_type())).collect();
    let after = edit.added().iter().map(|node| {
        let name =
            if node.name().is_empty() { node.output.first().map_or("", String::as_str) } else { node.name() };
        shown(name, node.op_type())
    });
    (before, after.collect())
}
