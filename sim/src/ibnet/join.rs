//! Both ends of every cable to one link.

use std::collections::BTreeMap;

use ferrosm_mad::attr::{LinkSpeed, LinkWidth, NodeType};
use ferrosm_mad::ids::Lid;

use super::error::{ReadErrorKind, WarningKind};
use super::log::{Log, Place};
use super::read::{PortLine, Record, Records};
use crate::spec::{FabricSpec, LinkSpec, NodeSpec, PortAt};

/// The fabric that the records describe; what they contradict each other in is told.
pub(super) fn join(records: Records<'_>, log: &mut Log) -> FabricSpec {
    let joiner = Joiner {
        there: records.list.iter().map(|r| named(&records, r)).collect(),
        records: &records,
    };
    let links = joiner.links(log);
    let places: Vec<Place> = records.list.iter().map(|r| r.place).collect();
    let nodes = records.list.into_iter().map(|r| r.spec).collect();
    let mut spec = FabricSpec { nodes, links };
    spec.normalise();
    enough_lids(&spec, &places, log);
    spec
}

/// The ports that the lines of a record name.
fn named(records: &Records<'_>, record: &Record<'_>) -> Vec<Option<PortAt>> {
    let by_alias = |name: &str| {
        let (node, port) = records.aliases.get(name).copied()?;
        Some(PortAt { node, port })
    };
    let find = |end: &PortLine<'_>| match end.peer.strip_prefix('@') {
        Some(name) => by_alias(name),
        None => match records.by_id.get(&end.peer) {
            Some(node) => Some(PortAt {
                node: *node,
                port: end.peer_port,
            }),
            None => by_alias(&end.peer),
        },
    };
    record.ports.iter().map(find).collect()
}

struct Joiner<'a, 'r> {
    records: &'r Records<'a>,
    /// For each line of each record.
    there: Vec<Vec<Option<PortAt>>>,
}

impl Joiner<'_, '_> {
    fn links(&self, log: &mut Log) -> Vec<LinkSpec> {
        let mut links = Vec::new();
        // Ports that do not mention the cable that leads to them, and where that is described.
        let mut silent: BTreeMap<PortAt, Place> = BTreeMap::new();
        for (node, record) in self.records.list.iter().enumerate() {
            for (end, there) in record.ports.iter().zip(&self.there[node]) {
                let here = PortAt {
                    node,
                    port: end.port,
                };
                match self.other_end(here, end, *there) {
                    Ok((there, Some(back))) => {
                        if here <= there {
                            links.push(self.link(here, end, there, Some(back)));
                        }
                    }
                    Ok((there, None)) => {
                        let (id, port) = (self.id(there), there.port);
                        if let Some(first) = silent.insert(there, end.place) {
                            let first = first.line();
                            log.error(end.place, ReadErrorKind::PortTaken { id, port, first });
                        } else {
                            log.warn(end.place, WarningKind::OneSided { id, port });
                            links.push(self.link(here, end, there, None));
                        }
                    }
                    Err(ReadErrorKind::UnknownPeer(_)) if self.records.lost => {}
                    Err(kind) => log.error(end.place, kind),
                }
            }
        }
        links
    }

    fn id(&self, at: PortAt) -> String {
        self.records.list[at.node].id.clone().into_owned()
    }

    /// The other end of a cable and its description, once it is known not to disagree.
    fn other_end(
        &self,
        here: PortAt,
        end: &PortLine<'_>,
        there: Option<PortAt>,
    ) -> Result<(PortAt, Option<&PortLine<'_>>), ReadErrorKind> {
        let Some(there) = there else {
            return Err(ReadErrorKind::UnknownPeer(end.peer.clone().into_owned()));
        };
        let record = &self.records.list[there.node];
        let ports = record.spec.num_ports;
        if there.port == 0 || there.port > ports {
            return Err(ReadErrorKind::NoSuchPort {
                id: self.id(there),
                port: there.port,
                ports,
            });
        }
        let Ok(at) = record.ports.binary_search_by_key(&there.port, |p| p.port) else {
            return Ok((there, None));
        };
        let back = &record.ports[at];
        if self.there[there.node][at] == Some(here) {
            return Ok((there, Some(back)));
        }
        Err(ReadErrorKind::Contradiction {
            id: self.id(there),
            port: there.port,
            line: back.place.line(),
            other: back.peer.clone().into_owned(),
            other_port: back.peer_port,
        })
    }

    fn link(
        &self,
        here: PortAt,
        end: &PortLine<'_>,
        there: PortAt,
        back: Option<&PortLine<'_>>,
    ) -> LinkSpec {
        // Each end by its own line, its record's default, or ibsim's; an end whose writer did not know
        // leaves it to the other.
        let rate = |at: PortAt, end: &PortLine<'_>| {
            let default = self.records.list[at.node].rate;
            let width = end.rate.width.or(default.width);
            let speed = end.rate.speed.or(default.speed);
            if end.unsure {
                (width, speed)
            } else {
                let (slow, narrow) = (LinkSpeed::Sdr, LinkWidth(4));
                (width.or(Some(narrow)), speed.or(Some(slow)))
            }
        };
        let ends = [Some(rate(here, end)), back.map(|back| rate(there, back))];
        let rates = ends.into_iter().flatten();
        LinkSpec {
            a: here,
            b: there,
            width: rates
                .clone()
                .filter_map(|r| r.0)
                .min()
                .unwrap_or(LinkWidth(4)),
            speed: rates.filter_map(|r| r.1).min().unwrap_or(LinkSpeed::Sdr),
        }
    }
}

/// Every switch needs a LID, and every cabled port of the others.
pub(super) fn enough_lids(spec: &FabricSpec, places: &[Place], log: &mut Log) {
    let mut needed: Vec<usize> = spec
        .nodes
        .iter()
        .map(|n: &NodeSpec| usize::from(n.kind == NodeType::Switch))
        .collect();
    for link in &spec.links {
        let ends = if link.a == link.b {
            [Some(link.a), None]
        } else {
            [Some(link.a), Some(link.b)]
        };
        for end in ends.into_iter().flatten() {
            if spec.nodes[end.node].kind != NodeType::Switch {
                needed[end.node] += 1;
            }
        }
    }
    let most = usize::from(Lid::UNICAST_MAX.raw());
    let all: usize = needed.iter().sum();
    if all <= most {
        return;
    }
    let mut sum = 0;
    let first = needed.iter().position(|n| {
        sum += n;
        sum > most
    });
    if let Some(place) = first.and_then(|i| places.get(i)) {
        log.error(*place, ReadErrorKind::Lids(all));
    }
}
