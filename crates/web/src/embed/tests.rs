//! Columns of traces, read back as a page reads them.

use opscope_analyze::Query;
use opscope_trace::*;
use proptest::prelude::*;

use super::*;
use crate::columns::Container;

fn embedded(trace: &Trace, most: usize) -> Embedded {
    Embedded::of(trace, &Query::default().run(trace).unwrap(), most)
}

/// Inferences of three operators on a stream each, with the call that launches them.
fn trace_of(inferences: u32) -> Trace {
    let mut trace = Trace::new();
    let name = trace.strings.intern("npu");
    let device = trace.devices.push(Device { number: 0, kind: DeviceKind::Npu, name });
    let streams: Vec<StreamId> = (0..2)
        .map(|number| {
            let name = trace.strings.intern("");
            trace.streams.push(Stream { device, number, thread: None, name })
        })
        .collect();
    let operators: Vec<OperatorId> = ["Conv", "BNInferenceD", "Relu"]
        .iter()
        .map(|op_type| {
            let (name, op_type) =
                (trace.strings.intern(&format!("{op_type}_1")), trace.strings.intern(op_type));
            trace.operators.push(Operator::new(name, op_type))
        })
        .collect();
    let call_name = trace.strings.intern("aclmdlExecute");
    for number in 1..=inferences {
        let start = Nanoseconds(i64::from(number) * 10_000);
        // The fifth is the slowest.
        let duration = Nanoseconds(if number == 5 { 9_000 } else { 6_000 + i64::from(number) });
        let row = Iteration { model: None, number, warm_up: number == 1, start, duration };
        let iteration = Some(trace.iterations.push(row));
        let (level, thread) = (ApiLevel::Application, None);
        let call = ApiCall { thread, level, name: call_name, start, duration: Nanoseconds(500), iteration };
        let launched_by = Some(trace.api_calls.push(call));
        for (place, &operator) in operators.iter().enumerate() {
            let name = trace.operators.name()[operator.index()];
            let start = start + Nanoseconds(1_000 + 1_500 * place as i64);
            trace.tasks.push(Task {
                operator: Some(operator),
                stream: Some(streams[place % 2]),
                unit: ExecutionUnit::AiCore,
                iteration,
                launched_by,
                wait: (place == 1).then_some(Nanoseconds(7)),
                ..Task::new(name, start, Nanoseconds(1_400))
            });
        }
    }
    trace
}

/// The columns of a report, by their names.
struct Columns(Embedded);

impl Columns {
    fn of(&self, table: &str, column: &str) -> Vec<usize> {
        let container = Container::read(&self.0.columns).unwrap();
        container.numbers(table, column).unwrap().into_iter().map(|value| value as usize).collect()
    }

    fn strings(&self) -> Vec<String> {
        Container::read(&self.0.columns).unwrap().strings("strings", "text").unwrap()
    }

    fn rows(&self) -> &[Value] {
        self.0.timeline["rows"].as_array().unwrap()
    }

    /// Start, end and name of the slices of a row.
    fn slices(&self, row: &Value) -> Vec<(usize, usize, String)> {
        let number = |key: &str| row[key].as_u64().unwrap() as usize;
        let (gaps, durations, items) =
            (self.of("slices", "gap"), self.of("slices", "duration"), self.of("slices", "item"));
        let (names, strings) = (self.of("items", "name"), self.strings());
        let mut now = 0;
        (number("first")..number("first") + number("count"))
            .map(|slice| {
                let start = now + gaps[slice];
                now = start + durations[slice];
                (start, now, strings[names[items[slice]]].clone())
            })
            .collect()
    }
}

