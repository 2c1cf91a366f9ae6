//! The tables that give names to numbers.

use opscope_cann_raw::host::level;

use crate::database::schema::{self, Table};
use crate::facts::copies;
use crate::kinds::communication;

/// The number for anything that has none of its own.
const OTHER: u16 = u16::MAX;

/// A table and its rows, by their number.
pub(super) type Names = (Table, &'static [(u16, &'static str)]);

/// All of them.
pub(super) const ALL: [Names; 9] = [
    (
        schema::ENUM_API_TYPE,
        &[
            (level::RUNTIME, "runtime"),
            (level::COMMUNICATION, "communication"),
            (level::NODE, "node"),
            (level::MODEL, "model"),
            (level::ACL, "acl"),
        ],
    ),
    (schema::ENUM_MODULE, MODULES),
    (schema::ENUM_HCCL_DATA_TYPE, communication::DATA_TYPES),
    (schema::ENUM_HCCL_LINK_TYPE, communication::LINKS),
    (schema::ENUM_HCCL_TRANSPORT_TYPE, communication::TRANSPORTS),
    (schema::ENUM_HCCL_RDMA_TYPE, communication::RDMA),
    (schema::ENUM_MSTX_EVENT_TYPE, &[(0, "marker"), (1, "push/pop"), (2, "start/end"), (3, "marker_ex")]),
    (schema::ENUM_MEMCPY_OPERATION, copies::DIRECTIONS),
    (
        schema::ENUM_OVERLAP_ANALYSIS_TYPE,
        &[
            (0, "COMPUTE"),
            (1, "COMMUNICATION"),
            (2, "COMM_NOT_OVERLAP_COMP"),
            (3, "FREE"),
            (OTHER, "RESERVE"),
        ],
    ),
];

const MODULES: &[(u16, &str)] = &[
    (0, "SLOG"),
    (1, "IDEDD"),
    (2, "SCC"),
    (3, "HCCL"),
    (4, "FMK"),
    (5, "CCU"),
    (6, "DVPP"),
    (7, "RUNTIME"),
    (8, "CCE"),
    (9, "HDC"),
    (10, "DRV"),
    (11, "NET"),
    (22, "DEVMM"),
    (23, "KERNEL"),
    (24, "LIBMEDIA"),
    (25, "CCECPU"),
    (27, "ROS"),
    (28, "HCCP"),
    (29, "ROCE"),
    (30, "TEFUSION"),
    (31, "PROFILING"),
    (32, "DP"),
    (33, "APP"),
    (34, "TS"),
    (35, "TSDUMP"),
    (36, "AICPU"),
    (37, "LP"),
    (38, "TDT"),
    (39, "FE"),
    (40, "MD"),
    (41, "MB"),
    (42, "ME"),
    (43, "IMU"),
    (44, "IMP"),
    (45, "GE"),
    (47, "CAMERA"),
    (48, "ASCENDCL"),
    (49, "TEEOS"),
    (50, "ISP"),
    (51, "SIS"),
    (52, "HSM"),
    (53, "DSS"),
    (54, "PROCMGR"),
    (55, "BBOX"),
    (56, "AIVECTOR"),
    (57, "TBE"),
    (58, "FV"),
    (60, "TUNE"),
    (61, "HSS"),
    (62, "FFTS"),
    (63, "OP"),
    (64, "UDF"),
    (65, "HICAID"),
    (66, "TSYNC"),
    (67, "AUDIO"),
    (68, "TPRT"),
    (69, "ASCENDCKERNEL"),
    (70, "ASYS"),
    (71, "ATRACE"),
    (72, "RTC"),
    (73, "SYSMONITOR"),
    (74, "AMP"),
    (75, "ADETECT"),
    (76, "MBUFF"),
    (77, "CUSTOM"),
];
