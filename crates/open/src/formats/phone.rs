//! The texts of the benchmarks of ncnn and MNN.

use opscope_formats::phone::{
    looks_like_layers, looks_like_networks, looks_like_nodes, read_layers, read_networks, read_nodes,
};

use crate::about::{About, FormatKind, Tried};
use crate::format::{Format, Reader};

/// The format of ncnn's layers.
pub static LAYERS: Format = Format {
    name: "a profile of ncnn",
    about: Some(&About {
        kind: FormatKind::Profile,
        from: "programs of ncnn that is built with NCNN_BENCHMARK, whose standard error is kept",
        reads: "each execution of each layer with its time, and on a CPU shapes and kernel, by inference",
        written_by: None,
        lacks: "when a layer ran: no timeline is drawn; element types",
        tried: Tried::PublicLayout,
    }),
    is: |look| looks_like_layers(&look.bytes),
    reader: Reader::Bytes(|input, _, stop| Ok(read_layers(&input, stop))),
};

/// The format of MNN's tables of nodes.
pub static NODES: Format = Format {
    name: "a profile of MNN",
    about: Some(&About {
        kind: FormatKind::Profile,
        from: "MNN's timeProfile.out",
        reads: "each node's mean time and type; where only the table of types was kept, that one",
        written_by: None,
        lacks: "when a node ran and how its times varied: no timeline is drawn; shapes; the order of nodes",
        tried: Tried::PublicLayout,
    }),
    is: |look| looks_like_nodes(&look.bytes),
    reader: Reader::Bytes(|input, _, stop| Ok(read_nodes(&input, stop))),
};

/// The format of figures of whole networks.
pub static NETWORKS: Format = Format {
    name: "a benchmark of networks by ncnn or MNN",
    about: Some(&About {
        kind: FormatKind::Profile,
        from: "benchncnn, MNN's benchmark.out",
        reads: "the shortest, mean and longest inference of each network; threads and loops",
        written_by: None,
        lacks: "layers, and single inferences",
        tried: Tried::NcnnReadme,
    }),
    is: |look| looks_like_networks(&look.bytes),
    reader: Reader::Bytes(|input, _, stop| Ok(read_networks(&input, stop))),
};
