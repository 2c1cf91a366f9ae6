//! The tables of the database, version 1.2.0 of the vendor's schema.

/// The kind of values in a column, as SQLite knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Whole numbers.
    Integer,
    /// Whole numbers that tell the rows apart.
    Key,
    /// Numbers of any kind; whole ones are kept as such.
    Numeric,
    /// Floating-point numbers.
    Real,
    /// Text.
    Text,
}

/// A table's name and columns.
pub(crate) struct Table {
    pub(crate) name: &'static str,
    pub(crate) columns: &'static [(&'static str, Kind)],
}

impl Table {
    /// Columns by their names, which the table must have; what a reader asks for is so checked when the
    /// program is compiled.
    pub(crate) const fn select<const N: usize>(&self, names: [&'static str; N]) -> [&'static str; N] {
        let mut place = 0;
        while place < N {
            assert!(self.has(names[place]), "the table has no such column");
            place += 1;
        }
        names
    }

    const fn has(&self, name: &str) -> bool {
        let mut place = 0;
        while place < self.columns.len() {
            if is_same(self.columns[place].0, name) {
                return true;
            }
            place += 1;
        }
        false
    }

    /// The statement that creates the table, in the reference's words.
    pub(super) fn sql(&self) -> String {
        let columns: Vec<String> =
            self.columns.iter().map(|(name, kind)| format!("{name} {}", kind.sql())).collect();
        format!("CREATE TABLE {} ({})", self.name, columns.join(", "))
    }
}

/// Whether two texts are the same, for constants.
const fn is_same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut same = 0;
    while same < one.len() && same < other.len() && one[same] == other[same] {
        same += 1;
    }
    same == one.len() && same == other.len()
}

impl Kind {
    fn sql(self) -> &'static str {
        match self {
            Self::Integer => "INTEGER",
            Self::Key => "INTEGER PRIMARY KEY",
            Self::Numeric => "NUMERIC",
            Self::Real => "REAL",
            Self::Text => "TEXT",
        }
    }
}

