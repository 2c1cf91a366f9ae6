//! `msprof_tx`: ranges and marks that the program set, with the device's side of marks. JSON files
//! have the marks' numbers instead, as those of the reference.

use crate::export::sheet::Sheet;
use crate::facts::marks::{device_marks, event_type};
use crate::facts::view::View;
use crate::headings::msprof_tx;
use crate::options::SheetFormat;
use crate::tables::Tx;

/// The table, or `None` if the program set none.
pub(crate) fn sheet<'a>(view: &'a View<'a>, format: SheetFormat) -> Option<Sheet<'a>> {
    let host = &view.joined.data.host;
    let marks = device_marks(view);
    let further: &[&str] = match format {
        SheetFormat::Csv | SheetFormat::MarkedCsv => &["Device Start_time(us)", "Device End_time(us)"],
        SheetFormat::Json => &["mark_id"],
    };
    (!host.tx.is_empty()).then(|| Sheet {
        kind: "msprof_tx",
        headers: msprof_tx::ALL.iter().chain(further).map(|&name| name.to_owned()).collect(),
        rows: host.tx.len(),
        write: Box::new(move |index, row| {
            let tx: Tx = host.tx.row(index);
            let mark = marks.get(&tx.mark).filter(|_| tx.mstx);
            match mark {
                Some(mark) => row.integer(view.devices[mark.device].device.id),
                None => row.text("host"),
            }
            row.integer(tx.process);
            row.integer(tx.thread);
            if tx.mstx {
                row.missing()
            } else {
                row.integer(tx.category)
            }
            row.text(event_type(tx.event_type));
            if tx.mstx {
                row.missing()
            } else {
                row.integer(tx.payload_type)
            }
            if tx.mstx {
                row.missing()
            } else {
                row.integer(tx.payload)
            }
            row.time(view.host_time_rounded(tx.start));
            row.time(view.host_time_rounded(tx.end));
            if tx.mstx {
                row.missing()
            } else {
                row.integer(tx.message_type)
            }
            row.foreign_text(host.messages.get(tx.message as usize).map_or("", String::as_str));
            if tx.mstx {
                row.foreign_text(view.text(tx.domain))
            } else {
                row.missing()
            }
            match (format, mark) {
                (SheetFormat::Json, _) if tx.mstx => row.integer(tx.mark),
                (SheetFormat::Json, _) => row.missing(),
                (_, Some(mark)) => {
                    row.time(mark.start);
                    row.time(mark.end);
                }
                (_, None) => {
                    row.missing();
                    row.missing();
                }
            }
        }),
    })
}
