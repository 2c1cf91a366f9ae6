//! `opscope explain`: what a known error message, a word of the field or a rule means.

use clap::Args;
use opscope_advise::{Rule, rules};
use opscope_capture::explain::{PAGES, Page, TOPICS, Topic, explain, of_metric, page, topic};
use opscope_say::{Language, say, sentence};

use crate::exit::Exit;
use crate::terminal::{Terminal, bold};

const EXAMPLES: &str = "\
Examples:
  opscope explain memory                     UB, L0, L1, L2 and DDR
  opscope explain ub-fusion --lang zh
  opscope explain mte2_ratio                 what a counter of the hardware measures
  opscope explain A29                        a rule of opscope advise
  opscope explain E10001
  opscope explain \"error while loading shared libraries: libpython3.9.so.1.0\"
  ./program 2>&1 | tail -1 | xargs -0 opscope explain
  opscope explain                            list the pages";

/// The options of `opscope explain`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// A topic, an error message or a part of it, or a rule's id; without it, all pages are listed
    #[arg(value_name = "TEXT")]
    text: Vec<String>,
}

/// Prints the pages that fit.
///
/// # Errors
/// When standard output can't take it.
pub fn execute(arguments: &Arguments, terminal: &Terminal) -> anyhow::Result<Exit> {
    let text = arguments.text.join(" ");
    let language = opscope_say::chosen();
    if text.trim().is_empty() {
        terminal.print(&list(language))?;
        return Ok(Exit::Done);
    }
    match answer(text.trim(), language) {
        Ok(pages) => {
            terminal.print(&pages)?;
            Ok(Exit::Done)
        }
        Err(unknown) => {
            terminal.error(&say!("{unknown}'opscope explain' lists the topics"));
            Ok(Exit::Failed)
        }
    }
}

/// The pages that fit a text.
///
/// # Errors
/// Where none does: the beginning of a sentence that goes on with where the topics are listed.
pub fn answer(text: &str, language: Language) -> Result<String, String> {
    pages(text, language).ok_or_else(|| {
        let near = nearest(text).map_or(String::new(), |name| say!("did you mean '{name}'? "));
        say!("nothing is known about '{text}'; {near}")
    })
}

/// The page about a rule, with where its thresholds come from in the reader's language.
pub fn of_rule(rule: &Rule, language: Language) -> String {
    let paragraph = |text: &str| format!("\n  {text}\n");
    opscope_advise::explain(rule, language)
        .replace(&paragraph(&rule.source), &paragraph(&sentence(&rule.source)))
}

/// Title and text of a page in a language.
pub fn of_page(page: &Page, language: Language) -> (&'static str, &'static str) {
    match language {
        Language::English => (page.title, page.text),
        Language::Chinese => (page.title_zh, page.text_zh),
    }
}

fn of_topic(topic: &Topic, language: Language) -> (&'static str, &'static str) {
    match language {
        Language::English => (topic.title, topic.text),
        Language::Chinese => (topic.title_zh, topic.text_zh),
    }
}

/// The names of all topics and pages about messages, with their titles.
pub fn list(language: Language) -> String {
    let (topics, messages) = match language {
        Language::English => ("Topics", "Error messages"),
        Language::Chinese => ("主题", "错误信息"),
    };
    let line = |name: &str, title: &str| format!("  {} {title}\n", bold(&format!("{name:20}")));
    let mut text = format!("{topics}\n");
    TOPICS.iter().for_each(|topic| text.push_str(&line(topic.name, of_topic(topic, language).0)));
    text.push_str(&format!("\n{messages}\n"));
    PAGES.iter().for_each(|page| text.push_str(&line(page.name, of_page(page, language).0)));
    text
}

/// The pages about a text: the one of its name, that of a rule, or those of messages that it holds. Names
/// that the list has come before those of rules, which have ids as well.
fn pages(text: &str, language: Language) -> Option<String> {
    if let Some(topic) = topic(text) {
        let (title, page) = of_topic(topic, language);
        return Some(format!("{}\n\n{page}", bold(title)));
    }
    let named = page(text);
    let all = rules();
    let is_named = |name: &str| name.eq_ignore_ascii_case(text);
    if named.is_none()
        && let Some(rule) = all.iter().find(|rule| is_named(&rule.id) || is_named(&rule.name))
    {
        return Some(of_rule(rule, language));
    }
    let found: Vec<&Page> = named.map_or_else(|| explain(text), |page| vec![page]);
    // A counter's name has no blanks and parts with bars between.
    let is_metric = found.is_empty() && text.contains('_') && !text.contains(char::is_whitespace);
    if let Some(topic) = of_metric(text).filter(|_| is_metric) {
        let (title, page) = of_topic(topic, language);
        return Some(format!("{}\n\n{page}", bold(title)));
    }
    let shown = found.into_iter().map(|page| of_page(page, language));
    let pages: Vec<String> = shown.map(|(title, text)| format!("{}\n\n{text}\n", bold(title))).collect();
    (!pages.is_empty()).then(|| pages.join("\n"))
}

/// The name of a page that a word may have been meant for.
fn nearest(text: &str) -> Option<&'static str> {
    let wanted = text.to_lowercase();
    let topics = TOPICS.iter().flat_map(|topic| topic.words.iter().chain([&topic.name])).copied();
    let names = topics.chain(PAGES.iter().map(|page| page.name));
    let by_distance = names.map(|name| (strsim::osa_distance(&name.to_lowercase(), &wanted), name));
    let (distance, name) = by_distance.min_by_key(|(distance, _)| *distance)?;
    (distance <= 1 + wanted.chars().count() / 4).then_some(name)
}
