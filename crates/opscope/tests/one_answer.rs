//! A question has one answer, whatever form a profile of Ascend is in: its raw directory, what is exported
//! from that (the folder, the tables with the timeline, the database alone, the timeline alone), and
//! opscope's own database. Answers for which a form has no facts are named in [`LACKS`] and [`UNASKED`].
//! Timelines that opscope writes itself have those about ranges of what they were written of.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::Place;
use opscope_testing::companions;
use serde_json::Value;

/// A form of a profile that is made of a raw directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// opscope's own database.
    Imported,
    /// Everything that `export all` writes.
    Folder,
    /// Its folder of tables and timelines.
    Tables,
    /// The vendor's database alone.
    Database,
    /// The vendor's timeline alone.
    Timeline,
}

use Form::{Database, Folder, Imported, Tables, Timeline};

/// Parts of an answer that a form holds no facts for.
struct Lack {
    forms: &'static [Form],
    /// Where they stand, with `*` for any name; whatever is below belongs to them.
    paths: &'static [&'static str],
    reason: &'static str,
}

const LACKS: [Lack; 19] = [
    Lack {
        forms: &[Imported, Folder, Tables, Database, Timeline],
        paths: &["/path", "/losses/*/profile"],
        reason: "a profile's own path",
    },
    Lack {
        forms: &[Folder, Tables, Database, Timeline],
        paths: &["/losses"],
        reason: "every file tells what is lost in itself",
    },
    Lack {
        forms: &[Folder, Tables, Database],
        paths: &["/stated", "/metrics/l2_hit_rate", "/metrics/l2_victim_rate"],
        reason: "figures that only files state, among them the use of the cache by task: a raw directory has none",
    },
    Lack {
        forms: &[Folder, Tables, Database, Timeline],
        paths: &["/rows/*/rank", "/rows/*/cumulative_share"],
        reason: "operators that took equally long may change places by the rounding of exported times",
    },
    Lack {
        forms: &[Tables, Timeline],
        paths: &[
            "/ranges/rows/*/longest_uncovered/start_ns",
            "/locations/*/tasks/*/start_ns",
            "/also/locations/*/tasks/*/start_ns",
        ],
        reason: "a timeline doesn't tell when the collection began, from which times are counted",
    },
    Lack {
        forms: &[Database],
        paths: &[
            "/iterations",
            "/overview/wall_ns",
            "/overview/idle_ns",
            "/findings/H05",
            "/findings/A10/share",
            "/findings/A10/saves_at_most_ns",
        ],
        reason: "a database has no marks of an inference's begin and end: it lasts from its first task to its \
                 last",
    },
    Lack {
        forms: &[Tables],
        paths: &["/metrics/mix_block_num"],
        reason: "tables of chips with one kind of cores have no column for blocks of another kind, which are 0",
    },
    Lack {
        forms: &[Tables, Timeline],
        paths: &["/tasks/control"],
        reason: "of chosen inferences tables and timelines show the tasks within them only",
    },
    Lack {
        forms: &[Folder, Tables],
        paths: &[
            "/metrics/aic_block_time_mean",
            "/metrics/aic_block_time_longest",
            "/metrics/aiv_block_time_mean",
            "/metrics/aiv_block_time_longest",
        ],
        reason: "tables have no times of single blocks, and a timeline those of the first and the last",
    },
    Lack { forms: &[Timeline], paths: &["/metrics"], reason: "a timeline has no counters of single tasks" },
    Lack {
        forms: &[Database],
        paths: &["/metrics"],
        reason: "a database has counters of chips with two kinds of cores only, and not what tables work out of \
                 them",
    },
    Lack { forms: &[Tables, Timeline], paths: &["/chip"], reason: "no table or timeline names the chip" },
    Lack {
        forms: &[Tables, Timeline],
        paths: &["/overview/devices"],
        reason: "several devices are listed by their names, which no table or timeline tells",
    },
    Lack {
        forms: &[Tables, Timeline],
        paths: &["/target", "/findings/*/advice", "/findings/*/auto", "/not_run/G06"],
        reason: "no table or timeline tells the chip",
    },
    Lack {
        forms: &[Timeline],
        paths: &[
            "/rows/*/type",
            "/rows/*/shapes",
            "/rows/*/bytes",
            "/rows/*/bytes_per_second",
            "/locations/*/type",
            "/also",
            "/findings/*/evidence/*/op_type",
            "/findings/A01",
            "/findings/A01 1",
            "/findings/G05",
            "/findings/H08",
            "/findings/A28",
            "/findings/A29",
        ],
        reason: "a timeline has no types and shapes of operators, by which patterns are found",
    },
    Lack {
        forms: &[Folder, Tables, Database, Timeline],
        paths: &["/not_run/A26"],
        reason: "exports draw the cores' frequency as it was set, and of chosen inferences its changes within",
    },
    Lack {
        forms: &[Tables, Timeline],
        paths: &["/ranges/marks"],
        reason: "of chosen inferences a timeline shows the marks within them only",
    },
    Lack {
        forms: &[Folder, Database, Timeline],
        paths: &["/saves_together_at_most_ns", "/findings/*/also"],
        reason: "what rules that can't be asked would save, and findings that they overlap with",
    },
    Lack {
        forms: &[Imported, Folder, Tables, Database, Timeline],
        paths: &["/rules_asked"],
        reason: "rules that can't be asked, see UNASKED",
    },
];

