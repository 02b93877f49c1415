//! TraceRecord: one record for each node of a path (IBA 15.2.5.19).
//!
//! The query is a PathRecord with source and destination; the reply lists the nodes from source to
//! destination. OpenSM does not support it.

use ferrosm_mad::attr::NodeInfo;
use ferrosm_mad::ids::{PortGuid, PortNum};
use ferrosm_mad::sa::id;
use ferrosm_mad::sa::path::{PathRecord, TraceRecord};

use super::record::{component, resolve_end_port};
use super::route::{RouteHop, follow_route};
use crate::message::{ReplyRecords, SaReply, SaRequest, component_value};
use crate::refusal::SaRefusal;
use crate::view::View;

/// Answers GetTraceTable.
#[must_use]
pub fn answer(view: &View, request: &SaRequest<'_>) -> SaReply {
    let reply = trace(view, request).unwrap_or_else(SaReply::refused);
    SaReply {
        attr: Some(id::TRACE),
        ..reply
    }
}

fn trace(view: &View, request: &SaRequest<'_>) -> Result<SaReply, SaRefusal> {
    let query = PathRecord::decode(request.data);
    let client = view.requester(&request.from)?;
    let from = resolve_end_port(
        view,
        component_value(request, component::SGID, query.sgid),
        component_value(request, component::SLID, query.slid),
    )?;
    let to = resolve_end_port(
        view,
        component_value(request, component::DGID, query.dgid),
        component_value(request, component::DLID, query.dlid),
    )?;
    let missing = SaRefusal::MissingComponents("source or destination");
    let ((from, slid), (to, dlid)) = from.zip(to).ok_or(missing)?;
    let pairs = [(client, from), (client, to), (from, to)];
    if !pairs.iter().all(|(a, b)| view.share_partition(*a, *b)) {
        return Err(SaRefusal::NoCommonPartition);
    }
    let dlid = dlid.unwrap_or_else(|| view.end_port(to).lid);
    let no_route = SaRefusal::NoRoute {
        from: slid.unwrap_or_else(|| view.end_port(from).lid),
        to: dlid,
    };
    let mut hops = Vec::new();
    follow_route(view, from, to, dlid, |hop| hops.push(hop)).ok_or(no_route)?;
    let mut records = ReplyRecords::new(request, TraceRecord::LEN);
    for hop in &hops {
        records.push(&record(view, hop).encode());
    }
    Ok(SaReply::from_records(request, records))
}

fn record(view: &View, hop: &RouteHop) -> TraceRecord {
    let node = view.node(hop.node);
    let mut info = [0; NodeInfo::LEN];
    info[..node.info.len()].copy_from_slice(&node.info);
    TraceRecord {
        gid_prefix: view.prefix,
        node_type: node.node_type,
        node_id: node.guid,
        chassis_id: NodeInfo::system_image_guid.read(&info).0,
        entry_port_id: port_guid(view, hop.node, hop.entry),
        exit_port_id: port_guid(view, hop.node, hop.exit),
        entry_port: hop.entry,
        exit_port: hop.exit,
        ..TraceRecord::default()
    }
}

/// GUID of the end port that owns the port's LID: port 0 for all ports of a switch. 0 if there is
/// none.
fn port_guid(view: &View, node: u32, num: PortNum) -> PortGuid {
    view.port_by_num(node, num)
        .and_then(|port| view.lid_owner(port))
        .map_or(PortGuid(0), |owner| view.end_port(owner).guid)
}
