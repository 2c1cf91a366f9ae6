//! Where the steps of each rank go, and the longest of each stage: `ClusterStepTraceTime`,
//! `cluster_step_trace_time.csv`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use opscope_reach::Collection;
use opscope_reach::database::{each_row, number, text, whole};

use crate::groups::{Members, Seen, Traffic};
use crate::ranks::{File, Ranks};
use crate::run::{About, Layout};
use crate::table::{Kind, Output, Table};

/// The columns of a step in the databases; the texts' headings in the same order.
const COLUMNS: [(&str, &str); 9] = [
    ("computing", "Computing"),
    ("communication_not_overlapped", "Communication(Not Overlapped)"),
    ("overlapped", "Overlapped"),
    ("communication", "Communication"),
    ("free", "Free"),
    ("stage", "Stage"),
    ("bubble", "Bubble"),
    ("communication_not_overlapped_and_exclude_receive", "Communication(Not Overlapped and Exclude Receive)"),
    ("preparing", "Preparing"),
];

const STEPS: Table = Table {
    name: "ClusterStepTraceTime",
    columns: &[
        ("step", Kind::Text),
        ("type", Kind::Text),
        ("index", Kind::Text),
        (COLUMNS[0].0, Kind::Real),
        (COLUMNS[1].0, Kind::Real),
        (COLUMNS[2].0, Kind::Real),
        (COLUMNS[3].0, Kind::Real),
        (COLUMNS[4].0, Kind::Real),
        (COLUMNS[5].0, Kind::Real),
        (COLUMNS[6].0, Kind::Real),
        (COLUMNS[7].0, Kind::Real),
        (COLUMNS[8].0, Kind::Real),
        ("dp_index", Kind::Integer),
        ("pp_index", Kind::Integer),
        ("tp_index", Kind::Integer),
    ],
    index: &[],
};

/// A step of a rank, in microseconds; what its profile doesn't tell is missing.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The rank.
    pub rank: u32,
    /// Its number, or nothing where the profile has one step without a number.
    pub step: String,
    /// The figures, as [`COLUMNS`] names them.
    pub figures: [Option<f64>; 9],
}

/// Reads the steps of all ranks.
pub fn read(ranks: &Ranks) -> Vec<Step> {
    let mut steps = Vec::new();
    let Ok(()) = ranks.each(
        |collection| of_rank(ranks, collection),
        |_, mut of_rank| {
            steps.append(&mut of_rank);
            Ok::<_, std::convert::Infallible>(())
        },
    );
    steps
}

/// Reads the steps of a rank: from its database, else from its text.
pub fn of_rank(ranks: &Ranks, collection: &Collection) -> Vec<Step> {
    let mut steps = Vec::new();
    ranks.read(collection, File::Analysis, |database| {
        let mut columns = vec!["step"];
        columns.extend(COLUMNS.iter().map(|(name, _)| name));
        each_row(database, "StepTraceTime", &columns, |row| {
            let step = match (text(row, 0), whole(row, 0)) {
                ("", Some(number)) => number.to_string(),
                (text, _) => text.to_owned(),
            };
            let figures = std::array::from_fn(|place| number(row, place + 1));
            steps.push(Step { rank: collection.rank, step, figures });
        })
    });
    if let Some(path) = collection.outputs.steps.as_ref().filter(|_| steps.is_empty())
        && let Err(error) = read_text(path, collection.rank, &mut steps)
    {
        ranks.damaged(collection, path, error);
    }
    steps
}

fn read_text(path: &std::path::Path, rank: u32, steps: &mut Vec<Step>) -> csv::Result<()> {
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_path(path)?;
    let headings = reader.headers()?.clone();
    let place = |name: &str| headings.iter().position(|heading| heading.trim() == name);
    let step = place("Step");
    let places = COLUMNS.map(|(_, heading)| place(heading));
    for row in reader.records() {
        let row = row?;
        let field = |place: Option<usize>| place.and_then(|place| row.get(place)).map(str::trim);
        let figures = places.map(|place| field(place).and_then(|text| text.parse().ok()));
        steps.push(Step { rank, step: field(step).unwrap_or_default().to_owned(), figures });
    }
    Ok(())
}

/// The longest of each figure over the ranks of a stage, by step, in the order of steps.
fn longest(steps: &[Step], stage: &[u32]) -> Vec<(String, [Option<f64>; 9])> {
    let mut order = Vec::new();
    let mut by_step: BTreeMap<&str, [Option<f64>; 9]> = BTreeMap::new();
    for step in steps.iter().filter(|step| stage.binary_search(&step.rank).is_ok()) {
        let figures = by_step.entry(&step.step).or_insert_with(|| {
            order.push(step.step.as_str());
            [None; 9]
        });
        for (longest, figure) in figures.iter_mut().zip(step.figures) {
            *longest = longest.map_or(figure, |longest| Some(figure.map_or(longest, |it| it.max(longest))));
        }
    }
    order.into_iter().filter_map(|step| Some((step.to_owned(), *by_step.get(step)?))).collect()
}

