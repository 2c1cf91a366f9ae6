//! The time that tasks of several streams take together, as they lay beside one another when they were recorded.
//!
//! Where nothing tells which of them waited for which, tasks keep their places: a stretch in which several streams
//! worked takes as long as the slowest of its tasks still needs, and one in which a single task ran as long as that one.

use opscope_trace::Trace;

/// The time in which something runs once tasks take other times than they did; `places` are those of `tasks` that
/// count. In a stream a task interrupts the one within which it began.
pub(crate) fn time(trace: &Trace, tasks: &[opscope_trace::TaskId], times: &[f64], places: &[usize]) -> f64 {
    let mut own = vec![0.0; tasks.len()];
    sweep(trace, tasks, places, |length, running| running.iter().for_each(|place| own[*place] += length));
    let mut sum = 0.0;
    sweep(trace, tasks, places, |length, running| {
        let part = |place: &usize| if own[*place] > 0.0 { times[*place] / own[*place] } else { 0.0 };
        sum += length * running.iter().map(part).fold(0.0, f64::max);
    });
    sum
}

/// Tells of each stretch how long it is, and the task that runs in each stream.
fn sweep(
    trace: &Trace,
    tasks: &[opscope_trace::TaskId],
    places: &[usize],
    mut tell: impl FnMut(f64, &[usize]),
) {
    let rows = &trace.tasks;
    let mut events: Vec<(i64, bool, usize)> = Vec::with_capacity(places.len() * 2);
    for &place in places {
        let index = tasks[place].index();
        let start = rows.start()[index];
        events.push((start.0, true, place));
        events.push(((start + rows.duration()[index]).0, false, place));
    }
    // Ends before begins, so that tasks that follow one another don't run at once.
    events.sort_unstable();
    let mut streams: Vec<(_, Vec<usize>)> = Vec::new();
    let (mut running, mut before) = (Vec::new(), 0);
    for (at, begins, place) in events {
        if at > before {
            running.clear();
            running.extend(streams.iter().filter_map(|(_, open)| open.last().copied()));
            if !running.is_empty() {
                tell((at - before) as f64, &running);
            }
        }
        before = at;
        let stream = rows.stream()[tasks[place].index()];
        let known = streams.iter().position(|(known, _)| *known == stream);
        let known = known.unwrap_or_else(|| {
            streams.push((stream, Vec::new()));
            streams.len() - 1
        });
        let open = &mut streams[known].1;
        match begins {
            true => open.push(place),
            false => {
                if let Some(at) = open.iter().rposition(|known| *known == place) {
                    open.remove(at);
                }
            }
        }
    }
}
