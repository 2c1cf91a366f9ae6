//! The first look at a path, by which all formats judge it.

use std::cell::OnceCell;
use std::io;
use std::path::{Path, PathBuf};

use opscope_cann::{Found, Profile};
use opscope_formats::encoding::other_encoding;
use opscope_formats::reading::Stop;

use crate::OpenError;
use crate::formats::ascend_ranks;
use crate::head;
use crate::json_head::JsonHead;
use crate::unread;

/// How many names of a folder are looked at.
const MOST_NAMES: usize = 10_000;

/// A folder, or the beginning of a file.
#[derive(Debug)]
pub(crate) struct Look {
    pub path: PathBuf,
    pub is_folder: bool,
    /// The beginning of a file, unpacked; nothing of a folder.
    pub bytes: Vec<u8>,
    pub json: Option<JsonHead>,
    pub compressed: bool,
    /// The wish to end the search in which it was met.
    pub stop: Stop,
    raw: OnceCell<Result<Found, opscope_cann::Error>>,
}

impl Look {
    /// Looks at a path that was named.
    pub fn at(path: &Path) -> Result<Self, OpenError> {
        check_presence(path)?;
        Self::with(path, head::read, Stop::default())
    }

    /// Looks at a path that was met in a folder, where there may be any number of them: at little of a file, however
    /// long its first record is, and until `stop` is wanted.
    pub fn met(path: &Path, stop: &Stop) -> Result<Self, OpenError> {
        Self::with(path, head::read_little, stop.clone())
    }

    /// The most that is looked at of a text, if that is more than was looked at.
    pub fn further(&self) -> Option<Self> {
        let is_more = self.path.is_file() && self.is_begin_of_text();
        let further = || Self::with(&self.path, head::read_most, self.stop.clone()).ok();
        is_more.then(further).flatten().filter(|look| look.bytes.len() > self.bytes.len())
    }

    /// Whether it is a text, of which more may be there than the little that was looked at.
    pub fn is_begin_of_text(&self) -> bool {
        head::is_little(&self.bytes) && !self.bytes.contains(&0)
    }

    /// How many mebibytes were looked at of a text that goes on, if that is the most that is looked at.
    pub fn most_of_text(&self) -> Option<u64> {
        head::most_mebibytes(&self.bytes).filter(|_| self.json.is_none() && !self.bytes.contains(&0))
    }

    fn with(
        path: &Path,
        head: impl FnOnce(&Path) -> io::Result<(bool, Vec<u8>)>,
        stop: Stop,
    ) -> Result<Self, OpenError> {
        let is_folder = path.is_dir();
        let (compressed, bytes) = match is_folder {
            true => (false, Vec::new()),
            false => head(path).map_err(|source| OpenError::Io { path: path.to_owned(), source })?,
        };
        let json = JsonHead::read(&bytes);
        Ok(Self { path: path.to_owned(), is_folder, bytes, json, compressed, stop, raw: OnceCell::new() })
    }

    /// The raw directories of Ascend at or below a folder.
    pub fn raw(&self) -> &Result<Found, opscope_cann::Error> {
        self.raw.get_or_init(|| opscope_cann::search(&self.path))
    }

    /// The same without what can't be used; none of a file.
    pub fn profiles(&self) -> &[Profile] {
        match self.is_folder.then(|| self.raw()) {
            Some(Ok(found)) => &found.profiles,
            _ => &[],
        }
    }

    /// Whether the path itself is a raw directory.
    pub fn is_raw(&self) -> bool {
        self.profiles().iter().any(|profile| profile.path == self.path)
    }

    /// Whether the path itself is a raw directory that has records.
    pub fn has_records(&self) -> bool {
        self.profiles().iter().any(|profile| profile.path == self.path && profile.has_records())
    }

    /// The raw directories themselves.
    pub fn into_raw(self) -> Result<Found, OpenError> {
        if !self.is_folder {
            return Err(OpenError::NoFolder { path: self.path });
        }
        let searched = self.raw.into_inner().unwrap_or_else(|| opscope_cann::search(&self.path));
        Ok(searched?)
    }

    /// Why the search for raw directories found none.
    pub fn into_search_error(self) -> Option<opscope_cann::Error> {
        self.raw.into_inner().and_then(Result::err)
    }

    /// The same, and of a folder that isn't otherwise known whether it is a model of a kind that isn't read.
    pub fn described(&self) -> String {
        let kind = self.looks_like();
        if !self.is_folder || kind != PLAIN_FOLDER {
            return kind;
        }
        let names = names_in(&self.path);
        unread::folder(names.iter().map(String::as_str)).map_or(kind, str::to_owned)
    }

