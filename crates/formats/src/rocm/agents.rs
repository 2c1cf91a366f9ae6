//! Agents: the processors and GPUs of a machine, which tables number in one of three ways (`--agent-index`).

use opscope_trace::{DeviceId, DeviceKind, NumberMap, Places, StringId, Trace};

/// An agent, as a record names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Agent {
    /// By the system's number, as JSON and tables of ROCm 6.2 do.
    Node(u32),
    /// `Agent 2`: by its place among the agents that can be used (`relative`), or the system's number (`absolute`).
    Numbered(u32),
    /// `GPU 0`: by its place among those of its kind (`type-relative`).
    OfKind(DeviceKind, u32),
    /// Anything else, by its text.
    Other(StringId),
}

impl Agent {
    /// The agent that a cell names; nothing for a text of another form.
    pub fn of(cell: &[u8]) -> Option<Self> {
        let number = |digits: &[u8]| std::str::from_utf8(digits).ok()?.parse().ok();
        match cell.iter().position(|byte| *byte == b' ').map(|end| cell.split_at(end)) {
            None => number(cell).map(Self::Node),
            Some((b"Agent", digits)) => number(digits.trim_ascii()).map(Self::Numbered),
            Some((b"GPU", digits)) => number(digits.trim_ascii()).map(|of| Self::OfKind(DeviceKind::Gpu, of)),
            Some((b"CPU", digits)) => number(digits.trim_ascii()).map(|of| Self::OfKind(DeviceKind::Cpu, of)),
            Some(_) => None,
        }
    }
}

/// An agent, as the list of all tells it.
pub struct Listed {
    /// The system's number.
    pub node: Option<u32>,
    /// The place among the agents that can be used.
    pub place: Option<u32>,
    /// The place among those of its kind, where it is told.
    pub of_kind: Option<u32>,
    pub is_host: bool,
    pub name: String,
}

/// The agents of a run, and their devices.
#[derive(Default)]
pub struct Agents {
    known: NumberMap<Agent, (DeviceKind, String)>,
    devices: NumberMap<Agent, DeviceId>,
    /// How many devices there are of agents that no text tells.
    others: u32,
}

impl Agents {
    /// Enters the agents of one list, which stand in the order of the system.
    pub fn enter(&mut self, list: &[Listed]) {
        let (mut hosts, mut gpus) = (0, 0);
        for listed in list {
            let kind = if listed.is_host { DeviceKind::Cpu } else { DeviceKind::Gpu };
            let of_kind = if listed.is_host { &mut hosts } else { &mut gpus };
            let place = listed.of_kind.unwrap_or(*of_kind);
            *of_kind += 1;
            let entry = (kind, listed.name.clone());
            self.known.insert(Agent::OfKind(kind, place), entry.clone());
            let numbers = [listed.node.map(Agent::Node), listed.place.map(Agent::Numbered)];
            self.known.extend(numbers.into_iter().flatten().map(|agent| (agent, entry.clone())));
        }
        // A number that is no place is the system's.
        for listed in list {
            if let Some(node) = listed.node
                && let Some(entry) = self.known.get(&Agent::Node(node)).cloned()
            {
                self.known.entry(Agent::Numbered(node)).or_insert(entry);
            }
        }
    }

    /// Whether an agent is known to be a processor of the host.
    pub fn is_host(&self, agent: Agent) -> bool {
        match agent {
            Agent::OfKind(kind, _) => kind == DeviceKind::Cpu,
            agent => self.known.get(&agent).is_some_and(|(kind, _)| *kind == DeviceKind::Cpu),
        }
    }

    /// The device of an agent. One that isn't listed counts as a GPU; one that no number tells is a device of its own.
    pub fn device(&mut self, trace: &mut Trace, places: &mut Places, agent: Agent) -> DeviceId {
        if let Some(&device) = self.devices.get(&agent) {
            return device;
        }
        let listed = self.known.get(&agent);
        let (kind, name) = listed.map_or((DeviceKind::Gpu, ""), |(kind, name)| (*kind, name.as_str()));
        let device = match agent {
            Agent::Node(number) | Agent::Numbered(number) => places.device(trace, kind, number, name),
            Agent::OfKind(kind, number) => places.device(trace, kind, number, name),
            Agent::Other(text) => {
                let (number, name) = (self.others, trace.strings.get(text).to_owned());
                self.others += 1;
                places.device(trace, DeviceKind::Other, number, &name)
            }
        };
        self.devices.insert(agent, device);
        device
    }
}
