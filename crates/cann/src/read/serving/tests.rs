//! Tables of both forms, as the vendor's manuals describe them.

use opscope_formats::reading::Stop;
use opscope_trace::{LossKind, Nanoseconds, ThreadId, Trace};

use std::fs;

use super::*;

const REQUESTS: &str = "http_rid,start_datetime,recv_token_size,reply_token_size,execution_time(ms),\
    queue_wait_time(ms),first_token_latency(ms),cache_hit_rate,start_time(ms)\n\
    1,2025-04-23 08:52:11:100,12,40,250.5,3.25,20.125,0.5,1745398331100\n\
    2,2025-04-23 08:52:11:200,8,,,,,,1745398331200\n";

const PASSES: &str = "name,relative_start_time(ms),start_datetime,end_datetime,during_time(ms),bubble_time(ms),\
    batch_size,batch_type,forward_iter,dp_rank,prof_id,hostname,start_time(ms),end_time(ms)\n\
    forward,0.0,x,x,10.5,1.5,1,Prefill,1,0,7,node,1745398331110.0,1745398331120.5\n\
    forward,12.0,x,x,5.0,,2,Decode,2,0,7,node,1745398331122.0,1745398331127.0\n";

/// The first form, in microseconds.
const BATCHES: &str = "name,res_list,start_time(microsecond),end_time(microsecond),batch_size,batch_type,\
    during_time(microsecond)\n\
    BatchSchedule,[1],1745398331100000,1745398331100500,1.0,Prefill,500\n\
    modelExec,[1],1745398331101000,1745398331111000,1.0,Prefill,10000\n\
    modelExec,[1],,1745398331111000,1.0,Prefill,10000\n\
    modelExec,[1],1745398331111000,1745398331101000,1.0,Prefill,-10000\n";

fn ranges(trace: &Trace) -> Vec<(String, Option<String>, i64, i64)> {
    let text = |id| trace.strings.get(id).to_owned();
    let rows = trace.ranges.iter().map(|(_, range)| range);
    rows.map(|row| (text(row.name), row.domain.map(text), row.start.0, row.duration.0)).collect()
}

fn samples(trace: &Trace) -> Vec<(String, String, i64, f64)> {
    let rows = trace.samples.iter().map(|(_, sample)| sample);
    rows.map(|row| {
        let counter = trace.counters.get(row.counter);
        let text = |id| trace.strings.get(id).to_owned();
        (text(counter.name), text(counter.unit), row.time.0, row.value)
    })
    .collect()
}

fn read_text(text: &str) -> Trace {
    assert!(looks_like(text.as_bytes()));
    read(text.as_bytes(), &Stop::default()).unwrap()
}

#[test]
fn requests_last_from_arrival_to_end_and_have_tokens_and_waits() {
    let trace = read_text(REQUESTS);
    assert_eq!(ranges(&trace), [("1".to_owned(), Some("request".to_owned()), 0, 250_500_000)]);
    assert_eq!(trace.clock.unix_zero, Some(1_745_398_331_100_000_000));
    let expected = [
        ("input tokens of requests", "tokens", 0, 12.0),
        ("output tokens of requests", "tokens", 0, 40.0),
        ("queue wait of requests", "ns", 0, 3_250_000.0),
        ("first token latency of requests", "ns", 0, 20_125_000.0),
        ("cache hit rate of requests", "", 0, 0.5),
        ("input tokens of requests", "tokens", 100_000_000, 8.0),
    ];
    let expected = expected.map(|(name, unit, time, value)| (name.to_owned(), unit.to_owned(), time, value));
    assert_eq!(samples(&trace), expected);
    // The request that never ended.
    assert_eq!(trace.losses.kind(), [LossKind::RangeWithoutSpan]);
    assert!(trace.iterations.is_empty());
}

#[test]
fn times_that_are_only_written_as_dates_are_read() {
    let trace = read_text(
        "http_rid,start_datetime,recv_token_size,reply_token_size,execution_time(ms)\n\
         1,2025-07-21 11:23:45:123456,100,20,500.5\n2,2025-07-21 11:23:46:123456,110,22,600\n3,soon,1,1,1\n",
    );
    let request =
        |name: &str, start, duration| (name.to_owned(), Some("request".to_owned()), start, duration);
    assert_eq!(ranges(&trace), [request("1", 0, 500_500_000), request("2", 1_000_000_000, 600_000_000)]);
    // The row without a time, and the zone.
    assert_eq!(trace.losses.kind(), [LossKind::RangeWithoutSpan, LossKind::UntiedClock]);
    let trace = read_text(
        "name,res_list,start_datetime,end_datetime,batch_size,batch_type\n\
         modelExec,[1],2025-07-21 11:23:45:000000,2025-07-21 11:23:45:250000,1,Decode\n",
    );
    assert_eq!(trace.ranges.duration(), [Nanoseconds(250_000_000)]);
}

