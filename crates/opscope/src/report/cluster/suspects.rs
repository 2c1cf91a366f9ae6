//! The suspects in a table, and one of them with its evidence.

use std::collections::BTreeSet;

use opscope_reach::{Ends, Evidence, Findings, LARGEST_ERROR, Suspect, Who, arrivals, chain};
use opscope_say::{say, word};
use serde_json::{Value, json};

use super::exported::{self, value};
use super::reason::{of_cause, sentence};
use super::screen::losses;
use super::{amount, grouped, listed, milliseconds, whole};
use crate::report::{Envelope, Table, TableCell, TableColumn};
use crate::terminal::{bold, dim, printable};

/// The name of a suspect where there is none.
const NOBODY: &str = "no rank and no link";

/// The part of what is known of suspects that is asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Asked {
    /// The costs to this step alone, by its place in [`opscope_reach::Run::steps`].
    pub step: Option<usize>,
    /// So many suspects at most.
    pub top: Option<usize>,
    /// For programs also who waits because of each, and who holds the run up without it.
    pub in_full: bool,
}

impl Asked {
    /// The steps that are asked for, by their places.
    fn steps(self, findings: &Findings) -> Vec<usize> {
        self.step.map_or_else(|| (0..findings.run.steps().len()).collect(), |step| vec![step])
    }

    /// The suspect's cost in nanoseconds: to the step that is asked for, else to a mean one.
    fn costs(self, suspect: &Suspect) -> f64 {
        match self.step {
            Some(step) => suspect.saves_by_step_ns[step],
            None => suspect.saves_ns,
        }
    }

    /// Whether the suspect's cost stands out of the noise.
    fn is_named(self, findings: &Findings, suspect: &Suspect) -> bool {
        match self.step {
            Some(step) => {
                findings.costs.replay_error <= LARGEST_ERROR
                    && suspect.saves_by_step_ns[step] > findings.costs.noise_ns
            }
            None => suspect.is_named,
        }
    }

    /// These suspects in the order of what they cost, those that are named first.
    fn order(self, findings: &Findings, mut chosen: Vec<usize>) -> Vec<usize> {
        if self.step.is_some() {
            let suspect = |index: &usize| &findings.costs.suspects[*index];
            let key = |index: &usize| {
                let it = suspect(index);
                (self.is_named(findings, it), self.costs(it).max(0.0), it.alone_ns)
            };
            chosen.sort_by(|a, b| key(b).partial_cmp(&key(a)).unwrap_or(std::cmp::Ordering::Equal));
        }
        chosen.truncate(self.top.unwrap_or(usize::MAX));
        chosen
    }
}

/// All suspects, or those of them that are asked for.
pub fn suspects_text(findings: &Findings, chosen: Vec<usize>, asked: Asked, width: Option<u16>) -> String {
    let heading = match asked.step {
        None => String::new(),
        Some(step) => say!(
            "Step {} takes {} ms; the costs are those to it alone.\n\n",
            findings.run.steps()[step],
            milliseconds(findings.costs.by_step_ns[step])
        ),
    };
    match chosen.is_empty() {
        true => heading + &innocent_text(findings, NOBODY),
        false => heading + &table(findings, &asked.order(findings, chosen), asked).to_text(width),
    }
}

/// The suspects that aren't shown as part of a host or an operator.
pub fn plain(findings: &Findings) -> Vec<usize> {
    (0..findings.costs.suspects.len()).filter(|index| !findings.costs.suspects[*index].is_within).collect()
}

