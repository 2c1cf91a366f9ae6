//! The names of dumped graphs, which tell the pass of the compiler and its place among the others.
//!
//! `ge_onnx_00000078_graph_0_PreRunAfterBuild.pbtxt`: the form, the number of the dump, the number of the graph
//! (which some lack), and the pass.

use crate::provenance::{Provenance, StatedValue};

/// A name in its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dump<'n> {
    pub number: u64,
    pub graph: Option<u64>,
    pub pass: &'n str,
}

impl<'n> Dump<'n> {
    /// The parts of a file's name; `None` for one that isn't made so.
    pub fn of(name: &'n str) -> Option<Self> {
        let (stem, _) = name.rsplit_once('.')?;
        let rest = ["ge_onnx_", "ge_proto_"].iter().find_map(|form| stem.strip_prefix(form))?;
        let (number, rest) = rest.split_once('_')?;
        let number = number.parse().ok()?;
        let graph = rest.strip_prefix("graph_").and_then(|rest| {
            let (graph, pass) = rest.split_once('_')?;
            Some((graph.parse().ok()?, pass))
        });
        let (graph, pass) = graph.map_or((None, rest), |(graph, pass)| (Some(graph), pass));
        (!pass.is_empty()).then_some(Self { number, graph, pass })
    }

    /// Puts the parts into facts.
    pub fn state(self, provenance: &mut Provenance) {
        provenance.state_text("pass", "compiler_pass", self.pass);
        provenance.state("dump", "dump_number", StatedValue::Count(self.number));
        if let Some(graph) = self.graph {
            provenance.state("of graph", "graph_number", StatedValue::Count(graph));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_apart_with_and_without_the_number_of_the_graph() {
        for (name, number, graph, pass) in [
            ("ge_onnx_00000078_graph_0_PreRunAfterBuild.pbtxt", 78, Some(0), "PreRunAfterBuild"),
            ("ge_proto_00000005_graph_11_Optimize_Sub.txt", 5, Some(11), "Optimize_Sub"),
            ("ge_proto_00026_afterUBMatch.txt", 26, None, "afterUBMatch"),
            ("ge_onnx_1_graph_x.pbtxt", 1, None, "graph_x"),
        ] {
            assert_eq!(Dump::of(name), Some(Dump { number, graph, pass }), "{name}");
        }
        for name in ["model.pbtxt", "ge_onnx_", "ge_onnx_1.pbtxt", "ge_proto_x_y.txt", "ge_proto_1_.txt"] {
            assert_eq!(Dump::of(name), None, "{name}");
        }
    }
}
