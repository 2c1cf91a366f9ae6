//! `opscope collect` on programs that fail, misbehave or have nowhere to write: the program is never
//! stopped for it, and what was lost is said.

#![cfg(target_os = "linux")]

mod common;

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::{Answer, Place};
use opscope_testing::companions;
use opscope_testing::small_disk::SmallDisk;

/// All texts of the marks of a profile, and the types of their events.
fn marks(profile: &Path) -> Vec<(u32, String)> {
    let mut marks = Vec::new();
    for entry in std::fs::read_dir(profile.join("host/data")).expect("the data").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.contains("msproftx") && !name.ends_with(".done") {
            let bytes = std::fs::read(entry.path()).expect("a slice");
            assert_eq!(bytes.len() % 256, 0, "{name} holds whole records");
            marks.extend(bytes.chunks(256).map(|record| {
                let text = record[100..].split(|byte| *byte == 0).next().unwrap_or_default();
                (u32::from(record[48]), String::from_utf8(text.to_vec()).expect("UTF-8"))
            }));
        }
    }
    marks
}

fn texts(profile: &Path) -> Vec<String> {
    marks(profile).into_iter().map(|(_, text)| text).collect()
}

fn profile_of(answer: &Answer) -> PathBuf {
    let path = PathBuf::from(answer.stdout.lines().last().unwrap_or_default());
    assert!(path.join("host/info.json").is_file(), "{}\n{}", answer.stdout, answer.stderr);
    path
}

fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output();
    output.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

fn package() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python").display().to_string()
}

/// Collects from a Python program that may import opscope, without reading the result.
fn collect_python(place: &Place, options: &[&str], source: &str) -> Option<Answer> {
    let python = companions::python()?.display().to_string();
    let script = place.write("program.py", source).display().to_string();
    let environment = format!("--environment=PYTHONPATH={}", package());
    let mut arguments = vec!["collect", "--no-parse", &environment];
    arguments.extend(options);
    arguments.extend(["--", &python, &script]);
    Some(place.run(&arguments))
}

#[test]
fn programs_that_fork_and_execute_others_are_recorded_in_all_their_processes() {
    let place = Place::new();
    let source = "import os, subprocess, sys, opscope
opscope.mark('parent')
child = os.fork()
if child == 0:
    opscope.mark('child')
    os.execv(sys.executable, [sys.executable, '-c', 'import opscope; opscope.mark(\"executed\")'])
os.waitpid(child, 0)
subprocess.run([sys.executable, '-c', 'import opscope; opscope.mark(\"spawned\")'], check=True)
";
    let Some(answer) = collect_python(&place, &[], source) else { return };
    assert_eq!(answer.status, Some(0), "{}", answer.stderr);
    let mut texts = texts(&profile_of(&answer));
    texts.sort();
    assert_eq!(texts, ["child", "executed", "parent", "spawned"]);
}

#[test]
fn what_is_marked_right_before_a_process_is_gone_is_recorded() {
    let place = Place::new();
    // Workers that are forked end by _exit, and no handler for the end runs.
    let source = "import multiprocessing, os, opscope
def work(number):
    opscope.mark('work %d' % number)
multiprocessing.set_start_method('fork')
workers = [multiprocessing.Process(target=work, args=(number,)) for number in range(3)]
for worker in workers: worker.start()
for worker in workers: worker.join()
for number in range(5000):
    opscope.mark('last')
try:
    os.execv('/there/is/no/such/program', ['program'])
except FileNotFoundError:
    opscope.mark('refused')
os.execlp('sh', 'sh', '-c', 'exit 9')
";
    let Some(answer) = collect_python(&place, &[], source) else { return };
    assert_eq!(answer.status, Some(9), "{}", answer.stderr);
    let mut texts = texts(&profile_of(&answer));
    assert_eq!(texts.iter().filter(|text| *text == "last").count(), 5000);
    texts.retain(|text| text != "last");
    texts.sort();
    assert_eq!(texts, ["refused", "work 0", "work 1", "work 2"]);
}

