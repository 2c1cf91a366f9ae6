use opscope_trace::{MetricId, TaskId};

use super::*;

/// Values of the same columns, in the same order, as folders of the 910B have them: the first block's vector
/// core and cube are two rows.
const BASIC: &str = "Op Name,Op Type,Task Duration(us),Block Dim,Mix Block Dim,Device Id,Pid,Current Freq,Rated Freq,\n\
    flash_attention_mix_aic,mix,7.98,2,4,3,NA,1650,1800,\n";
const PIPES: &str = "block_id,sub_block_id,aic_time(us),aic_total_cycles,aic_cube_time(us),aic_cube_ratio,aiv_time(us),aiv_total_cycles,aiv_vec_ratio,aiv_mte2_active_bw(GB/s),\n\
    0,cube0,2,3600,1.5,0.75,NA,NA,NA,NA,\n\
    1,cube0,4,7200,1,0.25,NA,NA,NA,NA,\n\
    0,vector0,NA,NA,NA,NA,3,5400,0.1,20,\n";
const CACHE: &str = "block_id,sub_block_id,aic_time(us),aic_total_cycles,aic_write_cache_hit,aic_write_cache_miss_allocate,aic_r0_read_cache_hit,aic_r0_read_cache_miss_allocate,aic_r1_read_cache_hit,aic_r1_read_cache_miss_allocate,aic_total_hit_rate(%),\n\
    0,cube0,2,3600,1,0,1,0,0,0,100,\n\
    1,cube0,4,7200,0,10,20,60,0,8,20.4,\n";

fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a new folder");
    std::fs::write(path, text).expect("a new file");
}

fn metric(trace: &Trace, task: usize, name: &str) -> Option<f64> {
    let is_of = |reading: &opscope_trace::Reading| reading.task == TaskId::from_index(task);
    let (reading, _) = trace.readings.iter().find(|(_, reading)| is_of(reading))?;
    let is_it = |id: MetricId| trace.strings.get(trace.metrics.get(id).name) == name;
    trace.readings_of(reading).find(|(id, _)| is_it(*id)).map(|(_, value)| value)
}

#[test]
fn the_blocks_of_a_launch_are_one_task_with_sums_and_weighted_means() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    write(folder.path(), "OpBasicInfo_20240603022812284.csv", BASIC);
    write(folder.path(), "PipeUtilization_20240603022812284.csv", PIPES);
    write(folder.path(), "L2Cache_20240603022812284.csv", CACHE);
    assert!(is_launch(folder.path()));
    let trace = read_folder(folder.path(), &Stop::default()).expect("a profile");
    assert_eq!(trace.tasks.len(), 1);
    let task = trace.tasks.get(TaskId::from_index(0));
    assert_eq!((task.duration, task.unit), (Nanoseconds(7_980), ExecutionUnit::MixAiCore));
    assert_eq!(trace.strings.get(task.name), "flash_attention_mix_aic");
    let device = trace.streams.get(task.stream.expect("a stream")).device;
    assert_eq!(trace.devices.get(device).number, 3);
    assert_eq!(trace.run.layer_times, TimeBasis::Unplaced);
    let value = |name| metric(&trace, 0, name);
    assert_eq!((value("block_num"), value("mix_block_num")), (Some(2.0), Some(4.0)));
    assert_eq!((value("current_frequency"), value("rated_frequency")), (Some(1650.0), Some(1800.0)));
    // Cycles add up, a time is an average block's, a ratio that of all cycles; the cube has its common name.
    assert_eq!((value("aic_total_cycles"), value("aic_time")), (Some(10_800.0), Some(3.0)));
    assert_eq!((value("aic_time_longest"), value("aic_mac_time")), (Some(4.0), Some(1.25)));
    let ratio = value("aic_mac_ratio").expect("a ratio");
    assert!((ratio - (1.5 + 1.0) / (2.0 + 4.0)).abs() < 1e-12, "{ratio}");
    assert_eq!((value("aiv_vec_ratio"), value("aiv_mte2_active_bw")), (Some(0.1), Some(20.0)));
    assert_eq!(value("aiv_time_longest"), None, "there is one vector core");
    // 22 hits of 100 accesses, not the mean of 100 % and 20.4 %.
    assert_eq!(value("aic_total_hit_rate"), Some(22.0));
    assert!(trace.losses.is_empty());
}

/// Ratios as CANN 8.5 states them: of the 10 us of the launch, of which the blocks take 2 and 4.
const PIPES_OF_LAUNCH: &str = "block_id,sub_block_id,aic_time(us),aic_total_cycles,aic_cube_time(us),aic_cube_ratio,aic_scalar_ratio,aiv_time(us),aiv_total_cycles,aiv_mte2_time(us),aiv_mte2_ratio,\n\
    0,cube0,2,3600,1.5,0.15,0.1,NA,NA,NA,NA,\n\
    1,cube0,4,7200,3,0.3,0.1,NA,NA,NA,NA,\n\
    0,vector0,NA,NA,NA,NA,NA,3,5400,2.7,0.27,\n";
