//! Whole examinations, against what is known of simulated clusters.

mod sample;
pub(crate) mod stages;

use std::collections::BTreeSet;
use std::path::Path;

use sample::{Cluster, Faults, RANKS};
use tempfile::TempDir;

use crate::set::manifest::Fingerprint;
use crate::set::table::Row;
use crate::set::tables::{CollectiveLine, LinkLine, StepLine};
use crate::set::whole::{AccountLine, ArrivalLine, InstanceLine};
use crate::{
    Cause, Dialect, Findings, LossReason, Query, ReachError, RunTables, SetError, Who, arrivals, chain,
    examine,
};

fn examined(folder: &Path) -> Findings {
    examine(&[folder.to_owned()], &Default::default(), &|_| {}).unwrap()
}

fn found(seed: u64, faults: Faults) -> (Findings, Cluster) {
    let folder = TempDir::new().unwrap();
    let cluster = Cluster::new(seed, faults);
    cluster.write(folder.path(), 0..RANKS, None);
    (examined(folder.path()), cluster)
}

/// The names of the suspects that stand out.
fn named(findings: &Findings) -> Vec<String> {
    let named = findings.costs.suspects.iter().filter(|suspect| suspect.is_named);
    named.map(|suspect| findings.name_of(&suspect.who)).collect()
}

/// Asserts that one suspect stands out, that it saves what the simulation says, and returns its cause.
fn only_suspect(faults: Faults, name: &str) -> Cause {
    for seed in [1, 2, 3] {
        let (findings, cluster) = found(seed, faults);
        assert_eq!(named(&findings), [name], "seed {seed}");
        let truth = cluster.step_ns() - Cluster::new(seed, Faults::default()).step_ns();
        let saves = findings.costs.suspects[0].saves_ns;
        assert!((saves - truth).abs() < 0.1 * truth, "seed {seed}: {saves} of {truth}");
    }
    found(1, faults).0.evidence[0].causes[0].cause.clone()
}

#[test]
fn a_slow_rank_is_named_with_its_cost_and_its_cause() {
    let cause = only_suspect(Faults { slow_rank: Some(5), ..Faults::default() }, "rank 5 (host1)");
    assert!(
        matches!(cause, Cause::SlowDevice { times, mhz: None } if (times - 1.25).abs() < 0.02),
        "{cause:?}"
    );
}

#[test]
fn an_operator_on_the_ai_cpu_is_the_cause_where_it_is() {
    let cause = only_suspect(Faults { ai_cpu: Some(2), ..Faults::default() }, "rank 2 (host0)");
    let Cause::AiCpu { operator, count, .. } = cause else { panic!("{cause:?}") };
    assert_eq!((operator.op_type.as_str(), count), ("IndexPut", 12.0));
}

#[test]
fn a_late_start_is_told_from_slow_work() {
    let cause = only_suspect(Faults { late: Some(7), ..Faults::default() }, "rank 7 (host1)");
    assert!(matches!(cause, Cause::LateInput { gap_ns, .. } if (gap_ns - 8e6).abs() < 1e5), "{cause:?}");
}

#[test]
fn a_slow_link_is_named_rather_than_the_ranks_that_wait_at_it() {
    let cause = only_suspect(Faults { slow_link: Some((1, 3)), ..Faults::default() }, "link 1 → 3 (HCCS)");
    assert!(matches!(cause, Cause::SlowLink { gb_per_s, .. } if (gb_per_s - 5.4).abs() < 0.1), "{cause:?}");
}

#[test]
fn without_a_fault_nobody_is_named_and_the_replay_is_the_run() {
    for seed in 1..=5 {
        let (findings, cluster) = found(seed, Faults::default());
        assert_eq!(named(&findings), [""; 0], "seed {seed}");
        let (costs, truth) = (&findings.costs, cluster.step_ns());
        assert!(costs.replay_error < 1e-6, "seed {seed}: {}", costs.replay_error);
        assert!((costs.step_ns - truth).abs() < 1e-3 * truth, "seed {seed}: {} of {truth}", costs.step_ns);
    }
}