#[test]
fn what_is_marked_right_before_a_process_ends_itself_by_a_signal_is_recorded() {
    let place = Place::new();
    // Python sends itself the signal once more after it has cleaned up.
    let ways = [
        ("raise KeyboardInterrupt", 130),
        ("os.kill(os.getpid(), signal.SIGTERM)", 143),
        ("signal.raise_signal(signal.SIGUSR1)", 138),
        ("ctypes.CDLL(None).quick_exit(4)", 4),
        ("os.abort()", 134),
    ];
    for (way, status) in ways {
        let source = format!(
            "import ctypes, opscope, os, signal
for number in range(300):
    opscope.mark('last')
os.kill(os.getpid(), 0)
{way}
"
        );
        let Some(answer) = collect_python(&place, &[], &source) else { return };
        assert_eq!(answer.status, Some(status), "{way}: {}", answer.stderr);
        assert_eq!(texts(&profile_of(&answer)).len(), 300, "{way}: {}", answer.stderr);
    }
}

#[test]
fn a_command_line_that_cannot_be_parsed_has_the_status_of_opscopes_own_failures() {
    let place = Place::new();
    for arguments in
        [&["collect", "--bogus", "--", "true"][..], &["msprof", "--application=true", "--delay=x"]]
    {
        let answer = place.run(arguments);
        assert_eq!(answer.status, Some(125), "{arguments:?}: {}", answer.stderr);
        assert!(answer.stderr.contains("--help"), "{}", answer.stderr);
    }
    assert_eq!(place.run(&["collect", "--help"]).status, Some(0));
    assert_eq!(place.run(&["analyze", "--bogus"]).status, Some(2));
}

#[test]
fn a_program_finds_closed_what_its_caller_closed() {
    let place = Place::new();
    let opscope = env!("CARGO_BIN_EXE_opscope");
    for (closed, program) in [("<&-", "read line <&0"), (">&-", "echo out"), ("2>&-", "echo out >&2")] {
        let alone = format!("sh -c '{program}' {closed}");
        let collected = format!("{opscope} collect --no-parse -- sh -c '{program}' {closed}");
        let status = |line: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", line]).current_dir(place.path("")).stdin(Stdio::null());
            command.output().expect("a shell").status.code()
        };
        assert_ne!(status(&alone), Some(0), "{alone}");
        assert_eq!(status(&collected), status(&alone), "{collected}");
    }
}

#[test]
fn places_and_programs_that_lead_nowhere_are_named() {
    let place = Place::new();
    std::os::unix::fs::symlink("nowhere", place.path("dangling")).expect("a link");
    let answer = place.run(&["collect", "-o", "dangling", "--", "true"]);
    assert_eq!(answer.status, Some(125));
    assert!(answer.stderr.contains("dangling: this is a symbolic link to something"), "{}", answer.stderr);

    let script = place.write("script", "#!/no/such/interpreter -x\n");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&script, mode).expect("a file");
    let answer = place.run(&["collect", "--", "./script"]);
    assert_eq!(answer.status, Some(126));
    assert!(answer.stderr.contains("names /no/such/interpreter,"), "{}", answer.stderr);

    let answer = place.run(&["collect", "--no-parse", "--delay=60s", "--", "true"]);
    assert_eq!(answer.status, Some(0));
    assert!(answer.stderr.contains("nothing was recorded"), "{}", answer.stderr);
}

