//! Runs on many ranks as a page in one file: the same answers as on the command line, and nothing that a name could break.

mod common;

use std::path::{Path, PathBuf};

use common::{Place, report};
use opscope_web::columns::Container;
use serde_json::Value;

/// Makes a collection of eight ranks with faults in some of them; its folder.
fn sample(place: &Place, options: &[&str]) -> String {
    let words: Vec<&str> = ["sample", "cluster", "-o", "runs"].iter().chain(options).copied().collect();
    let made = place.done(&words).stdout;
    let folder = made.lines().last().expect("a path").to_owned();
    format!("{folder}/db")
}

/// The report in a file.
fn page(path: &Path) -> (Value, Vec<u8>) {
    report(&std::fs::read_to_string(path).expect("a report"))
}

/// A JSON answer of the command line, without what says by which program it was made.
fn answer(place: &Place, words: &[&str]) -> Value {
    place.done(&[words, &["--json"]].concat()).json()
}

#[test]
fn the_page_has_words_for_every_kind_of_loss() {
    for text in
        [include_str!("../../web/ui/ranks/locale/en.js"), include_str!("../../web/ui/ranks/locale/zh.js")]
    {
        for kind in opscope_reach::LossReason::ALL {
            assert!(text.contains(&format!("  loss_{}: \"", kind.name())), "{}", kind.name());
        }
    }
}

#[test]
fn a_page_has_the_answers_of_the_command_line() {
    let place = Place::new();
    let runs = sample(&place, &["--fault", "ai-cpu=5,slow-link=0-2", "--steps", "3"]);
    let said = place.done(&["cluster", &runs, "--html", "ranks.html"]);
    assert!(
        said.stderr.contains("wrote the report ranks.html") && said.stderr.contains("8 ranks"),
        "{}",
        said.stderr
    );
    let (answers, columns) = page(&place.path("ranks.html"));
    assert_eq!(answers["cluster"], answer(&place, &["cluster", &runs]));
    for by in ["step", "host", "stage", "dp", "tp", "ep"] {
        let told = answer(&place, &["cluster", "summary", &runs, "--by", by]);
        assert_eq!(answers["summary"][by], told["rows"], "{by}");
    }
    let columns = Container::read(&columns).expect("columns");
    let numbers = |table: &str, column: &str| columns.numbers(table, column).expect("numbers");
    let by_rank = answer(&place, &["cluster", "summary", &runs]);
    let rows = by_rank["rows"].as_array().expect("rows");
    for column in
        ["step_ns", "compute_ns", "waiting_ns", "bubble_ns", "transfer_ns", "idle_ns", "unaccounted_ns"]
    {
        let told: Vec<f64> = rows.iter().map(|row| row[column].as_f64().expect("a time")).collect();
        assert_eq!(numbers("ranks", column), told, "{column}");
    }
    let links = answer(&place, &["cluster", "comm", &runs, "--matrix"]);
    let links = links["links"].as_array().expect("links");
    for column in ["src", "dst", "bytes", "time_ns", "gb_per_s"] {
        let told: Vec<f64> = links.iter().map(|row| row[column].as_f64().expect("a number")).collect();
        assert_eq!(numbers("links", column), told, "{column}");
    }
    // The cells of the heat map have the means that the summary tells, and one for each rank and step.
    let (ranks, waiting) = (numbers("cells", "rank"), numbers("cells", "waiting_ns"));
    assert_eq!(ranks.len(), 8 * 3);
    for (rank, mean) in numbers("ranks", "waiting_ns").into_iter().enumerate() {
        let own =
            ranks.iter().zip(&waiting).filter(|(it, _)| **it == rank as f64).map(|(_, waiting)| waiting);
        assert!((own.sum::<f64>() / 3.0 - mean).abs() <= 1.0, "rank {rank}");
    }
    // The slow link is marked, and no other of its kind.
    let slow = numbers("links", "is_slow");
    let marked: Vec<usize> = (0..slow.len()).filter(|at| slow[*at] > 0.0).collect();
    assert!(!marked.is_empty());
    assert!(
        marked.iter().all(|at| (numbers("links", "src")[*at], numbers("links", "dst")[*at]) == (0.0, 2.0))
    );
    let screen = place.done(&["cluster", &runs]).stdout;
    for sentence in ["heading", "headline", "account", "clocks"] {
        let text = answers["said"]["en"][sentence].as_str().expect("a sentence");
        assert!(screen.contains(text), "{text} isn't in:\n{screen}");
    }
    assert!(answers["said"]["zh"]["headline"].as_str().expect("a sentence").contains("一个 step 用时"));
    assert!(answers["said"]["zh"]["suspects"][0]["why"].as_str().is_some_and(|why| why.contains("同类")));
}

