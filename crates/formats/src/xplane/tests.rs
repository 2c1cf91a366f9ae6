//! Spaces that are built field by field of the public schema.

use opscope_trace::*;

use super::{looks_like, read};
use opscope_protobuf::{push_bytes, push_fixed64, push_message, push_number};

/// An entry of a map from numbers to messages.
fn entry(out: &mut Vec<u8>, field: u32, number: u64, fill: impl FnOnce(&mut Vec<u8>)) {
    push_message(out, field, |row| {
        push_number(row, 1, number);
        push_message(row, 2, fill);
    });
}

/// A plane with its name, the names of its stats by number from 1 and of its events by number from 1.
fn plane(name: &str, stats: &[&str], events: &[&str], fill: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    push_message(&mut out, 1, |row| {
        push_number(row, 1, 7);
        push_bytes(row, 2, name.as_bytes());
        // Lines come first, as they are written.
        fill(row);
        for (index, name) in events.iter().enumerate() {
            entry(row, 4, index as u64 + 1, |row| {
                push_number(row, 1, index as u64 + 1);
                push_bytes(row, 2, name.as_bytes());
            });
        }
        for (index, name) in stats.iter().enumerate() {
            entry(row, 5, index as u64 + 1, |row| {
                push_number(row, 1, index as u64 + 1);
                push_bytes(row, 2, name.as_bytes());
            });
        }
    });
    out
}

/// A line of events: kind, offset and duration in picoseconds, and further fields.
fn line(out: &mut Vec<u8>, number: u64, name: &str, begin: u64, events: &[(u64, u64, u64, &[u8])]) {
    push_message(out, 3, |row| {
        push_number(row, 1, number);
        push_bytes(row, 2, name.as_bytes());
        push_number(row, 3, begin);
        for &(kind, offset, duration, further) in events {
            push_message(row, 4, |event| {
                push_number(event, 1, kind);
                push_number(event, 2, offset);
                push_number(event, 3, duration);
                event.extend_from_slice(further);
            });
        }
    });
}

/// A stat of an event with a number or a text.
fn stat(number: u64, field: u32, value: Result<u64, &str>) -> Vec<u8> {
    let mut out = Vec::new();
    push_message(&mut out, 4, |row| {
        push_number(row, 1, number);
        match value {
            Ok(number) => push_number(row, field, number),
            Err(text) => push_bytes(row, field, text.as_bytes()),
        }
    });
    out
}

fn losses(trace: &Trace) -> Vec<(LossKind, u64)> {
    trace.losses.iter().map(|(_, loss)| (loss.kind, loss.count)).collect()
}

#[test]
fn a_gpus_kernels_find_their_operators_and_the_calls_that_launched_them() {
    let names = ["correlation_id", "hlo_op", "fusion.3", "tf_op"];
    let device = plane("/device:GPU:1", &names, &["gemm_kernel", "MemcpyH2D", "1"], |row| {
        // The value of `hlo_op` is the name of another.
        let kernel =
            [stat(1, 3, Ok(41)), stat(2, 7, Ok(3)), stat(4, 5, Err("model/dense/MatMul:MatMul"))].concat();
        line(
            row,
            3,
            "Stream #20(Compute,MemcpyH2D)",
            2_000,
            &[(1, 1_500, 2_600, &kernel), (2, 9_000_000, 1_000_000, &stat(1, 3, Ok(42)))],
        );
        line(row, 9, "XLA Ops", 2_000, &[(1, 0, 1, &[])]);
        line(row, 10, "Steps", 2_000, &[(3, 0, 20_000_000, &[])]);
    });
    let host = plane("/host:CUPTI", &["correlation_id"], &["cuLaunchKernel", "cuMemcpy"], |row| {
        line(
            row,
            500,
            "python/500",
            1_000,
            &[(1, 0, 3_000, &stat(1, 3, Ok(41))), (2, 5_000, 1_000, &stat(1, 3, Ok(42)))],
        );
    });
    let mut file = [device, host].concat();
    push_bytes(&mut file, 3, b"dropped 5 events");
    push_bytes(&mut file, 4, b"machine");
    assert!(looks_like(&file));
    let trace = read(&file).unwrap();
    let units = [ExecutionUnit::Gpu, ExecutionUnit::MemoryCopy];
    assert_eq!(trace.tasks.unit(), units);
    assert_eq!(trace.tasks.launched_by(), [0, 1].map(|call| Some(ApiCallId::from_index(call))));
    // 2,001.5 to 2,004.1 ns.
    assert_eq!((trace.tasks.start()[0].0, trace.tasks.duration()[0].0), (2_002, 2));
    let operator = trace.operators.get(trace.tasks.operator()[0].unwrap());
    assert_eq!(
        (trace.strings.get(operator.name), trace.strings.get(operator.op_type)),
        ("fusion.3", "MatMul")
    );
    assert_eq!(trace.tasks.operator()[1], None);
    let stream = trace.streams.get(trace.tasks.stream()[0].unwrap());
    let device = trace.devices.get(stream.device);
    assert_eq!((stream.number, device.number, device.kind), (20, 1, DeviceKind::Gpu));
    assert_eq!(trace.iterations.number(), [1]);
    assert_eq!(trace.tasks.iteration()[0], Some(IterationId::from_index(0)));
    assert_eq!(trace.run.host.as_deref(), Some("machine"));
    assert_eq!(losses(&trace), [(LossKind::NotedByProfiler, 1), (LossKind::RepeatedSlice, 1)]);
}

