//! The first screen: what a step takes, what it would take, and who is in the way.

use std::path::PathBuf;

use opscope_reach::{Findings, IdealBubble, LARGEST_ERROR, SlowClass, Who};
use opscope_say::{say, word};
use serde_json::{Value, json};

use super::suspects::{Asked, plain, suspect_json, table};
use super::{grouped, listed, milliseconds, whole};
use crate::report::{Envelope, count};
use crate::terminal::{bold, command_line, dim, path_word, printable};

/// Everything on one screen. `run` is that of a set which was asked for.
pub fn to_text(findings: &Findings, paths: &[PathBuf], run: Option<&str>, width: Option<u16>) -> String {
    let costs = &findings.costs;
    let mut text = format!("{}\n\n", heading(findings));
    if costs.replay_error > LARGEST_ERROR {
        text.push_str(&untold(findings));
    } else {
        text.push_str(&reachable(findings));
        text.push_str(&uncompared(findings));
        text.push('\n');
        text.push_str(&match costs.suspects.iter().any(|suspect| suspect.is_named) {
            true => table(findings, &plain(findings), Asked::default()).to_text(width),
            false => nobody(
                findings,
                &match costs.suspects.is_empty() {
                    true => String::new(),
                    false => {
                        let table = table(findings, &plain(findings), Asked::default()).to_text(width);
                        format!("{}\n{table}", hide_one_another(findings))
                    }
                },
            ),
        });
    }
    text.push_str(&format!("\n{}\n{}\n", account(findings), clocks(findings)));
    text.push_str(&more(findings, paths, run));
    text
}

/// The time of a step as it is and as it would be, and where nobody stands out, that.
pub fn headline(findings: &Findings) -> String {
    let costs = &findings.costs;
    match costs.suspects.iter().any(|suspect| suspect.is_named) {
        _ if costs.replay_error > LARGEST_ERROR => untold(findings),
        true => reachable(findings) + &uncompared(findings),
        false => reachable(findings) + &uncompared(findings) + &nobody(findings, ""),
    }
}

/// Why no costs are told.
fn untold(findings: &Findings) -> String {
    let costs = &findings.costs;
    say!(
        "A step takes {} ms. No costs are told: the run, replayed as it is, differs by {:.1} % from what was \
         measured, so that replaying it otherwise would say nothing.\n",
        bold(&milliseconds(costs.step_ns)),
        100.0 * costs.replay_error
    )
}

/// The ranks of which peers don't tell whether they are slow.
fn uncompared(findings: &Findings) -> String {
    without_peers(findings) + &slow_classes(findings)
}

/// The ranks all of whose peers run at as low a frequency.
fn slow_classes(findings: &Findings) -> String {
    let line = |it: SlowClass| {
        say!(
            "AI Cores at {:.0} MHz on ranks {}, where others have {:.0}: none of those does the same work, so that what it \
             costs isn't known.\n",
            it.mhz,
            listed(&it.ranks),
            it.others_mhz
        )
    };
    findings.slow_classes().into_iter().map(line).collect()
}

/// The ranks that can't be compared with any other.
fn without_peers(findings: &Findings) -> String {
    let alone = findings.without_peers();
    match alone.is_empty() {
        true => String::new(),
        false => say!(
            "Without peers, as no other rank does the same: {}. Only their own steps are compared; if all of them are slow, \
             that isn't found.\n",
            listed(&alone)
        ),
    }
}

/// That nobody is named, with a table of those whom others hide.
fn nobody(findings: &Findings, hidden: &str) -> String {
    let costs = &findings.costs;
    say!(
        "No rank or link stands out; what costs less than {:.1} % of a step isn't told.\n{}",
        100.0 * costs.noise_ns / costs.step_ns,
        hidden
    )
}

/// That those whom others hide cost much together, where they do.
fn hide_one_another(findings: &Findings) -> String {
    findings.hidden_together_ns().map_or(String::new(), |saves_ns| {
        say!(
            "But these hide one another: without all of them a step would take {} ms less\n",
            bold(&milliseconds(saves_ns))
        )
    })
}

