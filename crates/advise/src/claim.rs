//! What could be saved of which operators, so that what several rules name is counted once.

use std::collections::HashMap;

use opscope_model::Node;
use opscope_trace::Nanoseconds;

use crate::executed::{Executed, Executions, Ran};
use crate::finding::{Evidence, Outcome};
use crate::subject::Subject;

/// An operator, or a place in the graph, that a rule speaks of.
#[derive(Clone, Debug)]
pub(crate) struct Claim {
    pub evidence: Evidence,
    /// What could be saved at most of which operators in an average iteration, in nanoseconds; none
    /// where that can't be said.
    pub saves: Vec<(Executed, f64)>,
}

/// Claims that have one cause, and what is to be said about it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cause {
    pub claims: Vec<Claim>,
    pub note: Option<String>,
    /// Texts that are nearer to the matter than the rule's own.
    pub title: Option<String>,
    pub why: Option<String>,
    pub advice: Option<String>,
    /// What does it, in the words of [`Rule::auto`](crate::Rule::auto).
    pub auto: Option<String>,
}

/// What a rule says about operators: a finding for each cause.
#[derive(Clone, Debug, Default)]
pub(crate) struct Causes {
    pub causes: Vec<Cause>,
    /// In how many places the engine has done already what the rule advises.
    pub done: usize,
}

impl Causes {
    /// Claims of one cause.
    pub fn one(claims: Vec<Claim>) -> Outcome {
        Self::of(Cause { claims, ..Cause::default() })
    }

    /// One cause; nothing where it has no claims.
    pub fn of(cause: Cause) -> Outcome {
        Self { causes: vec![cause], done: 0 }.outcome()
    }

    /// Silence where there are neither claims nor places that are done.
    pub fn outcome(mut self) -> Outcome {
        self.causes.retain(|cause| !cause.claims.is_empty());
        if self.causes.is_empty() && self.done == 0 { Outcome::Silent } else { Outcome::Operators(self) }
    }
}

/// What a rule about the graph means by a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Means {
    /// That it is there as a step of its own: what was made into another operator is no matter any more.
    Step,
    /// That several are there instead of one.
    Pieces,
    /// How it is formed, such as a convolution's channels: that stays so in whatever it was made into.
    Form,
}

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
        let claim = match self.subject.ran(nodes) {
            Ran::Unknown => Some(Claim { evidence: evidence(None, detail), saves: Vec::new() }),
            Ran::Themselves(own) if !self.is_contracted(&own, nodes) => Some(Claim {
                evidence: evidence(Some(executions.sum(&own)), detail),
                saves: own.iter().map(|executed| (*executed, executions.time(*executed))).collect(),
            }),
            // The whole operator's time is shown, and said to be that; what of it the form costs isn't known.
            Ran::WithOthers(within) if self.means == Means::Form => {
                let types: Vec<&str> = within.iter().map(|executed| executions.op_type(*executed)).collect();
                let detail = format!("{detail}; within {}", types.join(", "));
                Some(Claim { evidence: evidence(Some(executions.sum(&within)), detail), saves: Vec::new() })
            }
            Ran::Themselves(_) | Ran::WithOthers(_) | Ran::Not => None,
        };
        match claim {
            Some(claim) => self.claims.push(claim),
            None => self.found.done += 1,
        }
    }

    /// The same without a claim on their time.
    pub fn mention_named(&mut self, place: (&str, &str), nodes: &[&str], detail: String) {
        let before = self.claims.len();
        self.add_named(place, nodes, detail);
        self.claims.iter_mut().skip(before).for_each(|claim| claim.saves.clear());
    }

    /// Whether pieces ran as one operator already.
    fn is_contracted(&self, own: &[Executed], nodes: &[&str]) -> bool {
        let executions = &self.subject.executions;
        self.means == Means::Pieces && nodes.len() > 1 && own.len() == 1 && !executions.is_itself(own[0])
    }

    /// What was found, as one cause.
    pub fn outcome(self) -> Outcome {
        self.with(Cause::default())
    }

    /// The same with something to say.
    pub fn with(mut self, cause: Cause) -> Outcome {
        self.found.causes.push(Cause { claims: self.claims, ..cause });
        self.found.outcome()
    }

    /// What was found, without a claim on its time: how much of it could be saved isn't known.
    pub fn without_savings(mut self) -> Outcome {
        self.claims.iter_mut().for_each(|claim| claim.saves.clear());
        self.outcome()
    }
}

/// What could be saved of each operator by one finding.
pub(crate) type Savings = HashMap<Executed, f64>;

/// The savings of claims by operator; never more than the operator took.
pub(crate) fn savings(executions: &Executions<'_>, claims: &[Claim]) -> Savings {
    let mut savings = Savings::new();
    for (executed, time) in claims.iter().flat_map(|claim| &claim.saves) {
        *savings.entry(*executed).or_default() += time.max(0.0);
    }
    savings.iter_mut().for_each(|(executed, time)| *time = time.min(executions.time(*executed)));
    savings
}

/// What could be saved of operators at most: of each what the finding that could save most of it
/// says. `None` where no finding says anything.
pub(crate) fn together<'s>(findings: impl Iterator<Item = &'s Savings>) -> Option<Nanoseconds> {
    let mut most = Savings::new();
    for (executed, time) in findings.flatten() {
        let known = most.entry(*executed).or_default();
        *known = known.max(*time);
    }
    (!most.is_empty()).then(|| Nanoseconds(most.values().sum::<f64>() as i64))
}
