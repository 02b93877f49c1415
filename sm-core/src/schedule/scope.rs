//! What a sweep reads and configures.

use std::collections::BTreeSet;

use ferrosm_mad::ids::PortNum;
use ferrosm_mad::time::Instant;

use ferrosm_fabric::observed::{ObservedFabric, PortRef};

use crate::report::SweepKind;

/// What a sweep reads and configures.
#[derive(Debug)]
pub(crate) enum SweepScope {
    /// The whole fabric.
    Full,
    /// The switches and ports that traps, light sweeps or failed requests named.
    Local {
        /// Ports that were read in this sweep.
        read_ports: BTreeSet<PortRef>,
        /// When the next light sweep is due, which this sweep must not postpone.
        light_due: Option<Instant>,
    },
}

impl SweepScope {
    /// The scope of a local sweep that has read no port.
    pub(crate) const fn local(light_due: Option<Instant>) -> Self {
        Self::Local {
            read_ports: BTreeSet::new(),
            light_due,
        }
    }

    pub(crate) const fn kind(&self) -> SweepKind {
        match self {
            Self::Full => SweepKind::Full,
            Self::Local { .. } => SweepKind::Local,
        }
    }

    /// A port was read.
    pub(crate) fn on_port_read(&mut self, p: PortRef) {
        if let Self::Local { read_ports, .. } = self {
            read_ports.insert(p);
        }
    }

    /// When the next light sweep is due, which this sweep must not postpone.
    pub(crate) const fn light_due(&self) -> Option<Instant> {
        match self {
            Self::Full => None,
            Self::Local { light_due, .. } => *light_due,
        }
    }

    /// The ports that the sweep configures: of a full sweep all ports by node, port 0 included; of
    /// a local sweep those that it read, and those at the other end of their links.
    pub(crate) fn ports(&self, fabric: &ObservedFabric) -> impl Iterator<Item = PortRef> {
        let (all, some) = match self {
            Self::Full => {
                let nodes = fabric.nodes().flat_map(|(n, node)| {
                    (0..=node.info.num_ports).map(move |p| PortRef::new(n, PortNum(p)))
                });
                (Some(nodes), None)
            }
            Self::Local { read_ports, .. } => {
                let peers = read_ports.iter().filter_map(|p| fabric.peer(*p));
                let ports: BTreeSet<PortRef> = read_ports.iter().copied().chain(peers).collect();
                (None, Some(ports))
            }
        };
        let some = some.into_iter().flatten();
        all.into_iter().flatten().chain(some)
    }
}
