//! Traces of Perfetto's, made field by field, and those that are written here.

use std::io::Write;

use opscope_trace::*;
use proptest::prelude::*;

use super::fields::{annotation, clock, event, interned, legacy, packet, snapshot, thread, track};
use super::{looks_like, read, write};
use crate::chrome;
use crate::testing::any_trace;
use opscope_protobuf::{push_bytes, push_fixed64, push_message, push_number};

/// A packet.
fn packet_of(fill: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    push_message(&mut out, 1, fill);
    out
}

/// The thread 7 of process 3 as track 1.
fn thread_track() -> Vec<u8> {
    packet_of(|body| {
        push_message(body, packet::TRACK_DESCRIPTOR, |row| {
            push_number(row, track::UUID, 1);
            push_message(row, track::THREAD, |row| {
                push_number(row, thread::PID, 3);
                push_number(row, thread::TID, 7);
                push_bytes(row, thread::NAME, b"worker");
            });
        });
    })
}

/// An event of track 1 with a name, if it has one.
fn event_at(time: u64, kind: u64, name: &str, further: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    packet_of(|body| {
        push_number(body, packet::TIMESTAMP, time);
        push_number(body, packet::SEQUENCE, 9);
        push_message(body, packet::TRACK_EVENT, |row| {
            push_number(row, event::TYPE, kind);
            push_number(row, event::TRACK, 1);
            if !name.is_empty() {
                push_bytes(row, event::NAME, name.as_bytes());
            }
            further(row);
        });
    })
}

fn begin(time: u64, name: &str) -> Vec<u8> {
    event_at(time, event::SLICE_BEGIN, name, |_| {})
}

fn end(time: u64) -> Vec<u8> {
    event_at(time, event::SLICE_END, "", |_| {})
}

/// Names, starts and durations of all tasks.
fn tasks(trace: &Trace) -> Vec<(&str, i64, i64)> {
    let row = |(_, task): (_, Task)| (trace.strings.get(task.name), task.start.0, task.duration.0);
    trace.tasks.iter().map(row).collect()
}

/// How often each kind of loss was met.
fn losses(trace: &Trace) -> Vec<(LossKind, u64)> {
    trace.losses.iter().map(|(_, loss)| (loss.kind, loss.count)).collect()
}

#[test]
fn begins_and_ends_on_a_thread_are_slices_that_nest() {
    let file = [
        thread_track(),
        begin(10, "outer"),
        begin(12, "inner"),
        end(15),
        end(20),
        begin(20, "next"),
        end(20),
    ]
    .concat();
    assert!(looks_like(&file));
    let trace = read(&file).unwrap();
    assert_eq!(tasks(&trace), [("outer", 10, 10), ("inner", 12, 3), ("next", 20, 0)]);
    assert_eq!(trace.strings.get(trace.threads.get(ThreadId::from_index(0)).name), "worker");
    assert!(trace.losses.is_empty());
}

#[test]
fn slices_that_begin_in_one_part_of_a_file_and_end_in_another_are_whole() {
    // Three parts and a bit more, in which the outermost slice lasts from the first packet to the last.
    let mut file = [thread_track(), begin(1, "whole")].concat();
    let mut expected = vec![("whole", 1, 40_001)];
    for number in 0..13_000_i64 {
        let (start, name) = (3 * number + 2, ["conv", "pool"][(number % 2) as usize]);
        file.extend(begin(start as u64, name));
        file.extend(end(start as u64 + 1 + number as u64 % 2));
        expected.push((name, start, 1 + number % 2));
    }
    file.extend(end(40_002));
    let trace = read(&file).unwrap();
    assert!(trace.losses.is_empty(), "{:?}", losses(&trace));
    let told = tasks(&trace);
    assert_eq!(told.len(), expected.len());
    assert!(told == expected, "slices are others, or in another order");
}

#[test]
fn events_that_come_out_of_order_on_their_track_are_sorted_by_time() {
    let file = [thread_track(), begin(30, "late"), end(40), begin(10, "early"), end(20)].concat();
    let trace = read(&file).unwrap();
    assert_eq!(tasks(&trace), [("early", 10, 10), ("late", 30, 10)]);
}

