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

#[test]
fn an_unknown_language_is_refused_and_an_unknown_variable_is_warned_of() {
    let place = place();
    let refused = place.run_with(&["analyze", "runs", "--lang", "zn"], &[]);
    assert_eq!(refused.status, Some(2), "{}", refused.stderr);
    assert!(refused.stderr.contains("'zn'"), "{}", refused.stderr);
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