#[test]
fn a_row_has_its_slices_with_their_operators_inferences_and_calls() {
    let columns = Columns(embedded(&trace_of(6), 1_000));
    let names: Vec<&str> = columns.rows().iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["inferences", "calls", "any stream busy", "stream 0", "stream 1"]);
    let stream = columns.slices(&columns.rows()[3]);
    assert_eq!(stream.len(), 12);
    assert_eq!(stream[0], (11_000, 12_400, "Conv_1".to_owned()));
    assert_eq!(stream[1], (14_000, 15_400, "Relu_1".to_owned()));
    let first = columns.rows()[4]["first"].as_u64().unwrap() as usize;
    let item = columns.of("slices", "item")[first];
    let strings = columns.strings();
    assert_eq!(strings[columns.of("items", "category")[item]], "BNInferenceD");
    let operator = columns.of("items", "operator")[item] - 1;
    assert_eq!(strings[columns.of("operators", "name")[operator]], "BNInferenceD_1");
    assert_eq!(columns.of("operators", "time")[operator], 1_400);
    assert_eq!(columns.of("operators", "count")[operator], 5, "warm-up is left out");
    assert_eq!(columns.of("slices", "iteration")[first], 1);
    assert_eq!(columns.of("slices", "wait")[first], 8);
    // The calls follow the six inferences.
    assert_eq!(columns.of("slices", "launch")[first], 7);
    assert_eq!(columns.of("items", "kind")[columns.of("slices", "item")[6]], 2);
    assert_eq!(columns.of("iterations", "measured"), [0, 1, 1, 1, 1, 1]);
    assert_eq!(columns.of("iterations", "slice"), [1, 2, 3, 4, 5, 6]);
    let LeftOut { slices, slices_in_full, inferences_in_full, .. } = &columns.0.left_out;
    assert_eq!((*slices, *slices_in_full, inferences_in_full), (30, 30, &None));
}

#[test]
fn of_too_many_slices_the_slowest_the_median_and_the_first_inference_are_whole_and_the_rest_is_density() {
    let trace = trace_of(40);
    let columns = Columns(embedded(&trace, 18));
    let left_out = &columns.0.left_out;
    assert_eq!(left_out.inferences_in_full.as_deref(), Some(&[2, 5, 22][..]));
    assert_eq!(left_out.windows, [(20_000, 26_002), (50_000, 59_000), (220_000, 226_022)]);
    // All inferences are there; of calls and tasks those of three.
    assert_eq!((left_out.slices, left_out.slices_in_full), (200, 40 + 3 * 4));
    let stream = &columns.rows()[3];
    let starts: Vec<usize> = columns.slices(stream).iter().map(|slice| slice.0).collect();
    assert_eq!(starts, [21_000, 24_000, 51_000, 54_000, 221_000, 224_000]);
    let range = |row: &Value| {
        let number = |key: &str| row[key].as_u64().unwrap() as usize;
        number("density_first")..number("density_first") + number("density_count")
    };
    let counts: usize = columns.of("density", "count")[range(stream)].iter().sum();
    assert_eq!(counts, 2 * 37);
    // The union of both streams: all three operators of the 37 inferences.
    let width = columns.0.timeline["end"].as_u64().unwrap() as f64 / left_out.buckets as f64;
    let busy: usize = columns.of("density", "busy")[range(&columns.rows()[2])].iter().sum();
    let expected = 37.0 * 3.0 * 1_400.0;
    assert!((busy as f64 / 255.0 * width / expected - 1.0).abs() < 0.05, "{busy} {width}");
}

#[test]
fn without_inferences_the_beginning_is_whole() {
    let mut trace = Trace::new();
    let name = trace.strings.intern("op");
    for start in 0..1_000 {
        trace.tasks.push(Task::new(name, Nanoseconds(start * 10), Nanoseconds(5)));
    }
    let columns = Columns(embedded(&trace, 100));
    assert_eq!(columns.0.left_out.windows, [(0, 1_000)]);
    assert_eq!(columns.0.left_out.slices_in_full, 100);
    assert_eq!(columns.0.left_out.inferences_in_full, Some(vec![]));
}

#[test]
fn a_few_slices_far_away_leave_the_view_on_the_others_and_times_beyond_52_days_are_microseconds() {
    let mut trace = Trace::new();
    let name = trace.strings.intern("op");
    for number in 0..10_000 {
        trace.tasks.push(Task::new(name, Nanoseconds(number * 2_000), Nanoseconds(1_000)));
    }
    let near = embedded(&trace, usize::MAX);
    assert_eq!((&near.timeline["view"], &near.timeline["outside"]), (&json!([0, 19_999_000]), &json!(0)));
    let days = |days: i64| Nanoseconds(days * 86_400_000_000_000);
    trace.tasks.push(Task::new(name, days(60), Nanoseconds(1_000)));
    let far = embedded(&trace, usize::MAX);
    assert_eq!(far.timeline["tick_ns"], 1_000);
    assert_eq!(far.timeline["end"], days(60).0 / 1_000 + 1);
    assert!(far.timeline["view"][1].as_u64().unwrap() <= 20_000, "{}", far.timeline["view"]);
    assert!((1..=20).contains(&far.timeline["outside"].as_u64().unwrap()));
}