#[test]
fn names_that_packets_tell_by_numbers_are_found_until_the_state_is_cleared() {
    let with_names = |names: &[(u64, &str)], flags: u64, time: u64, iid: u64, kind: u64| {
        packet_of(|body| {
            push_number(body, packet::TIMESTAMP, time);
            push_number(body, packet::SEQUENCE, 5);
            push_number(body, packet::SEQUENCE_FLAGS, flags);
            push_message(body, packet::INTERNED_DATA, |row| {
                for (iid, name) in names {
                    push_message(row, interned::NAMES, |entry| {
                        push_number(entry, interned::NUMBER, *iid);
                        push_bytes(entry, interned::TEXT, name.as_bytes());
                    });
                }
            });
            push_message(body, packet::TRACK_EVENT, |row| {
                push_number(row, event::TYPE, kind);
                push_number(row, event::NAME_IID, iid);
            });
        })
    };
    let file = [
        with_names(&[(1, "lost")], packet::FLAG_NEEDS_STATE, 5, 1, event::SLICE_BEGIN),
        with_names(&[(1, "conv")], packet::FLAG_CLEARED, 10, 1, event::SLICE_BEGIN),
        with_names(&[], packet::FLAG_NEEDS_STATE, 20, 0, event::SLICE_END),
        with_names(&[(1, "pool")], packet::FLAG_CLEARED, 30, 1, event::SLICE_BEGIN),
        with_names(&[], packet::FLAG_NEEDS_STATE, 31, 2, event::SLICE_BEGIN),
        with_names(&[], packet::FLAG_NEEDS_STATE, 32, 0, event::SLICE_END),
        with_names(&[], packet::FLAG_NEEDS_STATE, 40, 0, event::SLICE_END),
    ];
    let trace = read(&file.concat()).unwrap();
    assert_eq!(tasks(&trace), [("conv", 10, 10), ("pool", 30, 10), ("", 31, 1)]);
    assert_eq!(losses(&trace), [(LossKind::PacketWithoutState, 1), (LossKind::MissingInterned, 1)]);
}

#[test]
fn clocks_that_count_on_and_those_of_other_units_are_laid_on_the_traces_own() {
    let snapshot = |readings: &[(u32, u64, bool, u64)]| {
        packet_of(|body| {
            push_number(body, packet::SEQUENCE, 9);
            push_message(body, packet::CLOCK_SNAPSHOT, |row| {
                for &(id, time, counts_on, unit) in readings {
                    push_message(row, snapshot::CLOCKS, |reading| {
                        push_number(reading, snapshot::CLOCK_ID, u64::from(id));
                        push_number(reading, snapshot::TIMESTAMP, time);
                        push_number(reading, snapshot::INCREMENTAL, u64::from(counts_on));
                        push_number(reading, snapshot::MULTIPLIER, unit);
                    });
                }
            });
        })
    };
    let by_clock = |clock: u32, time: u64, kind: u64, name: &str| {
        packet_of(|body| {
            push_number(body, packet::TIMESTAMP, time);
            push_number(body, packet::SEQUENCE, 9);
            push_number(body, packet::CLOCK, u64::from(clock));
            push_message(body, packet::TRACK_EVENT, |row| {
                push_number(row, event::TYPE, kind);
                push_number(row, event::TRACK, 1);
                push_bytes(row, event::NAME, name.as_bytes());
            });
        })
    };
    let file = [
        thread_track(),
        // Clock 64 counts microseconds on from 2; the wall clock is 1,000 ns ahead.
        snapshot(&[(clock::BOOT, 5_000, false, 1), (clock::REALTIME, 6_000, false, 1), (64, 2, true, 1_000)]),
        by_clock(64, 3, event::SLICE_BEGIN, "a"),
        by_clock(64, 4, event::SLICE_END, ""),
        by_clock(clock::REALTIME, 20_000, event::SLICE_BEGIN, "b"),
        by_clock(clock::REALTIME, 20_500, event::SLICE_END, ""),
        by_clock(77, 30_000, event::SLICE_BEGIN, "c"),
        by_clock(77, 30_001, event::SLICE_END, ""),
    ];
    let trace = read(&file.concat()).unwrap();
    assert_eq!(tasks(&trace), [("a", 8_000, 4_000), ("b", 19_000, 500), ("c", 30_000, 1)]);
    assert_eq!(trace.clock.unix_zero, Some(1_000));
    assert_eq!(losses(&trace), [(LossKind::UntiedClock, 2)]);
}

