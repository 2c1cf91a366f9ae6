//! Samples by functions.

use opscope_trace::{LossKind, Trace};
use proptest::prelude::*;

use super::{ReadError, is_folded, is_script, read, read_below};
use crate::reading::Stop;

/// Event, function, library, and both counts.
fn rows(trace: &Trace) -> Vec<(&str, &str, &str, f64)> {
    let text = |id| trace.strings.get(id);
    trace
        .figures
        .iter()
        .map(|(_, row)| (text(row.subject), text(row.part), text(row.name), row.value))
        .collect()
}

const SCRIPT: &str = "# ========
python run 4711/4712 [003]  1234.567890:     250000 cpu-clock:pppH:
\t    7f3a21 gemm_kernel(int, float)+0x1f (/usr/lib/libblas.so)
\t    55d0e4 main+0x10 (/usr/bin/python)
\t    55d0e0 main+0x0c (/usr/bin/python)

swapper     0 [000]  1234.6: cpu-clock:pppH:
\tffffffff81 [unknown] ([kernel.kallsyms])

python run 4711 1234.7: cpu-clock:pppH:  55d0e4 main+0x10 (/usr/bin/python)
what is this
";

#[test]
fn samples_are_counted_by_the_function_they_fell_on_and_by_those_around_it() {
    assert!(is_script(SCRIPT.as_bytes()) && !is_folded(SCRIPT.as_bytes()));
    let trace = read(SCRIPT.as_bytes(), &Stop::default()).unwrap();
    let expected = [
        ("main", "/usr/bin/python", "itself", 1.0),
        ("main", "/usr/bin/python", "with what it calls", 2.0),
        ("gemm_kernel(int, float)", "/usr/lib/libblas.so", "itself", 1.0),
        ("gemm_kernel(int, float)", "/usr/lib/libblas.so", "with what it calls", 1.0),
        ("[unknown]", "[kernel.kallsyms]", "itself", 1.0),
        ("[unknown]", "[kernel.kallsyms]", "with what it calls", 1.0),
    ];
    assert_eq!(rows(&trace), expected);
    let losses: Vec<_> = trace.losses.iter().map(|(_, loss)| (loss.kind, loss.count)).collect();
    assert_eq!(losses, [(LossKind::UnreadableRecord, 1)]);
    assert_eq!(trace.strings.get(trace.figures.step()[0]), "cpu-clock:pppH");
}

#[test]
fn folded_stacks_count_each_function_of_a_stack_once() {
    let text = b"main;run;gemm 25\nmain;run 5\nmain;walk;walk;walk 7\n\nbroken\n";
    assert!(is_folded(&text[..40]) && !is_script(text));
    let trace = read(text, &Stop::default()).unwrap();
    let expected = [
        ("gemm", "", "itself", 25.0),
        ("gemm", "", "with what it calls", 25.0),
        ("walk", "", "itself", 7.0),
        ("walk", "", "with what it calls", 7.0),
        ("run", "", "itself", 5.0),
        ("run", "", "with what it calls", 30.0),
        ("main", "", "itself", 0.0),
        ("main", "", "with what it calls", 37.0),
    ];
    assert_eq!(rows(&trace), expected);
    assert!(trace.tasks.is_empty());
}

#[test]
fn two_counts_on_every_line_are_those_of_two_profiles() {
    let text = b"main;gemm 25 40\nmain;copy 7 0\nmain;run 5 9\n";
    let trace = read(text, &Stop::default()).unwrap();
    let step = |row: &opscope_trace::Figure| trace.strings.get(row.step).to_owned();
    let itself: Vec<_> = (trace.figures.iter())
        .filter(|(_, row)| trace.strings.get(row.name) == "itself" && row.value > 0.0)
        .map(|(_, row)| (step(&row), trace.strings.get(row.subject), row.value))
        .collect();
    let of = |count: usize, name, value| (["first count", "second count"][count].to_owned(), name, value);
    let expected =
        [of(1, "gemm", 40.0), of(0, "gemm", 25.0), of(1, "run", 9.0), of(0, "copy", 7.0), of(0, "run", 5.0)];
    assert_eq!(itself, expected);
    assert!(
        trace.run.note.as_ref().is_some_and(|note| note.contains("two profiles")),
        "{:?}",
        trace.run.note
    );
    assert_eq!(trace.losses.len(), 0);
}

