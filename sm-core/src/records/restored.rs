//! The persisted state with which a subnet manager starts.

use std::collections::BTreeMap;
use std::sync::Arc;

use ferrosm_mad::ids::{MKey, PortGuid, PortNum};

use super::Record;
use super::routing::RoutingRecord;
use crate::lid_map::LidMap;
use crate::routing_origin::SlToVlEpoch;
use crate::sa::registry::registration::Registrations;
use crate::sa::view::persist::ViewSnapshot;

/// What came from the last run.
#[derive(Debug, Clone, Default)]
pub struct RestoredState {
    /// Who owns which LIDs.
    pub lids: LidMap,
    /// What clients had registered, aged by the time that has passed since.
    pub registrations: Registrations,
    /// What the subnet was.
    pub snapshot: Option<ViewSnapshot>,
    /// The routing that was in force.
    pub routing: Option<Arc<RoutingRecord>>,
    /// The state of the tables of lanes that was kept before they were written: it is that of `routing`, or nobody knows who has
    /// which.
    pub sl_to_vl_epoch: SlToVlEpoch,
    /// M_Keys of ports, as far as they are not that of all, which is under [`super::Record::ALL_PORTS`].
    pub m_keys: BTreeMap<PortGuid, MKey>,
    /// What was at the other ends of cables, as another subnet manager knew it: by the GUID of a port's node (that of a switch's
    /// port 0, or of the port itself) and its number.
    pub neighbours: BTreeMap<(PortGuid, PortNum), (PortGuid, PortNum)>,
    /// Nothing is missing in `registrations` of what clients were told is registered: nobody has to register again. Nor is the
    /// rest older than the last that its master kept.
    pub complete: bool,
}

impl RestoredState {
    /// Its records, without those of the view and the routing.
    pub fn records(&self) -> impl Iterator<Item = Record> {
        let lids = self.lids.iter();
        let lids = lids.map(|(&port, &(lid, lmc))| Record::Lid { port, lid, lmc });
        let m_keys = self.m_keys.iter();
        let m_keys = m_keys.map(|(&port, &m_key)| Record::MKey { port, m_key });
        let links = self.neighbours.iter();
        let links = links.map(|(&of, &to)| Record::Neighbour { of, to });
        let epoch = Some(self.sl_to_vl_epoch).filter(|epoch| *epoch != SlToVlEpoch::NEVER);
        lids.chain(self.registrations.iter().map(Record::Registration))
            .chain(m_keys)
            .chain(links)
            .chain(epoch.map(Record::SlToVlEpoch))
    }
}
