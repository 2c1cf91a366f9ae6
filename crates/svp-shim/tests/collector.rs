//! The library before a stand-in for the boards' runtime. The stand-in ends the program with status
//! 99 when it is called out of order, with something that isn't alive, or with a wrong argument.
#![cfg(target_os = "linux")]

mod build;

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use build::{built, library};
use opscope_svp::{Exports, TableFormat};

struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    /// Runs the program with the library before the runtime.
    fn run(&self, words: &[&str], environment: &[(&str, &str)]) -> Output {
        let mut command = Command::new(built().join("main"));
        command.args(words).current_dir(self.folder.path());
        command.env("LD_PRELOAD", library()).env("OPSCOPE_SVP_OUTPUT", self.folder.path());
        command.env("FAKE_LOG", self.folder.path().join("log"));
        command.envs(environment.iter().copied());
        command.output().unwrap()
    }

    /// Runs the program, which must end well.
    fn done(&self, words: &[&str], environment: &[(&str, &str)]) -> Exports {
        let output = self.run(words, environment);
        assert!(output.status.success(), "{:?} {}", output.status, String::from_utf8_lossy(&output.stderr));
        assert_eq!(String::from_utf8_lossy(&output.stdout), "the program ends with 0\n");
        self.exports()
    }

    fn job(&self) -> PathBuf {
        let mut entries = fs::read_dir(self.folder.path()).unwrap().map(|entry| entry.unwrap().path());
        entries.find(|path| path.file_name().unwrap().to_string_lossy().starts_with("JOB")).expect("a JOB")
    }

    fn exports(&self) -> Exports {
        Exports::open_own_records(&self.job()).unwrap().expect("records")
    }

    fn log(&self) -> Vec<String> {
        let text = fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}

fn notes(exports: &Exports) -> Vec<&str> {
    let noted = exports.losses.rows().iter().filter(|loss| loss.kind.name() == "noted-by-collector");
    noted.map(|loss| loss.place.as_str()).collect()
}

#[test]
fn calls_and_layers_are_recorded_and_the_runtime_is_called_in_the_guides_order() {
    let place = Place::new();
    let exports = place.done(&[], &[]);
    let expected = [
        "init 0",
        "load 1",
        "create_config 0",
        "subscribe 1",
        "execute 1",
        "execute 1",
        "execute 1",
        "unload 1",
        "unsubscribe 1",
        "destroy_config 0",
        "finalize 0",
    ];
    assert_eq!(place.log(), expected);

    let calls = &exports.calls[0].content;
    let names: Vec<&str> = calls.iter().map(|call| &*call.name).collect();
    let execute = "svp_acl_mdl_execute";
    let load = "svp_acl_mdl_load_from_mem";
    assert_eq!(
        names,
        [
            "svp_acl_init",
            "svp_acl_rt_set_device",
            load,
            load,
            execute,
            execute,
            execute,
            "svp_acl_mdl_unload",
            "svp_acl_rt_reset_device",
            "svp_acl_finalize"
        ]
    );
    assert!(calls[2].duration.as_micros() >= 2000.0, "{:?}", calls[2]);
    assert_eq!((&*calls[2].mode, &*calls[1].mode, &*calls[0].mode), ("ACL_MODEL", "ACL_RTS", "ACL_OTHERS"));

    let layers = &exports.layers[0].content;
    assert_eq!(layers.len(), 12);
    let of_inference: Vec<(&str, u64)> = layers[..5].iter().map(|run| (&*run.name, run.task)).collect();
    let four = [("layer_0", 0), ("layer_1_fused+relu_1", 1), ("layer_2", 2), ("layer_3", 3), ("layer_0", 0)];
    assert_eq!(of_inference, four);
    assert!(layers.iter().all(|run| run.duration.as_micros() >= 50.0));
    assert_eq!(exports.losses.rows(), []);
    // All files are marked as complete, and others can't read them.
    let data = place.job().join("data");
    let names: Vec<String> =
        fs::read_dir(&data).unwrap().map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(names.iter().filter(|name| name.ends_with(".done")).count(), names.len() / 2, "{names:?}");
    use std::os::unix::fs::PermissionsExt;
    assert_eq!(fs::metadata(&data).unwrap().permissions().mode() & 0o007, 0);
    let name = place.job().file_name().unwrap().to_string_lossy().into_owned();
    assert!(name.len() == 32 && name.chars().all(|c| c.is_ascii_uppercase()), "{name}");
}

