//! Decoding the golden profiles: nothing is lost, and the numbers are those of the generator.

mod common;

use opscope_cann::LossKind;
use serde_json::Value;

#[test]
fn every_golden_record_is_decoded_and_none_is_lost() {
    let Some(golden) = common::golden() else { return };
    for case in common::cases(&golden) {
        let data = common::load(&golden, &case);
        let text =
            std::fs::read_to_string(golden.join(&case).join("gen.json")).expect("the generator's counts");
        let counts: Value = serde_json::from_str(&text).expect("JSON");
        let expect = |key: &str| counts[key].as_u64().expect(key) as usize;
        let device = &data.devices[&0].tables;
        let whole = device.tasks.context().iter().filter(|c| **c == opscope_cann::tables::NO_CONTEXT).count();
        assert_eq!(whole, expect("device_tasks"), "{case}");
        let contexts = device.counters.block().iter().filter(|block| !**block).count();
        assert_eq!(contexts, expect("pmu"), "{case}");
        assert_eq!(data.host.tx.len(), expect("tx"), "{case}");
        let losses = data.losses();
        let unexpected: Vec<_> = losses.rows().iter().filter(|l| l.kind != LossKind::UnnamedHash).collect();
        assert!(unexpected.is_empty(), "{case}: {unexpected:?}");
        let events = data.host.api.from_events().iter().filter(|e| **e).count();
        assert_eq!(data.host.api.len() - events, expect("api"), "{case}");
        assert_eq!(data.host.task_tracks.len(), expect("host_tasks"), "{case}");
    }
}