#[test]
fn two_faults_are_both_named_the_costlier_first() {
    let faults = Faults { late: Some(4), slow_link: Some((0, 2)), ..Faults::default() };
    let (findings, _) = found(1, faults);
    assert_eq!(named(&findings), ["link 0 → 2 (HCCS)", "rank 4 (host1)"]);
    // Neither computing nor in collectives are the gap at a step's begin and the short ones between tasks.
    for (rank, parts) in findings.accounts.iter().enumerate() {
        let gap = if rank == 4 { 8.3e6 } else { 0.3e6 };
        assert!((gap..gap + 0.1e6).contains(&parts.host_ns), "rank {rank}: {parts:?}");
        let steps = &findings.run.ranks[rank].steps;
        let step = steps.iter().map(|step| step.duration_ns as f64).sum::<f64>() / steps.len() as f64;
        assert!((parts.whole_ns() - step).abs() < 1.0, "rank {rank}: {parts:?}");
        assert!(parts.unaccounted_ns.abs() < 100.0, "rank {rank}: {parts:?}");
    }
}

#[test]
fn a_clock_that_is_a_minute_ahead_is_laid_upon_the_others() {
    let (findings, _) = found(1, Faults::default());
    let [first, second] = &findings.clocks.hosts[..] else { panic!("two hosts") };
    assert_eq!((first.offset_ns, first.island, second.island), (0.0, 0, 0));
    assert!((second.offset_ns - 70e9).abs() < 2e3, "{}", second.offset_ns);
}

#[test]
fn shifted_numbers_change_nothing_but_are_told() {
    let faults = Faults { ai_cpu: Some(2), ..Faults::default() };
    let folder = TempDir::new().unwrap();
    Cluster::new(1, faults).write(folder.path(), 0..RANKS, Some((6, 3)));
    let shifted = examined(folder.path());
    let (straight, _) = found(1, faults);
    assert_eq!(shifted.costs.suspects[0].saves_ns, straight.costs.suspects[0].saves_ns);
    assert_eq!((shifted.shifts[0].rank, shifted.shifts[0].added, shifted.shifts.len()), (6, -3, 1));
    assert!(shifted.losses.iter().any(|loss| loss.reason == LossReason::Shifted && loss.rank == Some(6)));
}

#[test]
fn missing_damaged_and_empty_ranks_are_named_and_the_rest_is_judged() {
    let folder = TempDir::new().unwrap();
    Cluster::new(1, Faults { slow_rank: Some(5), ..Faults::default() }).write(folder.path(), 0..7, None);
    let results = |rank: usize| {
        let name = format!("host0_{}_20260102030405{rank:03}_ascend_pt", 100 + rank);
        folder.path().join(name).join("ASCEND_PROFILER_OUTPUT")
    };
    let cut = results(1).join("communication.json");
    let text = std::fs::read(&cut).unwrap();
    std::fs::write(&cut, &text[..text.len() / 2]).unwrap();
    for entry in std::fs::read_dir(results(3)).unwrap() {
        std::fs::write(entry.unwrap().path(), "").unwrap();
    }
    let findings = examined(folder.path());
    assert_eq!(findings.discovery.missing(), [7]);
    assert_eq!(named(&findings), ["rank 5 (host1)"]);
    let lost = |rank, reason| findings.losses.iter().any(|it| it.rank == Some(rank) && it.reason == reason);
    assert!(lost(1, LossReason::Damaged) && lost(3, LossReason::Empty), "{:?}", findings.losses);
    assert!(findings.incomplete() > 0);
}

#[test]
fn the_newer_collection_of_a_rank_is_used_and_the_older_one_named() {
    let folder = TempDir::new().unwrap();
    Cluster::new(1, Faults::default()).write(folder.path(), 0..RANKS, None);
    let old = "host0_102_20260102030405002_ascend_pt";
    let again = folder.path().join("again").join(old.replace("20260102", "20260103"));
    std::fs::create_dir_all(again.join("ASCEND_PROFILER_OUTPUT")).unwrap();
    for part in ["", "ASCEND_PROFILER_OUTPUT"] {
        for entry in std::fs::read_dir(folder.path().join(old).join(part)).unwrap().map(Result::unwrap) {
            if entry.path().is_file() {
                std::fs::copy(entry.path(), again.join(part).join(entry.file_name())).unwrap();
            }
        }
    }
    let findings = examined(folder.path());
    let kept = &findings.discovery.collections[2].folder;
    assert!(kept.starts_with(folder.path().join("again")), "{}", kept.display());
    let double = findings.losses.iter().find(|loss| loss.reason == LossReason::Double).unwrap();
    assert!(double.source.ends_with(old), "{}", double.source);
}

