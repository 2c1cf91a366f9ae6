//! The records of opscope's own collector in a `JOB*` directory: calls, and the layers that the board's
//! runtime reported. The layouts are those of [`opscope_cann_raw::board`].

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use opscope_cann_raw::board::{LAYER_TAG, LayerRun as LayerRecord};
use opscope_cann_raw::legacy::{AclCall, tag};
use opscope_cann_raw::{Record, host};
use opscope_trace::{LossKind, Losses, Nanoseconds};

use crate::file_name::{SampleName, TimelineName};
use crate::files::{Exports, Sheet};
use crate::job::{Job, JobError, RawKind};
use crate::op_summary::{Layer, OpSummary};
use crate::raw_calls::mode_of;
use crate::timeline::{Call, LayerRun, Unit};

/// The call during which layers run.
const EXECUTE: &str = "svp_acl_mdl_execute";

/// A layer's execution and the model that it belongs to.
struct Run {
    model: u32,
    kind: String,
    name: String,
    start: Nanoseconds,
    end: Nanoseconds,
}

/// The records of all files, before they are brought together.
#[derive(Default)]
struct Records {
    calls: Vec<Call>,
    runs: Vec<Run>,
    losses: Losses,
}

impl Exports {
    /// The calls and layers that opscope's own collector recorded; `None` where a directory has nothing
    /// of it. Damaged records are counted and the others kept.
    ///
    /// # Errors
    /// When a file can't be read.
    pub fn from_own_records(job: &Job) -> Result<Option<Self>, JobError> {
        if !job.has_own_records() {
            return Ok(None);
        }
        let mut records = Records::default();
        for file in job.files.iter().filter(|file| file.kind.is_own()) {
            let bytes = opscope_files::read_plain(&file.path)
                .map_err(|source| JobError::Io { path: file.path.clone(), source })?;
            match file.kind {
                RawKind::OwnCalls => records.read(&bytes, &file.name, Records::add_call),
                RawKind::OwnLayers => records.read(&bytes, &file.name, Records::add_run),
                _ => records.add_notes(&bytes),
            }
        }
        Ok(Some(records.join(&|model_id| job.model_of(model_id))))
    }

    /// As [`Exports::from_own_records`], of a directory that is not open yet.
    ///
    /// # Errors
    /// When it is no whole `JOB*` directory, or a file can't be read.
    pub fn open_own_records(path: &Path) -> Result<Option<Self>, JobError> {
        Self::from_own_records(&Job::open(path)?)
    }
}

impl Records {
    /// Reads a file record by record; `add` says whether one was sound.
    fn read<R: Record>(&mut self, bytes: &[u8], file: &str, add: fn(&mut Self, &R) -> bool) {
        let chunks = bytes.chunks_exact(R::SIZE);
        self.losses.count(LossKind::CutBoardRecord, file, u64::from(!chunks.remainder().is_empty()));
        let mut damaged = 0;
        for bytes in chunks {
            let sound = R::read(bytes).is_some_and(|record| add(self, &record));
            damaged += u64::from(!sound);
        }
        self.losses.count(LossKind::DamagedBoardRecord, file, damaged);
    }

    fn add_call(&mut self, record: &AclCall) -> bool {
        let is_sound = record.magic == host::MAGIC && record.tag == tag::ACL && record.begin <= record.end;
        let (Ok(begin), Ok(end), true) = (i64::try_from(record.begin), i64::try_from(record.end), is_sound)
        else {
            return false;
        };
        self.calls.push(Call {
            name: text(&record.name),
            mode: mode_of(record.kind).to_owned(),
            process: record.process.into(),
            thread: record.thread.into(),
            start: Nanoseconds(begin),
            duration: Nanoseconds(end - begin),
        });
        true
    }

    fn add_run(&mut self, record: &LayerRecord) -> bool {
        let is_sound = record.magic == host::MAGIC && record.tag == LAYER_TAG && record.begin <= record.end;
        let nanoseconds = |microseconds: u64| i64::try_from(microseconds).ok()?.checked_mul(1_000);
        let (Some(start), Some(end), true) = (nanoseconds(record.begin), nanoseconds(record.end), is_sound)
        else {
            return false;
        };
        let (kind, name) = (text(&record.kind), text(&record.name));
        self.runs.push(Run {
            model: record.model,
            kind,
            name,
            start: Nanoseconds(start),
            end: Nanoseconds(end),
        });
        true
    }

    fn add_notes(&mut self, bytes: &[u8]) {
        const MOST_NOTES: usize = 1_000;
        let text = String::from_utf8_lossy(bytes);
        for line in text.lines().filter(|line| !line.trim().is_empty()).take(MOST_NOTES) {
            self.losses.count(LossKind::NotedByCollector, line, 1);
        }
    }