/// The operators in which a suspect differs from its peers by so many nanoseconds a step and more.
fn differences_table(evidence: &Evidence, least_ns: f64) -> Table {
    let column = |column: TableColumn, key: &'static str| TableColumn { key: key.into(), ..column };
    let mut table = Table::new([
        column(TableColumn::number("than on peers"), "excess_ns"),
        TableColumn::text("operator"),
        TableColumn::text("type"),
        TableColumn::text("unit"),
        column(TableColumn::number("a step"), "count"),
        column(TableColumn::text("on peers"), "is_on_peers"),
    ]);
    for it in evidence.differences.iter().filter(|it| it.excess_ns.abs() >= least_ns) {
        let sign = if it.excess_ns > 0.0 { "+" } else { "" };
        table.row([
            TableCell::new(format!("{sign}{} ms", milliseconds(it.excess_ns)), whole(it.excess_ns)),
            it.operator.name.as_str().into(),
            it.operator.op_type.as_str().into(),
            it.operator.unit.as_str().into(),
            TableCell::new(format!("{:.0}", it.count), amount(it.count)),
            TableCell::new(word(if it.is_on_peers { "yes" } else { "no" }), it.is_on_peers),
        ]);
    }
    table
}

/// Someone who costs nothing that can be told.
pub fn innocent_text(findings: &Findings, who: &str) -> String {
    let costs = &findings.costs;
    if costs.replay_error > LARGEST_ERROR {
        let off = 100.0 * costs.replay_error;
        return say!(
            "No costs are told: the run, replayed as it is, differs by {off:.1} % from what was measured.\n"
        );
    }
    let noise = 100.0 * costs.noise_ns / costs.step_ns;
    match who == NOBODY {
        true => {
            say!("No rank and no link stands out; what costs less than {noise:.1} % of a step isn't told.\n")
        }
        false => {
            say!("Nothing stands out about {who}; what costs less than {noise:.1} % of a step isn't told.\n")
        }
    }
}

/// All suspects, those within others included.
pub fn all_of(findings: &Findings) -> Vec<usize> {
    (0..findings.costs.suspects.len()).collect()
}

/// Suspects as comma-separated values or Markdown.
///
/// # Errors
/// Never in practice: memory takes everything.
pub fn suspects_rows(
    findings: &Findings,
    chosen: Vec<usize>,
    asked: Asked,
    as_csv: bool,
) -> anyhow::Result<String> {
    let chosen = asked.order(findings, chosen);
    match as_csv {
        true => suspects_values(findings, &chosen, asked).to_csv(),
        false => Ok(table(findings, &chosen, asked).to_markdown()),
    }
}

/// The operators in which a suspect differs from its peers, as comma-separated values or Markdown.
///
/// # Errors
/// Never in practice: memory takes everything.
pub fn differences_rows(findings: &Findings, index: Option<usize>, as_csv: bool) -> anyhow::Result<String> {
    let none = Evidence::default();
    let table = differences_table(index.map_or(&none, |index| &findings.evidence[index]), 0.0);
    if as_csv { table.to_csv() } else { Ok(table.to_markdown()) }
}

/// Who costs a step how much, for programs.
pub fn suspects_values(findings: &Findings, chosen: &[usize], asked: Asked) -> Table {
    let columns = [
        "who",
        "named",
        "saves_ns",
        "low_ns",
        "high_ns",
        "alone_ns",
        "excess_ns",
        "since_step",
        "within",
        "cause",
    ];
    let mut table = exported::table(&columns);
    for index in chosen {
        let suspect = &findings.costs.suspects[*index];
        // The interval is that of a mean step.
        let interval = suspect.interval_ns.filter(|_| asked.step.is_none());
        let end = |end: fn((f64, f64)) -> f64| interval.map_or(Value::Null, |it| whole(end(it)).into());
        let cause = findings.evidence[*index].causes.first().map(|it| json!(it.cause)["cause"].take());
        table.row([
            value(findings.name_of(&suspect.who)),
            value(asked.is_named(findings, suspect)),
            value(whole(asked.costs(suspect))),
            value(end(|it| it.0)),
            value(end(|it| it.1)),
            value(whole(suspect.alone_ns)),
            value(whole(suspect.excess_ns)),
            value(suspect.since),
            value(suspect.is_within),
            value(cause.unwrap_or_default()),
        ]);
    }
    table
}

