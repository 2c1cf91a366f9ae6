//! The progress of work: a bar over iterations, and the step that is under way.

use std::cell::Cell;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use opscope_run::Progress;
use opscope_say::{say, word};
use opscope_trace::units;

use super::{Terminal, printable};

/// A bar over iterations; it is drawn on standard error and leaves nothing behind.
pub struct IterationBar {
    bar: ProgressBar,
    /// Whether the first iteration is done.
    begun: Cell<bool>,
    /// When it was last drawn.
    drawn: Cell<Instant>,
}

/// How often it is drawn.
const TICK: Duration = Duration::from_millis(100);

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

fn target(terminal: &Terminal) -> ProgressDrawTarget {
    if terminal.shows_progress() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() }
}

/// The step that is under way and how long the work has taken; it is drawn on standard error and
/// leaves nothing behind.
pub struct StepBar {
    bar: ProgressBar,
}

impl StepBar {
    /// A bar that is only drawn where someone watches.
    pub fn new(terminal: &Terminal) -> Self {
        let bar = ProgressBar::with_draw_target(None, target(terminal));
        bar.set_style(style("{spinner} {elapsed} {prefix}{wide_msg}"));
        // Nobody sees a hidden one, and it would be a thread for each of many small profiles.
        if terminal.shows_progress() {
            bar.enable_steady_tick(TICK);
        }
        let bar = Self { bar };
        bar.of_several(terminal);
        bar
    }

    /// Says which of several pieces of work is under way, as the terminal has it.
    pub fn of_several(&self, terminal: &Terminal) {
        if let Some((number, count)) = terminal.part {
            self.bar.set_prefix(say!("{number} of {count}: "));
        }
    }

    /// Names the step that begins.
    pub fn step(&self, name: &str) {
        self.bar.set_message(printable(name).into_owned());
    }

    /// Makes room for something that is to stay on the terminal.
    pub fn aside<R>(&self, print: impl FnOnce() -> R) -> R {
        self.bar.suspend(print)
    }
}

impl Drop for StepBar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

impl IterationBar {
    /// A bar that is only drawn where someone watches.
    pub fn new(terminal: &Terminal) -> Self {
        let bar = ProgressBar::with_draw_target(None, target(terminal));
        bar.set_style(style(word("{spinner} loading the model")));
        bar.enable_steady_tick(TICK);
        Self { bar, begun: Cell::new(false), drawn: Cell::new(Instant::now()) }
    }

    /// Draws the state of a measurement.
    pub fn update(&self, progress: Progress) {
        // Drawing takes longer than an iteration of a small model.
        if self.begun.get() && self.drawn.get().elapsed() < TICK {
            return;
        }
        if !self.begun.replace(true) {
            self.bar.disable_steady_tick();
            self.bar.set_style(style("{prefix:9} {wide_bar} {pos}/{len} {msg}"));
        }
        self.drawn.set(Instant::now());
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
