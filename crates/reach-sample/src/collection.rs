//! Writes collections: a folder for each rank and form, damaged where that is asked for, and the truth beside
//! them.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use opscope_files::{Unfinished, create_folder, create_new};
use serde_json::{Value, json};

use crate::clocks::Clocks;
use crate::error::Error;
use crate::identity::Identity;
use crate::operations::{Moment, Recording};
use crate::options::{Damage, Options};
use crate::simulation::{operations_of, simulate};
use crate::tables::{RowCounts, Tables};
use crate::truth::Truth;
use crate::{analysis, database, kineto, text, timeline};

/// Bytes of what happened that are kept at a time; it decides how many ranks are written in one go.
const KEPT_BYTES: usize = 16 << 20;

/// The days on which ranks were collected, and collected once more.
const DAY: u32 = 9;
const DAY_AFTER: u32 = 10;

/// A collection that was written.
#[derive(Debug)]
pub struct Collection {
    /// Its folder: `db` and `text` with the ranks' folders, `kineto` with their timelines, and `truth.json`.
    pub path: PathBuf,
    /// Its faults.
    pub truth: Truth,
    /// Its contents, over all ranks.
    pub rows: RowCounts,
}

/// The forms of a rank's results.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Databases,
    Texts,
    Timelines,
}

impl Form {
    /// The folder's name, and the profiler's word for it.
    fn name(self) -> &'static str {
        match self {
            Self::Databases => "db",
            Self::Texts => "text",
            Self::Timelines => "kineto",
        }
    }
}

/// Writes a collection below `directory`. After each rank, `progress` is told how many are written; it is called
/// by several threads. When writing fails, or the program is stopped, nothing of the collection stays.
///
/// # Errors
/// When the options don't go together, a folder or file can't be written, or a collection of that name is there.
pub fn write(
    directory: &Path,
    options: &Options,
    progress: &(dyn Fn(usize) + Sync),
) -> Result<Collection, Error> {
    options.check()?;
    let (ranks, seed) = (options.layout.ranks(), options.seed);
    let path = directory.join(format!("cluster_{ranks}_ranks_seed_{seed}"));
    let failed = |problem| Error::Write { path: path.clone(), problem };
    if path.symlink_metadata().is_ok() {
        return Err(failed(io::Error::new(
            io::ErrorKind::AlreadyExists,
            "it is there already; choose another folder or seed",
        )));
    }
    let _unfinished = Unfinished::new(path.clone());
    let truth = Truth::of(options)?;
    match write_all(&path, options, &truth, progress) {
        Ok(rows) => Ok(Collection { path, truth, rows }),
        Err(problem) => {
            // An unfinished collection is of no use, and would be in the way of another try.
            let _ = fs::remove_dir_all(&path);
            Err(failed(problem))
        }
    }
}

fn write_all(
    path: &Path,
    options: &Options,
    truth: &Truth,
    progress: &(dyn Fn(usize) + Sync),
) -> io::Result<RowCounts> {
    let clocks = Clocks::new(options);
    let forms = [
        (Form::Databases, options.databases),
        (Form::Texts, options.texts),
        (Form::Timelines, options.timelines),
    ];
    let forms: Vec<Form> =
        forms.into_iter().filter(|(_, is_wanted)| *is_wanted).map(|(form, _)| form).collect();
    for form in &forms {
        create_folder(&path.join(form.name()))?;
    }
    let ranks = options.layout.ranks();
    let block = (KEPT_BYTES / (operations_of(options) * size_of::<Moment>())).clamp(1, ranks);
    let written = AtomicUsize::new(0);
    let mut rows = RowCounts::default();
    for first in (0..ranks).step_by(block) {
        let of_block: Vec<usize> = (first..(first + block).min(ranks)).collect();
        let run = simulate(options, &options.faults, first..first + of_block.len());
        let counts = opscope_parallel::map(&of_block, |rank| {
            let counts = opscope_parallel::alone(|| write_rank(path, options, &clocks, &run, &forms, *rank));
            progress(written.fetch_add(1, Ordering::Relaxed) + 1);
            counts
        });
        for counts in counts {
            rows += counts?;
        }
    }
    let json = serde_json::to_vec_pretty(&truth.json(options, &clocks, &rows))?;
    create_new(&path.join("truth.json"))?.write_all(&json)?;
    Ok(rows)
}

