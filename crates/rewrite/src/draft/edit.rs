//! A change to a draft, and how it is carried out.

use std::collections::{BTreeSet, HashMap, HashSet};

use opscope_model::TensorData;
use opscope_model::proto::NodeProto;

use super::readers::Reading;
use super::{Draft, NodeIndex, NodeView, alike, subgraphs};
use crate::constant;
use crate::info::Exactness;
use crate::node::node;

/// A change to a draft: nodes that go, nodes and constants that come, and values that take the place
/// of others. Nothing happens before [`Draft::commit`].
#[derive(Debug)]
pub struct Edit {
    /// Ends the names of everything new.
    suffix: &'static str,
    removed: Vec<NodeIndex>,
    /// The same, to be looked up.
    gone: HashSet<NodeIndex>,
    added: Vec<NodeProto>,
    constants: Vec<(String, TensorData)>,
    forwarded: Vec<(String, String)>,
    new_names: HashSet<String>,
    /// How far each beginning of new names was counted.
    counts: HashMap<String, usize>,
    exactness: Option<Exactness>,
    because: String,
}

/// Why an edit wasn't carried out: the pattern is there, but someone else needs what it would remove.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the texts say what the fields are")]
pub enum Refusal {
    #[error("`{value}` is also read by `{consumer}`")]
    AlsoReadBy { value: String, consumer: String },
    #[error("`{value}` is an output of the model")]
    IsOutput { value: String },
    #[error("`{value}` is read inside a subgraph")]
    Captured { value: String },
    #[error("a node of the pattern was taken out before")]
    Gone,
    #[error(
        "`{by}` quantises what comes of it, so that another rounding becomes a whole step (--allow-lossy)"
    )]
    Quantised { by: String },
}

impl Edit {
    /// An edit that changes nothing yet; `suffix` ends the names of everything new.
    pub fn new(suffix: &'static str) -> Self {
        Self {
            suffix,
            removed: Vec::new(),
            gone: HashSet::new(),
            added: Vec::new(),
            constants: Vec::new(),
            forwarded: Vec::new(),
            new_names: HashSet::new(),
            counts: HashMap::new(),
            exactness: None,
            because: String::new(),
        }
    }

    /// Takes a node out.
    pub fn remove(&mut self, node: NodeView<'_>) -> &mut Self {
        if self.gone.insert(node.id) {
            self.removed.push(node.id);
        }
        self
    }

    /// Puts a node in. Without a name, it gets one after its first output.
    pub fn add(&mut self, node: NodeProto) -> &mut Self {
        self.added.push(node);
        self
    }

    /// A name that nothing has, made of this one.
    pub fn fresh(&mut self, draft: &Draft<'_>, base: &str) -> String {
        let stem = format!("{base}_{}", self.suffix);
        // Thousands of names may be made of one: none is tried again that was given.
        let counted = self.counts.get(&stem).or_else(|| draft.counts.get(&stem));
        let mut count = counted.map_or(1, |last| last + 1);
        let name = loop {
            super::count_step();
            let name = if count == 1 { stem.clone() } else { format!("{stem}_{count}") };
            if !draft.taken.contains(&name) && !self.new_names.contains(&name) {
                break name;
            }
            count += 1;
        };
        self.counts.insert(stem, count);
        self.new_names.insert(name.clone());
        name
    }

    /// Stores a constant, and gives the name it got.
    pub fn constant(&mut self, draft: &Draft<'_>, base: &str, data: TensorData) -> String {
        let name = self.fresh(draft, base);
        self.constants.push((name.clone(), data));
        name
    }

    /// Adds a node with one new result, and gives that result's name.
    pub fn apply(&mut self, draft: &Draft<'_>, op_type: &str, inputs: &[&str], base: &str) -> String {
        self.apply_node(draft, node(op_type, inputs, &[]), base)
    }

    /// Adds a node that has no output yet, and gives the name of the one that it gets.
    pub fn apply_node(&mut self, draft: &Draft<'_>, mut node: NodeProto, base: &str) -> String {
        let output = self.fresh(draft, base);
        node.output = vec![output.clone()];
        self.added.push(node);
        output
    }

    /// Lets all who read a value read another, equal one.
    pub fn forward(&mut self, from: &str, to: &str) -> &mut Self {
        self.forwarded.push((from.to_owned(), to.to_owned()));
        self
    }

    /// Says how close the results of this edit are, where that isn't as its rewrite says: it depends on
    /// the type of the numbers, or on constants.
    pub fn exactness(&mut self, exactness: Exactness) -> &mut Self {
        self.exactness = Some(exactness);
        self
    }

