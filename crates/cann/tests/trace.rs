//! The golden profiles as traces.

mod common;

use opscope_cann::join::Joined;
use opscope_cann::{
    Data, LossKind, Outline, SampleLayout, SampleMode, SampleOptions, discover, to_trace, write_sample,
};
use opscope_cann_raw::Chip;
use opscope_trace::{ApiLevel, DataType, ExecutionUnit, Nanoseconds};

#[test]
fn a_golden_profile_becomes_a_trace_with_everything_in_its_place() {
    let Some(golden) = common::golden() else { return };
    let trace = to_trace(&Joined::new(common::load(&golden, "910b_static")));
    assert_eq!(trace.clock.unix_zero, Some(1_760_000_000_000_000_000));
    assert_eq!(trace.run.chip.as_deref(), Some("Ascend 910B"));
    // Three of them are the device's sides of marks.
    assert_eq!(trace.tasks.len(), 105);
    assert_eq!(trace.operators.len(), 34);
    assert_eq!(trace.api_calls.len(), 92);
    assert_eq!(trace.iterations.len(), 3);
    assert_eq!(trace.ranges.len(), 12);
    assert_eq!(trace.strings.get(trace.models.name()[0]), "yolov4_bs1");

    let task = trace.tasks.get(trace.tasks.ids().next().expect("a task"));
    assert_eq!(trace.strings.get(task.name), "trans_TransData_0");
    assert_eq!((task.start, task.duration), (Nanoseconds(2_693_080), Nanoseconds(3_020)));
    assert_eq!(task.unit, ExecutionUnit::AiVectorCore);
    assert_eq!(task.iteration.map(|id| trace.iterations.get(id).number), Some(1));
    let call = trace.api_calls.get(task.launched_by.expect("a launch"));
    assert_eq!((call.level, trace.strings.get(call.name)), (ApiLevel::Node, "launch"));

    let operator = trace.operators.get(task.operator.expect("an operator"));
    let input = operator.inputs().next().expect("an input");
    assert_eq!(trace.shape(input), Some(&[1, 3, 416, 416][..]));
    assert_eq!(trace.tensors.get(input).data_type, DataType::Float16);
    assert_eq!(operator.bytes_read, Some(3 * 416 * 416 * 2));

    let mixed = trace.tasks.iter().filter(|(_, task)| task.unit == ExecutionUnit::MixAiCore);
    let total: Nanoseconds = mixed.map(|(_, task)| task.duration).sum();
    assert_eq!(total, Nanoseconds(17_640), "each operator on both kinds of cores counts once");
}

#[test]
fn readings_are_what_the_vendors_table_shows_of_the_same_task() {
    let Some(golden) = common::golden() else { return };
    let cases =
        ["310_static", "910b_static", "310_pmu_Memory", "910b_pmu_L2Cache", "310_pmu_ArithmeticUtilization"];
    for case in cases {
        let trace = to_trace(&Joined::new(common::load(&golden, case)));
        let zero = trace.clock.unix_zero.expect("a wall clock");
        let text = |id| trace.strings.get(id);
        // The trace follows the accelerated library where that is there.
        let by_library = golden.join(case).join("oracle_cpp");
        let oracle = if by_library.exists() { by_library } else { golden.join(case).join("oracle_py") };
        let folder = oracle.join("mindstudio_profiler_output");
        let files = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("a file").path());
        let mut files = files.filter(|path| path.to_string_lossy().contains("op_summary"));
        let table = std::fs::read_to_string(files.next().expect("a table")).expect("text");
        let mut lines = table.lines();
        let headings: Vec<&str> = lines.next().expect("headings").split(',').collect();
        let first = headings.iter().position(|heading| heading.starts_with("aicore_time")).expect("counters");
        let counted = headings.len() - first;
        let mut compared = 0;
        for line in lines {
            let mut cells: Vec<&str> = line.rsplitn(counted + 1, ',').take(counted).collect();
            cells.reverse();
            let start = line.split(',').find(|cell| cell.ends_with('\t')).expect("a start").trim();
            let (micros, fraction) = start.split_once('.').expect("a fraction");
            let start =
                micros.parse::<i64>().expect("digits") * 1_000 + fraction.parse::<i64>().expect("digits");
            if cells[0] == "N/A" {
                // The AI CPU has no counters; what the library leaves out of operators on both kinds
                // of cores, the trace has.
                assert!(line.contains("MIX_AIC") || line.contains("AI_CPU"), "{case}: {line}");
                continue;
            }
            let is_it = |task: usize| (trace.tasks.start()[task].0 + zero - start).abs() <= 1_000;
            let reading = trace.readings.iter().find(|(_, row)| is_it(row.task.index()));
            let (reading, _) = reading.unwrap_or_else(|| panic!("{case}: no reading at {start}"));
            let values: Vec<(&str, f64)> = trace
                .readings_of(reading)
                .map(|(metric, value)| (text(trace.metrics.get(metric).name), value))
                .collect();
            assert_eq!((values[0].0, values[1].0), ("block_num", "mix_block_num"));
            assert_eq!(values.len(), 2 + counted, "{case}");
            for ((heading, cell), (name, value)) in headings[first..].iter().zip(&cells).zip(&values[2..]) {
                assert!(heading.starts_with(name), "{heading} is {name}");
                let cell: f64 = cell.parse().expect("a number");
                assert!((cell - value).abs() < 1.1e-3, "{case}: {heading} is {cell}, not {value}: {line}");
                compared += 1;
            }
        }
        assert!(compared > 100, "{case}: {compared}");
        let dynamic = trace.operators.dynamic().iter().flatten().count();
        assert_eq!(dynamic, trace.operators.len(), "{case}");
    }
}

#[test]
fn an_outline_counts_what_a_trace_holds() {
    let mut profiles = Vec::new();
    for chip in [Chip::V4_1_0, Chip::V1_1_0] {
        for mode in [SampleMode::Static, SampleMode::Dynamic, SampleMode::Graph, SampleMode::Collective] {
            let directory = tempfile::tempdir().expect("a temporary directory");
            let options = SampleOptions { chip, tasks: 300, mode, seed: 5, layout: SampleLayout::default() };
            if !options.is_possible() {
                continue;
            }
            let profile = write_sample(directory.path(), options).expect("a profile");
            let found = discover(&profile).expect("a profile").remove(0);
            profiles.push(Data::load(found).expect("a listing"));
        }
    }
    if let Some(golden) = common::golden() {
        profiles.extend(["910b_static", "310_static"].map(|case| common::load(&golden, case)));
    }
    let mut loads = 0;
    for data in profiles {
        let joined = Joined::new(data);
        let (outline, trace) = (Outline::of(&joined), to_trace(&joined));
        assert_eq!((outline.tasks, outline.calls), (trace.tasks.len(), trace.api_calls.len()));
        assert_eq!(outline.has_launches, trace.tasks.launched_by().iter().any(Option::is_some));
        let losses = trace.losses.iter().map(|(_, loss)| loss);
        let before = losses.filter(|loss| loss.kind == LossKind::TimeBeforeStart);
        assert_eq!(outline.tasks_before_begin, before.map(|loss| loss.count).sum::<u64>());
        let mut names = trace.api_calls.name().iter().map(|name| trace.strings.get(*name));
        assert_eq!(outline.loads_model, names.any(|name| name == "ModelLoad"));
        assert_eq!(opscope_cann::note(&joined), trace.run.note.as_deref());
        loads += usize::from(outline.loads_model);
    }
    assert!(loads >= 2, "the static ones load a model");
}