#[test]
fn c_programs_become_others_by_any_of_the_calls_for_it() {
    let place = Place::new();
    let source = place.write(
        "become.c",
        r#"#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;
int main(int count, char **words) {
    (void)count;
    void *library = dlopen(getenv("OPSCOPE_MARK_LIBRARY"), RTLD_NOW | RTLD_LOCAL);
    if (!library) return 1;
    void (*mark)(const char *) = (void (*)(const char *))dlsym(library, "opscope_mark");
    char *arguments[] = {"sh", "-c", "exit $((0$A + $1))", "sh", "3", NULL}, *environment[] = {"A=4", NULL};
    int child = vfork();
    if (child == 0) _exit(0);
    mark(words[1]);
    switch (atoi(words[1])) {
        case 0: execl("/bin/sh", "sh", "-c", "exit $(($1 + $2 + $3 + $4 + $5 + $6 + $7))", "sh",
                      "1", "2", "3", "4", "5", "6", "7", (char *)NULL); break;
        case 1: execlp("sh", "sh", "-c", "exit 3", (char *)NULL); break;
        case 2: execle("/bin/sh", "sh", "-c", "exit $A", (char *)NULL, environment); break;
        case 3: execv("/bin/sh", arguments); break;
        case 4: execvp("sh", arguments); break;
        case 5: execve("/bin/sh", arguments, environment); break;
        case 6: execvpe("sh", arguments, environment); break;
        case 7: fexecve(open("/bin/sh", O_RDONLY), arguments, environment); break;
        case 8: _exit(5);
        case 9: _Exit(6);
    }
    return 100;
}
"#,
    );
    let mut compiler = Command::new("cc");
    compiler.arg(&source).arg("-o").arg(place.path("become")).arg("-ldl");
    let Some(compiled) = companions::output(&mut compiler) else { return };
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    for (number, status) in [28, 3, 4, 3, 3, 7, 7, 7, 5, 6].into_iter().enumerate() {
        let answer = place.run(&["collect", "--no-parse", "--", "./become", &number.to_string()]);
        assert_eq!(answer.status, Some(status), "{number}: {}", answer.stderr);
        assert_eq!(texts(&profile_of(&answer)), [number.to_string()], "{}", answer.stderr);
    }
}

#[test]
fn a_killed_program_of_many_threads_loses_less_than_two_megabytes() {
    let place = Place::new();
    let source = place.write(
        "killed.c",
        r#"#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
static void (*mark)(const char *);
static volatile uint64_t *counts;
static void *work(void *number) {
    for (;;) { mark("as fast as it can"); counts[(intptr_t)number]++; }
    return NULL;
}
int main(void) {
    void *library = dlopen(getenv("OPSCOPE_MARK_LIBRARY"), RTLD_NOW);
    int file = open("counts", O_RDWR | O_CREAT, 0644);
    if (!library || ftruncate(file, 4096)) return 1;
    mark = (void (*)(const char *))dlsym(library, "opscope_mark");
    counts = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    pthread_t thread;
    for (intptr_t number = 0; number < 12; number++) pthread_create(&thread, NULL, work, (void *)number);
    usleep(700000);
    kill(getpid(), SIGKILL);
    return 0;
}
"#,
    );
    let mut compiler = Command::new("cc");
    compiler.arg(&source).arg("-o").arg(place.path("killed")).args(["-pthread", "-ldl"]);
    let Some(compiled) = companions::output(&mut compiler) else { return };
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let answer = place.run(&["collect", "--no-parse", "--", "./killed"]);
    assert_eq!(answer.status, Some(137), "{}", answer.stderr);
    let counts = std::fs::read(place.path("counts")).expect("the counts");
    let marked: u64 = counts.chunks_exact(8).map(|it| u64::from_le_bytes(it.try_into().expect("8"))).sum();
    let written = texts(&profile_of(&answer)).len() as u64;
    assert!(marked > 20_000 && marked.saturating_sub(written) * 256 <= 2 << 20, "{written} of {marked}");
}

#[test]
fn a_crash_keeps_its_status_and_what_was_recorded_before() {
    let place = Place::new();
    let source = "import os, time, opscope
opscope.mark('before')
time.sleep(0.6)
os.abort()
";
    let Some(answer) = collect_python(&place, &[], source) else { return };
    assert_eq!(answer.status, Some(134), "{}", answer.stderr);
    assert_eq!(texts(&profile_of(&answer)), ["before"]);
}

