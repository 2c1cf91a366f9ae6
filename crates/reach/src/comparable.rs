//! The part of ranks that can be compared side by side: their collectives are matched, and steps, ranks and links are left
//! out that would make others look slow, such as steps that were cut, and ranks of another run.

use crate::discover::Discovery;
use crate::error::{Loss, LossReason};
use crate::inferred_steps::keep_where_all_agree;
use crate::matching::{self, Shift};
use crate::profiles::sort_losses;
use crate::run::{Rank, Run};
use crate::{
    cut_steps, foreign_links, other_times, separate_clocks, steps_of_others, strangers, uneven_steps,
};

/// Ranks that can be compared.
#[derive(Debug)]
pub struct Comparable {
    /// The ranks, each by its own clock.
    pub run: Run,
    /// Whether any collective is of two ranks; where none is, nothing is left out for what others tell.
    pub is_matched: bool,
    /// Ranks whose collectives were numbered otherwise.
    pub shifts: Vec<Shift>,
    /// Losses and doubts.
    pub losses: Vec<Loss>,
}

impl Comparable {
    /// Finds what can be compared of ranks as they were read, with the losses of reading them.
    pub fn of(discovery: &Discovery, mut run: Run, mut losses: Vec<Loss>) -> Self {
        keep_where_all_agree(&mut run, &mut losses);
        sort_losses(&mut losses);
        losses.extend(foreign_links::leave_out(discovery, &mut run));
        losses.extend(without_collectives(discovery, &run, &losses));
        losses.extend(without_operators(discovery, &run));
        losses.extend(cut_steps::leave_out(&mut run));
        let of_other_times = other_times::leave_out(&mut run, &losses);
        losses.extend(of_other_times);
        let shifts = matching::match_collectives(&mut run);
        let is_matched = run.instances.iter().any(|instance| instance.seen > 1);
        if is_matched {
            leave_out_by_others(&mut run, &mut losses);
            losses.extend(shifts.iter().map(loss_of));
        }
        Self { run, is_matched, shifts, losses }
    }
}

/// Leaves out what only the other ranks tell of: steps that they have otherwise, and ranks of another run.
fn leave_out_by_others(run: &mut Run, losses: &mut Vec<Loss>) {
    let steps_of_others = steps_of_others::take(run, losses);
    if !steps_of_others.is_empty() {
        matching::tie(run);
    }
    losses.extend(steps_of_others);
    let own_clocks = separate_clocks::separate(run, losses);
    losses.extend(own_clocks);
    let mut strangers = strangers::find(run);
    if strangers::leave_out(run, &mut strangers) {
        matching::tie(run);
    }
    losses.extend(strangers);
    let uneven = uneven_steps::leave_out(run);
    if !uneven.is_empty() {
        matching::tie(run);
    }
    losses.extend(uneven);
    let lacking = cut_steps::leave_out_lacking(run);
    if !lacking.is_empty() {
        matching::tie(run);
    }
    losses.extend(lacking);
}

/// That a rank's collectives were numbered otherwise.
fn loss_of(shift: &Shift) -> Loss {
    let source = format!("{} groups", shift.role.name());
    Loss::new(Some(shift.rank), source, LossReason::Shifted, 1).because(format!("{:+}", shift.added))
}

/// A loss for each rank that has collectives and no operators: where others have some, and where nothing tells what it
/// computed.
fn without_operators(discovery: &Discovery, run: &Run) -> Vec<Loss> {
    let others_have = run.ranks.iter().any(|rank| rank.operators > 0);
    let have_none = run.ranks.iter().filter(|rank| rank.operators == 0 && !rank.events.is_empty());
    let loss = |rank: &Rank| {
        let reason = match rank.compute_ns.values().any(|it| *it > 0) {
            true if others_have => LossReason::StatedComputing,
            true => return None,
            false => LossReason::UnknownComputing,
        };
        let found = discovery.collections.iter().find(|it| it.rank == rank.number);
        let source = found.map_or_else(String::new, |it| it.folder.display().to_string());
        Some(Loss::new(Some(rank.number), source, reason, 1))
    };
    have_none.filter_map(loss).collect()
}

/// A loss for each rank that has no collectives where others have, unless it is known that it has nothing at all.
fn without_collectives(discovery: &Discovery, run: &Run, known: &[Loss]) -> Vec<Loss> {
    let is_empty = |rank: u32| known.iter().any(|it| it.rank == Some(rank) && it.reason == LossReason::Empty);
    let have_none = run.ranks.iter().filter(|rank| rank.events.is_empty() && !is_empty(rank.number));
    let loss = |rank: &Rank| {
        let found = discovery.collections.iter().find(|it| it.rank == rank.number);
        let source = found.map_or_else(String::new, |it| it.folder.display().to_string());
        Loss::new(Some(rank.number), source, LossReason::NoCollectives, 1)
    };
    if run.events.is_empty() { Vec::new() } else { have_none.map(loss).collect() }
}