#[test]
fn a_rank_that_was_not_recorded_is_named_with_its_cost_where_all_wait_for_it() {
    let (whole, parts, healthy) = (TempDir::new().unwrap(), TempDir::new().unwrap(), TempDir::new().unwrap());
    let cluster = |slow_rank| Cluster::new(5, Faults { slow_rank, ..Faults::default() });
    cluster(Some(5)).write(whole.path(), 0..RANKS, None);
    let others = || (0..RANKS).filter(|rank| *rank != 5);
    cluster(Some(5)).write(parts.path(), others(), None);
    cluster(None).write(healthy.path(), others(), None);
    assert_eq!(named(&examined(healthy.path())), Vec::<String>::new());
    let findings = examined(parts.path());
    assert_eq!(named(&findings), ["rank 5 (not recorded)"]);
    let saves = |findings: &Findings| findings.costs.suspects[0].saves_ns;
    let (known, told) = (saves(&examined(whole.path())), saves(&findings));
    assert!((told / known - 1.0).abs() < 0.1, "{told} ns a step, and {known} where it was recorded");
    let Cause::NotRecorded { slows, .. } = &findings.evidence[0].causes[0].cause else {
        panic!("{:?}", findings.evidence[0])
    };
    assert_eq!(slows, &["tp allReduce"]);
}

#[test]
fn a_rank_costs_the_same_whoever_else_was_not_recorded() {
    let cluster = Cluster::new(3, Faults { ai_cpu: Some(2), ..Faults::default() });
    let truth = cluster.step_ns() - Cluster::new(3, Faults::default()).step_ns();
    let recordings: [&[usize]; 5] = [&[3], &[1], &[4], &[7], &[4, 5]];
    for missing in recordings {
        let folder = TempDir::new().unwrap();
        cluster.write(folder.path(), (0..RANKS).filter(|rank| !missing.contains(rank)), None);
        let findings = examined(folder.path());
        assert_eq!(named(&findings), ["rank 2 (host0)"], "without {missing:?}");
        let saves = findings.costs.suspects[0].saves_ns;
        assert!((saves - truth).abs() < 0.1 * truth, "without {missing:?}: {saves} of {truth}");
    }
}

#[test]
fn ranks_of_one_host_with_two_clocks_are_laid_upon_one_another() {
    let faults = Faults { ai_cpu: Some(2), ..Faults::default() };
    let folder = TempDir::new().unwrap();
    Cluster::new(3, faults).write(folder.path(), [0, 1, 4, 5, 6, 7], None);
    Cluster::new(3, faults).later(3600e9).write(folder.path(), [2, 3], None);
    let findings = examined(folder.path());
    assert_eq!(findings.run.hosts, ["host0", "host1", "host0, clock 2"]);
    assert!(findings.losses.iter().any(|it| it.reason == LossReason::OwnClock && it.count == 2));
    let truth = Cluster::new(3, faults).step_ns();
    assert!((findings.costs.step_ns / truth - 1.0).abs() < 0.01, "{} of {truth}", findings.costs.step_ns);
    assert_eq!(named(&findings), ["rank 2 (host0, clock 2)"]);
}

