//! The longest collectives of a rank, the rank that the others waited for, and the task in which that fell behind:
//! `communication_bottleneck`.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::path::Path;

use opscope_reach::Collection;
use opscope_reach::database::{Database, Texts, each_row, text, whole};
use opscope_trace::NumberMap;

use crate::Options;
use crate::error::PeerError;
use crate::launches::{Launches, each_call};
use crate::numbers::{micros, micros_text};
use crate::profile::{Collectives, LaunchLookup, Span, wanted};
use crate::ranks::{File, Ranks};
use crate::table::{Kind, Output, Table};

const TABLE: Table = Table {
    name: "CommunicationBottleneck",
    columns: &[
        ("startTime(us)", Kind::Text),
        ("endTime(us)", Kind::Text),
        ("duration(us)", Kind::Real),
        ("communicationOp", Kind::Text),
        ("slowRankId", Kind::Real),
        ("fastRankId", Kind::Real),
        ("reason", Kind::Text),
    ],
    index: &[],
};

/// How many collectives are looked at, unless more or fewer are asked for.
const USUAL_TOP: usize = 10;

/// The share of the longest part by which the shortest has to be shorter for its rank to be slow.
const SHORTER: f64 = 0.05;

/// The nanoseconds that a task waits longer on the device than on the host, where the device holds it up.
const WAITS_NS: i64 = 100_000;

/// The share of tasks that have to wait so for the device to be the bottleneck.
const MOST: f64 = 0.5;

/// The nanoseconds within which the same task begins on both ranks while neither is behind.
const ALIGNED_NS: i64 = 1_000_000;

/// A rank's part in a collective.
#[derive(Clone, Copy)]
struct Part {
    /// The rank, by its place among the ranks.
    rank: usize,
    span: Span,
}

/// A named task or call.
struct Step {
    name: String,
    span: Span,
}

/// The steps of both ranks that differ most.
struct Differences<'s> {
    by_duration: (&'s str, i64),
    by_start: (&'s str, i64),
}

/// Writes the longest collectives of a rank with who held them up; returns whether there are any. Without, nothing is
/// written.
///
/// # Errors
/// When the rank isn't there, or the result can't be written.
pub fn analyze(ranks: &Ranks, options: &Options, path: &Path) -> Result<bool, PeerError> {
    let target = options.rank.unwrap_or(0);
    let Some(of_target) = ranks.collections.iter().find(|it| it.rank == target) else {
        let known: Vec<String> = ranks.collections.iter().take(16).map(|it| it.rank.to_string()).collect();
        let more = if ranks.collections.len() > known.len() { ", …" } else { "" };
        let there = known.join(", ");
        return Err(PeerError::Usage(format!(
            "--rank_id {target}: there is no such rank; there are {there}{more}"
        )));
    };
    let longest = longest(ranks, of_target, options);
    if longest.is_empty() {
        return Ok(false);
    }
    let parts = parts(ranks, &longest);
    let judged: Vec<(Option<(u32, u32)>, String)> =
        longest.iter().map(|collective| judge(ranks, &parts[&*collective.name])).collect();
    Output::write(path, |output| {
        let mut table = output.table(&TABLE)?;
        longest.iter().zip(&judged).try_for_each(|(collective, (slow_and_fast, reason))| {
            let Span { start, end } = collective.span;
            let (slow, fast) = (slow_and_fast.map(|it| it.0), slow_and_fast.map(|it| it.1));
            table.row((
                micros_text(start),
                micros_text(end),
                micros(collective.span.length()),
                &collective.name,
                slow.map(f64::from),
                fast.map(f64::from),
                reason,
            ))
        })
    })?;
    Ok(true)
}

/// The longest collectives of a rank, the longest first: of all, or of those that lie in the step that is asked for.
fn longest(ranks: &Ranks, collection: &Collection, options: &Options) -> Vec<Step> {
    let mut all = Vec::new();
    ranks.read(collection, File::Profile, |database| {
        let Some(within) = wanted(database, options.step)? else { return Ok(()) };
        each_collective(database, |step| {
            if within.holds(step.span) {
                all.push(step);
            }
        })
    });
    all.sort_by_key(|step: &Step| Reverse(step.span.length()));
    all.truncate(options.top.unwrap_or(USUAL_TOP));
    all
}

fn each_collective(database: &Database, mut take: impl FnMut(Step)) -> rusqlite::Result<()> {
    let mut collectives = Collectives::default();
    let done = collectives.read(database, Span { start: i64::MIN, end: i64::MAX }, LaunchLookup::Skipped);
    for row in &collectives.rows {
        take(Step { name: collectives.names.text(row.name).to_owned(), span: row.span });
    }
    done
}

/// The parts of all ranks in some collectives, by name. Of a name that a rank has twice the last counts.
fn parts<'s>(ranks: &Ranks, wanted: &'s [Step]) -> HashMap<&'s str, Vec<Part>> {
    let mut parts: HashMap<&str, Vec<Part>> =
        wanted.iter().map(|step| (step.name.as_str(), Vec::new())).collect();
    let read = |collection: &Collection| {
        let mut found: HashMap<String, Span> = HashMap::new();
        ranks.read(collection, File::Profile, |database| {
            each_collective(database, |step| {
                if wanted.iter().any(|it| it.name == step.name) {
                    found.insert(step.name, step.span);
                }
            })
        });
        found
    };
    let mut rank = 0;
    let Ok(()) = ranks.each(read, |_, found| {
        for (name, span) in found {
            if let Some(parts) = parts.get_mut(name.as_str()) {
                parts.push(Part { rank, span });
            }
        }
        rank += 1;
        Ok::<_, std::convert::Infallible>(())
    });
    parts
}

