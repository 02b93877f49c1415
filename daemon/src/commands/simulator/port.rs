//! A port of a simulated fabric in this process.

use core::time::Duration;
use std::time::Instant;

use ferrosm_mad::mad::MadOut;
use ferrosm_sim_server::in_process::SimNet;
use ferrosm_umad::transport::{MadReceiver, MadSender, Received, TransportError};

use crate::port::MadPort;

/// Interval at which an idle simulated port is polled.
const SIM_POLL: Duration = Duration::from_millis(100);

/// A port of a simulated fabric, without a thread: the fabric runs while the driver sends and
/// receives.
pub struct SimulatedPort {
    net: SimNet,
    sender: Box<dyn MadSender>,
    receiver: Box<dyn MadReceiver>,
    /// Taken from the receiver by [`MadPort::ready`].
    waiting: Option<Received>,
    started: Instant,
}

impl SimulatedPort {
    /// Joins the two halves of a port of `net`.
    #[must_use]
    pub fn new(net: SimNet, sender: Box<dyn MadSender>, receiver: Box<dyn MadReceiver>) -> Self {
        Self {
            net,
            sender,
            receiver,
            waiting: None,
            started: Instant::now(),
        }
    }

    fn set_time(&self) {
        let ns = u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.net
            .set_time(ferrosm_mad::time::Instant::from_nanos(ns));
    }
}

impl MadPort for SimulatedPort {
    fn send(&mut self, mad: &MadOut) -> Result<(), TransportError> {
        self.sender.send(mad)
    }

    fn try_receive(&mut self) -> Result<Received, TransportError> {
        match self.waiting.take() {
            Some(received) => Ok(received),
            None => self.receiver.receive(Duration::ZERO),
        }
    }

    async fn ready(&mut self) {
        while self.waiting.is_none() {
            self.set_time();
            match self.receiver.receive(Duration::ZERO) {
                Ok(Received::TimedOut) => tokio::time::sleep(SIM_POLL).await,
                Ok(received) => self.waiting = Some(received),
                // The next `try_receive` returns the error.
                Err(_) => return,
            }
        }
    }

    fn dropped(&self) -> u64 {
        0
    }
}