/// Ratios without times, by another collection of the same launch.
const ARITHMETIC: &str = "block_id,sub_block_id,aic_time(us),aic_total_cycles,aic_cube_ratio,aic_cube_fp16_ratio,aiv_time(us),aiv_total_cycles,aiv_vec_bank_cflt_ratio,\n\
    0,cube0,2.1,3780,0.14,0.12,NA,NA,NA,\n\
    0,vector0,NA,NA,NA,NA,3.1,5580,0.06,\n";

#[test]
fn ratios_are_of_the_blocks_time_whatever_time_the_table_refers_them_to() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    write(folder.path(), "OpBasicInfo.csv", &BASIC.replace("7.98", "10.4"));
    write(folder.path(), "ArithmeticUtilization.csv", ARITHMETIC);
    write(folder.path(), "PipeUtilization.csv", PIPES_OF_LAUNCH);
    let trace = read_folder(folder.path(), &Stop::default()).expect("a profile");
    let value = |name| metric(&trace, 0, name);
    assert_eq!((value("aic_mac_ratio"), value("aiv_mte2_ratio")), (Some(0.75), Some(2.7 / 3.0)));
    // Of the others no time is told.
    assert_eq!((value("aic_scalar_ratio"), value("aic_scalar_ratio_stated")), (None, Some(0.1)));
    assert_eq!((value("aic_mac_fp16_ratio"), value("aic_mac_fp16_ratio_stated")), (None, Some(0.12)));
    assert_eq!(value("aiv_vec_bank_cflt_ratio"), None);
    assert_eq!(value("aic_mac_ratio_stated"), None, "the times of PipeUtilization tell it");
    assert_eq!((value("aic_mac_time"), value("aic_time")), (Some(2.25), Some(2.1)));
}

#[test]
fn ratios_without_times_count_where_others_beside_them_are_of_the_blocks_time() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    write(folder.path(), "OpBasicInfo.csv", BASIC);
    write(folder.path(), "ArithmeticUtilization.csv", ARITHMETIC);
    let alone = read_folder(folder.path(), &Stop::default()).expect("a profile");
    assert_eq!(metric(&alone, 0, "aiv_vec_bank_cflt_ratio"), None, "nothing tells of which time");
    write(folder.path(), "PipeUtilization.csv", PIPES);
    let trace = read_folder(folder.path(), &Stop::default()).expect("a profile");
    for (name, ratio) in [("aiv_vec_bank_cflt_ratio", 0.06), ("aic_mac_fp16_ratio", 0.12)] {
        let found = metric(&trace, 0, name).expect("a ratio");
        assert!((found - ratio).abs() < 1e-9, "{name} {found}");
    }
}

#[test]
fn hits_in_both_halves_of_the_950s_cache_are_of_all_blocks() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    write(folder.path(), "OpBasicInfo.csv", &BASIC.replace(",2,4,", ",2,NA,").replace("mix,", "vector,"));
    // Lines end without a comma there.
    let table = "block_id,sub_block_id,aiv_time(us),aiv_total_cycles,aiv_read_close_hit,aiv_read_close_miss,aiv_read_far_hit,aiv_read_far_miss,aiv_read_hit_rate(%)\n\
        0,vector0,4,7000,1,64,0,35,1\n1,vector0,4,7000,49,30,10,11,59\n";
    write(folder.path(), "L2Cache.csv", table);
    let trace = read_folder(folder.path(), &Stop::default()).expect("a profile");
    assert_eq!(metric(&trace, 0, "aiv_read_hit_rate"), Some(30.0));
    assert_eq!(metric(&trace, 0, "aiv_read_close_miss"), Some(94.0));
    assert!(trace.losses.is_empty());
}

#[test]
fn launches_below_a_folder_follow_one_another_in_the_order_of_their_numbers() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (launch, duration) in [("add/10", "3"), ("add/2", "2"), ("mul/0", "1")] {
        let text = BASIC.replace("7.98", duration).replace("flash_attention_mix_aic", &launch[..3]);
        write(folder.path(), &format!("{launch}/OpBasicInfo.csv"), &text);
        // Raw records of another layout lie beside them.
        write(folder.path(), &format!("{launch}/dump/OpBasicInfo.csv"), BASIC);
    }
    assert!(!is_launch(folder.path()) && is_folder_of_launches(folder.path()));
    let trace = read_folder(folder.path(), &Stop::default()).expect("a profile");
    let tasks: Vec<(&str, i64, i64)> = trace
        .tasks
        .iter()
        .map(|(_, task)| (trace.strings.get(task.name), task.start.0, task.duration.0))
        .collect();
    assert_eq!(tasks, [("add", 0, 2_000), ("add", 2_000, 3_000), ("mul", 5_000, 1_000)]);
    assert_eq!(trace.operators.len(), 2);
    let alone = read_launch(&folder.path().join("mul/0"), &Stop::default()).expect("a launch");
    assert_eq!(alone.tasks.len(), 1);
    assert!(read_launch(folder.path(), &Stop::default()).is_err(), "launches lie below only");
}