/// The data that advice says it misses in a form, and why the form doesn't have them.
const UNASKED: [(&[Form], &[&str], &str); 7] = [
    (
        &[Folder, Tables, Database, Timeline],
        &["how many cores of this kind the device has"],
        "exports tell no numbers of cores; of one kind, the command line does",
    ),
    (
        &[Timeline],
        &[
            "types of the operators' inputs",
            "the metric",
            "busy ratios of the units",
            "whether operators are of dynamic shape",
            "shapes in the profile",
            "rates of memory",
        ],
        "a timeline has a name, times and places of each task, but no description and no counters",
    ),
    (
        &[Database],
        &["the metric", "busy ratios of the units"],
        "a database has counters of chips with two kinds of cores only",
    ),
    (
        &[Folder, Database],
        &["samples of the cores' frequency"],
        "a database has samples of the frequency of some chips only",
    ),
    (
        &[Imported, Folder, Tables, Database, Timeline],
        &["a raw directory"],
        "only a raw directory tells how it was recorded",
    ),
    (&[Tables, Timeline], &["the peak rates of this chip"], "no table or timeline tells which chip it is of"),
    (&[Tables, Timeline], &["samples of memory"], "a timeline has no samples of what allocators reserved"),
];

/// Counters that a form lacks, by the first words of their names, `*` for any word; all others of the raw
/// directory it has under the same names.
const COUNTERLESS: [(&[Form], &[&str], &str); 9] = [
    (
        &[Folder, Tables, Database, Timeline],
        &["CCU"],
        "the rates of the units' channels are in a table alone",
    ),
    (&[Tables, Timeline], &["network device"], "a timeline has nothing of network devices"),
    (&[Tables, Timeline], &["accelerator"], "a timeline has the highest level of all accelerators only"),
    (
        &[Folder, Tables, Database, Timeline],
        &["PA link", "chip PCIe"],
        "a database has no links of the chip, and a timeline has their numbers as values",
    ),
    (&[Tables, Timeline], &["memory of GE"], "a timeline has no samples of what allocators reserved"),
    (
        &[Folder, Tables, Database, Timeline],
        &["AI core frequency"],
        "exports have the cores' frequency of some chips only",
    ),
    (&[Tables, Timeline], &["PCIe minimum", "PCIe maximum"], "a timeline has averages of PCIe only"),
    (
        &[Tables, Timeline],
        &[
            "* port * bandwidth",
            "* port * * byte rate",
            "* port * * packets",
            "* port * * bytes",
            "* port * * errors",
            "* port * * dropped",
        ],
        "a timeline has rates of ports, but not what they are worked out of",
    ),
    (
        &[Folder, Database],
        &["* port * * bandwidth efficiency", "* port * * error rate", "* port * * dropped rate"],
        "a database has what went through ports, but not what is worked out of it",
    ),
];

/// The first words of the counters of traffic: a form has none that the raw directory hasn't.
const TRAFFIC: [&str; 10] = ["HBM", "DDR", "LLC", "HCCS", "PCIe", "NIC", "RoCE", "ROCE", "Tx", "Port"];

