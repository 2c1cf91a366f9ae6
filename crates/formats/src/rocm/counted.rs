//! Counters of kernels in the JSON of `rocprofv3`.

use std::collections::BTreeMap;
use std::ops::Range;

use super::json::{Record, each, handle, object, record_member, text};
use super::lost::Lost;
use crate::json::{Scanned, Scanner};

/// Counters of hardware while kernels ran. One with several parts, such as one of each shader engine, has a value
/// for each.
#[derive(Default)]
pub struct Counted {
    /// The names of counters, by their number and by the agent's handle, which is 0 where none is told.
    names: BTreeMap<(u64, u64), String>,
    /// The kernels, with the places of their values.
    kernels: Vec<(Record, Range<usize>)>,
    /// The values, by the counter's number.
    values: Vec<(u64, f64)>,
}

impl Counted {
    /// The name of an agent's counter.
    fn name(&self, counter: u64, agent: u64) -> Option<&str> {
        let of_any = || self.names.range((counter, 0)..=(counter, u64::MAX)).next().map(|(_, name)| name);
        self.names.get(&(counter, agent)).or_else(of_any).map(String::as_str).filter(|name| !name.is_empty())
    }

    /// Reads the definition of a counter.
    pub fn counter(&mut self, scanner: &mut Scanner<'_>) -> Scanned<()> {
        let (mut id, mut agent, mut name) = (0, 0, String::new());
        object(scanner, |scanner, member| match member {
            b"id" => handle(scanner, |handle| id = handle),
            b"agent_id" => handle(scanner, |handle| agent = handle),
            b"name" => text(scanner, &mut name),
            _ => scanner.skip().map(drop),
        })?;
        self.names.insert((id, agent), name);
        Ok(())
    }

    /// Reads a kernel with its values.
    pub fn kernel(&mut self, scanner: &mut Scanner<'_>) -> Scanned<()> {
        let (first, mut row) = (self.values.len(), Record::default());
        object(scanner, |scanner, member| match member {
            b"dispatch_data" => object(scanner, |scanner, member| record_member(scanner, member, &mut row)),
            b"records" => each(scanner, |scanner| self.value(scanner)),
            // Versions from ROCm 7 on tell the program's stream beside the kernel.
            b"stream_id" => record_member(scanner, member, &mut row),
            _ => scanner.skip().map(drop),
        })?;
        self.kernels.push((row, first..self.values.len()));
        Ok(())
    }

    fn value(&mut self, scanner: &mut Scanner<'_>) -> Scanned<()> {
        let (mut counter, mut value) = (0, f64::NAN);
        object(scanner, |scanner, member| match member {
            b"counter_id" => handle(scanner, |handle| counter = handle),
            b"value" => scanner.number().map(|number| value = number.unwrap_or(f64::NAN)),
            _ => scanner.skip().map(drop),
        })?;
        self.values.push((counter, value));
        Ok(())
    }

    /// The kernels, with the places of their values.
    pub fn kernels(&self) -> impl Iterator<Item = (&Record, Range<usize>)> {
        self.kernels.iter().map(|(record, values)| (record, values.clone()))
    }

    /// The values of a kernel by the names of its counters, whose parts are added up, in the order of the names; counts
    /// those without a number or a name, which are left out.
    pub fn of(&self, agent: u64, values: Range<usize>, lost: &mut Lost) -> BTreeMap<&str, f64> {
        let mut sums = BTreeMap::new();
        for &(counter, value) in &self.values[values] {
            match self.name(counter, agent) {
                Some(name) if value.is_finite() => *sums.entry(name).or_default() += value,
                Some(_) => lost.no_number += 1,
                None => lost.placeless += 1,
            }
        }
        sums
    }
}
