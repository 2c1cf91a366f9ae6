//! Where exported files go, so that nothing that another tool wrote is replaced.
//!
//! | layout | names | in the place of another tool's files |
//! |---|---|---|
//! | today's | carry the time of the export | never |
//! | that of 2022 | carry device, model and iteration | today's layout is taken, or the export is refused |
//! | the report on operators | `prof_rule_<device>.json` | the time is added |

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use opscope_cann::{Joined, PerformanceReport, Source, classic_iteration};
use opscope_formats::OwnFiles;
use opscope_say::say;

use super::options::{Layout, Options, What};
use crate::commands::run::create_folder;
use crate::profile::{self, Results};
use crate::terminal::Terminal;

/// The layout that was asked for; else the one that the data's own time had. Where another tool's results
/// lie in the classic places, they stay as they are: without a wish, today's places are taken.
///
/// # Errors
/// When the classic layout was asked for, and another tool's files lie there.
pub fn layout(
    joined: &Joined,
    options: &Options,
    results: &Results,
    terminal: &Terminal,
) -> anyhow::Result<Layout> {
    let is_old = joined.data.host.legacy;
    if options.layout == Some(Layout::Modern) || (options.layout.is_none() && !is_old) {
        return Ok(Layout::Modern);
    }
    let Some(foreign) = foreign_in_classic_places(results.folder(), joined) else {
        return Ok(Layout::Classic);
    };
    let foreign = foreign.display();
    if options.layout.is_some() {
        bail!(
            "{}",
            say!(
                "{foreign}: another tool wrote this, and nothing of it is replaced; name another folder with --output \
             DIR, or give --layout modern"
            )
        );
    }
    terminal.note(&say!(
        "{foreign}: another tool wrote this, and it stays as it is; opscope's files go to {} (--output DIR puts them \
         in the classic layout elsewhere)",
        results.outputs().display()
    ));
    Ok(Layout::Modern)
}

/// The folders of results in the classic layout, and a file in them that opscope didn't write.
fn foreign_in_classic_places(folder: &Path, joined: &Joined) -> Option<PathBuf> {
    let profile = &joined.data.profile;
    let below = |source: &Source| source.path.strip_prefix(&profile.path).map(|it| folder.join(it));
    let devices = profile.devices.iter().filter_map(|source| below(source).ok());
    let places = std::iter::once(folder.to_owned()).chain(devices);
    let mut places = places.flat_map(|place| ["summary", "timeline"].map(|kind| place.join(kind)));
    places.find_map(|place| {
        let own = OwnFiles::of(&place);
        let entries = std::fs::read_dir(&place).into_iter().flatten().flatten();
        let mut names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        // Our own report lies there in either layout, and has a way of its own.
        let is_result = |name: &String| {
            (name.ends_with(".csv") || name.ends_with(".json")) && !name.starts_with("prof_rule_")
        };
        names.find(|name| is_result(name) && own.is_foreign(name)).map(|name| place.join(name))
    })
}

/// Notes which files below a folder are ours: reports and those in the classic places have no time in their
/// names, and a later export takes their place.
///
/// # Errors
/// When the list can't be written.
pub fn note_own(folder: &Path, written: &[PathBuf]) -> anyhow::Result<()> {
    let mut by_folder: BTreeMap<&Path, Vec<&str>> = BTreeMap::new();
    // The database beside the raw files carries its time, as does all in today's layout but reports.
    for path in written.iter().filter(|path| path.starts_with(folder) && path.parent() != Some(folder)) {
        if let (Some(folder), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) {
            by_folder.entry(folder).or_default().push(name);
        }
    }
    for (place, names) in by_folder {
        OwnFiles::of(place)
            .add(names)
            .with_context(|| say!("{}: the list of files can't be kept", place.display()))?;
    }
    Ok(())
}

/// The classic layout has a file for each iteration, and of all of them only the first unless told more.
pub fn tell_iteration(joined: &Joined, kinds: &[What], options: &Options, terminal: &Terminal) {
    if kinds == [What::Db] || options.model_id.is_some() || options.iteration_id.is_some() {
        return;
    }
    if let Some((range, count)) = classic_iteration(joined).filter(|(_, count)| *count > 1) {
        terminal.note(&say!(
            "the classic layout has a file for each iteration: these are of iteration 1 of {count} of model {model}; \
             --model-id {model} has all of them written, and --layout modern puts them into one file",
            model = range.model
        ));
    }
}

/// Keeps a report under its usual name, or, where another tool's report of this name lies, with the time.
///
/// # Errors
/// When it can't be written.
pub fn save_report(report: &PerformanceReport, folder: &Path, stamp: &str) -> anyhow::Result<PathBuf> {
    create_folder(folder)?;
    let own = OwnFiles::of(folder);
    let usual = report.file_name();
    let name = match own.is_foreign(&usual) && !report.is_in(&folder.join(&usual)) {
        true => usual.replace(".json", &format!("_{stamp}.json")),
        false => usual,
    };
    Ok(report.save_as(&folder.join(&name))?)
}

/// The names of files in these folders that carry a time.
pub fn names_with(stamp: &str, folders: &[&Path]) -> BTreeSet<PathBuf> {
    let tail = format!("_{stamp}.");
    let entries = folders.iter().flat_map(|folder| std::fs::read_dir(folder).into_iter().flatten().flatten());
    let pending = folders.iter().flat_map(|folder| opscope_files::pending_in(folder));
    let names_it =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().contains(&tail));
    entries.map(|entry| entry.path()).chain(pending).filter(names_it).collect()
}

/// The first time from this one on that no file in these folders carries, so that an export never
/// takes the place of another of the same second.
pub fn unused_stamp(stamp: &str, folders: &[&Path]) -> String {
    let mut stamp = stamp.to_owned();
    while !names_with(&stamp, folders).is_empty() {
        match profile::second_after(&stamp) {
            Some(next) => stamp = next,
            None => break,
        }
    }
    stamp
}