/// The counters of traffic that the profiles of this test have between them.
const FAMILIES: [&str; 7] = ["HBM", "DDR", "LLC", "HCCS", "PCIe", "NIC port", "RoCE port"];

/// A raw directory, and how to export all of it.
struct Profile {
    name: String,
    raw: PathBuf,
    /// Chips of which the vendor's tool shows a single inference unless it is told otherwise.
    shows_one: bool,
}

/// The golden directories, and generated ones of every chip, mode and layout.
fn profiles(place: &Place) -> Vec<Profile> {
    let mut profiles = Vec::new();
    for chip in ["910b", "910", "310p", "310", "950"] {
        for (mode, layout) in [
            ("static", "modern"),
            ("static", "2022"),
            ("static", "job"),
            ("dynamic", "modern"),
            ("graph", "modern"),
        ] {
            let exists = match (mode, layout) {
                ("graph", _) => ["910b", "310p", "950"].contains(&chip),
                // There was no 950 then.
                (_, layout) => chip != "950" || layout == "modern",
            };
            if !exists {
                continue;
            }
            let name = format!("{chip}-{mode}-{layout}");
            let options = ["--chip", chip, "--mode", mode, "--layout", layout, "--tasks", "300", "--quiet"];
            let raw = place.done(&[&["sample", "prof", "-o", &name][..], &options].concat()).stdout;
            let shows_one = (chip, mode) == ("310", "static");
            profiles.push(Profile { name, raw: place.path(raw.trim()), shows_one });
        }
    }
    profiles
}

/// The profiles of the reference data, where they are there.
fn reference_profiles() -> Option<Vec<Profile>> {
    let golden = companions::shared("golden/ascend")?;
    let mut profiles = Vec::new();
    for case in std::fs::read_dir(golden).expect("the folder").flatten() {
        let Ok(inputs) = std::fs::read_dir(case.path().join("input")) else { continue };
        let name = case.file_name().to_string_lossy().into_owned();
        let shows_one = name.starts_with("310_");
        profiles.extend(inputs.flatten().map(|raw| Profile {
            name: name.clone(),
            raw: raw.path(),
            shows_one,
        }));
    }
    Some(profiles)
}

/// Makes every form of a profile that there is.
fn forms(place: &Place, profile: &Profile) -> Vec<(Form, PathBuf)> {
    let out = place.path(&format!("{}-forms", profile.name));
    std::fs::create_dir(&out).expect("a folder");
    let raw = profile.raw.to_string_lossy();
    let (folder, imported) = (out.join("folder"), out.join("imported.db"));
    place.done(&["import", &raw, "-o", &imported.to_string_lossy(), "--quiet"]);
    let export =
        ["export", "all", &raw, "-o", &folder.to_string_lossy(), "--layout", "modern", "--quiet", "--clear"];
    let all = ["--model-id", "1", "--iteration-id", "1", "--iteration-count", "100"];
    place.done(&[&export[..], if profile.shows_one { &all } else { &[] }].concat());
    let tables = folder.join("mindstudio_profiler_output");
    let named = |folder: &Path, suffix: &str| {
        let files = std::fs::read_dir(folder).expect("the folder").flatten().map(|file| file.path());
        let is_it = |path: &PathBuf| {
            let name = path.file_name().expect("a name").to_string_lossy();
            let stamp = name.strip_prefix("msprof_").and_then(|rest| rest.strip_suffix(suffix));
            stamp.is_some_and(|stamp| stamp.bytes().all(|byte| byte.is_ascii_digit()))
        };
        files.into_iter().find(is_it)
    };
    let timeline = named(&tables, ".json").expect("a timeline");
    let mut forms = vec![(Imported, imported), (Tables, tables), (Timeline, timeline)];
    if let Some(database) = named(&folder, ".db") {
        forms.extend([(Folder, folder), (Database, database)]);
    }
    forms
}

