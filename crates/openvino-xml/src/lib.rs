//! The XML that OpenVINO writes, of models and of executable graphs alike: tags where they lie in a file, their
//! attributes, and the words for element types.
//!
//! ```text
//! <net name="…" version="11"><layers>
//!   <layer id="3" name="conv" type="Convolution" version="opset1">
//!     <data strides="2, 2" … />
//!     <input><port id="0" precision="FP32"><dim>1</dim><dim>3</dim></port></input>
//!     <output><port id="1" precision="FP32"><dim>1</dim></port></output>
//!   </layer>
//! </layers><edges><edge from-layer="0" from-port="0" to-layer="3" to-port="0" /></edges></net>
//! ```
//!
//! A pull parser over the bytes: nothing is copied but texts with entities, nothing recurses, and entities that a
//! document defines are not expanded, so that neither depth nor definitions cost anything. Tags are not matched with
//! one another, because a file that is cut off is read as far as it goes.
//!
//! ```
//! use opscope_openvino_xml::Tags;
//!
//! let mut tags = Tags::of(b"<layer id='3' name=\"a &lt; b\"><dim>64</dim></layer>");
//! let layer = tags.next().unwrap();
//! assert_eq!((layer.name, layer.attribute("name").as_deref()), (&b"layer"[..], Some("a < b")));
//! assert_eq!(tags.next().unwrap().text, b"64");
//! ```

mod attributes;
mod data_type;
mod tags;

pub use attributes::Attributes;
pub use data_type::data_type;
pub use tags::{Tag, Tags};

/// Where a text begins in another.
fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}

/// Whether a file that begins so is one of OpenVINO's: a `net` with `layers`.
pub fn is_network(head: &[u8]) -> bool {
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    if !text.starts_with(b"<") {
        return false;
    }
    let mut tags = Tags::of(text).filter(|tag| !tag.name.starts_with(b"!") && !tag.name.starts_with(b"?"));
    tags.next().is_some_and(|root| root.name == b"net") && find(text, b"<layers").is_some()
}

/// Whether a network that begins so is an executable graph, whose layers say when and how long they ran.
pub fn is_executable_graph(head: &[u8]) -> bool {
    is_network(head) && find(head, b"execTimeMcs=").is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_is_told_by_its_root_and_an_executable_graph_by_its_times() {
        let model =
            b"\xef\xbb\xbf<?xml version=\"1.0\"?>\n<!-- <x> --><net name=\"n\" version=\"11\"><layers>";
        assert!(is_network(model) && !is_executable_graph(model));
        let graph = b"<net name=\"n\"><layers><layer id=\"0\"><data execTimeMcs=\"5\"/>";
        assert!(is_network(graph) && is_executable_graph(graph));
        for other in [
            &b"<net version=\"1.9\"><location/><edge id=\"a\"/></net>"[..],
            b"<eagle><net name=\"n\"/><layers/></eagle>",
            b"text <net><layers>",
            b"<net",
            b"",
        ] {
            assert!(!is_network(other), "{}", String::from_utf8_lossy(other));
        }
    }
}
