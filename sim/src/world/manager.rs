//! What a world can host: a manager under test.

use ferrosm_mad::ids::Tid;
use ferrosm_mad::mad::{MadIn, MadOut};
use ferrosm_mad::time::Instant;

/// A manager in a simulated world: told the time, asked for its output, never blocked.
///
/// After each call the world drains [`Manager::poll_send`] until `None`, then asks for
/// [`Manager::poll_timeout`].
pub trait Manager {
    /// A MAD arrived.
    fn handle_mad(&mut self, mad: MadIn, now: Instant);
    /// The transport reports that a request will not be answered; only in worlds that are told to
    /// report it.
    fn handle_send_failed(&mut self, _tid: Tid, _now: Instant) {}
    /// The time that it asked for has come.
    fn handle_timeout(&mut self, now: Instant);
    /// What it sends next.
    fn poll_send(&mut self) -> Option<MadOut>;
    /// When it wants [`Manager::handle_timeout`]; this must be later after each such call.
    fn poll_timeout(&self) -> Option<Instant>;
}

impl<M: Manager + ?Sized> Manager for Box<M> {
    fn handle_mad(&mut self, mad: MadIn, now: Instant) {
        (**self).handle_mad(mad, now);
    }
    fn handle_send_failed(&mut self, tid: Tid, now: Instant) {
        (**self).handle_send_failed(tid, now);
    }
    fn handle_timeout(&mut self, now: Instant) {
        (**self).handle_timeout(now);
    }
    fn poll_send(&mut self) -> Option<MadOut> {
        (**self).poll_send()
    }
    fn poll_timeout(&self) -> Option<Instant> {
        (**self).poll_timeout()
    }
}
