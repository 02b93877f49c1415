//! A minimal SM that discovers all nodes.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use ferrosm_mad::attr::{NodeInfo, NodeType, id};
use ferrosm_mad::ids::{AttrMod, MKey, NodeGuid, PortNum, Tid};
use ferrosm_mad::mad::{Address, MadIn, MadOut, Method, Status};
use ferrosm_mad::smp::{self, DrPath, SmpRequest};
use ferrosm_mad::time::Instant;
use ferrosm_sim::world::HostedSm;

const REQUEST_TIMEOUT: Duration = Duration::from_millis(50);
const ATTEMPTS: u32 = 8;

/// Sends NodeInfo queries with retries; if created by [`Explorer::exploring`], also to every node
/// behind a discovered port.
#[derive(Default)]
pub(crate) struct Explorer {
    pub(crate) known: BTreeSet<NodeGuid>,
    pub(crate) replies: u64,
    pub(crate) failed: Vec<Tid>,
    explores: bool,
    waiting: BTreeMap<Tid, (DrPath, Instant, u32)>,
    outbox: VecDeque<MadOut>,
    next_tid: u64,
}

impl Explorer {
    pub(crate) fn exploring() -> Self {
        let mut explorer = Self {
            explores: true,
            ..Self::default()
        };
        explorer.query(DrPath::LOCAL, Instant::START, ATTEMPTS);
        explorer
    }

    pub(crate) fn query(&mut self, path: DrPath, now: Instant, tries: u32) {
        self.next_tid += 1;
        let tid = Tid(self.next_tid);
        let mad = SmpRequest::get(id::NODE_INFO, AttrMod(0), MKey::NONE).directed(&path, tid);
        self.outbox.push_back(MadOut {
            to: Address::DIRECTED,
            mad,
        });
        self.waiting
            .insert(tid, (path, now + REQUEST_TIMEOUT, tries - 1));
    }
}

impl HostedSm for Explorer {
    fn handle_mad(&mut self, mad: MadIn, now: Instant) {
        let mad = mad.mad;
        if mad.method() != Method::GetResp || mad.attr_id() != id::NODE_INFO {
            return;
        }
        self.replies += 1;
        let Some((path, _, _)) = self.waiting.remove(&mad.tid()) else {
            return;
        };
        let info = NodeInfo::decode(smp::data(&mad));
        if mad.status() != Status::OK || !self.known.insert(info.node_guid) || !self.explores {
            return;
        }
        let ports = match (info.node_type, path.is_empty()) {
            (NodeType::Switch, _) => 1..=info.num_ports,
            (_, true) => info.local_port_num.0..=info.local_port_num.0,
            (_, false) => return,
        };
        for port in ports {
            if let Some(path) = path.extend(PortNum(port)) {
                self.query(path, now, ATTEMPTS);
            }
        }
    }

    fn handle_send_failed(&mut self, tid: Tid, _now: Instant) {
        self.failed.push(tid);
    }

    fn handle_timeout(&mut self, now: Instant) {
        let due: Vec<Tid> = self
            .waiting
            .iter()
            .filter(|(_, w)| w.1 <= now)
            .map(|(tid, _)| *tid)
            .collect();
        for tid in due {
            if let Some((path, _, tries)) = self.waiting.remove(&tid)
                && tries > 0
            {
                self.query(path, now, tries);
            }
        }
    }

    fn poll_send(&mut self) -> Option<MadOut> {
        self.outbox.pop_front()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.waiting.values().map(|w| w.1).min()
    }
}