#[test]
fn a_number_that_ends_some_names_is_a_part_of_them_and_told() {
    let text = b"main;worker 3 25\nmain;gemm 40\n";
    let trace = read(text, &Stop::default()).unwrap();
    assert!(rows(&trace).contains(&("worker 3", "", "itself", 25.0)), "{:?}", rows(&trace));
    let losses: Vec<_> = trace.losses.iter().map(|(_, loss)| (loss.kind, loss.count)).collect();
    assert_eq!(losses, [(LossKind::NumberBehindName, 1)]);
}

#[test]
fn folded_stacks_longer_than_a_part_are_added_up_over_all_parts() {
    // Ten megabytes, of which each part has both functions, and one has the broken line.
    let mut text = Vec::new();
    let (mut of_gemm, mut of_copy) = (0.0, 0.0);
    for number in 0_u32..400_000 {
        let (name, sum) =
            if number.is_multiple_of(3) { ("gemm", &mut of_gemm) } else { ("copy", &mut of_copy) };
        let count = 1 + number % 5;
        *sum += f64::from(count);
        text.extend(format!("main;run_the_model;{name} {count}\n").bytes());
        if number == 250_000 {
            text.extend(b"broken\n");
        }
    }
    let trace = read(&text, &Stop::default()).unwrap();
    let all = of_gemm + of_copy;
    let told = rows(&trace);
    for (name, itself, with_calls) in [
        ("gemm", of_gemm, of_gemm),
        ("copy", of_copy, of_copy),
        ("run_the_model", 0.0, all),
        ("main", 0.0, all),
    ] {
        assert!(told.contains(&(name, "", "itself", itself)), "{told:?}");
        assert!(told.contains(&(name, "", "with what it calls", with_calls)), "{told:?}");
    }
    let losses: Vec<_> = trace.losses.iter().map(|(_, loss)| (loss.kind, loss.count)).collect();
    assert_eq!(losses, [(LossKind::UnreadableRecord, 1)]);
}

#[test]
fn below_a_function_only_what_it_called_counts() {
    let folded = b"main;run;Conv::Compute;gemm 25\nmain;run;Pool::Compute;copy 5\nmain;Conv::Compute;Conv::Compute 7\n";
    let trace = read_below(folded, "Conv::", &Stop::default()).unwrap();
    let expected = [
        ("gemm", "", "itself", 25.0),
        ("gemm", "", "with what it calls", 25.0),
        ("Conv::Compute", "", "itself", 7.0),
        ("Conv::Compute", "", "with what it calls", 32.0),
    ];
    assert_eq!(rows(&trace), expected);
    assert!(trace.run.note.unwrap().starts_with("32 of 37 samples"));
    let script = b"a 1 [0] 1.0: 1 cycles:u:\n  1 gemm (/l)\n  2 Conv::Compute (/l)\n  3 main (/l)\n\na 1 [0] 2.0: 1 cycles:u:\n  3 main (/l)\n\n";
    let trace = read_below(script, "Conv::", &Stop::default()).unwrap();
    assert_eq!(rows(&trace).len(), 4);
    assert!(trace.run.note.unwrap().starts_with("1 of 2 samples"));
    let refused = read_below(script, "Pool", &Stop::default()).unwrap_err();
    assert_eq!(refused, ReadError::NoneBelow { below: "Pool".to_owned() });
}

#[test]
fn a_sample_that_has_no_end_is_told() {
    let whole = "a 1 [0] 1.0: 1 cycles:u:\n  1 gemm (/l)\n  2 main (/l)\n\n";
    let open = |text: &str| {
        let trace = read(text.as_bytes(), &Stop::default()).unwrap();
        trace.losses.iter().any(|(_, loss)| loss.kind == LossKind::OpenLastSample)
    };
    assert!(!open(whole) && open(&whole[..whole.len() - 1]) && open(&whole[..whole.len() - 10]));
    assert!(!open("a 1 [0] 1.0: 1 cycles:u: 1 gemm (/l)\n") && open("a 1 [0] 1.0: 1 cycles:u: 1 gemm (/l)"));
    assert!(!open("main;run 5\nmain 1\n") && open("main;run 5\nmain 1"));
}