#[test]
fn a_program_that_closes_its_descriptors_is_recorded() {
    let place = Place::new();
    let source = "import os, opscope
opscope.mark('one')
os.closerange(3, 1000)
with open('own.txt', 'w') as own:
    for i in range(20000):
        opscope.mark('more')
    own.write('mine')
os.close(2)
";
    let Some(answer) = collect_python(&place, &[], source) else { return };
    assert_eq!(answer.status, Some(0), "{}", answer.stderr);
    assert_eq!(texts(&profile_of(&answer)).len(), 20_001);
    assert_eq!(std::fs::read_to_string(place.path("own.txt")).ok().as_deref(), Some("mine"));
}

#[test]
fn odd_calls_and_texts_are_counted_and_made_readable() {
    let place = Place::new();
    let source = "import opscope
opscope.pop()
opscope.push('never closed')
opscope.range_end(4711)
opscope.mark(b'caf\\xe9')
opscope.mark('=1+1')
opscope.mark('x' * 200, domain='long')
";
    let Some(answer) = collect_python(&place, &[], source) else { return };
    assert_eq!(answer.status, Some(0), "{}", answer.stderr);
    for says in ["2 pops or stops had no push or start", "1 ranges were not closed"] {
        assert!(answer.stderr.contains(says), "no {says:?} in {}", answer.stderr);
    }
    let profile = profile_of(&answer);
    let texts = texts(&profile);
    assert!(texts.contains(&"caf\u{fffd}".to_owned()), "{texts:?}");
    let long: Vec<usize> = texts.iter().filter(|it| it.starts_with('x')).map(String::len).collect();
    assert_eq!(long, [155, 45]);
    place.done(&["export", "summary", &profile.display().to_string()]);
    let folder = profile.join("mindstudio_profiler_output");
    let files = std::fs::read_dir(folder).expect("tables").flatten();
    let table = files.map(|file| file.path()).find(|path| path.to_string_lossy().contains("msprof_tx"));
    let table = std::fs::read_to_string(table.expect("msprof_tx")).expect("text");
    assert!(table.contains(",'=1+1,"), "{table}");
}

#[test]
fn a_program_that_becomes_another_user_runs_on() {
    let place = Place::new();
    if !is_root() {
        return companions::skip("only root can become another user");
    }
    let source = "import os, opscope
opscope.mark('as root')
os.setgid(65534)
os.setuid(65534)
for i in range(5000):
    opscope.mark('as nobody')
print('done')
";
    let Some(answer) = collect_python(&place, &[], source) else { return };
    assert_eq!(answer.status, Some(0), "{}", answer.stderr);
    assert!(answer.stdout.starts_with("done\n"), "{}", answer.stdout);
    let written = texts(&profile_of(&answer)).len();
    // Files that the user may not write are counted and named.
    assert!(written == 5_001 || answer.stderr.contains("marks could not be written"), "{}", answer.stderr);
    // Programs of another user are not disturbed by libraries that they can't read.
    let words = ["setpriv", "--reuid=65534", "--clear-groups", "id"];
    let mut command = place.command(&["collect", "--no-parse", "--"]);
    let output = command.args(words).env_remove("XDG_CACHE_HOME").output().expect("opscope starts");
    let answer = Answer::from(output);
    assert!(!answer.stderr.contains("ld.so"), "{}", answer.stderr);
}

#[test]
fn a_full_disk_stops_the_recording_and_not_the_program() {
    let place = Place::new();
    let Some(small) = SmallDisk::new(place.path("small"), 24) else { return };
    let source = "import time, opscope
for i in range(150000):
    opscope.mark('fills the disk')
time.sleep(0.5)
print('done')
";
    let answer = collect_python(&place, &["--output=small"], source);
    drop(small);
    let Some(answer) = answer else { return };
    assert_eq!(answer.status, Some(0), "{}", answer.stderr);
    assert!(answer.stdout.starts_with("done\n"), "{}", answer.stdout);
    let says = answer.stderr.contains("marks could not be written") || answer.stderr.contains("disk is full");
    assert!(says, "{}", answer.stderr);
}

