//! Places in a model's graph, and what a profile says of them.

use opscope_model::Node;

use crate::claim::{Claim, Evidence};
use crate::condition::Means;
use crate::executed::{Executed, Ran};
use crate::outcome::{Cause, Causes, Outcome};
use crate::subject::Subject;

/// Places in the graph that a rule found, each with what the profile says of it.
pub(crate) struct Places<'s, 'a> {
    subject: &'s Subject<'a>,
    means: Means,
    found: Causes,
    claims: Vec<Claim>,
}

impl<'s, 'a> Places<'s, 'a> {
    pub fn new(subject: &'s Subject<'a>, means: Means) -> Self {
        Self { subject, means, found: Causes::default(), claims: Vec::new() }
    }

    /// Adds a place that a rewrite changes: its name and type, the nodes whose time is claimed, and all
    /// that change.
    pub fn add_changed(&mut self, at: (&str, &str), claimed: &[&str], changes: Vec<String>, detail: String) {
        let before = self.claims.len();
        self.add_named(at, claimed, detail);
        if let Some(claim) = self.claims.get_mut(before) {
            claim.changes = changes;
        }
    }

    /// The same without a claim on their time: how much of it could be saved isn't known.
    pub fn mention_all(&mut self, at: (&str, &str), changes: &[String], detail: String) {
        let before = self.claims.len();
        let names: Vec<&str> = changes.iter().map(String::as_str).collect();
        self.add_changed(at, &names, changes.to_vec(), detail);
        self.claims.iter_mut().skip(before).for_each(|claim| claim.saves.clear());
    }

    /// Adds a place: a node, others that belong to the matter, and what makes it stand out.
    pub fn add(&mut self, node: &Node<'_>, others: &[Node<'_>], detail: String) {
        let names: Vec<&str> = [node.name].into_iter().chain(others.iter().map(|node| node.name)).collect();
        self.add_named((node.name, node.op_type), &names, detail);
    }

    /// The same by names: that of the place with its type, and those of all nodes.
    pub fn add_named(&mut self, (name, op_type): (&str, &str), nodes: &[&str], detail: String) {
        let evidence =
            |time, detail| Evidence { name: name.to_owned(), op_type: op_type.to_owned(), time, detail };
        let executions = &self.subject.executions;
        let is_done = self.means == Means::Pieces && executions.is_contracted(nodes);
        let claim = match self.subject.ran(nodes) {
            _ if is_done => None,
            Ran::Unknown => {
                Some(Claim { evidence: evidence(None, detail), saves: Vec::new(), changes: Vec::new() })
            }
            Ran::Themselves(own) if !self.is_contracted(&own, nodes) => Some(Claim {
                evidence: evidence(Some(executions.sum(&own)), detail),
                saves: own.iter().map(|executed| (*executed, executions.time(*executed))).collect(),
                changes: Vec::new(),
            }),
            // The whole operator's time is shown, and said to be that; what of it the form costs isn't known.
            Ran::WithOthers(within) if self.means == Means::Form => {
                let types: Vec<&str> = within.iter().map(|executed| executions.op_type(*executed)).collect();
                let detail = format!("{detail}; within {}", types.join(", "));
                Some(Claim {
                    evidence: evidence(Some(executions.sum(&within)), detail),
                    saves: Vec::new(),
                    changes: Vec::new(),
                })
            }
            Ran::Themselves(_) | Ran::WithOthers(_) | Ran::Not => None,
        };
        match claim {
            Some(claim) => self.claims.push(claim),
            None => self.found.done += 1,
        }
    }

    /// Whether pieces ran as one operator already.
    fn is_contracted(&self, own: &[Executed], nodes: &[&str]) -> bool {
        let executions = &self.subject.executions;
        self.means == Means::Pieces && nodes.len() > 1 && own.len() == 1 && !executions.is_itself(own[0])
    }

    /// The nodes that rewrites would change at all places so far.
    pub fn changed(&self) -> impl Iterator<Item = &str> {
        self.claims.iter().flat_map(|claim| &claim.changes).map(String::as_str)
    }

    /// The places as one cause.
    pub fn outcome(self) -> Outcome {
        self.with(Cause::default())
    }

    /// The same where other causes are to be added.
    pub fn causes(mut self) -> Causes {
        self.found.causes.push(Cause { claims: self.claims.into_iter().collect(), ..Cause::default() });
        self.found
    }

    /// The same with something to say.
    pub fn with(mut self, cause: Cause) -> Outcome {
        self.found.causes.push(Cause { claims: self.claims.into_iter().collect(), ..cause });
        self.found.outcome()
    }

    /// The places without a claim on their time: how much of it could be saved isn't known.
    pub fn without_savings(mut self) -> Outcome {
        self.claims.iter_mut().for_each(|claim| claim.saves.clear());
        self.outcome()
    }
}
