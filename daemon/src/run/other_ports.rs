//! The ports of this host that an SM could serve, but this one does not, although none is named:
//! each is reported when it gets a link, because it may belong to a fabric without an SM.

use core::time::Duration;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use ferrosm_core::SubnetManager;
use ferrosm_mad::ids::PortGuid;
use ferrosm_umad::libibumad::{self, LocalPort, PortSelection};
use tokio::runtime::Handle;
use tokio::task::spawn_blocking;
use tracing::{info, warn};

use crate::port::local_port;

/// Interval of enumerations.
const POLL: Duration = Duration::from_secs(5);

/// The other ports with a link, shared by the task that reads them and the service.
#[derive(Debug, Clone)]
pub struct OtherPorts(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    selection: PortSelection,
    served: LocalPort,
    /// What a start without a named port does.
    next_start: &'static str,
    /// Ports that were reported.
    reported: BTreeSet<PortGuid>,
    /// Reported ports that are not known to be in the served subnet.
    elsewhere: Vec<LocalPort>,
}

impl OtherPorts {
    /// Reports the ports that have a link now, and on `runtime` those that get one later. `None` if
    /// the selection names one port.
    pub fn watch(
        served: &LocalPort,
        selection: PortSelection,
        is_recorded: bool,
        runtime: &Handle,
    ) -> Option<Self> {
        if selection.names_one_port() {
            return None;
        }
        let others = Self(Arc::new(Mutex::new(State {
            selection,
            served: served.clone(),
            next_start: if is_recorded {
                "serves this port again"
            } else {
                "serves none while several have a link"
            },
            reported: BTreeSet::new(),
            elsewhere: Vec::new(),
        })));
        // The port was chosen from the same list.
        others.report(&local_port::enumerate().unwrap_or_default());
        let watched = others.clone();
        let task = async move {
            loop {
                tokio::time::sleep(POLL).await;
                // A driver that hangs must not delay the SM.
                if let Ok(Ok(ports)) = spawn_blocking(local_port::enumerate).await {
                    watched.report(&ports);
                }
            }
        };
        drop(runtime.spawn(task));
        Some(others)
    }

    /// Reports ports that have a link for the first time.
    fn report(&self, ports: &[LocalPort]) {
        self.with(|state| {
            for other in state.new_ports(ports) {
                warn!(
                    served = %state.served, other = other.summary(), next_start = state.next_start,
                    "second port has a link and no port is named"
                );
                state.elsewhere.push(other);
            }
        });
    }

    /// Reports those that a sweep found in the served subnet: a service for each would be two SMs
    /// in one subnet.
    pub fn report_in_subnet(&self, sm: &SubnetManager) {
        self.with(|state| {
            state.elsewhere.retain(|other| {
                let found = sm.fabric().port_by_guid(other.port_guid).is_some();
                if found {
                    info!(served = %state.served, %other, "local ports in one subnet");
                }
                !found
            });
        });
    }

    fn with(&self, f: impl FnOnce(&mut State)) {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl State {
    fn new_ports(&mut self, ports: &[LocalPort]) -> Vec<LocalPort> {
        let candidates = libibumad::candidates(ports, &self.selection);
        let is_new = |port: &&&LocalPort| {
            port.has_link()
                && port.port_guid != self.served.port_guid
                && self.reported.insert(port.port_guid)
        };
        candidates.iter().filter(is_new).copied().cloned().collect()
    }
}
