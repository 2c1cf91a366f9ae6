//! Real programs that mark themselves: written in C, compiled here, and collected from through the
//! calls of acl.prof, or annotated with mstx.

#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};
use std::process::Command;

use opscope_cann_raw::Record;
use opscope_cann_raw::additional::Tx;
use opscope_testing::companions;
use opscope_testing::programs::output_in_time;

/// The library, which lies beside the test or one directory above.
fn library() -> PathBuf {
    let test = std::env::current_exe().expect("the test's own path");
    let mut folders = test.ancestors().skip(1).take(2).map(|folder| folder.join("libopscope_mark.so"));
    folders.find(|path| path.exists()).expect("the library is built with its tests")
}

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary directory"))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// Compiles a program; `None` (and a word about it) where there is no compiler.
    fn compile(&self, source: &str, link: bool) -> Option<PathBuf> {
        let (file, program) = (self.path().join("program.c"), self.path().join("program"));
        std::fs::write(&file, source).expect("a file");
        let library = library();
        let folder = library.parent().expect("a directory");
        let mut compiler = Command::new("cc");
        compiler.arg("-O1").arg("-pthread").arg(&file).arg("-o").arg(&program);
        compiler.arg("-I").arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("include"));
        if link {
            compiler.arg("-L").arg(folder).arg("-lopscope_mark");
            compiler.arg(format!("-Wl,-rpath,{}", folder.display()));
        }
        let output = companions::output(compiler.arg("-ldl"))?;
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Some(program)
    }

    /// All records below the place, by begin.
    fn records(&self) -> Vec<Tx> {
        let mut records = Vec::new();
        for data in data_of(self.path()) {
            for entry in std::fs::read_dir(data).expect("the data").flatten() {
                let name = entry.file_name().to_string_lossy().into_owned();
                if name.starts_with(opscope_recorder::sink::MARKS) && !name.ends_with(".done") {
                    let bytes = std::fs::read(entry.path()).expect("a slice");
                    assert_eq!(bytes.len() % Tx::SIZE, 0, "{name} holds whole records");
                    records.extend(bytes.chunks(Tx::SIZE).filter_map(Tx::read));
                }
            }
        }
        records.sort_by_key(|record| record.start);
        records
    }

    fn texts(&self) -> Vec<String> {
        self.records().iter().map(text).collect()
    }

    /// The dictionary of the domains.
    fn names(&self) -> String {
        let mut all = String::new();
        for data in data_of(self.path()) {
            for entry in std::fs::read_dir(data).expect("the data").flatten() {
                if entry.file_name().to_string_lossy().contains("hash_dic") {
                    all += &std::fs::read_to_string(entry.path()).expect("text");
                }
            }
        }
        all
    }
}

fn data_of(place: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(place).expect("the place").flatten();
    entries.map(|entry| entry.path().join("host/data")).filter(|data| data.is_dir()).collect()
}

fn text(record: &Tx) -> String {
    let end = record.message.iter().position(|byte| *byte == 0).expect("a zero behind the text");
    String::from_utf8(record.message[..end].to_vec()).expect("UTF-8")
}

/// A program that profiles itself, around what `body` does.
fn profiling_itself(body: &str) -> String {
    format!(
        r#"
#define OPSCOPE_ACL_PROF
#define _GNU_SOURCE
#include <opscope_mark.h>
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile int handled;
static void marking(int signal) {{
    (void)signal;
    opscope_mark("a mark of a signal handler, whose text is longer than a cache line has room for");
    opscope_push("handler");
    opscope_pop();
    handled++;
}}
static void *watch(void *argument) {{
    sleep(60);
    _exit(99);
    return argument;
}}
static void *work(void *argument) {{
    for (int i = 0; i < 1000; i++) {{ opscope_push("work"); opscope_pop(); }}
    return argument;
}}
int main(int count, char **words) {{
    (void)work; (void)watch; (void)marking; (void)count;
    const char *path = words[1];
    assert(aclprofCreateStamp() == NULL);
    assert(opscope_push("before") == 0 && opscope_mark_enabled() == 0);
    assert(aclprofInit(path, strlen(path)) == 0);
    assert(aclprofInit(path, strlen(path)) != 0);
    void *config = aclprofCreateConfig(NULL, 0, 0, NULL, 0x80);
    assert(config && aclprofStart(config) == 0 && opscope_mark_enabled() == 1);
    {body}
    assert(aclprofStop(config) == 0 && aclprofDestroyConfig(config) == 0);
    assert(aclprofDestroyConfig(config) != 0);
    assert(aclprofFinalize() == 0);
    assert(aclprofFinalize() != 0);
    return 0;
}}
"#
    )
}