#[test]
fn a_step_of_which_a_rank_lost_most_is_left_out_for_it() {
    let folder = TempDir::new().unwrap();
    let cluster = Cluster::new(6, Faults { slow_rank: Some(5), ..Faults::default() });
    cluster.write(folder.path(), 0..RANKS, None);
    let whole = examined(folder.path());
    // Neither stands between the slow rank and the others.
    for (rank, step) in [(2, 1), (7, 0)] {
        let name = format!("host{}_{}_20260102030405{rank:03}_ascend_pt", rank / 4, 100 + rank);
        let path = folder.path().join(name).join("ASCEND_PROFILER_OUTPUT/communication.json");
        let mut text: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let collectives = text[format!("step{step}")]["collective"].as_object_mut().unwrap();
        let mut number = 0;
        collectives.retain(|_, _| {
            number += 1;
            number % 3 == 0
        });
        std::fs::write(&path, text.to_string()).unwrap();
    }
    let findings = examined(folder.path());
    let cut =
        |rank| findings.losses.iter().find(|it| it.rank == Some(rank) && it.reason == LossReason::CutStep);
    assert_eq!([2, 7].map(|rank| cut(rank).map(|it| &*it.source)), [Some("step 1"), Some("step 0")]);
    assert_eq!(findings.losses.iter().filter(|it| it.reason == LossReason::CutStep).count(), 2);
    assert_eq!(findings.run.ranks[2].finishes.iter().map(|it| it.step).collect::<Vec<_>>(), [0]);
    assert!(
        findings.run.events.iter().all(|it| (it.rank, it.step) != (2, 1) && (it.rank, it.step) != (7, 0))
    );
    assert_eq!(named(&findings), ["rank 5 (host1)"]);
    let saves = |findings: &Findings| findings.costs.suspects[0].saves_ns;
    let (known, told) = (saves(&whole), saves(&findings));
    assert!((told / known - 1.0).abs() < 0.1, "{told} ns a step, and {known} of all");
}

#[test]
fn what_others_cost_is_the_same_where_a_rank_lost_a_whole_step() {
    let folder = TempDir::new().unwrap();
    let cluster = Cluster::new(6, Faults { slow_rank: Some(5), ..Faults::default() });
    let saves = |findings: &Findings| findings.costs.suspects[0].saves_ns;
    cluster.write(folder.path(), 0..RANKS, None);
    let known = saves(&examined(folder.path()));
    let path = "host0_102_20260102030405002_ascend_pt/ASCEND_PROFILER_OUTPUT/communication.json";
    let whole = std::fs::read_to_string(folder.path().join(path)).unwrap();
    for step in ["step0", "step1"] {
        let mut text: serde_json::Value = serde_json::from_str(&whole).unwrap();
        text.as_object_mut().unwrap().remove(step).unwrap();
        std::fs::write(folder.path().join(path), text.to_string()).unwrap();
        let findings = examined(folder.path());
        assert_eq!(named(&findings), ["rank 5 (host1)"], "{step}");
        let share = saves(&findings) / known;
        assert!((share - 1.0).abs() < 0.1, "{share} of what it costs without {step}");
    }
}

#[test]
fn a_collective_at_a_time_that_no_clock_shows_is_left_out_and_counted() {
    let folder = TempDir::new().unwrap();
    Cluster::new(6, Faults { slow_rank: Some(5), ..Faults::default() }).write(folder.path(), 0..RANKS, None);
    let path = "host0_102_20260102030405002_ascend_pt/ASCEND_PROFILER_OUTPUT/communication.json";
    let path = folder.path().join(path);
    let mut text: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let collectives = text["step0"]["collective"].as_object_mut().unwrap();
    let first = collectives.values_mut().next().unwrap();
    first["Communication Time Info"]["Start Timestamp(us)"] = 1e300.into();
    std::fs::write(&path, text.to_string()).unwrap();
    let findings = examined(folder.path());
    let impossible = findings.losses.iter().filter(|it| it.reason == LossReason::ImpossibleTime);
    assert_eq!(impossible.map(|it| (it.rank, it.count)).collect::<Vec<_>>(), [(Some(2), 1)]);
    assert_eq!(named(&findings), ["rank 5 (host1)"]);
}

#[test]
fn ranks_of_different_jobs_are_refused_with_both_sides_named() {
    let fails =
        |folder: &TempDir| examine(&[folder.path().to_owned()], &Default::default(), &|_| {}).unwrap_err();
    let write = |folder: &TempDir, seed, ranks| {
        Cluster::new(seed, Faults::default()).write(folder.path(), ranks, None)
    };
    for (of_this_job, of_another) in [("\"world_size\":8", "\"world_size\":16"), ("10.0.0.1", "10.0.0.2")] {
        let folder = TempDir::new().unwrap();
        write(&folder, 1, 0..5);
        write(&folder, 1, 5..RANKS);
        examined(folder.path());
        for rank in 5..RANKS {
            let name = format!("host1_{}_20260102030405{rank:03}_ascend_pt", 100 + rank);
            let path = folder.path().join(name).join("profiler_metadata.json");
            let text = std::fs::read_to_string(&path).unwrap();
            assert!(text.contains(of_this_job), "{text}");
            std::fs::write(path, text.replace(of_this_job, of_another)).unwrap();
        }
        let error = fails(&folder).to_string();
        let sides = match of_another {
            "10.0.0.2" => ["ranks 0, 2, 4 ", "ranks 6 "],
            _ => ["ranks 0-4 ", "ranks 5-7 "],
        };
        let is_told = error.contains("different jobs") && sides.iter().all(|side| error.contains(side));
        assert!(is_told && error.contains("host0_100_20260102030405000_ascend_pt"), "{error}");
    }
}

