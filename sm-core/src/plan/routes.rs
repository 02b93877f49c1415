//! From the subnet to forwarding tables: the routing job, which is pure and may run anywhere.

use std::sync::Arc;

use ferrosm_mad::ids::{Lid, PortNum};
use ferrosm_routing::select::{Reason, Refused};
use ferrosm_routing::{
    Lft, Previous, Proof, Request, SwitchIdx, Tables, Topology, TopologyBuilder,
};

use super::lids::LidPlan;
use crate::subnet::{NodeIdx, Subnet};

/// Everything that routing needs to know; it holds no reference to the subnet.
#[derive(Debug)]
pub struct Job {
    /// Tells answers of different jobs apart.
    pub id: u64,
    /// The switches and what hangs on them.
    pub topology: Topology,
    /// The tables that are in the switches now, so that few entries move.
    pub previous: Previous,
    /// Engines in the order in which they are tried.
    pub engines: Vec<String>,
    /// Names of the switches, for messages.
    pub names: Vec<String>,
    nodes: Vec<NodeIdx>,
}

/// What a [`Job`] found.
#[derive(Debug)]
pub struct Computed {
    /// The job's.
    pub id: u64,
    /// Proven tables, or why no engine could do it.
    pub result: Result<Routes, String>,
    /// The switch that each table is for.
    pub nodes: Vec<NodeIdx>,
}

/// Tables that may be installed.
#[derive(Debug)]
pub struct Routes {
    /// The engine that made them.
    pub engine: &'static str,
    /// One table for each switch of the job.
    pub tables: Tables,
    /// Each switch's place in the engine's order, if it has one: the next job starts from it.
    pub order: Option<Vec<u32>>,
    /// That they reach everything and cannot deadlock.
    pub proof: Proof,
    /// What the engine says of its work, and why engines before it were refused.
    pub notes: Vec<String>,
}

impl Job {
    /// Builds the job: switches with a linear forwarding table, the links between them, and the LIDs behind each port.
    #[must_use]
    pub fn new(id: u64, subnet: &Subnet, lids: &LidPlan, engines: &[String]) -> Self {
        let mut builder = TopologyBuilder::new();
        let mut index: Vec<Option<SwitchIdx>> = Vec::new();
        let mut nodes = Vec::new();
        let mut names = Vec::new();
        let mut previous = Previous::none();
        let mut base: Vec<Lid> = Vec::new();
        for (p, lid, _) in lids.lids.iter().filter(|(p, ..)| p.port == PortNum::ZERO) {
            if base.len() <= p.node.index() {
                base.resize(p.node.index() + 1, Lid::NONE);
            }
            base[p.node.index()] = *lid;
        }
        for (idx, node) in subnet.nodes() {
            if index.len() <= idx.index() {
                index.resize(idx.index() + 1, None);
            }
            if node.switch_info().is_none_or(|s| s.linear_fdb_cap == 0) {
                continue;
            }
            let lid = base.get(idx.index()).copied().unwrap_or(Lid::NONE);
            let s = builder.switch(node.info.num_ports, lid);
            index[idx.index()] = Some(s);
            nodes.push(idx);
            names.push(format!(
                "\"{}\" ({})",
                node.description, node.info.node_guid
            ));
            previous.lfts.push(node.installed.clone());
            previous.order.push(node.order);
        }
        let switch = |n: NodeIdx| index.get(n.index()).copied().flatten();
        for link in subnet.links() {
            if let (Some(a), Some(b)) = (switch(link.a.node), switch(link.b.node)) {
                builder.link((a, link.a.port), (b, link.b.port));
            }
        }
        for (p, lid, lmc) in &lids.lids {
            let count = 1u16 << lmc.0;
            if let Some(s) = switch(p.node) {
                if count > 1 {
                    builder.switch_lids(s, count);
                }
            } else if let Some(peer) = subnet.peer(*p)
                && let Some(s) = switch(peer.node)
            {
                builder.end_port((s, peer.port), *lid, count);
            }
        }
        Self {
            id,
            topology: builder.build(),
            previous,
            engines: engines.to_vec(),
            names,
            nodes,
        }
    }

    /// Computes the tables. Takes as long as it takes; touches nothing else.
    #[must_use]
    pub fn run(&self) -> Computed {
        let engines: Vec<&str> = self.engines.iter().map(String::as_str).collect();
        let selection = ferrosm_routing::route_with(
            &engines,
            &Request::new(&self.topology).after(&self.previous),
        );
        let mut notes: Vec<String> = selection.refused.iter().map(|r| self.refusal(r)).collect();
        let result = match selection.chosen {
            None => Err(notes.join("; ")),
            Some((routing, proof)) => {
                notes.extend(routing.notes);
                Ok(Routes {
                    engine: routing.engine,
                    tables: routing.tables,
                    order: routing.order,
                    proof,
                    notes,
                })
            }
        };
        Computed {
            id: self.id,
            result,
            nodes: self.nodes.clone(),
        }
    }

    fn refusal(&self, refused: &Refused) -> String {
        let why = match &refused.reason {
            Reason::Route(e) => e.to_string(),
            Reason::Proof(f) => f.describe(&|s| self.name(s)),
        };
        format!("{}: {why}", refused.engine)
    }

    /// A switch's name.
    #[must_use]
    pub fn name(&self, switch: SwitchIdx) -> String {
        self.names.get(switch.index()).cloned().unwrap_or_default()
    }
}

/// The blocks that turn the installed table into the wanted one; everything where the installed one is not known.
#[must_use]
pub fn blocks_to_write(installed: Option<&Arc<Lft>>, wanted: &Arc<Lft>) -> Vec<u16> {
    if installed.is_some_and(|i| Arc::ptr_eq(i, wanted)) {
        return Vec::new();
    }
    ferrosm_routing::changed_blocks(installed.map(Arc::as_ref), wanted).collect()
}