/// A table of suspects; those that others hide have no number.
pub fn table(findings: &Findings, chosen: &[usize], asked: Asked) -> Table {
    let columns = [
        TableColumn::number("#"),
        TableColumn::text("who"),
        TableColumn::number(if asked.step.is_some() { "costs this step" } else { "costs a step" }),
        TableColumn::number("alone").expendable(),
        TableColumn::text("since").expendable(),
        TableColumn::text("why"),
    ];
    let mut table = Table::new(columns);
    for (place, index) in chosen.iter().enumerate() {
        let mut cells = cells(findings, *index, asked);
        if asked.step.is_some() && asked.is_named(findings, &findings.costs.suspects[*index]) {
            cells[0] = (place + 1).to_string();
        }
        table.row(cells.map(TableCell::from));
    }
    table
}

/// A suspect's cells: number, who, costs a step, alone, since, why.
pub fn cells(findings: &Findings, index: usize, asked: Asked) -> [String; 6] {
    let suspect = &findings.costs.suspects[index];
    let mut why = of_several(findings, index) + &sentence(&findings.evidence[index]);
    let is_named = asked.is_named(findings, suspect);
    if asked.step.is_none() {
        why.push_str(&in_which_steps(findings, suspect));
    }
    if suspect.is_weak {
        why.push_str(word("; it has too few peers for certainty"));
    }
    [
        if is_named && asked.step.is_none() { number(findings, index) } else { "–".to_owned() },
        name(findings, &suspect.who),
        format!("{} ms", milliseconds(asked.costs(suspect).max(0.0))),
        format!("{} ms", milliseconds(suspect.alone_ns.max(0.0))),
        say!("step {}", suspect.since),
        why,
    ]
}

/// The steps in which a suspect costs something, where these are few, or why it has no number.
fn in_which_steps(findings: &Findings, suspect: &Suspect) -> String {
    let all = findings.run.steps().len();
    match suspect.only_in[..] {
        [] if suspect.is_named => String::new(),
        [] if suspect.saves_ns > findings.costs.noise_ns => {
            word("; that differs too much from step to step to be sure").to_owned()
        }
        [] => word("; hidden by others").to_owned(),
        [step] => say!("; in step {step} alone, of {all} steps"),
        [first, ..] => say!("; in {} of {all} steps alone, the first of them {first}", suspect.only_in.len()),
    }
}

/// A suspect's name in the language that is spoken.
fn name(findings: &Findings, who: &Who) -> String {
    match who {
        Who::Host(host) => say!("host {}", findings.run.hosts[*host]),
        _ => opscope_say::sentence(&findings.name_of(who)).into_owned(),
    }
}

/// The words before the reason of a suspect that is several ranks: the reason is that of one of them.
fn of_several(findings: &Findings, index: usize) -> String {
    let workers = findings.costs.suspects[index].who.workers(&findings.run).len();
    match findings.evidence[index].of_rank {
        Some(rank) => match findings.evidence[index].slow_ranks {
            Some(slow) if slow < workers => say!("{slow} of {workers} ranks, such as {rank}: "),
            _ => say!("{workers} ranks, such as {rank}: "),
        },
        None => String::new(),
    }
}

/// A suspect's number: those whose intervals overlap share one.
fn number(findings: &Findings, index: usize) -> String {
    let suspects = &findings.costs.suspects;
    let ties = |a: &Suspect, b: &Suspect| match (a.interval_ns, b.interval_ns) {
        (Some((low, _)), Some((_, high))) => low <= high,
        _ => false,
    };
    let mut first = index;
    while first > 0 && ties(&suspects[first - 1], &suspects[first]) {
        first -= 1;
    }
    (first + 1).to_string()
}

/// A difference of an operator that is told, in nanoseconds a step: less would show as nothing.
const LEAST_TOLD: f64 = 5e4;

