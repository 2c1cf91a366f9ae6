//! The files that the model converter leaves beside a model: where each layer will run, and which were fused.
//!
//! | file | what is taken from it |
//! |---|---|
//! | `om.json` | sizes of buffers; of each operator its name, type and `device_type` |
//! | `layer.json` | the same of layers, and whether a layer can be dumped: fused ones can't |
//! | `shape.json` | the shapes of values |
//! | `cnn_net_tree*.dot` | how many layers and links the network has at a stage of the conversion |
//!
//! Only the names of the fields are public, not how they nest, so objects are looked for wherever
//! they stand.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::table_text::{TableError, read_small};

/// Where a layer runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// The layer's name.
    pub name: String,
    /// Its type.
    pub op_type: String,
    /// The converter's own word for where it runs, such as `CPU`.
    pub device_type: Option<String>,
    /// Whether it was fused with others so deeply that its values can't be seen.
    pub fused: Option<bool>,
}

impl Placement {
    /// Whether the layer leaves the engine for the processor.
    pub fn is_on_cpu(&self) -> bool {
        self.device_type.as_deref().is_some_and(|device| device.to_ascii_uppercase().contains("CPU"))
    }
}

/// The content of one of the files.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Layers and where they run, and sizes by name.
    Layers {
        /// The layers, in the order of the file.
        placements: Vec<Placement>,
        /// Sizes of buffers and the like, by the converter's names.
        sizes: Vec<(String, u64)>,
    },
    /// How many values have a shape.
    Shapes(usize),
    /// A stage of the network.
    Tree {
        /// How many layers it has.
        layers: usize,
        /// How many links there are between them.
        links: usize,
    },
}

/// The files that were found beside a model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SideFiles {
    /// The content of each file.
    pub files: Vec<(PathBuf, Content)>,
    /// Files that could not be read, and why.
    pub unreadable: Vec<(PathBuf, String)>,
}

impl SideFiles {
    /// Looks in a folder, or in that of a file.
    ///
    /// # Errors
    /// When the folder can't be listed; a file that can't be read is noted instead.
    pub fn beside(path: &Path) -> io::Result<Self> {
        let folder = if path.is_dir() { path } else { path.parent().unwrap_or(Path::new(".")) };
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let mut paths: Vec<PathBuf> = fs::read_dir(folder)?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.is_file())
            .collect();
        paths.sort();
        let mut found = Self::default();
        paths.iter().for_each(|path| found.add(path));
        Ok(found)
    }

    /// Reads one file, if its name is one of those that the converter gives.
    pub fn of_file(path: &Path) -> Self {
        let mut found = Self::default();
        found.add(path);
        found
    }

    fn add(&mut self, path: &Path) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        let Some(read) = reader_of(&name) else { return };
        match read_small(path).and_then(|bytes| read(&bytes)) {
            Ok(Some(content)) => self.files.push((path.to_owned(), content)),
            Ok(None) => {}
            Err(error) => self.unreadable.push((path.to_owned(), error.to_string())),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.unreadable.is_empty()
    }

    /// Where a layer of this name runs, as far as a file says so.
    pub fn placement(&self, layer: &str) -> Option<&Placement> {
        self.placements().find(|placement| placement.name == layer)
    }

    /// All layers of all files.
    pub fn placements(&self) -> impl Iterator<Item = &Placement> {
        self.files.iter().flat_map(|(_, content)| match content {
            Content::Layers { placements, .. } => placements.as_slice(),
            _ => &[],
        })
    }
}

/// Reads a file; `None` if it is another program's.
type Read = fn(&[u8]) -> Result<Option<Content>, TableError>;

fn reader_of(name: &str) -> Option<Read> {
    if name == "om.json" || name == "layer.json" || name.ends_with(".om.json") {
        Some(read_layers)
    } else if name == "shape.json" {
        Some(read_shapes)
    } else if name.starts_with("cnn_net_tree") && name.ends_with(".dot") {
        Some(|bytes| Ok(Some(read_tree(bytes))))
    } else {
        None
    }
}

fn read_layers(bytes: &[u8]) -> Result<Option<Content>, TableError> {
    let json: Value = serde_json::from_slice(bytes)?;
    let (mut placements, mut sizes) = (Vec::new(), Vec::new());
    visit(&json, &mut |object| match placement_of(object) {
        Some(placement) => placements.push(placement),
        None => {
            let named = object.iter().filter(|(name, _)| name.ends_with("_size") || *name == "batch_num");
            sizes.extend(named.filter_map(|(name, value)| Some((name.clone(), number(value)?))));
        }
    });
    // The converter of data centres (ATC) writes graphs under the same name, which tell of no device. Other programs
    // have neither layers with a device nor sizes.
    let is_graph = || json.get("graph").is_some_and(Value::is_array);
    let is_of_another = placements.is_empty() && (sizes.is_empty() || is_graph());
    Ok((!is_of_another).then_some(Content::Layers { placements, sizes }))
}

fn placement_of(object: &Map<String, Value>) -> Option<Placement> {
    let text = |name: &str| object.get(name)?.as_str().map(str::to_owned);
    let device_type = text("device_type");
    let dumps = object.get("is_dump_available").and_then(number);
    if device_type.is_none() && dumps.is_none() {
        return None;
    }
    let op_type = text("type").unwrap_or_default();
    Some(Placement { name: text("name")?, op_type, device_type, fused: dumps.map(|dumps| dumps == 0) })
}

