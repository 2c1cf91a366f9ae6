//! Claims: time of operators that a change could save, so that time which several rules name counts once.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::{Display, Write as _};

use opscope_trace::Nanoseconds;
use serde::Serialize;

use crate::executed::{Executed, Executions};
use crate::kernels::Kernel;
use crate::subject::Subject;

/// An operator, node or call that a finding is about.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Evidence {
    /// Its name.
    pub name: String,
    /// Its type; empty for what has none.
    pub op_type: String,
    /// Its time in an average iteration, where the profile has it.
    #[serde(rename = "time_ns", serialize_with = "nanoseconds")]
    pub time: Option<Nanoseconds>,
    /// The reason why it stands out.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

fn nanoseconds<S: serde::Serializer>(time: &Option<Nanoseconds>, serializer: S) -> Result<S::Ok, S::Error> {
    time.map(|time| time.0).serialize(serializer)
}

/// A place in the graph that a rule speaks of.
#[derive(Clone, Debug)]
pub(crate) struct Claim {
    pub evidence: Evidence,
    /// The most that could be saved of each operator in an average iteration, in nanoseconds; none
    /// where that can't be said.
    pub saves: Vec<(Executed, f64)>,
    /// The model's nodes that a rewrite would change here; none where no rewrite says so.
    pub changes: Vec<String>,
}

/// The claims of one cause. A finding names each operator once and a profile has a million executions, so that
/// claims of the same name and type become one row as they come in.
#[derive(Clone, Debug, Default)]
pub(crate) struct Claims {
    /// In the order in which they were first named.
    rows: Vec<Row>,
    /// By name and type.
    places: HashMap<(String, String), usize>,
    /// By operator, its row.
    of_operator: Vec<Option<usize>>,
    /// By operators that were named together, their row.
    of_group: HashMap<Vec<Executed>, usize>,
    /// By operator, what could be saved of it in nanoseconds.
    saves: Vec<Option<f64>>,
    changes: Vec<String>,
    /// The detail that is compared with a row's, kept for its memory.
    text: String,
}

#[derive(Clone, Debug)]
struct Row {
    evidence: Evidence,
    /// How many claims became one.
    count: usize,
    /// Whether they say different things.
    differs: bool,
}

impl Claims {
    /// Whether nothing is claimed.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Adds a kernel of whose time a part, from 0 to 1, could be saved.
    pub fn claim(&mut self, subject: &Subject<'_>, kernel: &Kernel<'_>, detail: impl Display, part: f64) {
        self.mention(subject, kernel, detail);
        self.save(kernel.executed, kernel.time * part.clamp(0.0, 1.0) / subject.iterations as f64);
    }

    /// Adds a kernel of which nobody knows how much could be saved.
    pub fn mention(&mut self, subject: &Subject<'_>, kernel: &Kernel<'_>, detail: impl Display) {
        self.mention_time(kernel, subject.part_of_iteration(kernel), detail);
    }

    /// The same with another time than its own.
    pub fn mention_time(&mut self, kernel: &Kernel<'_>, time: Nanoseconds, detail: impl Display) {
        let index = kernel.executed.index();
        match self.of_operator.get(index).copied().flatten() {
            Some(row) => self.join(row, Some(time), detail),
            None => {
                let (name, op_type) = (kernel.name.to_owned(), kernel.op_type.to_owned());
                let detail = detail.to_string();
                let row = self.enter(Evidence { name, op_type, time: Some(time), detail });
                set(&mut self.of_operator, index, row);
            }
        }
    }

