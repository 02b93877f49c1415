//! Progress of offline routing: a bar on standard error where that is a terminal, and the end of
//! the time budget.

use core::time::Duration;
use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Instant;

use ferrosm_routing::{CancelToken, SelectionStep};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Interval between redraws of the bar.
const TICK: Duration = Duration::from_millis(100);

/// Cancels the comparison of engines when the budget is used up, and shows the current stage.
/// Dropping it stops the thread.
pub(crate) struct RoutingProgress {
    bar: Arc<ProgressBar>,
    /// Dropping the sender stops the thread.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl RoutingProgress {
    /// Starts the thread; the budget runs from now.
    pub(super) fn start(budget: Duration, cancel: CancelToken) -> Self {
        let target = if io::stderr().is_terminal() {
            ProgressDrawTarget::stderr_with_hz(10)
        } else {
            ProgressDrawTarget::hidden()
        };
        Self::draw(budget, cancel, target)
    }

    /// The same without a bar.
    pub(crate) fn hidden(budget: Duration, cancel: CancelToken) -> Self {
        Self::draw(budget, cancel, ProgressDrawTarget::hidden())
    }

    fn draw(budget: Duration, cancel: CancelToken, target: ProgressDrawTarget) -> Self {
        let millis = u64::try_from(budget.as_millis()).unwrap_or(u64::MAX);
        let bar = Arc::new(ProgressBar::with_draw_target(Some(millis), target));
        if let Ok(style) =
            ProgressStyle::with_template("{msg:>24} {wide_bar} {elapsed_precise} of the budget")
        {
            bar.set_style(style);
        }
        let (stop, stopped) = channel();
        let thread_bar = Arc::clone(&bar);
        let started = Instant::now();
        let work = move || {
            loop {
                let elapsed = started.elapsed();
                thread_bar.set_position(
                    u64::try_from(elapsed.as_millis())
                        .unwrap_or(u64::MAX)
                        .min(millis),
                );
                let remaining = budget.saturating_sub(elapsed);
                if remaining.is_zero() {
                    cancel.cancel();
                }
                let pause = if remaining.is_zero() {
                    TICK
                } else {
                    TICK.min(remaining)
                };
                match stopped.recv_timeout(pause) {
                    Err(RecvTimeoutError::Timeout) => {}
                    Ok(()) | Err(RecvTimeoutError::Disconnected) => return,
                }
            }
        };
        Self {
            bar,
            stop: Some(stop),
            // Without a thread there is no time limit; the limit of work units remains.
            thread: std::thread::Builder::new()
                .name("routing-budget".to_owned())
                .spawn(work)
                .ok(),
        }
    }

    /// Shows the current stage.
    pub(super) fn show(&self, step: SelectionStep<'_>) {
        match step {
            SelectionStep::Engine(name) => self.bar.set_message(format!("routing: {name}")),
            SelectionStep::Verification => self.bar.set_message("verification"),
            SelectionStep::Comparison => self.bar.set_message("comparison"),
        }
    }
}

impl Drop for RoutingProgress {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        self.bar.finish_and_clear();
    }
}
