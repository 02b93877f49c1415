//! The progress bar: on standard error, and only where that is a terminal.
//!
//! Log lines and the bar share the terminal, so lines are written by way of [`Terminal`], which takes the bar away
//! for a moment.

use std::io::{self, IsTerminal, Write};

use ferrosm_core::{Phase, Progress};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Standard error, shared by log lines and a bar.
#[derive(Debug, Clone)]
pub struct Terminal {
    bars: Option<MultiProgress>,
}

impl Terminal {
    /// With a bar where standard error is a terminal.
    #[must_use]
    pub fn detect() -> Self {
        let bars = io::stderr()
            .is_terminal()
            .then(|| MultiProgress::with_draw_target(ProgressDrawTarget::stderr_with_hz(10)));
        Self { bars }
    }

    /// A bar; it shows nothing where there is no terminal.
    #[must_use]
    pub fn bar(&self) -> Bar {
        let Some(bars) = &self.bars else {
            return Bar { bar: None };
        };
        let bar = bars.add(ProgressBar::new(0));
        if let Ok(style) = ProgressStyle::with_template("{msg:>14} {wide_bar} {pos}/{len}") {
            bar.set_style(style);
        }
        Bar { bar: Some(bar) }
    }

    /// Writes whole lines.
    fn write(&self, buf: &[u8]) -> io::Result<()> {
        match &self.bars {
            Some(bars) => bars.suspend(|| io::stderr().lock().write_all(buf)),
            None => io::stderr().lock().write_all(buf),
        }
    }
}

/// One log line on its way: `tracing_subscriber` writes each in one piece.
#[derive(Debug)]
pub struct Line(Terminal);

impl Write for Line {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.0.write(buf)?;
        Ok(buf.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> tracing_subscriber::fmt::MakeWriter<'a> for Terminal {
    type Writer = Line;

    fn make_writer(&'a self) -> Line {
        Line(self.clone())
    }
}

/// A bar for the phases of a sweep.
#[derive(Debug)]
pub struct Bar {
    bar: Option<ProgressBar>,
}

impl Bar {
    /// Whether there is anything to see.
    #[must_use]
    pub const fn is_shown(&self) -> bool {
        self.bar.is_some()
    }

    /// Shows how far a sweep is; between sweeps nothing.
    pub fn show(&self, progress: Progress) {
        let Some(bar) = &self.bar else { return };
        if progress.phase == Phase::Idle {
            bar.finish_and_clear();
            return;
        }
        if bar.is_finished() {
            bar.reset();
        }
        bar.set_message(progress.phase.to_string());
        bar.set_length(progress.total);
        bar.set_position(progress.done);
    }

    /// Takes it away.
    pub fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
