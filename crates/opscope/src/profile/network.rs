//! Profiles of several models, whose inferences are averaged as one unless one model is chosen.

use std::collections::BTreeSet;
use std::sync::Arc;

use clap::Args;
use opscope_say::say;
use opscope_trace::{ModelId, Trace};

use super::Opened;
use crate::exit::UsageError;
use crate::terminal::{Terminal, printable};

/// The option that chooses a model of a profile.
#[derive(Clone, Debug, Default, Args)]
pub struct NetworkArguments {
    /// Of a profile with several models that one whose inferences count, by its name or number
    #[arg(long, value_name = "NAME")]
    network: Option<String>,
}

impl NetworkArguments {
    /// The profile, of which the chosen model counts; where none is chosen and several would be averaged as one, that is
    /// told. `compares` says whether the mean inference is compared with another.
    ///
    /// # Errors
    /// When it has no inferences of such a model.
    pub fn choose(
        &self,
        mut opened: Opened,
        compares: bool,
        terminal: &Terminal,
    ) -> Result<Opened, UsageError> {
        let models = with_inferences(&opened);
        match &self.network {
            // Figures of whole networks stand side by side, unless they are compared.
            None if models.len() > 1 && (compares || !opened.tasks.is_empty()) => terminal.warn(&say!(
                "{}: inferences of {} models ({}) are averaged as one; --network chooses one of them",
                opened.path().display(),
                models.len(),
                names(&opened, &models)
            )),
            None => {}
            Some(wanted) => {
                let has_name =
                    |model: &&ModelId| opened.strings.get(opened.models.get(**model).name) == wanted;
                let has_number = |model: &&ModelId| opened.models.get(**model).number.to_string() == *wanted;
                let found = models.iter().find(has_name).or_else(|| models.iter().find(has_number));
                let Some(found) = found.copied() else {
                    let known = match models.is_empty() {
                        true => say!("the profile tells no inferences of models"),
                        false => say!("there are: {}", names(&opened, &models)),
                    };
                    return Err(UsageError(say!("there are no inferences of a model '{wanted}'; {known}")));
                };
                opened.count_model(found);
            }
        }
        Ok(opened)
    }
}

/// The models with measured inferences.
fn with_inferences(trace: &Trace) -> BTreeSet<ModelId> {
    let rows = trace.iterations.iter().filter(|(_, row)| !row.warm_up);
    rows.filter_map(|(_, row)| row.model).collect()
}

/// The first few names of models, or their numbers.
fn names(trace: &Trace, models: &BTreeSet<ModelId>) -> String {
    /// How many are named.
    const NAMED: usize = 8;
    let name = |model: &ModelId| {
        let row = trace.models.get(*model);
        let name = trace.strings.get(row.name);
        if name.is_empty() { row.number.to_string() } else { printable(name).into_owned() }
    };
    let mut names: Vec<String> = models.iter().take(NAMED).map(name).collect();
    if models.len() > NAMED {
        names.push("…".to_owned());
    }
    names.join(", ")
}

impl Opened {
    /// Has only the inferences of a model count.
    fn count_model(&mut self, model: ModelId) {
        if let Some(kept) = Arc::get_mut(&mut self.0) {
            kept.read.trace.counted_model = Some(model);
            kept.overview.take();
        }
    }
}
