//! `opscope compare` on profiles built for the purpose.

mod common;

use common::{Place, number};

/// A table as Ascend's tools export it, of operators with type and microseconds.
fn op_summary(rows: &[(&str, &str, f64)]) -> String {
    let mut text = String::from(
        "Device_id,Model ID,Task ID,Stream ID,Op Name,OP Type,Task Type,Task Start Time(us),Task Duration(us),Task Wait Time(us)\n",
    );
    let mut start = 1_760_000_000_000_000.0;
    for (task, (name, op_type, micros)) in rows.iter().enumerate() {
        text.push_str(&format!("0,1,{task},2,{name},{op_type},AI_CORE,{start:.3}\t,{micros:.3},0\n"));
        start += micros;
    }
    text
}

/// Marks of the program as Ascend's tools export them.
fn msprof_tx(name: &str, ms: f64) -> String {
    let start = 1_760_000_000_000_000.0;
    format!(
        "pid,tid,category,event_type,payload_type,payload_value,Start_time(us),End_time(us),message_type,message,domain\n\
         1,1,0,push/pop,0,0,{start:.3},{:.3},0,{name},\n",
        start + ms * 1_000.0
    )
}

#[test]
fn replacing_mish_gives_the_published_figures() {
    let place = Place::new();
    // 23.299 ms with Mish in three operators, 14.190 ms with LeakyRelu.
    place.write(
        "op_summary_mish.csv",
        op_summary(&[
            ("conv1", "Conv2D", 6_000.0),
            ("mish1_sp", "Softplus", 3_000.0),
            ("mish1_th", "Tanh", 2_000.0),
            ("mish1_mul", "Mul", 1_299.0),
            ("conv2", "Conv2D", 11_000.0),
        ]),
    );
    place.write(
        "op_summary_leaky.csv",
        op_summary(&[
            ("conv1", "Conv2D", 5_000.0),
            ("leaky1", "LeakyRelu", 190.0),
            ("conv2", "Conv2D", 9_000.0),
        ]),
    );
    let answer = place.done(&["compare", "op_summary_mish.csv", "op_summary_leaky.csv"]);
    for text in
        ["23.299 ms → 14.190 ms", "1.642x", "−39.1 %", "Softplus + Tanh + Mul became Conv2D + LeakyRelu"]
    {
        assert!(answer.stdout.contains(text), "no {text} in\n{}", answer.stdout);
    }
    let json = place.done(&["compare", "op_summary_mish.csv", "op_summary_leaky.csv", "--json"]).json();
    assert_eq!(number(&json, "/before_ns"), 23_299_000.0);
    assert!((number(&json, "/speed_up") - 1.642).abs() < 5e-4);
    let sum: f64 = json["groups"].as_array().unwrap().iter().map(|group| number(group, "/delta_ns")).sum();
    assert_eq!(sum, -9_109_000.0, "the groups' changes are the whole change");
}

#[test]
fn fusing_gives_the_published_figures_and_tells_who_took_in_whom() {
    let place = Place::new();
    let before: Vec<(String, &str, f64)> = (0..7)
        .flat_map(|n| {
            [
                (format!("conv{n}"), "Conv2D", 400.0),
                (format!("bn{n}"), "BNInferenceD", 400.0),
                (format!("relu{n}"), "Relu", 229.0 - if n == 0 { -6.0 } else { 0.0 }),
            ]
        })
        .collect();
    // The rest to 7209 us in one more operator.
    let sum: f64 = before.iter().map(|row| row.2).sum();
    let mut rows: Vec<(&str, &str, f64)> =
        before.iter().map(|(name, kind, us)| (&**name, *kind, *us)).collect();
    rows.push(("prior", "Softmax", 7_209.0 - sum));
    place.write("op_summary_a.csv", op_summary(&rows));
    let names: Vec<String> = (0..7).map(|n| format!("conv{n}")).collect();
    let mut fused: Vec<(&str, &str, f64)> = names.iter().map(|name| (&**name, "Conv2D", 329.0)).collect();
    fused.push(("prior", "Softmax", 2.0));
    place.write("op_summary_b.csv", op_summary(&fused));
    let answer = place.done(&["compare", "op_summary_a.csv", "op_summary_b.csv"]);
    for text in
        ["7.209 ms → 2.305 ms", "−68.0 %", "7 × Conv2D + BNInferenceD + Relu became Conv2D", "7 merged"]
    {
        assert!(answer.stdout.contains(text), "no {text} in\n{}", answer.stdout);
    }
    let markdown = place.done(&["compare", "op_summary_a.csv", "op_summary_b.csv", "--markdown", "-t", "1"]);
    assert!(markdown.stdout.contains("| time | change | operators |"), "{}", markdown.stdout);
    assert!(markdown.stdout.contains("all others"), "{}", markdown.stdout);
    let each = place.done(&["compare", "op_summary_a.csv", "op_summary_b.csv", "--each"]).stdout;
    assert_eq!(each.matches("became Conv2D (conv").count(), 7, "{each}");
}

