//! The marks that tell rows of a table of sums apart where it has those of several devices, models or threads.

use opscope_formats::reading::Stop;

use super::table::{Column, Header, Losses, Row, read_rows};
use crate::headings::{acl_statistic, op_statistic, op_summary};

/// Columns that may hold one value in the whole table, and the words that name their values.
const COLUMNS: [(&str, &[&str]); 4] = [
    (DEVICE, &[op_statistic::DEVICE]),
    ("model", &[op_summary::MODEL_NAME]),
    ("process", &[acl_statistic::PROCESS]),
    ("thread", &[acl_statistic::THREAD]),
];

const DEVICE: &str = "device";

/// The columns that hold several values.
pub(super) struct Parts(Vec<(&'static str, Column)>);

impl Parts {
    /// Looks at all rows of a table.
    pub fn of(text: &[u8], header: &Header, stop: &Stop) -> Self {
        let found = COLUMNS.iter().filter_map(|(word, names)| Some((*word, header.find(names)?)));
        let mut looked: Vec<_> = found.map(|(word, column)| (word, column, None::<Vec<u8>>, false)).collect();
        read_rows(text, header, stop, &mut Losses::default(), |row, _| {
            for (_, column, first, differs) in looked.iter_mut().filter(|(.., differs)| !differs) {
                let cell = row.cell(Some(*column));
                match first {
                    None => *first = Some(cell.to_vec()),
                    Some(first) => *differs = first != cell,
                }
            }
        });
        let differing = looked.into_iter().filter(|(.., differs)| *differs);
        Self(differing.map(|(word, column, ..)| (word, column)).collect())
    }

    /// The part that a row is about: the device and the like, and `inner`, which the table tells besides.
    pub fn name(&self, row: &Row<'_>, inner: &str) -> String {
        let mut part = String::new();
        let mut add = |text: &str| {
            if !text.is_empty() {
                part.push_str(if part.is_empty() { "" } else { ", " });
                part.push_str(text);
            }
        };
        for (word, column) in &self.0 {
            match row.text(Some(*column)) {
                text if text.is_empty() => {}
                text if *word == DEVICE => add(&device_name(&text)),
                text => add(&format!("{word} {text}")),
            }
        }
        add(inner);
        part
    }
}

/// `NPU:1` and `1` are device 1; the host has no number.
pub(super) fn device_name(text: &str) -> String {
    let number = text.rsplit(':').next().unwrap_or_default();
    match number.parse::<u32>() {
        Ok(number) => format!("device {number}"),
        Err(_) => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use opscope_formats::reading::Stop;

    use super::super::read;

    /// The subject and part of each figure of a name.
    fn parts(table: &str, name: &str) -> Vec<(String, String)> {
        let trace = read(table.as_bytes(), &Stop::default()).unwrap();
        let text = |id| trace.strings.get(id).to_owned();
        let rows = trace.figures.iter().map(|(_, row)| row).filter(|row| text(row.name) == name);
        rows.map(|row| (text(row.subject), text(row.part))).collect()
    }

    fn pairs<const N: usize>(pairs: [(&str, &str); N]) -> Vec<(String, String)> {
        pairs.map(|(subject, part)| (subject.to_owned(), part.to_owned())).to_vec()
    }

    #[test]
    fn rows_of_several_devices_and_models_are_told_apart() {
        let types = "Device_id,Model Name,OP Type,Core Type,Count,Total Time(us),Ratio(%)\n\
            0,net,Conv2D,AI Core,3,300,75\n0,other,Conv2D,AI Core,1,100,25\n1,net,Conv2D,AI Core,3,330,100\n";
        assert_eq!(
            parts(types, "total"),
            pairs([
                ("Conv2D", "device 0, model net, AI Core"),
                ("Conv2D", "device 0, model other, AI Core"),
                ("Conv2D", "device 1, model net, AI Core"),
            ])
        );
        let collectives = "Device_id,OP Type,Count,Total Time(us),Ratio(%)\n0,a,3,300,75\n1,a,1,100,25\n";
        assert_eq!(parts(collectives, "total"), pairs([("a", "device 0"), ("a", "device 1")]));
        let calls = "Device_id,Level,API Name,Time(us),Count,Avg(us),Min(us),Max(us),Variance\n\
            host,acl,run,100,2,50,40,60,1\n1,acl,run,300,2,150,140,160,1\n";
        assert_eq!(parts(calls, "total"), pairs([("run", "host, acl"), ("run", "device 1, acl")]));
        let caches =
            "Device_id,Stream Id,Task Id,Hit Rate,Victim Rate,Op Name\n0,2,3,0.5,0,c\n1,2,3,0.9,0,c\n";
        assert_eq!(
            parts(caches, "hit rate"),
            pairs([("c", "device 0, stream 2 task 3"), ("c", "device 1, stream 2 task 3")])
        );
    }

    #[test]
    fn a_table_of_one_device_and_model_does_not_repeat_them_in_each_row() {
        let types = "Device_id,Model Name,OP Type,Core Type,Count,Total Time(us),Ratio(%)\n\
            0,net,Conv2D,AI Core,3,300,75\n0,net,Add,AI Core,1,100,25\n";
        assert_eq!(parts(types, "total"), pairs([("Conv2D", "AI Core"), ("Add", "AI Core")]));
    }
}
