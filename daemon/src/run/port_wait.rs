//! Waiting for the port of `ferrosm run`: for a device whose driver is not loaded yet, and for a
//! link.
//!
//! A Down port that is named, was served last, or is the only one, is opened at once: the subnet
//! manager itself waits for its link. This module waits for what cannot be opened yet, and for a
//! choice between several ports. Waits are bounded, and the process then fails: a restart by
//! systemd also renews the unit's device rules, which resolve `char-infiniband_mad` only while
//! ib_umad is loaded.

use core::time::Duration;

use ferrosm_mad::ids::PortGuid;
use ferrosm_umad::libibumad::{self, LocalPort, PortChoiceError, PortSelection, SkipReason};
use tokio::time::Instant;
use tracing::warn;

use super::service_manager::ServiceManager;
use crate::failure::Failure;
use crate::port::local_port;

/// Interval between two enumerations.
const POLL: Duration = Duration::from_millis(500);
/// Time for all links of a host to train before one of several ports is selected; otherwise the
/// first link to come up would select it.
const SETTLE: Duration = Duration::from_secs(5);

/// How long a command waits for its port.
#[derive(Debug, Clone, Copy)]
pub struct WaitLimits {
    /// Longest wait for a device, or for exactly one of several ports to have a link.
    device: Duration,
    /// Longest wait for the link of the chosen port; `None` if the SM waits for it.
    link: Option<Duration>,
}

impl WaitLimits {
    /// `run`: the HCA may be probed late.
    pub const SERVICE: Self = Self {
        device: Duration::from_secs(30),
        link: None,
    };
    /// `run --once`: waits only for a link that is training.
    pub const ONCE: Self = Self {
        device: Duration::ZERO,
        link: Some(Duration::from_secs(10)),
    };

    /// Longest wait after this error.
    fn limit(&self, error: &PortChoiceError) -> Duration {
        let has_down_port = matches!(error, PortChoiceError::NoneUsable { skipped, .. }
            if skipped.iter().any(|s| matches!(s.reason, SkipReason::Down(_))));
        match self.link {
            Some(link) if has_down_port => self.device.max(link),
            _ => self.device,
        }
    }
}

/// Waits until the port to serve can be opened. `last` is the port that was served last.
///
/// # Errors
/// No port can be selected in time.
pub async fn wait_for_port(
    selection: &PortSelection,
    mut last: Option<PortGuid>,
    limits: WaitLimits,
    service: &ServiceManager,
) -> Result<LocalPort, Failure> {
    let heartbeat = service.supervise_loop();
    let mut started = Instant::now();
    let (mut logged, mut settled) = (String::new(), selection.names_one_port());
    loop {
        let ports = local_port::enumerate()?;
        let (failure, limit, awaited) = match libibumad::choose_port(&ports, selection, last) {
            Ok(port) => match limits.link.filter(|_| !port.has_link()) {
                Some(link) => (local_port::no_link(port, link), link, Awaited::Link(port)),
                // The kernel lists a device before ib_umad has created its files.
                None if !logged.is_empty()
                    && !local_port::has_umad(port)
                    && started.elapsed() < limits.device =>
                {
                    heartbeat.sleep(POLL).await;
                    continue;
                }
                None if settled
                    || last == Some(port.port_guid)
                    || (logged.is_empty()
                        && libibumad::candidates(&ports, selection).len() == 1) =>
                {
                    return Ok(port.clone());
                }
                None => {
                    settled = true;
                    service.set_ready();
                    heartbeat.sleep(SETTLE).await;
                    continue;
                }
            },
            Err(error @ PortChoiceError::LastAbsent { .. })
                if started.elapsed() >= limits.device =>
            {
                last = None;
                started = Instant::now();
                let reason = error.to_string();
                let effect = "chosen as at a first start";
                warn!(reason, effect, "port served last not found");
                continue;
            }
            Err(error) => {
                let awaited = if matches!(error, PortChoiceError::LastAbsent { .. }) {
                    Awaited::LastPort
                } else {
                    Awaited::Port
                };
                let limit = limits.limit(&error);
                (local_port::selection_failure(&error), limit, awaited)
            }
        };
        if started.elapsed() >= limit {
            return Err(failure);
        }
        let reason = failure.to_log_line();
        if reason != logged {
            let left = limit.saturating_sub(started.elapsed());
            log_wait(&reason, left, &awaited);
            service.set_status(format!("waiting: {reason}"));
            logged = reason;
        }
        service.set_ready();
        heartbeat.sleep(POLL).await;
    }
}

/// What is waited for.
enum Awaited<'a> {
    /// The link of this port.
    Link(&'a LocalPort),
    /// The port that was served last; then another one is chosen.
    LastPort,
    /// A port that can be served.
    Port,
}

/// Logs what is waited for, and for how long.
fn log_wait(reason: &str, left: Duration, awaited: &Awaited<'_>) {
    let left_s = left.as_millis().div_ceil(1000);
    match awaited {
        Awaited::Link(local) => {
            warn!(ca = local.ca, port = local.port_num.0, phys_state = %local.phys_state, exit_after_s = left_s, "waiting for link");
        }
        Awaited::LastPort => warn!(
            reason,
            choose_other_after_s = left_s,
            "waiting for local port"
        ),
        Awaited::Port => warn!(reason, exit_after_s = left_s, "waiting for local port"),
    }
}
