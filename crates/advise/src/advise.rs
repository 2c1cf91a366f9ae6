//! Running rules.

use std::collections::HashSet;

use opscope_model::{Model, ModelKind};
use opscope_trace::Nanoseconds;

use crate::checks;
use crate::claim::{Claims, Savings, together};
use crate::finding::{Done, Finding, NotRun, Report, Whole};
use crate::outcome::{Cause, Found, Outcome};
use crate::rewrites::{self, Does};
use crate::rule::{Confidence, Kind, Rule, rules};
use crate::settings::Settings;
use crate::subject::Subject;

/// Runs all rules that apply to the target.
pub fn advise(subject: &Subject<'_>, settings: &Settings) -> Report {
    let mut report = Report {
        findings: Vec::new(),
        together: None,
        not_run: Vec::new(),
        done: Vec::new(),
        asked: 0,
        silenced: Vec::new(),
    };
    let mut rules = settings.apply_to(rules());
    rules.retain(|rule| rule.is_about(subject.target));
    let ids: HashSet<String> = rules.iter().map(|rule| rule.id.clone()).collect();
    for rule in rules {
        // A rule that speaks under another's id is silent with that one.
        let said_under = rule.same_as.as_deref().filter(|other| ids.contains(*other));
        if settings.silences(&rule) || said_under.is_some_and(|other| settings.silences_id(other)) {
            report.silenced.push(rule.id);
            continue;
        }
        match checks::check(subject, &rule) {
            Outcome::Missing(missing) => {
                report.not_run.push(NotRun { id: rule.id, missing });
                continue;
            }
            Outcome::Silent => {}
            Outcome::Found(found) => report.findings.push(beside_operators(subject, rule, found)),
            Outcome::Operators(found) => {
                if found.done > 0 {
                    let (id, title) = (rule.id.clone(), rule.title.clone());
                    report.done.push(Done { id, title, places: found.done });
                }
                let each = found.causes.into_iter().filter_map(|cause| without_helpers(subject, cause));
                report.findings.extend(each.map(|cause| of_cause(subject, &rule, cause)));
            }
        }
        report.asked += 1;
    }
    without_repetition(subject, &mut report.findings);
    report.together = together(report.findings.iter().map(|finding| &finding.savings));
    report.findings.sort_by(|a, b| rank(b).partial_cmp(&rank(a)).unwrap_or(std::cmp::Ordering::Equal));
    bring_forward(subject, &mut report.findings);
    report
}

/// The rank of a finding: changes stand above figures, whatever their shares.
fn rank(finding: &Finding) -> (Kind, f64, Confidence) {
    (finding.rule.kind, finding.share.unwrap_or(-1.0), finding.rule.confidence)
}

/// Takes away what is said already: a rule that another one stands for, and operators of which a more
/// special rule says why they are as they are.
fn without_repetition(subject: &Subject<'_>, findings: &mut Vec<Finding>) {
    let mut kept: Vec<Finding> = Vec::new();
    for finding in std::mem::take(findings) {
        let id = finding.rule.same_as.as_deref();
        let known = kept.iter_mut().find(|known| {
            let names: HashSet<&str> = known.evidence.iter().map(|item| &*item.name).collect();
            id == Some(&known.rule.id) && finding.evidence.iter().all(|item| names.contains(&*item.name))
        });
        match known {
            Some(known) => known.also.push(finding.rule.id),
            None => kept.push(finding),
        }
    }
    for place in 0..kept.len() {
        let Some(general) = kept[place].rule.refines.clone() else { continue };
        let special = kept[place].clone();
        let mut says_all_of_it = false;
        for finding in kept.iter_mut().filter(|finding| finding.rule.id == general) {
            let said_something = !finding.evidence.is_empty();
            leave_out(finding, subject, &special);
            says_all_of_it |= said_something && finding.evidence.is_empty();
        }
        if says_all_of_it {
            kept[place].also.push(general);
        }
    }
    kept.retain(|finding| !finding.evidence.is_empty() || finding.note.is_some());
    *findings = kept;
}

/// Leaves out of a finding the operators that another names, and their time.
fn leave_out(finding: &mut Finding, subject: &Subject<'_>, other: &Finding) {
    let named: HashSet<(&str, &str)> =
        other.evidence.iter().map(|item| (&*item.name, &*item.op_type)).collect();
    // A rule about the model names a place by one of its nodes, and lists all that it changes, be it every node.
    let changed: HashSet<&str> = other.changes.iter().map(String::as_str).collect();
    let is_changed = |name: &str| {
        let nodes = subject.executions.nodes_of(name);
        !nodes.is_empty() && nodes.iter().all(|node| changed.contains(node))
    };
    finding.evidence.retain(|item| {
        let is_named = named.contains(&(&*item.name, &*item.op_type));
        !is_named && (changed.is_empty() || !is_changed(&item.name))
    });
    finding.changes.retain(|name| !changed.contains(&**name));
    if finding.evidence.is_empty() {
        finding.note = None;
    }
    let before = finding.savings.len();
    finding.savings.retain(|executed, _| !other.savings.contains_key(executed));
    if finding.savings.len() < before {
        finding.saves = Some(Nanoseconds(finding.savings.values().sum::<f64>() as i64));
        finding.share = share(finding.saves, Some(subject.total));
    }
}