#[test]
fn names_of_any_length_and_content_come_back_and_the_longest_are_cut() {
    let long = "é".repeat(1 << 20);
    let names = ["</script>", "\u{202e}gpj.exe", "a\0b", "", "=cmd()", "__proto__", &long];
    let mut trace = Trace::new();
    for (start, name) in (0..).zip(names) {
        let name = trace.strings.intern(name);
        trace.tasks.push(Task::new(name, Nanoseconds(start), Nanoseconds(1)));
    }
    let columns = Columns(embedded(&trace, 1_000));
    let slices = columns.slices(&columns.rows()[0]);
    let shown: Vec<&str> = slices.iter().map(|slice| &*slice.2).collect();
    assert_eq!(shown[..6], names[..6]);
    assert!(shown[6].ends_with("é…") && shown[6].len() <= (64 << 10) + 3);
    assert_eq!(columns.0.left_out.names_cut, 1);
}

#[test]
fn an_empty_trace_has_tables_without_rows() {
    let columns = Columns(embedded(&Trace::new(), 1_000));
    assert_eq!((columns.rows().len(), &columns.0.timeline["end"]), (0, &json!(0)));
    assert_eq!(columns.strings(), [""]);
    assert!(columns.of("slices", "gap").is_empty() && columns.of("operators", "time").is_empty());
}

#[test]
fn many_values_of_counters_keep_their_extremes() {
    let mut trace = Trace::new();
    let (name, unit) = (trace.strings.intern("HBM read"), trace.strings.intern("MB/s"));
    let counter = trace.counters.push(Counter { name, unit, device: None });
    for number in 0..500_000 {
        let value = if number == 123_456 { 9e9 } else { f64::from(number % 100) };
        trace.samples.push(Sample { counter, time: Nanoseconds(i64::from(number) * 10), value });
    }
    let embedded = embedded(&trace, 1_000);
    assert_eq!(embedded.left_out.samples, 500_000);
    assert!((2_000..5_000).contains(&embedded.left_out.samples_in_full), "{:?}", embedded.left_out);
    let values = Container::read(&embedded.columns).unwrap().numbers("samples", "value").unwrap();
    assert_eq!(values.iter().copied().fold(0.0, f64::max), 9e9);
    assert_eq!(embedded.timeline["counters"][0]["name"], "HBM read");
}

#[test]
fn values_of_many_counters_are_thinned_to_as_many_as_were_asked_for() {
    let mut trace = Trace::new();
    let unit = trace.strings.intern("MB/s");
    for number in 0..300 {
        let name = trace.strings.intern(&format!("counter {number}"));
        trace.counters.push(Counter { name, unit, device: None });
    }
    for number in 0..450_000u32 {
        let counter = CounterId::from_index((number % 300) as usize);
        trace.samples.push(Sample {
            counter,
            time: Nanoseconds(i64::from(number) * 10),
            value: f64::from(number % 7),
        });
    }
    let answer = Query::default().run(&trace).unwrap();
    for values in [100_000, 200_000] {
        let most = Most { slices: 1_000, values };
        let left_out = Embedded::with_parts(&trace, &answer, most, None).0.left_out;
        assert_eq!(left_out.samples, 450_000);
        assert!((values / 2..=values).contains(&left_out.samples_in_full), "{left_out:?}");
    }
}

proptest! {
    #[test]
    fn every_slice_comes_back_where_it_was_in_full_or_as_density(
        spans in proptest::collection::vec((0i64..4_000, 0i64..300), 0..200),
        most in 0usize..250,
    ) {
        let mut trace = Trace::new();
        let name = trace.strings.intern("op");
        for &(start, duration) in &spans {
            trace.tasks.push(Task::new(name, Nanoseconds(start), Nanoseconds(duration)));
        }
        let columns = Columns(embedded(&trace, most));
        let of_full: Vec<_> =
            columns.rows().iter().flat_map(|row| columns.slices(row)).map(|(start, end, _)| (start, end)).collect();
        let density: usize = columns.of("density", "count").iter().sum();
        prop_assert_eq!(of_full.len() + density, spans.len());
        prop_assert!(of_full.len() <= most);
        let mut known: Vec<(usize, usize)> =
            spans.iter().map(|&(start, duration)| (start as usize, (start + duration) as usize)).collect();
        for span in of_full {
            let place = known.iter().position(|known| *known == span);
            prop_assert!(place.is_some(), "{:?}", span);
            known.swap_remove(place.unwrap());
        }
        let ids = columns.of("slices", "id");
        prop_assert!(ids.iter().all(|id| *id < spans.len()));
    }
}
