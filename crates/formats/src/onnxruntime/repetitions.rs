//! Events that a file has twice, as where a profile was joined to itself: each counts once.
//!
//! Loading, initialising and running are never there twice, and there are few such events, so that they tell whether
//! others may be: only then are these looked up. An event right behind its like is found by comparing the two.

use std::collections::HashSet;
use std::hash::Hash;

use opscope_trace::{Nanoseconds, StringId};

use super::profile::{DeviceEvent, NodeEvent, Profile, SessionEvent, SessionEventKind};

/// The name, process, thread, start and duration of an event.
type Key = (StringId, i64, i64, Nanoseconds, Nanoseconds);

/// The events that were read, as far as others may repeat them.
#[derive(Default)]
pub(super) struct Repetitions {
    sessions: HashSet<Key>,
    /// Events of nodes and devices, once an event of a session was there twice.
    known: Option<Known>,
}

struct Known {
    nodes: HashSet<Key>,
    /// With the stream as well.
    devices: HashSet<(Key, Option<u64>)>,
}

impl Known {
    fn of(profile: &Profile) -> Self {
        let nodes = profile.nodes.iter().map(node_key).collect();
        Self { nodes, devices: profile.devices.iter().map(device_key).collect() }
    }
}

fn node_key(event: &NodeEvent) -> Key {
    (event.name, event.process, event.thread, event.start, event.duration)
}

fn device_key(event: &DeviceEvent) -> (Key, Option<u64>) {
    ((event.name, event.process, event.thread, event.start, event.duration), event.stream)
}

impl Repetitions {
    /// Whether the profile has an event of a session already.
    pub fn is_session_known(&mut self, event: &SessionEvent, profile: &Profile) -> bool {
        use SessionEventKind::{Initialization, ModelLoading, Run};
        let key = (event.name, event.process, event.thread, event.start, event.duration);
        if self.sessions.insert(key) {
            return false;
        }
        // Graphs within graphs may be executed in the same microseconds.
        let is_telling = matches!(event.kind, ModelLoading | Initialization | Run) && event.duration.0 > 0;
        if is_telling && self.known.is_none() {
            self.known = Some(Known::of(profile));
        }
        self.known.is_some()
    }

    /// The same of a node's event.
    pub fn is_node_known(&mut self, event: &NodeEvent, profile: &Profile) -> bool {
        is_known(self.known.as_mut().map(|known| &mut known.nodes), node_key(event), || {
            event.duration.0 > 0 && profile.nodes.last().map(node_key) == Some(node_key(event))
        })
    }

    /// The same of a device's event.
    pub fn is_device_event_known(&mut self, event: &DeviceEvent, profile: &Profile) -> bool {
        is_known(self.known.as_mut().map(|known| &mut known.devices), device_key(event), || {
            let is_same = |last: &DeviceEvent| {
                device_key(last) == device_key(event) && last.arguments == event.arguments
            };
            event.duration.0 > 0 && profile.devices.last().is_some_and(is_same)
        })
    }
}

/// Whether an event is among those that are known, or else repeats the last one. Two executions of a node that took no
/// time may have begun in the same microsecond.
fn is_known<K: Eq + Hash>(known: Option<&mut HashSet<K>>, key: K, is_last: impl FnOnce() -> bool) -> bool {
    match known {
        Some(known) => !known.insert(key),
        None => is_last(),
    }
}
