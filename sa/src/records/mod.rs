//! Records of nodes, ports, switches, links and SMs.
//!
//! Indexed components determine the nodes that can match, so a query by LID or GUID examines one
//! node. Other components are compared as bits ([`Template`]). Visibility is checked before the
//! comparison (docs/sm-behaviour.md 7.9).
//!
//! As in OpenSM, any LID of a port selects its records, which contain the base LID. This does not
//! apply to LIDs within PortInfo.

pub(super) mod guids;
mod keys;
mod links;
mod nodes;
mod ports;
mod switches;
pub mod vl_tables;

use ferrosm_fabric::snapshot::{EndPort, EndPortIdx, SnapshotPort};
use ferrosm_mad::ids::{AttrId, Lid, Qpn};
use ferrosm_mad::sa::tables::{ClassPortInfo, SmInfoRecord};
use ferrosm_mad::sa::{CLASS_VERSION, SaRecord, Template, id};

use super::message::{ReplyRecords, SaReply, SaRequest};
use super::refusal::SaRefusal;
use crate::view::View;

/// The Q_Key of every QP1.
const QP1_QKEY: u32 = 0x8001_0000;

/// The LID component: the first of all records but PathRecord.
const LID: u64 = 1;

/// ClassPortInfo of the SA.
#[must_use]
pub fn class_port_info(view: &View) -> SaReply {
    let info = ClassPortInfo {
        base_version: 1,
        class_version: CLASS_VERSION,
        capability_mask: ClassPortInfo::CAPABILITY_MASK2
            | ClassPortInfo::UD_MULTICAST
            | ClassPortInfo::MULTI_PATH
            | ClassPortInfo::PORT_INFO_CAP_MASK_MATCH,
        capability_mask2: ClassPortInfo::MULTICAST_FDB_TOP
            | ClassPortInfo::FULL_PORT_INFO
            | ClassPortInfo::EXTENDED_SPEEDS
            | ClassPortInfo::PORT_INFO_CAP_MASK2_MATCH
            | ClassPortInfo::ALIAS_GUIDS
            | ClassPortInfo::SEND_ONLY_FULL_MEMBER
            | ClassPortInfo::LINK_WIDTH_2X
            | ClassPortInfo::LINK_SPEED_HDR
            | ClassPortInfo::LINK_SPEED_NDR
            | if view.settings.qos.is_some() {
                ClassPortInfo::QOS
            } else {
                0
            },
        resp_time_value: view.settings.subnet_timeout,
        redirect_qp: Qpn(1),
        redirect_qkey: QP1_QKEY,
        trap_qkey: QP1_QKEY,
        ..ClassPortInfo::default()
    };
    SaReply::with_record(&info.encode())
}

/// Answers Get and GetTable; `None` for an unknown attribute.
#[must_use]
pub fn answer(view: &View, request: &SaRequest<'_>) -> Option<SaReply> {
    let search = match Search::new(view, request) {
        Ok(search) => search,
        Err(reply) => return Some(reply),
    };
    Some(match request.attr {
        id::NODE => nodes::answer(&search),
        id::PORT_INFO => ports::answer(&search),
        id::SWITCH_INFO => switches::infos(&search),
        id::LFT => switches::lfts(&search),
        id::MFT => switches::mfts(&search),
        id::LINK => links::answer(&search),
        id::GUID_INFO => guids::answer(&search),
        id::PKEY_TABLE => keys::answer(&search),
        id::SM_INFO => sm_infos(&search),
        _ => return None,
    })
}

/// The components of an attribute that have an index.
pub(crate) fn indexed_components(attr: AttrId) -> u64 {
    if attr == id::NODE {
        LID | nodes::INDEXED
    } else {
        LID
    }
}

/// A query for records.
struct Search<'a> {
    view: &'a View,
    request: &'a SaRequest<'a>,
    client: EndPortIdx,
}