    /// Adds kernels that are one place together, all of whose time could be saved.
    pub fn claim_together(&mut self, subject: &Subject<'_>, kernels: &[&Kernel<'_>], detail: impl Display) {
        let time = kernels.iter().map(|kernel| subject.part_of_iteration(kernel)).sum();
        let group: Vec<Executed> = kernels.iter().map(|kernel| kernel.executed).collect();
        match self.of_group.get(&group) {
            Some(row) => self.join(*row, Some(time), detail),
            None => {
                let joined = |text: fn(&Kernel<'_>) -> String| {
                    kernels.iter().map(|kernel| text(kernel)).collect::<Vec<_>>().join(" + ")
                };
                let row = self.enter(Evidence {
                    name: joined(|kernel| kernel.name.to_owned()),
                    op_type: joined(|kernel| kernel.op_type.to_owned()),
                    time: Some(time),
                    detail: detail.to_string(),
                });
                self.of_group.insert(group, row);
            }
        }
        kernels.iter().for_each(|kernel| self.save(kernel.executed, kernel.time / subject.iterations as f64));
    }

    /// Adds a claim on a place of the graph.
    pub fn push(&mut self, claim: Claim) {
        self.enter(claim.evidence);
        claim.saves.into_iter().for_each(|(executed, time)| self.save(executed, time));
        self.changes.extend(claim.changes);
    }

    /// The names and types of all that is claimed, each once.
    pub fn named(&self) -> impl Iterator<Item = (&str, &str)> {
        self.rows.iter().map(|row| (&*row.evidence.name, &*row.evidence.op_type))
    }

    /// The nodes that rewrites would change, each once.
    pub fn changes(&self) -> Vec<String> {
        let mut seen = HashSet::new();
        self.changes.iter().filter(|name| seen.insert(name.as_str())).cloned().collect()
    }

    /// The possible saving by operator; never more than the operator took.
    pub fn savings(&self, executions: &Executions<'_>) -> Savings {
        let saves =
            executions.all().zip(&self.saves).filter_map(|(executed, time)| Some((executed, (*time)?)));
        saves.map(|(executed, time)| (executed, time.min(executions.time(executed)))).collect()
    }

    /// Forgets the operators that a condition is true of.
    pub fn forget(&mut self, is_forgotten: impl Fn(&str) -> bool) {
        self.rows.retain(|row| !is_forgotten(&row.evidence.name));
        self.changes.retain(|name| !is_forgotten(name));
    }

    /// A row for each name and type, the most costly first.
    pub fn into_evidence(self) -> Vec<Evidence> {
        let mut evidence: Vec<Evidence> = self.rows.into_iter().map(Row::into_evidence).collect();
        evidence.sort_by_key(|item| std::cmp::Reverse(item.time));
        evidence
    }

    fn save(&mut self, executed: Executed, time: f64) {
        let known = self.saves.get(executed.index()).copied().flatten().unwrap_or(0.0);
        set(&mut self.saves, executed.index(), known + time.max(0.0));
    }

    /// The row of something by name and type, with which it is joined if it is known.
    fn enter(&mut self, evidence: Evidence) -> usize {
        let next = self.rows.len();
        let row = *self.places.entry((evidence.name.clone(), evidence.op_type.clone())).or_insert(next);
        if row == next {
            self.rows.push(Row { evidence, count: 1, differs: false });
        } else {
            self.join(row, evidence.time, evidence.detail);
        }
        row
    }

    fn join(&mut self, row: usize, time: Option<Nanoseconds>, detail: impl Display) {
        let row = &mut self.rows[row];
        row.count += 1;
        row.evidence.time = row.evidence.time.zip(time).map(|(a, b)| a + b);
        if !row.differs {
            self.text.clear();
            // Text in memory takes everything.
            let _ = write!(self.text, "{detail}");
            row.differs = row.evidence.detail != self.text;
        }
    }
}

impl Row {
    fn into_evidence(self) -> Evidence {
        let Self { mut evidence, count, differs } = self;
        if differs && !evidence.detail.is_empty() {
            evidence.detail = format!("{} in one of {count}, which differ", evidence.detail);
        }
        evidence
    }
}

impl FromIterator<Evidence> for Claims {
    fn from_iter<Iter: IntoIterator<Item = Evidence>>(evidence: Iter) -> Self {
        let mut all = Self::default();
        evidence.into_iter().for_each(|item| {
            all.enter(item);
        });
        all
    }
}

impl FromIterator<Claim> for Claims {
    fn from_iter<Iter: IntoIterator<Item = Claim>>(claims: Iter) -> Self {
        let mut all = Self::default();
        claims.into_iter().for_each(|claim| all.push(claim));
        all
    }
}

/// Sets a value of a list that is as long as its last known place.
fn set<Value: Clone>(list: &mut Vec<Option<Value>>, place: usize, value: Value) {
    if list.len() <= place {
        list.resize(place + 1, None);
    }
    list[place] = Some(value);
}

/// The time of each operator that one finding could save, in nanoseconds. In order, for sums of doubles are the same
/// in every run only if they are summed up in the same order.
pub(crate) type Savings = BTreeMap<Executed, f64>;

/// The greatest of several savings, for each operator.
pub(crate) fn greatest<'s>(findings: impl Iterator<Item = &'s Savings>) -> Savings {
    let mut most = Savings::new();
    for (executed, time) in findings.flatten() {
        let known = most.entry(*executed).or_default();
        *known = known.max(*time);
    }
    most
}

/// The most that could be saved of all operators: of each what the finding that could save most of it
/// says. `None` where no finding says anything.
pub(crate) fn together<'s>(findings: impl Iterator<Item = &'s Savings>) -> Option<Nanoseconds> {
    let most = greatest(findings);
    (!most.is_empty()).then(|| Nanoseconds(most.values().sum::<f64>() as i64))
}

#[cfg(test)]
mod tests {
    use opscope_trace::{Operator, Trace};

    use super::*;

    /// Beside a time as large as the first, each of the others is lost in a sum that begins with it, and together
    /// they aren't in one that ends with it.
    #[test]
    fn savings_are_summed_up_in_the_order_of_the_operators() {
        const LARGE: f64 = 1e16;
        let mut trace = Trace::new();
        for number in 0..500 {
            let (name, op_type) =
                (trace.strings.intern(&format!("op{number}")), trace.strings.intern("Conv"));
            trace.operators.push(Operator::new(name, op_type));
        }
        let mut executions = Executions::default();
        let claims: Claims = (trace.operators.ids().enumerate())
            .map(|(number, id)| {
                let time = if number == 0 { LARGE } else { 1.0 };
                let evidence = Evidence {
                    name: String::new(),
                    op_type: String::new(),
                    time: None,
                    detail: String::new(),
                };
                let executed = executions.enter(&trace, id);
                executions.spend(executed, time);
                let saves = vec![(executed, time)];
                Claim { evidence, saves, changes: Vec::new() }
            })
            .collect();
        let savings = claims.savings(&executions);
        assert_eq!(savings.len(), 500);
        assert_eq!(savings.values().sum::<f64>(), LARGE);
        assert_eq!(together([&savings].into_iter()), Some(Nanoseconds(LARGE as i64)));
    }
}
