//! A request of an SA client that was refused.

use ferrosm_fabric::location::PortName;
use ferrosm_mad::ids::Gid;
use ferrosm_mad::mad::Method;
use ferrosm_mad::sa::id;
use ferrosm_mad::sa::multicast::McMemberRecord;
use ferrosm_mad::sa::path::PathRecord;
use ferrosm_mad::sa::service::ServiceRecord;

use ferrosm_sa::refusal::SaRefusal;
use ferrosm_sa::request_kind::RequestKind;
use ferrosm_sa::{SaRequest, View};

/// A refused request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RefusedRequest {
    /// The port that sent it.
    pub port: PortName,
    /// Attribute and method.
    pub kind: RequestKind,
    /// What it is about: a multicast group, the destination of a path, or the port of a service.
    pub subject: Option<Gid>,
    /// The port that is to join or leave, if it is another one.
    pub member: Option<Gid>,
    /// Why it is refused.
    pub refusal: SaRefusal,
    /// Refusals of the same port and cause since the last report.
    pub repeats: u64,
}

impl RefusedRequest {
    /// A request of a port in `view`.
    #[must_use]
    pub fn new(
        view: &View,
        request: &SaRequest<'_>,
        refusal: SaRefusal,
        repeats: u64,
    ) -> Option<Self> {
        let at = view.by_lid(request.from.lid)?;
        let mut member = None;
        let subject = match request.attr {
            id::MC_MEMBER => {
                let record = McMemberRecord::decode(request.data);
                let own_guid = view.end_port(at).guid;
                member = Some(record.port_gid).filter(|gid| gid.guid() != own_guid);
                Some(record.mgid)
            }
            id::PATH => Some(PathRecord::decode(request.data).dgid),
            id::SERVICE => Some(ServiceRecord::decode(request.data).service_gid),
            _ => None,
        };
        let is_given = |gid: &Gid| *gid != Gid::default();
        Some(Self {
            port: view.port_name(at),
            kind: RequestKind::of(request),
            subject: subject.filter(is_given),
            member: member.filter(is_given),
            refusal,
            repeats,
        })
    }

    /// The index of its row in the event table: a warning if the site has to act.
    pub(super) fn row_index(&self) -> usize {
        let is_fault = self.refusal.cause().is_fault();
        match (self.is_join(), is_fault) {
            (true, true) => 0,
            (true, false) => 1,
            (false, true) => 2,
            (false, false) => 3,
        }
    }

    /// Whether it is a join of a multicast group.
    #[must_use]
    pub fn is_join(&self) -> bool {
        self.kind == RequestKind::new(id::MC_MEMBER, Method::Set)
    }
}