fn share(saves: Option<Nanoseconds>, whole: Option<Nanoseconds>) -> Option<f64> {
    let (saves, whole) = (saves?, whole.filter(|whole| whole.0 > 0)?);
    Some((saves.0 as f64 / whole.0 as f64).clamp(0.0, 1.0))
}

/// Says what opscope's rewrites do of the advice of a rule.
fn does(subject: &Subject<'_>, rule: &Rule) -> Option<Does> {
    if subject.model?.kind() != ModelKind::Onnx {
        return rewrites::named(&rule.auto).map(|_| Does::OtherFormat);
    }
    subject.rewrites.as_ref()?.does(&rule.auto, subject.target)
}

/// Without the rewrites that change none of the operators which a finding names.
fn of_these_operators(subject: &Subject<'_>, does: Does, rule: &Rule, claims: &Claims) -> Does {
    let Does::Rewrites(mut matches) = does else { return does };
    if claims.is_empty() {
        return Does::Rewrites(matches);
    }
    let mut nodes: HashSet<&str> = HashSet::new();
    for (name, _) in claims.named() {
        // Operators that are one place together have their names joined.
        for piece in name.split(" + ").chain([name]) {
            nodes.insert(piece);
            nodes.extend(subject.executions.nodes_of(piece));
        }
    }
    let changes = claims.changes();
    nodes.extend(changes.iter().map(String::as_str));
    matches
        .retain(|it| it.places.iter().flat_map(|place| &place.nodes).any(|node| nodes.contains(&*node.name)));
    match matches.is_empty() {
        true => Does::Elsewhere(rewrites::named(&rule.auto).unwrap_or_default().to_owned()),
        false => Does::Rewrites(matches),
    }
}

/// A finding about what lies in no operator.
fn beside_operators(subject: &Subject<'_>, rule: Rule, found: Found) -> Finding {
    let whole = found.whole.or(subject.inference);
    let most = whole.unwrap_or(Nanoseconds(i64::MAX));
    let saves = found.saves.map(|saves| saves.max(Nanoseconds::ZERO).min(most));
    let does = does(subject, &rule);
    Finding {
        rule,
        also: Vec::new(),
        evidence: found.evidence.into_iter().collect::<Claims>().into_evidence(),
        saves,
        share: share(saves, whole),
        whole: if subject.inference.is_some() { Whole::Inference } else { Whole::Profile },
        note: found.note,
        does,
        changes: Vec::new(),
        savings: Savings::new(),
    }
}

/// A cause without the operators that a model of another format doesn't have itself, about which nothing can be done,
/// and without those that are needed there alone; `None` if it has no others.
fn without_helpers(subject: &Subject<'_>, mut cause: Cause) -> Option<Cause> {
    let has_some = |model: &&Model| {
        let provenance = model.provenance();
        !provenance.helpers.is_empty() || !provenance.unread.is_empty()
    };
    let Some(model) = subject.model.filter(has_some) else { return Some(cause) };
    let had_some = !cause.claims.is_empty();
    cause.claims.forget(|name| model.is_helper(name) || model.is_unread(name));
    (!had_some || !cause.claims.is_empty()).then_some(cause)
}

/// A finding about operators that have one cause.
fn of_cause(subject: &Subject<'_>, rule: &Rule, cause: Cause) -> Finding {
    let savings = cause.claims.savings(&subject.executions);
    let sum: f64 = savings.values().sum();
    let saves = (!savings.is_empty()).then_some(Nanoseconds(sum as i64));
    let mut rule = rule.clone();
    let texts = [
        (&mut rule.title, cause.title),
        (&mut rule.why, cause.why),
        (&mut rule.advice, cause.advice),
        (&mut rule.auto, cause.auto),
    ];
    for (text, nearer) in texts {
        if let Some(nearer) = nearer {
            *text = nearer;
        }
    }
    let does = does(subject, &rule).map(|does| of_these_operators(subject, does, &rule, &cause.claims));
    let changes = cause.claims.changes();
    Finding {
        rule,
        also: Vec::new(),
        evidence: cause.claims.into_evidence(),
        saves,
        share: share(saves, Some(subject.total)),
        whole: Whole::Operators,
        note: cause.note,
        does,
        changes,
        savings,
    }
}

/// Puts time that ranges lost in front where it is a large part of the time of all inferences:
/// beside it, whatever else is found is small.
fn bring_forward(subject: &Subject<'_>, findings: &mut [Finding]) {
    let inferences = subject.total.0 as f64 * subject.iterations as f64;
    let Some(place) = findings.iter().position(|finding| finding.rule.id == "A33") else { return };
    let lost = findings[place].evidence.iter().filter_map(|item| item.time).max().unwrap_or_default();
    if lost.0 as f64 >= findings[place].rule.limit("first_from_share") * inferences {
        findings[..=place].rotate_right(1);
    }
}
