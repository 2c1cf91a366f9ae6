//! The numbers of AscendCL's calls in the records, and their names.

/// The calls whose times are recorded: their numbers in the records, which hold the group of
/// functions in the upper half, and their names.
pub(super) const NAMES: [(u32, &str); 16] = [
    (0x1_0001, "aclopExecuteV2"),
    (0x2_0001, "aclmdlLoadFromFile"),
    (0x2_0002, "aclmdlLoadFromFileWithMem"),
    (0x2_0003, "aclmdlLoadFromMem"),
    (0x2_0004, "aclmdlLoadFromMemWithMem"),
    (EXECUTE, "aclmdlExecute"),
    (EXECUTE_ASYNC, "aclmdlExecuteAsync"),
    (0x2_0007, "aclmdlUnload"),
    (0x3_0001, "aclrtSetDevice"),
    (0x3_0002, "aclrtResetDevice"),
    (0x3_0003, "aclrtMemcpy"),
    (0x3_0004, "aclrtMemcpyAsync"),
    (SYNCHRONIZE, "aclrtSynchronizeStream"),
    (0x4_0001, "aclInit"),
    (0x4_0002, "aclFinalize"),
    (0x4_0003, "aclFinalizeReference"),
];

/// The calls that execute a model, or wait for that.
pub(super) const EXECUTE: u32 = 0x2_0005;
pub(super) const EXECUTE_ASYNC: u32 = 0x2_0006;
pub(super) const SYNCHRONIZE: u32 = 0x3_0005;
