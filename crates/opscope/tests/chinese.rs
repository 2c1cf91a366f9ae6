//! The program in Chinese: what chooses the language, what is said in it, and what stays as it is.

mod common;

use common::Place;

const CHINESE: &[(&str, &str)] = &[("OPSCOPE_LANG", "zh")];

/// Whether a text has Chinese letters.
fn is_chinese(text: &str) -> bool {
    text.chars().any(|letter| ('\u{4e00}'..='\u{9fff}').contains(&letter))
}

/// A folder with a raw directory in it.
fn place() -> Place {
    let place = Place::new();
    place.done(&["sample", "prof", "-o", "runs", "--mode", "static", "--tasks", "200", "--seed", "1"]);
    place
}

#[test]
fn the_option_goes_before_the_variable_and_the_variable_before_the_locale() {
    let place = place();
    let asks = |arguments: &[&str], variables: &[(&str, &str)]| {
        let mut words = vec!["analyze", "runs"];
        words.extend(arguments);
        is_chinese(&place.run_with(&words, variables).stdout)
    };
    assert!(!asks(&[], &[]));
    assert!(asks(&["--lang", "zh"], &[]));
    assert!(asks(&["--lang=zh"], &[("OPSCOPE_LANG", "en")]));
    assert!(!asks(&["--lang", "en"], CHINESE));
    assert!(asks(&[], CHINESE));
    assert!(!asks(&[], &[("OPSCOPE_LANG", "en"), ("LANG", "zh_CN.UTF-8")]));
    assert!(asks(&[], &[("OPSCOPE_LANG", ""), ("LC_ALL", ""), ("LC_MESSAGES", ""), ("LANG", "zh_CN.UTF-8")]));
    assert!(!asks(&[], &[("OPSCOPE_LANG", ""), ("LC_ALL", "xx_YY"), ("LANG", "zh_CN.UTF-8")]));
}

/// All commands, as words behind the program's name; those within others after these.
fn commands(place: &Place) -> Vec<Vec<String>> {
    let mut all = vec![Vec::new()];
    let mut at = 0;
    while let Some(command) = all.get(at).cloned() {
        at += 1;
        let words: Vec<&str> = command.iter().map(String::as_str).chain(["--help"]).collect();
        let help = place.run_with(&words, &[]).stdout;
        let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
        let listed = listed.take_while(|line| !line.is_empty()).filter_map(|line| line.strip_prefix("  "));
        let names = listed.filter(|line| !line.starts_with(' ')).filter_map(|line| line.split(' ').next());
        let names = names.filter(|name| *name != "help");
        all.extend(names.map(|name| [&command[..], &[name.to_owned()]].concat()));
    }
    all
}

/// The options and values that a help lists, without what it says of them.
fn options(help: &str) -> Vec<&str> {
    let before_examples = help.lines().take_while(|line| !matches!(*line, "Examples:" | "示例："));
    let indented = before_examples.filter_map(|line| line.strip_prefix("      ").or(line.strip_prefix("  ")));
    indented
        .filter(|line| line.starts_with('-'))
        .map(|line| line.split("  ").next().unwrap_or(line))
        .collect()
}

#[test]
fn the_help_of_every_command_is_in_chinese_and_lists_the_same_options() {
    let place = Place::new();
    let commands = commands(&place);
    assert!(commands.len() > 40, "{commands:?}");
    for command in commands.iter().filter(|words| **words != ["profile_analyze"]) {
        for form in ["-h", "--help"] {
            let words: Vec<&str> = command.iter().map(String::as_str).chain([form]).collect();
            let (english, chinese) = (place.run_with(&words, &[]), place.run_with(&words, CHINESE));
            assert_eq!((chinese.status, &*chinese.stderr), (Some(0), ""), "{words:?}");
            let text = chinese.stdout;
            assert!(!is_chinese(&english.stdout) && text.contains("用法："), "{words:?}: {text}");
            for own in
                ["Usage:", "Options:", "Commands:", "Arguments:", "Print ", "[default", "[possible", "\u{a0}"]
            {
                assert!(!text.contains(own), "{words:?}: {own} in\n{text}");
            }
            assert_eq!(options(&text), options(&english.stdout), "{words:?}");
            let is_command =
                |line: &&str| ["opscope ", "msprof ", "./", " = "].iter().any(|it| line.contains(it));
            for line in text.lines().filter(|line| !is_command(line)) {
                assert!(!is_chinese(line) || opscope_say::width(line) <= 100, "{words:?}: {line}");
                let words =
                    line.split(' ').filter(|word| word.chars().all(|letter| letter.is_ascii_lowercase()));
                let is_prose = words.filter(|word| word.len() > 1).count() > 3;
                assert!(is_chinese(line) || !is_prose, "{command:?}: {line}");
            }
        }
    }
}