#[test]
fn a_slow_link_without_its_like_stands_beside_its_other_direction() {
    let place = Place::new();
    let layout = ["--layout", "tp=2,pp=1,dp=1,ep=1", "--seed", "3"];
    let runs = sample(&place, &[&layout[..], &["--fault", "slow-link=0-1:0.3"]].concat());
    place.done(&["report", &runs, "-o", "ranks.html"]);
    let (_, columns) = page(&place.path("ranks.html"));
    let columns = Container::read(&columns).expect("columns");
    let numbers = |column: &str| columns.numbers("links", column).expect("numbers");
    let (src, part, peers) = (numbers("src"), numbers("part_gb_per_s"), numbers("peers_gb_per_s"));
    let (slow, opposite) = (numbers("is_slow"), numbers("is_of_opposite"));
    let marked: Vec<usize> = (0..opposite.len()).filter(|row| opposite[*row] > 0.0).collect();
    assert!(!marked.is_empty() && src.contains(&1.0), "{src:?}");
    for row in marked {
        assert_eq!((src[row], slow[row]), (0.0, 1.0));
        assert!(part[row] < 0.7 * peers[row], "{} of {}", part[row], peers[row]);
    }
}

#[test]
fn the_timeline_has_the_suspects_with_ranks_like_them_and_who_waited_for_whom() {
    let place = Place::new();
    let runs = sample(&place, &["--ranks", "16", "--fault", "ai-cpu=5:4ms", "--steps", "4"]);
    place.done(&["report", &runs, "-o", "ranks.html"]);
    let (answers, columns) = page(&place.path("ranks.html"));
    let timeline = &answers["timeline"];
    assert_eq!(
        (&timeline["why"], &timeline["of_ranks"], &timeline["of_steps"]),
        (&"suspects".into(), &16.into(), &4.into())
    );
    let ranks: Vec<u64> = timeline["ranks"].as_array().unwrap().iter().filter_map(Value::as_u64).collect();
    assert!(ranks.contains(&5) && ranks.len() >= 3 && ranks.len() < 16, "{ranks:?}");
    assert_eq!(timeline["steps"].as_array().map(Vec::len), Some(2));
    let columns = Container::read(&columns).expect("columns");
    let numbers = |table: &str, column: &str| columns.numbers(table, column).expect("numbers");
    let (rows, of_rows) = (numbers("slices", "row"), numbers("rows", "rank"));
    let rank_of = |slice: f64| of_rows[rows[slice as usize] as usize];
    let arrows: Vec<(f64, f64)> =
        numbers("arrows", "from").into_iter().zip(numbers("arrows", "to")).collect();
    assert!(!arrows.is_empty());
    let (waiting, last) = (numbers("slices", "waiting"), numbers("slices", "last"));
    for (from, to) in &arrows {
        assert_eq!(
            last[*to as usize] - 1.0,
            rank_of(*from),
            "the arrow begins where it is said that it was waited for"
        );
        assert!(waiting[*to as usize] >= 5_000.0);
    }
    let from_suspect = arrows.iter().filter(|(from, _)| rank_of(*from) == 5.0).count();
    assert!(
        2 * from_suspect > arrows.len(),
        "{from_suspect} of {} waits are for the rank at fault",
        arrows.len()
    );
    // The same slices and waits as the export has.
    let list = |of: &Value| of.as_array().unwrap().iter().map(Value::to_string).collect::<Vec<_>>().join(",");
    let (ranks, steps) = (list(&timeline["ranks"]), list(&timeline["steps"]));
    let words = [
        "cluster", "export", &runs, "--format", "timeline", "-o", "run.json", "--ranks", &ranks, "--steps",
        &steps,
    ];
    let exported = place.done(&words).stdout;
    let counts = format!("{} slices, {} waits", rows.len(), arrows.len());
    assert!(exported.contains(&counts), "{exported} has not {counts}");
}