#[test]
fn lines_longer_than_a_part_keep_every_event_at_its_place() {
    // Three parts, of which the last is short, and a line that is one.
    let events: Vec<(u64, u64, u64, &[u8])> = (0..17_000_u64)
        .map(|number| (1 + number % 3, number * 10_000, 1_000 * (1 + number % 7), &[][..]))
        .collect();
    let file = plane("/device:GPU:0", &[], &["a", "b", "c"], |row| {
        line(row, 1, "Stream #1(Compute)", 0, &events);
        line(row, 2, "Stream #2(Compute)", 0, &events[..8_192]);
    });
    let trace = read(&file).unwrap();
    assert!(trace.losses.is_empty(), "{:?}", losses(&trace));
    for (stream, expected) in [(1, &events[..]), (2, &events[..8_192])] {
        let of_stream = |task: &Task| task.stream.is_some_and(|it| trace.streams.get(it).number == stream);
        let told: Vec<_> = trace
            .tasks
            .iter()
            .filter(|(_, task)| of_stream(task))
            .map(|(_, task)| (trace.strings.get(task.name), task.start.0, task.duration.0))
            .collect();
        let names = ["a", "b", "c"];
        let expected: Vec<_> = expected
            .iter()
            .map(|&(kind, offset, duration, _)| {
                (names[kind as usize - 1], (offset / 1_000) as i64, (duration / 1_000) as i64)
            })
            .collect();
        assert_eq!(told.len(), expected.len());
        assert!(told == expected, "events of stream {stream} are others, or in another order");
    }
}

#[test]
fn a_tpus_operators_waits_and_copies_are_told_apart_by_their_lines() {
    let mut out = Vec::new();
    push_message(&mut out, 1, |row| {
        push_bytes(row, 2, b"/device:TPU:0");
        line(row, 1, "XLA Modules", 0, &[(1, 0, 50_000, &[])]);
        line(
            row,
            2,
            "XLA Ops",
            0,
            &[
                (2, 0, 20_000, &[]),
                (2, 20_000, 10_000, &[]),
                (3, 30_000, 2_000, &[]),
                (3, 32_000, 3_000, &[]),
                (6, 35_000, 1_000, &[]),
                (6, 36_000, 1_000, &[]),
            ],
        );
        line(row, 3, "Async XLA Ops", 0, &[(4, 0, 20_000, &[]), (4, 20_000, 20_000, &[])]);
        line(row, 4, "XLA TraceMe", 0, &[(5, 36_000, 2_000, &[])]);
        line(row, 5, "Framework Ops", 0, &[(2, 0, 20_000, &[])]);
        for (number, name, shown, category) in [
            (1, "jit_step(123)", "", ""),
            (2, "%fusion = f32[8] fusion(%a)", "fusion", "convolution fusion"),
            (3, "%all-reduce = f32[8] all-reduce(%b)", "all-reduce", "all-reduce"),
            (4, "%copy-start = f32[8] copy-start(%c)", "async-copy", "copy-start"),
            (5, "dependency-wait", "", ""),
            (6, "%copy-done = f32[8] copy-done(%d)", "copy-done", "copy-done"),
        ] {
            entry(row, 4, number, |row| {
                push_bytes(row, 2, name.as_bytes());
                push_bytes(row, 4, shown.as_bytes());
                for (stat, field, text, value) in [(1, 5, category, 0), (2, 3, "", 4096)] {
                    push_message(row, 5, |row| {
                        push_number(row, 1, stat);
                        if field == 5 {
                            push_bytes(row, 5, text.as_bytes())
                        } else {
                            push_number(row, field, value)
                        }
                    });
                }
            });
        }
        for (number, name) in [(1, "hlo_category"), (2, "flops"), (3, "device_type_string")] {
            entry(row, 5, number, |row| push_bytes(row, 2, name.as_bytes()));
        }
        push_message(row, 6, |row| {
            push_number(row, 1, 3);
            push_bytes(row, 5, b"TPU v9");
        });
    });
    let trace = read(&out).unwrap();
    assert_eq!(
        trace.tasks.unit(),
        [
            ExecutionUnit::Other,
            ExecutionUnit::Other,
            ExecutionUnit::Communication,
            ExecutionUnit::Communication,
            ExecutionUnit::Control,
            ExecutionUnit::Control,
            ExecutionUnit::MemoryCopy,
            ExecutionUnit::MemoryCopy,
            ExecutionUnit::Control,
        ]
    );
    let operator = trace.operators.get(trace.tasks.operator()[1].unwrap());
    let names = (trace.strings.get(operator.name), trace.strings.get(operator.op_type));
    assert_eq!((names, operator.flops), (("fusion", "convolution fusion"), Some(4096)));
    assert_eq!(trace.tasks.operator()[0], trace.tasks.operator()[1]);
    let copy = trace.operators.get(trace.tasks.operator()[6].unwrap());
    assert_eq!(trace.strings.get(copy.name), "copy-start");
    assert_eq!(trace.strings.get(trace.ranges.name()[0]), "jit_step(123)");
    assert_eq!(trace.run.chip.as_deref(), Some("TPU v9"));
    assert_eq!(losses(&trace), [(LossKind::RepeatedSlice, 1)]);
}