#[test]
fn a_limit_for_the_size_of_files_does_not_end_the_program() {
    let place = Place::new();
    // Python ignores the signal by which the system enforces it; this gives it back its meaning.
    let source = "import signal, opscope
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
for i in range(20000):
    opscope.mark('too much')
print('done')
";
    let Some(python) = companions::python() else { return };
    let script = place.write("program.py", source).display().to_string();
    let line = format!("ulimit -f 100; exec {} {script}", python.display());
    let environment = format!("--environment=PYTHONPATH={}", package());
    let answer = place.run(&["collect", "--no-parse", &environment, "--", "sh", "-c", &line]);
    assert_eq!(answer.status, Some(0), "{}", answer.stderr);
    assert!(answer.stdout.starts_with("done\n"), "{}", answer.stdout);
    assert!(answer.stderr.contains("marks could not be written: File too large"), "{}", answer.stderr);
}

#[test]
fn an_output_that_cannot_be_written_is_refused_before_the_program_starts() {
    let place = Place::new();
    let Some(fixed) = SmallDisk::read_only(place.path("fixed")) else { return };
    let answer = place.run(&["collect", "--output=fixed", "--", "touch", "started"]);
    drop(fixed);
    assert_eq!(answer.status, Some(125), "{}", answer.stderr);
    assert!(
        answer.stderr.contains("can't be written") && !place.path("started").exists(),
        "{}",
        answer.stderr
    );
}

#[test]
fn a_link_is_followed_and_named_and_a_wide_umask_is_warned_of() {
    let place = Place::new();
    std::os::unix::fs::symlink("/bin/true", place.path("link")).expect("a link");
    let answer = place.done(&["collect", "--no-parse", "--", "./link"]);
    assert!(answer.stderr.contains("symbolic link, which is followed to"), "{}", answer.stderr);
    let mut command = Command::new("sh");
    let line = format!("umask 0; exec {} collect --no-parse -- true", env!("CARGO_BIN_EXE_opscope"));
    let output = command.args(["-c", &line]).current_dir(place.path("")).output().expect("a shell");
    let answer = Answer::from(output);
    assert!(answer.stderr.contains("umask 0000"), "{}", answer.stderr);
}

#[test]
fn known_failures_are_explained_by_what_the_program_said() {
    let place = Place::new();
    let loader = "./detect: error while loading shared libraries: libpython3.9.so.1.0: cannot open shared object \
                  file: No such file or directory";
    let converter = "E10001: Value [-1] for [data_1] is invalid. Reason: maybe you should set input_shape";
    for (message, status, says) in [(loader, 127, "--enable-shared"), (converter, 1, "--input_shape")] {
        let script = format!("echo before >&2; echo '{message}' >&2; exit {status}");
        let answer = place.run(&["collect", "--no-parse", "--", "sh", "-c", &script]);
        assert_eq!(answer.status, Some(status));
        let rest =
            answer.stderr.split_once(&format!("before\n{message}\n")).expect("its own words, unchanged");
        assert!(rest.1.contains(says), "{}", answer.stderr);
        // The same when standard error is a file.
        let file = std::fs::File::create(place.path("stderr")).expect("a file");
        let mut command = place.command(&["collect", "--no-parse", "--", "sh", "-c", &script]);
        assert_eq!(command.stderr(file).status().expect("the program starts").code(), Some(status));
        let text = std::fs::read_to_string(place.path("stderr")).expect("text");
        assert!(text.contains(message) && text.contains(says), "{text}");
    }
    // Of a program that says nothing, its status does, in every language.
    for (language, says) in [("en", "ended by a signal"), ("zh", "被信号终止")] {
        let command = ["collect", "--no-parse", "--lang", language, "--", "sh", "-c", "exit 137"];
        let said = place.run(&command).stderr;
        assert!(said.contains(says), "{said}");
    }
    // A program that ends well has nothing to be explained.
    let answer = place.done(&["collect", "--no-parse", "--", "sh", "-c", &format!("echo '{loader}' >&2")]);
    assert!(!answer.stderr.contains("--enable-shared"), "{}", answer.stderr);
}

