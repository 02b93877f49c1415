//! The persisted state with which an SM starts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ferrosm_fabric::routing_origin::SlToVlEpoch;
use ferrosm_fabric::snapshot::persist::RestoredSnapshot;
use ferrosm_mad::ids::{MKey, NodeGuid, PortGuid, PortNum};

use super::Record;
use super::routing::RoutingRecord;
use crate::config::key_rotation::{KeyKind, KeyRotation};
use crate::config::maintenance::{Maintenance, MaintenanceTarget};
use crate::config::partitions::Partition;
use crate::config::port_limits::LimitsByPort;
use crate::records::lid_map::LidMap;
use ferrosm_sa::registry::registration::Registrations;

/// State of an earlier run, or of the master whose replica was loaded.
#[derive(Debug, Clone, Default)]
pub struct RestoredState {
    /// LIDs by port.
    pub lids: LidMap,
    /// Registrations of SA clients; leases are reduced by the time since they were stored.
    pub registrations: Registrations,
    /// The SA view and its age.
    pub snapshot: Option<RestoredSnapshot>,
    /// The routing that was in force.
    pub routing: Option<Arc<RoutingRecord>>,
    /// The epoch persisted before SLtoVL tables were written last. If it is not that of `routing`,
    /// the tables of all devices are unknown.
    pub sl_to_vl_epoch: SlToVlEpoch,
    /// M_Keys of ports with an exceptional key; that of all other ports is under
    /// [`super::Record::ALL_PORTS`].
    pub m_keys: BTreeMap<PortGuid, MKey>,
    /// Peers of ports, as imported from another SM: by port GUID (for a switch, that of port 0) and
    /// port number.
    pub neighbours: BTreeMap<(PortGuid, PortNum), (PortGuid, PortNum)>,
    /// Settings of another SM wait for the operator's consent to remove them.
    pub awaits_consent: bool,
    /// Partitions that operators added at run time, by number.
    pub partitions: BTreeMap<u16, Partition>,
    /// What operators took out of service.
    pub maintenance: BTreeMap<MaintenanceTarget, Maintenance>,
    /// Ports that operators disabled and have enabled since.
    pub ports_to_enable: BTreeSet<(NodeGuid, PortNum)>,
    /// Limits of ports that operators set.
    pub port_limits: LimitsByPort,
    /// Keys that replace the configured ones.
    pub key_rotations: BTreeMap<KeyKind, KeyRotation>,
    /// `registrations` contains every acknowledged registration, so no client has to register
    /// again; and the other records are the latest that the master persisted.
    pub complete: bool,
}

impl RestoredState {
    /// The key that replaces a configured one.
    #[must_use]
    pub fn rotation_of(&self, kind: KeyKind) -> Option<KeyRotation> {
        self.key_rotations.get(&kind).copied()
    }

    /// The records, except those of the view and the routing.
    pub fn records(&self) -> impl Iterator<Item = Record> {
        let lids = self.lids.iter();
        let lids = lids.map(|(&port, &(lid, lmc))| Record::Lid { port, lid, lmc });
        let m_keys = self.m_keys.iter();
        let m_keys = m_keys.map(|(&port, &m_key)| Record::MKey { port, m_key });
        let links = self.neighbours.iter();
        let links = links.map(|(&of, &to)| Record::Neighbour { of, to });
        let partitions = self.partitions.values();
        let maintenance = self.maintenance.values();
        let ports_to_enable = self.ports_to_enable.iter();
        let port_limits = self.port_limits.values();
        let epoch = Some(self.sl_to_vl_epoch).filter(|epoch| *epoch != SlToVlEpoch::NEVER);
        lids.chain(self.registrations.iter().map(Record::Registration))
            .chain(m_keys)
            .chain(links)
            .chain(epoch.map(Record::SlToVlEpoch))
            .chain(self.awaits_consent.then_some(Record::AwaitsConsent))
            .chain(partitions.map(|partition| Record::Partition(Box::new(partition.clone()))))
            .chain(
                self.key_rotations
                    .values()
                    .copied()
                    .map(Record::KeyRotation),
            )
            .chain(maintenance.map(|entry| Record::Maintenance(Box::new(entry.clone()))))
            .chain(ports_to_enable.map(|(node, port)| Record::PortToEnable(*node, *port)))
            .chain(port_limits.map(|limits| Record::PortLimits(Box::new(limits.clone()))))
    }
}
