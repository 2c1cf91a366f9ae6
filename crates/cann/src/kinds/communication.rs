//! The kinds of things that collective operations move, and ways in which they move them.

/// Names by their numbers; the last two stand for what isn't reported, and for anything else.
pub(crate) type Names = &'static [(u16, &'static str)];

/// Stands for a kind that wasn't reported.
pub(crate) const NOT_APPLICABLE: (u16, &str) = (u16::MAX - 1, "N/A");

/// Anything that has no number of its own.
pub(crate) const OTHER: (u16, &str) = (u16::MAX, "INVALID_TYPE");

/// The element types.
pub(crate) const DATA_TYPES: Names = &[
    (0, "INT8"),
    (1, "INT16"),
    (2, "INT32"),
    (3, "FP16"),
    (4, "FP32"),
    (5, "INT64"),
    (6, "UINT64"),
    (7, "UINT8"),
    (8, "UINT16"),
    (9, "UINT32"),
    (10, "FP64"),
    (11, "BFP16"),
    (12, "INT128"),
    (14, "HIF8"),
    (15, "FP8E4M3"),
    (16, "FP8E5M2"),
    (17, "FP8E8M0"),
    (255, "RESERVED"),
    NOT_APPLICABLE,
    OTHER,
];

/// The bytes of as many elements of a numbered type; nothing for types of no known size.
pub(crate) fn bytes(data_type: u64, count: u64) -> Option<u64> {
    let size = match data_type {
        0 | 7 | 14..=17 => 1,
        1 | 3 | 8 | 11 => 2,
        2 | 4 | 9 => 4,
        5 | 6 | 10 => 8,
        12 => 16,
        _ => return None,
    };
    count.checked_mul(size)
}

/// The attributes of an operation between two ranks, as operators of traces have them: the other one by its place in
/// the group.
pub(crate) fn attributes_of_pair(peer: u64) -> String {
    format!("{{\"peer\":{peer}}}")
}

/// Whether an operation of a name is between two ranks.
pub(crate) fn is_between_two(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let word = name.strip_prefix("hcom_").unwrap_or(&name);
    ["send", "receive", "recv"].iter().any(|begin| word.starts_with(begin))
}

/// The links between ranks.
pub(crate) const LINKS: Names = &[
    (0, "ON_CHIP"),
    (1, "HCCS"),
    (2, "PCIE"),
    (3, "ROCE"),
    (4, "SIO"),
    (5, "HCCS_SW"),
    (6, "STANDARD_ROCE"),
    (7, "UB"),
    (8, "UBoE"),
    (255, "RESERVED"),
    NOT_APPLICABLE,
    OTHER,
];

/// The ways in which data move.
pub(crate) const TRANSPORTS: Names = &[
    (0, "SDMA"),
    (1, "RDMA"),
    (2, "LOCAL"),
    (3, "UB"),
    (4, "ROCE"),
    (255, "RESERVED"),
    NOT_APPLICABLE,
    OTHER,
];

/// The kinds of remote accesses.
pub(crate) const RDMA: Names =
    &[(0, "RDMA_SEND_NOTIFY"), (1, "RDMA_SEND_PAYLOAD"), (255, "RESERVED"), NOT_APPLICABLE, OTHER];

/// The ways in which data processing units reduce data.
pub(crate) const REDUCTIONS_OF_DPU: Names =
    &[(0, "SUM"), (1, "MUL"), (2, "MAX"), (3, "MIN"), (255, "RESERVED")];

/// Which side of a step a data processing unit is.
pub(crate) const ROLES_OF_DPU: Names = &[(0, "DST"), (1, "SRC"), (255, "RESERVED")];

/// The name of a number, if it has one.
pub(crate) fn known(names: Names, number: u32) -> Option<&'static str> {
    names.iter().find(|(known, _)| u32::from(*known) == number).map(|(_, name)| *name)
}

/// A name of a number, `INVALID_TYPE` if it has none.
fn name(names: Names, number: u32) -> &'static str {
    known(names, number).unwrap_or(OTHER.1)
}

/// The name of an element type.
pub(crate) fn data_type_name(number: u32) -> &'static str {
    name(DATA_TYPES, number)
}

/// The name of a link.
pub(crate) fn link_name(number: u32) -> &'static str {
    name(LINKS, number)
}

/// The name of a way in which data move.
pub(crate) fn transport_name(number: u32) -> &'static str {
    name(TRANSPORTS, number)
}

/// The way in which a unit for collective communication reduces data; `None` if it doesn't.
pub(crate) fn reduction_name(number: u8) -> Option<&'static str> {
    const NONE: u8 = 255;
    const REDUCTIONS: [&str; 4] = ["SUM", "PROD", "MAX", "MIN"];
    (number != NONE).then(|| REDUCTIONS.get(usize::from(number)).copied().unwrap_or(OTHER.1))
}