#[test]
fn the_timeline_tells_waits_for_a_rank_that_was_not_recorded_as_inferred() {
    let place = Place::new();
    let layout = ["--layers", "1", "--layout", "tp=2,pp=1,dp=4,ep=1"];
    let damage = ["--fault", "late-input=5:20ms", "--damage", "missing=5"];
    let runs = sample(&place, &[&layout[..], &damage].concat());
    place.done(&["report", &runs, "-o", "ranks.html"]);
    let (answers, columns) = page(&place.path("ranks.html"));
    let columns = Container::read(&columns).expect("columns");
    let numbers = |table: &str, column: &str| columns.numbers(table, column).expect("numbers");
    let (waiting, last) = (numbers("slices", "waiting"), numbers("slices", "last"));
    let inferred = numbers("slices", "inferred");
    let is_inferred = |slice: &usize| inferred[*slice] == 1.0;
    let of_absent: Vec<usize> = (0..inferred.len()).filter(is_inferred).collect();
    assert!(of_absent.iter().any(|slice| waiting[*slice] > 1.8e7), "{of_absent:?}");
    assert!(of_absent.iter().all(|slice| last[*slice] == 0.0), "nobody who was recorded came last");
    assert!(numbers("arrows", "to").iter().all(|slice| !is_inferred(&(*slice as usize))));
    // As the export has them.
    let timeline = &answers["timeline"];
    let list = |of: &Value| of.as_array().unwrap().iter().map(Value::to_string).collect::<Vec<_>>().join(",");
    let (ranks, steps) = (list(&timeline["ranks"]), list(&timeline["steps"]));
    let export = ["cluster", "export", &runs, "--format", "timeline", "-o", "run.json"];
    place.done(&[&export[..], &["--ranks", &ranks, "--steps", &steps]].concat());
    let exported: Value =
        serde_json::from_str(&std::fs::read_to_string(place.path("run.json")).unwrap()).unwrap();
    let args = exported["traceEvents"].as_array().unwrap().iter().map(|event| &event["args"]);
    let of_export: f64 = args.filter_map(|args| args["waiting_us"].as_f64()).sum();
    let of_page: f64 = waiting.iter().sum();
    assert!((1e3 * of_export - of_page).abs() <= waiting.len() as f64, "{of_export} µs, {of_page} ns");
}

#[test]
fn a_set_and_its_folders_give_the_same_page() {
    let place = Place::new();
    let runs = sample(&place, &[]);
    place.done(&["cluster", "import", &runs, "-o", "set"]);
    place.done(&["report", &runs, "-o", "a.html"]);
    place.done(&["report", "set", "-o", "b.html"]);
    let ((mut a, columns_a), (mut b, columns_b)) = (page(&place.path("a.html")), page(&place.path("b.html")));
    for answers in [&mut a, &mut b] {
        for own in ["name", "source", "command"] {
            answers[own] = Value::Null;
        }
    }
    assert_eq!((a, columns_a), (b, columns_b));
}