#[test]
fn other_text_is_neither() {
    for text in
        ["", "a,b,c\n1,2,3\n", "name;value\n1;2\n", "Model 1.5: loaded\n", "{\"a\": 1}", "a b c 5\nd 6\n"]
    {
        assert!(!is_script(text.as_bytes()) && !is_folded(text.as_bytes()), "{text}");
        assert!(read(text.as_bytes(), &Stop::default()).is_err() || text.starts_with("a b"), "{text}");
    }
}

proptest! {
    #[test]
    fn any_text_is_read_to_an_end(text in "[a;: .0-9(\\n\\t+x]{0,80}", bytes: Vec<u8>) {
        for text in [text.as_bytes(), &bytes] {
            let _ = (is_script(text), is_folded(text), read(text, &Stop::default()));
        }
    }
}

#[test]
fn samples_without_times_are_samples() {
    let stacks = "func ab 15294 cpu-clock: \n\t  400570 func_b (/root/func_ab)\n\t  4005b1 main (/root/func_ab)\n\n\
         func ab 15294/15300 [003] 250000 cycles:u: \n\t  4005b1 main (/root/func_ab)\n\n";
    let lines = "java  3244 cpu-clock:     7f1e SpinPause (/lib/libjvm.so)\njava  3244 [001] cpu-clock:  7f2e run (/lib/libjvm.so)\n";
    let headed = format!("# ========\n# perf version : 3.13\n#\n{stacks}");
    for (text, functions) in [(stacks, 3), (&*headed, 3), (lines, 2)] {
        assert!(is_script(text.as_bytes()), "{text}");
        let trace = read(text.as_bytes(), &Stop::default()).unwrap();
        let itself = rows(&trace).iter().filter(|(.., what, _)| *what == "itself").count();
        let samples: f64 =
            rows(&trace).iter().filter(|(.., what, _)| *what == "itself").map(|(.., count)| count).sum();
        assert_eq!((itself, samples), (functions, 2.0), "{text}");
        assert_eq!(trace.losses.len(), 0);
    }
    for other in ["a 12 b: c\n  1 x (/l)\n", "12 cpu-clock:\nno frame\n", "key 1 value\n  1 x (/l)\n"] {
        assert_eq!(is_script(other.as_bytes()), other.starts_with("a 12 b:"), "{other}");
    }
}

#[test]
fn a_program_with_a_hexadecimal_name_begins_a_sample_where_no_blank_line_ends_the_one_before() {
    let programs = ["dd", "bc", "cc1", "a", "fade"];
    let of_all = |sample: &dyn Fn(&str) -> String| programs.map(sample).concat();
    let below = |blanks: &str| {
        of_all(&|program| {
            format!(
                "{program}  1234 [000] 12.345678:       1000 cycles: \n\
                 {blanks}ffffffff81a0 func+0x10 ([kernel.kallsyms])\n{blanks}55d0e4 main+0x10 (/bin/{program})\n"
            )
        })
    };
    let behind = |when: &str| {
        of_all(&|program| {
            format!("{program:>16}  1234 {when}cycles:  ffffffff81a0 func+0x10 ([kernel.kallsyms])\n")
        })
    };
    for text in [below("\t    "), below("        "), behind("[000] 12.345678:       1000 "), behind("")] {
        assert!(is_script(text.as_bytes()), "{text}");
        let trace = read(text.as_bytes(), &Stop::default()).unwrap();
        let told = rows(&trace);
        assert!(told.contains(&("func", "[kernel.kallsyms]", "itself", 5.0)), "{told:?}");
        assert!(told.iter().all(|(name, ..)| ["func", "main"].contains(name)), "{told:?}");
        assert_eq!(trace.losses.len(), 0, "{text}");
    }
}

