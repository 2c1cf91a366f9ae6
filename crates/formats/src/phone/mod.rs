//! The texts in which the engines of phones, ncnn and MNN, tell of their benchmarks.
//!
//! | program | text | content |
//! |---|---|---|
//! | ncnn built with `NCNN_BENCHMARK` | a line a layer: type, name, `0.52ms`, shapes | each execution of each layer |
//! | MNN's `timeProfile.out` | `Sort by node name !`, `Sort by time cost !` | the mean of each node |
//! | `benchncnn`, MNN's `benchmark.out` | `net  min = … max = … avg = …` | three figures of each network |

mod layer_lines;
mod networks;
mod node_table;

pub use layer_lines::{looks_like as looks_like_layers, read as read_layers};
pub use networks::{looks_like as looks_like_networks, read as read_networks};
pub use node_table::{looks_like as looks_like_nodes, read as read_nodes};

/// How much of a line is looked at to tell what it is.
const LONGEST: usize = 1 << 12;

/// The lines of a text, whatever ends them.
fn lines(text: &[u8]) -> impl Iterator<Item = std::borrow::Cow<'_, str>> {
    let lines = text.split(|byte| *byte == b'\n');
    lines.map(|line| String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line)))
}

/// Whether the beginning of a text has a line that is of a kind; the last line may be cut off.
fn any_line(head: &[u8], is_it: impl Fn(&str) -> bool) -> bool {
    if head.contains(&0) {
        return false;
    }
    let short = head.split(|byte| *byte == b'\n').filter(|line| line.len() < LONGEST);
    short.filter_map(|line| std::str::from_utf8(line).ok()).any(|line| is_it(line.trim_end_matches('\r')))
}

/// The number of the last line, where it has no end. These programs end every line, so that a part of it may lack.
fn open_last_line(text: &[u8]) -> Option<usize> {
    let is_open = text.last().is_some_and(|last| *last != b'\n');
    is_open.then(|| text.iter().filter(|byte| **byte == b'\n').count() + 1)
}
