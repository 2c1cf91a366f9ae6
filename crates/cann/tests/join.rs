//! Joining the golden profiles: every operator finds its tasks, and every task its operator.

mod common;

use opscope_cann::join::{Joined, OpSource};
use opscope_cann::tables::NONE;

#[test]
fn every_golden_device_task_finds_its_host_task_and_counters() {
    let Some(golden) = common::golden() else { return };
    for case in common::cases(&golden) {
        let joined = Joined::new(common::load(&golden, &case));
        let device = &joined.devices[&0];
        let tables = &joined.data.devices[&0].tables;
        let unmatched: Vec<usize> =
            (0..tables.tasks.len()).filter(|&task| device.matches.host_of[task] == NONE).collect();
        assert!(unmatched.is_empty(), "{case}: tasks {unmatched:?} have no host task");
        let with_counters = (0..tables.tasks.len())
            .filter(|&t| device.counters.cube[t] != NONE || device.counters.vector[t] != NONE);
        let records = tables.counters.block().iter().filter(|block| !**block).count();
        assert_eq!(with_counters.count(), records, "{case}");
        for &host in &device.matches.host_of {
            let row = joined.host_tasks.row(host as usize);
            if row.op == OpSource::Node {
                assert_ne!(row.node, NONE, "{case}: {row:?}");
                assert_ne!(row.tensors, NONE, "{case}: {row:?}");
                assert_eq!(joined.data.host.nodes.name()[row.node as usize], row.name, "{case}");
            }
        }
    }
}
