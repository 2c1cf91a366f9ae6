//! The progress of a collection over SSH, on the terminal.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use opscope_board::{Output, Progress};
use opscope_run::Interrupt;
use opscope_say::word;

use crate::interrupt;
use crate::terminal::{Terminal, printable};

/// Steps, warnings, bytes and the program's output, as they come.
pub struct Reporter<'t> {
    terminal: &'t Terminal,
    bar: ProgressBar,
    stop: Option<&'static Interrupt>,
}

impl<'t> Reporter<'t> {
    /// Shows progress where somebody watches.
    pub fn new(terminal: &'t Terminal) -> Self {
        let target = match terminal.shows_progress() {
            true => ProgressDrawTarget::stderr(),
            false => ProgressDrawTarget::hidden(),
        };
        let bar = ProgressBar::with_draw_target(Some(0), target);
        if let Ok(style) =
            ProgressStyle::with_template("{msg} {wide_bar} {bytes}/{total_bytes} {bytes_per_sec}")
        {
            bar.set_style(style);
        }
        Self { terminal, bar, stop: None }
    }
}

impl Drop for Reporter<'_> {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
        interrupt::set_last_words("");
    }
}

impl Progress for Reporter<'_> {
    fn step(&mut self, text: &str) {
        self.bar.set_message(printable(text).into_owned());
        self.bar.set_length(0);
        self.bar.suspend(|| self.terminal.detail(text));
    }

    fn warn(&mut self, text: &str) {
        self.bar.suspend(|| self.terminal.warn(text));
    }

    fn runs(&mut self, runs: bool) {
        match runs {
            true => self.stop = Some(interrupt::of_waiting()),
            false => {
                interrupt::set_last_words(word(
                    "interrupted; the results are on the board: the same command with --resume brings the rest",
                ));
                interrupt::release();
            }
        }
    }

    fn interrupted(&self) -> bool {
        self.stop.is_some_and(Interrupt::is_requested)
    }

    fn bytes(&mut self, done: u64, total: u64) {
        self.bar.set_length(total);
        self.bar.set_position(done);
    }

    fn output(&mut self, stream: Output, bytes: &[u8]) {
        use std::io::Write;
        // Whoever reads no further doesn't stop the board.
        self.bar.suspend(|| match stream {
            Output::Stdout => {
                let mut out = std::io::stdout().lock();
                let _ = out.write_all(bytes).and_then(|()| out.flush());
            }
            Output::Stderr => {
                let _ = std::io::stderr().write_all(bytes);
            }
        });
    }
}
