//! The weights of a network, in a `.caffemodel` of its name.
//!
//! | message | fields |
//! |---|---|
//! | net | 100 layers, 2 layers of the old form |
//! | layer | 1 name, 7 blobs (4 and 6 in the old form) |
//! | blob | 5 numbers of single precision, 7 sizes (1) |

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use bytes::Bytes;

use super::super::FormatError;
use super::super::protobuf::Message;
use crate::provenance::{Provenance, StatedValue};
use crate::tensor::map_file;

/// The numbers of each layer's blobs, where they lie in the file.
#[derive(Debug, Default)]
pub(super) struct Weights {
    blobs: HashMap<String, Vec<Bytes>>,
}

impl Weights {
    /// The weights beside a network; none where there are none.
    pub fn beside(path: &Path, provenance: &mut Provenance) -> Self {
        let Some(file) = place(path) else { return Self::default() };
        let Ok(bytes) = map_file(&file) else {
            provenance.losses.push(format!("the weights beside it cannot be read: {}", file.display()));
            return Self::default();
        };
        let (weights, fault) = Self::of(&bytes);
        if let Some(fault) = fault {
            provenance
                .losses
                .push(format!("{} is damaged: {fault}; the weights before were read", file.display()));
        }
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        provenance.state("weights of", "weights_file", StatedValue::Text(name));
        weights
    }

    /// The weights of a file, and why it ends before its time.
    pub fn of(bytes: &Bytes) -> (Self, Option<FormatError>) {
        let mut fields = Message::new(bytes, 0).fields();
        let mut blobs: HashMap<String, Vec<Bytes>> = HashMap::new();
        for (field, layer) in fields.by_ref() {
            let (name, blob) = match field {
                100 => (1, 7),
                2 => (4, 6),
                _ => continue,
            };
            let layer = layer.message();
            let numbers = layer.each().filter(|(field, _)| *field == blob).map(|(_, blob)| {
                // Numbers that aren't packed are one field each, in no order of the file that could be shared.
                bytes.slice_ref(blob.message().sub(5).bytes)
            });
            let name = String::from_utf8_lossy(layer.sub(name).bytes).into_owned();
            blobs.entry(name).or_insert_with(|| numbers.collect());
        }
        (Self { blobs }, fields.fault)
    }

    /// The numbers of a layer's blob, if there are as many bytes.
    pub fn get(&self, layer: &str, place: usize, bytes: usize) -> Option<Bytes> {
        self.blobs.get(layer)?.get(place).filter(|blob| blob.len() == bytes && bytes > 0).cloned()
    }
}

/// The file of the network's name with another ending, if it is there.
fn place(path: &Path) -> Option<PathBuf> {
    let file = path.with_extension("caffemodel");
    file.is_file().then_some(file)
}