    /// Brings calls and layers together: one clock, and the inference that each layer belongs to.
    /// `name_of` knows the models' names by their numbers.
    fn join(mut self, name_of: &dyn Fn(u64) -> Option<String>) -> Exports {
        self.runs.sort_by_key(|run| run.start);
        let executions: Vec<(Nanoseconds, Nanoseconds)> = (self.calls.iter())
            .filter(|call| call.name.starts_with(EXECUTE))
            .map(|call| (call.start, call.start + call.duration))
            .collect();
        self.bring_to_one_clock(&executions);
        let mut exports = Exports { losses: std::mem::take(&mut self.losses), ..Exports::default() };
        let mut models: BTreeMap<u32, Vec<Run>> = BTreeMap::new();
        for run in self.runs {
            models.entry(run.model).or_default().push(run);
        }
        for (number, runs) in models {
            let model_id = number.into();
            let model = name_of(model_id);
            let name = SampleName {
                model: model.clone().unwrap_or_else(|| UNNAMED.to_owned()),
                model_id,
                ..SampleName::default()
            };
            exports.op_summaries.push(Sheet { name, content: types_of(&runs) });
            let name = timeline_name(model_id, model);
            exports.layers.push(Sheet { name, content: layer_runs(runs, &executions) });
        }
        if !self.calls.is_empty() {
            let first = exports.layers.first().map_or(0, |sheet| sheet.name.model_id);
            exports.calls.push(Sheet { name: timeline_name(first, name_of(first)), content: self.calls });
        }
        exports
    }

    /// The runtime's clock isn't documented. Where its times lie apart from those of the calls, the
    /// first layer is laid where the first inference began.
    fn bring_to_one_clock(&mut self, executions: &[(Nanoseconds, Nanoseconds)]) {
        let (Some(first), Some(last)) = (self.runs.first(), self.runs.last()) else { return };
        let starts = executions.iter().map(|(start, _)| *start);
        let (Some(begin), Some(end)) = (starts.min(), executions.iter().map(|(_, end)| *end).max()) else {
            return;
        };
        if last.end >= begin && first.start <= end {
            return;
        }
        let shift = begin - first.start;
        for run in &mut self.runs {
            (run.start, run.end) = (run.start + shift, run.end + shift);
        }
        let place = "the layers' times are the runtime's own";
        self.losses.count(LossKind::OtherClock, place, self.runs.len() as u64);
    }
}

/// The stand-in for a model's name in names of files, where the directory doesn't tell it.
const UNNAMED: &str = "model";

fn timeline_name(model_id: u64, model: Option<String>) -> TimelineName {
    let model = model.or_else(|| Some(UNNAMED.to_owned()));
    TimelineName { device: 0, model, model_id, batches: Some(1), iteration: None }
}

/// The types of a model's layers: all that is known of them besides their times.
fn types_of(runs: &[Run]) -> OpSummary {
    let mut known = HashSet::new();
    let new = runs.iter().filter(|run| known.insert(&*run.name));
    let layers = new.enumerate().map(|(index, run)| Layer::new(index as u64, &run.name, &run.kind));
    OpSummary { layers: layers.collect(), ..OpSummary::default() }
}

/// The runs of a model, numbered anew in each inference.
fn layer_runs(runs: Vec<Run>, executions: &[(Nanoseconds, Nanoseconds)]) -> Vec<LayerRun> {
    /// The runtime's times are whole microseconds.
    const ROUNDING: Nanoseconds = Nanoseconds(1_000);
    let during = |run: &Run| {
        let before = executions.partition_point(|(start, _)| *start <= run.start + ROUNDING);
        let index = before.checked_sub(1)?;
        (run.start <= executions[index].1).then_some(index)
    };
    // Inferences that don't wait for their end can't be told by their calls; there the return of
    // the first layer begins a new one.
    let windows: Option<Vec<usize>> = runs.iter().map(during).collect();
    let first = runs.first().map(|run| run.name.clone());
    let mut task = 0;
    let mut layers: Vec<LayerRun> = Vec::with_capacity(runs.len());
    for (index, run) in runs.into_iter().enumerate() {
        let is_new = match &windows {
            Some(windows) => index > 0 && windows[index] != windows[index - 1],
            None => Some(&run.name) == first.as_ref(),
        };
        task = if is_new { 0 } else { task };
        layers.push(LayerRun {
            name: run.name,
            unit: Unit::Unknown,
            stream: 0,
            task,
            id: None,
            start: run.start,
            duration: run.end - run.start,
        });
        task += 1;
    }
    layers
}

