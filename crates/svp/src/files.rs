//! All exported files that a directory holds, or one alone.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use opscope_formats::reading::Stop;
use opscope_trace::{LossKind, Losses};

use crate::file_name::{FileName, SampleName, TimelineName};
use crate::op_summary::OpSummary;
use crate::statistic::{AclStatistic, OpStatistic};
use crate::table_text::{TableError, TextTable, read_small};
use crate::timeline::{Call, LayerRun, Timeline, TimelineError};

/// Where the vendor's tools put their files below a `JOB*` directory.
const FOLDERS: [&str; 2] = ["summary", "timeline"];

/// Why exported files could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
    /// Whoever asked for them wants them no more.
    #[error("{}: the reading was stopped", path.display())]
    Stopped {
        /// The file or directory.
        path: PathBuf,
    },
    /// None of the files is one of those that the vendor's tools export.
    #[error(
        "{}: none of the files that the board's tools export: op_summary_*, op_statistic_*, acl_statistic_*, \
         task_time_*, acl_*",
        path.display()
    )]
    NoExports {
        /// The file or directory.
        path: PathBuf,
    },
    /// A table that could not be read.
    #[error("{}: {source}", path.display())]
    Table {
        /// The file.
        path: PathBuf,
        /// The fault in it.
        source: TableError,
    },
    /// A timeline that could not be read.
    #[error("{}: {source}", path.display())]
    Timeline {
        /// The file.
        path: PathBuf,
        /// The fault in it.
        source: TimelineError,
    },
}

/// A file and what its name says.
#[derive(Clone, Debug, PartialEq)]
pub struct Sheet<Name, Content> {
    /// The parts of the file's name.
    pub name: Name,
    /// The file's content.
    pub content: Content,
}

/// All exported files of a directory, or those that a trace makes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Exports {
    /// Tables of layers, one for each sampled inference.
    pub op_summaries: Vec<Sheet<SampleName, OpSummary>>,
    /// Totals of layers.
    pub op_statistics: Vec<Sheet<FileName, OpStatistic>>,
    /// Totals of calls.
    pub acl_statistics: Vec<Sheet<FileName, AclStatistic>>,
    /// Timelines of layers.
    pub layers: Vec<Sheet<TimelineName, Vec<LayerRun>>>,
    /// Timelines of calls.
    pub calls: Vec<Sheet<TimelineName, Vec<Call>>>,
    /// The parts that were dropped or doubted while they were read.
    pub losses: Losses,
}

impl Exports {
    /// Reads a file; or all files of a directory, and of `summary/` and `timeline/` below it. A
    /// damaged file among several is counted in [`Exports::losses`].
    ///
    /// # Errors
    /// When nothing can be read.
    pub fn read(path: &Path) -> Result<Self, ReadError> {
        Self::read_until(path, &Stop::default())
    }

    /// As [`Exports::read`], until `stop` is wanted.
    ///
    /// # Errors
    /// As [`Exports::read`], and where it was stopped.
    pub fn read_until(path: &Path, stop: &Stop) -> Result<Self, ReadError> {
        let mut exports = Self::default();
        if path.is_file() {
            exports.read_file(path)?;
            return Ok(exports);
        }
        let files = files_of(path)?;
        let mut first_error = None;
        let mut seen = HashSet::new();
        for file in &files {
            // The same table as CSV and as JSON, or in two folders, counts once.
            if !seen.insert(identity(file)) {
                continue;
            }
            if stop.is_wanted() {
                return Err(ReadError::Stopped { path: path.to_owned() });
            }
            if let Err(error) = exports.read_file(file) {
                exports.losses.count(LossKind::UnreadableBoardFile, &error.to_string(), 1);
                first_error = first_error.or(Some(error));
            }
        }
        let found = exports.len();
        match first_error {
            Some(error) if found == 0 => Err(error),
            None if found == 0 => Err(ReadError::NoExports { path: path.to_owned() }),
            _ => {
                exports.note_doubts();
                Ok(exports)
            }
        }
    }