impl<'a> Search<'a> {
    /// A query of a client.
    ///
    /// # Errors
    /// The reply to an unknown client.
    fn new(view: &'a View, request: &'a SaRequest<'a>) -> Result<Self, SaReply> {
        let client = view.by_lid(request.from.lid);
        let unknown = || SaReply::refused(SaRefusal::UnknownSource(request.from.lid));
        let client = client.ok_or_else(unknown)?;
        Ok(Self {
            view,
            request,
            client,
        })
    }
}

impl Search<'_> {
    /// Collects records that match all components. The LID is resolved by [`Self::end_ports`]
    /// instead.
    fn matches<R: SaRecord>(&self) -> Matches {
        self.matches_in::<R>(self.request.component_mask & !LID)
    }

    /// Collects records that match these components.
    fn matches_in<R: SaRecord>(&self, component_mask: u64) -> Matches {
        Matches {
            template: Template::new::<R>(component_mask, self.request.data),
            records: ReplyRecords::new(self.request, R::STRIDE),
        }
    }

    fn reply(&self, matches: Matches) -> SaReply {
        SaReply::from_records(self.request, matches.records)
    }

    /// Whether records about an end port are visible to the client.
    fn is_visible(&self, at: EndPortIdx) -> bool {
        self.view.share_partition(self.client, at)
    }

    /// The requested LID, in the first 16 bits of the record.
    fn lid(&self) -> Option<Lid> {
        let data = self.request.data;
        self.request
            .has(LID)
            .then(|| Lid(u16::from_be_bytes([data[0], data[1]])))
    }

    /// End ports with the requested LID, or all.
    fn end_ports(&self) -> impl Iterator<Item = EndPortIdx> + use<> {
        self.end_ports_by(None)
    }

    /// End ports with the requested LID or `other`, or all.
    fn end_ports_by(&self, other: Option<Lid>) -> impl Iterator<Item = EndPortIdx> + use<> {
        let (one, all) = match self.lid().or(other) {
            Some(lid) => (self.view.by_lid(lid), None),
            None => (None, Some(self.view.end_port_indices())),
        };
        one.into_iter().chain(all.into_iter().flatten())
    }

    /// Visible ports with the requested LID, or all, each with the end port that owns its LID: all
    /// ports of switches, and end ports of other nodes.
    fn ports(&self) -> impl Iterator<Item = (&EndPort, &SnapshotPort)> {
        self.ports_by(None)
    }

    /// [`Self::ports`] with another LID that selects a port.
    fn ports_by(&self, other: Option<Lid>) -> impl Iterator<Item = (&EndPort, &SnapshotPort)> {
        let visible = self.end_ports_by(other).filter(|at| self.is_visible(*at));
        visible.flat_map(|at| {
            let end_port = self.view.end_port(at);
            let is_switch = self.view.node(end_port.node).switch.is_some();
            let ports = self.view.ports_of_node(end_port.node);
            let of_lid = ports.filter(move |(port, _)| is_switch || *port == end_port.port);
            of_lid.map(move |(_, port)| (end_port, port))
        })
    }
}

/// Matching records.
struct Matches {
    template: Template,
    records: ReplyRecords,
}

impl Matches {
    /// Adds a record if it matches. Returns whether the search may stop.
    fn push_if_match(&mut self, record: &[u8]) -> bool {
        if self.template.matches(record) {
            self.records.push(record);
        }
        self.records.is_enough()
    }
}

/// SMInfoRecords (docs/sm-behaviour.md 7.15).
fn sm_infos(search: &Search<'_>) -> SaReply {
    let mut matches = search.matches::<SmInfoRecord>();
    let view = search.view;
    let is_selected = |at: Lid| {
        let requested = search.lid();
        requested.is_none_or(|lid| {
            lid == at || view.by_lid(lid).is_some_and(|e| view.by_lid(at) == Some(e))
        })
    };
    for sm in view.sms.iter().filter(|m| is_selected(m.lid)) {
        let visible = view.by_lid(sm.lid).is_none_or(|at| search.is_visible(at));
        if visible && matches.push_if_match(&sm.encode()) {
            break;
        }
    }
    search.reply(matches)
}