/// The values of an answer by where they stand: rows of lists by their names where they have some.
fn values(value: &Value, path: &str, found: &mut BTreeMap<String, Value>) {
    match value {
        Value::Object(members) => {
            members.iter().for_each(|(name, value)| values(value, &format!("{path}/{name}"), found));
        }
        Value::Array(rows) => {
            let mut seen: BTreeMap<String, usize> = BTreeMap::new();
            for (place, row) in rows.iter().enumerate() {
                let name = ["id", "operator", "name", "unit"].iter().find_map(|key| row[*key].as_str());
                let name = name.map_or_else(|| place.to_string(), |name| name.replace('/', "|"));
                let times = seen.entry(name.clone()).or_default();
                let again = if *times == 0 { String::new() } else { format!(" {times}") };
                *times += 1;
                values(row, &format!("{path}/{name}{again}"), found);
            }
        }
        value => {
            found.insert(path.to_owned(), value.clone());
        }
    }
}

fn covers(pattern: &str, path: &str) -> bool {
    let mut path = path.split('/');
    pattern.split('/').all(|part| path.next().is_some_and(|name| part == "*" || part == name))
}

/// Whether a name begins with these words, of which `*` stands for any.
fn begins_with(words: &str, name: &str) -> bool {
    let mut name = name.split(' ');
    words.split(' ').all(|word| name.next().is_some_and(|found| word == "*" || word == found))
}

/// Whether values are the same, as far as exported text and sums of it are rounded.
fn is_same(path: &str, one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(a), Value::Number(b)) if path.ends_with("_ns") || a.is_f64() || b.is_f64() => {
            let (a, b) = (a.as_f64().expect("a number"), b.as_f64().expect("a number"));
            let rounding = if path.ends_with("_ns") { 3.0 } else { 1e-3 };
            (a - b).abs() <= rounding + 1e-3 * a.abs().max(b.abs())
        }
        (Value::String(a), Value::String(b)) => {
            let (a, b): (Vec<&str>, Vec<&str>) = (a.split(' ').collect(), b.split(' ').collect());
            let unit_at =
                |place: usize| a.get(place + 1).is_some_and(|word| word.starts_with(['%', 'µ', 'n']));
            a.len() == b.len()
                && (0..a.len()).all(|at| a[at] == b[at] || is_rounded_alike(a[at], b[at], unit_at(at)))
        }
        (one, other) => one == other,
    }
}

/// Whether two written numbers differ by one in their last place.
fn is_rounded_alike(a: &str, b: &str, has_unit: bool) -> bool {
    let trimmed = |text: &str| text.trim_matches(['(', ')', ',', ':']).to_owned();
    let (a, b) = (trimmed(a), trimmed(b));
    let (Ok(first), Ok(second)) = (a.parse::<f64>(), b.parse::<f64>()) else { return false };
    let decimals = |text: &str| text.split_once('.').map_or(0, |(_, part)| part.len() as i32);
    (has_unit || decimals(&a) > 0)
        && (first - second).abs() < 1.5 * 10f64.powi(-decimals(&a).min(decimals(&b)))
}

