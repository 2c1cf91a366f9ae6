//! Answers that were given before, as many as fit into a number of bytes; the one that was longest not asked for goes
//! first.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use axum::body::Bytes;

#[derive(Debug)]
pub(crate) struct Cache {
    most: usize,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    /// The one asked for last is the last.
    answers: VecDeque<(String, Bytes)>,
    bytes: usize,
}

impl Cache {
    /// A cache of at most so many bytes.
    pub(crate) fn new(most: usize) -> Self {
        Self { most, kept: Mutex::default() }
    }

    pub(crate) fn get(&self, question: &str) -> Option<Bytes> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let place = kept.answers.iter().position(|(known, _)| known == question)?;
        let found = kept.answers.remove(place)?;
        let answer = found.1.clone();
        kept.answers.push_back(found);
        Some(answer)
    }

    pub(crate) fn put(&self, question: String, answer: Bytes) {
        let size = |question: &str, answer: &Bytes| question.len() + answer.len();
        let own = size(&question, &answer);
        if own > self.most {
            return;
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.answers.iter().any(|(known, _)| *known == question) {
            return;
        }
        kept.bytes += own;
        kept.answers.push_back((question, answer));
        while kept.bytes > self.most {
            let Some((question, answer)) = kept.answers.pop_front() else { break };
            kept.bytes -= size(&question, &answer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_longest_not_asked_for_goes_first() {
        let cache = Cache::new(10);
        for question in ["a", "b", "c"] {
            cache.put(question.to_owned(), Bytes::from_static(b"12"));
        }
        assert!(cache.get("a").is_some());
        cache.put("d".to_owned(), Bytes::from_static(b"12"));
        assert!(cache.get("b").is_none() && cache.get("a").is_some() && cache.get("d").is_some());
        cache.put("e".to_owned(), Bytes::from_static(b"too long for it"));
        assert!(cache.get("e").is_none());
    }
}
