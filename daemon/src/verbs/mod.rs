//! Local devices as rdma-core's verbs know them: attributes, and asynchronous events of the subnet manager's port.
//!
//! Built with the feature `verbs` only. The subnet manager never needs it: events make it notice changes of its own
//! port at once rather than at the next light sweep. The C boundary is in `sys`; what an event means is decided by
//! [`local_event`], a pure function.

mod sys;

use core::fmt::Write;
use std::io;

use ferrosm_core::LocalPortEvent;
use ferrosm_mad::attr::PortState;
use ferrosm_mad::ids::{NodeGuid, PortNum, SystemImageGuid};
use serde::Serialize;
use tokio::sync::mpsc;
use tracing::{debug, warn};

use crate::driver::Control;

/// A device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Device {
    /// Its name.
    pub name: String,
    /// Firmware.
    pub fw_ver: String,
    /// Node GUID.
    pub node_guid: NodeGuid,
    /// System image GUID.
    pub sys_image_guid: SystemImageGuid,
    /// Vendor.
    pub vendor_id: u32,
    /// Product.
    pub vendor_part_id: u32,
    /// Revision.
    pub hw_ver: u32,
    /// Number of physical ports.
    pub phys_port_cnt: u8,
    /// Sizes, by the names that `ibv_devinfo -v` uses.
    pub limits: Vec<(&'static str, u64)>,
    /// Its ports, those that answered.
    pub ports: Vec<Port>,
}

/// A port of a device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Port {
    /// Its number.
    pub port: u8,
    /// State, as the specification codes it (5 is ACTIVE_DEFER, which only verbs know).
    pub state: u32,
    /// Largest MTU, as the specification codes it.
    pub max_mtu: u32,
    /// MTU in use.
    pub active_mtu: u32,
    /// LID of the subnet manager.
    pub sm_lid: u16,
    /// Base LID.
    pub lid: u16,
    /// 2^LMC LIDs.
    pub lmc: u8,
    /// 1 InfiniBand, 2 Ethernet.
    pub link_layer: u8,
}

/// All devices of this host.
///
/// # Errors
/// If the system cannot list them. A host without RDMA has none, which is no error.
pub fn devices() -> io::Result<Vec<Device>> {
    sys::devices()
}

/// The devices as `ibv_devinfo` shows them.
#[must_use]
pub fn render(devices: &[Device]) -> String {
    let mut text = String::new();
    for device in devices {
        // Writing to a string cannot fail.
        let _ = write_device(device, &mut text);
    }
    if devices.is_empty() {
        text.push_str("Verbs know no device on this host.\n");
    }
    text
}

fn write_device(d: &Device, out: &mut String) -> core::fmt::Result {
    writeln!(out, "hca_id: {}", d.name)?;
    let mut line = |name: &str, value: String| writeln!(out, "  {name:<28}{value}");
    line("fw_ver:", d.fw_ver.clone())?;
    line("node_guid:", colons(d.node_guid.0))?;
    line("sys_image_guid:", colons(d.sys_image_guid.0))?;
    line("vendor_id:", format!("{:#06x}", d.vendor_id))?;
    line("vendor_part_id:", d.vendor_part_id.to_string())?;
    line("hw_ver:", format!("{:#x}", d.hw_ver))?;
    line("phys_port_cnt:", d.phys_port_cnt.to_string())?;
    for (name, value) in &d.limits {
        line(&format!("{name}:"), value.to_string())?;
    }
    for port in &d.ports {
        let mut line = |name: &str, value: String| writeln!(out, "      {name:<24}{value}");
        line("port:", port.port.to_string())?;
        line("state:", state(port.state))?;
        line("max_mtu:", mtu(port.max_mtu))?;
        line("active_mtu:", mtu(port.active_mtu))?;
        line("sm_lid:", port.sm_lid.to_string())?;
        line("port_lid:", port.lid.to_string())?;
        line("port_lmc:", format!("{:#04x}", port.lmc))?;
        line("link_layer:", layer(port.link_layer).to_owned())?;
    }
    Ok(())
}

fn colons(guid: u64) -> String {
    let h = format!("{guid:016x}");
    [&h[..4], &h[4..8], &h[8..12], &h[12..]].join(":")
}

fn state(code: u32) -> String {
    let word = match code {
        1 => "PORT_DOWN",
        2 => "PORT_INIT",
        3 => "PORT_ARMED",
        4 => "PORT_ACTIVE",
        5 => "PORT_ACTIVE_DEFER",
        _ => "invalid state",
    };
    debug_assert_eq!(PortState::Active.0, 4);
    format!("{word} ({code})")
}

