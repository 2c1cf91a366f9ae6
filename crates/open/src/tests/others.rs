//! Profiles beside the one that a folder is read as: they are told, and its own files are none of them.

use super::*;

/// The other profiles that a folder is told to have, by their names.
fn others_in(folder: &Path) -> BTreeSet<String> {
    let opened = open(folder).unwrap();
    let others = opened.losses.iter().filter(|(_, loss)| loss.kind == LossKind::OtherProfile);
    let name = |path: &str| Path::new(path).file_name().unwrap().to_string_lossy().into_owned();
    others.map(|(_, loss)| name(opened.strings.get(loss.detail))).collect()
}

#[test]
fn no_reader_of_folders_passes_over_the_profiles_beside_what_it_reads() {
    const OPERATOR: &str = "Op Name,Op Type,Task Duration(us),Block Dim,Device Id,\nadd,vector,7.98,2,3,\n";
    const LAYERS: &[u8] =
        br#"[{"count": 10}, {"name": "conv1", "timeMs": 1.0, "averageMs": 0.1, "percentage": 100.0}]"#;
    // A plane without lines.
    const SPACE: &[u8] = b"\x0a\x0b\x12\x09/host:CPU";
    let (raw, _) = raw_directory();
    let [operators, run, logs, server, outputs] = [(); 5].map(|()| tempfile::tempdir().unwrap());
    for (folder, name, content) in [
        (&operators, "OPPROF_1/OpBasicInfo.csv", OPERATOR.as_bytes()),
        (&run, "host.xplane.pb", SPACE),
        (&logs, "plugins/profile/monday/host.xplane.pb", SPACE),
        (&server, "request.csv", REQUESTS),
        (&outputs, "kernel_details.csv", KERNELS),
    ] {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
    for (folder, format) in [
        (&operators, &ascend_operators::BELOW),
        (&raw, &ascend_raw::FORMAT),
        (&run, &xplane::FOLDER),
        (&logs, &xplane::FOLDER),
        (&server, &ascend_serving::FOLDER),
        (&outputs, &ascend_outputs::FORMAT),
    ] {
        let folder = folder.path();
        assert_eq!(others_in(folder), BTreeSet::new(), "{}", format.name);
        std::fs::write(folder.join("model.pt.trace.json"), TIMELINE).unwrap();
        std::fs::write(folder.join("layers.json"), LAYERS).unwrap();
        let expected = ["layers.json", "model.pt.trace.json"].map(str::to_owned);
        assert_eq!(others_in(folder), BTreeSet::from(expected), "{}", format.name);
        let opened = Source::at(folder).unwrap().open(&()).unwrap();
        assert_eq!(opened.format.name, format.name);
        let is_unknown = opened.losses.kind().contains(&LossKind::FileNotUnderstood);
        assert!(!is_unknown, "{}: one of them is said to be a file of no known kind", format.name);
    }
    let source = Source::at(raw.path()).unwrap();
    assert_eq!(source.beside_raw(&Stop::default()).len(), 2);
    assert!(source.beside_raw(&Stop::when(|| true)).is_empty(), "nobody waits for them");
    // A folder that is one whole counts as well.
    for folder in [&raw, &outputs] {
        let launch = folder.path().join("OPPROF_1");
        std::fs::create_dir(&launch).unwrap();
        std::fs::write(launch.join("OpBasicInfo.csv"), OPERATOR).unwrap();
        assert!(others_in(folder.path()).contains("OPPROF_1"));
    }
    // The same where files of the folder were read.
    let engine = tempfile::tempdir().unwrap();
    std::fs::write(engine.path().join("profile.json"), LAYERS).unwrap();
    for folder in [&run, &logs, &engine] {
        let served = folder.path().join("served");
        std::fs::create_dir(&served).unwrap();
        std::fs::write(served.join("request.csv"), REQUESTS).unwrap();
        assert!(others_in(folder.path()).contains("served"));
    }
}

#[test]
fn a_folder_with_more_than_is_looked_at_for_other_profiles_is_told() {
    let unseen = |folder: &Path| {
        let opened = open(folder).unwrap();
        let told = opened.losses.iter().filter(|(_, loss)| loss.kind == LossKind::UnseenBeside);
        told.map(|(_, loss)| PathBuf::from(opened.strings.get(loss.detail))).collect::<Vec<_>>()
    };
    let [servers, many_files] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    for folder in [&servers, &many_files] {
        std::fs::write(folder.path().join("host.xplane.pb"), b"\x0a\x0b\x12\x09/host:CPU").unwrap();
    }
    (0..64).for_each(|number| std::fs::create_dir(servers.path().join(number.to_string())).unwrap());
    (1..256).for_each(|number| {
        std::fs::write(many_files.path().join(format!("{number}.txt")), "of no profile").unwrap();
    });
    assert!(unseen(servers.path()).is_empty() && unseen(many_files.path()).is_empty());
    std::fs::create_dir(servers.path().join("64")).unwrap();
    std::fs::write(many_files.path().join("256.txt"), "of no profile").unwrap();
    assert_eq!(unseen(servers.path()), [servers.path()]);
    assert_eq!(unseen(many_files.path()), [many_files.path()]);
}

#[test]
fn files_that_belong_to_what_a_folder_is_read_as_are_no_other_profiles() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, content: &[u8]| std::fs::write(folder.path().join(name), content).unwrap();
    write("host.xplane.pb", b"\x0a\x0b\x12\x09/host:CPU");
    write("host.trace.json", TIMELINE);
    assert_eq!(others_in(folder.path()), BTreeSet::new(), "its own timeline");
    write("other.trace.json", TIMELINE);
    assert_eq!(others_in(folder.path()).len(), 1, "that of another host");

    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, content: &str| std::fs::write(folder.path().join(name), content).unwrap();
    write(
        "profile.json",
        r#"[{"count": 1}, {"name": "a", "timeMs": 1.0, "averageMs": 1.0, "percentage": 100}]"#,
    );
    let times = r#"[{"startEnqMs": 2.67, "endEnqMs": 2.70, "startH2dMs": 2.57, "endH2dMs": 2.57,
        "startComputeMs": 2.57, "endComputeMs": 3.45, "startD2hMs": 3.45, "endD2hMs": 3.45, "h2dMs": 0,
        "computeMs": 0.88, "d2hMs": 0, "latencyMs": 0.88}]"#;
    write("times.json", times);
    assert_eq!(others_in(folder.path()), BTreeSet::new(), "its times");
    write("times_of_others.json", times);
    assert_eq!(others_in(folder.path()).len(), 2, "nothing tells which are its own");
}

#[test]
fn a_table_that_a_folders_reader_does_not_understand_is_told_as_a_profile_alone() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, content: &[u8]| std::fs::write(folder.path().join(name), content).unwrap();
    write("request.csv", REQUESTS);
    write("kernels.csv", KERNELS);
    write("notes.csv", b"a,b\n");
    let opened = open(folder.path()).unwrap();
    let losses: BTreeSet<(LossKind, bool)> = opened
        .losses
        .iter()
        .map(|(_, loss)| (loss.kind, opened.strings.get(loss.detail).ends_with("kernels.csv")))
        .collect();
    let expected = [(LossKind::OtherProfile, true), (LossKind::FileNotUnderstood, false)];
    assert_eq!(losses, BTreeSet::from(expected));
}
