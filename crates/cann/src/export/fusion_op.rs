//! `fusion_op`: operators that were fused from others, and their memory.

use crate::dialect::Dialect;
use crate::export::op_summary::model_names;
use crate::export::sheet::Sheet;
use crate::facts::view::View;
use crate::headings::{fusion_op, owned};
use crate::tables::NO_MODEL;

/// The table, or `None` if nothing was fused.
pub(crate) fn sheet<'a>(view: &'a View<'a>) -> Option<Sheet<'a>> {
    let host = &view.joined.data.host;
    let models = model_names(view);
    // Notes outside of every model's call can't be told apart by model and are left out.
    let shown: Vec<usize> =
        (0..host.fusions.len()).filter(|&fusion| view.joined.fusion_models[fusion] != NO_MODEL).collect();
    let devices = view.devices_of_host_tables();
    (!shown.is_empty()).then(|| Sheet {
        kind: "fusion_op",
        headers: owned(fusion_op::ALL),
        rows: shown.len() * devices.len(),
        write: Box::new(move |index, row| {
            let (device, fusion) = (devices[index / shown.len()], shown[index % shown.len()]);
            let note = host.fusions.row(fusion);
            let model = view.joined.fusion_models[fusion];
            match device {
                Some(device) => row.integer(device),
                None => row.text("host"),
            }
            row.text(models.get(&model).map_or("N/A", String::as_str));
            row.integer(model);
            row.text(view.text(note.name));
            let originals: Vec<&str> =
                host.originals_of(fusion).iter().map(|hash| view.text(*hash)).collect();
            let originals = originals.join(";");
            match view.dialect {
                Dialect::Accelerated => row.text(&originals),
                _ => row.text(&originals.replace(',', ";")),
            }
            let bytes = [
                note.input_bytes,
                note.output_bytes,
                note.weight_bytes,
                note.workspace_bytes,
                note.total_bytes,
            ];
            bytes.into_iter().for_each(|bytes| row.float(bytes as f64 / 1_024.0));
        }),
    })
}