#[test]
fn a_written_timeline_ties_its_clock_to_the_one_on_the_wall() {
    let mut trace = Trace::new();
    trace.clock.unix_zero = Some(1_700_000_000_000_000_000);
    let name = trace.strings.intern("conv");
    trace.tasks.push(Task::new(name, Nanoseconds(-500), Nanoseconds(100)));
    let mut file = Vec::new();
    write(&trace, &mut file).unwrap();
    let again = read(&file).unwrap();
    assert_eq!((again.clock.unix_zero, again.begin()), (trace.clock.unix_zero, trace.begin()));
    // Readers of others don't know opscope's words, and find the first event at 0.
    let writer = file.windows(7).position(|word| word == b"opscope").unwrap();
    file[writer] = b'O';
    let foreign = read(&file).unwrap();
    assert_eq!((foreign.clock.unix_zero, foreign.begin()), (Some(1_699_999_999_999_999_500), trace.begin()));
}

#[test]
fn categories_and_arguments_mean_what_they_mean_in_chromes_json() {
    let argument = |row: &mut Vec<u8>, name: &str, field: u32, value: u64| {
        push_message(row, event::ANNOTATIONS, |body| {
            push_bytes(body, annotation::NAME, name.as_bytes());
            push_number(body, field, value);
        });
    };
    let slice = |start: u64, name: &str, category: &str, further: &dyn Fn(&mut Vec<u8>)| {
        let begin = event_at(start, event::SLICE_BEGIN, name, |row| {
            push_bytes(row, event::CATEGORIES, category.as_bytes());
            further(row);
        });
        [begin, end(start + 5)].concat()
    };
    let file = [
        thread_track(),
        slice(10, "cudaLaunchKernel", "cuda_runtime", &|row| {
            argument(row, "correlation", annotation::UNSIGNED, 4);
        }),
        slice(20, "gemm", "kernel", &|row| {
            argument(row, "correlation", annotation::SIGNED, 4);
            argument(row, "device", annotation::UNSIGNED, 1);
            argument(row, "stream", annotation::UNSIGNED, 13);
        }),
    ];
    let trace = read(&file.concat()).unwrap();
    let task = trace.tasks.get(TaskId::from_index(0));
    assert_eq!((task.unit, task.launched_by), (ExecutionUnit::Gpu, Some(ApiCallId::from_index(0))));
    let stream = trace.streams.get(task.stream.unwrap());
    assert_eq!((stream.number, trace.devices.get(stream.device).number), (13, 1));
    assert_eq!(trace.api_calls.get(ApiCallId::from_index(0)).level, ApiLevel::Runtime);
}

#[test]
fn the_categories_of_rocprofv3_are_kernels_calls_and_ranges() {
    let slice = |start: u64, name: &str, category: &str, number: u64| {
        let begin = event_at(start, event::SLICE_BEGIN, name, |row| {
            push_bytes(row, event::CATEGORIES, category.as_bytes());
            for (name, value) in [("corr_id", number), ("agent", 2), ("queue", 5)] {
                push_message(row, event::ANNOTATIONS, |body| {
                    push_bytes(body, annotation::NAME, name.as_bytes());
                    push_number(body, annotation::UNSIGNED, value);
                });
            }
        });
        [begin, end(start + 5)].concat()
    };
    let file = [
        thread_track(),
        slice(10, "hipLaunchKernel", "hip_api", 4),
        slice(20, "add(float*)", "kernel_dispatch", 4),
        slice(30, "COPY BYTES", "memory_copy", 6),
        slice(40, "step", "marker_api", 7),
    ];
    let trace = read(&file.concat()).unwrap();
    assert_eq!(trace.tasks.unit(), [ExecutionUnit::Gpu, ExecutionUnit::MemoryCopy]);
    assert_eq!(trace.tasks.launched_by(), [Some(ApiCallId::from_index(0)), None]);
    assert_eq!((trace.devices.number(), trace.streams.number()), (&[2][..], &[5][..]));
    assert_eq!((trace.api_calls.len(), trace.ranges.len()), (1, 1));
}

