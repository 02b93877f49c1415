//! Ports that an operator enabled a moment ago: their links train, and are not broken.

use core::time::Duration;
use std::collections::BTreeMap;
use std::time::SystemTime;

use ferrosm_core::config::maintenance::{Maintenance, MaintenanceTarget};
use ferrosm_mad::ids::{NodeGuid, PortNum};

/// Time from the command until the link is up: a sweep moves the port out of Disabled, then the
/// link trains. A link that is down after that is broken.
const TRAINING_TIME_MAX: Duration = Duration::from_secs(30);

/// Ports of switches, with the time at which their maintenance ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct EnabledPorts(BTreeMap<(NodeGuid, PortNum), SystemTime>);

impl EnabledPorts {
    /// What is out of service has changed.
    pub(super) fn update(
        &mut self,
        before: &[Maintenance],
        after: &[Maintenance],
        now: SystemTime,
    ) {
        for port in disabled(before) {
            self.0.insert(port, now);
        }
        for port in disabled(after) {
            self.0.remove(&port);
        }
    }

    pub(super) fn contains(&self, port: &(NodeGuid, PortNum)) -> bool {
        self.0.contains_key(port)
    }

    /// Whether [`Self::expire`] would remove a port.
    pub(super) fn has_expired(&self, now: SystemTime) -> bool {
        self.0.values().any(|since| is_over(*since, now))
    }

    /// Removes ports whose links had the time to train.
    pub(super) fn expire(&mut self, now: SystemTime) {
        self.0.retain(|_, since| !is_over(*since, now));
    }
}

fn disabled(entries: &[Maintenance]) -> impl Iterator<Item = (NodeGuid, PortNum)> {
    entries.iter().filter_map(|entry| match entry.target {
        MaintenanceTarget::Port(guid, port) => Some((guid, port)),
        MaintenanceTarget::Switch(_) | MaintenanceTarget::Link(..) => None,
    })
}

/// Also if the clock was set back.
fn is_over(since: SystemTime, now: SystemTime) -> bool {
    now.duration_since(since)
        .map_or(true, |passed| passed >= TRAINING_TIME_MAX)
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;

    fn entry(target: MaintenanceTarget) -> Maintenance {
        Maintenance {
            target,
            name: String::new(),
            reason: String::new(),
            until_unix_s: None,
            may_cut_off_host: false,
        }
    }

    /// A port counts as enabled from the end of its maintenance for the time of a training, unless
    /// it is disabled again.
    #[test]
    fn enabled_port_has_time_to_train() {
        let port = (NodeGuid(1), PortNum(2));
        let disabled = [entry(MaintenanceTarget::Port(port.0, port.1))];
        let drained = [entry(MaintenanceTarget::Link(port.0, port.1))];
        let mut ports = EnabledPorts::default();
        ports.update(&drained, &[], UNIX_EPOCH);
        assert!(!ports.contains(&port), "its link was up all the time");
        ports.update(&disabled, &[], UNIX_EPOCH);
        assert!(ports.contains(&port));
        ports.update(&[], &disabled, UNIX_EPOCH);
        assert!(!ports.contains(&port));
        ports.update(&disabled, &[], UNIX_EPOCH);
        let just_before = UNIX_EPOCH + TRAINING_TIME_MAX - Duration::from_secs(1);
        assert!(!ports.has_expired(just_before));
        let over = UNIX_EPOCH + TRAINING_TIME_MAX;
        assert!(ports.has_expired(over));
        ports.expire(over);
        assert!(!ports.contains(&port));
    }
}
