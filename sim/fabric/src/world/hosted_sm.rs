//! Interface of an SM under test.

use ferrosm_mad::ids::Tid;
use ferrosm_mad::mad::{MadIn, MadOut};
use ferrosm_mad::time::Instant;

/// An SM in a simulated world: a state machine that receives the time and never blocks.
///
/// After each call the world drains [`HostedSm::poll_send`] until `None`, then reads
/// [`HostedSm::poll_timeout`].
pub trait HostedSm {
    /// Handles a received MAD.
    fn handle_mad(&mut self, mad: MadIn, now: Instant);
    /// Handles a request that timed out; called only if [`super::World::report_lost_after`] was
    /// set.
    fn handle_send_failed(&mut self, _tid: Tid, _now: Instant) {}
    /// Handles the timeout that [`HostedSm::poll_timeout`] returned.
    fn handle_timeout(&mut self, now: Instant);
    /// The next MAD to send.
    fn poll_send(&mut self) -> Option<MadOut>;
    /// Time of the next [`HostedSm::handle_timeout`]; it must advance with each such call.
    fn poll_timeout(&self) -> Option<Instant>;
}

impl<M: HostedSm + ?Sized> HostedSm for Box<M> {
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