#[test]
fn ranges_of_several_devices_are_on_a_thread_for_each_line() {
    let device = |number: u32| {
        plane(&format!("/device:TPU:{number}"), &[], &["jit_f", "jit_g"], |row| {
            line(row, 1, "XLA Modules", 0, &[(1, 0, 50_000, &[]), (2, 10_000, 20_000, &[])]);
            line(row, 2, "Other", 0, &[(2, 0, 9_000, &[])]);
            line(row, 3, "Empty", 0, &[]);
        })
    };
    let host = plane("/host:CPU", &[], &["call"], |row| line(row, 1, "main", 0, &[(1, 0, 9_000, &[])]));
    let trace = read(&[device(0), device(1), host].concat()).unwrap();
    let name = |thread: &Option<ThreadId>| trace.strings.get(trace.threads.get(thread.unwrap()).name);
    let threads: Vec<&str> = trace.ranges.thread().iter().map(name).collect();
    let of_device =
        |number: u32| [format!("/device:TPU:{number} XLA Modules"), format!("/device:TPU:{number} Other")];
    let [first, second] = [0, 1].map(of_device);
    let expected = [&first[0], &first[0], &first[1], &second[0], &second[0], &second[1]];
    assert_eq!(threads, expected);
    // The host's thread of the same number is another one.
    assert_eq!((trace.threads.len(), name(&trace.api_calls.thread()[0])), (5, "main"));
    let trace = read(&device(0)).unwrap();
    assert_eq!((trace.ranges.thread(), trace.threads.len()), (&[None; 3][..], 0));
}

#[test]
fn without_a_device_operators_that_name_their_hlo_are_the_work_of_their_threads() {
    let file = plane("/host:CPU", &["hlo_op", "dot.1"], &["dot.1", "$train.py:7 step"], |row| {
        line(row, 4, "worker", 0, &[(1, 0, 7_000, &stat(1, 7, Ok(2))), (2, 0, 9_000, &[])]);
    });
    let trace = read(&file).unwrap();
    assert_eq!((trace.tasks.unit(), trace.tasks.duration()[0].0), (&[ExecutionUnit::Cpu][..], 7));
    assert_eq!(trace.api_calls.level(), [ApiLevel::Other]);
}

