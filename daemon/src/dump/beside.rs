//! Dumps that a service writes beside its subnet manager, on a thread of their own.
//!
//! Whoever serves a fabric owns a [`Beside`]. One dump is written at a time, and one waits: what a later sweep saw takes the
//! place of what waits, so a slow disk costs versions in between and never the last one. It never holds up a sweep.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tracing::{Span, error, info};

use super::Extent;
use crate::output::View;

/// What is to be written, and where.
type Order = (View, PathBuf);

/// What the thread that writes is doing.
#[derive(Default)]
enum State {
    /// There is none.
    #[default]
    Idle,
    /// It writes; this comes next.
    Busy(Option<Order>),
}

/// Writes dumps one after the other.
#[derive(Clone, Default)]
pub struct Beside(Arc<Mutex<State>>);

impl Beside {
    /// Has a dump written, now or when the one before it is; one that waited is not written any more. Needs a tokio runtime.
    pub fn write(&self, view: View, dir: PathBuf) {
        if let Some(order) = self.accept((view, dir)) {
            let all = self.clone();
            // Which fabric it is of is told by the span.
            let span = Span::current();
            tokio::task::spawn_blocking(move || span.in_scope(|| all.run(order, write)));
        }
    }

    /// The order, if there is no thread that would take it.
    fn accept(&self, order: Order) -> Option<Order> {
        let mut state = self.state();
        if let State::Busy(next) = &mut *state {
            *next = Some(order);
            return None;
        }
        *state = State::Busy(None);
        Some(order)
    }

    fn run(&self, first: Order, write: impl Fn(&View, &Path)) {
        let mut order = Some(first);
        while let Some((view, dir)) = order {
            write(&view, &dir);
            let mut state = self.state();
            order = match &mut *state {
                State::Busy(next) => next.take(),
                State::Idle => None,
            };
            if order.is_none() {
                *state = State::Idle;
            }
        }
    }

    /// Nothing panics while it is held, and each value is whole.
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes what is not too long, and tells what could not be written.
fn write(view: &View, dir: &Path) {
    match super::write(view, dir, Extent::Bounded) {
        Ok(left_out) => {
            for file in left_out {
                info!(
                    file,
                    "too long to be written after each sweep; `run --once` and `route` write it"
                );
            }
        }
        Err(e) => error!(error = e.in_a_line(), "the dump could not be written"),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    fn order(name: &str) -> Order {
        (View::default(), PathBuf::from(name))
    }

    #[test]
    fn the_last_sweep_is_written_though_the_disk_is_slow() {
        let all = Beside::default();
        let written = RefCell::new(Vec::new());
        let first = all.accept(order("first")).expect("nobody writes");
        all.run(first, |_, dir| {
            let name = dir.display().to_string();
            if name == "first" {
                // Two sweeps end meanwhile.
                assert!(all.accept(order("second")).is_none());
                assert!(all.accept(order("third")).is_none());
            }
            written.borrow_mut().push(name);
        });
        assert_eq!(*written.borrow(), ["first", "third"]);
        assert!(all.accept(order("fourth")).is_some(), "nobody writes");
    }
}