#[test]
fn a_rank_of_another_run_with_the_same_names_is_told() {
    let folder = TempDir::new().unwrap();
    let write = |cluster: Cluster, ranks: &[usize]| cluster.write(folder.path(), ranks.iter().copied(), None);
    write(Cluster::new(1, Faults::default()), &[0, 1, 2, 4, 5, 6, 7]);
    let strangers = |findings: &Findings| -> Vec<Option<u32>> {
        let losses = findings.losses.iter().filter(|it| it.reason == LossReason::StrangerLeftOut);
        losses.map(|it| it.rank).collect()
    };
    // A clock that is off by an hour makes nobody a stranger.
    write(Cluster::new(1, Faults::default()).later(3600e9), &[3]);
    assert_eq!(strangers(&examined(folder.path())), []);
    // It is left out, whether it was recorded before or after, so that it changes nothing of the others' run.
    let truth = Cluster::new(1, Faults::default()).step_ns();
    for later in [60e9, -60e9] {
        write(Cluster::new(2, Faults { slow_rank: Some(3), ..Faults::default() }).later(later), &[3]);
        let findings = examined(folder.path());
        assert_eq!(strangers(&findings), [Some(3)], "{:?}", findings.losses);
        assert!((findings.costs.step_ns / truth - 1.0).abs() < 0.01, "{} of {truth}", findings.costs.step_ns);
        assert_eq!(named(&findings), Vec::<String>::new());
    }
}

#[test]
fn a_folder_of_nothing_or_of_a_single_rank_says_what_was_expected() {
    let folder = TempDir::new().unwrap();
    let fails = || examine(&[folder.path().to_owned()], &Default::default(), &|_| {}).unwrap_err();
    assert!(matches!(fails(), ReachError::NoCollections(_)));
    Cluster::new(1, Faults::default()).write(folder.path(), [0], None);
    let error = fails();
    assert!(matches!(error, ReachError::NothingMatched { ranks: 1, .. }), "{error}");
    assert!(error.to_string().contains("Level1"), "{error}");
}

#[test]
fn every_order_of_folders_gives_the_same() {
    let (parts, whole) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let cluster = Cluster::new(4, Faults { slow_rank: Some(5), ..Faults::default() });
    cluster.write(whole.path(), 0..RANKS, None);
    cluster.write(&parts.path().join("b"), 0..3, None);
    cluster.write(&parts.path().join("a"), 3..RANKS, None);
    let folders = ["b", "a"].map(|name| parts.path().join(name));
    let apart = examine(&folders, &Default::default(), &|_| {}).unwrap();
    let together = examined(whole.path());
    let figures = |it: &Findings| -> Vec<(String, f64, f64)> {
        it.costs.suspects.iter().map(|one| (it.name_of(&one.who), one.saves_ns, one.alone_ns)).collect()
    };
    assert_eq!(figures(&apart), figures(&together));
    assert!(matches!(together.costs.suspects[0].who, Who::Rank(5)));
}

#[test]
fn the_chains_of_all_steps_sum_to_the_run_and_pass_whoever_costs_something() {
    let folder = TempDir::new().unwrap();
    let cluster = Cluster::new(3, Faults { slow_rank: Some(5), ..Faults::default() });
    cluster.write(folder.path(), 0..RANKS, None);
    let findings = examined(folder.path());
    let steps: BTreeSet<i32> = findings.run.steps().into_iter().collect();
    let chain = chain(&findings, &steps);
    let length = findings.costs.by_step_ns.iter().sum::<f64>();
    assert!((chain.length_ns() - length).abs() < 1e-3 * length, "{} ns, not {length}", chain.length_ns());
    let slow = chain.share_of(&Who::Rank(5), &findings.run);
    let most =
        (0..RANKS).map(|rank| chain.share_of(&Who::Rank(rank), &findings.run).time_ns).fold(0.0, f64::max);
    assert_eq!(slow.time_ns, most, "{chain:?}");
    let apart: f64 =
        steps.iter().map(|step| crate::chain(&findings, &BTreeSet::from([*step])).length_ns()).sum();
    assert!((apart - chain.length_ns()).abs() < 1.0);
    let came = arrivals(&findings, &[5], &steps);
    assert!(2 * came.last > came.of && came.waited_ns > 0.0, "{came:?}");
}