/// A suspect with its evidence.
pub fn suspect_text(findings: &Findings, index: usize, asked: Asked, width: Option<u16>) -> String {
    let (suspect, evidence) = (&findings.costs.suspects[index], &findings.evidence[index]);
    let name = bold(&printable(&name(findings, &suspect.who)));
    let (costs, alone) =
        (milliseconds(asked.costs(suspect).max(0.0)), milliseconds(suspect.alone_ns.max(0.0)));
    let costs = bold(&costs);
    let steps = findings.run.steps();
    let mut text = match asked.step {
        None => say!("{name} costs a step {costs} ms; alone it would cost {alone} ms\n"),
        Some(step) => say!(
            "{name} costs step {} {costs} ms of {}; alone it would cost a step {alone} ms\n",
            steps[step],
            milliseconds(findings.costs.by_step_ns[step])
        ),
    };
    let workers = suspect.who.workers(&findings.run);
    let exceeds = match (&suspect.who, workers.is_empty()) {
        (Who::Rank(_), _) => word("Its own work exceeds that of its peers"),
        (_, false) => word("The own work of its ranks exceeds that of their peers, on average,"),
        (Who::Unrecorded(_), _) => word("The time that others wait for it exceeds what is typical"),
        (_, true) => word("Its transfers exceed those of its like"),
    };
    // Of several ranks these are the peers of one.
    let peers = match evidence.peers.is_empty() || evidence.of_rank.is_some() {
        true => String::new(),
        false => say!(" (compared with {})", listed(&evidence.peers)),
    };
    let excess = milliseconds(suspect.excess_ns);
    text.push_str(&say!("{exceeds} by {excess} ms a step{peers}\n"));
    text.push_str(&left_to_others(findings, suspect));
    text.push_str(&passes(findings, suspect, &workers, asked));
    text.push_str(&held(findings, index, asked));
    text.push_str(&next_hindrance(findings, index, asked));
    if evidence.of_rank.is_some() {
        text.push_str(of_several(findings, index).trim_end());
        text.push('\n');
    }
    for explanation in &evidence.causes {
        let explained = match explanation.explains_ns > 0.0 {
            true => format!("{} ms: ", milliseconds(explanation.explains_ns)),
            false => String::new(),
        };
        text.push_str(&format!("  {explained}{}\n", of_cause(&explanation.cause)));
    }
    if !evidence.differences.is_empty() {
        let table = differences_table(evidence, LEAST_TOLD);
        text.push_str(&format!("\n{}", table.to_text(width)));
    }
    if evidence.differences.iter().any(|it| it.operator.is_on_ai_cpu()) {
        text.push_str(&dim(word(
            "\nWhy operators run on the AI CPU, and what to do: opscope advise --explain A04\n",
        )));
    }
    text
}

/// How many uses and types of collectives are told in which others wait.
const WAITS_TOLD: usize = 3;

/// Who waits because of a suspect, at once and through others.
fn held(findings: &Findings, index: usize, asked: Asked) -> String {
    let steps = asked.steps(findings);
    let found = findings.held_by(index, &steps);
    let told = |at_once: bool| {
        let of = found.iter().filter(|it| it.at_once == at_once).take(WAITS_TOLD).map(|it| {
            let a_step = milliseconds(it.waited_ns / steps.len().max(1) as f64);
            let (role, kind) = (it.role.name(), it.kind.name());
            match it.ranks.len() {
                1..=WAITING_LISTED => say!("{} ({role} {kind}, {a_step} ms)", listed(&it.ranks)),
                ranks => say!("{ranks} ranks ({role} {kind}, {a_step} ms)"),
            }
        });
        of.collect::<Vec<String>>().join(", ")
    };
    let (at_once, through) = (told(true), told(false));
    let mut text = String::new();
    if !at_once.is_empty() {
        text.push_str(&say!("At once wait for it, a step in all: {at_once}\n"));
    }
    if !through.is_empty() {
        text.push_str(&say!("Through those that it holds up: {through}\n"));
    }
    text
}

/// Ranks that wait are named up to so many.
const WAITING_LISTED: usize = 8;