#[test]
fn flows_lead_from_calls_to_the_tasks_that_they_launched() {
    let slice = |start: u64, category: &str, flow: u32, id: u64| {
        let begin = event_at(start, event::SLICE_BEGIN, "x", |row| {
            push_bytes(row, event::CATEGORIES, category.as_bytes());
            push_fixed64(row, flow, id);
        });
        [begin, end(start + 5)].concat()
    };
    let (flow, last) = (event::FLOWS, event::LAST_FLOWS);
    let file = [
        thread_track(),
        slice(10, "cuda_runtime", flow, 8),
        slice(30, "kernel", last, 8),
        // The number is free again.
        slice(50, "cuda_runtime", flow, 8),
        slice(70, "kernel", last, 8),
    ];
    let trace = read(&file.concat()).unwrap();
    let calls = [0, 1].map(|index| Some(ApiCallId::from_index(index)));
    assert_eq!(trace.tasks.launched_by(), calls);
    assert!(trace.losses.is_empty());
}

#[test]
fn values_of_counters_add_up_where_they_are_told_as_differences() {
    let describe = |uuid: u64, name: &str, fill: &dyn Fn(&mut Vec<u8>)| {
        packet_of(|body| {
            push_message(body, packet::TRACK_DESCRIPTOR, |row| {
                push_number(row, track::UUID, uuid);
                push_bytes(row, track::NAME, name.as_bytes());
                push_message(row, track::COUNTER, |row| fill(row));
            });
        })
    };
    let value = |time: u64, track: u64, fill: &dyn Fn(&mut Vec<u8>)| {
        packet_of(|body| {
            push_number(body, packet::TIMESTAMP, time);
            push_number(body, packet::SEQUENCE, 2);
            push_message(body, packet::TRACK_EVENT, |row| {
                push_number(row, event::TYPE, event::COUNTER);
                push_number(row, event::TRACK, track);
                fill(row);
            });
        })
    };
    let file = [
        describe(5, "heap", &|row| {
            push_number(row, super::fields::counter::UNIT, 3);
            push_number(row, super::fields::counter::MULTIPLIER, 1024);
            push_number(row, super::fields::counter::INCREMENTAL, 1);
        }),
        describe(6, "load", &|row| push_bytes(row, super::fields::counter::UNIT_NAME, b"%")),
        value(10, 5, &|row| push_number(row, event::COUNTER_VALUE, 2)),
        value(20, 5, &|row| push_number(row, event::COUNTER_VALUE, (-1_i64).cast_unsigned())),
        value(20, 6, &|row| push_fixed64(row, event::DOUBLE_VALUE, 12.5_f64.to_bits())),
        value(25, 6, &|_| {}),
        // Beside another event.
        event_at(30, event::INSTANT, "mark", |row| {
            push_number(row, event::EXTRA_TRACKS, 6);
            push_number(row, event::EXTRA_VALUES, 99);
        }),
    ];
    let trace = read(&file.concat()).unwrap();
    let counters: Vec<_> = (trace.counters.iter())
        .map(|(_, row)| (trace.strings.get(row.name), trace.strings.get(row.unit)))
        .collect();
    assert_eq!(counters, [("heap", "B"), ("load", "%")]);
    assert_eq!(trace.samples.value(), [2048.0, 1024.0, 12.5, 99.0]);
    assert_eq!(trace.ranges.kind(), [RangeKind::Mark]);
    assert!(losses(&trace).contains(&(LossKind::ValueNoNumber, 1)));
}

#[test]
fn packed_packets_and_events_of_chromes_other_form_are_read() {
    let old = event_at(10, 0, "old", |row| {
        push_message(row, event::LEGACY, |row| {
            push_number(row, legacy::PHASE, u64::from(b'X'));
            push_number(row, legacy::DURATION_US, 3);
        });
    });
    let mut packer = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(&[begin(20, "packed"), end(25)].concat()).unwrap();
    let packed = packer.finish().unwrap();
    let broken = packed[..packed.len() / 2].to_vec();
    let pack = |bytes: &[u8]| packet_of(|body| push_bytes(body, packet::COMPRESSED, bytes));
    let trace = read(&[thread_track(), old, pack(&packed), pack(&broken)].concat()).unwrap();
    assert_eq!(tasks(&trace)[..2], [("old", 10, 3_000), ("packed", 20, 5)]);
    assert!(losses(&trace).iter().any(|(kind, _)| *kind == LossKind::PackedPackets));
}

