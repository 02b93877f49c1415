//! Outputs of the SM, in order.

use std::collections::VecDeque;

use ferrosm_mad::mad::{Address, Mad, MadOut};

use crate::io::{Event, Output};
use crate::kept::Update;

/// The only way out of the SM: everything that the driver has to do, in order.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    queue: VecDeque<Output>,
}

impl Outbox {
    pub(crate) fn push(&mut self, output: Output) {
        self.queue.push_back(output);
    }

    pub(crate) fn pop(&mut self) -> Option<Output> {
        self.queue.pop_front()
    }

    /// Reports an event to the operator.
    pub(crate) fn emit(&mut self, event: Event) {
        self.push(Output::Event(event));
    }

    /// Sends a MAD on QP0.
    pub(crate) fn send(&mut self, to: Address, mad: Mad) {
        self.push(Output::Send(MadOut { to, mad }));
    }

    /// Persists changes of records. No output after it may take effect before they are durable.
    pub(crate) fn persist(&mut self, updates: Vec<Update>) {
        self.push(Output::Keep(updates));
    }
}