#[test]
fn tables_of_fewer_ranks_never_take_the_place_of_those_of_all() {
    let folder = TempDir::new().unwrap();
    let (first, second, set) =
        (folder.path().join("first"), folder.path().join("second"), folder.path().join("set"));
    let cluster = Cluster::new(1, Faults::default());
    cluster.write(&first, 0..RANKS / 2, None);
    cluster.write(&second, RANKS / 2..RANKS, None);
    let options =
        crate::ImportOptions { run: "run".to_owned(), shard: None, keep: crate::Keep::All, jobs: 1 };
    let import = |folder: &Path| {
        crate::import(&[folder.to_owned()], &set, &options, &Default::default(), &|_| {}).unwrap()
    };
    import(&first);
    // An importer that is held up here, and goes on when the other has written the tables over all ranks.
    let held_up = crate::set::open::Set::open(&set, None).unwrap();
    import(&second);
    let tables = || {
        let manifest = std::fs::read_to_string(set.join("_manifest/run=run/whole.json")).unwrap();
        (manifest, std::fs::read_dir(set.join("suspects/run=run")).unwrap().count())
    };
    let of_all = tables();
    crate::set::whole::write(held_up, &Default::default(), &|_| {}).unwrap();
    assert_eq!(tables(), of_all);
    let opened = crate::set::open::Set::open(&set, None).unwrap();
    assert!(crate::set::whole::find(&opened).is_some());
}

#[test]
fn tables_over_all_ranks_with_the_columns_of_an_earlier_program_are_asked_by_nobody_and_made_anew() {
    let folder = TempDir::new().unwrap();
    let (ranks, set) = (folder.path().join("ranks"), folder.path().join("set"));
    Cluster::new(1, Faults::default()).write(&ranks, 0..RANKS, None);
    imported(&ranks, &set);
    let file = set.join("_manifest/run=run/whole.json");
    let now: serde_json::Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let expected = rows::<AccountLine>(&set).len();
    assert!(expected > 0);
    // Its fingerprint is of the parts alone.
    let mut print = Fingerprint::default();
    print.add(crate::set::manifest::program().as_bytes());
    for part in &crate::Set::open(&set, None).unwrap().parts {
        print.add(format!("{:?}", (part.keep, &part.ranks)).as_bytes());
    }
    let mut earlier = now.clone();
    earlier["parts"] = print.text().into();
    std::fs::write(&file, earlier.to_string()).unwrap();
    let tables = crate::Set::open(&set, None).unwrap().tables().unwrap();
    for table in tables.iter().filter(|it| ["accounts", "instances"].contains(&it.name)) {
        assert!(table.files.is_empty() && matches!(table.absent(), SetError::NotWhole { .. }));
    }
    let questions = RunTables::of(&crate::Set::open(&set, None).unwrap()).unwrap();
    for name in ["links", "experts", "uneven", "instances", "comm", "waits"] {
        let asked = Query::named(name).unwrap().for_run(Dialect::DuckDb, &questions);
        assert!(matches!(asked, Err(SetError::NotWhole { .. })), "{name}: {asked:?}");
    }
    imported(&ranks, &set);
    let anew: serde_json::Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!(anew, now);
    assert_eq!(rows::<AccountLine>(&set).len(), expected);
    assert_eq!(std::fs::read_dir(set.join("accounts/run=run")).unwrap().count(), 1);
}

