//! Reads a model file and checks that it is one.

use std::path::{Path, PathBuf};

use bytes::Bytes;
use prost::Message;

use crate::formats::{self, FormatError};
use crate::graph::{Graph, GraphError, NodeId, Tables, name_nodes, normal_domain};
use crate::kind_of_file::looks_like;
use crate::model_kind::ModelKind;
use crate::proto::{GraphProto, ModelProto, NodeProto, TensorProto};
use crate::provenance::{Origin, Provenance, ReadModel};
use crate::stored::external_tensors;
use crate::tensor::{ExternalFiles, TensorData, TensorError, map_file};
use crate::wire::{Fault, survey};

/// Why a model can't be used. `model` is its file, or "the model" where it never was one.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the texts say what the fields are")]
pub enum LoadError {
    #[error("cannot open {}: {source}{}", path.display(), hint(path))]
    Open { path: PathBuf, source: std::io::Error },
    #[error("{model} is not an ONNX model: {seems}")]
    NotOnnx { model: String, seems: &'static str },
    #[error(
        "{model} is not a readable ONNX model: the bytes at offset {offset} are no field of a model; \
         the file is damaged, or of another format"
    )]
    Malformed { model: String, offset: usize },
    #[error(
        "{model} is cut off: `{field}` at offset {offset} needs at least {missing} more bytes than the \
         file has; copy or download it again"
    )]
    Truncated { model: String, offset: usize, field: String, missing: u64 },
    #[error("{model} is not a readable ONNX model: {source}; the file is damaged, or of another format")]
    Decode { model: String, source: prost::DecodeError },
    #[error(
        "{model} declares so many parts that its structure alone would take more than {limit} bytes of \
         memory; no real model does"
    )]
    TooLarge { model: String, limit: u64 },
    #[error("{model} has no graph; it may be damaged, or of another format that looks like ONNX")]
    NoGraph { model: String },
    #[error(
        "{model} uses operators of the domain `{domain}` but doesn't say of which version (its \
         opset_import lacks the domain); export it again"
    )]
    NoOpset { model: String, domain: String },
    #[error("the graph of {model} cannot be used: {source}")]
    Graph { model: String, source: GraphError },
    #[error("{model} is {kind}, but cannot be read: {source}")]
    Format { model: String, kind: ModelKind, source: FormatError },
    #[error("{model} is {kind}, which can be looked at and neither run nor rewritten: {}", kind.remedy())]
    NotRunnable { model: String, kind: ModelKind },
}

impl LoadError {
    /// Whether the file may be whole, but is of a version of its format that isn't read.
    pub fn is_unread_version(&self) -> bool {
        matches!(self, Self::Format { source: FormatError::Version(_), .. })
    }
}

/// Asks about the file that a path without its first slash may have been meant for.
fn hint(path: &Path) -> String {
    let rooted = Path::new("/").join(path);
    let is_meant = path.is_relative() && !path.exists() && rooted.exists();
    if is_meant { format!("; did you mean {}?", rooted.display()) } else { String::new() }
}

/// A model: its graph made easy to use, in ONNX's messages. Those of an ONNX file are as the file has them; a
/// model of another format was read into them.
///
/// Weights are not copied: they stay in the mapped file, or in the files that the model names, until
/// [`Model::tensor_data`] asks for them.
#[derive(Debug)]
pub struct Model {
    proto: ModelProto,
    path: Option<PathBuf>,
    tables: Tables,
    files: ExternalFiles,
    kind: ModelKind,
    provenance: Provenance,
}

impl Model {
    /// Loads a model file of any kind.
    ///
    /// # Errors
    /// When the file can't be opened, is no model, is damaged, or holds a graph that can't run.
    /// Files of external data are not looked at; see [`Model::check_external_data`].
    pub fn load(path: impl AsRef<Path>) -> Result<Self, LoadError> {
        let path = path.as_ref();
        let bytes = map_file(path).map_err(|source| LoadError::Open { path: path.to_owned(), source })?;
        if let Some(kind) = ModelKind::of(head(&bytes)) {
            return Self::read(kind, &bytes, Some(path));
        }
        let proto = decode(&path.display().to_string(), bytes)?;
        // The folder of a bare file name is the empty path, which joins well.
        Self::build(proto, Some(path), path.parent())
    }