fn read_shapes(bytes: &[u8]) -> Result<Option<Content>, TableError> {
    let json: Value = serde_json::from_slice(bytes)?;
    let count = match &json {
        Value::Object(object) => object.len(),
        Value::Array(rows) => rows.len(),
        _ => return Err(TableError::NoRows),
    };
    Ok(Some(Content::Shapes(count)))
}

/// Graphviz: a statement of a link has an arrow, one of a layer attributes in brackets.
fn read_tree(bytes: &[u8]) -> Content {
    let text = String::from_utf8_lossy(bytes);
    let (mut layers, mut links) = (0, 0);
    let of_all = |statement: &str| {
        ["node", "edge", "graph"].contains(&statement.split('[').next().unwrap_or("").trim())
    };
    for statement in statements(&text) {
        match statement.matches("->").count() {
            0 => layers += usize::from(statement.contains('[') && !of_all(&statement)),
            arrows => links += arrows,
        }
    }
    Content::Tree { layers, links }
}

/// The statements of a graph, without what stands in quotes. They end with their line, a semicolon
/// or a brace, but not within brackets.
fn statements(text: &str) -> Vec<String> {
    let mut statements = vec![String::new()];
    let (mut quoted, mut escaped, mut depth) = (false, false, 0usize);
    for letter in text.chars() {
        if quoted {
            quoted = escaped || letter != '"';
            escaped = letter == '\\' && !escaped;
            continue;
        }
        match letter {
            '"' => quoted = true,
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        let ends = depth == 0 && matches!(letter, '\n' | ';' | '{' | '}');
        match statements.last_mut() {
            Some(last) if !ends => last.push(letter),
            _ => statements.push(String::new()),
        }
    }
    statements
}

fn number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.trim().parse().ok()).or_else(|| value.as_bool().map(u64::from))
}

/// Hands every object to `look`, outer ones first. JSON that nests deeper than 128 levels was
/// refused when it was read.
fn visit(value: &Value, look: &mut impl FnMut(&Map<String, Value>)) {
    match value {
        Value::Object(object) => {
            look(object);
            object.values().for_each(|inner| visit(inner, look));
        }
        Value::Array(items) => items.iter().for_each(|inner| visit(inner, look)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_beside_a_model_tell_where_its_layers_run() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write(
            "om.json",
            r#"{"model": {"tmp_buf_size": 4096, "batch_num": "4"}, "operator": [
                {"name": "conv1", "type": "Convolution", "device_type": "ENGINE"},
                {"name": "softplus1", "type": "Softplus", "device_type": "CPU"}]}"#,
        );
        write("layer.json", r#"[{"name": "relu1", "type": "Relu", "is_dump_available": 0}]"#);
        write("shape.json", r#"{"conv1": [1, 2], "relu1": [1]}"#);
        write(
            "cnn_net_tree_adapt.dot",
            "digraph {\n a [label=\"conv1\"]\n b [label=\"relu1\"]\n a -> b\n}\n",
        );
        write("shape.txt", "no");
        write("net.om", "model");
        let found = SideFiles::beside(&folder.path().join("net.om")).unwrap();
        assert_eq!(found.files.len(), 4);
        assert!(found.placement("softplus1").unwrap().is_on_cpu());
        assert!(!found.placement("conv1").unwrap().is_on_cpu());
        assert_eq!(found.placement("relu1").unwrap().fused, Some(true));
        let contents: Vec<_> = found.files.iter().map(|(_, content)| content.clone()).collect();
        assert!(contents.contains(&Content::Tree { layers: 2, links: 1 }));
        assert!(contents.contains(&Content::Shapes(2)));
        let Content::Layers { sizes, .. } = &contents[contents.len() - 2] else { panic!("{contents:?}") };
        assert_eq!(*sizes, [("batch_num".to_owned(), 4), ("tmp_buf_size".to_owned(), 4096)]);
    }

    #[test]
    fn trees_are_counted_however_they_are_laid_out() {
        let forms = [
            "digraph {\n a [label=\"conv1\"]\n b [label=\"x -> y; {\\\"z\\\"}\"]\n c [shape=box]\n a -> b -> c\n}\n",
            "digraph net { label=\"my net\"; node [shape=box]; a [label=\"1\"]; b [label=\"2\"]; c[label=3]; a -> b; b -> c [label=\"4\"]; }",
            "digraph \"net\" {\n a [\n  label=\"1\"\n ];\n \"b\" [label=\"\"];\n c [color=red];\n a->b;b->c\n}",
        ];
        for text in forms {
            assert_eq!(read_tree(text.as_bytes()), Content::Tree { layers: 3, links: 2 }, "{text}");
        }
    }

    #[test]
    fn a_graph_of_the_other_converter_is_none_of_its_files() {
        let folder = tempfile::tempdir().unwrap();
        let graph =
            r#"{"graph": [{"name": "g", "op": [{"name": "a", "type": "Conv2D"}]}], "memory_size": 7}"#;
        fs::write(folder.path().join("om.json"), graph).unwrap();
        assert!(SideFiles::beside(folder.path()).unwrap().is_empty());
    }

    #[test]
    fn a_file_of_another_program_is_none_of_its_files_whatever_its_name() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("layer.json"), r#"{"Layers": ["conv", "relu"], "Bindings": ["x"]}"#)
            .unwrap();
        assert!(SideFiles::beside(folder.path()).unwrap().is_empty());
    }

    #[test]
    fn a_damaged_file_is_noted_and_the_others_are_read() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("om.json"), "{").unwrap();
        fs::write(folder.path().join("shape.json"), "{}").unwrap();
        let found = SideFiles::beside(folder.path()).unwrap();
        assert_eq!((found.files.len(), found.unreadable.len()), (1, 1));
    }
}
