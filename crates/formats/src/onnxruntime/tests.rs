//! Profiles as the runtime writes them, whole and damaged, and what becomes of them.

use std::path::{Path, PathBuf};

use opscope_testing::companions;
use opscope_trace::*;
use proptest::prelude::*;

use super::*;

/// An event in the runtime's own spelling.
fn event(category: &str, thread: i64, start: i64, duration: i64, name: &str, arguments: &str) -> String {
    format!(
        "{{\"cat\" : \"{category}\",\"pid\" :70,\"tid\" :{thread},\"dur\" :{duration},\"ts\" :{start},\
         \"ph\" : \"X\",\"name\" :\"{name}\",\"args\" : {{{arguments}}}}}"
    )
}

fn session(thread: i64, start: i64, duration: i64, name: &str) -> String {
    event("Session", thread, start, duration, name, "")
}

fn node(thread: i64, start: i64, duration: i64, name: &str, pool: &str) -> String {
    let arguments = format!(
        "\"op_name\" : \"Conv\",\"node_index\" : \"4\",\"provider\" : \"CPUExecutionProvider\",\
         \"input_type_shape\" : [{{\"float\":[1,3,8,8]}},{{\"float\":[4,3,3,3]}}],\
         \"output_type_shape\" : [{{\"float\":[1,4,6,6]}}],\"activation_size\" : \"768\",\
         \"parameter_size\" : \"432\",\"output_size\" : \"576\",\"mem_bytes_in_use\" : \"2048\",\
         \"mem_in_use_delta\" : \"-64\",\"thread_scheduling_stats\" : {pool}"
    );
    event("Node", thread, start, duration, &format!("{name}_kernel_time"), &arguments)
}

fn pool(session: u32) -> String {
    format!(
        "{{\"main_thread\": {{\"thread_pool_name\": \"session-{session}-intra-op\", \
         \"thread_id\": \"140\", \"block_size\": [1, 64], \"core\": 1, \"Distribution\": 2, \
         \"DistributionEnqueue\": 1, \"Run\": 30, \"Wait\": 7, \"WaitRevoke\": 3}}, \
         \"sub_threads\": {{\"141\": {{\"num_run\": 9, \"core\": 0}}}}}}"
    )
}

fn file(events: &[String]) -> String {
    format!("[\n{}\n]\n", events.join(",\n"))
}

fn parse(text: &str) -> Profile {
    Profile::parse(text.as_bytes(), Path::new("profile.json")).unwrap()
}

/// One session with two runs of two nodes each.
fn two_runs() -> Vec<String> {
    vec![
        session(70, 2, 100, "model_loading_uri"),
        session(70, 110, 50, "session_initialization"),
        node(70, 202, 40, "conv1", &pool(1)),
        node(70, 250, 30, "conv2", &pool(1)),
        session(70, 201, 90, "SequentialExecutor::Execute"),
        session(70, 200, 100, "model_run"),
        node(70, 302, 20, "conv1", &pool(1)),
        node(70, 330, 30, "conv2", &pool(1)),
        session(70, 301, 79, "SequentialExecutor::Execute"),
        session(70, 300, 81, "model_run"),
    ]
}

#[test]
fn events_that_a_file_has_twice_count_once_and_are_told() {
    let once = parse(&file(&two_runs())).to_trace();
    let doubled: Vec<String> = two_runs().into_iter().flat_map(|event| [event.clone(), event]).collect();
    let joined = [two_runs(), two_runs()].concat();
    for events in [doubled, joined] {
        let trace = parse(&file(&events)).to_trace();
        assert_eq!(trace.tasks.len(), once.tasks.len());
        assert_eq!(trace.iterations.len(), once.iterations.len());
        assert_eq!(losses(&trace), [("left out: an event that the file has already", 10, "profile.json")]);
    }
    // Two executions may begin in one microsecond, and last less.
    let short = [node(70, 202, 0, "conv1", &pool(1)), node(70, 202, 0, "conv1", &pool(1))];
    let trace = parse(&file(&short)).to_trace();
    assert_eq!((trace.tasks.len(), trace.losses.len()), (2, 0));
}