#[test]
fn the_table_of_losses_has_what_reading_and_comparing_ranks_lost() {
    let folder = TempDir::new().unwrap();
    let (ranks, set) = (folder.path().join("ranks"), folder.path().join("set"));
    let cluster = Cluster::new(1, Faults::default());
    cluster.write(&ranks, 0..RANKS, Some((6, 3)));
    std::fs::create_dir(ranks.join("host1_107_20260102030405999_ascend_pt")).unwrap();
    let options =
        crate::ImportOptions { run: "run".to_owned(), shard: None, keep: crate::Keep::All, jobs: 1 };
    crate::import(&[ranks], &set, &options, &Default::default(), &|_| {}).unwrap();
    let tables = crate::Set::open(&set, None).unwrap().tables().unwrap();
    let table = tables.into_iter().find(|table| table.name == "losses").unwrap();
    let mut found = Vec::new();
    for path in table.files {
        let mut texts = Default::default();
        for line in crate::set::file::read::<crate::set::tables::LossLine>(&path, None, &mut texts).unwrap() {
            let [source, reason] = [line.source, line.reason].map(|text| texts.get(text).to_owned());
            found.push((line.rank, reason, source, line.count));
        }
    }
    let told = examined(&set).losses.into_iter().map(|loss| {
        (loss.rank.map(|rank| rank as i32), loss.reason.name().to_owned(), loss.source, loss.count as i64)
    });
    let mut told: Vec<_> = told.collect();
    found.sort();
    told.sort();
    assert_eq!(found, told);
    assert!(found.iter().any(|it| (it.0, &*it.1) == (Some(6), "shifted")), "{found:?}");
}

/// Imports ranks into a set.
fn imported(ranks: &Path, set: &Path) {
    let options =
        crate::ImportOptions { run: "run".to_owned(), shard: None, keep: crate::Keep::All, jobs: 1 };
    crate::import(&[ranks.to_owned()], set, &options, &Default::default(), &|_| {}).unwrap();
}

/// The rows of a set's table.
fn rows<R: Row>(set: &Path) -> Vec<R> {
    let tables = crate::Set::open(set, None).unwrap().tables().unwrap();
    let table = tables.into_iter().find(|table| table.name == R::TABLE).unwrap();
    let read = |path: &Path| crate::set::file::read::<R>(path, None, &mut Default::default()).unwrap();
    table.files.iter().flat_map(|path| read(path)).collect()
}

#[test]
fn tables_of_a_set_tell_waits_for_a_rank_that_was_not_recorded_as_commands_do() {
    let folder = TempDir::new().unwrap();
    let (ranks, set) = (folder.path().join("ranks"), folder.path().join("set"));
    let cluster = Cluster::new(5, Faults { slow_rank: Some(5), ..Faults::default() });
    cluster.write(&ranks, (0..RANKS).filter(|rank| *rank != 5), None);
    imported(&ranks, &set);
    let findings = examined(&set);
    let (instances, arrivals) = (rows::<InstanceLine>(&set), rows::<ArrivalLine>(&set));
    assert!(instances.iter().any(|it| it.inferred == 1 && it.seen == 1));
    assert!(instances.iter().any(|it| it.inferred == 0 && it.complete == 1));
    for line in &instances {
        assert_eq!(line.last_rank.is_none(), line.inferred == 1, "{line:?}");
        let [told] = &crate::instances(&findings, line.group_key as u64, line.sequence)[..] else {
            panic!("{line:?}")
        };
        let sum = |part: fn(&crate::PartRow) -> f64| told.parts.iter().map(part).sum::<f64>();
        let count = told.parts.len() as f64;
        assert!((sum(|it| it.waited_ns) - line.wait_ns as f64).abs() <= count, "{line:?} {told:?}");
        let transfer = sum(|it| it.transfer_ns) / count;
        assert!((transfer - line.transfer_ns as f64).abs() <= 1.0, "{line:?} {told:?}");
        let of_parts = arrivals.iter().filter(|it| it.instance == line.instance).map(|it| it.wait_ns);
        assert_eq!(of_parts.sum::<i64>(), line.wait_ns, "{line:?}");
    }
}