/// Finds the rank with the shortest part, for which the one with the longest waited, and says why it came last.
fn judge(ranks: &Ranks, parts: &[Part]) -> (Option<(u32, u32)>, String) {
    let fast = parts.iter().rev().max_by_key(|part| part.span.length());
    let slow = parts.iter().rev().min_by_key(|part| part.span.length());
    let (Some(fast), Some(slow)) = (fast, slow) else {
        return (None, "[Failed] No data found for the communication operator".to_owned());
    };
    let difference = (fast.span.length() - slow.span.length()) as f64;
    if fast.span.length() == 0 || difference / (fast.span.length() as f64) < SHORTER {
        let reason =
            format!("[Completed] No slow NPU detected: execution time difference is less than {SHORTER}%");
        return (None, reason);
    }
    let number = |part: &Part| ranks.collections[part.rank].rank;
    (Some((number(slow), number(fast))), why_last(ranks, slow, fast))
}

/// Says in which task or call the slow rank fell behind.
fn why_last(ranks: &Ranks, slow: &Part, fast: &Part) -> String {
    let shift = fast.span.end.saturating_sub(slow.span.end);
    let within = Span { start: fast.span.start.saturating_sub(shift), end: slow.span.end };
    let Some(is_device) = waits_on_device(ranks, slow, within) else {
        return "[Failed] Insufficient data for analyzing slow NPU bottleneck".to_owned();
    };
    let unaligned =
        |of: &str| format!("[{of}-bound] Tasks are not aligned between slow and fast NPU from the beginning");
    let before = |part: &Part, read: fn(&Database, i64, &mut Vec<Step>) -> rusqlite::Result<()>| {
        let mut steps = Vec::new();
        let until = part.span.start;
        ranks
            .read(&ranks.collections[part.rank], File::Profile, |database| read(database, until, &mut steps));
        steps.sort_by_key(|step: &Step| Reverse(step.span.start));
        steps
    };
    if is_device {
        let (slow, fast) = (before(slow, device_tasks), before(fast, device_tasks));
        return match differences(&slow, &fast, shift) {
            Some(it) => format!("[Device-bound]{}", it.told("Device")),
            None => unaligned("Device"),
        };
    }
    let (slow_calls, fast_calls) = (before(slow, pytorch_calls), before(fast, pytorch_calls));
    let Some(pytorch) = differences(&slow_calls, &fast_calls, shift) else { return unaligned("Host") };
    let (slow_calls, fast_calls) = (before(slow, cann_calls), before(fast, cann_calls));
    let cann = differences(&slow_calls, &fast_calls, shift);
    let cann = cann.map_or(String::new(), |it| format!(" | {}", it.told("CANN")));
    format!("[Host-bound] {}{cann}", pytorch.told("PyTorch"))
}

/// Whether most of a rank's launched tasks within a stretch waited for the device; `None` where there are none.
fn waits_on_device(ranks: &Ranks, part: &Part, within: Span) -> Option<bool> {
    let (mut waiting, mut all) = (0_usize, 0_usize);
    ranks.read(&ranks.collections[part.rank], File::Profile, |database| {
        let mut launches = Launches::default();
        let calls = launches.read(database, |call| call.layer == "node" && call.name == "launch");
        let tasks = each_row(database, "TASK", &["startNs", "endNs", "connectionId"], |row| {
            let (Some(start), Some(end)) = (whole(row, 0), whole(row, 1)) else { return };
            if start <= within.start || end >= within.end {
                return;
            }
            let Some((pytorch, cann)) = launches.of(whole(row, 2)) else { return };
            let (on_host, on_device) =
                (cann.start.saturating_sub(pytorch.end), start.saturating_sub(cann.end));
            all += 1;
            waiting += usize::from(on_device.saturating_sub(on_host) > WAITS_NS);
        });
        calls.and(tasks)
    });
    (all > 0).then(|| waiting as f64 / all as f64 > MOST)
}