/// Compares an answer with that of the raw directory; notes which lacks excuse something.
fn differences(form: Form, raw: &Value, other: &Value, used: &mut BTreeSet<&'static str>) -> Vec<String> {
    let unasked: Vec<(&str, &'static str)> = (other["not_run"].as_array().into_iter().flatten())
        .filter_map(|rule| {
            let missing = rule["missing"].as_str()?;
            let (_, _, reason) = UNASKED.iter().find(|(forms, known, _)| {
                forms.contains(&form) && known.iter().any(|known| missing.starts_with(known))
            })?;
            Some((rule["id"].as_str()?, *reason))
        })
        .collect();
    let (mut of_raw, mut of_other) = (BTreeMap::new(), BTreeMap::new());
    values(raw, "", &mut of_raw);
    values(other, "", &mut of_other);
    let paths: BTreeSet<&String> = of_raw.keys().chain(of_other.keys()).collect();
    let mut found = Vec::new();
    for path in paths {
        let (one, other) = (of_raw.get(path), of_other.get(path));
        if one.zip(other).is_some_and(|(one, other)| is_same(path, one, other)) {
            continue;
        }
        let lack = LACKS
            .iter()
            .find(|lack| lack.forms.contains(&form) && lack.paths.iter().any(|known| covers(known, path)));
        let is_of_rule =
            |id: &str| ["findings", "not_run"].iter().any(|list| covers(&format!("/{list}/{id}"), path));
        let rule = unasked.iter().find(|(id, _)| is_of_rule(id));
        match rule.map(|(_, reason)| *reason).or(lack.map(|lack| lack.reason)) {
            Some(reason) => {
                used.insert(reason);
            }
            None => found.push(format!("{path}: {one:?} but {other:?}")),
        }
    }
    found
}

/// Figures of a profile that no table of an answer shows alone: what was measured, by metric; the range of each
/// counter in its unit; tasks by unit; the length of the inferences; the chip.
fn figures(place: &Place, path: &str) -> Value {
    let by_name = |query: &str| -> Value {
        let answer = place.done(&["sql", path, query, "--json"]).json();
        let rows = answer["rows"].as_array().expect("rows").iter();
        rows.map(|row| {
            let mut row = row.as_object().expect("a row").clone();
            let name = row.remove("name").expect("a name");
            (name.as_str().map_or(name.to_string(), |name| name.replace('/', "|")), Value::Object(row))
        })
        .collect::<serde_json::Map<_, _>>()
        .into()
    };
    let chip = by_name("SELECT property AS name, value FROM property_values WHERE property = 'chip'");
    serde_json::json!({
        "metrics": by_name(
            "SELECT metric AS name, unit, count(*) AS count, count(value) AS known, 1.0 * sum(value) AS sum \
             FROM task_metrics GROUP BY metric, unit"
        ),
        "counters": by_name(
            "SELECT names.text AS name, units.text AS unit, 1.0 * min(value) AS least, 1.0 * max(value) AS most \
             FROM samples JOIN counters ON counters.id = counter_id JOIN strings AS names ON names.id = name_id \
             JOIN strings AS units ON units.id = unit_id GROUP BY name_id, unit_id"
        ),
        "tasks": by_name("SELECT unit AS name, count(*) AS count, sum(duration_ns) AS total_ns FROM tasks GROUP BY unit"),
        "iterations": by_name("SELECT number AS name, duration_ns FROM iterations"),
        "chip": chip["chip"],
    })
}

/// Asks the same of all forms of a profile.
fn compare(place: &Place, profile: &Profile, used: &mut BTreeSet<&'static str>) -> Vec<String> {
    let raw = profile.raw.to_string_lossy().into_owned();
    let sql = "SELECT value FROM property_values WHERE property = 'ai_cores'";
    let cores = place.done(&["sql", &raw, sql, "--json"]).json()["rows"][0]["value"].clone();
    let cores = cores.as_str().unwrap_or("8").to_owned();
    let analyze = vec!["analyze", "--json"];
    let waits = vec!["analyze", "--time", "wait", "--json"];
    let advise = vec!["advise", "--cores", &cores, "--json"];
    let names = place.done(&["analyze", &raw, "--json", "--top", "2"]).json();
    let names = names["rows"].as_array().expect("rows").iter().filter_map(|row| row["name"].as_str());
    let names: Vec<&str> = names.collect();
    let wheres = names.iter().map(|name| vec!["where", name, "--json"]);
    let questions: Vec<Vec<&str>> = [analyze, waits, advise].into_iter().chain(wheres).collect();
    let forms = forms(place, profile);
    let mut found = Vec::new();
    for (form, path) in &forms {
        // Names alone align where types lack.
        let compared = place.done(&["compare", &raw, &path.to_string_lossy(), "--json"]).json();
        let matched = ["before", "after"].map(|side| compared["matched"][side].as_f64().unwrap_or(0.0));
        if matched != [1.0, 1.0] {
            found.push(format!("{} {form:?} compare: {matched:?} matched", profile.name));
        }
    }
    let counters = |path: &str| -> BTreeSet<String> {
        let sql = "SELECT strings.text FROM counters JOIN strings ON strings.id = counters.name_id";
        let answer = place.done(&["sql", path, sql, "--json"]).json();
        let rows = answer["rows"].as_array().expect("rows").iter();
        rows.map(|row| row["text"].as_str().expect("a name").to_owned()).collect()
    };
    let of_raw = counters(&raw);
    let has = |family: &&&str| of_raw.iter().any(|name| begins_with(family, name));
    used.extend(FAMILIES.iter().filter(has));
    // Of chosen inferences a timeline shows the samples within them only.
    let has_samples = |form: Form| !(profile.shows_one && matches!(form, Tables | Timeline));
    for (form, path) in forms.iter().filter(|(form, _)| has_samples(*form)) {
        let of_form = counters(&path.to_string_lossy());
        let is_traffic = |name: &str| TRAFFIC.contains(&name.split([' ', '_', '/']).next().unwrap_or(""));
        let of_its_own = of_form.difference(&of_raw).filter(|name| is_traffic(name));
        found.extend(of_its_own.map(|name| format!("{} {form:?} has '{name}' alone", profile.name)));
        for name in of_raw.difference(&of_form) {
            let lack = COUNTERLESS.iter().find(|(forms, begins, _)| {
                forms.contains(form) && begins.iter().any(|begin| begins_with(begin, name))
            });
            match lack {
                Some((.., reason)) => _ = used.insert(reason),
                None => found.push(format!("{} {form:?} has no counter '{name}'", profile.name)),
            }
        }
    }
    let figures_of_raw = figures(place, &raw);
    for (form, path) in &forms {
        let mut of_form = figures(place, &path.to_string_lossy());
        // Counters that only some forms have are compared by their names.
        let of_raw = |name: &String| figures_of_raw["counters"].get(name).is_some();
        let counters = of_form["counters"].as_object_mut().expect("counters by name");
        counters.retain(|name, _| of_raw(name));
        let mut both = figures_of_raw.clone();
        let counters = both["counters"].as_object_mut().expect("counters by name");
        counters.retain(|name, _| has_samples(*form) && of_form["counters"].get(name).is_some());
        if !has_samples(*form) {
            of_form["counters"] = both["counters"].clone();
        }
        let all = differences(*form, &both, &of_form, used);
        let told = all.iter().take(8).map(|text| format!("{} {form:?} figures: {text}", profile.name));
        found.extend(told);
    }
    for question in &questions {
        let ask = |path: &str| place.done(&[&question[..], &[path]].concat()).json();
        let of_raw = ask(&raw);
        for (form, path) in &forms {
            // Tables have 0 for the first task's wait, which nobody knows.
            if question.contains(&"wait") && *form == Tables {
                continue;
            }
            let all = differences(*form, &of_raw, &ask(&path.to_string_lossy()), used);
            let told =
                all.iter().take(8).map(|text| format!("{} {form:?} {}: {text}", profile.name, question[0]));
            found.extend(told);
        }
    }
    found
}

#[test]
fn every_form_of_a_profile_has_the_same_answers() {
    let place = Place::new();
    let (mut profiles, reference) = (profiles(&place), reference_profiles());
    let has_all = reference.is_some();
    profiles.extend(reference.into_iter().flatten());
    let next = AtomicUsize::new(0);
    let results = Mutex::new((Vec::new(), BTreeSet::new()));
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(profile) = profiles.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let mut used = BTreeSet::new();
                    let found = compare(&place, profile, &mut used);
                    let mut results = results.lock().expect("no thread panicked");
                    results.0.extend(found);
                    results.1.append(&mut used);
                }
            });
        }
    });
    let (found, used) = results.into_inner().expect("no thread panicked");
    let unseen: Vec<&&str> = FAMILIES.iter().filter(|family| !used.contains(*family)).collect();
    assert!(unseen.is_empty(), "no profile has counters of {unseen:?}");
    assert!(found.is_empty(), "{} differences\n{}", found.len(), found.join("\n"));
    // A reason that excuses nothing names no lack; some are of the reference data's profiles alone.
    if !has_all {
        return;
    }
    let reasons = LACKS.iter().map(|lack| lack.reason).chain(UNASKED.iter().map(|(.., reason)| *reason));
    let reasons = reasons.chain(COUNTERLESS.iter().map(|(.., reason)| *reason));
    let idle: Vec<&str> = reasons.filter(|reason| !used.contains(reason)).collect();
    assert!(idle.is_empty(), "{idle:?}");
}

