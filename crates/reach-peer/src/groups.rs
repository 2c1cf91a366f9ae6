//! The groups of ranks: what each mode needs to know of them, and the table `CommunicationGroupMapping`.

use std::collections::{BTreeMap, BTreeSet};

use opscope_reach::key_of_text;

use crate::error::PeerError;
use crate::ranks::{File, Ranks};
use crate::table::{Kind, Output, Table};

pub const MAPPING: Table = Table {
    name: "CommunicationGroupMapping",
    columns: &[
        ("type", Kind::Text),
        ("rank_set", Kind::Text),
        ("group_name", Kind::Text),
        ("group_id", Kind::Text),
        ("pg_name", Kind::Text),
    ],
    index: &[],
};

/// The kind of communication within a group. Between two ranks comes behind the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Traffic {
    Collective,
    Pairwise,
}

impl Traffic {
    /// The vendor's word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Collective => "collective",
            Self::Pairwise => "p2p",
        }
    }

    /// The kind of an operator, by its name.
    pub fn of_operator(name: &str) -> Self {
        let name = name.to_ascii_lowercase();
        match ["send", "recv", "receive"].iter().any(|word| name.contains(word)) {
            true => Self::Pairwise,
            false => Self::Collective,
        }
    }
}

/// A group, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Members {
    /// Its ranks in ascending order: all where the run declares them, else those that were seen in it.
    pub ranks: Vec<u32>,
    /// The vendor's name of it; empty where the run doesn't declare it.
    pub id: String,
    /// The framework's name of it; likewise.
    pub name: String,
    /// Whether the run declares it.
    pub is_declared: bool,
}

impl Members {
    /// The ranks as text, such as `(4,5)`.
    pub fn text(&self) -> String {
        let ranks: Vec<String> = self.ranks.iter().map(u32::to_string).collect();
        format!("({})", ranks.join(","))
    }

    /// The ranks as the texts of JSON name them, such as `(4, 5)` and `(4,)`.
    pub fn tuple(&self) -> String {
        let ranks: Vec<String> = self.ranks.iter().map(u32::to_string).collect();
        match &ranks[..] {
            [one] => format!("({one},)"),
            ranks => format!("({})", ranks.join(", ")),
        }
    }
}

/// The groups in which ranks were seen, by kind and the group's name in the tables.
#[derive(Clone, Debug, Default)]
pub struct Seen(pub BTreeMap<(Traffic, String), BTreeSet<u32>>);

impl Seen {
    /// Enters a rank.
    pub fn add(&mut self, traffic: Traffic, group: &str, rank: u32) {
        self.0.entry((traffic, group.to_owned())).or_default().insert(rank);
    }

    /// Enters what others saw.
    pub fn merge(&mut self, other: Self) {
        for (key, ranks) in other.0 {
            self.0.entry(key).or_default().extend(ranks);
        }
    }

    /// Who is in a group.
    pub fn members(&self, ranks: &Ranks, traffic: Traffic, group: &str) -> Members {
        match ranks.groups.get(&key_of_text(group)) {
            Some(declared) => {
                let mut members = declared.ranks.clone();
                members.sort_unstable();
                members.dedup();
                let (id, name) = (declared.id.clone(), declared.name.clone());
                Members { ranks: members, id, name, is_declared: true }
            }
            None => {
                let seen = self.0.get(&(traffic, group.to_owned()));
                Members { ranks: seen.into_iter().flatten().copied().collect(), ..Members::default() }
            }
        }
    }

    /// The groups with their members, collectives first, each kind by the group's name.
    pub fn all<'a>(&'a self, ranks: &'a Ranks) -> impl Iterator<Item = (Traffic, &'a str, Members)> + 'a {
        self.0.keys().map(|(traffic, group)| (*traffic, group.as_str(), self.members(ranks, *traffic, group)))
    }

    /// Writes them as a table.
    ///
    /// # Errors
    /// SQLite's.
    pub fn write(&self, ranks: &Ranks, output: &Output) -> rusqlite::Result<()> {
        let mut table = output.table(&MAPPING)?;
        for (traffic, group, members) in self.all(ranks) {
            table.row((traffic.word(), members.text(), group, &members.id, &members.name))?;
        }
        Ok(())
    }
}

/// Finds the groups in which the ranks' databases have collectives.
pub fn of_databases(ranks: &Ranks) -> Seen {
    let mut all = Seen::default();
    let read = |collection: &opscope_reach::Collection| {
        let mut seen = Seen::default();
        ranks.read(collection, File::Analysis, |database| {
            let columns = ["hccl_op_name", "group_name", "type"];
            opscope_reach::database::each_row(database, "CommAnalyzerTime", &columns, |row| {
                let text = |column| opscope_reach::database::text(row, column);
                seen.add(traffic_of_word(text(2), text(0)), text(1), collection.rank);
            })
        });
        seen
    };
    let Ok(()) = ranks.each(read, |_, seen| {
        all.merge(seen);
        Ok::<_, std::convert::Infallible>(())
    });
    all
}

/// The kind by the vendor's word, or where there is none by the operator's name.
pub fn traffic_of_word(word: &str, operator: &str) -> Traffic {
    match word {
        "p2p" => Traffic::Pairwise,
        "collective" => Traffic::Collective,
        _ => Traffic::of_operator(operator),
    }
}

/// `communication_group_map`.
///
/// # Errors
/// When the result can't be written.
pub fn map(ranks: &Ranks, path: &std::path::Path) -> Result<(), PeerError> {
    let seen = of_databases(ranks);
    Output::write(path, |output| seen.write(ranks, output))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_written_in_the_two_ways() {
        let of = |ranks: &[u32]| Members { ranks: ranks.to_vec(), ..Members::default() };
        assert_eq!((of(&[4, 5]).text(), of(&[4, 5]).tuple()), ("(4,5)".to_owned(), "(4, 5)".to_owned()));
        assert_eq!((of(&[0]).text(), of(&[0]).tuple()), ("(0)".to_owned(), "(0,)".to_owned()));
    }

    #[test]
    fn names_tell_operations_between_two() {
        assert_eq!(Traffic::of_operator("hcom_BatchSendRecv__1"), Traffic::Pairwise);
        assert_eq!(Traffic::of_operator("hcom_allReduce__1"), Traffic::Collective);
    }
}