fn mtu(code: u32) -> String {
    match code {
        1..=5 => format!("{} ({code})", 128u32 << code),
        _ => format!("invalid MTU ({code})"),
    }
}

const fn layer(code: u8) -> &'static str {
    match code {
        // Old kernels do not say; they knew InfiniBand only.
        0 | 1 => "InfiniBand",
        2 => "Ethernet",
        _ => "Unknown",
    }
}

/// An asynchronous event: its number in `infiniband/verbs.h`, and the port where it is about one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AsyncEvent {
    /// `enum ibv_event_type`.
    pub kind: u32,
    /// Valid for events of ports only.
    pub port: i32,
}

const DEVICE_FATAL: u32 = 8;
const PORT_ACTIVE: u32 = 9;
const PORT_ERR: u32 = 10;
const LID_CHANGE: u32 = 11;
const PKEY_CHANGE: u32 = 12;
const SM_CHANGE: u32 = 13;
const CLIENT_REREGISTER: u32 = 17;

/// What an event means for the subnet manager at `port`; `None` where it is of another port, or of no port at all.
#[must_use]
pub fn local_event(event: AsyncEvent, port: PortNum) -> Option<LocalPortEvent> {
    let of_port = event.port == i32::from(port.0);
    match event.kind {
        DEVICE_FATAL => Some(LocalPortEvent::Down),
        PORT_ACTIVE if of_port => Some(LocalPortEvent::Up),
        PORT_ERR if of_port => Some(LocalPortEvent::Down),
        LID_CHANGE | PKEY_CHANGE | SM_CHANGE | CLIENT_REREGISTER if of_port => {
            Some(LocalPortEvent::Changed)
        }
        _ => None,
    }
}

/// Reads the events of a device on a thread of its own and hands those of `port` to the driver. The thread waits in the
/// kernel and ends with the process, or with the device.
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
    let started = crate::threads::start("verbs", move || {
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

    fn device() -> Device {
        Device {
            name: "mlx5_0".to_owned(),
            fw_ver: "20.31.1014".to_owned(),
            node_guid: NodeGuid(0x0c42_a103_00a0_b1c2),
            sys_image_guid: SystemImageGuid(0x0c42_a103_00a0_b1c2),
            vendor_id: 0x02c9,
            vendor_part_id: 4123,
            hw_ver: 0,
            phys_port_cnt: 1,
            limits: vec![("max_qp", 262_144)],
            ports: vec![Port {
                port: 1,
                state: 4,
                max_mtu: 5,
                active_mtu: 4,
                sm_lid: 1,
                lid: 7,
                lmc: 0,
                link_layer: 1,
            }],
        }
    }

    #[test]
    fn a_device_is_shown_as_ibv_devinfo_does() {
        let text = render(&[device()]);
        let values: Vec<(&str, &str)> = text
            .lines()
            .filter_map(|l| l.trim().split_once(':'))
            .map(|(name, value)| (name, value.trim()))
            .collect();
        for expected in [
            ("hca_id", "mlx5_0"),
            ("node_guid", "0c42:a103:00a0:b1c2"),
            ("vendor_id", "0x02c9"),
            ("max_qp", "262144"),
            ("state", "PORT_ACTIVE (4)"),
            ("max_mtu", "4096 (5)"),
            ("active_mtu", "2048 (4)"),
            ("port_lmc", "0x00"),
            ("link_layer", "InfiniBand"),
        ] {
            assert!(values.contains(&expected), "{expected:?} is not in\n{text}");
        }
    }

    #[test]
    fn no_device_is_said() {
        assert_eq!(render(&[]), "Verbs know no device on this host.\n");
    }

    /// Every event of the port that matters has its meaning; those of queues, and of other ports, have none.
    #[test]
    fn events_of_the_port_mean_something() {
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
            "of the whole device"
        );
    }

    /// The numbers above are those of the header that this was built with.
    #[test]
    fn numbers_are_those_of_the_header() {
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

    /// Listing works, with or without hardware, and a device that nobody has is not there.
    #[test]
    fn listing_devices_does_not_fail() {
        let found = devices().unwrap();
        println!("{} devices", found.len());
        assert!(sys::Context::open("no-such-device").unwrap().is_none());
    }
}