fn names<'t>(trace: &'t Trace, ids: &[StringId]) -> Vec<&'t str> {
    ids.iter().map(|&id| trace.strings.get(id)).collect()
}

/// The number of every task's iteration, in the file's order.
fn iterations_of_tasks(trace: &Trace) -> Vec<Option<u32>> {
    let number = |id: IterationId| trace.iterations.get(id).number;
    trace.tasks.iteration().iter().map(|iteration| iteration.map(number)).collect()
}

fn losses(trace: &Trace) -> Vec<(&str, u64, &str)> {
    let text = |id| trace.strings.get(id);
    trace.losses.iter().map(|(_, loss)| (loss.kind.sentence(), loss.count, text(loss.detail))).collect()
}

/// How many items of the list the profile accounts for.
fn accounted(profile: &Profile) -> u64 {
    let kept = profile.sessions.len() + profile.nodes.len() + profile.devices.len();
    let others: u64 = profile.others.iter().map(|(_, count)| count).sum();
    kept as u64 + profile.fences + others + profile.damage.events
}

#[test]
fn nodes_keep_all_that_the_runtime_says_of_them() {
    let profile = parse(&file(&two_runs()));
    assert_eq!(
        (profile.sessions.len(), profile.nodes.len(), profile.damage.clone()),
        (6, 4, Damage::default())
    );
    let node = profile.nodes[0];
    let text = |id| profile.strings.get(id);
    assert_eq!((text(node.name), text(node.op_name)), ("conv1", "Conv"));
    assert_eq!((node.start, node.duration), (Nanoseconds(202_000), Nanoseconds(40_000)));
    assert_eq!(
        (node.activation_size, node.parameter_size, node.output_size),
        (Some(768), Some(432), Some(576))
    );
    assert_eq!((node.memory.bytes_in_use, node.memory.in_use_delta), (Some(2048), Some(-64)));
    let scheduling = node.scheduling.unwrap();
    assert_eq!(text(scheduling.pool), "session-1-intra-op");
    assert_eq!((scheduling.run, scheduling.wait), (Nanoseconds(30_000), Nanoseconds(7_000)));
    assert_eq!(profile.block_sizes.get(scheduling.block_sizes), [1, 64]);
    assert_eq!(profile.workers.get(scheduling.workers), [Worker { thread: 141, runs: 9, core: 0 }]);
}

#[test]
fn sessions_runs_and_nodes_become_models_iterations_and_operators() {
    let trace = parse(&file(&two_runs())).to_trace();
    assert_eq!(names(&trace, trace.models.name()), ["session 1"]);
    assert_eq!(trace.iterations.number(), [1, 2]);
    assert_eq!(trace.iterations.duration(), [Nanoseconds(100_000), Nanoseconds(81_000)]);
    assert_eq!(names(&trace, trace.operators.name()), ["conv1", "conv2"]);
    assert_eq!(iterations_of_tasks(&trace), [Some(1), Some(1), Some(2), Some(2)]);
    let operator = trace.operators.get(trace.tasks.operator()[2].unwrap());
    assert_eq!(
        (operator.position, operator.bytes_read, operator.bytes_written),
        (Some(4), Some(1200), Some(576))
    );
    let shapes: Vec<_> =
        operator.inputs().chain(operator.outputs()).map(|id| trace.shape(id).unwrap()).collect();
    assert_eq!(shapes, [[1, 3, 8, 8], [4, 3, 3, 3], [1, 4, 6, 6]]);
    let levels = [ApiLevel::Model, ApiLevel::Application, ApiLevel::Runtime, ApiLevel::Application];
    assert_eq!(trace.api_calls.level()[..4], levels);
    let first = Some(IterationId::from_index(0));
    assert!(trace.api_calls.iteration().iter().take(4).eq(&[None, None, first, first]));
    assert_eq!(names(&trace, trace.devices.name()), ["CPUExecutionProvider"]);
    assert_eq!(names(&trace, trace.streams.name()), ["thread 70"]);
    assert_eq!(names(&trace, trace.counters.name()), ["memory in use"]);
    assert_eq!(trace.samples.time()[0], Nanoseconds(242_000));
    assert!(losses(&trace).is_empty(), "{:?}", losses(&trace));
}