#[test]
fn ranks_that_were_not_recorded_are_told_of_and_damage_is_listed() {
    let place = Place::new();
    let runs = sample(&place, &["--fault", "none", "--damage", "missing=5,cut=6"]);
    let said = place.done(&["report", &runs, "-o", "ranks.html"]);
    assert!(said.stderr.contains("rank 6"), "{}", said.stderr);
    let (answers, columns) = page(&place.path("ranks.html"));
    assert_eq!(answers["cluster"]["missing"], serde_json::json!([5]));
    assert!(answers["cluster"]["losses"].as_array().unwrap().iter().any(|loss| loss["kind"] == "damaged"));
    let ranks = Container::read(&columns).expect("columns").numbers("ranks", "rank").expect("ranks");
    assert_eq!(ranks, [0.0, 1.0, 2.0, 3.0, 4.0, 6.0, 7.0]);
    assert_eq!(answers["timeline"]["why"], "first");
    assert!(answers["said"]["en"]["heading"].as_str().unwrap().contains("7 of 8 ranks (missing 5)"));
}

#[test]
fn the_heat_map_has_no_rank_of_which_nothing_tells_where_its_time_goes() {
    let place = Place::new();
    let words = ["--ranks", "8", "--format", "kineto", "--fault", "none", "--damage", "cut=6"];
    place.done(&[&["sample", "cluster", "-o", "runs"][..], &words].concat());
    let runs = "runs/cluster_8_ranks_seed_1/kineto";
    place.done(&["report", runs, "-o", "ranks.html"]);
    let (answers, columns) = page(&place.path("ranks.html"));
    let columns = Container::read(&columns).expect("columns");
    let numbers = |table: &str, column: &str| columns.numbers(table, column).expect("numbers");
    assert_eq!(numbers("ranks", "rank")[6], 6.0);
    assert_eq!((numbers("ranks", "steps")[6], numbers("ranks", "steps")[5]), (0.0, 2.0));
    let (ranks, steps) = (numbers("cells", "rank"), numbers("cells", "step"));
    assert_eq!(ranks.len(), 7 * 2);
    assert!(!ranks.contains(&6.0), "{ranks:?}");
    // The cells of a step are what the page's own summary tells of it.
    let idle = numbers("cells", "idle_ns");
    for (place, row) in answers["summary"]["step"].as_array().expect("rows").iter().enumerate() {
        let of_step = steps.iter().zip(&idle).filter(|(step, _)| **step == place as f64);
        let of_step: Vec<f64> = of_step.map(|(_, idle)| *idle).collect();
        let mean = of_step.iter().sum::<f64>() / of_step.len() as f64;
        assert!((mean - row["idle_ns"].as_f64().expect("a time")).abs() <= 1.0, "{mean} and {row:#}");
    }
}

/// Copies a folder with all that is in it.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a folder").flatten() {
        match entry.path().is_dir() {
            true => copy(&entry.path(), &to.join(entry.file_name())),
            false => drop(std::fs::copy(entry.path(), to.join(entry.file_name())).expect("a copy")),
        }
    }
}

#[test]
fn hostile_names_are_text_and_nothing_else() {
    let place = Place::new();
    let runs = sample(&place, &["--fault", "ai-cpu=5"]);
    // Hosts are named by the folders of their ranks.
    const HOSTILE: &str = "<img src=x onerror=alert(1)>";
    let evil = place.path(&format!("{HOSTILE}\u{202e}"));
    for entry in std::fs::read_dir(place.path(&runs)).expect("ranks").flatten() {
        let name = entry.file_name().to_string_lossy().replace("host0", "</script><script>alert(2)<!--");
        let name = name.replace('/', "∕");
        copy(&entry.path(), &evil.join(name));
    }
    let path = evil.to_string_lossy().into_owned();
    place.done(&["report", &path, "-o", "ranks.html"]);
    let html = std::fs::read_to_string(place.path("ranks.html")).expect("a report");
    let (begin, rest) = html.split_once("<style>").expect("styles");
    let (_, rest) = rest.split_once("</style>").expect("an end");
    let (own, script) = rest.rsplit_once("<script>").expect("the page's script");
    for part in [begin, own] {
        assert!(!part.contains("<img") && !part.contains("<!--"));
    }
    let (text, _) = own.split_once("<script").expect("the answers");
    assert!(!begin.contains('\u{202e}') && !text.contains('\u{202e}') && text.contains("&lt;img"));
    assert_eq!(own.matches("<script").count(), 2, "answers and columns");
    assert!(!script.contains("alert("));
    let (answers, _) = page(&place.path("ranks.html"));
    assert!(answers["name"].as_str().unwrap().starts_with(HOSTILE));
}