fn run(place: &Place, program: &Path) -> std::process::Output {
    output_in_time(Command::new(program).arg(place.path())).expect("the program starts")
}

fn done(place: &Place, program: &Path) {
    let output = run(place, program);
    assert!(output.status.success(), "{:?} {}", output.status, String::from_utf8_lossy(&output.stderr));
}

#[test]
fn the_header_compiles_in_every_c_and_in_cpp() {
    let place = Place::new();
    let source = "#define OPSCOPE_ACL_PROF\n#include <opscope_mark.h>\n
int main(void) { opscope_push(\"x\"); return (int)opscope_pop(); }\n";
    for (compiler, file, standards) in [
        ("cc", "header.c", &["c89", "c99", "c11", "c17"][..]),
        ("c++", "header.cpp", &["c++98", "c++11", "c++17"]),
    ] {
        let file = place.path().join(file);
        std::fs::write(&file, source).expect("a file");
        for standard in standards {
            let mut command = Command::new(compiler);
            command.arg(format!("-std={standard}"));
            command.args(["-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only"]).arg(&file);
            command.arg("-I").arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("include"));
            let Some(output) = companions::output(&mut command) else { break };
            assert!(output.status.success(), "{standard}: {}", String::from_utf8_lossy(&output.stderr));
        }
    }
}

#[test]
fn stamps_answer_and_record_as_the_reference_has_it() {
    let place = Place::new();
    let source = profiling_itself(
        r#"
    char text[200]; memset(text, 'x', sizeof text);
    void *stamp = aclprofCreateStamp();
    assert(stamp);
    assert(aclprofSetStampTraceMessage(stamp, text, 128) != 0);
    assert(aclprofSetStampTraceMessage(stamp, text, 127) == 0);
    assert(aclprofSetStampTraceMessage(stamp, "infer", 5) == 0);
    unsigned long payload = 42;
    assert(aclprofSetStampCategory(stamp, 7) == 0 && aclprofSetStampPayload(stamp, 1, &payload) == 0);
    assert(aclprofPop() != 0);
    assert(aclprofPush(stamp) == 0 && aclprofPush(stamp) == 0);
    assert(aclprofPop() == 0 && aclprofPop() == 0 && aclprofPop() != 0);
    assert(aclprofMark(stamp) == 0);
    unsigned range = 0;
    assert(aclprofRangeStart(stamp, &range) == 0 && range != 0);
    assert(aclprofRangeStop(range) == 0 && aclprofRangeStop(range) != 0 && aclprofRangeStop(99) != 0);
    assert(aclprofMarkEx("ex", 2, config) == 0 && aclprofMarkEx("ex", 2, NULL) != 0);
    assert(aclprofMarkEx(text, 156, config) != 0);
    aclprofDestroyStamp(stamp);
    aclprofDestroyStamp(stamp);
    assert(aclprofPush(stamp) != 0 && aclprofMark(&payload) != 0);
"#,
    );
    let Some(program) = place.compile(&source, true) else { return };
    done(&place, &program);
    let records = place.records();
    let types: Vec<u32> = records.iter().map(|record| record.event_type).collect();
    assert_eq!(types, [1, 1, 0, 2, 3]);
    assert_eq!(place.texts(), ["infer", "infer", "infer", "infer", "ex"]);
    assert!(records[..4].iter().all(|it| (it.category, it.payload, it.info_type) == (7, 42, 0)));
    assert_eq!(records[4].info_type, 1);
    assert!(records[0].end >= records[1].end && records[1].end >= records[1].start);
    assert!(place.names().lines().any(|line| line.ends_with(":default")));
    let host = data_of(place.path())[0].parent().expect("host").to_owned();
    for name in ["info.json", "sample.json", "start_info", "end_info", "host_start.log"] {
        assert!(host.join(name).is_file(), "{name} is missing");
    }
}

/// Forty threads that mark while a child is forked that marks as well.
const FORKING: &str = r#"
    pthread_t threads[40];
    for (int i = 0; i < 40; i++) assert(pthread_create(threads + i, NULL, work, NULL) == 0);
    opscope_push("around the fork");
    pid_t child = fork();
    if (child == 0) {
        work(NULL);
        pthread_t thread;
        assert(pthread_create(&thread, NULL, work, NULL) == 0);
        pthread_join(thread, NULL);
        exit(0);
    }
    int status = 0;
    assert(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    opscope_pop();
    for (int i = 0; i < 40; i++) pthread_join(threads[i], NULL);
"#;

/// The entering of handlers of a fork, which takes long here.
const SLOW_HANDLERS: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <unistd.h>
typedef void (*handler)(void);
int __register_atfork(handler before, handler parent, handler child, void *library) {
    int (*real)(handler, handler, handler, void *);
    *(void **)&real = dlsym(RTLD_NEXT, "__register_atfork");
    usleep(50000);
    return real(before, parent, child, library);
}
"#;

#[test]
fn many_threads_and_a_forked_child_lose_nothing() {
    loses_nothing(&profiling_itself(FORKING));
}

#[test]
fn a_child_that_is_forked_when_recording_has_just_begun_waits_for_nothing_and_loses_nothing() {
    loses_nothing(&(SLOW_HANDLERS.to_owned() + &profiling_itself(FORKING)));
}

/// Runs a program with [`FORKING`] in it.
fn loses_nothing(source: &str) {
    let place = Place::new();
    let Some(program) = place.compile(source, true) else { return };
    done(&place, &program);
    let texts = place.texts();
    assert_eq!(texts.iter().filter(|text| *text == "work").count(), 42_000);
    assert_eq!(texts.iter().filter(|text| *text == "around the fork").count(), 1);
    let mut processes: Vec<u32> = place.records().iter().map(|record| record.process).collect();
    processes.sort_unstable();
    processes.dedup();
    assert_eq!(processes.len(), 2);
}

#[test]
fn signal_handlers_that_mark_wait_for_nothing_and_lose_nothing() {
    let place = Place::new();
    let source = profiling_itself(
        r#"
    pthread_t watching;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    assert(pthread_create(&watching, NULL, watch, NULL) == 0);
    pthread_sigmask(SIG_SETMASK, &none, NULL);
    signal(SIGALRM, marking);
    opscope_mark("begin");
    struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &often, NULL);
    for (int i = 0; i < 1000000; i++) { opscope_push("main"); opscope_pop(); }
    setitimer(ITIMER_REAL, &never, NULL);
    printf("%d", handled);
"#,
    );
    let Some(program) = place.compile(&source, true) else { return };
    let output = run(&place, &program);
    assert!(output.status.success(), "{:?} {}", output.status, String::from_utf8_lossy(&output.stderr));
    let handled: usize = String::from_utf8_lossy(&output.stdout).parse().expect("a number");
    let texts = place.texts();
    let count = |wanted: &str| texts.iter().filter(|text| text.starts_with(wanted)).count();
    assert!(handled > 0, "no signal came");
    assert_eq!(["main", "handler", "a mark of a signal"].map(count), [1_000_000, handled, handled]);
}

#[test]
fn a_killed_program_loses_less_than_a_second_and_the_rest_reads_cleanly() {
    let place = Place::new();
    let source = profiling_itself(
        r#"
    for (int i = 0; i < 3000; i++) {
        char text[32]; snprintf(text, sizeof text, "%d", i);
        opscope_mark(text);
        usleep(1000);
    }
    kill(getpid(), SIGKILL);
"#,
    );
    let Some(program) = place.compile(&source, true) else { return };
    assert!(!run(&place, &program).status.success());
    let texts = place.texts();
    let expected: Vec<String> = (0..texts.len()).map(|number| number.to_string()).collect();
    assert_eq!(texts, expected, "none is missing in the middle");
    // A mark takes a millisecond at least, so a second holds a thousand at most.
    assert!(texts.len() >= 2_000, "only {} of 3000 are there", texts.len());
}

#[test]
fn a_program_that_closes_all_its_descriptors_keeps_its_own_files_clean() {
    let place = Place::new();
    let source = profiling_itself(
        r#"
    opscope_mark("first");
    usleep(400000);
    for (int i = 3; i < 256; i++) close(i);
    char name[4096]; snprintf(name, sizeof name, "%s/own", path);
    FILE *own = fopen(name, "w");
    assert(own);
    for (int i = 0; i < 5000; i++) opscope_mark("later");
    usleep(400000);
    fputs("mine", own);
    fclose(own);
"#,
    );
    let Some(program) = place.compile(&source, true) else { return };
    done(&place, &program);
    assert_eq!(std::fs::read_to_string(place.path().join("own")).ok().as_deref(), Some("mine"));
    assert_eq!(place.records().len(), 5_001);
}

#[test]
fn odd_texts_are_recorded_in_a_form_that_reads_everywhere() {
    let place = Place::new();
    let source = profiling_itself(
        r#"
    char text[1000]; memset(text, 'l', sizeof text); text[999] = 0;
    opscope_mark(text);
    opscope_mark("caf\xe9");
    opscope_mark("");
    opscope_mark(NULL);
    opscope_push(text); opscope_pop();
    opscope_pop();
    assert(opscope_range_end(12345) == 0);
    opscope_mark_in(opscope_domain("my domain"), "in a domain", 3, 9);
"#,
    );
    let Some(program) = place.compile(&source, true) else { return };
    done(&place, &program);
    let records = place.records();
    // 999 letters take 155 in each of six records and 69 in a seventh, all of one number.
    let long: Vec<&Tx> = records.iter().filter(|it| text(it).starts_with('l')).collect();
    assert_eq!(long.len(), 14);
    for first in [long[0], long[7]] {
        let segments: Vec<&&Tx> = long.iter().filter(|it| it.mark == first.mark).collect();
        let numbers: Vec<u16> = segments.iter().map(|it| it.segment).collect();
        assert_eq!(numbers, [0, 1, 2, 3, 4, 5, 6]);
        assert_eq!(segments.iter().map(|it| text(it).len()).sum::<usize>(), 999);
        assert!(segments.iter().all(|it| it.info_type == 1 && it.start == first.start));
    }
    let texts = place.texts();
    assert!(texts.contains(&"caf\u{fffd}".to_owned()));
    assert_eq!(texts.iter().filter(|text| text.is_empty()).count(), 2);
    let named = records.iter().find(|it| text(it) == "in a domain").expect("the mark");
    assert!(place.names().contains(&format!("{}:my domain\n", named.domain)));
}

/// The mstx header in its shortest form: tables of functions that a library named by
/// `MSTX_INJECTION_PATH` fills in.
const MSTX_PROGRAM: &str = r#"
#include <assert.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
typedef void (*Function)(void);
typedef Function **Table;
static Function mark, start, end, create, destroy, domain_mark, domain_start, domain_end, beyond;
static Function *core[] = {0, &mark, &start, &end, &beyond, 0};
static Function *domains[] = {0, &create, &destroy, &domain_mark, &domain_start, &domain_end, 0};
static int get_table(int module, Table *table, unsigned *size) {
    if (module == 1) { *table = core; *size = 5; return 0; }
    if (module == 2) { *table = domains; *size = 6; return 0; }
    return 1;
}
int main(void) {
    void *library = dlopen(getenv("MSTX_INJECTION_PATH"), RTLD_NOW | RTLD_LOCAL);
    assert(library);
    int (*init)(int (*)(int, Table *, unsigned *)) = dlsym(library, "InitInjectionMstx");
    assert(init && init(NULL) != 0 && init(get_table) == 0);
    assert(mark && start && end && create && domain_end && !beyond);
    int (*prof_init)(const char *, size_t) = dlsym(library, "aclprofInit");
    void *(*config)(void *, unsigned, int, void *, uint64_t) = dlsym(library, "aclprofCreateConfig");
    int (*prof_start)(void *) = dlsym(library, "aclprofStart");
    int (*finalize)(void) = dlsym(library, "aclprofFinalize");
    /* A domain made before anything is recorded. */
    void *early = ((void *(*)(const char *))create)("early");
    assert(((uint64_t (*)(const char *, void *))start)("off", NULL) == 0);
    const char *path = getenv("PLACE");
    assert(prof_init(path, strlen(path)) == 0 && prof_start(config(0, 0, 0, 0, 0x80)) == 0);
    ((void (*)(const char *, void *))mark)("a mark", NULL);
    uint64_t range = ((uint64_t (*)(const char *, void *))start)("a range", NULL);
    assert(range);
    usleep(2000);
    ((void (*)(uint64_t))end)(range);
    assert(((void *(*)(const char *))create)("=formula") == NULL);
    uint64_t other = ((uint64_t (*)(void *, const char *, void *))domain_start)(early, "in early", NULL);
    ((void (*)(void *, uint64_t))domain_end)(early, other);
    ((void (*)(void *, const char *, void *))domain_mark)(early, "on a stream", &range);
    return finalize();
}
"#;

#[test]
fn a_program_annotated_with_mstx_is_recorded_unchanged() {
    let place = Place::new();
    let Some(program) = place.compile(MSTX_PROGRAM, false) else { return };
    let mut command = Command::new(program);
    command.env("MSTX_INJECTION_PATH", library()).env("PLACE", place.path());
    let output = output_in_time(&mut command).expect("the program starts");
    assert!(output.status.success(), "{:?} {}", output.status, String::from_utf8_lossy(&output.stderr));
    assert_eq!(place.texts(), ["a mark", "a range", "in early", "on a stream"]);
    let records = place.records();
    assert!(records.iter().all(|record| record.info_type == 1 && record.mark != 0));
    assert_eq!(records.iter().map(|it| it.event_type).collect::<Vec<_>>(), [0, 2, 2, 3]);
    assert!(place.names().contains(&format!("{}:early\n", records[2].domain)));
    assert!(place.names().contains(&format!("{}:default\n", records[0].domain)));
}

#[test]
fn only_the_domains_of_mstx_that_are_wanted_are_recorded() {
    for (variable, value, expected) in [
        ("OPSCOPE_MARK_INCLUDE", "other, early", &["in early", "on a stream"][..]),
        ("OPSCOPE_MARK_EXCLUDE", "early", &["a mark", "a range"]),
        ("OPSCOPE_MARK_EXCLUDE", "default", &["in early", "on a stream"]),
    ] {
        let place = Place::new();
        // The program insists on a number for its range in the default domain.
        let source = MSTX_PROGRAM.replace("    assert(range);\n", "");
        let Some(program) = place.compile(&source, false) else { return };
        let mut command = Command::new(program);
        command.env("MSTX_INJECTION_PATH", library()).env("PLACE", place.path()).env(variable, value);
        let output = output_in_time(&mut command).expect("the program starts");
        assert!(output.status.success(), "{:?} {}", output.status, String::from_utf8_lossy(&output.stderr));
        assert_eq!(place.texts(), expected, "{variable}={value}");
    }
}

/// The header of NVTX in its shortest form: a table of tables, asked for by the library that
/// `NVTX_INJECTION64_PATH` names.
const NVTX_PROGRAM: &str = r#"
#include <assert.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>
typedef void (*Function)(void);
typedef Function **Table;
static Function calls[2][16];
static Function *tables[2][17];
static int get_table(int module, Table *table, unsigned *size) {
    if (module != 1 && module != 5) return 0;
    *table = tables[module == 5]; *size = 16;
    return 1;
}
static struct { size_t size; int (*get)(int, Table *, unsigned *); } callbacks = {sizeof callbacks, get_table};
static const void *export_table(uint32_t id) { return id == 1 ? &callbacks : NULL; }
typedef struct {
    uint16_t version, size; uint32_t category; int32_t color_type; uint32_t color;
    int32_t payload_type, reserved; uint64_t payload; int32_t message_type; const void *message;
} Attributes;
int main(void) {
    for (int module = 0; module < 2; module++)
        for (int slot = 1; slot < 16; slot++) tables[module][slot] = &calls[module][slot];
    void *library = dlopen(getenv("NVTX_INJECTION64_PATH"), RTLD_NOW | RTLD_LOCAL);
    assert(library);
    int (*init)(const void *(*)(uint32_t)) = dlsym(library, "InitializeInjectionNvtx2");
    assert(init && init(NULL) == 0 && init(export_table) == 1);
    int (*prof_init)(const char *, size_t) = dlsym(library, "aclprofInit");
    void *(*config)(void *, unsigned, int, void *, uint64_t) = dlsym(library, "aclprofCreateConfig");
    int (*prof_start)(void *) = dlsym(library, "aclprofStart");
    int (*finalize)(void) = dlsym(library, "aclprofFinalize");
    Function *core = calls[0], *domains = calls[1];
    assert(((int (*)(const char *))core[9])("nobody records") == -1);
    const char *path = getenv("PLACE");
    assert(prof_init(path, strlen(path)) == 0 && prof_start(config(0, 0, 0, 0, 0x80)) == 0);
    ((void (*)(const char *))core[2])("a mark");
    ((void (*)(const wchar_t *))core[3])(L"wide");
    assert(((int (*)(const char *))core[9])("outer") == 0);
    assert(((int (*)(const char *))core[9])("inner") == 1);
    assert(((int (*)(void))core[11])() == 1);
    uint64_t range = ((uint64_t (*)(const char *))core[5])("free");
    void *domain = ((void *(*)(const char *))domains[12])("mine");
    void *text = ((void *(*)(void *, const char *))domains[10])(domain, "registered");
    Attributes attributes = {3, sizeof attributes, 4, 0, 0, 1, 0, 99, 3, text};
    ((int (*)(void *, const Attributes *))domains[4])(domain, &attributes);
    assert(((int (*)(void))core[11])() >= 0);
    ((int (*)(void *))domains[5])(domain);
    ((void (*)(uint64_t))core[7])(range);
    ((void (*)(const Attributes *))core[1])(&attributes);
    ((void (*)(const Attributes *))core[1])(NULL);
    return finalize();
}
"#;

#[test]
fn a_c_program_annotated_with_nvtx_is_recorded_unchanged() {
    let place = Place::new();
    let Some(program) = place.compile(NVTX_PROGRAM, false) else { return };
    let mut command = Command::new(program);
    command.env("NVTX_INJECTION64_PATH", library()).env("PLACE", place.path());
    let output = output_in_time(&mut command).expect("the program starts");
    assert!(output.status.success(), "{:?} {}", output.status, String::from_utf8_lossy(&output.stderr));
    let mut texts = place.texts();
    texts.sort();
    assert_eq!(texts, ["", "a mark", "free", "inner", "outer", "registered", "registered", "wide"]);
    let records = place.records();
    let in_domain = records.iter().find(|it| it.domain != 0).expect("the range of the domain");
    assert_eq!((in_domain.event_type, in_domain.category, in_domain.payload), (1, 4, 99));
    assert!(place.names().contains(&format!("{}:mine\n", in_domain.domain)));
    // A pop ends the innermost range of its own domain.
    let outer = records.iter().find(|it| text(it) == "outer").expect("the range");
    assert!(outer.end < in_domain.end && outer.start < in_domain.start);
}