#[test]
fn standard_error_passes_through_byte_by_byte_and_outlives_the_program() {
    let place = Place::new();
    let bytes: Vec<u8> = (0..200_000u32).map(|number| (number * 7 % 251) as u8).collect();
    let file = place.write("bytes", &bytes).display().to_string();
    let script = "cat \"$0\" >&2; (sleep 0.7; printf late >&2) >/dev/null &";
    let mut command = place.command(&["--quiet", "collect", "--no-parse", "--", "sh", "-c", script, &file]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the program starts");
    let mut stderr = child.stderr.take().expect("a pipe");
    // A pipe holds less than all of it, so somebody must read meanwhile.
    let reader = std::thread::spawn(move || {
        let mut read = Vec::new();
        stderr.read_to_end(&mut read).map(|_| read)
    });
    assert!(child.wait().expect("an end").success());
    let read = reader.join().expect("the reader").expect("bytes");
    let expected: Vec<u8> = [&bytes[..], b"late"].concat();
    assert!(read == expected, "{} bytes instead of {}", read.len(), expected.len());
}

#[test]
fn a_terminal_stays_a_terminal() {
    let place = Place::new();
    // script(1) gives the command a terminal.
    let line = format!(
        "{} --quiet collect --no-parse -- sh -c 'test -t 2 && echo yes-a-terminal >&2; exit 3'",
        env!("CARGO_BIN_EXE_opscope")
    );
    let mut command = Command::new("script");
    command.args(["-qec", &line, "/dev/null"]).current_dir(place.path("")).stdin(Stdio::null());
    let Some(output) = companions::output(&mut command) else { return };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("yes-a-terminal\r\n"), "{text}");
    assert_eq!(output.status.code(), Some(3), "{text}");
}

const WAITING: &str = "import sys, time, opscope
print('up', flush=True)
number = 0
while True:
    opscope.mark('mark %d' % number)
    number += 1
    time.sleep(0.005)
";

/// Says commands with pauses, and gives what a collection on demand answered.
fn say(mut child: std::process::Child, words: &[&str]) -> Answer {
    let mut input = child.stdin.take().expect("its input");
    for word in words {
        std::thread::sleep(std::time::Duration::from_millis(700));
        writeln!(input, "{word}").expect("a pipe");
    }
    Answer::from(child.wait_with_output().expect("an end"))
}

fn profiles(answer: &Answer) -> Vec<PathBuf> {
    answer.stdout.lines().filter(|line| line.contains("/PROF_")).map(PathBuf::from).collect()
}

