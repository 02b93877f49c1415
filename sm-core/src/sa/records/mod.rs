//! Records of what devices say: nodes, ports, switches, links, subnet managers.
//!
//! Each kind says which nodes can have a match, so that a query by LID or GUID looks at one node and never at all of them; then
//! every component is compared as bits ([`Template`]). Who may see a record is decided before it is compared (rule 7.9).

mod keys;
mod lanes;
mod links;
mod nodes;
mod ports;
mod switches;

use ferrosm_mad::ids::{Lid, Qpn};
use ferrosm_mad::mad::Status;
use ferrosm_mad::sa::tables::{ClassPortInfo, SmInfoRecord};
use ferrosm_mad::sa::{CLASS_VERSION, Record, Template, id};

use super::message::{Found, Reply, Request};
use super::view::{EndPortIdx, View};

/// The Q_Key of every QP1.
const QP1_QKEY: u32 = 0x8001_0000;

/// The component that every record but PathRecord begins with.
const LID: u64 = 1;

/// What this administrator can do.
#[must_use]
pub fn class_port_info(view: &View) -> Reply {
    let info = ClassPortInfo {
        base_version: 1,
        class_version: CLASS_VERSION,
        capability_mask: ClassPortInfo::CAPABILITY_MASK2
            | ClassPortInfo::UD_MULTICAST
            | ClassPortInfo::MULTI_PATH
            | ClassPortInfo::PORT_INFO_CAP_MASK_MATCH,
        capability_mask2: ClassPortInfo::FULL_PORT_INFO
            | ClassPortInfo::EXTENDED_SPEEDS
            | ClassPortInfo::PORT_INFO_CAP_MASK2_MATCH
            | ClassPortInfo::SEND_ONLY_FULL_MEMBER
            | ClassPortInfo::LINK_WIDTH_2X
            | ClassPortInfo::LINK_SPEED_HDR
            | ClassPortInfo::LINK_SPEED_NDR,
        resp_time_value: view.resp_time_value,
        redirect_qp: Qpn(1),
        redirect_qkey: QP1_QKEY,
        trap_qkey: QP1_QKEY,
        ..ClassPortInfo::default()
    };
    Reply::one(&info.encode())
}

/// Answers Get and GetTable; `None` for an attribute that is not known here.
#[must_use]
pub fn answer(view: &View, request: &Request<'_>) -> Option<Reply> {
    let Some(client) = view.by_lid(request.from.lid) else {
        return Some(Reply::error(Status::REQ_INVALID));
    };
    let search = Search {
        view,
        request,
        client,
    };
    Some(match request.attr {
        id::NODE => nodes::answer(&search),
        id::PORT_INFO => ports::answer(&search),
        id::SWITCH_INFO => switches::infos(&search),
        id::LFT => switches::lfts(&search),
        id::MFT => switches::mfts(&search),
        id::LINK => links::answer(&search),
        id::SL_TO_VL => lanes::maps(&search),
        id::VL_ARBITRATION => lanes::arbitrations(&search),
        id::PKEY_TABLE => keys::answer(&search),
        id::SM_INFO => managers(&search),
        _ => return None,
    })
}

/// A search for records.
struct Search<'a> {
    view: &'a View,
    request: &'a Request<'a>,
    client: EndPortIdx,
}

impl Search<'_> {
    fn template<R: Record>(&self) -> Template {
        Template::new::<R>(self.request.component_mask, self.request.data)
    }

    fn found<R: Record>(&self) -> Found {
        Found::new(self.request, R::STRIDE)
    }

    fn reply(&self, found: Found) -> Reply {
        Reply::of(self.request, found)
    }

    /// Whether the client may see what concerns an end port.
    fn sees(&self, at: EndPortIdx) -> bool {
        self.view.share(self.client, at)
    }

    /// The LID that the client asks for, in the first 16 bits of the record.
    fn lid(&self) -> Option<Lid> {
        let data = self.request.data;
        self.request
            .has(LID)
            .then(|| Lid(u16::from_be_bytes([data[0], data[1]])))
    }

    /// The end ports that can have records with the LID that is asked for: one, or all where none is asked for.
    fn end_ports(&self) -> Candidates {
        match self.lid() {
            Some(lid) => Candidates::from(self.view.by_lid(lid)),
            None => Candidates::all(self.view),
        }
    }
}

/// End ports to look at.
struct Candidates {
    one: Option<EndPortIdx>,
    next: usize,
    end: usize,
}

impl Candidates {
    fn all(view: &View) -> Self {
        Self {
            one: None,
            next: 0,
            end: view.end_ports().len(),
        }
    }
}

impl From<Option<EndPortIdx>> for Candidates {
    fn from(one: Option<EndPortIdx>) -> Self {
        Self {
            one,
            next: 0,
            end: 0,
        }
    }
}

impl Iterator for Candidates {
    type Item = EndPortIdx;

    fn next(&mut self) -> Option<EndPortIdx> {
        if let Some(one) = self.one.take() {
            return Some(one);
        }
        if self.next >= self.end {
            return None;
        }
        self.next += 1;
        EndPortIdx::at(self.next - 1)
    }
}

/// Subnet managers (rule 7.15).
fn managers(search: &Search<'_>) -> Reply {
    let template = search.template::<SmInfoRecord>();
    let mut found = search.found::<SmInfoRecord>();
    for manager in &search.view.managers {
        let visible = search
            .view
            .by_lid(manager.lid)
            .is_none_or(|at| search.sees(at));
        let record = manager.encode();
        if visible && template.matches(&record) {
            found.push(&record);
        }
    }
    search.reply(found)
}
