//! Losses of the profiles that a command reads: dropped and doubtful records alike. Whoever opens a profile
//! says how its losses are told, and every answer in JSON lists them.

use std::borrow::Cow;
use std::ops::Deref;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use opscope_analyze::{Overview, Scope, ScopeError};
use opscope_model::parts::Parts;
use opscope_model::{Model, ModelKind};
use opscope_open::Format;
use opscope_say::{say, sentence, word};
use opscope_trace::{Loss, Severity, Trace};
use serde_json::{Value, json};

use crate::terminal::{Terminal, printable};

/// How a command tells what a profile has lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tell {
    /// In warnings, before the answer.
    Warnings,
    /// The answer's own text has lines for them.
    InAnswer,
}

/// A profile that was read, with its losses. It derefs to its trace; clones share it.
#[derive(Clone, Debug)]
pub struct Opened(pub(super) Arc<Kept>);

#[derive(Debug)]
pub(super) struct Kept {
    pub(super) read: opscope_open::Opened,
    /// The overview of the usual scope, from when it is first asked for.
    pub(super) overview: OnceLock<Overview>,
}

impl Deref for Opened {
    type Target = Trace;

    fn deref(&self) -> &Trace {
        &self.0.read.trace
    }
}

impl Opened {
    /// A profile whose losses are told as `how` says.
    pub fn new(opened: opscope_open::Opened, how: Tell, terminal: &Terminal) -> Self {
        if how == Tell::Warnings {
            warn(&opened.trace, &opened.path, terminal);
        }
        Self(Arc::new(Kept { read: opened, overview: OnceLock::new() }))
    }

    /// The figures of a part of the profile; those of the usual part are worked out once.
    ///
    /// # Errors
    /// When the profile doesn't have the part.
    pub fn overview(&self, scope: Scope) -> Result<Cow<'_, Overview>, ScopeError> {
        if scope != Scope::default() {
            return Overview::of(self, scope).map(Cow::Owned);
        }
        if let Some(known) = self.0.overview.get() {
            return Ok(Cow::Borrowed(known));
        }
        let overview = Overview::of(self, scope)?;
        Ok(Cow::Borrowed(self.0.overview.get_or_init(|| overview)))
    }

    /// The path that was named.
    pub fn path(&self) -> &Path {
        &self.0.read.path
    }

    /// The format that it was read as.
    pub fn format(&self) -> &'static Format {
        self.0.read.format
    }

    /// The profile's own file or folder, which may lie below the path that was named.
    pub fn place(&self) -> &Path {
        &self.0.read.place
    }

    /// The files of a folder of outputs, and what became of each.
    pub fn files(&self) -> &[opscope_cann::read::SeenFile] {
        &self.0.read.files
    }

    /// Its oddities as a whole.
    pub fn remarks(&self) -> &[String] {
        &self.0.read.remarks
    }

    /// Its losses for a program, each with the path of the profile.
    pub fn losses(&self) -> Vec<Value> {
        losses_of(&self.0.read.trace, &self.0.read.path)
    }

    /// Losses of a severity in few words: at most `most` kinds, and how many more there are.
    pub fn losses_in_short(&self, severity: Severity, most: usize) -> Option<String> {
        let all: Vec<String> = losses_by_severity(self)
            .filter(|loss| loss.kind.severity() == severity)
            .map(|loss| loss_line(self, &loss))
            .collect();
        let rest = if all.len() > most { say!("; and {} more", all.len() - most) } else { String::new() };
        let named: Vec<String> = all.into_iter().take(most).collect();
        (!named.is_empty()).then(|| format!("{}{rest}", named.join(word("; "))))
    }
}

/// The losses, the gravest first.
pub fn losses_by_severity(trace: &Trace) -> impl Iterator<Item = Loss> {
    let mut losses: Vec<Loss> = trace.losses.iter().map(|(_, loss)| loss).collect();
    losses.sort_by_key(|loss| loss.kind.severity());
    losses.into_iter()
}

