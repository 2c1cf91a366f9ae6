//! Known error messages, their meaning and their remedy; and the words of the field.

mod page;
mod pages;
mod topics;

pub use page::Page;
pub use pages::PAGES;
pub use topics::{TOPICS, Topic, of_metric, topic};

/// The pages that fit a message, the most fitting first.
pub fn explain(message: &str) -> Vec<&'static Page> {
    let message = message.to_lowercase();
    let score = |page: &Page| {
        let group = |signs: &&[&str]| signs.iter().all(|sign| message.contains(&sign.to_lowercase()));
        page.signs.iter().filter(|signs| group(signs)).map(|signs| signs.concat().len()).max()
    };
    let mut found: Vec<(usize, &Page)> = PAGES.iter().filter_map(|page| Some((score(page)?, page))).collect();
    found.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    found.into_iter().map(|(_, page)| page).collect()
}

/// The page that fits the last line that any page fits, of all that a program wrote.
pub fn last_explained(output: &str) -> Option<&'static Page> {
    output.lines().rev().find_map(|line| explain(line).first().copied())
}

/// The page of a name.
pub fn page(name: &str) -> Option<&'static Page> {
    PAGES.iter().find(|page| page.name.eq_ignore_ascii_case(name))
}