#[test]
fn of_a_table_that_is_gathered_from_the_gathered_rows_are_read() {
    let mut events = two_runs();
    for event in &mut events {
        *event = event
            .replace("\"op_name\" : \"Conv\"", "\"op_name\" : \"Gather\"")
            .replace(
                "[{\"float\":[1,3,8,8]},{\"float\":[4,3,3,3]}]",
                "[{\"float\":[8192,128]},{\"int64\":[1,16]}]",
            )
            .replace("[1,4,6,6]", "[1,16,128]")
            .replace(
                "\"parameter_size\" : \"432\",\"output_size\" : \"576\"",
                "\"parameter_size\" : \"4194304\",\"output_size\" : \"8192\"",
            );
    }
    let trace = parse(&file(&events)).to_trace();
    let operator = trace.operators.get(trace.tasks.operator()[0].unwrap());
    assert_eq!((operator.bytes_read, operator.bytes_written), (Some(8192 + 16 * 8), Some(8192)));
}

#[test]
fn each_combination_of_shapes_is_an_operator_of_its_own() {
    let mut events = two_runs();
    events[6] = events[6].replace("[1,3,8,8]", "[2,3,8,8]");
    let trace = parse(&file(&events)).to_trace();
    assert_eq!(names(&trace, trace.operators.name()), ["conv1", "conv2", "conv1"]);
}

#[test]
fn a_file_cut_off_anywhere_keeps_the_events_before_the_cut() {
    let events = two_runs();
    let whole = file(&events);
    for cut in 1..whole.trim_end().len() {
        let Ok(profile) = Profile::parse(&whole.as_bytes()[..cut], Path::new("x")) else {
            assert!(whole[..cut].lines().count() <= 2, "nothing was kept of {cut} bytes");
            continue;
        };
        let complete = events.iter().filter(|event| whole[..cut].contains(*event)).count();
        assert_eq!(profile.sessions.len() + profile.nodes.len(), complete);
        assert!(profile.damage.cut_off.is_some());
    }
    let cut = whole.find("conv2").unwrap();
    let trace = parse(&whole[..cut]).to_trace();
    let loss = losses(&trace)[0];
    assert!(loss.0.contains("cut off") && loss.2 == "profile.json: line 5, column 1", "{loss:?}");
}

#[test]
fn a_damaged_event_takes_no_other_with_it() {
    for (damage, reason) in
        [("we\"ird", "expected `,` or `}`"), ("\u{1}", "control character"), ("\\x", "invalid escape")]
    {
        let mut events = two_runs();
        events[3] = events[3].replace("conv2", damage);
        let profile = parse(&file(&events));
        assert_eq!((profile.sessions.len(), profile.nodes.len()), (6, 3), "{damage:?}");
        assert_eq!(profile.damage.events, 1);
        assert_eq!(profile.damage.places[0].0, Position { line: 5, column: 1 });
        assert!(profile.damage.places[0].1.contains(reason), "{:?}", profile.damage);
        assert_eq!(profile.damage.cut_off, None);
    }
}

#[test]
fn an_event_that_lacks_its_end_leaves_the_next_line_alone() {
    let mut events = two_runs();
    let without_end = events[2].len() - 3;
    events[2].truncate(without_end);
    let profile = parse(&file(&events));
    assert_eq!((profile.sessions.len(), profile.nodes.len(), profile.damage.events), (6, 3, 1));
}

#[test]
fn wrong_kinds_of_values_are_damage_even_when_all_stands_on_one_line() {
    let events = two_runs().join(",").replace("\"tid\" :70,\"dur\" :40", "\"tid\" :{},\"dur\" :40");
    let events = events.replace("\"dur\" :20,", "").replacen("\"op_name\" : \"Conv\"", "\"op_name\" : 7", 2);
    let profile = parse(&format!("[{events}]"));
    assert_eq!((profile.sessions.len(), profile.nodes.len()), (6, 1));
    assert_eq!((profile.damage.events, profile.damage.cut_off), (3, None));
}