/// A loss in words: how often, what, and where.
pub fn loss_line(trace: &Trace, loss: &Loss) -> String {
    let detail = sentence(trace.strings.get(loss.detail));
    let detail = printable(&detail);
    let detail = if detail.is_empty() { String::new() } else { say!(" ({detail})") };
    say!("{} × {}{detail}", loss.count, word(loss.kind.sentence()))
}

/// The losses, for a program.
pub fn losses_json(trace: &Trace) -> Vec<Value> {
    let text = |id| trace.strings.get(id);
    let rows = trace.losses.iter().map(|(_, loss)| {
        json!({
            "kind": loss.kind.name(),
            "severity": loss.kind.severity().name(),
            "source": loss.kind.source().name(),
            "scope": loss.kind.scope().name(),
            "reason": loss.kind.sentence(),
            "count": loss.count,
            "detail": text(loss.detail),
        })
    });
    rows.collect()
}

/// Losses for a program, each with the path of the profile.
pub fn losses_of(trace: &Trace, path: &Path) -> Vec<Value> {
    let mut losses = losses_json(trace);
    for loss in &mut losses {
        loss["profile"] = json!(path.to_string_lossy());
    }
    losses
}

/// Warns of what was lost of the profile at a path, in few lines; mere remarks are details.
pub fn warn(trace: &Trace, path: &Path, terminal: &Terminal) {
    /// How many kinds of losses are named before it becomes tiresome.
    const NAMED: usize = 3;
    let name = path.display().to_string();
    let name = printable(&name);
    let (mut named, mut more) = (0, 0);
    for loss in losses_by_severity(trace) {
        let line = say!("{name}: {}: {}", word(loss.kind.severity().name()), loss_line(trace, &loss));
        match loss.kind.severity() {
            Severity::Remark => terminal.detail(&line),
            _ if named < NAMED => {
                named += 1;
                terminal.warn(&line);
            }
            _ => more += 1,
        }
    }
    if more > 0 {
        terminal.warn(&say!("{name}: {more} more kinds of losses; 'opscope info {name}' lists them"));
    }
}

/// The losses of a model, for a program.
pub fn losses_of_model(model: &Model) -> Vec<Value> {
    sentences_of(model).iter().map(|loss| json!({ "kind": "model", "text": loss })).collect()
}

/// The losses of a model and the nodes beside its graph, for a program that looks at the graph alone.
pub fn losses_beside_graph(model: &Model) -> Vec<Value> {
    let unseen = unseen_nodes(model).map(|text| json!({ "kind": "unseen nodes", "text": text }));
    losses_of_model(model).into_iter().chain(unseen).collect()
}

/// Warns of the losses of a model and of the nodes beside its graph, where the graph alone is looked at.
pub fn warn_beside_graph(model: &Model, path: &Path, terminal: &Terminal) {
    warn_of_model(model, path, terminal);
    if let Some(text) = unseen_nodes(model) {
        terminal.warn(&format!("{}: {}", path.display(), sentence(&text)));
    }
}

/// The nodes of an ONNX model that its graph doesn't show. Those of other formats are among their losses.
fn unseen_nodes(model: &Model) -> Option<String> {
    if model.kind() == ModelKind::Onnx { Parts::of(model.proto()).unseen() } else { None }
}

/// Warns of the losses of a model.
pub fn warn_of_model(model: &Model, path: &Path, terminal: &Terminal) {
    for loss in sentences_of(model) {
        terminal.warn(&format!("{}: {}", path.display(), printable(&sentence(&loss))));
    }
}

/// The parts of a model that can't be read: those of its file, and weights that should lie beside it.
fn sentences_of(model: &Model) -> Vec<String> {
    let weights = model.check_external_data().err().map(|error| error.to_string());
    model.provenance().losses.iter().cloned().chain(weights).collect()
}
