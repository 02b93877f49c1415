//! Device attributes, and asynchronous events of the SM's port, through rdma-core's verbs (feature
//! `verbs`).
//!
//! Optional: with events, the SM detects changes of its own port at once instead of at the next
//! light sweep. `sys` has the C calls; [`local_event`] translates events.

mod sys;

use std::io;

use ferrosm_core::LocalPortEvent;
use ferrosm_mad::ids::PortNum;
use tokio::sync::mpsc;
use tracing::{debug, warn};

use super::driver::Control;
pub(crate) use sys::devices;

/// An asynchronous event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AsyncEvent {
    /// `enum ibv_event_type`.
    pub kind: u32,
    /// Port number, for port events only.
    pub port: i32,
}

const DEVICE_FATAL: u32 = 8;
const PORT_ACTIVE: u32 = 9;
const PORT_ERR: u32 = 10;
const LID_CHANGE: u32 = 11;
const PKEY_CHANGE: u32 = 12;
const SM_CHANGE: u32 = 13;
const CLIENT_REREGISTER: u32 = 17;

/// Translates an event for the SM at `port`; `None` for other ports and other kinds of events.
#[must_use]
pub fn local_event(event: AsyncEvent, port: PortNum) -> Option<LocalPortEvent> {
    let is_own_port = event.port == i32::from(port.0);
    match event.kind {
        DEVICE_FATAL => Some(LocalPortEvent::Down),
        PORT_ACTIVE if is_own_port => Some(LocalPortEvent::Up),
        PORT_ERR if is_own_port => Some(LocalPortEvent::Down),
        LID_CHANGE | PKEY_CHANGE | SM_CHANGE | CLIENT_REREGISTER if is_own_port => {
            Some(LocalPortEvent::Changed)
        }
        _ => None,
    }
}

/// Starts a thread that reads the events of a device and passes those of `port` to the driver. It
/// blocks in the kernel and ends with the process or the device.
pub fn watch(ca: &str, port: PortNum, control: mpsc::Sender<Control>) {
    let context = match sys::Context::open(ca) {
        Ok(Some(context)) => context,
        Ok(None) => {
            debug!(ca, "device unknown to verbs");
            return;
        }
        Err(e) => {
            warn!(ca, error = %e, "cannot open device for asynchronous events");
            return;
        }
    };
    let name = ca.to_owned();
    let started = std::thread::Builder::new()
        .name("verbs".to_owned())
        .spawn(move || {
            loop {
                let event = match context.next_event() {
                    Ok(event) => event,
                    Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                    Err(e) => {
                        warn!(ca = name, error = %e, "asynchronous events stopped");
                        return;
                    }
                };
                if let Some(change) = local_event(event, port)
                    && control.blocking_send(Control::Port(change)).is_err()
                {
                    return;
                }
            }
        });
    if let Err(e) = started {
        warn!(ca, error = %e, "cannot start event thread");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Events of queues and of other ports are ignored.
    #[test]
    fn events_of_the_port_are_translated() {
        let at = |kind| local_event(AsyncEvent { kind, port: 2 }, PortNum(2));
        for (kind, expected) in [
            (9, LocalPortEvent::Up),
            (10, LocalPortEvent::Down),
            (8, LocalPortEvent::Down),
            (11, LocalPortEvent::Changed),
            (12, LocalPortEvent::Changed),
            (13, LocalPortEvent::Changed),
            (17, LocalPortEvent::Changed),
        ] {
            assert_eq!(at(kind), Some(expected), "event {kind}");
        }
        for kind in [0, 1, 2, 3, 4, 5, 6, 7, 14, 15, 16, 18, 19, 20, 1000] {
            assert_eq!(at(kind), None, "event {kind}");
        }
        for kind in [9, 10, 11, 12, 13, 17] {
            assert_eq!(
                local_event(AsyncEvent { kind, port: 1 }, PortNum(2)),
                None,
                "port 1, event {kind}"
            );
        }
        let fatal = AsyncEvent { kind: 8, port: 0 };
        assert_eq!(
            local_event(fatal, PortNum(2)),
            Some(LocalPortEvent::Down),
            "device event"
        );
    }

    #[test]
    fn event_numbers_are_those_of_the_header() {
        assert_eq!(
            sys::event_numbers(),
            [
                DEVICE_FATAL,
                PORT_ACTIVE,
                PORT_ERR,
                LID_CHANGE,
                PKEY_CHANGE,
                SM_CHANGE,
                CLIENT_REREGISTER
            ]
        );
    }

    /// Works with and without hardware.
    #[test]
    fn devices_can_be_listed() {
        let available = devices().unwrap();
        println!("{} devices", available.len());
        assert!(sys::Context::open("no-such-device").unwrap().is_none());
    }
}