    /// A description of what no format knows.
    pub fn looks_like(&self) -> String {
        let known = unread::file(&self.bytes);
        let content = match (known, &self.json) {
            _ if self.is_folder => describe_folder(&self.path),
            _ if self.bytes.is_empty() => "an empty file".to_owned(),
            (Some(kind), _) => kind.to_owned(),
            (None, Some(json)) => describe_json(json),
            (None, None) if is_text(&self.bytes) => "text".to_owned(),
            (None, None) if other_encoding(&self.bytes).is_some() => {
                let encoding = other_encoding(&self.bytes).unwrap_or_default();
                format!("text in {encoding}; save it as UTF-8 (with an editor, or 'iconv -t UTF-8')")
            }
            (None, None) => {
                let first: Vec<_> = self.bytes.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
                format!("a file of an unknown kind that begins with the bytes {}", first.join(" "))
            }
        };
        let content = match (head::is_too_long(&self.bytes), self.most_of_text()) {
            (true, _) => format!("{content}, whose first record is longer than opscope looks at"),
            (false, Some(most)) => format!(
                "{content} (opscope looked at the first {} MiB of it; if a profile begins further down, cut off what \
                 is above it)",
                most
            ),
            (false, None) => content,
        };
        if self.compressed { format!("{content}, compressed with gzip") } else { content }
    }
}

/// Makes sure that there is something at `path`; otherwise suggests the path from the root where only
/// the first slash was forgotten.
///
/// # Errors
/// When there is nothing.
pub fn check_presence(path: &Path) -> Result<(), OpenError> {
    match std::fs::metadata(path) {
        Ok(_) => Ok(()),
        Err(problem) if problem.kind() == std::io::ErrorKind::NotFound => {
            let rooted = Path::new("/").join(path);
            let rooted = (path.is_relative() && rooted.exists()).then_some(rooted);
            Err(OpenError::Missing { path: path.to_owned(), rooted })
        }
        Err(source) => Err(OpenError::Hidden { path: path.to_owned(), source }),
    }
}

/// The files by which the results of msServiceProfiler are known: it follows the requests of a server of language
/// models.
const OF_REQUESTS: [&str; 4] = ["request.csv", "batch.csv", "kvcache.csv", "profiler.db"];

/// The begin and end of the names of the databases that msServiceProfiler collects.
const OF_SERVERS: [(&str, &str); 2] = [("ms_service_", ".db"), ("ascend_service_profiler_", ".db")];

/// The description of a folder of which nothing is known.
pub(crate) const PLAIN_FOLDER: &str = "a folder";

/// The names of the files and folders in a folder.
fn names_in(path: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).take(MOST_NAMES).collect()
}

/// A description of a folder that no format knows.
fn describe_folder(path: &Path) -> String {
    let names = names_in(path);
    let has = |name: &str| names.iter().any(|known| known == name);
    let results = OF_REQUESTS.into_iter().filter(|name| has(name)).count();
    let is_database =
        |name: &String| OF_SERVERS.iter().any(|(begin, end)| name.starts_with(begin) && name.ends_with(end));
    if results >= 2 {
        let timeline =
            if has("chrome_tracing.json") { "; its chrome_tracing.json can be given alone" } else { "" };
        return format!(
            "a folder of msServiceProfiler's results on the requests of a server, without a table that opscope \
             reads{timeline}"
        );
    }
    if names.iter().any(is_database) {
        return "a folder of what msServiceProfiler collected of a server (make tables and a timeline of it with \
                'python3 -m ms_service_profiler.parse')"
            .to_owned();
    }
    let is_of_ranks = |folder: &Path| ascend_ranks::NAMES.iter().any(|name| folder.join(name).is_file());
    if is_of_ranks(path) || is_of_ranks(&path.join(ascend_ranks::FOLDER)) {
        return "a folder of summaries of several ranks by the Ascend tools (give it to 'opscope cluster')"
            .to_owned();
    }
    PLAIN_FOLDER.to_owned()
}

fn describe_json(json: &JsonHead) -> String {
    let depth = if json.is_list { 2 } else { 1 };
    let mut keys: Vec<&str> = Vec::new();
    for member in json.members.iter().filter(|member| member.depth == depth) {
        if keys.len() < 5 && !keys.contains(&&*member.key) {
            keys.push(&member.key);
        }
    }
    let what = if json.is_list { "a JSON list" } else { "a JSON object" };
    if keys.is_empty() { what.to_owned() } else { format!("{what} with {}", keys.join(", ")) }
}

/// Whether the bytes are text, which may be cut off within a character.
fn is_text(bytes: &[u8]) -> bool {
    let valid = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => return false,
    };
    valid.chars().all(|letter| !letter.is_control() || letter.is_ascii_whitespace())
}
