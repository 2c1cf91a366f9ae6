//! The bar that shows how far a measurement has come.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use opscope_run::Progress;
use opscope_trace::units;

use super::Terminal;

/// A bar over iterations; it is drawn on standard error and leaves nothing behind.
pub struct IterationBar {
    bar: ProgressBar,
}

impl IterationBar {
    /// A bar that is only drawn where someone watches.
    pub fn new(terminal: &Terminal) -> Self {
        let target = if terminal.shows_progress() {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(None, target);
        let style = ProgressStyle::with_template("{prefix:9} {wide_bar} {pos}/{len} {msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.set_prefix("loading");
        Self { bar }
    }

    /// Draws the state of a measurement.
    pub fn update(&self, progress: Progress) {
        self.bar.set_prefix(if progress.warming_up { "warm-up" } else { "measuring" });
        self.bar.set_length(progress.planned as u64);
        self.bar.set_position(progress.done as u64);
        self.bar.set_message(units::duration(progress.last));
    }
}

impl Drop for IterationBar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
