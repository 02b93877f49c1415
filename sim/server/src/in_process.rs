//! In-process transport into a simulated fabric: a MAD is answered before `send` returns.
//!
//! [`SimNet`] owns the fabric behind one lock; each [`SimPort`] is a program's open port with its
//! own queue. There are no faults and delays. Repeated traps, leases and link training need the
//! time, which the caller sets by [`SimNet::set_time`].

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ferrosm_mad::mad::MadOut;
use ferrosm_mad::time::Instant;
use ferrosm_sim::fabric::{Delivery, Fabric, MadOutcome, SpecError};
use ferrosm_sim::spec::PortAt;
use ferrosm_umad::transport::{MadReceiver, MadSender, Received, TransportError};

/// Why a port cannot be opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PortOpenError {
    /// The end port does not exist.
    #[error(transparent)]
    Port(#[from] SpecError),
    /// The port is already open.
    #[error("port {}[{}] is in use", .0.node, .0.port)]
    InUse(PortAt),
}

/// A fabric that is shared by several ports, possibly in several threads.
#[derive(Debug, Clone)]
pub struct SimNet {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    ready: Condvar,
}

#[derive(Debug)]
struct State {
    fabric: Fabric,
    now: Instant,
    queues: Vec<Queue>,
    scratch: Vec<Delivery>,
}

#[derive(Debug)]
struct Queue {
    at: PortAt,
    open: bool,
    report_failures: bool,
    received: VecDeque<Received>,
}

impl SimNet {
    /// Wraps a fabric.
    #[must_use]
    pub fn new(fabric: Fabric) -> Self {
        let state = State {
            fabric,
            now: Instant::START,
            queues: Vec::new(),
            scratch: Vec::new(),
        };
        Self {
            shared: Arc::new(Shared {
                state: Mutex::new(state),
                ready: Condvar::new(),
            }),
        }
    }

    /// Opens a port, or [`Fabric::default_port`], and sets IsSM there.
    ///
    /// # Errors
    /// If it is not an end port, or is already open.
    pub fn attach(&self, at: Option<PortAt>) -> Result<SimPort, PortOpenError> {
        let mut state = self.shared.lock();
        let at = at.unwrap_or_else(|| state.fabric.default_port());
        if state.queues.iter().any(|q| q.open && q.at == at) {
            return Err(PortOpenError::InUse(at));
        }
        state.fabric.attach(at)?;
        state.fabric.set_is_sm(at, true)?;
        let queue = state.queues.len();
        let received = VecDeque::new();
        state.queues.push(Queue {
            at,
            open: true,
            report_failures: false,
            received,
        });
        state.advance();
        self.shared.ready.notify_all();
        drop(state);
        let port = Arc::new(Open {
            shared: Arc::clone(&self.shared),
            queue,
            at,
        });
        Ok(SimPort {
            sender: SimSender {
                port: Arc::clone(&port),
            },
            receiver: SimReceiver { port },
        })
    }

    /// Calls a function on the fabric and delivers the MADs that result from it.
    pub fn with<R>(&self, f: impl FnOnce(&mut Fabric) -> R) -> R {
        let mut state = self.shared.lock();
        let now = state.now;
        state.fabric.set_now(now);
        let result = f(&mut state.fabric);
        state.advance();
        drop(state);
        self.shared.ready.notify_all();
        result
    }

    /// Advances the time (never back): repeats traps, completes link training.
    pub fn set_time(&self, now: Instant) {
        let mut state = self.shared.lock();
        state.now = state.now.max(now);
        state.advance();
        drop(state);
        self.shared.ready.notify_all();
    }

    /// Time of the next timer of the fabric.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.shared.lock().fabric.poll_timeout()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // The fabric is plain data, so tests can still read it after a panic elsewhere.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn advance(&mut self) {
        if self.fabric.poll_timeout().is_some_and(|t| t <= self.now) {
            self.fabric.advance(self.now, &mut self.scratch);
        }
        self.distribute();
    }

    fn distribute(&mut self) {
        for delivery in self.scratch.drain(..) {
            if let Some(q) = self
                .queues
                .iter_mut()
                .find(|q| q.open && q.at == delivery.at)
            {
                q.received.push_back(Received::Mad(delivery.mad));
            }
        }
    }
}

/// An open port; closed when both halves are dropped.
#[derive(Debug)]
struct Open {
    shared: Arc<Shared>,
    queue: usize,
    at: PortAt,
}

impl Drop for Open {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        let queue = &mut state.queues[self.queue];
        queue.open = false;
        queue.received = VecDeque::new();
        // These fail only for a nonexistent port.
        let _ = state.fabric.set_is_sm(self.at, false);
        let _ = state.fabric.detach(self.at);
        state.advance();
    }
}

/// An open port, both halves.
#[derive(Debug)]
pub struct SimPort {
    sender: SimSender,
    receiver: SimReceiver,
}

/// The sending half of a [`SimPort`].
#[derive(Debug, Clone)]
pub struct SimSender {
    port: Arc<Open>,
}

/// The receiving half of a [`SimPort`].
#[derive(Debug)]
pub struct SimReceiver {
    port: Arc<Open>,
}

impl SimPort {
    /// The port.
    #[must_use]
    pub fn at(&self) -> PortAt {
        self.sender.port.at
    }

    /// Sets whether lost requests are reported immediately as [`Received::SendFailed`]; off by
    /// default.
    pub fn report_failures(&self, report: bool) {
        let port = &self.sender.port;
        port.shared.lock().queues[port.queue].report_failures = report;
    }

    /// Splits the port into halves for two threads.
    #[must_use]
    pub fn split(self) -> (SimSender, SimReceiver) {
        (self.sender, self.receiver)
    }
}