#[test]
fn the_help_in_chinese_fits_the_terminal_whatever_way_it_is_asked_for() {
    let place = Place::new();
    let narrow = &[("OPSCOPE_LANG", "zh"), ("COLUMNS", "60")];
    let help = place.run_with(&["run", "--help"], narrow).stdout;
    let mut texts = help.lines().filter(|line| is_chinese(line) && !line.contains("opscope run "));
    assert!(texts.all(|line| opscope_say::width(line) <= 60), "{help}");
    assert_eq!(place.run_with(&["help", "run"], narrow).stdout, help);
    assert_eq!(place.run_with(&["run", "--help", "--lang", "zh"], &[("COLUMNS", "60")]).stdout, help);
    let nothing = place.run_with(&[], CHINESE);
    assert_eq!((nothing.status, &*nothing.stdout), (Some(2), ""));
    assert!(nothing.stderr.contains("\n命令：\n  demo "), "{}", nothing.stderr);
    // Words behind another program's name are for that program.
    let other = place.run_with(&["collect", "--", "true", "--help"], CHINESE);
    assert!(!other.stdout.contains("用法："), "{}", other.stdout);
}

#[test]
fn drop_in_commands_speak_chinese_in_their_help_alone() {
    let place = place();
    for words in [&["msprof", "--help"][..], &["msprof", "collect", "--help"], &["load_and_run", "--help"]] {
        let (english, chinese) = (place.run_with(words, &[]).stdout, place.run_with(words, CHINESE).stdout);
        assert!(english.contains("Usage: ") || english.contains("Usage:\n"), "{english}");
        assert!(is_chinese(&chinese) && chinese.contains("示例：") && !is_chinese(&english), "{chinese}");
    }
    let query = ["msprof", "query", "-dir", "runs"];
    assert_eq!(place.run_with(&query, CHINESE).stdout, place.run_with(&query, &[]).stdout);
}

#[test]
fn an_unknown_language_is_refused_and_an_unknown_variable_is_warned_of() {
    let place = place();
    let refused = place.run_with(&["analyze", "runs", "--lang", "zn"], &[]);
    assert_eq!(refused.status, Some(2), "{}", refused.stderr);
    assert!(refused.stderr.contains("'zn'"), "{}", refused.stderr);
    assert!(refused.stderr.ends_with("  --lang en    English\n  --lang zh    中文\n"), "{}", refused.stderr);
    let refused = place.run_with(&["analyze", "runs", "--lang", "zn"], CHINESE);
    assert!(refused.stderr.contains("“--lang <LANGUAGE>”的值“zn”无效"), "{}", refused.stderr);
    let warned = place.run_with(&["analyze", "runs"], &[("OPSCOPE_LANG", "zn")]);
    assert!(warned.stderr.contains("OPSCOPE_LANG=zn: expected en or zh"), "{}", warned.stderr);
    assert_eq!(warned.status, Some(0));
}

#[test]
fn screens_and_errors_are_in_chinese() {
    let place = place();
    for (words, said) in [
        (&["analyze", "runs"][..], "自身耗时"),
        (&["info", "runs"], "昇腾原始目录"),
        (&["show", "runs"], "AI Core 指标"),
        (&["advise", "runs"], "优化建议"),
        (&["compare", "runs", "runs"], "计入统计的推理"),
        (&["analyze", "nothing"], "没有该文件或目录"),
        (&["analyze", "runs", "--nosuch"], "无法识别的参数"),
        (&["formats"], "昇腾原始目录"),
        (&["rewrite", "--list"], "逆 Transpose"),
        (&["sample", "--list"], "口罩检测模型"),
        (&["sql", "runs"], "区间和标记，含程序的文本。"),
        (&["analyze"], "缺少以下必需的参数"),
        (&["analyze", "runs", "--agg", "most"], "“--agg <FIGURE>”的值“most”无效"),
        (&["analyze", "runs", "--agg"], "“--agg <FIGURE>”需要取值"),
        (&["analize"], "无法识别的命令"),
    ] {
        let found = place.run_with(words, CHINESE);
        let text = found.stdout + &found.stderr;
        assert!(text.contains(said), "{words:?}: {text}");
    }
}