#[test]
fn fences_of_older_versions_are_counted_and_no_damage() {
    let mut events = two_runs();
    for phase in ["before", "after"] {
        let name = format!("conv1_fence_{phase}");
        events.push(event("Node", 70, 201, 1, &name, "\"op_name\" : \"Conv\""));
    }
    let graph_index = "\"graph_index\" : \"9\",\"exec_plan_index\" : \"3\"";
    events[2] = events[2].replace("\"node_index\" : \"4\"", graph_index);
    let profile = parse(&file(&events));
    assert_eq!((profile.fences, profile.damage.events, profile.nodes.len()), (2, 0, 4));
    assert_eq!(profile.nodes[0].node_index, Some(3));
    assert!(losses(&profile.to_trace()).is_empty());
}

#[test]
fn events_of_unknown_kinds_are_counted_by_category() {
    let mut events = two_runs();
    events.push(event("Node", 70, 9, 9, "conv1_something", ""));
    events.push(event("Novel", 70, 9, 9, "x", ""));
    events.push("{}".to_owned());
    let profile = parse(&file(&events));
    assert_eq!(profile.others.len(), 3);
    let trace = profile.to_trace();
    assert_eq!(losses(&trace)[1], ("events of an unknown category or name", 1, "'Novel' in profile.json"));
}

#[test]
fn nodes_on_pool_threads_belong_to_the_only_run_at_that_time() {
    let events = [
        session(70, 2, 100, "model_loading_uri"),
        node(99, 210, 40, "conv1", "\"\""),
        session(70, 200, 100, "model_run"),
        node(99, 305, 40, "conv2", "\"\""),
        node(99, 410, 40, "conv3", "\"\""),
        session(71, 400, 100, "model_run"),
        node(72, 430, 40, "conv4", "\"\""),
        session(72, 420, 100, "model_run"),
        node(99, 440, 5, "conv5", "\"\""),
        node(99, 510, 5, "conv6", "\"\""),
    ];
    let trace = parse(&file(&events)).to_trace();
    // conv2 ran between the runs; during conv5 there were two, and it ran on the thread of neither.
    assert_eq!(iterations_of_tasks(&trace), [Some(1), None, Some(2), Some(3), None, Some(3)]);
    let (reason, count, _) = losses(&trace)[0];
    assert!(reason.contains("overlapped") && count == 1, "{reason}");
}

#[test]
fn a_run_inside_another_on_the_same_thread_has_its_own_nodes() {
    let events = [
        session(70, 200, 100, "model_run"),
        node(70, 205, 60, "outer", "\"\""),
        session(70, 210, 50, "model_run"),
        node(70, 220, 10, "inner", "\"\""),
        node(70, 270, 10, "last", "\"\""),
    ];
    let trace = parse(&file(&events)).to_trace();
    assert_eq!(iterations_of_tasks(&trace), [Some(1), Some(2), Some(1)]);
}

#[test]
fn two_sessions_in_one_file_are_two_models_with_their_own_runs() {
    let events = [
        session(70, 2, 10, "model_loading_uri"),
        session(70, 20, 10, "model_loading_array"),
        session(70, 40, 10, "session_initialization"),
        session(70, 60, 10, "session_initialization"),
        node(70, 202, 40, "conv1", &pool(5)),
        session(70, 200, 100, "model_run"),
        node(70, 402, 40, "conv1", &pool(8)),
        session(70, 400, 100, "model_run"),
        node(70, 602, 40, "conv1", &pool(5)),
        session(70, 600, 100, "model_run"),
    ];
    let trace = parse(&file(&events)).to_trace();
    assert_eq!(names(&trace, trace.models.name()), ["session 5", "session 8"]);
    let models: Vec<_> = trace.iterations.model().iter().map(|model| model.unwrap().index()).collect();
    assert_eq!((models, trace.iterations.number()), (vec![0, 1, 0], &[1, 1, 2][..]));
    assert_eq!(trace.operators.len(), 2);
    assert_eq!(names(&trace, trace.streams.name()), ["thread 70, session 5", "thread 70, session 8"]);
    assert_eq!(iterations_of_tasks(&trace), [Some(1), Some(1), Some(2)]);
}

