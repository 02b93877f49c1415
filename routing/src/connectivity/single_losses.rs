//! The effect of each single loss: of every switch, of every link between switches, and of the link
//! of every end port.

use ferrosm_mad::ids::PortNum;
use rayon::prelude::*;

use super::certificate;
use super::classes::{LinkClass, PositionClasses};
use super::cut_points::{AfterLoss, CutPoints};
use super::multigraph::{Multigraph, Removed};
use crate::topology::{Loss, SwitchIdx, Topology, index_to_u32};

/// A switch or link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Element {
    Switch(SwitchIdx),
    /// A link between switches or to an end port, by one of its switch ports.
    Link(SwitchIdx, PortNum),
}

impl Element {
    /// Its loss.
    #[must_use]
    pub fn loss(self) -> Loss {
        let mut loss = Loss::default();
        match self {
            Self::Switch(s) => {
                loss.switches.insert(s);
            }
            Self::Link(s, port) => {
                loss.links.insert((s, port));
            }
        }
        loss
    }
}

/// The effect of one loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SingleLoss {
    pub element: Element,
    /// Number of its class: elements of equal position have the same.
    pub class: usize,
    /// Pairs of end ports that are no longer connected.
    pub pairs_cut_off: u64,
    /// End ports that are no longer in the main part.
    pub cut_off: u64,
    /// End ports of the main part that have redundancy before and not after.
    pub lose_redundancy: u64,
}

/// The class of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ElementClass {
    Switch(u32),
    Link(LinkClass),
}

/// The effects of all single losses: switches first, then links by switch and port. Runs in
/// parallel.
#[must_use]
pub fn single_losses(topo: &Topology) -> Vec<SingleLoss> {
    let graph = Multigraph::new(topo, &Loss::default());
    let survey = Survey::new(&graph);
    let classes = PositionClasses::of(topo);
    let ends = topo.switches().flat_map(|s| {
        let ends = topo.end_ports(s).iter();
        ends.map(move |end| (s, end.port))
    });
    let end_ports: Vec<(SwitchIdx, PortNum)> = ends.collect();
    let switches: Vec<SwitchIdx> = topo.switches().collect();
    let of_switches = switches.par_iter().map(|s| {
        let after = survey.before.after_switch(s.index());
        let lost = survey.lose_redundancy(Removed::Switch(s.0));
        let class = ElementClass::Switch(classes.switch(*s));
        (class, survey.effect(Element::Switch(*s), after, lost))
    });
    let of_links = (0..graph.links.len()).into_par_iter().map(|number| {
        let link = index_to_u32(number);
        let (s, port) = graph.ports[number];
        let (a, b) = graph.links[number];
        let after = survey.before.after_link(a, b, link);
        let lost = match survey.certificate_links.binary_search(&link) {
            Ok(at) => survey.lose_redundancy(Removed::Link(index_to_u32(at))),
            Err(_) => 0,
        };
        let class = ElementClass::Link(classes.link(topo, s, port));
        (class, survey.effect(Element::Link(s, port), after, lost))
    });
    // The others keep their redundancy.
    let of_end_ports = end_ports.par_iter().map(|&(s, port)| {
        let after = survey.before.after_end_port(s.index());
        let class = ElementClass::Link(classes.link(topo, s, port));
        (class, survey.effect(Element::Link(s, port), after, 0))
    });
    let mut effects: Vec<(ElementClass, SingleLoss)> =
        of_switches.chain(of_links).chain(of_end_ports).collect();
    effects.sort_by_key(|(_, loss)| loss.element);
    let mut known: Vec<ElementClass> = effects.iter().map(|(class, _)| *class).collect();
    known.sort_unstable();
    known.dedup();
    effects
        .into_iter()
        .map(|(class, loss)| SingleLoss {
            class: known.partition_point(|other| *other < class),
            ..loss
        })
        .collect()
}

/// What is connected before a loss.
struct Survey<'g> {
    graph: &'g Multigraph,
    before: CutPoints,
    /// The graph with the links of the certificate only.
    certificate: Multigraph,
    /// Their numbers in the graph, ascending.
    certificate_links: Vec<u32>,
}

impl<'g> Survey<'g> {
    fn new(graph: &'g Multigraph) -> Self {
        let certificate_links = certificate::links(graph);
        let links = certificate_links
            .iter()
            .map(|link| graph.links[*link as usize]);
        Self {
            before: CutPoints::find(graph, Removed::Nothing),
            certificate: Multigraph::with_links(
                graph.weights.clone(),
                graph.is_present.clone(),
                links.collect(),
            ),
            certificate_links,
            graph,
        }
    }

    fn effect(&self, element: Element, after: AfterLoss, lose_redundancy: u64) -> SingleLoss {
        SingleLoss {
            element,
            class: 0,
            pairs_cut_off: self.before.connected_pairs() - after.connected_pairs,
            cut_off: self.before.main_weight().saturating_sub(after.main_part),
            lose_redundancy,
        }
    }

    /// End ports that have redundancy in the graph, and not after the loss. A link is named by its
    /// number in the certificate.
    fn lose_redundancy(&self, removed: Removed) -> u64 {
        let after = CutPoints::find(&self.certificate, removed);
        let loses = |s: &usize| {
            after.is_in_main_part(*s)
                && after.lacks_redundancy(*s)
                && !self.before.lacks_redundancy(*s)
        };
        let switches = (0..self.graph.len()).filter(loses);
        switches.map(|s| self.graph.weights[s]).sum()
    }
}