/// The stages of a run that has several, as the vendor's tool finds them: ranks that groups tie together in which the
/// chosen ranks have collectives. A group across stages, such as one of all ranks, ties none.
pub fn stages(layout: Option<Layout>, seen: &Seen, ranks: &Ranks) -> Vec<Vec<u32>> {
    let Some(layout) = layout.filter(|layout| layout.pipeline > 1) else { return Vec::new() };
    let stage_of = |rank: u32| layout.places(rank)[1];
    let mut stages: Vec<BTreeSet<u32>> = Vec::new();
    for (traffic, _, members) in seen.all(ranks) {
        let Some(first) = members.ranks.first().map(|rank| stage_of(*rank)) else { continue };
        if traffic != Traffic::Collective || members.ranks.iter().any(|rank| stage_of(*rank) != first) {
            continue;
        }
        let mut tied: BTreeSet<u32> = members.ranks.into_iter().collect();
        stages.retain(|stage| {
            let is_apart = stage.is_disjoint(&tied);
            if !is_apart {
                tied.extend(stage);
            }
            is_apart
        });
        stages.push(tied);
    }
    stages.into_iter().map(|stage| stage.into_iter().collect()).collect()
}

/// The stages with their names, by their first ranks. Where there are any, the ranks that are in none are one without
/// a member in its name.
fn named(steps: &[Step], stages: &[Vec<u32>]) -> Vec<(Vec<u32>, String)> {
    let is_in_none = |rank: &u32| !stages.iter().any(|stage| stage.binary_search(rank).is_ok());
    let rest: BTreeSet<u32> = steps.iter().map(|step| step.rank).filter(is_in_none).collect();
    let name = |ranks: &[u32]| Members { ranks: ranks.to_vec(), ..Members::default() }.text();
    let mut named: Vec<(Vec<u32>, String)> =
        stages.iter().map(|stage| (stage.clone(), name(stage))).collect();
    if !named.is_empty() {
        named.push((rest.into_iter().collect(), name(&[])));
    }
    named.sort();
    named
}

/// Writes the table of databases.
///
/// # Errors
/// SQLite's.
pub fn write(steps: &[Step], about: &About, stages: &[Vec<u32>], output: &Output) -> rusqlite::Result<()> {
    let mut table = output.table(&STEPS)?;
    let layout = about.layout();
    for step in steps {
        let [copy, stage, part] = layout.map_or([0; 3], |layout| layout.places(step.rank));
        let [a, b, c, d, e, f, g, h, i] = step.figures;
        let index = step.rank.to_string();
        table.row((&step.step, "rank", index, a, b, c, d, e, f, g, h, i, copy, stage, part))?;
    }
    for (stage, index) in named(steps, stages) {
        for (step, [a, b, c, d, e, f, g, h, i]) in longest(steps, &stage) {
            table.row((step, "stage", &index, a, b, c, d, e, f, g, h, i, "NA", "NA", "NA"))?;
        }
    }
    Ok(())
}

/// Writes the table of texts.
///
/// # Errors
/// The writer's.
pub fn write_text(steps: &[Step], layout: Option<Layout>, to: &mut dyn Write) -> io::Result<()> {
    let mut table = csv::WriterBuilder::new().flexible(true).from_writer(to);
    let mut headings = vec!["Step", "Type", "Index"];
    headings.extend(COLUMNS.iter().map(|(_, heading)| heading));
    if layout.is_some() {
        headings.extend(["DP Index", "PP Index", "TP Index"]);
    }
    table.write_record(&headings)?;
    let text = |figure: Option<f64>| figure.map_or(String::new(), |figure| format!("{figure:?}"));
    for step in steps {
        let mut row = vec![step.step.clone(), "rank".to_owned(), step.rank.to_string()];
        row.extend(step.figures.map(text));
        row.extend(layout.iter().flat_map(|layout| layout.places(step.rank)).map(|place| place.to_string()));
        table.write_record(&row)?;
    }
    for stage in layout.map_or_else(Vec::new, Layout::stages) {
        let index = Members { ranks: stage.clone(), ..Members::default() }.tuple();
        for (step, figures) in longest(steps, &stage) {
            let mut row = vec![step, "stage".to_owned(), index.clone()];
            row.extend(figures.map(text));
            row.extend(["NA"; 3].map(str::to_owned));
            table.write_record(&row)?;
        }
    }
    table.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_in_no_stage_are_one_without_members_in_its_name() {
        let step = |rank| Step { rank, step: String::new(), figures: [None; 9] };
        let steps: Vec<Step> = [3, 0, 2, 0, 4].map(step).into();
        let names = |stages: &[Vec<u32>]| named(&steps, stages);
        assert_eq!(names(&[vec![2, 3]]), [(vec![0, 4], "()".to_owned()), (vec![2, 3], "(2,3)".to_owned())]);
        assert!(names(&[]).is_empty());
    }

    #[test]
    fn a_stage_shows_the_longest_of_each_figure() {
        let step = |rank, first: f64, last: Option<f64>| {
            let mut figures = [Some(1.0); 9];
            (figures[0], figures[8]) = (Some(first), last);
            Step { rank, step: "5".to_owned(), figures }
        };
        let steps = [step(0, 3.0, None), step(1, 2.0, Some(7.0)), step(4, 9.0, Some(9.0))];
        let longest = longest(&steps, &[0, 1, 2, 3]);
        assert_eq!(longest.len(), 1);
        assert_eq!((longest[0].1[0], longest[0].1[8]), (Some(3.0), Some(7.0)));
    }
}