/// Declares tables, each as the constant of its name.
macro_rules! tables {
    ($($(#[$doc:meta])* $name:ident { $($column:tt $kind:ident),+ $(,)? })+) => {
        $(
            $(#[$doc])*
            pub(crate) const $name: Table = Table {
                name: stringify!($name),
                columns: &[$((stringify!($column), Kind::$kind)),+],
            };
        )+
    };
}

tables! {
    /// The schema's version.
    META_DATA { name Text, value Text }
    /// All texts; other tables refer to them by number.
    STRING_IDS { id Key, value Text }
    /// Begin and end of the collection; wall-clock nanoseconds.
    SESSION_TIME_INFO { startTimeNs Integer, endTimeNs Integer }
    /// The host.
    HOST_INFO { hostUid Text, hostName Text }
    /// The devices.
    NPU_INFO { id Integer, name Text }
    /// The rank that each device had; −1 for none.
    RANK_DEVICE_MAP { rankId Integer, deviceId Integer }
    /// Tasks that devices executed, then the devices' sides of marks.
    TASK {
        startNs Integer, endNs Integer, deviceId Integer, connectionId Integer, globalTaskId Integer,
        globalPid Integer, taskType Integer, contextId Integer, streamId Integer, taskId Integer,
        modelId Integer,
    }
    /// The operators of tasks.
    COMPUTE_TASK_INFO {
        name Integer, globalTaskId Key, blockNum Integer, mixBlockNum Integer, taskType Integer,
        opType Integer, inputFormats Integer, inputDataTypes Integer, inputShapes Integer,
        outputFormats Integer, outputDataTypes Integer, outputShapes Integer, attrInfo Integer,
        opState Integer, hf32Eligible Integer, gridDim Integer, blockDim Integer,
    }
    /// Kernels on AI CPUs that schedule collective operations.
    COMMUNICATION_SCHEDULE_TASK_INFO { name Integer, globalTaskId Key, taskType Integer, opType Integer }
    /// Collective operations; −1 or 65534 where something wasn't reported.
    COMMUNICATION_OP {
        opName Integer, startNs Integer, endNs Integer, connectionId Integer, groupName Integer, opId Key,
        relay Integer, retry Integer, dataType Integer, algType Integer, count Numeric, opType Integer,
        deviceId Integer, rankSize Integer,
    }
    /// Steps of collective operations: bytes, bytes a second.
    COMMUNICATION_TASK_INFO {
        name Integer, globalTaskId Integer, taskType Integer, planeId Integer, groupName Integer,
        notifyId Integer, rdmaType Integer, srcRank Integer, dstRank Integer, transportType Integer,
        size Integer, dataType Integer, linkType Integer, opId Integer, isMaster Integer, bandwidth Numeric,
    }
    /// Counters of tasks: a row for each value of each run.
    TASK_PMU_INFO { globalTaskId Integer, name Integer, value Numeric }
    /// How much cores worked over time: cycles, percent, MHz.
    SAMPLE_PMU_TIMELINE {
        deviceId Integer, timestampNs Integer, totalCycle Integer, usage Numeric, freq Numeric,
        coreId Integer, coreType Integer,
    }
    /// Totals of cores that were sampled.
    SAMPLE_PMU_SUMMARY { deviceId Integer, metric Integer, value Numeric, coreId Integer, coreType Integer }
    /// Asynchronous copies.
    MEMCPY_INFO { globalTaskId Numeric, size Numeric, memcpyOperation Numeric }
    /// Calls of the host's libraries.
    CANN_API {
        startNs Integer, endNs Integer, type Integer, globalTid Integer, connectionId Key, name Integer,
    }
    /// Ranges and marks of the program.
    MSTX_EVENTS {
        startNs Integer, endNs Integer, eventType Integer, rangeId Integer, category Integer,
        message Integer, globalTid Integer, endGlobalTid Integer, domainId Integer, connectionId Integer,
    }
    /// When devices computed and when they were free.
    OVERLAP_ANALYSIS { id Key, deviceId Integer, startNs Numeric, endNs Numeric, type Integer }
    /// The AI cores' frequency in MHz.
    AICORE_FREQ { deviceId Integer, timestampNs Numeric, freq Integer, dieId Numeric }
    /// Device memory in use, in bytes.
    NPU_MEM { type Integer, ddr Numeric, hbm Numeric, timestampNs Integer, deviceId Integer }
    /// Device memory that modules reserved, in bytes.
    NPU_MODULE_MEM { moduleId Integer, timestampNs Integer, totalReserved Numeric, deviceId Integer }
    /// Allocations and releases of device memory, in bytes.
    NPU_OP_MEM {
        operatorName Integer, addr Integer, type Integer, size Integer, timestampNs Integer,
        globalTid Integer, totalAllocate Numeric, totalReserve Numeric, component Integer, deviceId Integer,
    }
    /// Device memory of torch_npu's allocators, in bytes; only read.
    MEMORY_RECORD {
        component Integer, timestamp Integer, totalAllocated Integer, totalReserved Integer,
        totalActive Integer, streamPtr Integer, deviceId Integer,
    }
    /// Levels of accelerators.
    ACC_PMU {
        accId Integer, readBwLevel Integer, writeBwLevel Integer, readOstLevel Integer,
        writeOstLevel Integer, timestampNs Numeric, deviceId Integer,
    }
    /// Levels of bandwidth within the chip.
    SOC_BANDWIDTH_LEVEL {
        l2BufferBwLevel Integer, mataBwLevel Integer, timestampNs Numeric, deviceId Integer,
    }
    /// Traffic between dies in bytes a second.
    SIO {
        deviceId Numeric, name Numeric, timestampNs Numeric, rxReq Numeric, rxRsp Numeric, rxSnp Numeric,
        rxDat Numeric, txReq Numeric, txRsp Numeric, txSnp Numeric, txDat Numeric,
    }
    /// Bandwidth by quality of service in bytes a second; −1 where the die isn't known.
    QOS { deviceId Integer, eventName Numeric, bandwidth Numeric, timestampNs Numeric, dieId Numeric }
    /// Traffic of the HBM in bytes a second.
    HBM { deviceId Integer, timestampNs Integer, bandwidth Numeric, hbmId Integer, type Integer }
    /// Traffic of the DDR memory in bytes a second.
    DDR { deviceId Integer, timestampNs Integer, read Numeric, write Numeric }
    /// Use of the last-level cache: percent of hits, bytes a second.
    LLC {
        deviceId Integer, llcId Integer, timestampNs Integer, hitRate Real, throughput Integer, mode Integer,
    }
    /// Traffic over PCIe in bytes a second; latencies in nanoseconds.
    PCIE {
        deviceId Integer, timestampNs Integer, txPostMin Numeric, txPostMax Numeric, txPostAvg Numeric,
        txNonpostMin Numeric, txNonpostMax Numeric, txNonpostAvg Numeric, txCplMin Numeric,
        txCplMax Numeric, txCplAvg Numeric, txNonpostLatencyMin Numeric, txNonpostLatencyMax Numeric,
        txNonpostLatencyAvg Numeric, rxPostMin Numeric, rxPostMax Numeric, rxPostAvg Numeric,
        rxNonpostMin Numeric, rxNonpostMax Numeric, rxNonpostAvg Numeric, rxCplMin Numeric,
        rxCplMax Numeric, rxCplAvg Numeric,
    }
    /// Traffic over HCCS in bytes a second.
    HCCS { deviceId Integer, timestampNs Integer, txThroughput Numeric, rxThroughput Numeric }
    /// Traffic of the network card's ports.
    NIC {
        deviceId Integer, timestampNs Integer, bandwidth Integer, rxPacketRate Numeric, rxByteRate Numeric,
        rxPackets Integer, rxBytes Integer, rxErrors Integer, rxDropped Integer, txPacketRate Numeric,
        txByteRate Numeric, txPackets Integer, txBytes Integer, txErrors Integer, txDropped Integer,
        funcId Integer,
    }
    /// The traffic of network devices between samples: packets, bytes, bytes a second.
    NETDEV_STATS {
        deviceId Integer, timestampNs Integer, macTxPfcPkt Integer, macRxPfcPkt Integer, macTxByte Integer,
        macTxBandwidth Numeric, macRxByte Integer, macRxBandwidth Numeric, macTxBadByte Integer,
        macRxBadByte Integer, roceTxPkt Integer, roceRxPkt Integer, roceTxErrPkt Integer,
        roceRxErrPkt Integer, roceTxCnpPkt Integer, roceRxCnpPkt Integer, roceNewPktRty Integer,
        nicTxByte Integer, nicTxBandwidth Numeric, nicRxByte Integer, nicRxBandwidth Numeric,
    }
    /// Traffic of the unified bus in megabytes a second.
    UB { deviceId Numeric, portId Numeric, timestampNs Numeric, rxUdmaBind Numeric, txUdmaBind Numeric }
    /// Loops and waits of the units for collective communication.
    CCU { deviceId Numeric, globalTaskId Numeric, name Numeric, startNs Numeric, endNs Numeric, args Numeric }
    /// Work of data processing units; unlike elsewhere, `globalTid` is the thread's number alone.
    DPU_TASK {
        dpuDeviceId Integer, globalTid Numeric, startNs Numeric, endNs Numeric, globalTaskId Numeric,
        streamId Numeric, taskId Numeric, opName Numeric, args Numeric,
    }
    /// Use of the host's processors in percent.
    CPU_USAGE { timestampNs Numeric, cpuId Numeric, usage Numeric }
    /// Use of the host's memory in percent.
    HOST_MEM_USAGE { timestampNs Numeric, usage Numeric }
    /// Use of the host's disks: bytes a second, percent.
    HOST_DISK_USAGE { timestampNs Numeric, readRate Numeric, writeRate Numeric, usage Numeric }
    /// Use of the host's network: percent, bytes a second.
    HOST_NETWORK_USAGE { timestampNs Numeric, usage Numeric, speed Numeric }
    /// Calls of the operating system and of threads.
    OSRT_API { name Numeric, globalTid Numeric, startNs Numeric, endNs Numeric }
    /// The words for levels of calls.
    ENUM_API_TYPE { id Key, name Text }
    /// The names of modules that reserve memory.
    ENUM_MODULE { id Key, name Text }
    /// The element types of collective operations.
    ENUM_HCCL_DATA_TYPE { id Key, name Text }
    /// The links of collective operations.
    ENUM_HCCL_LINK_TYPE { id Key, name Text }
    /// How collective operations move data.
    ENUM_HCCL_TRANSPORT_TYPE { id Key, name Text }
    /// The kinds of remote accesses of collective operations.
    ENUM_HCCL_RDMA_TYPE { id Key, name Text }
    /// How ranges were opened and closed.
    ENUM_MSTX_EVENT_TYPE { id Key, name Text }
    /// The directions of copies.
    ENUM_MEMCPY_OPERATION { id Key, name Text }
    /// The kinds of stretches of time.
    ENUM_OVERLAP_ANALYSIS_TYPE { id Key, name Text }
}

/// Traffic of the ports for RDMA.
pub(crate) const ROCE: Table = Table { name: "ROCE", columns: NIC.columns };

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_those_of_the_reference() {
        assert_eq!(
            OVERLAP_ANALYSIS.sql(),
            "CREATE TABLE OVERLAP_ANALYSIS (id INTEGER PRIMARY KEY, deviceId INTEGER, startNs NUMERIC, \
             endNs NUMERIC, type INTEGER)"
        );
    }
}
