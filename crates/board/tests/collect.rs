//! Collections on a board that is a real SSH server.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use opscope_board::{ProgramEnd, Request, collect};
use opscope_testing::board::{
    Log, SmallDisk, Switch, board, fail, files, run, unreliable_relay, user_with_password,
};

/// The locks that lie on the board.
fn locks() -> Vec<String> {
    files(Path::new("/tmp")).into_iter().filter(|name| name.starts_with("opscope-collection-")).collect()
}

#[test]
fn a_project_goes_there_runs_and_its_results_come_back() {
    let Some(board) = board() else { return };
    let (collected, log) = run(&board.request());
    assert_eq!(collected.end, ProgramEnd::Status(0));
    assert_eq!(log.stdout, "hello from out with it's $HOME\n");
    assert_eq!(log.stderr, "a warning\n");
    let [job] = &collected.profiles[..] else { panic!("{collected:?}") };
    assert!(job.starts_with(board.path("results")));
    assert_eq!(files(job), ["data", "info.json.0"]);
    assert_eq!(fs::metadata(job.join("data/aicore.0.net.1.1.1.0.done")).unwrap().len(), 3000);
    assert_eq!(fs::read_to_string(job.join("data/umask")).unwrap().trim(), "0027");
    // The project here is as it was: the switches went to the board only.
    assert_eq!(files(&board.path("my-app/src")), ["main.cpp"]);
    let on_board = fs::read_to_string(board.path("on_board/src/acl.json")).unwrap();
    assert!(on_board.contains(r#""switch": "on""#) && on_board.contains("on_board/profiling"), "{on_board}");
    assert!(locks().is_empty(), "{:?}", locks());
    assert!(!board.path("on_board/.opscope-run").exists());
}

#[test]
fn a_loose_umask_is_warned_of_and_the_program_runs_with_a_strict_one() {
    let Some(board) = board() else { return };
    let (collected, log) = run(&board.request());
    let warned = log.warnings.iter().any(|text| text.contains("0022") && text.contains("'umask 0027'"));
    assert!(warned, "{:?}", log.warnings);
    assert_eq!(fs::read_to_string(collected.profiles[0].join("data/umask")).unwrap().trim(), "0027");
}

#[test]
fn a_second_collection_uploads_only_what_changed() {
    let Some(board) = board() else { return };
    let (first, _) = run(&board.request());
    assert_eq!(first.uploaded, (3, 0));
    fs::write(board.path("my-app/src/more.cpp"), "x").unwrap();
    let (second, _) = run(&board.request());
    assert_eq!(second.uploaded, (1, 3));
    assert_ne!(first.profiles, second.profiles);
    assert_eq!(files(&board.path("results")).len(), 2);
}

#[test]
fn a_program_that_writes_the_same_directory_again_has_the_new_one_brought_and_the_old_one_kept() {
    let Some(board) = board() else { return };
    let main = |content: &str| {
        format!(
            "#!/bin/sh\nmkdir -p ../profiling/JOBSAME/data\nprintf {content} > ../profiling/JOBSAME/data/aicore\n"
        )
    };
    let read = |name: &str| fs::read_to_string(board.path("results").join(name).join("data/aicore")).unwrap();
    board.write_main(&main("first"));
    run(&board.request());
    // Of the same size; a second apart, because that is how fine the protocol's times are.
    std::thread::sleep(Duration::from_millis(1100));
    board.write_main(&main("again"));
    let (collected, log) = run(&board.request());
    assert_eq!(collected.profiles, [board.path("results/JOBSAME")]);
    assert_eq!((read("JOBSAME"), read("JOBSAME.1")), ("again".to_owned(), "first".to_owned()));
    assert!(log.warnings.iter().any(|text| text.contains("JOBSAME.1 now")), "{:?}", log.warnings);
    // Unchanged files aren't brought again.
    board.write_main("#!/bin/sh\nexit 0\n");
    assert_eq!(run(&board.request()).0.profiles, [] as [PathBuf; 0]);
}

#[test]
fn an_rsa_key_is_refused_before_the_board_is_asked_unless_the_program_is_built_for_it() {
    let Some(board) = board() else { return };
    let mut request = board.request();
    request.config.private_key = Some(board.path("rsa_key"));
    // Keys are told by what they are, not by the form of their file.
    for form in [&["-m", "RFC4716"][..], &["-m", "PEM"], &["-m", "PKCS8"]] {
        let mut keygen = Command::new("ssh-keygen");
        keygen.args(["-q", "-p", "-P", "", "-N", ""]).args(form).arg("-f").arg(board.path("rsa_key"));
        assert!(keygen.status().unwrap().success());
        if cfg!(feature = "rsa-client-keys") {
            run(&request);
            continue;
        }
        // A password beside the key is for the key's file: it isn't sent in the key's place.
        request.config.password = Some(opscope_board::Secret::new("a password"));
        let error = fail(&request);
        assert!(error.contains("rsa_key: RSA keys are not used") && error.contains("ed25519"), "{error}");
        assert!(!board.path("known_hosts").exists(), "the board was asked");
    }
}

#[test]
fn a_password_lets_the_user_in() {
    let Some(board) = board() else { return };
    let mut request = board.request();
    let Some((user, password)) = user_with_password() else { return };
    request.config.private_key = None;
    request.config.user = user;
    request.config.password = Some(password);
    request.remote = None;
    fs::set_permissions(board.folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let (collected, _) = run(&Request { clean_up: true, ..request.clone() });
    assert_eq!(collected.profiles.len(), 1);
    request.config.password = Some(opscope_board::Secret::new("not the password"));
    let error = fail(&request);
    assert!(error.contains("the password was refused") && !error.contains("not the password"), "{error}");
}

#[test]
fn a_host_that_is_not_known_or_changed_its_key_is_refused() {
    let Some(board) = board() else { return };
    let mut request = board.request();
    request.host_keys.accept_new = false;
    let error = fail(&request);
    assert!(error.contains("SHA256:") && error.contains("--accept-new-host-key"), "{error}");
    request.host_keys.accept_new = true;
    run(&request);
    request.host_keys.accept_new = false;
    run(&request);
    let known = fs::read_to_string(board.path("known_hosts")).unwrap();
    let other = fs::read_to_string(board.path("user_key.pub")).unwrap();
    let place = known.trim().split(' ').next().unwrap();
    fs::write(board.path("known_hosts"), format!("{place} {other}")).unwrap();
    request.host_keys.accept_new = true;
    let error = fail(&request);
    assert!(error.contains("CHANGED") && error.contains("line 1"), "{error}");
}

#[test]
fn a_line_that_is_cut_is_mended_and_nothing_is_half_written() {
    let Some(board) = board() else { return };
    fs::write(board.path("my-app/model.om"), vec![7; 6 << 20]).unwrap();
    board.set_main("SIZE=6000000");
    let mut request = board.request();
    // The line is cut in the middle of the upload.
    request.config.port = unreliable_relay(board.port, 3 << 20, 1);
    request.remote = Some(board.path("cut_up").display().to_string());
    fs::write(board.path("known_hosts"), "").unwrap();
    let (collected, log) = run(&request);
    assert!(log.warnings.iter().any(|text| text.contains("connecting again")), "{:?}", log.warnings);
    assert_eq!(fs::read(board.path("cut_up/model.om")).unwrap(), vec![7; 6 << 20]);
    // Files came back whole, too.
    let data = collected.profiles[0].join("data");
    assert_eq!(fs::read(data.join("aicore.0.net.1.1.1.0.done")).unwrap(), vec![b'x'; 6_000_000]);
    assert!(files(&data).iter().all(|name| !name.ends_with(".part")));
    // The line is cut in the middle of the results: the upload has nothing to do this time.
    request.config.port = unreliable_relay(board.port, 3 << 20, 1);
    let (collected, log) = run(&request);
    assert!(log.warnings.iter().any(|text| text.contains("results were brought back")), "{:?}", log.warnings);
    let data = collected.profiles[0].join("data");
    assert_eq!(fs::metadata(data.join("aicore.0.net.1.1.1.0.done")).unwrap().len(), 6_000_000);
}

#[test]
fn a_program_that_fails_still_brings_its_results() {
    let Some(board) = board() else { return };
    board.set_main("FAIL=1");
    let (collected, _) = run(&board.request());
    assert_eq!((collected.end, collected.profiles.len()), (ProgramEnd::Status(3), 1));
    board.write_main("#!/bin/sh\nkill -SEGV $$\n");
    let (collected, _) = run(&board.request());
    assert_eq!((collected.end, collected.profiles.len()), (ProgramEnd::Killed(11), 0));
}

#[test]
fn a_program_that_never_ends_is_stopped() {
    let Some(board) = board() else { return };
    board.write_main("#!/bin/sh\necho $$ > ../started\nmkdir -p ../profiling/JOBZ/data\nexec sleep 1000\n");
    let mut request = board.request();
    request.timeouts.program = Some(Duration::from_secs(3));
    let begin = Instant::now();
    let (collected, _) = run(&request);
    assert_eq!(collected.end, ProgramEnd::TimedOut(Duration::from_secs(3)));
    assert!(begin.elapsed() < Duration::from_secs(30));
    // Files from before that are brought back all the same.
    assert_eq!(collected.profiles.len(), 1);
    let pid = fs::read_to_string(board.path("on_board/started")).unwrap();
    assert!(!Path::new(&format!("/proc/{}", pid.trim())).join("exe").exists());
}

/// A lock of a user that does not exist, for one test.
struct OthersLock(PathBuf);

impl OthersLock {
    fn new(pid: &str) -> Self {
        let folder = PathBuf::from("/tmp/opscope-collection-54321");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("pid"), pid).unwrap();
        let _ = std::os::unix::fs::chown(&folder, Some(54321), Some(54321));
        Self(folder)
    }
}

impl Drop for OthersLock {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn another_users_collection_is_waited_for_and_one_that_died_is_in_nobodys_way() {
    let Some(board) = board() else { return };
    {
        let lock = OthersLock::new(&std::process::id().to_string());
        let error = fail(&board.request());
        assert!(error.contains("another collection is running"), "{error}");
        assert!(error.contains(&lock.0.display().to_string()) && error.contains("--resume"), "{error}");
    }
    let mut ended = Command::new("true").spawn().unwrap();
    ended.wait().unwrap();
    let lock = OthersLock::new(&ended.id().to_string());
    run(&board.request());
    if let Some((user, password)) = user_with_password() {
        // Without the rights to remove it, too.
        let mut request = board.request();
        request.config.user = user;
        (request.config.private_key, request.config.password, request.remote) = (None, Some(password), None);
        run(&Request { clean_up: true, ..request });
    }
    assert!(lock.0.exists(), "a lock of somebody else is left to its owner");
}

#[test]
fn a_line_that_is_cut_while_the_program_runs_is_mended_and_all_that_it_prints_arrives_once() {
    let Some(board) = board() else { return };
    // Much is printed, so that the line is cut in the middle of it, several times.
    board.write_main(
        "#!/bin/sh\necho started >> ../starts\ni=0\nwhile [ $i -lt 300 ]; do i=$((i+1)); \
         printf '%04d %01000d\\n' $i 0; [ $((i%30)) = 0 ] && sleep 0.2; done\necho the end >&2\n\
         mkdir -p ../profiling/JOBZ/data\nexit 7\n",
    );
    let mut request = board.request();
    request.config.port = unreliable_relay(board.port, 120_000, 3);
    let (collected, log) = run(&request);
    assert!(log.warnings.iter().any(|text| text.contains("connecting again")), "{:?}", log.warnings);
    assert_eq!((collected.end, collected.profiles.len()), (ProgramEnd::Status(7), 1));
    let expected: String = (1..=300).map(|line| format!("{line:04} {:01000}\n", 0)).collect();
    assert!(log.stdout == expected, "{} bytes instead of {}", log.stdout.len(), expected.len());
    assert_eq!(log.stderr, "the end\n");
    assert_eq!(fs::read_to_string(board.path("on_board/starts")).unwrap(), "started\n");
    assert!(locks().is_empty(), "{:?}", locks());
}

#[test]
fn a_collection_whose_board_is_gone_is_gone_on_with_later() {
    let Some(board) = board() else { return };
    board.write_main(
        "#!/bin/sh\necho started >> ../starts\necho first\nwhile [ ! -e ../go ]; do sleep 0.1; done\n\
         mkdir -p ../profiling/JOBZ/data\necho '{}' > ../profiling/JOBZ/info.json.0\necho last\n",
    );
    fs::create_dir_all(board.path("on_board/profiling/JOBOLD/data")).unwrap();
    let switch = Switch::new(board.port);
    let mut request = board.request();
    request.config.port = switch.port;
    request.timeouts.reconnect = Duration::from_secs(2);
    let starts = board.path("on_board/starts");
    let error = std::thread::scope(|scope| {
        let collection = scope.spawn(|| fail(&request));
        let deadline = Instant::now() + Duration::from_secs(60);
        while !starts.exists() {
            assert!(Instant::now() < deadline, "the program did not start");
            std::thread::sleep(Duration::from_millis(20));
        }
        switch.set_down(true);
        collection.join().unwrap()
    });
    assert!(error.contains("the program runs on") && error.contains("--resume"), "{error}");
    switch.set_down(false);
    let again = fail(&request);
    assert!(again.contains("another collection is running") && again.contains("--resume"), "{again}");
    fs::write(board.path("on_board/go"), "").unwrap();
    let (collected, log) = run(&Request { resume: true, ..request.clone() });
    assert_eq!((collected.end, &*log.stdout), (ProgramEnd::Status(0), "first\nlast\n"));
    assert_eq!(collected.profiles, [board.path("results/JOBZ")]);
    assert_eq!(fs::read_to_string(&starts).unwrap(), "started\n");
    let error = fail(&Request { resume: true, ..board.request() });
    assert!(error.contains("no collection") && error.contains("without --resume"), "{error}");
}

#[test]
fn a_program_whose_end_nobody_noted_is_named_and_its_results_are_brought() {
    let Some(board) = board() else { return };
    // As when the board runs out of memory: whoever waits for the program is killed as well.
    board.write_main("#!/bin/sh\nmkdir -p ../profiling/JOBZ/data\nkill -KILL $PPID $$\n");
    let (collected, _) = run(&board.request());
    assert_eq!((collected.end, collected.profiles.len()), (ProgramEnd::Vanished, 1));
}

#[test]
fn a_program_that_is_interrupted_is_stopped_and_its_results_are_brought() {
    let Some(board) = board() else { return };
    board.write_main("#!/bin/sh\nmkdir -p ../profiling/JOBZ/data\necho here\nexec sleep 1000\n");
    let mut log = Log { interrupt_at: Some("here".to_owned()), ..Log::default() };
    let collected = collect(&board.request(), &mut log).unwrap();
    assert_eq!((collected.end, collected.profiles.len()), (ProgramEnd::Interrupted, 1));
}

#[test]
fn names_from_the_board_stay_within_the_results() {
    let Some(board) = board() else { return };
    board.write_main(
        "#!/bin/sh\njob=../profiling/JOBX\nmkdir -p $job/data\necho '{}' > $job/info.json.0\n\
         ln -s /etc/passwd $job/data/link\nprintf x > \"$job/data/a\\\\b\"\nprintf x > \"$job/data/$(printf 'c\\001d')\"\n\
         printf x > \"$job/data/odd name (1)\"\n",
    );
    let (collected, log) = run(&board.request());
    assert_eq!(files(&collected.profiles[0].join("data")), ["odd name (1)"]);
    assert_eq!(log.warnings.iter().filter(|text| text.contains("left on the board")).count(), 3);
}

#[test]
fn results_beside_the_program_are_found_and_cleaning_up_leaves_nothing() {
    let Some(board) = board() else { return };
    board.write_main("#!/bin/sh\nmkdir -p JOBY/data\necho '{}' > JOBY/info.json.0\n");
    let (collected, log) = run(&Request { clean_up: true, ..board.request() });
    assert_eq!(collected.profiles.len(), 1);
    assert!(log.warnings.iter().any(|text| text.contains("beside the program")), "{:?}", log.warnings);
    assert!(!board.path("on_board").exists());
    // A folder that was there before is not opscope's to remove.
    fs::create_dir(board.path("on_board")).unwrap();
    run(&Request { clean_up: true, ..board.request() });
    assert!(board.path("on_board/out/main").exists());
}

#[test]
fn a_board_that_cannot_be_reached_or_does_not_answer_is_named() {
    let Some(board) = board() else { return };
    let mut request = board.request();
    request.config.port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let error = fail(&request);
    assert!(error.contains("cannot be reached"), "{error}");
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    request.config.port = silent.local_addr().unwrap().port();
    request.timeouts.connect = Duration::from_secs(1);
    let error = fail(&request);
    assert!(error.contains("no answer within 1 s") && error.contains("--connect-timeout"), "{error}");
}

#[test]
fn a_full_disk_on_the_board_is_named_and_nothing_is_half_written() {
    let Some(board) = board() else { return };
    let Some(disk) = SmallDisk::new(board.path("on_board"), 1) else { return };
    // The project fits, but leaves too little for results.
    let error = fail(&board.request());
    assert!(error.contains("MB left at") && error.contains("--nfs"), "{error}");
    // The project doesn't even fit.
    fs::write(board.path("my-app/model.om"), vec![7; 2 << 20]).unwrap();
    let error = fail(&board.request());
    assert!(error.contains("model.om") && error.contains("disk full"), "{error}");
    assert!(!disk.0.join("model.om").exists());
}

#[test]
fn a_full_disk_here_is_named_and_a_later_collection_goes_on() {
    let Some(board) = board() else { return };
    board.set_main("SIZE=3000000");
    let Some(disk) = SmallDisk::new(board.path("results"), 1) else { return };
    let error = fail(&board.request());
    assert!(error.contains("results") && error.contains("No space left"), "{error}");
    let job = fs::read_dir(&disk.0).unwrap().next().unwrap().unwrap().path();
    assert!(
        files(&job.join("data")).iter().all(|name| name.ends_with(".part") || !name.starts_with("aicore"))
    );
}
