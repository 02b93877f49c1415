//! The effect of each single loss on what is connected, with names.

use ferrosm_api::what_if::{LostKind, SingleLossEffect};
use ferrosm_fabric::snapshot::PortIdx;
use ferrosm_routing::connectivity::single_losses::{Element, single_losses};

use super::RoutedFabric;
use super::elements::link_name;

/// The effects of the loss of every switch and link: those that cut off or cost the redundancy of
/// most ports first.
#[must_use]
pub fn single_loss_effects(fabric: RoutedFabric<'_>) -> Vec<SingleLossEffect> {
    let topo = fabric.basis.graph();
    let mut losses = single_losses(topo);
    losses.sort_by_key(|loss| {
        core::cmp::Reverse((loss.pairs_cut_off, loss.cut_off, loss.lose_redundancy))
    });
    let effects = losses.into_iter().map(|loss| {
        let (kind, name, without) = match loss.element {
            Element::Switch(s) => {
                let node = fabric.snapshot.node(fabric.slot(s));
                (LostKind::Switch, node.name(), node.guid.to_string())
            }
            Element::Link(s, port) => {
                let at = PortIdx::new(fabric.slot(s), port);
                let kind = match topo.neighbor(s, port) {
                    Some(_) => LostKind::Link,
                    None => LostKind::HostLink,
                };
                let guid = fabric.snapshot.node(at.node()).guid;
                let peer = fabric.snapshot.peer(at).unwrap_or(at);
                // The order of switches is that of discovery.
                let ends = [at, peer].map(|end| (fabric.snapshot.node(end.node()).name(), end));
                let is_in_order = ends[0].0 <= ends[1].0;
                let (first, second) = if is_in_order { (at, peer) } else { (peer, at) };
                let name = link_name(fabric.snapshot, first, second);
                (kind, name, format!("{guid}/{port}"))
            }
        };
        SingleLossEffect {
            name,
            kind,
            without,
            class: loss.class,
            pairs_cut_off: loss.pairs_cut_off,
            cut_off: loss.cut_off,
            lose_redundancy: loss.lose_redundancy,
        }
    });
    effects.collect()
}
