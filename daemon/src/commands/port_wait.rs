//! Waiting for the port of `ferrosm run`: for a device whose driver is not loaded yet, and for a link.
//!
//! A Down port that is named, or is the only one, is opened at once: the subnet manager itself waits for its link. This module waits
//! for what cannot be opened yet. Waits are bounded, and the process then fails: a restart by systemd also renews the unit's device
//! rules, which resolve `char-infiniband_mad` only while ib_umad is loaded.

use core::time::Duration;

use ferrosm_mad::transport::umad::{LocalPort, PortChoiceError, PortSelection, SkipReason};
use tokio::time::{Instant, sleep};
use tracing::warn;

use super::ports;
use crate::config::PortChoice;
use crate::failure::Failure;

/// Interval between two enumerations.
const POLL: Duration = Duration::from_millis(500);
/// Time for all links of a host to train before a port is selected; otherwise the first link to come up would select it.
const SETTLE: Duration = Duration::from_secs(5);

/// How long a command waits for its port.
#[derive(Debug, Clone, Copy)]
pub struct WaitLimits {
    /// Longest wait for a device, or for one of several ports to get a link.
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
    /// `run` with several fabrics, which retries each fabric and reads the configuration again.
    pub const ONE_OF_SEVERAL: Self = Self {
        device: Duration::ZERO,
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

/// Waits until the port to serve can be opened.
///
/// # Errors
/// The selection is ambiguous, or no port appears in time.
pub async fn wait_for_port(choice: &PortChoice, limits: WaitLimits) -> Result<LocalPort, Failure> {
    let selection = ports::selection(choice);
    let started = Instant::now();
    let (mut waited, mut settled) = (false, names_one_port(&selection));
    loop {
        let (failure, limit, down) = match ports::find(&selection)? {
            Ok(port) => match limits.link.filter(|_| !port.has_link()) {
                Some(link) => (ports::no_link(&port, link), link, Some(port)),
                None if !waited => return Ok(port),
                // The kernel lists a device before ib_umad has created its files.
                None if !ports::has_umad(&port) && started.elapsed() < limits.device => {
                    sleep(POLL).await;
                    continue;
                }
                None if settled => return Ok(port),
                None => {
                    settled = true;
                    sleep(SETTLE).await;
                    continue;
                }
            },
            Err(e @ PortChoiceError::Ambiguous { .. }) => return Err(ports::selection_failure(&e)),
            Err(e) => (ports::selection_failure(&e), limits.limit(&e), None),
        };
        if started.elapsed() >= limit {
            return Err(failure);
        }
        if !waited {
            log_wait(&failure, limit, down.as_ref());
            waited = true;
        }
        sleep(POLL).await;
    }
}

/// Logs what is waited for: the link of a port, or what the failure names.
fn log_wait(failure: &Failure, limit: Duration, down: Option<&LocalPort>) {
    let exit_after_s = limit.as_secs();
    if let Some(local) = down {
        warn!(ca = local.ca, port = local.port_num.0, phys_state = %local.phys_state, exit_after_s, "waiting for link");
    } else {
        let reason = failure.to_log_line();
        warn!(reason, exit_after_s, "waiting for local port");
    }
}

/// Whether the selection cannot match a second port that appears later.
const fn names_one_port(selection: &PortSelection) -> bool {
    selection.port_guid.is_some() || (selection.ca.is_some() && selection.port.is_some())
}