    /// How many files there are.
    pub fn len(&self) -> usize {
        let tables = self.op_summaries.len() + self.op_statistics.len() + self.acl_statistics.len();
        tables + self.layers.len() + self.calls.len()
    }

    /// Whether there is no file.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn read_file(&mut self, path: &Path) -> Result<(), ReadError> {
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        let no_exports = || ReadError::NoExports { path: path.to_owned() };
        let in_table = |source| ReadError::Table { path: path.to_owned(), source };
        let name = FileName::parse(&file).ok_or_else(no_exports)?;
        let is_timeline = matches!(name, FileName::TaskTime(_) | FileName::Acl(_));
        match name {
            FileName::TaskTime(name) | FileName::Acl(name) if file.ends_with(".json") => {
                let bytes = read_small(path).map_err(in_table)?;
                let timeline = Timeline::read(&bytes)
                    .map_err(|source| ReadError::Timeline { path: path.to_owned(), source })?;
                self.losses.count(LossKind::BoardEventWithoutTime, &file, timeline.dropped);
                self.add_timeline(name, timeline, file.starts_with("acl_"));
            }
            name => {
                let table = TextTable::read_file(path).map_err(in_table)?;
                // The guide's example has tables under the names of timelines.
                debug_assert!(!is_timeline || file.ends_with(".csv"));
                self.add_table(name, &table, &file).map_err(in_table)?;
            }
        }
        Ok(())
    }

    fn add_timeline(&mut self, name: TimelineName, timeline: Timeline, is_of_calls: bool) {
        if !timeline.layers.is_empty() || !is_of_calls {
            self.layers.push(Sheet { name: name.clone(), content: timeline.layers });
        }
        if !timeline.calls.is_empty() || is_of_calls {
            self.calls.push(Sheet { name, content: timeline.calls });
        }
    }

    fn add_table(&mut self, name: FileName, table: &TextTable, file: &str) -> Result<(), TableError> {
        self.losses.count(LossKind::CutRow, file, table.short_rows());
        self.losses.count(LossKind::OpenLastLine, file, u64::from(table.is_open()));
        match name {
            FileName::OpSummary(name) => {
                let content = OpSummary::from_text(table)?;
                self.losses.count(LossKind::CellNoNumber, file, content.garbled);
                self.losses.count(LossKind::WrongBound, file, content.wrong_bounds);
                self.losses.count(LossKind::AmbiguousName, file, u64::from(name.is_ambiguous));
                self.op_summaries.push(Sheet { name, content });
            }
            FileName::OpStatistic { .. } | FileName::TaskTime(_) => {
                let content = OpStatistic::from_text(table)?;
                self.op_statistics.push(Sheet { name, content });
            }
            FileName::AclStatistic { .. } | FileName::Acl(_) => {
                let content = AclStatistic::from_text(table)?;
                self.acl_statistics.push(Sheet { name, content });
            }
        }
        Ok(())
    }

    /// Counts the doubts that only all files together raise.
    fn note_doubts(&mut self) {
        let timelines = self.calls.iter().map(|sheet| sheet.content.len() as u64);
        let calls = timelines.max().unwrap_or(0);
        let counted = self.acl_statistics.iter().map(|sheet| sheet.content.calls()).max().unwrap_or(0);
        self.note_overwritten(calls.max(counted));
        let missing = self.missing_samples();
        if !missing.is_empty() {
            let list: Vec<_> = missing.iter().take(10).map(u64::to_string).collect();
            let detail = format!(
                "pictures {}; the board saves more slowly than it infers: sleep in each round, or raise the interval",
                list.join(", ")
            );
            self.losses.count(LossKind::MissingSamples, &detail, missing.len() as u64);
        }
    }

    /// Notes where a collection has as many calls as a board keeps of one: how many older ones were
    /// overwritten, if any, nobody knows.
    pub(crate) fn note_overwritten(&mut self, calls: u64) {
        const BOARD_CAPACITY: u64 = 512;
        if calls >= BOARD_CAPACITY {
            let place = format!(
                "{calls} calls; a board keeps {BOARD_CAPACITY} of one collection: run fewer inferences to be sure"
            );
            self.losses.count(LossKind::OverwrittenCalls, &place, 1);
        }
    }

    /// The picture numbers at which a sample is missing between two that are there. Samples come at
    /// even steps.
    pub fn missing_samples(&self) -> Vec<u64> {
        let mut groups: Vec<(u32, u64, Vec<u64>)> = Vec::new();
        for Sheet { name, .. } in &self.op_summaries {
            let Some(picture) = name.picture else { continue };
            match groups.iter_mut().find(|group| (group.0, group.1) == (name.device, name.model_id)) {
                Some((_, _, pictures)) => pictures.push(picture),
                None => groups.push((name.device, name.model_id, vec![picture])),
            }
        }
        groups.into_iter().flat_map(|(_, _, pictures)| gaps(pictures)).collect()
    }
}