#[test]
fn what_was_recorded_is_exported_as_the_guides_tables_with_gaps_where_nothing_is_known() {
    let place = Place::new();
    let exports = Exports::from_trace(&place.done(&[], &[]).to_trace());
    let out = tempfile::tempdir().unwrap();
    exports.write_summary(out.path(), TableFormat::Csv).unwrap();
    exports.write_timeline(out.path()).unwrap();
    let read = |name: &str| {
        fs::read_to_string(out.path().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    };
    let calls = read("summary/acl_statistic_0_1_1.csv");
    assert!(
        calls
            .lines()
            .any(|line| line.contains(",model,svp_acl_mdl_execute,") && line.split(',').nth(6) == Some("3")),
        "{calls}"
    );
    let layers = read("summary/op_summary_0.model.1.1.3.2.NA.NA.csv");
    let row = layers.lines().find(|line| line.starts_with("2,layer_2,layer_2,Softplus,")).expect(&layers);
    assert_eq!(row.split(',').filter(|cell| *cell == "N/A").count(), 12, "{row}");
    assert!(layers.lines().last().unwrap().starts_with("-,-,-,-,"));
    let totals = read("summary/op_statistic_0_1_3_1.csv");
    assert_eq!(totals.lines().count(), 5, "{totals}");
    assert!(read("timeline/task_time_0.model.1.1.json").contains("layer_1_fused+relu_1"));
    assert!(read("timeline/acl_0.model.1.1.json").contains("svp_acl_mdl_load_from_mem"));
}

#[test]
fn two_models_are_told_apart_and_many_layers_come_through_the_pipe_whole() {
    let place = Place::new();
    let exports = place.done(&["two"], &[("FAKE_LAYERS", "700")]);
    assert_eq!(exports.layers.len(), 2);
    for sheet in &exports.layers {
        assert_eq!(sheet.content.len(), 2100);
        assert_eq!(sheet.content.iter().filter(|run| run.task == 0).count(), 3);
        assert_eq!(sheet.content.iter().map(|run| run.task).max(), Some(699));
    }
}

#[test]
fn a_program_that_forgets_to_unload_is_unsubscribed_before_the_runtime_ends() {
    let place = Place::new();
    let exports = place.done(&["forgets", "two"], &[]);
    assert_eq!(exports.layers.len(), 2);
    let log = place.log();
    let at =
        |word: &str| log.iter().position(|line| line == word).unwrap_or_else(|| panic!("{word}: {log:?}"));
    assert!(at("unsubscribe 1") < at("finalize 0") && at("unsubscribe 2") < at("finalize 0"));
}

#[test]
fn without_the_last_call_or_when_the_program_dies_the_rest_can_be_read() {
    for word in ["unfinished", "dies"] {
        let place = Place::new();
        let output = place.run(&[word], &[]);
        assert_eq!(output.status.success(), word == "unfinished", "{word}: {output:?}");
        let exports = place.exports();
        assert_eq!(exports.layers[0].content.len(), 12, "{word}");
        let problems = opscope_svp::Job::open(&place.job()).unwrap().problems();
        assert!(problems.iter().any(|text| text.contains("svp_acl_finalize()")), "{word}: {problems:?}");
    }
}

#[test]
fn a_refused_subscription_leaves_the_calls_and_says_why() {
    let place = Place::new();
    let exports = place.done(&[], &[("FAKE_REFUSES", "1")]);
    assert_eq!((exports.layers.len(), exports.calls[0].content.len()), (0, 10));
    let notes = notes(&exports);
    assert!(notes[0].contains("100007") && notes[0].contains("--online_model_type=2"), "{notes:?}");
}

#[test]
fn the_boards_own_profiler_and_the_programs_own_subscription_come_first() {
    let place = Place::new();
    fs::write(place.folder.path().join("acl.json"), "{\"profiler\": {\"switch\" : \"on\"}}").unwrap();
    let exports = place.done(&["acl.json"], &[]);
    assert!(notes(&exports)[0].contains("acl.json"));
    assert!(place.log().iter().all(|line| !line.starts_with("subscribe")));

    let place = Place::new();
    let exports = place.done(&["own-profiler"], &[]);
    assert!(notes(&exports)[0].contains("own profiler"), "{:?}", exports.losses);

    let place = Place::new();
    let exports = place.done(&["own-subscription"], &[]);
    assert!(notes(&exports)[0].contains("subscribes to its models itself"), "{:?}", exports.losses);
    let subscribed = place.log().iter().filter(|line| *line == "subscribe 1").count();
    assert_eq!(subscribed, 2, "ours gave way to the program's: {:?}", place.log());
}

#[test]
fn a_model_that_is_never_executed_leaves_calls_and_no_layers() {
    let place = Place::new();
    let exports = place.done(&["idle"], &[]);
    assert_eq!((exports.layers.len(), exports.calls.len()), (0, 1));
}

#[test]
fn layers_by_another_clock_are_brought_to_that_of_the_calls() {
    let place = Place::new();
    let exports = place.done(&[], &[("FAKE_OTHER_CLOCK", "1")]);
    let mut kinds = exports.losses.rows().iter().map(|loss| loss.kind.name());
    assert!(kinds.any(|kind| kind == "other-clock"), "{:?}", exports.losses);
    let execute = exports.calls[0].content.iter().find(|call| call.name == "svp_acl_mdl_execute").unwrap();
    assert_eq!(exports.layers[0].content[0].start, execute.start);
}

#[test]
fn without_a_folder_the_library_only_hands_calls_on() {
    let place = Place::new();
    let output = place.run(&[], &[("OPSCOPE_SVP_OUTPUT", "")]);
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    assert_eq!(fs::read_dir(place.folder.path()).unwrap().count(), 1);
    let output = place.run(&[], &[("OPSCOPE_SVP_OUTPUT", "/proc/nowhere")]);
    assert!(output.status.success(), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("nothing is recorded"), "{output:?}");
}

/// Were the stand-in blind, the tests above would prove nothing.
#[test]
fn the_stand_in_notices_what_is_out_of_order() {
    let place = Place::new();
    let source = r#"
        #include <stdint.h>
        #include <stdlib.h>
        int svp_acl_init(const char *); int svp_acl_finalize(void);
        int svp_acl_mdl_load_from_mem(const void *, unsigned long, uint32_t *);
        int svp_acl_mdl_execute(uint32_t, const void *, const void *);
        void *svp_acl_prof_create_subscribe_config(int8_t, int, const void *);
        int svp_acl_prof_model_subscribe(uint32_t, const void *);
        int svp_acl_prof_model_unsubscribe(uint32_t);
        int svp_acl_prof_destroy_subscribe_config(const void *);
        int pipe(int *); int close(int);
        int main(int count, char **words) {
            int which = atoi(words[1]), ends[2]; uint32_t id; void *config;
            if (which == 0) svp_acl_finalize();
            svp_acl_init(0); svp_acl_mdl_load_from_mem("m", 1, &id);
            if (pipe(ends)) return 1;
            if (which == 1) svp_acl_prof_create_subscribe_config(1, 0, &ends[0]);
            config = svp_acl_prof_create_subscribe_config(1, 0, &ends[1]);
            if (which == 2) svp_acl_mdl_execute(id, &id, &id);
            svp_acl_prof_model_subscribe(id, config);
            if (which == 3) svp_acl_prof_destroy_subscribe_config(config);
            if (which == 4) { close(ends[1]); svp_acl_mdl_execute(id, &id, &id); }
            if (which == 5) svp_acl_finalize();
            if (which == 6) svp_acl_prof_model_subscribe(id, config);
            svp_acl_prof_model_unsubscribe(id);
            if (which == 7) svp_acl_prof_model_unsubscribe(id);
            if (which == 8) svp_acl_finalize();
            svp_acl_prof_destroy_subscribe_config(config);
            return svp_acl_finalize();
        }"#;
    let file = place.folder.path().join("wrong.c");
    fs::write(&file, source).unwrap();
    let program = place.folder.path().join("wrong");
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let mut command = Command::new(compiler);
    command.arg("-o").arg(&program).arg(&file).arg(format!("-L{}", built().display())).arg("-lsvp_acl");
    assert!(command.arg(format!("-Wl,-rpath,{}", built().display())).status().unwrap().success());
    let status = |which: i32| Command::new(&program).arg(which.to_string()).output().unwrap().status.code();
    assert_eq!(status(9), Some(0));
    for which in 0..9 {
        assert_eq!(status(which), Some(99), "mistake {which}");
    }
}

#[test]
fn the_library_exports_the_functions_that_it_stands_before_and_nothing_else() {
    let answer = Command::new("nm").args(["-D", "--defined-only", "--format=posix"]).arg(library()).output();
    let answer = answer.expect("nm is installed with the compiler");
    assert!(answer.status.success(), "{answer:?}");
    let listed = String::from_utf8(answer.stdout).unwrap();
    let mut exported: Vec<&str> = listed.lines().filter_map(|line| line.split(' ').next()).collect();
    exported.sort_unstable();
    let expected = [
        "svp_acl_finalize",
        "svp_acl_init",
        "svp_acl_mdl_execute",
        "svp_acl_mdl_execute_async",
        "svp_acl_mdl_load_from_mem",
        "svp_acl_mdl_unload",
        "svp_acl_prof_init",
        "svp_acl_prof_model_subscribe",
        "svp_acl_rt_free",
        "svp_acl_rt_malloc",
        "svp_acl_rt_malloc_cached",
        "svp_acl_rt_mem_flush",
        "svp_acl_rt_mem_invalidate",
        "svp_acl_rt_reset_device",
        "svp_acl_rt_set_device",
        "svp_acl_rt_synchronize_device",
        "svp_acl_rt_synchronize_stream",
    ];
    assert_eq!(exported, expected);
}
