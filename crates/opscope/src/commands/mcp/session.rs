//! The profiles that were opened, kept for further questions.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use anyhow::bail;
use opscope_formats::sqlite::Database;
use opscope_model::Model;
use opscope_model::stored::external_tensors;
use opscope_open::{Progress, Source, Stop, formats};

use super::folders::{Folders, Place};
use crate::profile::{self, Opened, Tell};
use crate::terminal::Terminal;

/// How many profiles are kept.
const MOST_KEPT: usize = 4;

/// All that is known of the profiles that were asked about.
pub struct Session {
    folders: Folders,
    terminal: Terminal,
    /// The last one used stands last.
    kept: Mutex<Vec<Kept>>,
}

/// A profile as it was when it was read.
#[derive(Clone)]
struct Kept {
    place: Place,
    profile: Opened,
    /// Its tables, while nobody asks them.
    tables: Arc<Mutex<Option<Database>>>,
}

/// A call that is under way: whoever made it may wish no answer any more, and may want to hear of its steps.
#[derive(Clone)]
pub struct Call {
    /// Whether nobody waits for the answer.
    pub is_over: Arc<AtomicBool>,
    /// The moment after which nobody waits, however long the work goes on; it is set once that is known.
    pub late: Arc<OnceLock<Instant>>,
    /// The listener of its steps.
    pub step: Arc<dyn Fn(&str) + Send + Sync>,
}

impl Call {
    /// Whether to go on.
    pub fn stop(&self) -> Stop {
        let is_over = Arc::clone(&self.is_over);
        Stop::when(move || is_over.load(Ordering::Relaxed))
    }
}

impl Progress for Call {
    fn step(&self, name: &str) {
        (self.step)(name);
    }

    fn stop(&self) -> Stop {
        Call::stop(self)
    }
}

impl Session {
    /// One that reads these folders and keeps nothing yet.
    pub fn new(folders: Folders, terminal: Terminal) -> Self {
        Self { folders, terminal, kept: Mutex::new(Vec::new()) }
    }

    /// The folders that may be read.
    pub fn folders(&self) -> &Folders {
        &self.folders
    }

    /// The terminal, of which only standard error is nobody else's.
    pub fn terminal(&self) -> &Terminal {
        &self.terminal
    }

    /// The profile at a path, once it is sure that all of it lies within the folders.
    ///
    /// # Errors
    /// When it doesn't, or can't be looked at.
    pub fn look(&self, named: &str) -> anyhow::Result<(Place, Source)> {
        let place = self.folders.find(named)?;
        let source = Source::at(&place.path)?;
        // Of these, files that lie beside them are read as well.
        let is_om = place.path.extension().is_some_and(|it| it.eq_ignore_ascii_case("om"));
        if is_om || source.is_other_model() || source.is(&formats::ascend_operators::FORMAT) {
            self.folders.find(&place.path.parent().unwrap_or(&place.path).to_string_lossy())?;
        }
        // The folder of a device is read as part of the profile above it.
        if let Some(above) = source.profiles().iter().find(|profile| !self.folders.holds(&profile.path)) {
            bail!(
                "{named}: this is a part of {}, which lies outside of what may be read",
                above.path.display()
            );
        }
        Ok((place, source))
    }

    /// A profile, read now or kept from an earlier call if nothing of it has changed since.
    ///
    /// # Errors
    /// When it lies outside, or can't be read.
    pub fn profile(&self, named: &str, call: &Call) -> anyhow::Result<Opened> {
        Ok(self.kept(named, call)?.profile)
    }

    /// The same of what was looked at.
    ///
    /// # Errors
    /// When it can't be read.
    pub fn read(&self, place: Place, source: Source, call: &Call) -> anyhow::Result<Opened> {
        Ok(self.keep(place, source, call)?.profile)
    }

    fn kept(&self, named: &str, call: &Call) -> anyhow::Result<Kept> {
        let (place, source) = self.look(named)?;
        self.keep(place, source, call)
    }

    fn keep(&self, place: Place, source: Source, call: &Call) -> anyhow::Result<Kept> {
        if let Some(kept) = self.known(&place) {
            return Ok(kept);
        }
        if source.is_model() {
            bail!(
                "{}: this is a model, not a profile; the tool `model` is about models",
                place.path.display()
            );
        }
        let profile = profile::read_telling(source, Tell::InAnswer, call, &self.terminal)?;
        let kept = Kept { place, profile, tables: Arc::default() };
        let mut all = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|known| known.place.path != kept.place.path);
        if all.len() >= MOST_KEPT {
            all.remove(0);
        }
        all.push(kept.clone());
        Ok(kept)
    }

    fn known(&self, place: &Place) -> Option<Kept> {
        let mut all = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let at = all.iter().position(|known| known.place == *place)?;
        let found = all.remove(at);
        all.push(found.clone());
        Some(found)
    }

    /// Asks the tables of a profile; a database of opscope's own is asked as it is.
    ///
    /// # Errors
    /// When it can't be read, and those of `ask`.
    pub fn ask_tables<A>(
        &self,
        named: &str,
        stop: &Stop,
        call: &Call,
        ask: impl FnOnce(&Database, &Path) -> anyhow::Result<A>,
    ) -> anyhow::Result<A> {
        let (place, source) = self.look(named)?;
        if source.is(&formats::opscope_database::FORMAT) && !source.is_compressed() {
            return ask(&Database::open(&place.path)?.end_when(stop)?, &place.path);
        }
        let kept = self.keep(place, source, call)?;
        // Whoever asks has them alone: one that SQLite doesn't end soon keeps nobody else waiting.
        let taken = kept.tables.lock().unwrap_or_else(PoisonError::into_inner).take();
        let tables = match taken {
            Some(tables) => tables,
            None => Database::of_trace(&kept.profile)?,
        };
        let tables = tables.end_when(stop)?;
        let answer = ask(&tables, kept.profile.path());
        *kept.tables.lock().unwrap_or_else(PoisonError::into_inner) = Some(tables);
        answer
    }

    /// A model, of which all files of weights lie within the folders.
    ///
    /// # Errors
    /// When it lies outside, or can't be read.
    pub fn model(&self, named: &str) -> anyhow::Result<(Place, Model)> {
        let (place, source) = self.look(named)?;
        if !source.is_model() {
            bail!("{}: this is {source}, not a model", place.path.display());
        }
        let model = Model::load(&place.path)?;
        let folder = place.path.parent().unwrap_or(&place.path);
        for tensor in external_tensors(model.proto()) {
            let places = tensor.external_data.iter().filter(|entry| entry.key() == "location");
            for file in places.filter_map(|entry| folder.join(entry.value()).canonicalize().ok()) {
                if !self.folders.holds(&file) {
                    bail!(
                        "{}: its weights lie in {}, outside of what may be read",
                        place.path.display(),
                        file.display()
                    );
                }
            }
        }
        Ok((place, model))
    }
}