#[test]
fn kernels_become_tasks_of_the_node_that_launched_them() {
    let mut events = two_runs();
    events[2] = events[2].replace("CPUExecutionProvider", "CUDAExecutionProvider");
    let arguments = "\"op_name\" : \"Conv\",\"parent_name\" : \"conv1_kernel_time\",\"stream\" : \"7\",\"grid_x\" : \"4\"";
    let kernel = |thread: i64, start, name| {
        event("Kernel", thread, start, 12, name, arguments).replace(":70,", ":-1,")
    };
    events.insert(3, kernel(-1, 230, "implicit_gemm"));
    events.insert(4, kernel(-1, 245, "MemcpyHostToDevice"));
    let trace = parse(&file(&events)).to_trace();
    let kernels: Vec<_> = trace.tasks.iter().filter(|(_, task)| task.launched_by.is_some()).collect();
    assert_eq!(kernels.len(), 2);
    let units = [ExecutionUnit::Gpu, ExecutionUnit::MemoryCopy];
    for ((_, kernel), unit) in kernels.into_iter().zip(units) {
        let call = trace.api_calls.get(kernel.launched_by.unwrap());
        assert_eq!((trace.strings.get(call.name), call.level), ("conv1", ApiLevel::Node));
        assert_eq!(names(&trace, &[trace.operators.get(kernel.operator.unwrap()).name]), ["conv1"]);
        assert_eq!((kernel.unit, trace.iterations.get(kernel.iteration.unwrap()).number), (unit, 1));
        let stream = trace.streams.get(kernel.stream.unwrap());
        assert_eq!((stream.number, trace.devices.get(stream.device).kind), (7, DeviceKind::Gpu));
    }
    // The launch itself is no task: its time would count twice.
    assert_eq!(trace.tasks.len(), 3 + 2);
}

#[test]
fn a_node_without_a_name_is_called_by_its_type_and_number() {
    let trace = parse(&file(&[node(70, 1, 1, "", "\"\"")])).to_trace();
    assert_eq!(names(&trace, trace.operators.name()), ["Conv_4"]);
}

#[test]
fn shapes_that_are_none_are_reported_and_the_node_kept() {
    let events = [node(70, 1, 1, "conv1", "\"\"").replace("[1,4,6,6]", "\"big\"")];
    let trace = parse(&file(&events)).to_trace();
    assert_eq!((trace.tasks.len(), trace.operators.get(OperatorId::from_index(0)).output_count), (1, 0));
    assert!(losses(&trace)[0].0.contains("shapes"), "{:?}", losses(&trace));
}

#[test]
fn bytes_that_are_no_text_cost_one_character_only() {
    let text = file(&two_runs()).replace("conv2", "c?nv2");
    let bytes: Vec<u8> = text.bytes().map(|byte| if byte == b'?' { 0xff } else { byte }).collect();
    let profile = Profile::parse(&bytes, Path::new("x")).unwrap();
    assert_eq!((profile.nodes.len(), profile.damage.not_utf8), (4, true));
    assert_eq!(profile.strings.get(profile.nodes[1].name), "c\u{fffd}nv2");
    assert!(losses(&profile.to_trace())[0].0.contains("UTF-8"));
}

#[test]
fn other_files_are_refused_with_the_place_and_what_was_expected() {
    let refusal = |text: &str| Profile::parse(text.as_bytes(), Path::new("x.json")).unwrap_err().to_string();
    assert_eq!(
        refusal("\n {\"traceEvents\":[]}"),
        "x.json: line 2, column 2: expected '[' and a list of events, found \"{\\\"traceEvents\\\":[]}\""
    );
    assert!(refusal("").contains("the end of the file"));
    assert!(refusal("[{\"ph\":\"X\",\"cat\":\"kernel\"}, 3]").contains("none of its 2 items"));
    assert!(Profile::read(Path::new("/nowhere/x.json")).unwrap_err().to_string().contains("/nowhere/x.json"));
    assert_eq!(parse("[]").nodes.len(), 0);
}