/// Computing tasks, collectives and copies of a rank, a collective's tasks as one. All of the run count: the vendor's
/// tool hands SQLite the moment until which as bytes of a NumPy number, beside which every number is less.
fn device_tasks(database: &Database, _until: i64, steps: &mut Vec<Step>) -> rusqlite::Result<()> {
    let (texts, done) = Texts::read(database);
    let names = |table: &str| {
        let mut names: NumberMap<i64, i64> = NumberMap::default();
        let done = each_row(database, table, &["globalTaskId", "name"], |row| {
            names.extend(whole(row, 0).zip(whole(row, 1)));
        });
        done.map(|()| names)
    };
    let (computing, communicating) = (names("COMPUTE_TASK_INFO")?, names("COMMUNICATION_TASK_INFO")?);
    let mut collectives: HashMap<i64, Span> = HashMap::new();
    let tasks = each_row(database, "TASK", &["startNs", "endNs", "taskType", "globalTaskId"], |row| {
        let (Some(start), Some(end)) = (whole(row, 0), whole(row, 1)) else { return };
        if start < 0 {
            return;
        }
        let (span, id) = (Span { start, end }, whole(row, 3));
        let mut push = |name: &str| steps.push(Step { name: name.to_owned(), span });
        if let Some(name) = id.and_then(|id| computing.get(&id)) {
            push(texts.get(Some(*name)));
        }
        if let Some(name) = id.and_then(|id| communicating.get(&id)) {
            let whole = collectives.entry(*name).or_insert(span);
            *whole = Span { start: whole.start.min(start), end: whole.end.max(end) };
        }
        let kind = texts.get(whole(row, 2));
        if kind.to_ascii_lowercase().contains("memcpy") {
            push(kind);
        }
    });
    let named = |(name, span)| Step { name: texts.get(Some(name)).to_owned(), span };
    steps.extend(collectives.into_iter().map(named));
    steps.sort_by(|a, b| (a.span, &a.name).cmp(&(b.span, &b.name)));
    done.and(tasks)
}

/// The calls of PyTorch's operators that ended until a moment.
fn pytorch_calls(database: &Database, until: i64, steps: &mut Vec<Step>) -> rusqlite::Result<()> {
    let (texts, done) = Texts::read(database);
    let rows = each_row(database, "PYTORCH_API", &["startNs", "endNs", "name"], |row| {
        let (Some(start), Some(end)) = (whole(row, 0), whole(row, 1)) else { return };
        let name = whole(row, 2).map_or(text(row, 2), |id| texts.get(Some(id)));
        if start >= 0 && end <= until && name.contains("::") {
            steps.push(Step { name: name.to_owned(), span: Span { start, end } });
        }
    });
    done.and(rows)
}

/// The calls of CANN that ended until a moment.
fn cann_calls(database: &Database, until: i64, steps: &mut Vec<Step>) -> rusqlite::Result<()> {
    each_call(database, |call| {
        if call.span.start >= 0 && call.span.end <= until {
            steps.push(Step { name: format!("{}@{}", call.layer, call.name), span: call.span });
        }
    })
}

/// Walks back from the latest steps of two ranks, those of one name together, until both began at the same time; then
/// tells which of them differ most. `None` where they never did. The clocks differ by `shift` nanoseconds.
fn differences<'s>(slow: &'s [Step], fast: &[Step], shift: i64) -> Option<Differences<'s>> {
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    for (place, step) in fast.iter().enumerate() {
        places.entry(&step.name).or_default().push(place);
    }
    let mut next = 0;
    let mut found: Option<Differences<'s>> = None;
    for step in slow {
        let Some(places) = places.get(step.name.as_str()) else { continue };
        let Some(&place) = places.get(places.partition_point(|place| *place < next)) else { continue };
        next = place + 1;
        let other = &fast[place];
        let later = step.span.start.saturating_sub(other.span.start).saturating_add(shift);
        let longer = step.span.length() - other.span.length();
        let most = found
            .get_or_insert(Differences { by_duration: (&step.name, longer), by_start: (&step.name, later) });
        if longer > most.by_duration.1 {
            most.by_duration = (&step.name, longer);
        }
        if later > most.by_start.1 {
            most.by_start = (&step.name, later);
        }
        if later < ALIGNED_NS {
            return found;
        }
    }
    None
}

impl Differences<'_> {
    fn told(&self, layer: &str) -> String {
        let ((longest, longer), (latest, later)) = (self.by_duration, self.by_start);
        format!(
            "{layer}: max duration-diff op {longest}, diff {:?} us, max start-time-diff op {latest}, diff {:?} us.",
            micros(longer),
            micros(later)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(name: &str, start: i64, end: i64) -> Step {
        Step { name: name.to_owned(), span: Span { start, end } }
    }

    #[test]
    fn the_walk_back_ends_where_both_ranks_began_at_the_same_time() {
        let slow = [step("c", 9_000_000, 9_000_100), step("b", 5_000_000, 8_000_000), step("a", 10, 20)];
        let fast = [
            step("c", 6_000_000, 6_000_300),
            step("x", 5_500_000, 5_600_000),
            step("b", 5_000_000, 5_100_000),
        ];
        let found = differences(&slow, &fast, 0).unwrap();
        assert_eq!((found.by_duration, found.by_start), (("b", 2_900_000), ("c", 3_000_000)));
        assert!(differences(&slow[..1], &fast, 0).is_none(), "both were never aligned");
    }
}