    /// Loads a model that engines can run and that can be rewritten.
    ///
    /// # Errors
    /// As [`Model::load`], and when the model is of another kind than ONNX.
    pub fn load_onnx(path: impl AsRef<Path>) -> Result<Self, LoadError> {
        let path = path.as_ref();
        let model = Self::load(path)?;
        match model.kind {
            ModelKind::Onnx => Ok(model),
            kind => Err(LoadError::NotRunnable { model: path.display().to_string(), kind }),
        }
    }

    /// Reads a model of any kind from the bytes of a file.
    ///
    /// # Errors
    /// As [`Model::load`].
    pub fn from_any_bytes(bytes: Bytes) -> Result<Self, LoadError> {
        match ModelKind::of(head(&bytes)) {
            Some(kind) => Self::read(kind, &bytes, None),
            None => Self::from_bytes(bytes, None),
        }
    }

    fn read(kind: ModelKind, bytes: &Bytes, path: Option<&Path>) -> Result<Self, LoadError> {
        let model = || path.map_or(IN_MEMORY.to_owned(), |path| path.display().to_string());
        let read = formats::read(kind, bytes, path);
        let read = read.map_err(|source| LoadError::Format { model: model(), kind, source })?;
        let ReadModel { kind, proto, provenance } = read;
        let built = Self::build(proto, path, None)?;
        Ok(Self { kind, provenance, ..built })
    }

    /// Reads an ONNX model from the bytes of a file, without copying its weights; `folder` is where
    /// external data is looked for.
    ///
    /// # Errors
    /// As [`Model::load`].
    pub fn from_bytes(bytes: Bytes, folder: Option<&Path>) -> Result<Self, LoadError> {
        Self::build(decode(IN_MEMORY, bytes)?, None, folder)
    }

    /// Takes a model that is already decoded; `folder` is where external data is looked for.
    ///
    /// # Errors
    /// When it has no graph or one that can't run, or doesn't say of which version its operators are.
    pub fn from_proto(proto: ModelProto, folder: Option<&Path>) -> Result<Self, LoadError> {
        Self::build(proto, None, folder)
    }

    fn build(proto: ModelProto, path: Option<&Path>, folder: Option<&Path>) -> Result<Self, LoadError> {
        let model = || path.map_or(IN_MEMORY.to_owned(), |path| path.display().to_string());
        let graph = proto.graph.as_ref().ok_or_else(|| LoadError::NoGraph { model: model() })?;
        if let Some(domain) = domain_without_version(&proto, graph) {
            return Err(LoadError::NoOpset { model: model(), domain: domain.to_owned() });
        }
        let tables = Tables::build(graph).map_err(|source| LoadError::Graph { model: model(), source })?;
        let (path, files) = (path.map(Path::to_owned), ExternalFiles::new(folder));
        let provenance = Provenance::default();
        Ok(Self { proto, path, tables, files, kind: ModelKind::Onnx, provenance })
    }

    /// The kind of the file that it was read from.
    pub fn kind(&self) -> ModelKind {
        self.kind
    }

    /// Facts that a file of another kind than ONNX states beside its graph.
    pub fn provenance(&self) -> &Provenance {
        &self.provenance
    }

    /// The operators before a conversion that a node stands for, where the file states them.
    pub fn origin(&self, node: NodeId) -> Option<&Origin> {
        self.provenance.origins.get(self.graph().node(node).name)
    }

    /// Whether the file doesn't have an operator, which was put in so that others mean what ONNX's do.
    pub fn is_helper(&self, name: &str) -> bool {
        self.provenance.helpers.contains(name)
    }

    /// Whether the file's operators read the results of an operator, and those that they became don't, so that it only
    /// looks as if nobody needed it.
    pub fn is_unread(&self, name: &str) -> bool {
        self.provenance.unread.contains(name)
    }

    /// The model's messages, as the file has them.
    pub fn proto(&self) -> &ModelProto {
        &self.proto
    }

