//! The operators, calls and ranges behind slices, each once.

use std::collections::HashMap;

use opscope_timeline::Rows;
use opscope_trace::{ModelId, OperatorId, RangeKind, StringId, Trace};

use super::operators::Operators;
use super::strings::Strings;
use crate::columns::Table;

/// The kind of a slice, as columns number it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
enum Kind {
    Inference = 0,
    Unrecorded = 1,
    Call = 2,
    Range = 3,
    Mark = 4,
    Task = 5,
}

/// A thing that many slices are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Item {
    kind: Kind,
    name: u32,
    category: u32,
    /// The number of the unit of tasks.
    unit: u8,
    /// The operator's row of the table, + 1.
    operator: u32,
    /// The task's own name, where its operator has another.
    task: u32,
}

/// Items by their number in the report.
pub(crate) struct Items {
    operators: Operators,
    pub(super) strings: Strings,
    items: Vec<Item>,
    numbers: HashMap<Item, u32>,
    /// By the trace's string, the report's number plus one: most slices name what slices before them named.
    texts: Vec<u32>,
}

impl Items {
    pub(super) fn new(trace: &Trace, operators: Operators, strings: Strings) -> Self {
        let texts = vec![0; trace.strings.len()];
        Self { operators, strings, items: Vec::new(), numbers: HashMap::new(), texts }
    }

    /// The number of the item that a slice of a lane is.
    pub(crate) fn number(&mut self, trace: &Trace, rows: &Rows, slice: usize) -> u32 {
        let item = self.item(trace, rows, slice);
        let next = self.items.len() as u32;
        let number = *self.numbers.entry(item).or_insert(next);
        if number == next {
            self.items.push(item);
        }
        number
    }

    fn item(&mut self, trace: &Trace, rows: &Rows, slice: usize) -> Item {
        let empty = Item { kind: Kind::Task, name: 0, category: 0, unit: 0, operator: 0, task: 0 };
        match rows {
            Rows::Iterations(ids) => {
                let name = self.model(trace, trace.iterations.model()[ids[slice].index()]);
                Item { kind: Kind::Inference, name, ..empty }
            }
            Rows::Unrecorded(ids) => {
                let name = self.model(trace, trace.unrecorded_iterations.model()[ids[slice].index()]);
                Item { kind: Kind::Unrecorded, name, ..empty }
            }
            Rows::Calls(ids) => {
                let index = ids[slice].index();
                let name = self.text(trace, trace.api_calls.name()[index]);
                let category = self.strings.number(trace.api_calls.level()[index].name());
                Item { kind: Kind::Call, name, category, ..empty }
            }
            Rows::Ranges(ids) => {
                let range = trace.ranges.get(ids[slice]);
                let kind = if range.kind == RangeKind::Mark { Kind::Mark } else { Kind::Range };
                let name = self.text(trace, range.name);
                let category = match range.domain {
                    Some(domain) => self.text(trace, domain),
                    None => self.strings.number(range.kind.name()),
                };
                Item { kind, name, category, ..empty }
            }
            Rows::Tasks(ids) => self.task(trace, ids[slice].index(), empty),
        }
    }

    fn task(&mut self, trace: &Trace, index: usize, empty: Item) -> Item {
        let tasks = &trace.tasks;
        let (own_name, unit) = (tasks.name()[index], tasks.unit()[index]);
        let operator = tasks.operator()[index];
        let row = self.operators.row_of(operator, own_name).map_or(0, |row| row + 1);
        let item = Item { unit: unit as u8, operator: row, ..empty };
        let of_unit = |items: &mut Self| items.strings.number(unit.name());
        let Some(operator) = operator else {
            return Item { name: self.text(trace, own_name), category: of_unit(self), ..item };
        };
        let operators = &trace.operators;
        let (name, op_type) = (operators.name()[operator.index()], operators.op_type()[operator.index()]);
        let task = if own_name == name { 0 } else { self.text(trace, own_name) };
        let category = match self.text(trace, op_type) {
            0 => of_unit(self),
            category => category,
        };
        Item { name: self.text(trace, name), category, task, ..item }
    }

    fn model(&mut self, trace: &Trace, model: Option<ModelId>) -> u32 {
        model.map_or(0, |model| self.text(trace, trace.models.name()[model.index()]))
    }

    fn text(&mut self, trace: &Trace, id: StringId) -> u32 {
        let known = &mut self.texts[id.index()];
        if *known == 0 {
            *known = self.strings.number(trace.strings.get(id)) + 1;
        }
        *known - 1
    }

    /// The row of an item's operator in the table of operators.
    pub(crate) fn operator_of(&self, item: u32) -> Option<u32> {
        self.items[item as usize].operator.checked_sub(1)
    }

    /// The operator of a row of the table of operators, or the name of tasks without one.
    pub(crate) fn of_row(&self, row: u32) -> Option<(Option<OperatorId>, Option<StringId>)> {
        self.operators.of_row(row)
    }

    /// The rows of the table of operators, in no order, each with its operator or the name of its tasks.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (u32, Option<OperatorId>, Option<StringId>)> {
        self.operators.rows()
    }

    /// The name of an item.
    pub(crate) fn name_of(&self, item: u32) -> &str {
        self.strings.get(self.items[item as usize].name)
    }

    /// The pieces of text from one on.
    pub(crate) fn strings_from(&self, first: usize) -> Table {
        self.strings.table_from("strings", first)
    }

    /// The items from one on.
    pub(crate) fn table_from(&self, first: usize) -> Table {
        let items = &self.items[first.min(self.items.len())..];
        let mut table = Table::new("items", items.len());
        table.whole("kind", items.iter().map(|item| item.kind as u64));
        table.whole("name", items.iter().map(|item| item.name.into()));
        table.whole("category", items.iter().map(|item| item.category.into()));
        table.whole("unit", items.iter().map(|item| item.unit.into()));
        table.whole("operator", items.iter().map(|item| item.operator.into()));
        table.whole("task", items.iter().map(|item| item.task.into()));
        table
    }
}