/// A field's text up to its first zero.
fn text(field: &[u8]) -> String {
    let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
    String::from_utf8_lossy(&field[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use opscope_trace::CountedLoss;
    use proptest::prelude::*;

    use super::*;

    fn layer(name: &str, begin: u64, end: u64) -> Vec<u8> {
        let mut record = LayerRecord {
            magic: host::MAGIC,
            tag: LAYER_TAG,
            model: 3,
            begin,
            end,
            ..LayerRecord::default()
        };
        record.name[..name.len()].copy_from_slice(name.as_bytes());
        record.kind[..4].copy_from_slice(b"Conv");
        bytes_of(&record)
    }

    fn execution(begin: u64, end: u64) -> Vec<u8> {
        let mut call =
            AclCall { magic: host::MAGIC, kind: 2, begin, end, process: 7, thread: 8, ..AclCall::default() };
        call.name[..EXECUTE.len()].copy_from_slice(EXECUTE.as_bytes());
        bytes_of(&call)
    }

    fn bytes_of(record: &impl Record) -> Vec<u8> {
        let mut bytes = Vec::new();
        record.append_to(&mut bytes);
        bytes
    }

    fn exports(calls: &[Vec<u8>], layers: &[Vec<u8>]) -> Exports {
        let folder = tempfile::Builder::new().prefix("JOB").tempdir().unwrap();
        let write = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
        std::fs::create_dir(folder.path().join("data")).unwrap();
        write("info.json.0", b"{}");
        write("data/opscope.calls.7", &calls.concat());
        write("data/opscope.layers.7", &layers.concat());
        write("data/opscope.notes.7", b"model 4: refused\n");
        Exports::open_own_records(folder.path()).unwrap().expect("records of its own")
    }

    fn tasks(exports: &Exports) -> Vec<(&str, u64)> {
        exports.layers[0].content.iter().map(|run| (&*run.name, run.task)).collect()
    }

    #[test]
    fn layers_belong_to_the_inference_during_which_they_ran() {
        let calls = [execution(1_000_000, 1_900_000), execution(2_000_000, 2_900_000)];
        let layers = [("a", 1_000, 1_100), ("a", 1_200, 1_300), ("b", 1_400, 1_500), ("a", 2_100, 2_200)];
        let layers = layers.map(|(name, begin, end)| layer(name, begin, end));
        let exports = exports(&calls, &layers);
        assert_eq!(tasks(&exports), [("a", 0), ("a", 1), ("b", 2), ("a", 0)]);
        let trace = exports.to_trace();
        assert_eq!((trace.iterations.len(), trace.tasks.len(), trace.api_calls.len()), (2, 4, 2));
        assert_eq!(trace.strings.get(trace.operators.op_type()[0]), "Conv");
        let noted =
            CountedLoss { kind: LossKind::NotedByCollector, place: "model 4: refused".to_owned(), count: 1 };
        assert_eq!(exports.losses.rows(), [noted]);
    }

    #[test]
    fn without_calls_around_them_the_first_layer_begins_an_inference() {
        let layers = [layer("a", 1, 2), layer("b", 2, 3), layer("a", 5, 6)];
        assert_eq!(tasks(&exports(&[], &layers)), [("a", 0), ("b", 1), ("a", 0)]);
    }

    #[test]
    fn layers_by_another_clock_are_laid_at_the_first_inference_and_doubted() {
        let exports = exports(&[execution(5_000_000, 6_000_000)], &[layer("a", 900_000, 900_010)]);
        assert_eq!(exports.layers[0].content[0].start, Nanoseconds(5_000_000));
        assert_eq!(exports.losses.total(LossKind::OtherClock), 1);
    }

    #[test]
    fn a_cut_off_record_and_a_damaged_one_are_counted_and_the_others_kept() {
        let mut layers = vec![layer("a", 1, 2), layer("b", 9, 3), layer("c", 4, 5)];
        layers[2].truncate(100);
        let exports = exports(&[], &layers);
        assert_eq!(tasks(&exports), [("a", 0)]);
        let kinds: Vec<_> = exports.losses.rows().iter().map(|loss| (loss.kind, loss.count)).collect();
        assert_eq!(kinds[..2], [(LossKind::CutBoardRecord, 1), (LossKind::DamagedBoardRecord, 1)]);
    }

    proptest! {
        #[test]
        fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..2000), at in 0usize..384, byte in any::<u8>()) {
            let mut damaged = layer("a", 1, u64::MAX / 2_000);
            damaged[at] = byte;
            let layers = [damaged, bytes.clone()];
            let exports = exports(&[bytes], &layers);
            let _ = Exports::from_trace(&exports.to_trace());
        }
    }
}
