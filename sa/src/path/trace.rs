//! TraceRecord: the nodes on a path, one record each (IBA 15.2.5.17).
//!
//! The query is a PathRecord that names both ends; the answer lists the nodes from the source to the destination. OpenSM has no
//! such answer.

use ferrosm_mad::attr::NodeInfo;
use ferrosm_mad::ids::{PortGuid, PortNum};
use ferrosm_mad::mad::Status;
use ferrosm_mad::sa::id;
use ferrosm_mad::sa::path::{PathRecord, TraceRecord};

use super::record::{component, named};
use super::walk::{Step, walk};
use crate::message::{Found, Reply, Request, given};
use crate::view::View;

/// Answers GetTraceTable.
#[must_use]
pub fn answer(view: &View, request: &Request<'_>) -> Reply {
    let reply = trace(view, request).unwrap_or_else(Reply::error);
    Reply {
        attr: Some(id::TRACE),
        ..reply
    }
}

fn trace(view: &View, request: &Request<'_>) -> Result<Reply, Status> {
    let wanted = PathRecord::decode(request.data);
    let client = view.by_lid(request.from.lid).ok_or(Status::REQ_INVALID)?;
    let from = named(
        view,
        given(request, component::SGID, wanted.sgid),
        given(request, component::SLID, wanted.slid),
    )?;
    let to = named(
        view,
        given(request, component::DGID, wanted.dgid),
        given(request, component::DLID, wanted.dlid),
    )?;
    let ((from, _), (to, dlid)) = from.zip(to).ok_or(Status::INSUFFICIENT_COMPONENTS)?;
    let all = [(client, from), (client, to), (from, to)];
    if !all.iter().all(|(a, b)| view.share(*a, *b)) {
        return Err(Status::NO_RECORDS);
    }
    let dlid = dlid.unwrap_or_else(|| view.end_port(to).lid);
    let mut steps = Vec::new();
    walk(view, from, to, dlid, |step| steps.push(step)).ok_or(Status::NO_RECORDS)?;
    let mut found = Found::new(request, TraceRecord::LEN);
    for step in &steps {
        found.push(&record(view, step).encode());
    }
    Ok(Reply::of(request, found))
}

fn record(view: &View, step: &Step) -> TraceRecord {
    let node = view.node(step.node);
    let mut info = [0; NodeInfo::LEN];
    info[..node.info.len()].copy_from_slice(&node.info);
    TraceRecord {
        gid_prefix: view.settings.prefix,
        node_type: node.node_type,
        node_id: node.guid,
        chassis_id: NodeInfo::decode(&info).system_image_guid.0,
        entry_port_id: port_guid(view, step.node, step.entry),
        exit_port_id: port_guid(view, step.node, step.exit),
        entry_port: step.entry,
        exit_port: step.exit,
        ..TraceRecord::default()
    }
}

/// The GUID of a port, of a switch's port 0 for all its ports; 0 where the path has none.
fn port_guid(view: &View, node: u32, num: PortNum) -> PortGuid {
    view.port_of(node, num)
        .and_then(|port| view.owner(port))
        .map_or(PortGuid(0), |owner| view.end_port(owner).guid)
}