#[test]
fn a_running_program_is_recorded_whenever_it_is_asked_for() {
    let place = Place::new();
    let Some(python) = companions::python() else { return };
    let script = place.write("program.py", WAITING).display().to_string();
    // The library that `collect` brings along is the one that a user would name.
    let cache = place.path("cache");
    let mut unpack = place.command(&["collect", "--no-parse", "--", "true"]);
    assert!(unpack.env("XDG_CACHE_HOME", &cache).output().expect("opscope starts").status.success());
    let folders = std::fs::read_dir(cache.join("opscope")).expect("what was unpacked").flatten();
    let library = folders.map(|it| it.path().join("libopscope_mark.so")).find(|path| path.exists());
    let library = library.expect("the library");
    let mut program = Command::new(&python);
    program.arg(&script).env("PROFILING_MODE", "dynamic").env("PYTHONPATH", package());
    program.env("OPSCOPE_MARK_LIBRARY", &library).stdout(Stdio::piped());
    let mut program = program.spawn().expect("Python starts");
    let mut line = String::new();
    BufReader::new(program.stdout.take().expect("its output")).read_line(&mut line).expect("a line");
    let pid = format!("--pid={}", program.id());
    let attach = || {
        let mut command = place.command(&["collect", "--dynamic=on", &pid, "--no-parse", "--host-sys=mem"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("opscope starts")
    };
    let first = attach();
    std::thread::sleep(std::time::Duration::from_millis(300));
    let second = say(attach(), &[]);
    assert_eq!(second.status, Some(125), "two at once");
    assert!(second.stderr.contains("is being collected from by process"), "{}", second.stderr);
    let answer = say(first, &["stop", "nonsense", "start", "start", "stop", "start", "stop", "quit"]);
    assert_eq!(answer.status, Some(0), "{}", answer.stderr);
    for says in ["nothing is being recorded", "'nonsense' is not understood", "recorded already"] {
        assert!(answer.stderr.contains(says), "no {says:?} in {}", answer.stderr);
    }
    let profiles = profiles(&answer);
    assert_eq!(profiles.len(), 2, "{}", answer.stdout);
    let numbers = |profile: &PathBuf| -> Vec<u32> {
        let texts = texts(profile);
        texts.iter().filter_map(|text| text.strip_prefix("mark ")?.parse().ok()).collect()
    };
    let (before, after) = (numbers(&profiles[0]), numbers(&profiles[1]));
    assert!(before.len() > 5 && after.len() > 5, "{before:?} {after:?}");
    assert!(before.iter().max() < after.iter().min(), "what lies between is not recorded");
    for numbers in [&before, &after] {
        assert!(numbers.windows(2).all(|pair| pair[0] + 1 == pair[1]), "none is missing within: {numbers:?}");
    }
    assert!(profiles[0].join("host/data/host_mem.data.slice_0.done").is_file());
    assert!(program.try_wait().expect("a status").is_none(), "the program runs on");
    program.kill().expect("an end");
    let _ = program.wait();
    place.fails(
        125,
        &["doesn't wait"],
        &["collect", "--dynamic=on", &format!("--pid={}", std::process::id())],
    );
    place.fails(125, &["no process"], &["collect", "--dynamic=on", "--pid=999999999"]);
}

#[test]
fn a_program_that_was_started_for_it_is_recorded_on_command_and_gives_its_status() {
    let place = Place::new();
    let Some(python) = companions::python() else { return };
    let source = WAITING.replace("while True:", "while number < 600:") + "\nsys.exit(6)\n";
    let script = place.write("program.py", source).display().to_string();
    let environment = format!("--environment=PYTHONPATH={}", package());
    let python = python.display().to_string();
    let mut command =
        place.command(&["collect", "--dynamic", "--no-parse", &environment, "--", &python, &script]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let answer = say(command.spawn().expect("opscope starts"), &["start", "stop", "quit"]);
    assert_eq!(answer.status, Some(6), "{}", answer.stderr);
    let profiles = profiles(&answer);
    assert_eq!(profiles.len(), 1, "{}", answer.stdout);
    let count = texts(&profiles[0]).len();
    assert!((5..500).contains(&count), "{count}");
    place.fails(125, &["--delay"], &["collect", "--dynamic=on", "--delay=1s", "--", "true"]);
    place.fails(125, &["--dynamic=on"], &["collect", "--pid=1"]);
}

#[test]
fn every_switch_has_the_values_and_limits_of_the_vendors() {
    let place = Place::new();
    // A switch, values that it takes, values that it doesn't, and what is said then.
    let table: &[(&str, &[&str], &[&str], &str)] = &[
        ("ascendcl", &["on", "off"], &["yes"], "on, off"),
        ("runtime-api", &["on", "off"], &["1"], "on, off"),
        ("task-time", &["l0", "l1", "l2", "on", "off"], &["l9"], "l0"),
        ("type", &["text", "db"], &["xml"], "text, db"),
        ("ge-api", &["off", "l0", "l1"], &["on"], "l0"),
        ("aic-mode", &["task-based", "sample-based"], &["both"], "task-based"),
        (
            "aic-metrics",
            &["PipeUtilization", "Custom:0x1,0x7FFFFFFF"],
            &["Speed", "Custom:0x0", "Custom:"],
            "0x",
        ),
        ("aiv-metrics", &["MemoryUB"], &["Custom:0x1,0x2,0x3,0x4,0x5,0x6,0x7,0x8,0x9"], "at most 8"),
        ("sys-devices", &["all", "0,1"], &["first"], "numbers"),
        ("aic-freq", &["1", "100"], &["0", "101", "x"], "1 to 100 Hz"),
        ("aiv-freq", &["1", "100"], &["0", "101"], "1 to 100 Hz"),
        ("sys-period", &["1", "2592000"], &["0", "2592001"], "1 to 2592000"),
        ("sys-hardware-mem-freq", &["1", "100"], &["0", "101"], "1 to 100 Hz"),
        ("sys-cpu-freq", &["1", "50"], &["0", "51"], "1 to 50 Hz"),
        ("sys-sampling-freq", &["1", "10"], &["0", "11"], "1 to 10 Hz"),
        ("sys-pid-sampling-freq", &["1", "10"], &["0", "11"], "1 to 10 Hz"),
        ("sys-io-sampling-freq", &["1", "100"], &["0", "101"], "1 to 100 Hz"),
        ("sys-interconnection-freq", &["1", "50"], &["0", "51"], "1 to 50 Hz"),
        ("dvpp-freq", &["1", "100"], &["0", "101"], "1 to 100 Hz"),
        ("instr-profiling-freq", &["300", "30000"], &["299", "30001"], "300 to 30000"),
        ("host-sys-usage-freq", &["1", "50"], &["0", "51"], "1..=50"),
        ("host-sys", &["cpu,mem,disk,network,osrt,numa"], &["gpu"], "cpu"),
        ("host-sys-usage", &["cpu,mem"], &["disk"], "cpu or mem"),
        ("storage-limit", &["200MB", "4294967295MB"], &["199MB", "4294967296MB", "300"], "200"),
        ("duration", &["1s", "4294967295s"], &["0s", "4294967296s"], "4294967295"),
        ("delay", &["1ms"], &["0s", "4294967296s"], "4294967295"),
        ("msproftx", &["on", "off"], &["maybe"], "on"),
    ];
    for (switch, good, bad, says) in table {
        for value in *good {
            let arguments = ["collect", "--no-parse", &format!("--{switch}={value}"), "--", "true"];
            place.done(&arguments);
        }
        for value in *bad {
            let answer = place.run(&["collect", "--no-parse", &format!("--{switch}={value}"), "--", "true"]);
            assert!(matches!(answer.status, Some(2 | 125)), "--{switch}={value}: {:?}", answer.status);
            assert!(answer.stderr.contains(says), "--{switch}={value}: {}", answer.stderr);
        }
    }
    place.done(&["collect", "--no-parse", "--mstx-domain-include=a,default", "--", "true"]);
    let both = ["collect", "--mstx-domain-include=a", "--mstx-domain-exclude=b", "--", "true"];
    place.fails(125, &["cannot be used with"], &both);
    let without = ["collect", "--msproftx=off", "--mstx-domain-include=a", "--", "true"];
    place.fails(125, &["need --msproftx=on"], &without);
    place.fails(125, &["no Ascend processor"], &["collect", "--sys-devices=0", "--sys-period=10"]);
    // In the reference's order: the program, then the output, then the values.
    place.fails(127, &["PATH"], &["collect", "--output=a;b", "--ai-core=x", "--", "no-such-program"]);
    place.fails(125, &["';'"], &["collect", "--output=a;b", "--ai-core=x", "--", "true"]);
    place.fails(125, &["on, off"], &["collect", "--ai-core=x", "--", "true"]);
}