#[test]
fn a_timeline_in_the_layout_of_2022_has_the_answers_of_the_modern_one() {
    let place = Place::new();
    for (chip, layout) in [("910b", "modern"), ("310p", "2022")] {
        let raw = format!("{chip}-{layout}");
        let options = ["--chip", chip, "--mode", "static", "--layout", layout, "--tasks", "300", "--quiet"];
        let raw = place.done(&[&["sample", "prof", "-o", &raw][..], &options].concat()).stdout;
        let timeline_in = |layout: &str, folder: &str| {
            let out = format!("{chip}-{layout}");
            let second = ["--model-id", "1", "--iteration-id", "2", "--layout", layout, "--quiet", "--clear"];
            place.done(&[&["export", "timeline", raw.trim(), "-o", &out][..], &second].concat());
            let files = std::fs::read_dir(place.path(&out).join(folder)).expect("the folder").flatten();
            let name = |path: &PathBuf| path.file_name().expect("a name").to_string_lossy().into_owned();
            let is_whole = |path: &PathBuf| name(path).starts_with("msprof_") && !name(path).contains("tx");
            files.map(|file| file.path()).find(is_whole).expect("the timeline")
        };
        let modern = timeline_in("modern", "mindstudio_profiler_output");
        let classic = timeline_in("classic", "timeline");
        for question in [&["analyze", "--host", "--json"][..], &["advise", "--json"]] {
            let ask = |path: &Path| {
                let mut found = BTreeMap::new();
                values(&place.done(&[question, &[&path.to_string_lossy()]].concat()).json(), "", &mut found);
                found.retain(|path, _| path != "/path" && !covers("/losses/*/profile", path));
                found
            };
            let (of_modern, of_classic) = (ask(&modern), ask(&classic));
            assert!(of_modern.len() > 50, "{of_modern:?}");
            assert_eq!(of_modern, of_classic, "{chip} {layout} {question:?}");
        }
    }
}

