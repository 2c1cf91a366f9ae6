//! Steps of collective operations that further threads launch for the one that launches the operation.

use std::collections::BTreeMap;

use opscope_cann::LossKind;
use opscope_cann::join::Joined;
use opscope_cann_raw::Record;
use opscope_cann_raw::additional::{HcclInfo, MultiThread};
use opscope_cann_raw::host::{ApiEvent, Head, TaskTrack, level};
use serde_json::Value;

use crate::{Collective, THREAD, common};

/// Threads that launch steps for [`THREAD`].
const HELPERS: [u32; 2] = [778, 779];

/// Two reductions and a broadcast.
fn three() -> Collective {
    let mut profile = Collective::new();
    profile.run(200, ["hcom_allReduce__123_0", "hcom_allReduce_", "group_name_0"], 300, 6, 1_024);
    profile.run(400, ["hcom_allReduce__123_1", "hcom_allReduce_", "group_name_0"], 450, 4, 2_048);
    profile.run(600, ["hcom_broadcast__77_0", "hcom_broadcast_", "group_name_1"], 700, 3, 512);
    profile
}

/// Lets each step be launched by the thread that `thread_of` gives for its number.
fn divide(profile: &mut Collective, thread_of: impl Fn(usize) -> u32) {
    let change = |bytes: &mut [u8], size: usize, is_step: fn(&[u8]) -> bool| {
        let steps = bytes.chunks_exact_mut(size).filter(|record| is_step(record));
        // The thread stands at the same place in all of these records.
        steps
            .enumerate()
            .for_each(|(number, record)| record[8..12].copy_from_slice(&thread_of(number).to_le_bytes()));
    };
    change(&mut profile.api, ApiEvent::SIZE, |record| record[2..4] == level::COMMUNICATION.to_le_bytes());
    change(&mut profile.tracks, TaskTrack::SIZE, |_| true);
    change(&mut profile.steps, HcclInfo::SIZE, |_| true);
}

/// Notes at a time that threads help [`THREAD`].
fn note(profile: &Collective, at: u64, count: u32, helpers: &[u32]) {
    let mut threads = [0; 25];
    threads[..helpers.len()].copy_from_slice(helpers);
    let head = Head { thread: THREAD, ..profile.head(level::COMMUNICATION, 0, at) };
    let mut bytes = Vec::new();
    MultiThread { head, count, threads }.append_to(&mut bytes);
    let name = "host/data/aging.additional.Multi_Thread.slice_0";
    std::fs::write(profile.profile.join(name), bytes).expect("space on disk");
}

/// How often each slice of a lane of communication occurs: name, begin, length and details, without the number of
/// the call.
fn slices(joined: &Joined) -> BTreeMap<String, usize> {
    let events = common::timeline(joined);
    let is_it = |event: &&Value| event["name"] == "process_name" && event["args"]["name"] == "Communication";
    let Some(process) = events.iter().find(is_it) else { return BTreeMap::new() };
    let mut found = BTreeMap::new();
    for event in events.iter().filter(|event| event["pid"] == process["pid"] && event["ph"] == "X") {
        let mut args = event["args"].clone();
        args.as_object_mut().expect("details").remove("connection_id");
        let slice = format!("{} {} {} {args}", event["name"], event["ts"], event["dur"]);
        *found.entry(slice).or_default() += 1;
    }
    found
}

#[test]
fn steps_that_further_threads_launch_belong_to_the_operation_of_the_thread_that_they_help() {
    let alone = three().save();
    let alternately = |number: usize| [THREAD, HELPERS[0], HELPERS[1]][number % 3];
    let by_helpers_alone = |number: usize| HELPERS[number % 2];
    for thread_of in [&alternately as &dyn Fn(usize) -> u32, &by_helpers_alone] {
        let mut profile = three();
        divide(&mut profile, thread_of);
        note(&profile, 201, 2, &HELPERS);
        let joined = profile.save();
        assert_eq!(joined.communication.steps.len(), 6 + 4 + 3);
        assert_eq!(slices(&joined), slices(&alone));
        for table in ["communication_statistic", "op_summary", "task_time"] {
            assert_eq!(common::table(&joined, table), common::table(&alone, table), "{table}");
        }
        let losses = joined.all_losses();
        assert_eq!(losses.total(LossKind::UnreadFile), 0, "{losses:?}");
    }
}

#[test]
fn without_a_note_or_before_it_nothing_tells_whom_a_thread_helps() {
    let without = |noted: Option<u64>| {
        let mut profile = three();
        divide(&mut profile, |number| if number % 2 == 0 { THREAD } else { HELPERS[0] });
        noted.into_iter().for_each(|at| note(&profile, at, 1, &HELPERS[..1]));
        profile.save().communication.steps.len()
    };
    assert_eq!(without(None), 3 + 2 + 2, "every second step");
    // The last operation alone is launched behind the note.
    assert_eq!(without(Some(550)), 3 + 2 + 3);
    assert_eq!(without(Some(150)), 6 + 4 + 3);
}

#[test]
fn a_note_with_more_threads_than_it_has_room_for_is_counted() {
    let profile = three();
    note(&profile, 201, 26, &HELPERS);
    let joined = profile.save();
    assert_eq!(joined.all_losses().total(LossKind::InvalidRecord), 1);
    assert!(joined.data.host.helpers.is_empty());
}