#[test]
fn damage_costs_only_what_it_touches_and_is_counted() {
    let whole = [thread_track(), begin(10, "a"), end(20), begin(30, "b"), end(40)].concat();
    for length in 1..whole.len() {
        let Ok(trace) = read(&whole[..length]) else { continue };
        assert!(trace.tasks.len() <= 2);
        let is_between = [thread_track().len()].contains(&length)
            || length == [thread_track(), begin(10, "a"), end(20)].concat().len();
        assert_eq!(trace.losses.is_empty(), is_between, "{length}: {:?}", losses(&trace));
    }
    let odd = [
        thread_track(),
        // A packet of no fields, one of the kernel's scheduler, an end too many, a begin too many.
        packet_of(|body| body.extend([0xff, 0xff])),
        packet_of(|body| push_bytes(body, packet::FTRACE_EVENTS, b"")),
        end(5),
        begin(10, "a"),
        end(20),
        begin(30, "never ended"),
        event_at(40, 0, "no phase", |_| {}),
    ];
    let trace = read(&odd.concat()).unwrap();
    assert_eq!(tasks(&trace), [("a", 10, 10)]);
    let kinds: Vec<_> = losses(&trace).into_iter().map(|(kind, _)| kind).collect();
    for kind in [
        LossKind::DamagedPacket,
        LossKind::EndWithoutBeginning,
        LossKind::BeginningWithoutEnd,
        LossKind::EventWithoutPhase,
        LossKind::PlacelessPacket,
    ] {
        assert!(kinds.contains(&kind), "{kind:?} of {kinds:?}");
    }
    assert!(read(b"\x0a\x05ab").is_err() && read(b"{}").is_err());
}

#[test]
fn tracks_below_one_another_may_lead_in_a_circle() {
    let describe = |uuid: u64, parent: u64| {
        packet_of(|body| {
            push_number(body, packet::SEQUENCE, 9);
            push_message(body, packet::TRACK_DESCRIPTOR, |row| {
                push_number(row, track::UUID, uuid);
                push_number(row, track::PARENT, parent);
                push_bytes(row, track::NAME, b"lane");
            });
        })
    };
    let trace = read(&[describe(1, 2), describe(2, 1), begin(1, "a"), end(2)].concat()).unwrap();
    assert_eq!(tasks(&trace), [("a", 1, 1)]);
    assert_eq!(losses(&trace), [(LossKind::TrackCycle, 2)]);
}

#[test]
fn a_file_of_ours_that_is_cut_off_says_so_wherever_that_is() {
    let mut trace = Trace::new();
    let name = trace.strings.intern("conv");
    for n in 0..100 {
        trace.tasks.push(Task::new(name, Nanoseconds(n * 10), Nanoseconds(5)));
    }
    let mut file = Vec::new();
    write(&trace, &mut file).unwrap();
    assert!(read(&file).unwrap().losses.is_empty());
    for length in 1..file.len() {
        let is_told = read(&file[..length]).map_or(true, |trace| !trace.losses.is_empty());
        // Behind the first packet, which tells the number of events.
        assert!(is_told || length < 60, "{length} of {}", file.len());
    }
}

proptest! {
    /// The same rows come back, whichever format they went through.
    #[test]
    fn a_trace_reads_the_same_from_both_kinds_of_timeline(trace in any_trace()) {
        let (mut json, mut proto) = (Vec::new(), Vec::new());
        let as_json = chrome::write(&trace, &mut json).unwrap();
        let as_proto = write(&trace, &mut proto).unwrap();
        prop_assert_eq!(
            chrome::Written { bytes: 0, ..as_json },
            chrome::Written { bytes: 0, ..as_proto }
        );
        prop_assert!(looks_like(&proto));
        let drawn_again = |trace: &Trace| {
            let mut out = Vec::new();
            chrome::write(trace, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        let (json, proto) = (chrome::read(&json).unwrap(), read(&proto).unwrap());
        prop_assert_eq!(drawn_again(&json), drawn_again(&proto));
    }

    #[test]
    fn any_packets_are_read_to_an_end(bytes: Vec<u8>, kind in 0_u32..140, place in 0_usize..40) {
        let mut file = [thread_track(), begin(10, "a"), end(20)].concat();
        let odd = packet_of(|body| push_bytes(body, kind, &bytes));
        file.splice(place.min(file.len())..place.min(file.len()), odd);
        let _ = (read(&file), looks_like(&file), read(&bytes));
    }
}