#[test]
fn without_a_device_operators_of_tensorflows_executor_are_tasks_and_those_that_run_others_stay_calls() {
    let names = [
        "net/conv/convolution:_MklNativeConv2D",
        "dot.1",
        "cluster_0:XlaLaunch",
        "ExecutorState::Process",
        "ThreadpoolListener::StartRegion",
        "EagerLocalExecute: Mul",
        "net/Mul:Mul",
    ];
    let host = plane("/host:CPU", &["hlo_op", "dot.1"], &names, |row| {
        let hlo = stat(1, 7, Ok(2));
        let events: [(u64, u64, u64, &[u8]); 6] = [
            (4, 0, 90_000, &[]),
            (1, 1_000, 7_000, &[]),
            (3, 10_000, 9_000, &[]),
            (2, 11_000, 5_000, &hlo),
            (5, 30_000, 0, &[]),
            (1, 40_000, 6_000, &[]),
        ];
        line(row, 4, "tf_Compute/1", 0, &events);
        line(row, 5, "python", 0, &[(6, 0, 9_000, &[]), (7, 1_000, 2_000, &[])]);
        line(row, 6, "tf_data_private_threadpool/1", 0, &[(7, 1_000, 2_000, &[])]);
    });
    let trace = read(&host).unwrap();
    assert_eq!(trace.tasks.duration(), [7, 5, 6].map(Nanoseconds));
    let operators: Vec<_> = (trace.operators.iter())
        .map(|(_, row)| (trace.strings.get(row.name), trace.strings.get(row.op_type)))
        .collect();
    assert_eq!(operators, [("net/conv/convolution", "_MklNativeConv2D"), ("dot.1", "dot")]);
    assert_eq!(trace.tasks.operator()[0], trace.tasks.operator()[2]);
    assert_eq!(trace.api_calls.len(), 6);
    let device = plane("/device:GPU:0", &[], &["k"], |row| line(row, 1, "Stream #1", 0, &[(1, 0, 9, &[])]));
    let trace = read(&[device, host].concat()).unwrap();
    assert_eq!((trace.tasks.len(), trace.api_calls.len()), (1, 9), "a device runs the operators");
}

#[test]
fn steps_that_the_program_marked_are_inferences_where_no_device_tells_of_any() {
    let host = plane("/host:CPU", &["step_num"], &["train", "other"], |row| {
        let steps = [stat(1, 4, Ok(7)), stat(1, 4, Ok(8))];
        line(
            row,
            4,
            "main",
            0,
            &[(1, 0, 5_000, &steps[0]), (1, 6_000, 5_000, &steps[1]), (2, 7_000, 1_000, &[])],
        );
        line(row, 5, "side", 0, &[(1, 0, 9_000, &steps[0])]);
    });
    let trace = read(&host).unwrap();
    let steps: Vec<_> = trace.iterations.iter().map(|(_, row)| (row.number, row.duration.0)).collect();
    assert_eq!(steps, [(7, 5), (8, 5)], "those of the thread that marked most");
    assert_eq!(trace.api_calls.len(), 4);
    let device = plane("/device:GPU:0", &[], &["1"], |row| line(row, 10, "Steps", 0, &[(1, 0, 20_000, &[])]));
    let trace = read(&[device, host].concat()).unwrap();
    assert_eq!(trace.iterations.number(), [1]);
}

#[test]
fn times_since_the_recording_began_lie_on_the_wall_clock_where_a_plane_tells_that_begin() {
    let space = |begin: u64, first: u64| {
        let environment =
            plane("Task Environment", &["profile_stop_time", "profile_start_time"], &[], |row| {
                for (number, time) in [(1, begin + 26_000_000), (2, begin)] {
                    push_message(row, 6, |row| {
                        push_number(row, 1, number);
                        push_number(row, 3, time);
                    });
                }
            });
        let host =
            plane("/host:CPU", &[], &["call"], |row| line(row, 4, "main", first, &[(1, 0, 9_000, &[])]));
        [host, environment].concat()
    };
    let begin = 1_796_010_972_658_878_832;
    let zero_and_start = |file: &[u8]| {
        let trace = read(file).unwrap();
        (trace.clock.unix_zero, trace.api_calls.start()[0].0)
    };
    assert_eq!(zero_and_start(&space(begin, 7_223)), (Some(1_796_010_972_658_878_832), 7_223));
    let (first, zero) = (begin + 7_223, Some(1_796_010_972_658_886_055));
    assert_eq!(zero_and_start(&space(begin, first)), (zero, 0), "lines that tell it themselves");
    // Of another clock, or of none.
    for begin in [0, 7_000, u64::MAX - 26_000_000] {
        assert_eq!(zero_and_start(&space(begin, 7_223)), (None, 7_223));
    }
}