#[test]
fn requests_at_the_same_time_lie_beside_one_another() {
    let row = |id: u32, start: u32, duration: u32| format!("{id},1,{duration},{start}\n");
    let rows = [row(1, 100, 50), row(2, 110, 10), row(3, 130, 10), row(4, 150, 5), row(5, 151, 1)].concat();
    let trace = read_text(&format!("http_rid,reply_token_size,execution_time(ms),start_time(ms)\n{rows}"));
    let lane = |thread: &Option<ThreadId>| trace.strings.get(trace.threads.get(thread.unwrap()).name);
    let lanes: Vec<_> = trace.ranges.thread().iter().map(lane).collect();
    assert_eq!(lanes, [1, 2, 2, 2, 1].map(|lane| format!("requests, lane {lane}")));
}

#[test]
fn passes_of_one_device_are_inferences_and_of_several_are_not() {
    let trace = read_text(PASSES);
    let inferences: Vec<_> =
        trace.iterations.iter().map(|(_, row)| (row.number, row.start.0, row.duration.0)).collect();
    assert_eq!(inferences, [(1, 0, 10_500_000), (2, 12_000_000, 5_000_000)]);
    let thread = trace.ranges.thread()[0].unwrap();
    assert_eq!(trace.strings.get(trace.threads.get(thread).name), "hostname node, prof_id 7, dp_rank 0");
    assert_eq!(samples(&trace)[1].0, "bubble behind forward passes, hostname node, prof_id 7, dp_rank 0");
    let both = PASSES.replace("2,Decode,2,0,7,", "2,Decode,1,0,8,");
    let trace = read_text(&both);
    assert_eq!((trace.ranges.len(), trace.threads.len(), trace.iterations.len()), (2, 2, 0));
}

#[test]
fn batches_in_microseconds_are_read_and_impossible_ones_counted() {
    let trace = read_text(BATCHES);
    let prefill = Some("Prefill".to_owned());
    assert_eq!(
        ranges(&trace),
        [
            ("BatchSchedule".to_owned(), prefill.clone(), 0, 500_000),
            ("modelExec".to_owned(), prefill, 1_000_000, 10_000_000)
        ]
    );
    assert_eq!(trace.iterations.duration(), [Nanoseconds(10_000_000)]);
    let losses: Vec<_> = trace.losses.iter().map(|(_, loss)| (loss.kind, loss.count)).collect();
    assert_eq!(losses, [(LossKind::RangeWithoutSpan, 1), (LossKind::RangeEndsBeforeStart, 1)]);
}

#[test]
fn caches_and_states_of_requests_are_samples_whatever_unit_their_times_have() {
    for (heading, time) in [
        ("timestamp(ms)", "1745398331100"),
        ("start_time", "1745398331100"),
        ("start_time", "1745398331100000"),
        ("start_time(microsecond)", "1745398331100000"),
    ] {
        let trace = read_text(&format!(
            "domain,rid,{heading},name,device_kvcache_left\nKVCache,1,{time},Allocate,99\n"
        ));
        assert_eq!(samples(&trace), [("KV cache blocks left".to_owned(), "blocks".to_owned(), 0, 99.0)]);
        assert_eq!(trace.clock.unix_zero, Some(1_745_398_331_100_000_000), "{heading} {time}");
    }
    let status = "hostuid,pid,start_datetime,relative_timestamp(ms),waiting,running,swapped,timestamp(ms)\n\
        h,5,x,0,3,2,0,1745398331100\n";
    let names: Vec<_> =
        samples(&read_text(status)).into_iter().map(|(name, _, _, value)| (name, value)).collect();
    assert_eq!(names[0], ("waiting requests, hostuid h, pid 5".to_owned(), 3.0));
    assert_eq!(names.len(), 3);
}