/// A timeline of PyTorch's without a device, on whose only thread ranges and functions cross.
const CROSSING: &str = r#"{"schemaVersion": 1, "traceEvents": [
{"ph": "M", "pid": 1, "tid": 7, "name": "thread_name", "args": {"name": "main"}},
{"ph": "X", "pid": 1, "tid": 7, "ts": 0, "dur": 100, "name": "forward", "cat": "user_annotation"},
{"ph": "X", "pid": 1, "tid": 7, "ts": 50, "dur": 90, "name": "backward", "cat": "user_annotation"},
{"ph": "X", "pid": 1, "tid": 7, "ts": 10, "dur": 20, "name": "aten::conv2d", "cat": "cpu_op"},
{"ph": "X", "pid": 1, "tid": 7, "ts": 60, "dur": 30, "name": "aten::relu", "cat": "cpu_op"},
{"ph": "X", "pid": 1, "tid": 7, "ts": 10, "dur": 50, "name": "step", "cat": "python_function"},
{"ph": "X", "pid": 1, "tid": 7, "ts": 55, "dur": 60, "name": "update", "cat": "python_function"}
]}"#;

#[test]
fn a_timeline_that_opscope_wrote_tells_of_ranges_what_its_source_does() {
    let place = Place::new();
    place.write("source.json", CROSSING);
    let ask = |file: &str| place.done(&["analyze", file, "--json"]).json()["ranges"].clone();
    let of_source = ask("source.json");
    let rows = of_source["rows"].as_array().expect("ranges");
    assert_eq!(rows.len(), 2, "{of_source}");
    for key in ["launched_ns", "in_calls_ns"] {
        assert!(rows.iter().all(|row| row[key].as_u64() > Some(0)), "{key}: {of_source}");
    }
    for timeline in ["written.json", "written.pftrace"] {
        place.done(&["import", "source.json", "--trace", timeline, "--quiet"]);
        assert_eq!(ask(timeline), of_source, "{timeline}");
    }
}

#[test]
fn columns_in_files_and_in_memory_have_the_same_answers() {
    let place = Place::new();
    place.done(&["sample", "prof", "--tasks", "3000", "-o", "runs", "--quiet"]);
    let run = std::fs::read_dir(place.path("runs")).unwrap().next().expect("a run").unwrap().path();
    let run = run.to_str().unwrap();
    for command in ["analyze", "advise", "show", "info"] {
        let in_memory = place.done(&[command, run, "--json"]).stdout;
        // A quarter of it is less than most columns take.
        let in_files = place.done(&[command, run, "--json", "--memory", "100KB"]).stdout;
        assert!(in_memory.contains("schema_version"), "{command}: {in_memory}");
        assert_eq!(in_files, in_memory, "{command}");
    }
}
