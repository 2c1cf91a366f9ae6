//! Records of opscope's own collector for small-chip boards. The records of the boards' own
//! profiler are not public, so these are opscope's.
//!
//! | file in `data/` | its records |
//! |---|---|
//! | `opscope.calls.PID` | [`crate::legacy::AclCall`]; times in nanoseconds of the monotonic clock |
//! | `opscope.layers.PID` | [`LayerRun`] |
//! | `opscope.notes.PID` | lines of text: what was not recorded, and why |
//!
//! An empty file of the same name with `.done` appended says that one is complete.

use crate::record::record;

/// The variable that names the folder for the results on the board.
pub const OUTPUT_VARIABLE: &str = "OPSCOPE_SVP_OUTPUT";

/// How the names of calls' files begin.
pub const CALLS: &str = "opscope.calls.";
/// How the names of layers' files begin.
pub const LAYERS: &str = "opscope.layers.";
/// How the names of notes' files begin.
pub const NOTES: &str = "opscope.notes.";

/// The tag of [`LayerRun`]: no tag of CANN's.
pub const LAYER_TAG: u16 = 0x5350;

record! {
    /// An execution of a layer, as the board's runtime reported it to a subscriber.
    LayerRun, 384 {
        /// [`crate::host::MAGIC`].
        0 magic: u16,
        /// [`LAYER_TAG`].
        2 tag: u16,
        /// The model.
        4 model: u32,
        /// Begin, in microseconds of the runtime's clock.
        8 begin: u64,
        /// End, in microseconds of the runtime's clock.
        16 end: u64,
        /// The layer's type up to its first zero.
        32 kind: [u8; 65],
        /// The layer's name up to its first zero.
        104 name: [u8; 257],
    }
}