/// Who holds the run up once a suspect is as its peers.
fn next_hindrance(findings: &Findings, index: usize, asked: Asked) -> String {
    match findings.next_hindrance(index, &asked.steps(findings)) {
        Some((next, saves_ns)) => {
            let next = name(findings, &findings.costs.suspects[next].who);
            let next = printable(&next);
            say!(
                "Without it the next hindrance is {next}, which then costs {} ms a step\n",
                milliseconds(saves_ns)
            )
        }
        None => say!("Without it nobody else stands out\n"),
    }
}

/// That others would have more to do without a suspect, where they would.
fn left_to_others(findings: &Findings, suspect: &Suspect) -> String {
    let others: BTreeSet<u32> =
        suspect.leaves.iter().map(|it| findings.run.events[it.event as usize].rank).collect();
    let numbers: Vec<u32> = others.iter().map(|rank| findings.run.ranks[*rank as usize].number).collect();
    match numbers.is_empty() {
        true => String::new(),
        false => say!(
            "The tokens that it has too many of would be work of {}: its cost has that taken off\n",
            listed(&numbers)
        ),
    }
}

/// That a suspect is one of those for which another one stands.
pub fn standing_text(findings: &Findings, index: usize, asked: Asked) -> String {
    let suspect = &findings.costs.suspects[index];
    let costs = milliseconds(asked.costs(suspect).max(0.0));
    say!("\nBehind it stands {}, which costs {costs} ms\n", printable(&name(findings, &suspect.who)))
}

/// How often and how long the chain that ends steps last passes a suspect, and where its ranks came last.
fn passes(findings: &Findings, suspect: &Suspect, workers: &[usize], asked: Asked) -> String {
    let run = &findings.run;
    let steps: BTreeSet<i32> = match asked.step {
        Some(step) => [run.steps()[step]].into(),
        None => run.steps().into_iter().collect(),
    };
    let a_step = |time_ns: f64| milliseconds(time_ns / steps.len().max(1) as f64);
    let chain = chain(findings, &steps);
    let share = chain.share_of(&suspect.who, run);
    let mut text = match share.count {
        0 => say!("The chain of work that ends a step last doesn't pass it\n"),
        1 => say!(
            "The chain of work that ends a step last passes it once, {} of its {} ms a step\n",
            a_step(share.time_ns),
            a_step(chain.length_ns())
        ),
        times => say!(
            "The chain of work that ends a step last passes it {} times, {} of its {} ms a step\n",
            grouped(times as usize),
            a_step(share.time_ns),
            a_step(chain.length_ns())
        ),
    };
    if !workers.is_empty() {
        let arrivals = arrivals(findings, workers, &steps);
        text.push_str(&say!(
            "It came last to {} of its {} collectives; the other ranks waited for it there {} ms a step in all\n",
            grouped(arrivals.last as usize),
            grouped(arrivals.of as usize),
            a_step(arrivals.waited_ns)
        ));
    }
    text
}

/// Suspects for programs.
pub fn suspects_json(findings: &Findings, chosen: Vec<usize>, asked: Asked) -> Envelope<Value> {
    let suspect = |index: usize| {
        let mut suspect = suspect_json(findings, index);
        if asked.step.is_some() {
            let it = &findings.costs.suspects[index];
            suspect["saves_in_step_ns"] = whole(asked.costs(it)).into();
            suspect["named_in_step"] = asked.is_named(findings, it).into();
        }
        if asked.in_full {
            let steps = asked.steps(findings);
            suspect["holds_up"] = json!(findings.held_by(index, &steps));
            let next = findings.next_hindrance(index, &steps);
            suspect["then"] = next.map_or(Value::Null, |(next, saves_ns)| {
                let name = findings.name_of(&findings.costs.suspects[next].who);
                json!({ "name": name, "saves_ns": whole(saves_ns) })
            });
        }
        suspect
    };
    let suspects: Vec<Value> = asked.order(findings, chosen).into_iter().map(suspect).collect();
    let costs = &findings.costs;
    let mut answer =
        json!({ "step_ns": whole(costs.step_ns), "noise_ns": whole(costs.noise_ns), "suspects": suspects });
    if let Some(step) = asked.step {
        answer["step"] = findings.run.steps()[step].into();
        answer["this_step_ns"] = whole(costs.by_step_ns[step]).into();
    }
    Envelope::new(1, answer).with_losses(losses(findings))
}