#[test]
fn what_is_about_a_single_profile_is_refused_of_many_ranks_and_the_reason_is_said() {
    let place = Place::new();
    let runs = sample(&place, &["--fault", "none", "--layers", "1", "--microbatches", "1", "--steps", "1"]);
    let model = place.sample("mask-ssd");
    for words in [
        &["report", &runs, "-o", "a.html", "--model", &model] as &[&str],
        &["report", &runs, "-o", "a.html", "--slices", "5"],
        &["serve", &runs, "--no-open", "--target", "cann-310"],
    ] {
        let name = words[words.len() - 2];
        place.fails(2, &["holds many ranks", name, "single profile"], words);
    }
    place.fails(2, &["holds many ranks; give it alone"], &["serve", "--no-open", &runs, &model]);
    place.fails(2, &["would be overwritten"], &["cluster", &runs, "--html", &runs]);
    place.fails(1, &["nowhere"], &["cluster", &runs, "--html", "nowhere/a.html"]);
    assert!(!place.path("a.html").exists());
    // A set of several runs doesn't know which one is meant; nothing is written.
    place.done(&["cluster", "import", &runs, "-o", "set", "--run", "one"]);
    place.done(&["cluster", "import", &runs, "-o", "set", "--run", "two"]);
    place.fails(1, &["several runs, one, two", "--run"], &["report", "set", "-o", "a.html"]);
    place.fails(2, &["no run three"], &["report", "set", "-o", "a.html", "--run", "three"]);
    place.fails(1, &["several runs, one, two", "--run"], &["serve", "--no-open", "set"]);
    place.fails(2, &["no run three"], &["serve", "--no-open", "set", "--run", "three"]);
    place.fails(2, &["no runs to choose from"], &["serve", "--no-open", &runs, "--run", "three"]);
    let told = ["single profile", "--run"];
    place.fails(2, &told, &["report", &place.sample("mask-ssd"), "-o", "a.html", "--run", "two"]);
    place.fails(2, &told, &["serve", "--no-open", &place.sample("mask-ssd"), "--run", "two"]);
    place.done(&["report", "set", "-o", "reported.html", "--run", "two"]);
    assert!(page(&place.path("reported.html")).0["source"].as_str().unwrap().ends_with("--run two"));
    place.done(&["cluster", "set", "--run", "two", "--html", "two.html"]);
    assert!(page(&place.path("two.html")).0["source"].as_str().unwrap().ends_with("--run two"));
    assert!(!place.path("a.html").exists());
}

#[test]
fn a_single_rank_is_a_profile_as_before() {
    let place = Place::new();
    let runs = sample(
        &place,
        &["--fault", "none", "--layers", "1", "--microbatches", "1", "--steps", "1", "--format", "both"],
    );
    let rank: PathBuf =
        std::fs::read_dir(place.path(&runs)).expect("ranks").flatten().next().expect("a rank").path();
    place.done(&["report", &rank.to_string_lossy(), "-o", "rank.html"]);
    let (answers, _) = page(&place.path("rank.html"));
    assert!(answers.get("cluster").is_none() && answers.get("overview").is_some());
}