#[test]
fn damage_and_odd_numbers_are_counted() {
    let file = plane("/device:GPU:0", &[], &["k"], |row| {
        let mut counted = Vec::new();
        push_number(&mut counted, 5, 3);
        line(
            row,
            1,
            "Stream #1",
            5,
            &[
                (1, 0, 1_000, &[]),
                // Of an unknown kind, only counted, negative, beyond all times, damaged.
                (9, 0, 1_000, &[]),
                (1, 0, 1_000, &counted),
                (1, 0, (-5_000_i64).cast_unsigned(), &[]),
                (1, 0, 1, &[0xff]),
            ],
        );
        push_fixed64(row, 30, 1);
    });
    let trace = read(&file).unwrap();
    assert_eq!(trace.tasks.len(), 2);
    let expected = [
        (LossKind::CountedEvent, 1),
        (LossKind::UnreadableRecord, 1),
        (LossKind::RecordWithoutTime, 1),
        (LossKind::UnnamedRecord, 1),
    ];
    assert_eq!(losses(&trace), expected);
    for length in 0..file.len() {
        let _ = (looks_like(&file[..length]), read(&file[..length]));
    }
    // Of what is cut off within a line, the events before the cut are kept, and lack their names.
    let long: Vec<(u64, u64, u64, &[u8])> = (0..500).map(|n| (1, n * 10_000, 5_000, &[] as &[u8])).collect();
    let file = plane("/device:GPU:0", &[], &["k"], |row| line(row, 1, "Stream #1", 5, &long));
    let trace = read(&file[..file.len() / 2]).unwrap();
    assert!((200..300).contains(&trace.tasks.len()), "{}", trace.tasks.len());
    let kinds: Vec<_> = losses(&trace).into_iter().map(|(kind, _)| kind).collect();
    assert!(kinds.contains(&LossKind::CutProfile) && kinds.contains(&LossKind::UnnamedRecord), "{kinds:?}");
    assert!(read(b"").is_err() && read(b"\x08\x01").is_err());
    assert!(!looks_like(b"") && !looks_like(b"\x0a\x03\x08\x01") && !looks_like(b"{}"));
}

#[test]
fn a_long_name_that_many_events_bear_is_looked_at_once() {
    let space = |name: &str, events: u64| {
        let mut out = Vec::new();
        push_message(&mut out, 1, |plane| {
            push_bytes(plane, 2, b"/device:TPU:0");
            push_message(plane, 3, |line| {
                push_bytes(line, 2, b"XLA Ops");
                for number in 0..events {
                    push_message(line, 4, |event| {
                        push_number(event, 1, 1);
                        push_number(event, 2, number * 5_000);
                        push_number(event, 3, 3_000);
                        // The operator, as the name of another value.
                        push_message(event, 4, |stat| {
                            push_number(stat, 1, 1);
                            push_number(stat, 7, 2);
                        });
                    });
                }
            });
            push_message(plane, 4, |entry| {
                push_number(entry, 1, 1);
                push_message(entry, 2, |kind| push_bytes(kind, 2, name.as_bytes()));
            });
            for (number, text) in [(1, "hlo_op"), (2, name)] {
                push_message(plane, 5, |entry| {
                    push_number(entry, 1, number);
                    push_message(entry, 2, |row| push_bytes(row, 2, text.as_bytes()));
                });
            }
        });
        out
    };
    // 200 GB of names, if each were looked at.
    let name = "x".repeat(1 << 20);
    let trace = read(&space(&name, 100_000)).unwrap();
    assert_eq!((trace.tasks.len(), trace.operators.len()), (100_000, 1));
    let (_, operator) = trace.operators.iter().next().unwrap();
    assert_eq!(trace.strings.get(operator.name).len(), 1 << 20);
}

#[test]
fn operators_of_one_name_in_two_programs_are_two() {
    let kinds = ["%fusion.1 = f32[128]{0} fusion(%p0)", "%fusion.1 = f32[8]{0} fusion(%p0)"];
    let file = plane("/device:TPU:0", &["program_id", "hlo_module"], &kinds, |row| {
        line(row, 3, "XLA Ops", 0, &[(1, 0, 1_000, &[]), (2, 2_000, 1_000, &[]), (1, 4_000, 1_000, &[])]);
    });
    let trace = read(&file).unwrap();
    let operators = trace.tasks.operator();
    assert!(operators[0] == operators[2] && operators[0] != operators[1], "{operators:?}");
    let of = |module: &str| [stat(1, 5, Err("dot.3")), stat(2, 5, Err(module))].concat();
    let (big, small) = (of("jit_big"), of("jit_small"));
    let host = plane("/host:CPU", &["hlo_op", "hlo_module"], &["dot.3"], |row| {
        let events = [(1, 0, 9_000, &big[..]), (1, 20_000, 1_000, &small[..]), (1, 30_000, 9_000, &big[..])];
        line(row, 5, "tf_XLAEigen/5", 0, &events);
    });
    let trace = read(&host).unwrap();
    let operators = trace.tasks.operator();
    assert!(operators[0] == operators[2] && operators[0] != operators[1], "{operators:?}");
    let attributes = trace.operators.attributes()[operators[1].unwrap().index()].unwrap();
    assert_eq!(trace.strings.get(attributes), r#"{"hlo_module":"jit_small"}"#);
}