/// A suspect for programs.
pub fn suspect_json(findings: &Findings, index: usize) -> Value {
    let suspect = &findings.costs.suspects[index];
    let number = |rank: usize| findings.run.ranks[rank].number;
    let (rank, src, dst) = match &suspect.who {
        Who::Rank(rank) => (Some(number(*rank)), None, None),
        Who::Link(link) => match link.ends {
            Ends::Pair(src, dst) => (None, Some(number(src)), Some(number(dst))),
            Ends::PortOut(rank) => (None, Some(number(rank)), None),
            Ends::PortIn(rank) => (None, None, Some(number(rank))),
            Ends::AdapterOut(_) | Ends::AdapterIn(_) | Ends::Path(..) => (None, None, None),
        },
        Who::Unrecorded(it) => (it.only(), None, None),
        Who::Group(_) | Who::Host(_) | Who::Operator(..) => (None, None, None),
    };
    let numbers = |ranks: Vec<usize>| ranks.into_iter().map(number).collect::<Vec<u32>>();
    let (from, to) = sides(findings, &suspect.who);
    json!({
        "kind": suspect.who.kind(),
        "name": findings.name_of(&suspect.who),
        "rank": rank,
        "src": src,
        "dst": dst,
        "ranks": match &suspect.who {
            Who::Unrecorded(it) => it.ranks.clone(),
            who => numbers(ranks_of(findings, who)),
        },
        "from": from.map(numbers),
        "to": to.map(numbers),
        "named": suspect.is_named,
        "weak": suspect.is_weak,
        "within": suspect.is_within,
        "saves_ns": whole(suspect.saves_ns),
        "saves_by_step_ns": suspect.saves_by_step_ns.iter().map(|it| whole(*it)).collect::<Vec<_>>(),
        "low_ns": suspect.interval_ns.map(|it| whole(it.0)),
        "high_ns": suspect.interval_ns.map(|it| whole(it.1)),
        "only_in_steps": suspect.only_in,
        "alone_ns": whole(suspect.alone_ns),
        "excess_ns": whole(suspect.excess_ns),
        "since_step": suspect.since,
        "evidence": findings.evidence[index],
    })
}

/// The recorded ranks that a suspect is about, by their indices: those that are slow, or the two sides of links.
pub fn ranks_of(findings: &Findings, who: &Who) -> Vec<usize> {
    let run = &findings.run;
    match who {
        Who::Link(_) => {
            let (from, to) = sides(findings, who);
            from.into_iter().chain(to).flatten().collect()
        }
        Who::Group(group) => {
            let members = &run.groups[*group as usize].ranks;
            members.iter().filter_map(|rank| run.rank_of(*rank)).collect()
        }
        Who::Rank(_) | Who::Host(_) | Who::Operator(..) | Who::Unrecorded(_) => who.workers(run),
    }
}

/// The senders and the receivers of slow links, by their indices; nothing where they are all but those of the other
/// side.
fn sides(findings: &Findings, who: &Who) -> (Option<Vec<usize>>, Option<Vec<usize>>) {
    let run = &findings.run;
    let on = |host: usize| {
        Some((0..run.ranks.len()).filter(|rank| run.ranks[*rank].host == host).collect::<Vec<usize>>())
    };
    let Who::Link(link) = who else { return (None, None) };
    match link.ends {
        Ends::Pair(src, dst) => (Some(vec![src]), Some(vec![dst])),
        Ends::PortOut(rank) => (Some(vec![rank]), None),
        Ends::PortIn(rank) => (None, Some(vec![rank])),
        Ends::AdapterOut(host) => (on(host), None),
        Ends::AdapterIn(host) => (None, on(host)),
        Ends::Path(from, to) => (on(from), on(to)),
    }
}