/// The ranks, hosts and steps that were recorded, and what is missing of the run.
pub fn extent(findings: &Findings) -> String {
    let (missing, here) = (findings.missing(), recorded(findings));
    let unnamed = findings.run.groups.iter().max_by_key(|group| group.unnamed).filter(|it| it.unnamed > 0);
    let ranks = match (missing.is_empty(), unnamed) {
        (true, None) => bold(&count(here, "rank")),
        (true, Some(group)) => {
            let (of, ranks) = (group.size(), bold(&count(here, "rank")));
            say!("{ranks} (links tell of {of} in a group, {} of them not recorded)", group.unnamed)
        }
        (false, _) => {
            say!("{} (missing {})", bold(&say!("{here} of {} ranks", here + missing.len())), listed(&missing))
        }
    };
    let layout: Vec<String> =
        findings.discovery.layout.iter().map(|(name, size)| format!("{name} {size}")).collect();
    let layout = if layout.is_empty() { String::new() } else { format!(" ({})", layout.join(", ")) };
    let (hosts, steps) = (count(findings.run.hosts.len(), "host"), count(findings.run.steps().len(), "step"));
    say!("{ranks} on {hosts}{layout}, {steps}")
}

/// How many ranks something was recorded of.
fn recorded(findings: &Findings) -> usize {
    findings.run.ranks.iter().filter(|rank| !rank.is_empty()).count()
}

/// The extent of the examination.
pub fn heading(findings: &Findings) -> String {
    let incomplete = match (findings.incomplete(), findings.missing().is_empty()) {
        (0, true) => word(", nothing missing").to_owned(),
        (0, false) => String::new(),
        (some, _) => say!(", {} of them incomplete, whose waits are inferred", grouped(some)),
    };
    let collectives = word(if findings.run.instances.len() == 1 { "collective" } else { "collectives" });
    say!(
        "{}, {} parts of {} {collectives} matched{incomplete}",
        extent(findings),
        grouped(findings.matched()),
        grouped(findings.run.instances.len()),
    )
}

fn reachable(findings: &Findings) -> String {
    let costs = &findings.costs;
    let (step, least) = (milliseconds(costs.step_ns), milliseconds(costs.reachable_ns));
    let less = 100.0 * (1.0 - costs.reachable_ns / costs.step_ns);
    say!(
        "A step takes {} ms. If no rank and no link were slower than its peers: {} ms ({less:.0} % less)\n",
        bold(&step),
        bold(&least)
    )
}

/// Where a step goes.
pub fn account(findings: &Findings) -> String {
    let account = findings.account();
    // The step above is that of the run, which ends with its last rank.
    let whole = account.whole_ns();
    // Less than that is rounding, and the jitter of ends.
    let rest = match account.unaccounted_ns.abs() >= 0.01 * whole {
        true => say!(", not accounted for {}", milliseconds(account.unaccounted_ns)),
        false => String::new(),
    };
    say!(
        "Where a step goes: compute {} ms, waiting {}, transfer not hidden {}, bubble {}, host {}{}; together {}, a rank's mean",
        milliseconds(account.compute_ns),
        milliseconds(account.waiting_ns),
        milliseconds(account.transfer_ns),
        milliseconds(account.bubble_ns),
        milliseconds(account.host_ns),
        rest,
        milliseconds(whole)
    ) + &ideal_bubble(findings)
}

/// The bubble that the pipeline can't avoid: a share of what is pipelined, beside which a step has other parts.
fn ideal_bubble(findings: &Findings) -> String {
    let told = |ideal: IdealBubble| match ideal.micro_batches {
        1 => say!(
            "\nBubble: {} stages with one micro-batch (one a send, not interleaved) idle {:.0} % of the pipelined part at best",
            ideal.stages,
            100.0 * ideal.share
        ),
        micro_batches => say!(
            "\nBubble: {} stages with {} micro-batches (one a send, not interleaved) idle {:.0} % of the pipelined part at best",
            ideal.stages,
            micro_batches,
            100.0 * ideal.share
        ),
    };
    findings.ideal_bubble().map_or(String::new(), told)
}

