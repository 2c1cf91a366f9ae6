//! Databases, which aren't kept because most of each is empty pages.

use opscope_cann::{export_database, to_trace, write_sample};

use super::profiles::{joined, samples};
use super::ranks::rank_databases;

/// A database of Nsight Systems with a kernel, a copy, their calls and a range.
pub(super) const NSIGHT: &str = "
    CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
    INSERT INTO StringIds VALUES (1, 'void gemm<float>(int)'), (2, 'gemm'), (3, 'cudaLaunchKernel_v7000');
    CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT, end INT, globalTid INT, correlationId INT, nameId INT);
    INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (100, 110, 83886086, 1, 3), (120, 130, 83886086, 2, 3);
    CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, deviceId INT, streamId INT, correlationId INT,
        globalPid INT, demangledName INT, shortName INT);
    INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (200, 290, 0, 7, 1, 83886080, 1, 2);
    CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INT, end INT, deviceId INT, streamId INT, correlationId INT,
        globalPid INT, bytes INT, copyKind INT);
    INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (300, 350, 0, 7, 2, 83886080, 4096, 1);
    CREATE TABLE NVTX_EVENTS (start INT, end INT, eventType INT, text TEXT, globalTid INT, textId INT, domainId INT);
    INSERT INTO NVTX_EVENTS VALUES (90, 400, 59, 'step', 83886086, NULL, 0), (95, NULL, 34, 'mark', 83886086, NULL, 0);
    CREATE TABLE TARGET_INFO_GPU (id INT, name TEXT);
    INSERT INTO TARGET_INFO_GPU VALUES (0, 'NVIDIA Test');";

/// The results of `msprof-analyze` for two ranks.
const RESULTS: &str = "
    CREATE TABLE CommunicationGroupMapping (type TEXT, rank_set TEXT, group_name TEXT, group_id TEXT, pg_name TEXT);
    INSERT INTO CommunicationGroupMapping VALUES ('collective', '(0,1)', '917', 'a', 'dp');
    CREATE TABLE ClusterCommunicationTime (step TEXT, rank_id INTEGER, hccl_op_name TEXT, group_name TEXT,
        start_timestamp REAL, elapsed_time REAL);
    INSERT INTO ClusterCommunicationTime VALUES ('step1', 0, 'hcom_allReduce__917_0_1', '917', 1000.0, 2.5),
        ('step1', 0, 'hcom_allGather__917_1_1', '917', 9000.0, 0.5),
        ('step1', 1, 'hcom_allReduce__917_0_1', '917', 3000.0, 0.5),
        ('step1', 1, 'hcom_allGather__917_1_1', '917', 9100.0, 0.4);
    CREATE TABLE ClusterCommunicationMatrix (step TEXT, hccl_op_name TEXT, group_name TEXT, src_rank REAL,
        dst_rank REAL, transport_type TEXT, op_name TEXT, transit_size REAL, transit_time REAL, bandwidth REAL);
    INSERT INTO ClusterCommunicationMatrix VALUES ('step1', 'allReduce-total', '917', 0.0, 1.0, 'HCCS', '', 8.5, 0.5, 17.0),
        ('step1', 'allReduce-total', '917', 1.0, 0.0, 'HCCS', '', 8.5, 0.6, 14.2);
    CREATE TABLE ClusterStepTraceTime (step TEXT, type TEXT, \"index\" TEXT, computing NUMERIC,
        communication_not_overlapped NUMERIC, overlapped NUMERIC, communication NUMERIC, free NUMERIC,
        preparing NUMERIC);
    INSERT INTO ClusterStepTraceTime VALUES ('1', 'rank', '0', 5000, 2900, 100, 3000, 200, 50),
        ('1', 'rank', '1', 7000, 800, 100, 900, 300, 50), ('1', 'stage', '(0, 1)', 7000, 2900, 100, 3000, 300, 50);
    CREATE TABLE ClusterBaseInfo (key TEXT, value TEXT);
    INSERT INTO ClusterBaseInfo VALUES ('distributed_args', '{\"world_size\": 2, \"data_parallel_size\": 2}');
    CREATE TABLE HostInfo (hostUid TEXT, hostName TEXT);
    INSERT INTO HostInfo VALUES ('7', 'host0');
    CREATE TABLE RankDeviceMap (rankId INTEGER, deviceId INTEGER, hostUid TEXT, profilePath TEXT);
    INSERT INTO RankDeviceMap VALUES (0, 0, '7', ''), (1, 1, '7', '');";

/// Databases of opscope and of Ascend's vendor, which aren't kept because most of each is empty pages.
///
/// # Panics
/// If they can't be made.
pub fn databases(target: &str) -> Vec<Vec<u8>> {
    if target == "rank_database" {
        return rank_databases().into_iter().take(1).collect();
    }
    let work = tempfile::tempdir().expect("a temporary directory");
    let statements = match target {
        "nsight_systems" => Some(NSIGHT),
        "rank_results" => Some(RESULTS),
        _ => None,
    };
    if let Some(statements) = statements {
        let path = work.path().join("report.sqlite");
        let database = rusqlite::Connection::open(&path).expect("space on disk");
        database.execute_batch(statements).expect("SQL");
        drop(database);
        return vec![std::fs::read(path).expect("a database")];
    }
    let databases = samples().into_iter().take(2).enumerate().filter_map(|(number, options)| {
        let profile = write_sample(&work.path().join(number.to_string()), options).expect("space on disk");
        let joined = joined(&profile);
        let path = match target {
            "sqlite" => {
                let path = work.path().join("trace.db");
                opscope_formats::sqlite::write_file(&to_trace(&joined), &path).expect("space on disk");
                Some(path)
            }
            "ascend_database" => export_database(&joined, work.path(), "0").expect("space on disk"),
            _ => None,
        };
        path.map(|path| std::fs::read(path).expect("a database"))
    });
    databases.collect()
}