#[test]
fn the_library_is_all_that_the_last_brackets_hold_whatever_brackets_are_within_and_before() {
    for (frame, name, library) in [
        ("func+0x1 (/usr/lib/libfoo.so (deleted))", "func", "/usr/lib/libfoo.so (deleted)"),
        ("operator()(int) const (/lib/x.so)", "operator()(int) const", "/lib/x.so"),
        (
            "run(int (*)(float))+0x2 (/opt/App (x86)/x.so (deleted))",
            "run(int (*)(float))",
            "/opt/App (x86)/x.so (deleted)",
        ),
        ("run(int (*)(float))", "run(int (*)(float))", ""),
        ("[unknown] ([kernel.kallsyms])", "[unknown]", "[kernel.kallsyms]"),
        ("(/lib/x.so (deleted))", "", "/lib/x.so (deleted)"),
    ] {
        let text = format!("a 1 [0] 1.0: 1 cycles:u:\n\t7f12 {frame}\n\n");
        let trace = read(text.as_bytes(), &Stop::default()).unwrap();
        assert_eq!(rows(&trace)[0], (name, library, "itself", 1.0));
    }
}

#[test]
fn records_between_samples_are_neither_samples_nor_losses_and_a_text_may_begin_with_them() {
    let records = "dd  1234 [000] 12.345678: PERF_RECORD_COMM exec: dd:1234/1234\n\
                   dd  1234 [000] 12.345678: PERF_RECORD_COMM: dd:1234/1234\n\
                   dd  1234 12.345678: PERF_RECORD_MMAP2 1234/1234: [0x55d0(0x1000) @ 0 08:01 7 8]: r-xp /bin/dd\n\
                   dd  1234 [000] 12.345678: PERF_RECORD_NAMESPACES 1234/1234 - nr_namespaces: 7\n\
                   \t\t[0/net: 3/0xf0000098, 1/uts: 3/0xeffffffe, 2/ipc: 3/0xefffffff, 3/pid: 3/0xeffffffc, \n\
                   \t\t 4/user: 3/0xeffffffd, 5/mnt: 3/0xf0000000, 6/cgroup: 3/0xeffffffb]\n\
                   dd  1234 PERF_RECORD_COMM: dd:1234/1234\n\
                   dd  1234 PERF_RECORD_MMAP2 1234/1234: [0x55d0(0x1000) @ 0 <b1d2>]: r-xp /bin/dd\n\
                   PERF_RECORD_EXIT(1:1):(1:1)\n";
    let sample = "dd  1234 [000] 12.345678: 1000 cycles:\n\t7f12 main+0x1 (/bin/dd)\n\n";
    let text = format!("# perf\n\n{records}{sample}{records}{sample}{records}");
    assert!(is_script(text.as_bytes()));
    let trace = read(text.as_bytes(), &Stop::default()).unwrap();
    assert_eq!(rows(&trace)[0], ("main", "/bin/dd", "itself", 2.0));
    assert_eq!((rows(&trace).len(), trace.losses.len()), (2, 0));
    // As much as is looked at of a file may hold records alone, the last of them not whole.
    let many = records.repeat(3);
    assert!(is_script(many.as_bytes()) && is_script(&many.as_bytes()[..many.len() - 20]));
    assert!(!is_script(format!("{records}another\nline\n").as_bytes()));
    assert_eq!(read(many.as_bytes(), &Stop::default()).unwrap_err(), ReadError::NoSample);
}

