//! The names of calls.

use opscope_cann_raw::host::level;

use crate::facts::view::View;
use crate::tables::Api;

/// The name of a call: that of its type, or for collective operations that of the operation.
pub(crate) fn call_name<'a>(view: &View<'a>, call: &Api) -> &'a str {
    if call.level == level::COMMUNICATION {
        return view.text(call.item);
    }
    view.joined.data.host.names.type_name(call.level, call.kind).unwrap_or("N/A")
}