impl MadSender for SimPort {
    fn send(&mut self, mad: &MadOut) -> Result<(), TransportError> {
        self.sender.send(mad)
    }
}

impl MadReceiver for SimPort {
    fn receive(&mut self, timeout: Duration) -> Result<Received, TransportError> {
        self.receiver.receive(timeout)
    }
}

impl MadSender for SimSender {
    fn send(&mut self, mad: &MadOut) -> Result<(), TransportError> {
        let mut state = self.port.shared.lock();
        let State {
            fabric,
            now,
            queues,
            scratch,
        } = &mut *state;
        if !fabric.is_powered(self.port.at.node) {
            let source = io::Error::new(io::ErrorKind::NotConnected, "the node has no power");
            return Err(TransportError {
                action: "send",
                source,
            });
        }
        let outcome = fabric.handle(self.port.at, mad, *now, scratch);
        let own = &mut queues[self.port.queue];
        if matches!(outcome, MadOutcome::Dropped(_)) && own.report_failures {
            own.received.push_back(Received::SendFailed(mad.mad.tid()));
        }
        // Deliver replies before MADs that the request caused.
        state.distribute();
        state.advance();
        drop(state);
        self.port.shared.ready.notify_all();
        Ok(())
    }
}

impl MadReceiver for SimReceiver {
    fn receive(&mut self, timeout: Duration) -> Result<Received, TransportError> {
        let shared = &self.port.shared;
        let mut state = shared.lock();
        if let Some(received) = state.queues[self.port.queue].received.pop_front() {
            return Ok(received);
        }
        if timeout.is_zero() {
            return Ok(Received::TimedOut);
        }
        let empty = |s: &mut State| s.queues[self.port.queue].received.is_empty();
        let waited = shared.ready.wait_timeout_while(state, timeout, empty);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        Ok(state.queues[self.port.queue]
            .received
            .pop_front()
            .unwrap_or(Received::TimedOut))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrosm_mad::attr::{CapMask, SmInfo, SmState, id};
    use ferrosm_mad::ids::{AttrId, AttrMod, MKey, Tid};
    use ferrosm_mad::mad::{Address, Status};
    use ferrosm_mad::smp::{self, SmpRequest};
    use ferrosm_sim::generate::from_spec;

    const NO_WAIT: Duration = Duration::ZERO;

    fn net() -> SimNet {
        SimNet::new(Fabric::new(&from_spec("star:2").unwrap()).unwrap())
    }

    /// A Get from the first host along `path`.
    fn get(attr: AttrId, path: &str, tid: u64) -> MadOut {
        let request = SmpRequest::get(attr, AttrMod(0), MKey::NONE);
        MadOut {
            to: Address::DIRECTED,
            mad: request.directed(&path.parse().unwrap(), Tid(tid)),
        }
    }

    #[test]
    fn replies_are_queued_in_order() {
        let mut port = net().attach(None).unwrap();
        for tid in 1..=3 {
            port.send(&get(id::NODE_INFO, "0,1,2", tid)).unwrap();
        }
        for tid in 1..=3 {
            let Received::Mad(mad) = port.receive(NO_WAIT).unwrap() else {
                panic!("no reply")
            };
            assert_eq!(mad.mad.tid(), Tid(tid));
        }
        assert_eq!(
            port.receive(Duration::from_millis(1)).unwrap(),
            Received::TimedOut
        );
    }

    #[test]
    fn open_port_has_is_sm_set() {
        let net = net();
        let at = PortAt::new(0, 1);
        let is_sm = || net.with(|f| f.port_info(at).unwrap().capability_mask.has(CapMask::IS_SM));
        let port = net.attach(None).unwrap();
        assert_eq!(port.at(), at);
        assert!(is_sm());
        assert_eq!(net.attach(Some(at)).unwrap_err(), PortOpenError::InUse(at));
        let (sender, receiver) = port.split();
        drop(receiver);
        assert!(is_sm(), "the other half is open");
        drop(sender);
        assert!(!is_sm());
        assert!(net.attach(Some(at)).is_ok());
        assert!(
            net.attach(Some(PortAt::new(2, 1))).is_err(),
            "not an end port"
        );
    }

    #[test]
    fn two_sms_exchange_sm_info() {
        let net = net();
        let mut a = net.attach(None).unwrap();
        let mut b = net.attach(Some(PortAt::new(1, 1))).unwrap();
        a.send(&get(id::SM_INFO, "0,1,2", 9)).unwrap();
        let Received::Mad(received) = b.receive(NO_WAIT).unwrap() else {
            panic!("no request")
        };
        let info = SmInfo {
            sm_state: SmState::Standby,
            priority: 3,
            ..SmInfo::default()
        };
        let mad = smp::response(&received.mad, Status::OK, &info.encode());
        b.send(&MadOut {
            to: received.from,
            mad,
        })
        .unwrap();
        let Received::Mad(reply) = a.receive(NO_WAIT).unwrap() else {
            panic!("no reply")
        };
        assert_eq!(reply.mad.tid(), Tid(9));
        assert_eq!(SmInfo::decode(smp::data(&reply.mad)), info);
    }

    #[test]
    fn lost_requests_are_reported_on_request() {
        let mut port = net().attach(None).unwrap();
        let lost = MadOut {
            to: Address::DIRECTED,
            mad: SmpRequest::get(id::NODE_INFO, AttrMod(0), MKey::NONE)
                .directed(&"0,1,4".parse().unwrap(), Tid(3)),
        };
        port.send(&lost).unwrap();
        assert_eq!(port.receive(NO_WAIT).unwrap(), Received::TimedOut);
        port.report_failures(true);
        port.send(&lost).unwrap();
        assert_eq!(port.receive(NO_WAIT).unwrap(), Received::SendFailed(Tid(3)));
    }
}