#[test]
fn samples_that_tell_nothing_but_where_they_were_are_samples() {
    let lines = "     7f5a0c0012a0 gemm(int)\n ffffffff81a01234 copy_user\n     7f5a0c0012a4 gemm(int)\n";
    let stacks = "\n\t    7f5a0c0012a0 gemm(int)\n\t    55d0a5c00010 main\n\n\n\t    55d0a5c00010 main\n\n";
    for (text, expected) in [
        (lines, [("gemm(int)", "itself", 2.0), ("copy_user", "itself", 1.0)]),
        (stacks, [("gemm(int)", "itself", 1.0), ("main", "with what it calls", 2.0)]),
    ] {
        assert!(is_script(text.as_bytes()), "{text}");
        let trace = read(text.as_bytes(), &Stop::default()).unwrap();
        for (name, what, count) in expected {
            assert!(rows(&trace).contains(&(name, "", what, count)), "{:?}", rows(&trace));
        }
        assert_eq!((rows(&trace).len(), trace.losses.len()), (4, 0), "{text}");
    }
    let cut = &lines[..lines.len() - 4];
    assert!(is_script(cut.as_bytes()));
    let trace = read(cut.as_bytes(), &Stop::default()).unwrap();
    let losses: Vec<_> = trace.losses.iter().map(|(_, loss)| (loss.kind, loss.count)).collect();
    assert_eq!(losses, [(LossKind::OpenLastSample, 1)]);
    // Columns of numbers, the symbols of a program, and words.
    for other in ["                1 2\n", "0000000000401000 T main\n", "   401000 main\n"] {
        assert!(!is_script(other.as_bytes()), "{other}");
    }
}

#[test]
fn fractions_of_counts_are_kept_in_sums() {
    let text = b"main;run;gemm 12.5\nmain;run 0.25\nmain;run;gemm 3\nmain;copy 2.5e-1\n";
    assert!(is_folded(text));
    let trace = read(text, &Stop::default()).unwrap();
    let expected = [
        ("gemm", "", "itself", 15.5),
        ("gemm", "", "with what it calls", 15.5),
        ("run", "", "itself", 0.25),
        ("run", "", "with what it calls", 15.75),
        ("copy", "", "itself", 0.25),
        ("copy", "", "with what it calls", 0.25),
        ("main", "", "itself", 0.0),
        ("main", "", "with what it calls", 16.0),
    ];
    assert_eq!(rows(&trace), expected);
    assert_eq!(trace.losses.len(), 0);
    let trace = read_below(text, "gemm", &Stop::default()).unwrap();
    assert!(trace.run.note.unwrap().starts_with("15.5 of 16 samples"));
    let of_two = read(b"main;gemm 12.5 40\nmain;copy 7 0.5\n", &Stop::default()).unwrap();
    assert!(rows(&of_two).contains(&("copy", "", "itself", 0.5)), "{:?}", rows(&of_two));
}

#[test]
fn numbers_that_no_count_can_be_are_none() {
    let text =
        b"main;run 2\nmain;run inf\nmain;run nan\nmain;run -2.5\nmain;run 1.\nmain;run .5\nmain;run 1e300\n";
    let trace = read(text, &Stop::default()).unwrap();
    assert!(rows(&trace).contains(&("run", "", "itself", 2.0)), "{:?}", rows(&trace));
    let losses: Vec<_> = trace.losses.iter().map(|(_, loss)| (loss.kind, loss.count)).collect();
    assert_eq!(losses, [(LossKind::UnreadableRecord, 6)]);
    assert!(!is_folded(b"1; 2.5; 3.5\n2; 4.5; 5.5\n"), "a table");
}

#[test]
fn records_that_perf_says_it_had_to_drop_are_told_with_their_number() {
    let sample = "dd  1234 [000] 12.345678: 1000 cycles:\n\t7f12 main+0x1 (/bin/dd)\n\n";
    let text = format!(
        "{sample}dd  1234 [000] 12.345678: PERF_RECORD_LOST lost 12\n{sample}PERF_RECORD_LOST lost 30\n\
         dd  1234 12.345678: PERF_RECORD_LOST_SAMPLES lost 7\ndd  1234 PERF_RECORD_LOST_SAMPLES\n\
         dd  1234 [000] 12.345678: PERF_RECORD_COMM: lost 5\n{sample}"
    );
    for trace in [
        read(text.as_bytes(), &Stop::default()).unwrap(),
        read_below(text.as_bytes(), "main", &Stop::default()).unwrap(),
    ] {
        assert_eq!(rows(&trace)[0], ("main", "/bin/dd", "itself", 3.0));
        let losses: Vec<_> = trace.losses.iter().map(|(_, loss)| (loss.kind, loss.count)).collect();
        assert_eq!(losses, [(LossKind::DroppedByProfiler, 49), (LossKind::NotedByProfiler, 1)]);
    }
}

