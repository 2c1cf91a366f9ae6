//! Which session each event belongs to, and which run each node was executed for.
//!
//! The file names neither. These clues are there: a session's events follow its loading; the
//! thread pool that executed a node carries the number of its session; and a node lies within its
//! run, on the run's thread unless the session executes nodes in parallel.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap};

use opscope_trace::Nanoseconds;

use super::profile::{NodeEvent, Profile, SessionEvent, SessionEventKind};

/// The session and the run of every event.
#[derive(Debug)]
pub(super) struct Sessions {
    /// The number in the name of the thread pool of every session, where one is known.
    pub pool_numbers: Vec<Option<u64>>,
    /// The session of every session event.
    pub of_event: Vec<usize>,
    /// The session of every node.
    pub of_node: Vec<usize>,
    /// The run of every session event that is or lies in one, as a row of [`Profile::sessions`].
    pub run_of_event: Vec<Option<usize>>,
    /// The run of every node, likewise.
    pub run_of_node: Vec<Option<usize>>,
    /// How many nodes could belong to any of several runs that overlap.
    pub ambiguous_nodes: u64,
}

impl Sessions {
    pub(super) fn new(profile: &Profile) -> Self {
        let moments = profile.nodes.iter().map(|node| (node.process, node.thread, node.start));
        let run_of_node = runs_on_own_thread(&profile.sessions, &moments.collect::<Vec<_>>());
        let moments = profile.sessions.iter().map(|event| (event.process, event.thread, event.start));
        let run_of_event = runs_on_own_thread(&profile.sessions, &moments.collect::<Vec<_>>());
        let pools: Vec<Option<u64>> = profile.nodes.iter().map(|node| pool_number(profile, node)).collect();
        let pool_numbers: Vec<u64> =
            pools.iter().flatten().copied().collect::<BTreeSet<_>>().into_iter().collect();
        let loadings = Loadings::new(&profile.sessions);
        let count = loadings.starts.len().max(pool_numbers.len()).max(1);

        let session_of_pool = |number: u64| pool_numbers.binary_search(&number).ok();
        let of_node: Vec<usize> = (profile.nodes.iter().zip(&pools))
            .map(|(node, pool)| pool.and_then(session_of_pool).unwrap_or_else(|| loadings.before(node.start)))
            .collect();
        let mut of_event: Vec<usize> =
            profile.sessions.iter().map(|event| loadings.session_of(event)).collect();
        // A pool's number is surer than the order of events.
        for ((run, session), pool) in run_of_node.iter().zip(&of_node).zip(&pools) {
            if let (Some(run), Some(_)) = (run, pool) {
                of_event[*run] = *session;
            }
        }
        let mut sessions = Self {
            pool_numbers: (0..count).map(|session| pool_numbers.get(session).copied()).collect(),
            of_event,
            of_node,
            run_of_event,
            run_of_node,
            ambiguous_nodes: 0,
        };
        sessions.find_runs_elsewhere(profile);
        sessions
    }

    /// Gives the nodes that ran on threads of a pool to the run of their session during which they
    /// began, if there is only one.
    fn find_runs_elsewhere(&mut self, profile: &Profile) {
        let mut runs = by_start(&profile.sessions, |event| event.start);
        runs.retain(|&run| profile.sessions[run].kind == SessionEventKind::Run);
        let mut runs = runs.into_iter().peekable();
        let mut active: Vec<BinaryHeap<Reverse<(Nanoseconds, usize)>>> = Vec::new();
        active.resize_with(self.pool_numbers.len(), BinaryHeap::new);
        for node in by_start(&profile.nodes, |node| node.start) {
            let time = profile.nodes[node].start;
            while let Some(run) = runs.next_if(|&run| profile.sessions[run].start <= time) {
                let end = end_of(&profile.sessions[run]);
                active[self.of_event[run]].push(Reverse((end, run)));
            }
            if self.run_of_node[node].is_some() {
                continue;
            }
            let active = &mut active[self.of_node[node]];
            while active.peek().is_some_and(|Reverse((end, _))| *end < time) {
                active.pop();
            }
            match active.len() {
                0 => {}
                1 => self.run_of_node[node] = active.peek().map(|Reverse((_, run))| *run),
                _ => self.ambiguous_nodes += 1,
            }
        }
    }
}

/// When models were loaded; each loading begins a session.
struct Loadings {
    starts: Vec<Nanoseconds>,
    /// The session of every initialisation, by its row: where there are as many of them as
    /// loadings, they belong together in order.
    initializations: HashMap<Nanoseconds, usize>,
}

impl Loadings {
    fn new(events: &[SessionEvent]) -> Self {
        let starts_of = |kind| {
            let mut starts: Vec<_> =
                events.iter().filter(|event| event.kind == kind).map(|event| event.start).collect();
            starts.sort_unstable();
            starts
        };
        let starts = starts_of(SessionEventKind::ModelLoading);
        let initializations = starts_of(SessionEventKind::Initialization);
        let paired = initializations.len() == starts.len();
        let initializations =
            initializations.into_iter().enumerate().map(|(session, start)| (start, session));
        Self { starts, initializations: if paired { initializations.collect() } else { HashMap::new() } }
    }

    /// The session that was loaded last before a time; the first if there is none.
    fn before(&self, time: Nanoseconds) -> usize {
        self.starts.partition_point(|start| *start <= time).saturating_sub(1)
    }

    fn session_of(&self, event: &SessionEvent) -> usize {
        let paired = match event.kind {
            SessionEventKind::Initialization => self.initializations.get(&event.start),
            _ => None,
        };
        paired.copied().unwrap_or_else(|| self.before(event.start))
    }
}

/// A process, a thread and a time.
type Moment = (i64, i64, Nanoseconds);

/// The innermost run that was under way on the thread of each moment.
fn runs_on_own_thread(events: &[SessionEvent], moments: &[Moment]) -> Vec<Option<usize>> {
    let mut runs = by_start(events, |event| (event.start, Reverse(event.duration)));
    runs.retain(|&run| events[run].kind == SessionEventKind::Run);
    let mut runs = runs.into_iter().peekable();
    // The runs of every thread that have begun and not ended, innermost last.
    let mut open: HashMap<(i64, i64), Vec<usize>> = HashMap::new();
    let mut found = vec![None; moments.len()];
    for index in by_start(moments, |&(_, _, time)| time) {
        let (process, thread, time) = moments[index];
        while let Some(run) = runs.next_if(|&run| events[run].start <= time) {
            open.entry((events[run].process, events[run].thread)).or_default().push(run);
        }
        if let Some(stack) = open.get_mut(&(process, thread)) {
            while stack.pop_if(|run| end_of(&events[*run]) < time).is_some() {}
            found[index] = stack.last().copied();
        }
    }
    found
}

fn end_of(event: &SessionEvent) -> Nanoseconds {
    event.start + event.duration
}

/// Row numbers in the order of a key; the file's own order decides ties.
fn by_start<Row, Key: Ord>(rows: &[Row], key: impl Fn(&Row) -> Key) -> Vec<usize> {
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by_key(|&index| key(&rows[index]));
    order
}

/// The session's number in the name of the thread pool: `session-1-intra-op`.
fn pool_number(profile: &Profile, node: &NodeEvent) -> Option<u64> {
    let pool = profile.strings.get(node.scheduling?.pool);
    pool.strip_prefix("session-")?.split('-').next()?.parse().ok()
}