#[test]
fn deeply_nested_and_repeatedly_damaged_files_are_read_quickly() {
    let deep = format!("[{{\"args\":{}", "[".repeat(2_000_000));
    assert!(Profile::parse(deep.as_bytes(), Path::new("x")).is_err());
    let rungs = format!("[\n{}{}", "{\"a\":[\n".repeat(100_000), "?");
    let started = std::time::Instant::now();
    assert!(Profile::parse(rungs.as_bytes(), Path::new("x")).is_err());
    assert!(started.elapsed().as_secs() < 20, "took {:?}", started.elapsed());
}

/// The folder of material that is not part of the project, if it is there.
fn golden() -> Vec<PathBuf> {
    let Some(folder) = companions::shared("golden/onnxruntime") else { return Vec::new() };
    let entries = std::fs::read_dir(&folder).expect("a listing");
    let files = entries.map(|entry| entry.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|extension| extension == "json")).collect()
}

#[test]
fn real_profiles_are_read_without_loss() {
    for path in golden() {
        let text = std::fs::read_to_string(&path).unwrap();
        let profile = Profile::read(&path).unwrap();
        assert_eq!(profile.nodes.len(), text.matches("_kernel_time").count());
        assert_eq!(profile.sessions.len(), text.matches("\"Session\"").count());
        let trace = profile.to_trace();
        assert!(losses(&trace).is_empty(), "{}: {:?}", path.display(), losses(&trace));
        assert_eq!((trace.models.len(), trace.iterations.len()), (1, 2));
        // Both runs execute the same nodes.
        assert_eq!(trace.tasks.len(), 2 * trace.operators.len());
        for (id, iteration) in trace.iterations.iter() {
            let own: Nanoseconds = trace
                .tasks
                .iter()
                .filter(|(_, task)| task.iteration == Some(id))
                .map(|(_, task)| task.duration)
                .sum();
            assert!(own <= iteration.duration && own.0 * 10 > iteration.duration.0 * 8, "{}", path.display());
        }
        for (_, operator) in trace.operators.iter() {
            let bytes = |id: TensorId| {
                let elements: i64 = trace.shape(id).unwrap().iter().product();
                trace.tensors.get(id).data_type.bytes(elements as u64).unwrap()
            };
            assert_eq!(operator.bytes_written, Some(operator.outputs().map(bytes).sum()));
            // The runtime's own sums are of whole inputs.
            let whole: u64 = operator.inputs().map(bytes).sum();
            let picks = Reads::of_type(trace.strings.get(operator.op_type)) != Reads::All;
            assert!(operator.bytes_read == Some(whole) || picks && operator.bytes_read < Some(whole));
        }
        assert_eq!(trace.samples.len(), 4 * trace.tasks.len());
    }
}

proptest! {
    #[test]
    fn any_damage_is_survived_and_every_event_accounted_for(
        changes in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 0..6),
        end in any::<proptest::sample::Index>(),
        cut in any::<bool>(),
    ) {
        let mut bytes = file(&two_runs()).into_bytes();
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        if cut {
            bytes.truncate(end.index(bytes.len()));
        }
        if let Ok(profile) = Profile::parse(&bytes, Path::new("x")) {
            let trace = profile.to_trace();
            let kept = profile.sessions.len() as u64 + profile.nodes.len() as u64 + profile.fences;
            if profile.damage == Damage::default() {
                prop_assert_eq!(accounted(&profile), two_runs().len() as u64);
            }
            if kept < accounted(&profile) {
                prop_assert!(!trace.losses.is_empty());
            }
        }
    }

    #[test]
    fn random_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = Profile::parse(&bytes, Path::new("x"));
        let listed = [b"[\n{\"cat\":\"Node\",", &bytes[..]].concat();
        let _ = Profile::parse(&listed, Path::new("x"));
    }
}

#[test]
fn real_profiles_with_damage_are_survived() {
    for path in golden() {
        let whole = std::fs::read(&path).unwrap();
        for step in 1..60 {
            let mut bytes = whole.clone();
            for place in (step * 97..bytes.len()).step_by(step * 991) {
                bytes[place] = (place * step) as u8;
            }
            if let Ok(profile) = Profile::parse(&bytes, &path) {
                profile.to_trace();
            }
        }
    }
}
