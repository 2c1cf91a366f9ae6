//! Checks of a board before a program runs and while it does: of its file system, of its server,
//! and of its words to those who mount a folder.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;
use std::time::Duration;

use opscope_board::{ProgramEnd, Request, Secret};
use opscope_testing::board::{SmallDisk, board, fail, files, run};

#[test]
fn what_would_spoil_a_run_is_found_before_it() {
    let Some(board) = board() else { return };
    let main = board.path("my-app/out/main");
    fs::set_permissions(&main, fs::Permissions::from_mode(0o644)).unwrap();
    let error = fail(&board.request());
    assert!(error.contains("not executable") && error.contains("chmod +x"), "{error}");
    // The remedy works at once, although the file's time is what it was.
    fs::set_permissions(&main, fs::Permissions::from_mode(0o755)).unwrap();
    run(&board.request());

    fs::write(board.path("my-app/src/acl.json"), r#"{"dump": {"dump_list": [{"model_name": "m"}]}}"#)
        .unwrap();
    assert!(fail(&board.request()).contains("dumping and profiling exclude each other"));
    fs::remove_file(board.path("my-app/src/acl.json")).unwrap();

    let missing = fail(&Request { main: board.path("my-app/out/mian"), ..board.request() });
    assert!(missing.contains("out/mian is not there") && missing.contains("--main"), "{missing}");
    let folder = fail(&Request { main: board.path("my-app/out"), ..board.request() });
    assert!(folder.contains("is a folder") && folder.contains("--main"), "{folder}");

    let (_, log) =
        run(&Request { remote: Some(board.path("odd-place").display().to_string()), ..board.request() });
    assert!(log.warnings.iter().any(|text| text.contains("not '-'")), "{:?}", log.warnings);
}

#[test]
fn a_link_in_the_place_of_the_program_is_followed_or_refused_with_the_reason() {
    let Some(board) = board() else { return };
    let link = board.path("my-app/out/link");
    let collected = |target: &str| {
        let _ = fs::remove_file(&link);
        symlink(target, &link).unwrap();
        Request { main: link.clone(), ..board.request() }
    };
    let error = fail(&collected("nowhere"));
    assert!(error.contains("link to nowhere, which is not there") && error.contains("--main"), "{error}");
    let error = fail(&collected("/bin/true"));
    assert!(error.contains("not in the project") && error.contains("--main"), "{error}");
    let (done, _) = run(&collected("main"));
    assert_eq!((done.end, done.profiles.len()), (ProgramEnd::Status(0), 1));
    fs::set_permissions(board.path("my-app/out/main"), fs::Permissions::from_mode(0o644)).unwrap();
    let error = fail(&collected("main"));
    assert!(error.contains("link is not executable") && error.contains("links to"), "{error}");
}

#[test]
fn secrets_and_earlier_results_stay_here() {
    let Some(board) = board() else { return };
    fs::write(board.path("my-app/board.ini"), "pwd = topsecret\n").unwrap();
    fs::write(board.path("my-app/id"), "a key\n").unwrap();
    fs::create_dir(board.path("my-app/mine")).unwrap();
    fs::write(board.path("my-app/mine/JOBOLD"), "x").unwrap();
    let here = |name: &str| board.path("my-app/out/..").join(name);
    run(&Request { secrets: vec![here("board.ini"), here("id")], output: here("mine"), ..board.request() });
    assert_eq!(files(&board.path("on_board")), [".opscope-project", "out", "profiling", "src"]);
}

#[test]
fn a_disk_that_fills_while_the_program_runs_is_warned_of() {
    let Some(board) = board() else { return };
    let Some(_disk) = SmallDisk::new(board.path("on_board"), 30) else { return };
    let fill = "#!/bin/sh\nmkdir -p ../profiling/JOBZ/data\nhead -c 20000000 /dev/zero > ../profiling/JOBZ/data/aicore\n";
    let is_warned = |main: &str| {
        board.write_main(main);
        let (collected, log) = run(&board.request());
        assert_eq!(collected.end, ProgramEnd::Status(0));
        let warnings: Vec<_> = log.warnings.iter().filter(|text| text.contains("MB left")).collect();
        fs::remove_dir_all(board.path("on_board/profiling")).unwrap();
        assert!(
            warnings.iter().all(|text| text.contains("only 10 MB left") && text.contains("--nfs")),
            "{warnings:?}"
        );
        (warnings.len(), log.stdout)
    };
    assert_eq!(is_warned("#!/bin/sh\nexit 0\n").0, 0);
    // While it runs: it goes on once nothing new has been printed for a while.
    assert_eq!(is_warned(&format!("{fill}sleep 3\necho later\n")), (1, "later\n".to_owned()));
    // At its very end, too.
    assert_eq!(is_warned(fill).0, 1);
    // A server that tells nothing about space: df is asked.
    board.replace_program("df", "#!/bin/sh\n[ \"$1\" = -Pk ] && echo \"none 30720 24000 3072 80% $2\"\n");
    let mut board = board;
    board.restart(|config| config.replace("internal-sftp", "internal-sftp -P statvfs"));
    let error = fail(&board.request());
    assert!(error.contains("only 3 MB left"), "{error}");
}

/// Fills the disk that the program runs on to its last byte.
const FILL: &str =
    "dd if=/dev/zero of=fill bs=64k 2>/dev/null; dd if=/dev/zero of=rest bs=1 count=70000 2>/dev/null\n";

#[test]
fn a_program_that_fills_its_disk_to_the_last_byte_is_seen_to_end_with_its_status() {
    let Some(board) = board() else { return };
    let Some(_disk) = SmallDisk::new(board.path("on_board"), 24) else { return };
    let job = "mkdir -p ../profiling/JOBZ/data\n";
    // The status finds room beside the lock, on another disk.
    board.write_main(&format!("#!/bin/sh\n{job}{FILL}sleep 1\nexit 7\n"));
    let (collected, log) = run(&board.request());
    assert_eq!((collected.end, collected.profiles.len()), (ProgramEnd::Status(7), 1), "{:?}", log.warnings);
    assert!(log.warnings.iter().any(|text| text.contains("only 0 MB left")), "{:?}", log.warnings);
    fs::remove_dir_all(board.path("on_board/profiling")).unwrap();
    fs::remove_file(board.path("on_board/out/fill")).unwrap();
    fs::remove_file(board.path("on_board/out/rest")).unwrap();
    // Where it finds none there either, the program's being gone is its end.
    let user = Command::new("id").arg("-u").output().unwrap().stdout;
    let lock = format!("/tmp/opscope-collection-{}", String::from_utf8(user).unwrap().trim());
    board.write_main(&format!("#!/bin/sh\n{job}mkdir {lock}/status.part\n{FILL}sleep 1\nexit 7\n"));
    let (collected, _) = run(&board.request());
    assert_eq!(collected.end, ProgramEnd::DiskFull);
}

#[test]
fn a_disk_that_is_full_before_the_program_starts_is_named_and_nothing_is_started() {
    let Some(board) = board() else { return };
    let Some(_disk) = SmallDisk::new(board.path("on_board"), 24) else { return };
    board.write_main("#!/bin/sh\ntouch started\n");
    run(&board.request());
    fs::remove_file(board.path("on_board/out/started")).unwrap();
    // A server that tells nothing about space, and a board without df.
    let mut board = board;
    board.restart(|config| config.replace("internal-sftp", "internal-sftp -P statvfs"));
    board.replace_program("df", "#!/bin/sh\nexit 1\n");
    // It ends with a failure: there is no room for its last byte.
    Command::new("sh").args(["-c", FILL]).current_dir(board.path("on_board")).status().unwrap();
    let begin = std::time::Instant::now();
    let error = fail(&board.request());
    assert!(error.contains("full"), "{error}");
    assert!(!board.path("on_board/out/started").exists() && begin.elapsed().as_secs() < 30);
}

#[test]
fn a_command_on_the_board_that_never_ends_ends_the_wait_with_its_name() {
    let Some(board) = board() else { return };
    // The mount of a server that is gone.
    board.replace_program("mount", "#!/bin/sh\nexec sleep 1000\n");
    let nfs = Some("192.168.1.2:/srv/results".parse().unwrap());
    let mut request = Request { nfs, ..board.request() };
    request.timeouts.mount = Duration::from_secs(2);
    let error = fail(&request);
    assert!(error.contains("mount -t nfs") && error.contains("within 2 s"), "{error}");
}

#[test]
fn a_host_is_reached_and_described_without_anything_being_written() {
    let Some(board) = board() else { return };
    let request = board.request();
    let reached = opscope_board::test_connection(&request.config, &request.host_keys, &request.timeouts);
    let reached = reached.unwrap();
    assert!(
        reached.system.starts_with("Linux ") && reached.free.is_some() && !reached.has_ascend,
        "{reached:?}"
    );
    assert!(!board.path("on_board").exists());
    board.replace_program("ls", "#!/bin/sh\necho /dev/davinci0\n");
    let reached = opscope_board::test_connection(&request.config, &request.host_keys, &request.timeouts);
    assert!(reached.unwrap().has_ascend);
}

#[test]
fn a_host_with_ascend_processors_gets_ascendcls_keys_and_its_profile_comes_back() {
    let Some(board) = board() else { return };
    board.replace_program("ls", "#!/bin/sh\necho /dev/davinci0\n");
    let own = r#"{"profiler": {"output": "/data/mine", "interval": "0"}}"#;
    fs::write(board.path("my-app/src/acl.json"), own).unwrap();
    let script = "#!/bin/sh\nmkdir -p ../PROF_000001_20260101000000000_ABCDEFGH/host/data\n\
                  mkdir -p ../profiling/PROF_000002_20260101000000000_ABCDEFGH/device_0/data\n";
    board.write_main(script);
    let (collected, log) = run(&board.request());
    let names: Vec<_> = collected.profiles.iter().map(|path| path.file_name().unwrap().to_owned()).collect();
    assert_eq!(names, ["PROF_000002_20260101000000000_ABCDEFGH", "PROF_000001_20260101000000000_ABCDEFGH"]);
    assert!(collected.profiles[0].join("device_0/data").is_dir());
    let config = fs::read_to_string(board.path("on_board/src/acl.json")).unwrap();
    assert!(
        config.contains("aic_metrics") && config.contains("ascendcl") && !config.contains("interval"),
        "{config}"
    );
    let said = log.warnings.join("\n");
    assert!(said.contains("'/data/mine'") && said.contains("on_board/profiling"), "{said}");
    assert!(said.contains("doesn't know interval"), "{said}");
}

#[test]
fn a_folder_of_the_host_is_mounted_for_the_results_and_let_go_again() {
    let Some(board) = board() else { return };
    let log = board.path("mounted");
    board.replace_program("mount", &format!("#!/bin/sh\necho \"mount $*\" >> {}\n", log.display()));
    board.replace_program("umount", &format!("#!/bin/sh\necho \"umount $*\" >> {}\n", log.display()));
    let folder = board.path("on_board/profiling").display().to_string();
    let nfs = Some("192.168.1.2:/srv/results".parse().unwrap());
    run(&Request { nfs: nfs.clone(), ..board.request() });
    let expected = format!("mount -t nfs -o nolock,tcp 192.168.1.2:/srv/results {folder}\numount {folder}\n");
    assert_eq!(fs::read_to_string(&log).unwrap(), expected);
    // So it is where the program can't be run.
    fs::remove_file(&log).unwrap();
    fs::set_permissions(board.path("my-app/out/main"), fs::Permissions::from_mode(0o644)).unwrap();
    assert!(fail(&Request { nfs: nfs.clone(), ..board.request() }).contains("chmod +x"));
    assert_eq!(fs::read_to_string(&log).unwrap(), expected);
    // A mount that fails ends the collection with what was said, before the program runs.
    board.replace_program("mount", "#!/bin/sh\necho 'mount.nfs: access denied' >&2\nexit 32\n");
    let error = fail(&Request { nfs, ..board.request() });
    assert!(error.contains("access denied") && error.contains("exports the folder"), "{error}");
}

#[test]
fn a_server_without_file_transfer_is_named() {
    let Some(mut board) = board() else { return };
    board.restart(|config| config.replace("Subsystem sftp internal-sftp", ""));
    let error = fail(&board.request());
    assert!(error.contains("SFTP") && error.contains("sftp-server"), "{error}");
    board.restart(|config| format!("{config}Subsystem sftp /nowhere/sftp-server\n"));
    let error = fail(&board.request());
    assert!(error.contains("sftp-server"), "{error}");
}

#[test]
fn a_place_where_the_user_may_not_write_or_execute_is_named_with_another() {
    let Some(board) = board() else { return };
    let Some((user, password)) = opscope_testing::board::user_with_password() else { return };
    let mut request = board.request();
    fs::set_permissions(board.folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    (request.config.user, request.config.password, request.config.private_key) = (user, Some(password), None);
    let error = fail(&request);
    assert!(error.contains("permission denied") && error.contains("--remote-dir"), "{error}");
    request.config.password = Some(Secret::new(""));
    assert!(fail(&request).contains("the password was refused"));
}