/// How far the hosts' clocks are known, and which are far off.
pub fn clocks(findings: &Findings) -> String {
    /// A clock that is ahead by more is told, in nanoseconds.
    const FAR: f64 = 1e9;
    let hosts = &findings.clocks.hosts;
    let islands = hosts.iter().map(|host| host.island).max().unwrap_or(0) + 1;
    let mut text = match (hosts.len(), islands) {
        (0 | 1, _) => word("Clocks: one host").to_owned(),
        (count, 1) => {
            let error = hosts.iter().map(|host| host.error_ns).fold(0.0, f64::max);
            say!("Clocks: {count} hosts aligned to ± {:.1} µs", (error / 1e3).max(0.1))
        }
        (count, islands) => say!(
            "Clocks: {count} hosts in {islands} islands that share no collective; nothing compares their times"
        ),
    };
    let mut offsets: Vec<f64> = hosts.iter().map(|host| host.offset_ns).collect();
    offsets.sort_unstable_by(f64::total_cmp);
    let middle = offsets.get(offsets.len().saturating_sub(1) / 2).copied().unwrap_or(0.0);
    for host in hosts.iter().filter(|host| (host.offset_ns - middle).abs() > FAR) {
        let (name, off) = (printable(&host.host), (host.offset_ns - middle) / 1e9);
        let side = word(if off > 0.0 { "ahead" } else { "behind" });
        text.push_str(&say!("; {name} was {:.1} s {side}", off.abs()));
    }
    text
}

/// Whether a name of the profile stands in a command line as it is.
fn is_plain(name: &str) -> bool {
    let is_letter = |it: char| it.is_ascii_alphanumeric() || it == '_';
    name.starts_with(is_letter) && name.chars().all(|it| is_letter(it) || it == '-' || it == '.')
}

/// The option that chooses a run of a set, as words of a command line.
pub fn words_of_run(run: Option<&str>) -> impl Iterator<Item = String> {
    run.into_iter().flat_map(|run| ["--run".to_owned(), run.to_owned()])
}

/// Where to go on.
fn more(findings: &Findings, paths: &[PathBuf], run: Option<&str>) -> String {
    let paths = paths.iter().map(|path| path_word(path));
    let paths = command_line(paths.chain(words_of_run(run)));
    let paths = printable(&paths).into_owned();
    let mut suspects = findings.costs.suspects.iter().filter(|suspect| !suspect.is_within);
    let first = suspects.find_map(|suspect| match suspect.who {
        Who::Rank(rank) => Some(format!(" --rank {}", findings.run.ranks[rank].number)),
        Who::Host(host) if is_plain(&findings.run.hosts[host]) => {
            Some(format!(" --host {}", findings.run.hosts[host]))
        }
        _ => None,
    });
    let first = first.unwrap_or_default();
    dim(&say!("\nMore: opscope cluster slow {paths}{first} · opscope cluster info {paths}\n"))
}

/// The same for programs.
pub fn to_json(findings: &Findings) -> Envelope<Value> {
    let costs = &findings.costs;
    let suspects: Vec<Value> = (0..costs.suspects.len()).map(|index| suspect_json(findings, index)).collect();
    let answer = json!({
        "ranks": recorded(findings),
        "missing": findings.missing(),
        "without_peers": findings.without_peers(),
        "slow_classes": findings.slow_classes(),
        "hosts": findings.run.hosts,
        "layout": findings.discovery.layout.iter().cloned().collect::<std::collections::BTreeMap<_, _>>(),
        "steps": findings.run.steps(),
        "collectives": findings.run.instances.len(),
        "matched_parts": findings.matched(),
        "incomplete": findings.incomplete(),
        "step_ns": whole(costs.step_ns),
        "reachable_ns": whole(costs.reachable_ns),
        "noise_ns": whole(costs.noise_ns),
        "replay_error": costs.replay_error,
        "suspects": suspects,
        "hidden_together_ns": findings.hidden_together_ns().map(whole),
        "account": findings.account(),
        "ideal_bubble": findings.ideal_bubble(),
        "clocks": findings.clocks.hosts,
        "shifts": findings.shifts,
    });
    Envelope::new(1, answer).with_losses(losses(findings))
}

/// The losses as they stand in every answer.
pub fn losses(findings: &Findings) -> Vec<Value> {
    findings.losses.iter().map(super::loss_json).collect()
}