#[test]
fn durations_without_a_unit_are_not_guessed() {
    let heading = "http_rid,reply_token_size,execution_time,first_token_latency,start_time(ms)";
    let trace = read_text(&format!("{heading}\n1,40,250,20,1745398331100\n"));
    assert_eq!(samples(&trace).len(), 1, "tokens alone");
    let kinds = [LossKind::RangeWithoutSpan, LossKind::ValueNoNumber];
    assert_eq!((trace.ranges.len(), trace.losses.kind()), (0, &kinds[..]));
}

#[test]
fn cells_that_are_no_numbers_are_counted_and_empty_ones_are_none() {
    let heading = "http_rid,reply_token_size,execution_time(ms),queue_wait_time(ms),start_time(ms)";
    let rows = "1,many,250,3,1745398331100\n2,40,250,,1745398331200\n3,41,250,<NA>,1745398331300\n4,oops,250,x,1745398331400\n";
    let trace = read_text(&format!("{heading}\n{rows}"));
    let losses: Vec<_> = trace.losses.iter().map(|(_, loss)| (loss.kind, loss.count)).collect();
    assert_eq!(losses, [(LossKind::ValueNoNumber, 3)]);
    assert_eq!(samples(&trace).len(), 3);
}

#[test]
fn a_folder_has_one_zero_and_names_other_tables() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("mine.csv"), REQUESTS).unwrap();
    assert!(!is_folder(folder.path()), "a table of another name is no folder of results");
    fs::rename(path("mine.csv"), path("request.csv")).unwrap();
    fs::write(path("forward.csv"), PASSES).unwrap();
    fs::write(path("batch.csv"), BATCHES).unwrap();
    fs::write(path("coordinator.csv"), "time,address,node_type\n").unwrap();
    assert!(is_folder(folder.path()));
    fs::write(path("empty.csv"), "").unwrap();
    // Compression that gives nothing.
    fs::write(path("pd_split_kvcache.csv.gz"), b"\x1f\x8b\x08").unwrap();
    let trace = read_folder(folder.path(), &Stop::default());
    assert_eq!(trace.ranges.len(), 5);
    assert_eq!(trace.clock.unix_zero, Some(1_745_398_331_100_000_000));
    // The passes, and not the executions of batches as well.
    let starts: Vec<_> = trace.iterations.start().iter().map(|start| start.0).collect();
    assert_eq!(starts, [10_000_000, 22_000_000]);
    let losses: Vec<_> =
        trace.losses.iter().map(|(_, loss)| (loss.kind, trace.strings.get(loss.detail))).collect();
    assert!(losses.contains(&(LossKind::RangeWithoutSpan, "batch.csv, first on line 4")), "{losses:?}");
    for other in ["coordinator.csv", "empty.csv"] {
        assert!(losses.contains(&(LossKind::FileNotUnderstood, other)), "{losses:?}");
    }
    assert!(losses.iter().any(|(kind, _)| *kind == LossKind::FileNotRead), "{losses:?}");
}

#[test]
fn times_in_an_untold_zone_are_not_laid_beside_counted_ones() {
    const WRITTEN: &str = "http_rid,start_datetime,reply_token_size,execution_time(ms)\n\
        1,2025-04-23 16:52:11:100000,20,500\n";
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("request.csv"), WRITTEN).unwrap();
    let alone = read_folder(folder.path(), &Stop::default());
    assert_eq!((alone.ranges.len(), alone.losses.kind()), (1, &[LossKind::UntiedClock][..]));
    fs::write(path("forward.csv"), PASSES).unwrap();
    let trace = read_folder(folder.path(), &Stop::default());
    assert_eq!(trace.ranges.start(), [Nanoseconds(0), Nanoseconds(12_000_000)]);
    let losses: Vec<_> =
        trace.losses.iter().map(|(_, loss)| (loss.kind, trace.strings.get(loss.detail))).collect();
    assert_eq!(losses.len(), 1, "{losses:?}");
    assert!(losses[0].0 == LossKind::FileNotRead && losses[0].1.starts_with("request.csv: "), "{losses:?}");
}

#[test]
fn other_tables_are_none() {
    for text in ["", "a,b\n", "name,batch_type\n", "http_rid,reply_token_size\n1,2\n"] {
        assert!(!looks_like(text.as_bytes()), "{text}");
        assert_eq!(read(text.as_bytes(), &Stop::default()).unwrap_err(), ReadError::NotATable);
    }
}