#[test]
fn the_page_of_compare_is_that_of_report_and_has_its_answer() {
    let place = Place::new();
    place.write("op_summary_a.csv", op_summary(&[("a", "Conv2D", 400.0), ("b", "Relu", 50.0)]));
    place.write("op_summary_b.csv", op_summary(&[("a", "Conv2D", 300.0), ("b", "Relu", 50.0)]));
    let sides = ["op_summary_a.csv", "op_summary_b.csv"];
    let printed = place.done(&["compare", sides[0], sides[1], "--json", "--html", "page.html"]);
    assert!(printed.stderr.contains("wrote the report page.html"), "{}", printed.stderr);
    let page = std::fs::read_to_string(place.path("page.html")).expect("the page");
    place.done(&["report", sides[1], "--against", sides[0], "-o", "report.html"]);
    assert!(page == std::fs::read_to_string(place.path("report.html")).expect("the report"));

    let (answers, _) = common::report(&page);
    for (key, value) in printed.json().as_object().expect("members") {
        assert_eq!(&answers["compare"][key], value, "{key}");
    }
    assert_eq!(answers["compare"]["waterfall"][0]["story"], "Conv2D faster");
    let analyzed = place.done(&["analyze", sides[0], "--json"]).json();
    for (key, figure) in analyzed["overview"].as_object().expect("figures") {
        assert_eq!(&answers["against"]["overview"][key], figure, "{key}");
    }
    let (text, _) = page.split_once("</main>").expect("the text");
    assert!(
        text.contains("<h2>Compared with op_summary_a.csv</h2>") && text.contains("0.450 ms → 0.350 ms"),
        "{text}"
    );

    // Neither side is written over.
    let over = ["report", sides[1], "--against", sides[0], "-o", sides[0]];
    place.fails(2, &["would be overwritten"], &over);
    place.fails(2, &["would be overwritten"], &["compare", sides[0], sides[1], "--html", sides[1]]);
}

#[test]
fn a_report_has_the_roofline_of_analyze() {
    let place = Place::new();
    let model = place.sample("mask-ssd");
    place.done(&["run", &model, "-n", "2", "--db", "run.db"]);
    let peaks = ["--peak-flops", "50GFLOPS", "--peak-bandwidth", "10GB/s"];
    place.done(&[&["report", "run.db", "-o", "report.html"][..], &peaks[..]].concat());
    let (answers, columns) =
        common::report(&std::fs::read_to_string(place.path("report.html")).expect("the report"));
    assert_eq!(answers["roofline"]["flops_per_second"], 50e9);
    let columns_of = ["analyze", "run.db", "--json", "--columns", "bound,ceiling,ideal"];
    let analyzed = place.done(&[&columns_of[..], &peaks[..]].concat()).json();
    let rows = analyzed["rows"].as_array().expect("rows");
    let container = opscope_web::columns::Container::read(&columns).expect("columns");
    let numbers = |column| container.numbers("operators", column).expect("numbers");
    let (bounds, ceilings, ideals) = (numbers("bound"), numbers("ceiling"), numbers("ideal"));
    assert!(bounds.len() == rows.len() && bounds.iter().any(|&bound| bound > 0.0));
    for (place, row) in rows.iter().enumerate() {
        let names = ["", "compute", "memory", "neither"];
        assert_eq!(row["bound"].as_str().unwrap_or_default(), names[bounds[place] as usize], "{row}");
        // Reading JSON may change the last digit.
        let share = row["share_of_ceiling"].as_f64().unwrap_or(0.0);
        assert!((share - ceilings[place]).abs() <= 1e-12 * share, "{row}: {}", ceilings[place]);
        assert_eq!(row["ideal_ns"].as_f64().map_or(0.0, |ideal| ideal + 1.0), ideals[place], "{row}");
    }
    let calls = place.done(&["analyze", "run.db", "--host", "--json"]).json();
    assert_eq!(answers["calls"]["rows"], calls["rows"]);
}