#[test]
fn arrivals_have_the_places_of_collectives_where_a_step_before_is_left_out() {
    let folder = TempDir::new().unwrap();
    let (ranks, set) = (folder.path().join("ranks"), folder.path().join("set"));
    Cluster::new(3, Faults::default()).write(&ranks, 0..RANKS, None);
    let outputs = ranks.join("host1_105_20260102030405005_ascend_pt/ASCEND_PROFILER_OUTPUT");
    let file = outputs.join("communication.json");
    let mut told: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    let collectives = told["step0"]["collective"].as_object_mut().unwrap();
    let most: Vec<String> = collectives.keys().skip(3).cloned().collect();
    most.iter().for_each(|name| drop(collectives.remove(name)));
    std::fs::write(&file, told.to_string()).unwrap();
    imported(&ranks, &set);
    let of_rank_5 = |line: &&CollectiveLine| line.rank == 5;
    let collectives = rows::<CollectiveLine>(&set);
    let collectives: Vec<&CollectiveLine> = collectives.iter().filter(of_rank_5).collect();
    let arrivals = rows::<ArrivalLine>(&set);
    let arrivals: Vec<&ArrivalLine> = arrivals.iter().filter(|line| line.rank == 5).collect();
    assert!(!arrivals.is_empty() && arrivals.len() < collectives.len(), "a step is left out");
    let offsets = arrivals.iter().map(|arrival| {
        let own = collectives.iter().find(|line| line.place == arrival.place).expect("its collective");
        arrival.start_ns - own.start_ns
    });
    let (least, most) = offsets.fold((i64::MAX, i64::MIN), |(a, b), it| (a.min(it), b.max(it)));
    assert!(most - least < 100_000, "one clock beside another: {least} to {most} ns");
}

#[test]
fn tables_of_a_set_bring_the_steps_of_a_rank_together_with_those_of_the_run() {
    let folder = TempDir::new().unwrap();
    let (ranks, set) = (folder.path().join("ranks"), folder.path().join("set"));
    Cluster::new(1, Faults::default()).write(&ranks, 0..RANKS, None);
    let outputs = ranks.join("host1_105_20260102030405005_ascend_pt/ASCEND_PROFILER_OUTPUT");
    for (file, words) in [
        ("communication.json", [("\"step0\"", "\"step7\""), ("\"step1\"", "\"step8\"")]),
        ("communication_matrix.json", [("\"step0\"", "\"step7\""), ("\"step1\"", "\"step8\"")]),
        ("step_trace_time.csv", [("\n0,", "\n7,"), ("\n1,", "\n8,")]),
    ] {
        let text = std::fs::read_to_string(outputs.join(file)).unwrap();
        let renumbered = words.iter().fold(text, |text, (old, new)| text.replace(old, new));
        std::fs::write(outputs.join(file), renumbered).unwrap();
    }
    imported(&ranks, &set);
    let accounts = rows::<AccountLine>(&set);
    for rank in 0..RANKS as i32 {
        let own = |line: &&AccountLine| line.rank == rank;
        let found: Vec<_> = accounts.iter().filter(own).map(|line| (line.step, line.own_step)).collect();
        let more = if rank == 5 { 7 } else { 0 };
        assert_eq!(found, [(0, Some(more)), (1, Some(more + 1))], "rank {rank}");
    }
    // The numbers of the rank's own tables are all among those.
    let is_known =
        |rank: i32, step: i32| accounts.iter().any(|line| line.rank == rank && line.own_step == Some(step));
    let (links, steps) = (rows::<LinkLine>(&set), rows::<StepLine>(&set));
    assert!(links.iter().any(|line| line.rank == 5 && line.step == 7));
    assert!(links.iter().all(|line| is_known(line.rank, line.step)));
    assert!(steps.iter().all(|line| is_known(line.rank, line.step)));
}

#[test]
fn links_of_groups_that_a_rank_is_not_in_are_left_out_and_counted() {
    let folder = TempDir::new().unwrap();
    Cluster::new(1, Faults::default()).write(folder.path(), 0..RANKS, None);
    let matrix = |rank: usize| {
        let name = format!("host{}_{}_20260102030405{rank:03}_ascend_pt", rank / 4, 100 + rank);
        folder.path().join(name).join("ASCEND_PROFILER_OUTPUT/communication_matrix.json")
    };
    let lost = || -> Vec<(Option<u32>, u64)> {
        let losses = examined(folder.path()).losses;
        losses.iter().filter(|it| it.detail.contains("isn't in")).map(|it| (it.rank, it.count)).collect()
    };
    assert_eq!(lost(), []);
    std::fs::copy(matrix(2), matrix(5)).unwrap();
    // One other member of a pair, and three of four.
    assert_eq!(lost(), [(Some(5), 4)]);
}