    /// Says what makes the place stand out, where that isn't plain from its nodes.
    pub fn because(&mut self, reason: impl Into<String>) -> &mut Self {
        self.because = reason.into();
        self
    }

    /// The reason why the place stands out; empty where its nodes say it.
    pub(crate) fn reason(&self) -> &str {
        &self.because
    }

    /// How close the results of this edit are, where it isn't as its rewrite says.
    pub(crate) fn own_exactness(&self) -> Option<Exactness> {
        self.exactness
    }

    /// The operators that go.
    pub(crate) fn removed(&self) -> &[NodeIndex] {
        &self.removed
    }

    /// Whether a node goes.
    pub(crate) fn removes(&self, node: NodeIndex) -> bool {
        self.gone.contains(&node)
    }

    /// The nodes that come.
    pub(crate) fn added(&self) -> &[NodeProto] {
        &self.added
    }
}

impl Draft<'_> {
    /// Carries an edit out. Nodes that only the removed ones needed go as well: these are given.
    ///
    /// # Errors
    /// When something that remains reads what would go, or it is an output of the model. Nothing has
    /// changed then.
    pub fn commit(&mut self, edit: Edit) -> Result<Vec<NodeProto>, Refusal> {
        let forwards = self.check(&edit)?;
        let place = self.place_of(&edit);
        self.shapes_are_current = false;
        self.counts.extend(edit.counts);
        let mut orphans = BTreeSet::new();
        for &id in &edit.removed {
            if let Some(slot) = self.take_out(id) {
                orphans.extend(slot.proto.input);
                orphans.extend(slot.captured);
            }
        }
        for (name, data) in &edit.constants {
            self.taken.insert(name.clone());
            self.constants.insert(name.clone(), constant::to_proto(name, data));
        }
        for (number, mut proto) in edit.added.into_iter().enumerate() {
            if proto.name().is_empty() {
                proto.name = Some(self.node_name(proto.output.first().map_or("node", String::as_str)));
            }
            let captured = subgraphs::captured(&proto);
            self.insert(proto, (place, number + 1), captured);
        }
        for forward in forwards {
            match forward {
                Forward::Readers { from, to } => {
                    self.redirect(&from, &to);
                    orphans.insert(from);
                }
                Forward::Rename { from, to } => self.rename(&to, &from),
            }
        }
        Ok(self.drop_orphans(orphans))
    }

    /// How each value is forwarded, if everything that is still needed remains.
    fn check(&self, edit: &Edit) -> Result<Vec<Forward>, Refusal> {
        let added: HashSet<&str> =
            edit.added.iter().flat_map(|node| &node.output).map(String::as_str).collect();
        // A node that comes may have the subgraphs of one that goes.
        let held: HashSet<String> = edit.added.iter().flat_map(subgraphs::captured).collect();
        let forwarded: HashSet<&str> = edit.forwarded.iter().map(|(from, _)| from.as_str()).collect();
        for &id in &edit.removed {
            let slot = self.slot(id).ok_or(Refusal::Gone)?;
            for name in slot.proto.output.iter().filter(|name| !name.is_empty()) {
                if held.contains(name) && !added.contains(name.as_str()) {
                    return Err(Refusal::Captured { value: name.clone() });
                }
                if added.contains(name.as_str()) || forwarded.contains(name.as_str()) {
                    continue;
                }
                if self.is_output(name) {
                    return Err(Refusal::IsOutput { value: name.clone() });
                }
                let other = self.consumers(name).find(|consumer| !edit.removes(consumer.id));
                // A node that comes may have taken it for another value: `p` is both sides of `Add(p, p)`.
                let coming = || edit.added.iter().find(|node| node.input.contains(name));
                let consumer = other.map(|node| node.name()).or_else(|| coming().map(NodeProto::op_type));
                if let Some(consumer) = consumer.map(str::to_owned) {
                    return Err(Refusal::AlsoReadBy { value: name.clone(), consumer });
                }
            }
        }
        edit.forwarded.iter().map(|(from, to)| self.way(edit, &added, from, to)).collect()
    }

    /// A value that the model returns keeps its name: then the other one takes that name on.
    fn way(&self, edit: &Edit, added: &HashSet<&str>, from: &str, to: &str) -> Result<Forward, Refusal> {
        let (from, to) = (from.to_owned(), to.to_owned());
        if self.is_captured(&from) {
            return Err(Refusal::Captured { value: from });
        }
        if !self.is_output(&from) {
            return Ok(Forward::Readers { from, to });
        }
        let kept = self.producer(&to).is_some_and(|node| !edit.removes(node.id));
        let computed = kept || added.contains(to.as_str());
        let twice = edit.forwarded.iter().filter(|(_, other)| *other == to).count() > 1;
        if !computed || twice || self.is_output(&to) {
            return Err(Refusal::IsOutput { value: from });
        }
        if self.is_captured(&to) {
            return Err(Refusal::Captured { value: to });
        }
        Ok(Forward::Rename { from, to })
    }

    /// Where new nodes stand: where the last of the removed ones stood.
    fn place_of(&self, edit: &Edit) -> usize {
        let places = edit.removed.iter().filter_map(|&id| Some(self.slot(id)?.place.0));
        places.max().unwrap_or_default()
    }

    fn node_name(&mut self, base: &str) -> String {
        let mut name = base.to_owned();
        let mut count = 1;
        // The value of that name isn't in the way: nodes and values have names of their own.
        while !self.node_names.insert(name.clone()) {
            count += 1;
            name = format!("{base}_{count}");
        }
        name
    }

    /// Lets those who read one value read another.
    fn redirect(&mut self, from: &str, to: &str) {
        for Reading { node, place } in self.readers.hand_over(from, to) {
            let Some(slot) = self.nodes[node.0].as_mut() else { continue };
            let Some(input) = slot.proto.input.get_mut(place) else { continue };
            to.clone_into(input);
            self.alike.leave(slot.signature, node);
            let others = slot.signature.wrapping_sub(alike::of_input(place, from));
            slot.signature = others.wrapping_add(alike::of_input(place, to));
            self.alike.enter(slot.signature, node);
        }
    }

    /// Gives a computed value another name, wherever it stands.
    fn rename(&mut self, old: &str, new: &str) {
        self.redirect(old, new);
        if let Some(id) = self.producers.remove(old)
            && let Some(slot) = self.nodes[id.0].as_mut()
        {
            slot.proto.output.iter_mut().filter(|name| *name == old).for_each(|name| new.clone_into(name));
            self.producers.insert(new.to_owned(), id);
        }
    }

    /// Removes what nobody reads any more: constants, and nodes all of whose results are unread. Gives
    /// the nodes.
    fn drop_orphans(&mut self, names: BTreeSet<String>) -> Vec<NodeProto> {
        let mut dropped = Vec::new();
        let mut names: Vec<String> = names.into_iter().collect();
        while let Some(name) = names.pop() {
            if self.is_output(&name) || self.readers.are_there(&name) {
                continue;
            }
            if self.constants.remove(&name).is_some() {
                continue;
            }
            let Some(&id) = self.producers.get(&name) else { continue };
            if self.is_needed(id) {
                continue;
            }
            if let Some(slot) = self.take_out(id) {
                names.extend(slot.proto.input.iter().cloned());
                names.extend(slot.captured);
                dropped.push(slot.proto);
            }
        }
        dropped
    }

    /// Whether a node does more than results that nobody reads.
    pub(crate) fn is_needed(&self, id: NodeIndex) -> bool {
        let Some(slot) = self.slot(id) else { return false };
        may_have_effects(&slot.proto)
            || slot.proto.output.iter().any(|name| self.is_output(name) || self.readers.are_there(name))
    }

    /// Constants that nobody reads.
    pub(crate) fn unread_constants(&self) -> Vec<String> {
        let unread = |name: &&String| !self.is_output(name) && !self.readers.are_there(name);
        self.constants.keys().filter(unread).cloned().collect()
    }

    /// Forgets a constant that nobody reads.
    pub(crate) fn forget_constant(&mut self, name: &str) {
        self.constants.remove(name);
    }
}

/// Whether a node may do something beside its results: send, assign, wait, clear memory. No operator of these domains
/// does, and nothing is known of those of others, such as the ones of converted models. A node without results is
/// there for an effect.
fn may_have_effects(node: &NodeProto) -> bool {
    const WITHOUT: [&str; 4] = ["", "ai.onnx", "ai.onnx.ml", "com.microsoft"];
    !WITHOUT.contains(&node.domain()) || node.output.iter().all(String::is_empty)
}

/// How the readers of a value come to read another.
enum Forward {
    /// They read it under its own name.
    Readers { from: String, to: String },
    /// The other value is renamed to `from`.
    Rename { from: String, to: String },
}