#[test]
fn a_stray_sleep_of_five_seconds_is_suspected() {
    let place = Place::new();
    place.write("msprof_tx_a.csv", msprof_tx("CreateMultipleStreamsFromFile", 5_645.052));
    place.write("msprof_tx_b.csv", msprof_tx("CreateMultipleStreamsFromFile", 642.772));
    let answer = place.done(&["compare", "msprof_tx_a.csv", "msprof_tx_b.csv"]);
    for text in ["5645.052 ms → 642.772 ms", "−88.6 %", "8.782x", "5002.280 ms", "sleep", "A33"] {
        assert!(answer.stdout.contains(text), "no {text} in\n{}", answer.stdout);
    }
}

#[test]
fn calls_of_one_name_on_two_levels_are_compared_each_with_its_own() {
    let place = Place::new();
    for (job, execute, below) in [("JOBA", 8_010, 20), ("JOBB", 4_000, 30)] {
        std::fs::create_dir_all(place.path(job).join("summary")).expect("a folder");
        place.write(
            &format!("{job}/summary/acl_statistic_0_3_1.csv"),
            format!(
                "Process ID,Thread ID,Type,Name,Total Time Ratio(%),Total Time(us),Count,Avg(us),Max(us),Min(us)\n\
                 5,6,model,svp_acl_mdl_execute,99,{execute},1,{execute},{execute},{execute}\n\
                 5,6,runtime,svp_acl_mdl_execute,1,{below},1,{below},{below},{below}\n"
            ),
        );
    }
    let json = place.done(&["compare", "JOBA", "JOBB", "--json"]).json();
    let span = |place: &str| {
        let mut spans = json["spans"].as_array().expect("spans").iter();
        let span = spans.find(|span| span["place"] == place).unwrap_or_else(|| panic!("{place}: {json:#}"));
        (number(span, "/before_ns"), number(span, "/after_ns"))
    };
    assert_eq!(span("model"), (8_010_000.0, 4_000_000.0));
    assert_eq!(span("runtime"), (20_000.0, 30_000.0));
    assert_eq!(number(&json, "/before_ns"), 8_010_000.0, "the call of the interface, not the mean of both");
    let text = place.done(&["compare", "JOBA", "JOBB"]).stdout;
    assert!(text.contains("8.01 ms") && text.contains("svp_acl_mdl_execute (runtime)"), "{text}");
    assert!(text.contains("+10 µs  +50.0 %"), "{text}");
    let host = place.done(&["analyze", "JOBA", "--host", "--json"]).json();
    let times: Vec<f64> =
        host["rows"].as_array().expect("rows").iter().map(|row| number(row, "/time_ns")).collect();
    assert_eq!(times.len(), 2, "{host:#}");
}

#[test]
fn two_runs_of_one_model_are_matched_whole_and_judged() {
    let place = Place::new();
    let model = place.sample("mask-ssd");
    for file in ["a.db", "b.db"] {
        place.done(&["run", &model, "-n", "6", "--warmup", "1", "--threads", "1", "--db", file]);
    }
    let json = place.done(&["compare", "a.db", "b.db", "--json"]).json();
    let steps = json["waterfall"].as_array().unwrap();
    let sum: f64 = steps.iter().map(|step| number(step, "/delta_ns")).sum();
    assert_eq!(sum, number(&json, "/after_ns") - number(&json, "/before_ns"), "{steps:?}");
    // Operators that were recorded in other inferences may take longer than those that were timed.
    let rest = |step: &&serde_json::Value| step["kind"] != "operators";
    let rests: Vec<_> = steps.iter().filter(rest).map(|step| &step["kind"]).collect();
    assert_eq!(rests.len(), 1, "between operators there is always some time: {steps:?}");
    assert!(rests[0] == "outside operators" || rests[0] == "not explained", "{rests:?}");
    let text = place.done(&["compare", "a.db", "b.db", "-t", "1"]).stdout;
    assert!(text.contains(steps.iter().find(rest).unwrap()["name"].as_str().unwrap()), "{text}");
    assert_eq!((number(&json, "/matched/before"), number(&json, "/matched/after")), (1.0, 1.0));
    assert_eq!(json["different_models"], false);
    let verdict = json["difference"]["verdict"].as_str().unwrap();
    assert!(verdict.contains("beyond noise"), "{verdict}");
    assert_eq!(json["difference"]["runs"], serde_json::json!([6, 6]));
}