#[test]
fn samples_whose_heads_name_no_event_are_samples() {
    let place = |address: &str, name: &str| format!("{address:>16} {name} (/l)");
    let (gemm, main) = (place("7f5a0c0012a0", "gemm(int)"), place("ffffffff81a01234", "main"));
    // Programs may be called as numbers and addresses are, and have blanks in their names.
    for program in ["python", "dd", "12", "Web Content", "kworker/0:1-eve"] {
        let stack = |head: &str| format!("{head}\n\t{gemm}\n\t{main}\n\n");
        let stacks = [" 4712  1234.567890: ", " 4711/4712  [003]  1234.567890: ", " 4712 ", " "]
            .map(|behind| stack(&format!("{program}{behind}")).repeat(2));
        let alone = [
            format!("{:>7} {:>12}: ", 4712, "1234.567890"),
            format!("{:>5}/{:<5} [003] ", 47, 47),
            format!("{:>7}/{:<7} {:>12}: {:>10} ", 4711, 4712, "1234.567890", 250_000),
            String::new(),
        ]
        .map(|numbers| format!("{program:>16} {numbers} {gemm}\n").repeat(2));
        for (text, functions) in stacks.iter().map(|text| (text, 2)).chain(alone.iter().map(|text| (text, 1)))
        {
            assert!(is_script(text.as_bytes()), "{text}");
            let trace = read(text.as_bytes(), &Stop::default()).unwrap();
            let told = rows(&trace);
            assert!(told.contains(&("gemm(int)", "/l", "itself", 2.0)), "{text}{told:?}");
            assert_eq!((told.len(), trace.losses.len()), (2 * functions, 0), "{text}{told:?}");
        }
    }
}

#[test]
fn words_that_are_no_heads_begin_no_sample_without_an_event() {
    let head = "python  4712  1234.567890: ";
    let stack = "\t    7f5a0c0012a0 gemm(int)\n\tffffffff81a01234 main\n";
    // Other columns, words between, and stacks that nothing parts from the next head.
    for other in [
        format!("{head}\n\t7f5a0c0012a0 gemm(int)\n\n"),
        format!("{head}\nanother line\n{stack}\n"),
        format!("{head}\n{stack}{head}\n{stack}"),
        format!("{head}\n\n{stack}"),
        "[INFO]      12.345:  add layer\n".repeat(3),
        "      4712            1234567 main.c\n".to_owned(),
    ] {
        assert!(!is_script(other.as_bytes()), "{other}");
    }
    // Behind the beginning, a line within a stack is lost, and the stack is whole.
    let text =
        format!("{head}\n{stack}\n").repeat(12) + head + "\n" + &stack.replace('\n', "\nfile.c:12\n") + "\n";
    let trace = read(text.as_bytes(), &Stop::default()).unwrap();
    assert!(rows(&trace).contains(&("gemm(int)", "", "itself", 13.0)), "{:?}", rows(&trace));
    assert!(rows(&trace).contains(&("main", "", "with what it calls", 13.0)), "{:?}", rows(&trace));
    let losses: Vec<_> = trace.losses.iter().map(|(_, loss)| (loss.kind, loss.count)).collect();
    assert_eq!(losses, [(LossKind::UnreadableRecord, 2)]);
}

#[test]
fn shares_below_a_function_are_told_of_each_event_by_itself() {
    let sample = |event: &str, function: &str| {
        format!("a 1 [0] 1.0: 1 {event}:u:\n\t1 gemm (/l)\n\t2 {function} (/l)\n\n")
    };
    let text = sample("cycles", "Conv").repeat(3) + &sample("misses", "Pool") + &sample("cycles", "Pool");
    let trace = read_below(text.as_bytes(), "Conv", &Stop::default()).unwrap();
    let note = trace.run.note.unwrap();
    assert!(note.ends_with("3 of 4 (cycles:u), 0 of 1 (misses:u)"), "{note}");
}