/// The numbers that are missing in a row of even steps. Names come from outside: a row with more
/// gaps than a collection can have samples is none.
fn gaps(mut numbers: Vec<u64>) -> Vec<u64> {
    const MOST_GAPS: u64 = 100_000;
    numbers.sort_unstable();
    numbers.dedup();
    let step = numbers.windows(2).map(|pair| pair[1] - pair[0]).min().unwrap_or(0);
    let (Some(first), Some(last)) = (numbers.first().copied(), numbers.last().copied()) else {
        return Vec::new();
    };
    if step == 0 || (last - first) / step > MOST_GAPS {
        return Vec::new();
    }
    let expected = (0..).map(|index| first + index * step).take_while(|number| *number <= last);
    expected.filter(|number| numbers.binary_search(number).is_err()).collect()
}

/// The identity of a file: its name, and whether it is a timeline or a table under the name of one.
fn identity(path: &Path) -> (Option<FileName>, bool) {
    let name = FileName::parse(&path.file_name().unwrap_or_default().to_string_lossy());
    let is_timeline = matches!(name, Some(FileName::TaskTime(_) | FileName::Acl(_)));
    let is_json = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
    (name, is_timeline && is_json)
}

/// The exported files in a directory and in the folders of the vendor's tools below it, by name.
pub(crate) fn files_of(path: &Path) -> Result<Vec<PathBuf>, ReadError> {
    let mut files = Vec::new();
    let mut add = |folder: &Path| -> std::io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name();
            if entry.path().is_file() && FileName::parse(&name.to_string_lossy()).is_some() {
                files.push(entry.path());
            }
        }
        Ok(())
    };
    add(path).map_err(|source| ReadError::Io { path: path.to_owned(), source })?;
    for folder in FOLDERS.map(|folder| path.join(folder)) {
        if folder.is_dir() {
            add(&folder).map_err(|source| ReadError::Io { path: folder, source })?;
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAYERS: &str = "Layer Id,Layer Name,Layer Type,Time(us)\n0,conv1,Convolution,10\n-,-,-,10\n";

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for name in FOLDERS {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        for (name, content) in files {
            fs::write(folder.path().join(name), content).unwrap();
        }
        folder
    }

    #[test]
    fn tables_and_timelines_are_found_where_the_tools_put_them() {
        let folder = folder(&[
            ("summary/op_summary_0.net.v1.3.1.10.1.NA.600.csv", LAYERS),
            (
                "summary/acl_statistic_0_3_1.json",
                r#"[{"Name": "svp_acl_init", "Total Time(us)": 3, "Count": 1}]"#,
            ),
            ("timeline/task_time_0.net.v1.3.1.json", "[]"),
            ("timeline/acl_0_3_1.json", "[]"),
            ("task_time_0_3_1.csv", "OP Name,Total Time(us)\nconv1,10\n"),
            ("readme.txt", "nothing"),
        ]);
        let exports = Exports::read(folder.path()).unwrap();
        assert_eq!(exports.len(), 5);
        assert_eq!(exports.op_summaries[0].name.model, "net.v1");
        assert_eq!(exports.op_statistics[0].content.rows[0].name, "conv1");
        assert_eq!(exports.losses.rows(), []);
    }

    #[test]
    fn a_table_that_was_exported_in_both_forms_counts_once() {
        let json = r#"[{"Layer Id": 0, "Layer Name": "conv1", "Time(us)": 10}]"#;
        let folder = folder(&[
            ("summary/op_summary_0.net.3.1.10.1.NA.600.csv", LAYERS),
            ("summary/op_summary_0.net.3.1.10.1.NA.600.json", json),
            ("summary/acl_statistic_0_3_1.csv", "Name,Total Time(us)\na,5\n"),
            ("acl_statistic_0_3_1.csv", "Name,Total Time(us)\na,5\n"),
            ("timeline/acl_0_3_1.json", "[]"),
            ("acl_0_3_1.csv", "Name,Total Time(us)\na,5\n"),
        ]);
        let exports = Exports::read(folder.path()).unwrap();
        let counts = (exports.op_summaries.len(), exports.acl_statistics.len(), exports.calls.len());
        // The guide's example has a table of that name beside the timeline.
        assert_eq!(counts, (1, 2, 1));
    }

    #[test]
    fn a_damaged_file_among_several_is_counted() {
        let folder = folder(&[
            ("summary/op_summary_0.net.3.1.10.1.0.600.csv", LAYERS),
            ("timeline/acl_0_3_1.json", "[{"),
        ]);
        let exports = Exports::read(folder.path()).unwrap();
        assert_eq!((exports.len(), exports.losses.rows().len()), (1, 1));
        assert!(exports.losses.rows()[0].place.contains("acl_0_3_1.json"), "{:?}", exports.losses);
        let alone = folder.path().join("timeline/acl_0_3_1.json");
        assert!(Exports::read(&alone).unwrap_err().to_string().contains("not valid JSON"));
    }

    #[test]
    fn samples_that_are_missing_and_too_many_calls_are_noted() {
        let names: Vec<String> = [200, 400, 1000]
            .map(|picture| format!("summary/op_summary_0.net.3.100.1000.{picture}.0.600.csv"))
            .to_vec();
        let mut files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), LAYERS)).collect();
        files.push(("acl_statistic_0_3_1.csv", "Name,Total Time(us),Count\na,5,500\nb,5,12\n"));
        let exports = Exports::read(folder(&files).path()).unwrap();
        assert_eq!(exports.missing_samples(), [600, 800]);
        let kinds: Vec<_> = exports.losses.rows().iter().map(|loss| (loss.kind, loss.count)).collect();
        assert_eq!(kinds, [(LossKind::OverwrittenCalls, 1), (LossKind::MissingSamples, 2)]);
        assert_eq!(gaps(vec![1, 2, u64::MAX]), [] as [u64; 0]);
    }

    #[test]
    fn a_row_that_is_cut_off_is_counted_wherever_its_table_ends() {
        let whole =
            "Layer Id,Layer Name,Layer Type,Time(us)\n0,conv1,Convolution,10\n1,conv2,Convolution,20\n";
        let kinds = |text: &str| {
            let folder = folder(&[("summary/op_summary_0.net.3.1.10.1.NA.600.csv", text)]);
            let exports = Exports::read(folder.path()).unwrap();
            exports.losses.rows().iter().map(|loss| loss.kind).collect::<Vec<_>>()
        };
        assert_eq!(kinds(whole), []);
        // Within the last cell, and before it.
        assert_eq!(kinds(&whole[..whole.len() - 2]), [LossKind::OpenLastLine]);
        assert!(kinds(&whole[..whole.len() - 8]).contains(&LossKind::CutRow));
    }

    #[test]
    fn a_folder_without_exports_says_what_was_looked_for() {
        let empty = tempfile::tempdir().unwrap();
        let text = Exports::read(empty.path()).unwrap_err().to_string();
        assert!(text.contains("op_summary_*"), "{text}");
        assert!(matches!(Exports::read(Path::new("no/such/folder")), Err(ReadError::Io { .. })));
    }
}