#[test]
fn answers_for_programs_are_the_same_in_every_language() {
    let place = place();
    for words in [
        &["analyze", "runs", "--json"][..],
        &["analyze", "runs", "--csv"],
        &["info", "runs", "--json"],
        &["show", "runs", "--json"],
        &["advise", "runs", "--json"],
        &["compare", "runs", "runs", "--json"],
    ] {
        let (english, chinese) = (place.run_with(words, &[]), place.run_with(words, CHINESE));
        assert_eq!(english.stdout, chinese.stdout, "{words:?}");
    }
}

#[test]
fn columns_stand_below_their_headings_in_letters_of_double_width() {
    let place = place();
    let text = place.run_with(&["analyze", "runs"], CHINESE).stdout;
    let mut lines = text.lines().skip_while(|line| !line.starts_with('#'));
    let (heading, row) = (lines.next().expect("a heading"), lines.next().expect("a row"));
    let at = |line: &str, word: &str| opscope_say::width(&line[..line.find(word).expect("a column")]);
    assert_eq!(at(heading, "名称"), at(row, "Conv2D_"), "{text}");
}

#[test]
fn the_commands_of_the_readme_in_chinese_are_those_of_the_program() {
    let commands = |name: &str| -> Vec<String> {
        let path = format!("{}/../../{name}", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).expect("a README");
        let lines = text.lines().filter_map(|line| line.strip_prefix("opscope "));
        lines.map(|line| line.split("  ").next().unwrap_or_default().trim().to_owned()).collect()
    };
    let place = Place::new();
    let of_chinese = commands("README.zh.md");
    assert!(of_chinese.len() > 30);
    for line in of_chinese {
        let command = line.split(' ').find(|word| !word.starts_with('-') && *word != "zh" && *word != "en");
        let command = command.expect("a command");
        let help = place.run_with(&[command, "--help"], &[]);
        assert_eq!(help.status, Some(0), "{line}");
        let long = line.split(' ').filter(|word| word.starts_with("--") && word.len() > 2);
        for option in long.map(|word| word.split('=').next().unwrap_or(word)) {
            let of_sub = line.split(' ').nth(1).filter(|word| command == "sample" || !word.contains('/'));
            let sub =
                of_sub.map(|sub| place.run_with(&[command, sub, "--help"], &[]).stdout).unwrap_or_default();
            assert!(help.stdout.contains(option) || sub.contains(option), "{line}: {option}");
        }
    }
}

#[test]
fn warnings_about_ranks_are_in_chinese() {
    let place = Place::new();
    let damages = ["--damage", "shifted=5,cut=2,cut=6", "--layers", "1", "--microbatches", "1"];
    place.done(&[&["sample", "cluster", "-o", "made"][..], &damages].concat());
    let english = place.done(&["cluster", "made"]);
    assert!(english.stderr.contains("ranks 2, 6: ") && english.stderr.contains(": dp groups ("));
    assert!(english.stdout.contains("2 stages with one micro-batch ("), "{}", english.stdout);
    let told = place.run_with(&["cluster", "made"], CHINESE);
    assert!(!told.stderr.contains("ranks ") && !told.stderr.contains(" groups"), "{}", told.stderr);
    assert!(told.stderr.contains("dp 通信域 ("), "{}", told.stderr);
}

#[test]
fn questions_to_ranks_that_cannot_be_answered_are_refused_in_chinese() {
    let place = Place::new();
    place.done(&["sample", "cluster", "-o", "made", "--ranks", "4"]);
    for keep in ["communication", "summary"] {
        place.done(&["cluster", "import", "made", "-o", keep, "--keep", keep]);
    }
    for words in [
        &["cluster", "comm", "made", "--group", "dp:99"][..],
        &["cluster", "comm", "made", "--instance", "zz:0/1"],
        &["cluster", "experts", "communication"],
        &["cluster", "summary/"],
        &["cluster", "made", "--html", "nowhere/x.html"],
        &["sample", "cluster", "--fault", "slow-link=0-99"],
        &["sample", "cluster", "--fault", "slow-link=3"],
        &["sample", "cluster", "--fault", "foo=1"],
        &["sample", "cluster", "--damage", "cut=99"],
        &["sample", "cluster", "--damage", "foo=1"],
        &["sample", "cluster", "--layout", "tp=0"],
    ] {
        let refused = place.run_with(words, CHINESE);
        assert_ne!(refused.status, Some(0), "{words:?}");
        for english in ["there is", "imported", "does not exist", "must be", "written"] {
            assert!(!refused.stderr.contains(english), "{words:?}: {}", refused.stderr);
        }
        assert!(is_chinese(&refused.stderr), "{words:?}: {}", refused.stderr);
    }
}
