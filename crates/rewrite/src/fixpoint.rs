//! Applying rewrites until nothing more changes.

use std::fmt;

use opscope_model::parts::Parts;
use opscope_model::proto::{ModelProto, NodeProto};
use opscope_model::{LoadError, Model};

use crate::draft::{Draft, Edit, NodeView, Refusal};
use crate::info::{Exactness, Info};
use crate::opset::{OpsetError, check_opset};
use crate::rewrite::Rewrite;
use crate::rules::g25d_dead::ID as DEAD_CODE;

/// The word for what is no operator in a log of what went.
pub(crate) const UNREAD_CONSTANT: &str = "unread constant";

/// Rounds over the whole graph after which it must have come to rest.
const MOST_ROUNDS: usize = 64;

/// A node as logs name it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeName {
    /// Its name.
    pub name: String,
    /// Its operator.
    pub op_type: String,
}

impl NodeName {
    /// The name of a node; without one of its own, that of its first result.
    pub(crate) fn of(node: &NodeProto) -> Self {
        let name =
            if node.name().is_empty() { node.output.first().map_or("", String::as_str) } else { node.name() };
        Self { name: name.to_owned(), op_type: node.op_type().to_owned() }
    }
}

/// `name (operator)`.
impl fmt::Display for NodeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.name.is_empty() {
            f.write_str(&self.op_type)
        } else {
            write!(f, "{} ({})", self.name, self.op_type)
        }
    }
}

/// A rewrite at one place.
#[derive(Clone, Debug)]
pub struct Application {
    /// The rewrite that was applied.
    pub rewrite: &'static Info,
    /// How close the results are here: what is quantised behind it, and some types, make it farther
    /// than the rewrite by itself.
    pub exactness: Exactness,
    /// The node at which the pattern was found.
    pub at: NodeName,
    /// The reason why the place stands out; empty where its nodes say it.
    pub because: String,
    /// The nodes of the pattern that went, be it into others.
    pub before: Vec<NodeName>,
    /// The nodes that came.
    pub after: Vec<NodeName>,
    /// The nodes that went as well because only those before read them.
    pub unneeded: Vec<NodeName>,
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
    /// The changes, in order.
    pub applications: Vec<Application>,
    /// The places that had to be left alone in the end.
    pub declined: Vec<Declined>,
    /// How many nodes there were before.
    pub nodes_before: usize,
    /// How many nodes there are now.
    pub nodes_after: usize,
    /// How many nodes there are inside of others (`If`, `Loop`, `Scan`) and in functions, which are left as they are.
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
    let inner_nodes = Parts::of(model.proto()).nodes();
    Ok(Rewritten { proto, applications, declined, nodes_before, nodes_after, inner_nodes, opset: raised })
}

/// Applies rewrites until nothing changes any more, and gives what couldn't be done in the last round.
pub(crate) fn to_rest(
    draft: &mut Draft<'_>,
    rewrites: &[&dyn Rewrite],
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

/// Drops constants that nobody reads, when dead code is to go.
pub(crate) fn drop_unread_constants(
    rewrites: &[&dyn Rewrite],
    draft: &mut Draft<'_>,
    applications: &mut Vec<Application>,
) {
    let Some(rewrite) = rewrites.iter().find(|rewrite| rewrite.info().id == DEAD_CODE) else { return };
    let unread = draft.unread_constants();
    unread.iter().for_each(|name| draft.forget_constant(name));
    let named = |name: String| NodeName { name, op_type: UNREAD_CONSTANT.to_owned() };
    let before: Vec<NodeName> = unread.into_iter().map(named).collect();
    let Some(first) = before.first() else { return };
    applications.push(Application {
        rewrite: rewrite.info(),
        exactness: Exactness::Exact,
        at: first.clone(),
        because: String::new(),
        after: Vec::new(),
        unneeded: Vec::new(),
        before,
    });
}

/// One rewrite at every node there is now.
fn apply_everywhere(
    rewrite: &dyn Rewrite,
    draft: &mut Draft<'_>,
    allow_lossy: bool,
    applications: &mut Vec<Application>,
    declined: &mut Vec<Declined>,
) {
    if draft.opset() < rewrite.since() {
        return;
    }
    let (roots, info) = (rewrite.roots(), rewrite.info());
    // To follow every result to the model's end would take too long where it is needless.
    let may_be_quantised = rewrite.computes() && draft.has_quantisers();
    for id in draft.order() {
        let Some(node) = draft.node(id).filter(|node| is_root(*node, roots)) else { continue };
        let at = NodeName::of(node.proto);
        let Some(edit) = rewrite.edit(draft, id) else { continue };
        let mut exactness = edit.own_exactness().unwrap_or(info.exactness);
        let refusal = if may_be_quantised { quantiser(draft, &edit, exactness) } else { None };
        if refusal.is_some() {
            exactness = Exactness::Lossy;
        }
        let refusal = refusal.filter(|_| !allow_lossy).map(|by| Refusal::Quantised { by });
        let removed = edit.removed().iter().filter_map(|&id| draft.node(id));
        let before = removed.map(|node| NodeName::of(node.proto)).collect();
        let after = edit.added().iter().map(NodeName::of).collect();
        let because = edit.reason().to_owned();
        match refusal.map_or_else(|| draft.commit(edit), Err) {
            Ok(unneeded) => {
                let unneeded = unneeded.iter().map(NodeName::of).collect();
                let done = Application { rewrite: info, exactness, at, because, before, after, unneeded };
                applications.push(done);
            }
            Err(reason) => declined.push(Declined { rewrite: info.id, node: at.name, reason }),
        }
    }
}

/// Whether a pattern may be found at a node, by the operators that it is found at.
pub(crate) fn is_root(node: NodeView<'_>, roots: &[&str]) -> bool {
    roots.is_empty() || roots.contains(&node.op_type())
}

/// The node that makes whole steps of what an edit rounds in another way.
fn quantiser(draft: &Draft<'_>, edit: &Edit, exactness: Exactness) -> Option<String> {
    match exactness {
        Exactness::Exact | Exactness::Lossy => None,
        Exactness::Rounding | Exactness::Bounded => draft.quantiser_behind(edit),
    }
}