    /// The file that the model was loaded from.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The folder that the model's external data are relative to.
    pub fn folder(&self) -> Option<&Path> {
        self.files.folder()
    }

    /// The model's graph.
    pub fn graph(&self) -> Graph<'_> {
        let graph = self.proto.graph.as_ref().expect("`build` refuses a model without a graph");
        Graph::new(graph, &self.tables)
    }

    /// The version of a domain's operators; ONNX's own domain is the empty string.
    pub fn opset_version(&self, domain: &str) -> Option<i64> {
        opset_version(&self.proto, domain)
    }

    /// The data of one of the model's tensors, wherever it is stored.
    ///
    /// # Errors
    /// When the file with its data is missing or too short, or the data doesn't fit the dimensions.
    pub fn tensor_data(&self, tensor: &TensorProto) -> Result<TensorData, TensorError> {
        TensorData::read(tensor, &self.files)
    }

    /// Checks that all data that lie in other files can be had, so that a missing file is told before
    /// an engine fails over it.
    ///
    /// # Errors
    /// For the first tensor whose data is missing or doesn't fit.
    pub fn check_external_data(&self) -> Result<(), TensorError> {
        external_tensors(&self.proto).iter().try_for_each(|tensor| self.tensor_data(tensor).map(drop))
    }

    /// A copy of the model in which every node has a unique name: that of [`Graph::nodes`]. An
    /// engine that loads it reports these names. Weights are shared, not copied.
    pub fn with_named_nodes(&self) -> ModelProto {
        let mut proto = self.proto.clone();
        if let Some(graph) = &mut proto.graph {
            name_nodes(graph, &self.tables);
        }
        proto
    }
}

const IN_MEMORY: &str = "the model";

/// The beginning of a file by which its kind is told.
fn head(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.len().min(ModelKind::HEAD)]
}

fn decode(model: &str, bytes: Bytes) -> Result<ModelProto, LoadError> {
    let model = || model.to_owned();
    let not_onnx = |error| match looks_like(&bytes) {
        Some(seems) => LoadError::NotOnnx { model: model(), seems },
        None => error,
    };
    if bytes.is_empty() {
        return Err(not_onnx(LoadError::NoGraph { model: model() }));
    }
    survey(&bytes).map_err(|fault| match fault {
        Fault::Truncated { offset, field, missing } => {
            let error = LoadError::Truncated { model: model(), offset, field, missing };
            // Any bytes can be read as a field that is too long; a model begins with its version.
            if bytes.first() == Some(&0x08) { error } else { not_onnx(error) }
        }
        Fault::Malformed { offset } => not_onnx(LoadError::Malformed { model: model(), offset }),
        Fault::TooLarge { limit } => LoadError::TooLarge { model: model(), limit },
    })?;
    let decoded = ModelProto::decode(bytes.clone());
    let proto = decoded.map_err(|source| not_onnx(LoadError::Decode { model: model(), source }))?;
    if proto.graph.is_none() {
        return Err(not_onnx(LoadError::NoGraph { model: model() }));
    }
    Ok(proto)
}

fn opset_version(proto: &ModelProto, domain: &str) -> Option<i64> {
    let domain = normal_domain(domain);
    let import = proto.opset_import.iter().find(|import| normal_domain(import.domain()) == domain);
    // Files of IR versions 1 and 2 have no such list; their operators are all of the first version.
    let implied = (proto.ir_version.is_some_and(|version| version < 3) && domain.is_empty()).then_some(1);
    import.map(|import| import.version()).or(implied)
}

/// The domain of ONNX's own operators, if the graph has some and the model doesn't import it, or if
/// the model imports nothing at all.
fn domain_without_version<'p>(proto: &ModelProto, graph: &'p GraphProto) -> Option<&'p str> {
    let lacks = |node: &&'p NodeProto| {
        let domain = normal_domain(node.domain());
        (domain.is_empty() || proto.opset_import.is_empty()) && opset_version(proto, domain).is_none()
    };
    graph.node.iter().find(lacks).map(|node| node.domain())
}