#[test]
fn chips_with_cores_that_are_not_parted_have_one_row_without_blocks() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    write(
        folder.path(),
        "OpBasicInfo.csv",
        "Op Name,Op Type,Task Duration(us),Block Dim,Device Id\nadd,AI Core,5,8,0\n",
    );
    write(
        folder.path(),
        "L2Cache.csv",
        "aic_time(us),aic_total_cycles,aic_l2_cache_hit_rate(%)\n4,100,37.5\n",
    );
    let trace = read_folder(folder.path(), &Stop::default()).expect("a profile");
    assert_eq!(metric(&trace, 0, "aic_l2_cache_hit_rate"), Some(37.5));
}

#[test]
fn what_is_damaged_or_cannot_be_placed_is_counted() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let two = format!("{BASIC}other,vector,N/A,1,NA,0,1,1800,1800,\ncut,vec");
    write(folder.path(), "OpBasicInfo.csv", &two);
    write(folder.path(), "PipeUtilization.csv", &PIPES.replace("0.75", "much"));
    let trace = read_folder(folder.path(), &Stop::default()).expect("a profile");
    let kinds: Vec<LossKind> = trace.losses.iter().map(|(_, loss)| loss.kind).collect();
    for kind in [LossKind::TaskWithoutTime, LossKind::ShortRow, LossKind::TextAmongMetrics] {
        assert!(kinds.contains(&kind), "{kind:?} in {kinds:?}");
    }
    // A table that ends behind the first block.
    write(folder.path(), "OpBasicInfo.csv", BASIC);
    let (first, _) = PIPES.split_once("1,cube0").expect("two blocks");
    write(folder.path(), "PipeUtilization.csv", first);
    let trace = read_folder(folder.path(), &Stop::default()).expect("a profile");
    let losses: Vec<_> = trace.losses.iter().map(|(_, loss)| (loss.kind, loss.count)).collect();
    assert_eq!(losses, [(LossKind::BlocksWithoutCounters, 1)]);
    // Which of two launches the counters belong to isn't known.
    write(folder.path(), "OpBasicInfo.csv", &format!("{BASIC}other,vector,1,1,NA,0,1,1800,1800,\n"));
    let trace = read_folder(folder.path(), &Stop::default()).expect("a profile");
    assert_eq!((trace.tasks.len(), metric(&trace, 0, "aic_time")), (2, None));
    assert_eq!(trace.losses.kind(), [LossKind::CountersOfSeveral]);
    // Counters without the operator's name and duration make no profile, and that is said.
    std::fs::remove_file(folder.path().join("OpBasicInfo.csv")).expect("a file");
    let error = read_folder(folder.path(), &Stop::default()).expect_err("no operator").to_string();
    assert!(error.contains("OpBasicInfo.csv"), "{error}");
}

#[test]
fn a_launch_without_its_basic_table_is_a_lost_operator_and_losses_name_their_file() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    write(folder.path(), "mm/0/OpBasicInfo.csv", BASIC);
    write(folder.path(), "mm/0/PipeUtilization.csv", &format!("{PIPES}1,vec"));
    write(folder.path(), "add/0/PipeUtilization.csv", PIPES);
    write(folder.path(), "add/0/L2Cache.csv", CACHE);
    let trace = read_folder(folder.path(), &Stop::default()).expect("a profile");
    let losses: Vec<_> = trace
        .losses
        .iter()
        .map(|(_, loss)| (loss.kind, loss.count, trace.strings.get(loss.detail)))
        .collect();
    let place = |parts: &[&str]| parts.join(std::path::MAIN_SEPARATOR_STR);
    let short = format!("{}, first on line 5", place(&["mm", "0", "PipeUtilization.csv"]));
    assert_eq!(
        losses,
        [(LossKind::OperatorWithoutBasics, 1, &*place(&["add", "0"])), (LossKind::ShortRow, 1, &*short),]
    );
}

#[test]
fn tables_of_whole_runs_are_no_single_operators() {
    for text in [
        "Op Name,OP Type,Task Type,Task Start Time(us),Task Duration(us),Block Dim\n",
        "block_id,sub_block_id\n",
        "name,value\n",
        "",
    ] {
        assert!(!looks_like(text.as_bytes()), "{text}");
    }
    assert!(looks_like(BASIC.as_bytes()) && looks_like(PIPES.as_bytes()) && looks_like(CACHE.as_bytes()));
}

proptest::proptest! {
    #[test]
    fn any_tables_are_read_without_panic(basic: Vec<u8>, cells in proptest::collection::vec("[0-9NAx.,e-]{0,12}", 0..20)) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let rows = cells.join("\n");
        write(folder.path(), "a.csv", &format!("{BASIC}{}", String::from_utf8_lossy(&basic)));
        write(folder.path(), "b.csv", &format!("{PIPES}{rows}\n"));
        let trace = read_folder(folder.path(), &Stop::default()).expect("the whole row");
        proptest::prop_assert!(!trace.tasks.is_empty());
    }
}
