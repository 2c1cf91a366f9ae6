//! Joining the golden profiles: every operator finds its tasks, and every task its operator.

mod common;

use opscope_cann::join::{Joined, OpSource};

#[test]
fn every_golden_device_task_finds_its_host_task_and_counters() {
    let Some(golden) = common::golden() else { return };
    for case in common::cases(&golden) {
        let joined = Joined::new(common::load(&golden, &case));
        let device = &joined.devices[&0];
        let tables = &joined.data.devices[&0].tables;
        let unmatched: Vec<usize> =
            (0..tables.tasks.len()).filter(|&task| device.matches.host_of[task].is_none()).collect();
        assert!(unmatched.is_empty(), "{case}: tasks {unmatched:?} have no host task");
        let with_counters = (0..tables.tasks.len())
            .filter(|&t| device.counters.cube[t].is_some() || device.counters.vector[t].is_some());
        let records = tables.counters.block().iter().filter(|block| !**block).count();
        assert_eq!(with_counters.count(), records, "{case}");
        for host in device.matches.host_of.iter().flatten() {
            let row = joined.host_tasks.row(host.index());
            if row.op == OpSource::Node {
                let node = row.node.unwrap_or_else(|| panic!("{case}: no node: {row:?}"));
                assert!(row.tensors.is_some(), "{case}: {row:?}");
                assert_eq!(joined.data.host.nodes.name()[node.index()], row.name, "{case}");
            }
        }
    }
}
