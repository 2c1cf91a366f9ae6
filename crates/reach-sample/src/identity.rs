//! Who a rank is: its host, device, groups and the names that its profile has for them.

use serde_json::{Map, Value, json};

use crate::layout::Group;
use crate::options::Options;

/// The call in which a host waits for its device, and is late with what follows.
pub(crate) const HOLDING_CALL: &str = "aten::item";

/// The name of the call that waits for a step's input.
pub(crate) const INPUT_CALL: &str = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__";

/// A rank among the others.
#[derive(Debug)]
pub(crate) struct Identity {
    pub(crate) rank: usize,
    pub(crate) host: usize,
    pub(crate) device: usize,
    /// The groups of more than one rank.
    pub(crate) groups: Vec<OwnGroup>,
}

/// A group that a rank belongs to.
#[derive(Debug)]
pub(crate) struct OwnGroup {
    pub(crate) group: Group,
    /// Its name, made of the first member's address.
    pub(crate) id: String,
    /// The name's hash, by which results name the group.
    pub(crate) hash: String,
    /// All members, ascending.
    pub(crate) members: Vec<usize>,
    /// The rank's place among them.
    pub(crate) own_place: usize,
}

impl Identity {
    pub(crate) fn new(options: &Options, rank: usize) -> Self {
        let own_group = |group: Group| {
            let members = options.layout.members(group, rank);
            let first = members[0];
            let host = options.host(first);
            let id = format!(
                "10.0.{}.{}%eth0_{}_{}_{}",
                host / 250,
                host % 250 + 1,
                60_000 + first % 8,
                group as usize,
                1_760_000_000_000_000 + first
            );
            let own_place = members.iter().position(|member| *member == rank).unwrap_or(0);
            OwnGroup { group, hash: hash(&id), id, members, own_place }
        };
        let groups = Group::ALL.into_iter().filter(|group| options.layout.size(*group) > 1);
        Self {
            rank,
            host: options.host(rank),
            device: rank % options.devices_per_host,
            groups: groups.map(own_group).collect(),
        }
    }

    /// The rank's group of a kind, if it has more than one member.
    pub(crate) fn group(&self, group: Group) -> Option<&OwnGroup> {
        self.groups.iter().find(|own| own.group == group)
    }

    /// The number of the thread that launches everything.
    pub(crate) fn thread(&self) -> i64 {
        4_000_000_000 + self.rank as i64
    }

    /// The folder of the rank's profile, collected on this day of October 2025.
    pub(crate) fn folder(&self, day: u32) -> String {
        let (host, rank) = (self.host, self.rank);
        let (hours, minutes, seconds) = (8 + rank / 3_600 % 10, rank / 60 % 60, rank % 60);
        format!("host{host}_{}_202510{day:02}{hours:02}{minutes:02}{seconds:02}000_ascend_pt", 10_000 + rank)
    }

    /// The profile's statements on the groups, by name.
    pub(crate) fn group_info(&self) -> Value {
        let info = |own: &OwnGroup| {
            let info = json!({
                "group_name": own.group.name(),
                "group_rank": own.own_place,
                "global_ranks": own.members,
            });
            (own.id.clone(), info)
        };
        Value::Object(self.groups.iter().map(info).collect::<Map<_, _>>())
    }

    /// The profile's statements on the whole cluster.
    pub(crate) fn cluster_info(&self, options: &Options) -> Value {
        let layout = &options.layout;
        json!({
            "world_size": layout.ranks(),
            "tensor_model_parallel_size": layout.tensor,
            "pipeline_model_parallel_size": layout.pipeline,
            "data_parallel_size": layout.data,
            "context_parallel_size": 1,
            "expert_model_parallel_size": layout.expert,
            "sequence_parallel": false,
            "rank": self.rank,
        })
    }

    /// The content of `profiler_info_N.json`, of a profile that ended at a time of the rank's host.
    pub(crate) fn profiler_info(&self, level: u8, form: &str, end_ns: i64) -> Value {
        json!({
            "config": {
                "common_config": {"activities": ["ProfilerActivity.CPU", "ProfilerActivity.NPU"]},
                "experimental_config": {"_profiler_level": format!("Level{level}"), "_export_type": form},
            },
            "start_info": {"syscnt_enable": true, "freq": 100, "start_cnt": 1, "start_monotonic": 1},
            "end_info": {"collectionTimeEnd": end_ns, "MonotonicTimeEnd": 2},
            "rank_id": self.rank,
        })
    }
}

/// The number by which the vendor's tools name a group: two polynomial hashes of 32 bits, with 29 and 131, one
/// behind the other.
fn hash(text: &str) -> String {
    let of = |prime: u32| {
        text.bytes().fold(0u32, |hash, byte| hash.wrapping_mul(prime).wrapping_add(u32::from(byte)))
    };
    (u64::from(of(29)) << 32 | u64::from(of(131))).to_string()
}

#[cfg(test)]
mod tests {
    use super::Identity;
    use crate::layout::{Group, Layout};
    use crate::options::Options;

    #[test]
    fn members_of_a_group_name_it_alike_and_others_do_not() {
        let options = Options::new(Layout::of(64).unwrap());
        let of = |rank| Identity::new(&options, rank).group(Group::Data).unwrap().hash.clone();
        assert_eq!(of(0), of(28));
        assert_ne!(of(0), of(1));
        assert_ne!(of(0), of(32));
    }

    #[test]
    fn a_groups_hash_is_that_of_the_vendors_tools() {
        assert_eq!(super::hash("10.0.0.1%eth0_60000_0_1760000000000000"), "7192693837155207653");
    }
}