/// Writes all files of a rank.
fn write_rank(
    path: &Path,
    options: &Options,
    clocks: &Clocks,
    run: &Recording,
    forms: &[Form],
    rank: usize,
) -> io::Result<RowCounts> {
    if options.is_damaged(rank, Damage::Missing) {
        return Ok(RowCounts::default());
    }
    let identity = Identity::new(options, rank);
    let tables = Tables::new(options, clocks, run, &identity);
    let twice = options.is_damaged(rank, Damage::Twice);
    let days = if twice { &[DAY, DAY_AFTER][..] } else { &[DAY] };
    for form in forms {
        if *form == Form::Timelines {
            write_timelines(&path.join(form.name()), options, &identity, &tables, days)?;
            continue;
        }
        let files = files(options, &identity, &tables, *form)?;
        for day in days {
            write_files(&path.join(form.name()).join(identity.folder(*day)), options, rank, &files)?;
        }
    }
    let has_details = !options.is_damaged(rank, Damage::Level0);
    let links = tables.collectives.iter().map(|collective| collective.link_tasks.len() as u64).sum();
    Ok(RowCounts {
        tasks: tables.tasks.len() as u64,
        communication_tasks: if has_details { links } else { 0 },
        operators: tables.kernels.len() as u64,
        collectives: tables.collectives.len() as u64,
    })
}

/// Writes a rank's timelines, which are alone in a file each.
fn write_timelines(
    folder: &Path,
    options: &Options,
    identity: &Identity,
    tables: &Tables,
    days: &[u32],
) -> io::Result<()> {
    let content = serde_json::to_vec(&kineto::timeline(options, identity, tables))?;
    let length = damaged_length(options, identity.rank, content.len());
    days.iter().try_for_each(|day| {
        create_new(&folder.join(kineto::name(identity, *day)))?.write_all(&content[..length])
    })
}

/// How much of a rank's result is there.
fn damaged_length(options: &Options, rank: usize, length: usize) -> usize {
    match length {
        _ if options.is_damaged(rank, Damage::Empty) => 0,
        length if options.is_damaged(rank, Damage::Cut) => length * 2 / 3,
        length => length,
    }
}

/// A file of a rank: its name, and whether it is one of the results.
struct RankFile {
    name: String,
    is_result: bool,
    content: Vec<u8>,
}

/// All files of a rank in one form, undamaged.
fn files(options: &Options, identity: &Identity, tables: &Tables, form: Form) -> io::Result<Vec<RankFile>> {
    let has_details = !options.is_damaged(identity.rank, Damage::Level0);
    let end = tables.steps.last().map_or(0, |step| step.end_ns);
    let about = |name: String, content: &Value| {
        Ok::<_, io::Error>(RankFile { name, is_result: false, content: serde_json::to_vec(content)? })
    };
    let result = |name: &str, content: Vec<u8>| RankFile { name: name.to_owned(), is_result: true, content };
    let rank = identity.rank;
    let level = u8::from(has_details);
    let metadata = json!({
        "distributed_args": identity.cluster_info(options),
        "parallel_group_info": identity.group_info(),
    });
    let mut files = vec![
        about(format!("profiler_info_{rank}.json"), &identity.profiler_info(level, form.name(), end))?,
        about("profiler_metadata.json".to_owned(), &metadata)?,
    ];
    match form {
        Form::Databases => {
            let content = database::profiler(options, identity, tables, has_details)?;
            files.push(result(&format!("ascend_pytorch_profiler_{rank}.db"), content));
            files.push(result("analysis.db", analysis::analysis(identity, tables, has_details)?));
        }
        Form::Texts => {
            files.push(result("step_trace_time.csv", text::steps(tables)?));
            files.push(result("kernel_details.csv", text::kernels(tables)?));
            files.push(result("trace_view.json", serde_json::to_vec(&timeline::timeline(identity, tables))?));
            if has_details {
                let communication = serde_json::to_vec(&text::communication(identity, tables))?;
                files.push(result("communication.json", communication));
                let matrix = serde_json::to_vec(&text::communication_matrix(identity, tables))?;
                files.push(result("communication_matrix.json", matrix));
            }
        }
        // A timeline is a file by itself.
        Form::Timelines => {}
    }
    Ok(files)
}

/// Writes a rank's files, its results damaged as was asked for.
fn write_files(folder: &Path, options: &Options, rank: usize, files: &[RankFile]) -> io::Result<()> {
    let output = folder.join("ASCEND_PROFILER_OUTPUT");
    create_folder(&output)?;
    for file in files {
        let length = match file.is_result {
            true => damaged_length(options, rank, file.content.len()),
            false => file.content.len(),
        };
        let path = if file.is_result { output.join(&file.name) } else { folder.join(&file.name) };
        create_new(&path)?.write_all(&file.content[..length])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
