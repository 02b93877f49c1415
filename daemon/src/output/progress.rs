//! The progress bar on standard error, if that is a terminal.
//!
//! Log lines are written through [`Terminal`], which hides the bar meanwhile.

use std::io::{self, IsTerminal, Write};

use ferrosm_core::Progress;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Standard error, shared by log lines and the progress bar.
#[derive(Debug, Clone)]
pub struct Terminal {
    bars: Option<MultiProgress>,
}

impl Terminal {
    /// Enables bars if standard error is a terminal.
    #[must_use]
    pub fn detect() -> Self {
        let bars = io::stderr()
            .is_terminal()
            .then(|| MultiProgress::with_draw_target(ProgressDrawTarget::stderr_with_hz(10)));
        Self { bars }
    }

    /// A progress bar; invisible without a terminal.
    #[must_use]
    pub fn bar(&self) -> SweepBar {
        let Some(bars) = &self.bars else {
            return SweepBar::hidden();
        };
        let bar = bars.add(ProgressBar::new(0));
        if let Ok(style) = ProgressStyle::with_template("{msg:>14} {wide_bar} {pos}/{len}") {
            bar.set_style(style);
        }
        SweepBar { bar: Some(bar) }
    }

    /// Writes complete lines.
    fn write(&self, buf: &[u8]) -> io::Result<()> {
        match &self.bars {
            Some(bars) => bars.suspend(|| io::stderr().lock().write_all(buf)),
            None => io::stderr().lock().write_all(buf),
        }
    }
}

/// Writer of one log line: `tracing_subscriber` writes each with one call.
#[derive(Debug)]
pub struct LineWriter(Terminal);

impl Write for LineWriter {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.0.write(buf)?;
        Ok(buf.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> tracing_subscriber::fmt::MakeWriter<'a> for Terminal {
    type Writer = LineWriter;

    fn make_writer(&'a self) -> LineWriter {
        LineWriter(self.clone())
    }
}

/// Progress bar of a sweep.
#[derive(Debug)]
pub struct SweepBar {
    bar: Option<ProgressBar>,
}

impl SweepBar {
    /// A bar that is not shown.
    #[must_use]
    pub const fn hidden() -> Self {
        Self { bar: None }
    }

    /// Shows the progress of a sweep; hides the bar between sweeps.
    pub fn show(&self, progress: Progress) {
        let Some(bar) = &self.bar else { return };
        let Some(phase) = progress.activity.phase() else {
            bar.finish_and_clear();
            return;
        };
        if bar.is_finished() {
            bar.reset();
        }
        bar.set_message(phase.to_string());
        bar.set_length(progress.total);
        bar.set_position(progress.done);
    }

    /// Shows how many of several steps are done.
    pub fn show_steps(&self, what: &str, done: usize, total: usize) {
        let Some(bar) = &self.bar else { return };
        bar.set_message(what.to_owned());
        bar.set_length(total as u64);
        bar.set_position(done as u64);
    }

    /// Hides the bar.
    pub fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