#[test]
fn profiles_of_different_models_are_said_to_be() {
    let place = Place::new();
    place.write("op_summary_a.csv", op_summary(&[("conv1", "Conv2D", 100.0), ("pool", "Pooling", 50.0)]));
    place
        .write("op_summary_b.csv", op_summary(&[("lstm", "DynamicRNN", 90.0), ("gather", "GatherV2", 50.0)]));
    let answer = place.done(&["compare", "op_summary_a.csv", "op_summary_b.csv"]);
    assert!(answer.stdout.contains("different models"), "{}", answer.stdout);
    assert!(answer.stdout.contains("0 %"), "{}", answer.stdout);
}

#[test]
fn what_cannot_be_compared_is_named() {
    let place = Place::new();
    place.write("op_summary_a.csv", op_summary(&[("conv1", "Conv2D", 100.0)]));
    place.fails(1, &["missing.db"], &["compare", "op_summary_a.csv", "missing.db"]);
    place.fails(2, &["required"], &["compare", "op_summary_a.csv"]);
    place.write("noise.bin", [0u8, 1, 2, 3]);
    place.fails(1, &["noise.bin"], &["compare", "op_summary_a.csv", "noise.bin"]);
}

#[test]
fn a_step_that_claims_to_be_absurdly_long_has_a_bar_that_ends() {
    let place = Place::new();
    // An operator of almost a year within an inference of ten microseconds.
    for (file, micros) in [("before.json", 5_u64), ("after.json", 30_000_000_000_000)] {
        let runs = (1..4).map(|run| {
            let (start, within) = (run * 100, run * 100 + 1);
            format!(
                r#"{{"cat":"Session","pid":1,"tid":1,"dur":10,"ts":{start},"ph":"X","name":"model_run","args":{{}}}},
                {{"cat":"Node","pid":1,"tid":1,"dur":{micros},"ts":{within},"ph":"X","name":"conv_kernel_time",
                "args":{{"op_name":"Conv","provider":"CPUExecutionProvider","node_index":"0"}}}}"#
            )
        });
        place.write(file, format!("[{}]", runs.collect::<Vec<_>>().join(",")));
    }
    let answer = place.done(&["compare", "before.json", "after.json"]);
    let longest = answer.stdout.lines().map(|line| line.matches('█').count()).max();
    assert!(matches!(longest, Some(24..=48)), "{}", answer.stdout);
}

/// Operators as `benchmark_model` lists them: the converter fused both convolutions, which had an equal bias.
const LITE: &str = "\
== Run Order ==
\t[node type]\t[first]\t[avg ms]\t[%]\t[cdf%]\t[mem KB]\t[times called]\t[Name]
\tCONV_2D\t3.1\t3.0\t75%\t75%\t0.0\t1\t[b/Relu;b/Bias;b/Conv2D]:0
\tCONV_2D\t1.1\t1.0\t25%\t100%\t0.0\t1\t[a/Relu;b/Bias;a/Conv2D]:1
";

#[test]
fn what_tensorflow_lite_fused_is_brought_together_with_what_it_was_made_of() {
    let place = Place::new();
    place.write("lite.txt", LITE);
    place.write(
        "op_summary_apart.csv",
        op_summary(&[
            ("a/Conv2D", "Conv2D", 1_000.0),
            ("a/Relu", "Relu", 500.0),
            ("b/Conv2D", "Conv2D", 2_000.0),
            ("b/Relu", "Relu", 500.0),
        ]),
    );
    let json = place.done(&["compare", "op_summary_apart.csv", "lite.txt", "--json"]).json();
    assert_eq!(number(&json, "/agreeing/before"), 1.0, "{json}");
    let groups = json["groups"].as_array().expect("groups");
    assert_eq!(groups.len(), 2, "{json}");
    for group in groups {
        let fused = group["after"][0]["name"].as_str().expect("a name");
        let parts = group["before"].as_array().expect("operators");
        let named = parts.iter().filter_map(|part| part["name"].as_str());
        assert_eq!(named.filter(|name| fused.contains(name)).count(), 2, "{group}");
    }
}
