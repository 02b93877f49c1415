//! Cables and link training.
//!
//! A link is up if its cable is plugged in at both ports and not cut, both nodes have power, and
//! neither port is disabled. Switches report link changes by PortStateChange and trap 128.

use ferrosm_mad::attr::{LinkSpeed, LinkWidth, PhysState, PortInfo, PortState, TrapNumber};
use ferrosm_mad::time::Instant;

use super::{Fabric, PortCounter, SpecError, Timer};
use crate::index::index_to_u32;
use crate::spec::{LinkSpec, PortAt};

/// Value of [`CableEnd::link`] for a port without a cable.
pub(crate) const NO_LINK: u32 = u32::MAX;

/// The cable end at a port, with the traffic counters of the fast path.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CableEnd {
    /// Node at the other end.
    pub(crate) node: u32,
    /// Index of the link, or [`NO_LINK`].
    pub(crate) link: u32,
    /// Port at the other end.
    pub(crate) port: u8,
    /// Whether the link is up.
    pub(crate) up: bool,
    /// The port counts every received packet in its raw counts, so `received` is not used.
    pub(crate) counts_each: bool,
    /// Unicast packets without GRH that were sent. They are counted here because forwarding reads
    /// this entry anyway; [`Fabric::flush_cable_end_counters`] adds them to the raw counts.
    pub(crate) sent: u32,
    /// Unicast packets without GRH that were received.
    pub(crate) received: u32,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct ModelLink {
    pub(crate) spec: LinkSpec,
    pub(crate) is_cut: bool,
    /// Timer of the training in progress; cancelled if the link goes down.
    pub(crate) training: Option<(Instant, u64)>,
}

impl Fabric {
    /// Plugs a cable in; the link trains if possible.
    ///
    /// # Errors
    /// If a port does not exist or has a cable.
    pub fn add_cable(&mut self, spec: LinkSpec) -> Result<(), SpecError> {
        for port in [spec.a, spec.b] {
            let slot = self
                .slot(port)
                .filter(|_| port.port != 0)
                .ok_or(SpecError::NoSuchPort(port))?;
            if self.cable_ends[slot].link != NO_LINK {
                return Err(SpecError::PortInUse(port));
            }
        }
        let link = u32::try_from(self.links.len()).unwrap_or(NO_LINK);
        self.links.push(Some(ModelLink {
            spec,
            is_cut: false,
            training: None,
        }));
        for (port, other) in [(spec.a, spec.b), (spec.b, spec.a)] {
            if let Some(slot) = self.slot(port) {
                self.cable_ends[slot] = CableEnd {
                    node: index_to_u32(other.node),
                    link,
                    port: other.port,
                    up: false,
                    ..self.cable_ends[slot]
                };
            }
        }
        self.start_training(link);
        Ok(())
    }

    /// Unplugs the cable at both ports and returns it.
    ///
    /// # Errors
    /// If the port has no cable.
    pub fn remove_cable(&mut self, at: PortAt) -> Result<LinkSpec, SpecError> {
        let index = self.link_index(at)?;
        self.bring_down(index);
        let Some(link) = self.links[index as usize].take() else {
            return Err(SpecError::NoCable(at));
        };
        for port in [link.spec.a, link.spec.b] {
            if let Some(slot) = self.slot(port) {
                self.cable_ends[slot].link = NO_LINK;
            }
        }
        Ok(link.spec)
    }

    /// Moves a cable end to another port.
    ///
    /// # Errors
    /// If `from` has no cable, or `to` does not exist or has a cable.
    pub fn move_cable(&mut self, from: PortAt, to: PortAt) -> Result<(), SpecError> {
        let slot = self
            .slot(to)
            .filter(|_| to.port != 0)
            .ok_or(SpecError::NoSuchPort(to))?;
        if self.cable_ends[slot].link != NO_LINK {
            return Err(SpecError::PortInUse(to));
        }
        let mut spec = self.remove_cable(from)?;
        if spec.a == from {
            spec.a = to;
        } else {
            spec.b = to;
        }
        self.add_cable(spec)
    }

    /// Cuts the cable at a port: the link goes down.
    ///
    /// # Errors
    /// If the port has no cable.
    pub fn cut(&mut self, at: PortAt) -> Result<(), SpecError> {
        let index = self.link_index(at)?;
        if let Some(link) = &mut self.links[index as usize] {
            link.is_cut = true;
        }
        self.bring_down(index);
        Ok(())
    }

    /// Repairs a cut cable: the link trains.
    ///
    /// # Errors
    /// If the port has no cable.
    pub fn restore(&mut self, at: PortAt) -> Result<(), SpecError> {
        let index = self.link_index(at)?;
        if let Some(link) = &mut self.links[index as usize] {
            link.is_cut = false;
        }
        self.start_training(index);
        Ok(())
    }

    /// Takes the link down and retrains it, which simulates a bad cable.
    ///
    /// # Errors
    /// If the port has no cable.
    pub fn bounce(&mut self, at: PortAt) -> Result<(), SpecError> {
        let index = self.link_index(at)?;
        self.bring_down(index);
        self.start_training(index);
        Ok(())
    }

    pub(super) fn link_index(&self, at: PortAt) -> Result<u32, SpecError> {
        let slot = self.slot(at).ok_or(SpecError::NoSuchPort(at))?;
        match self.cable_ends[slot].link {
            NO_LINK => Err(SpecError::NoCable(at)),
            link => Ok(link),
        }
    }

    /// Starts the training of a link, if there is one.
    pub(crate) fn start_training(&mut self, link: u32) {
        if self.training.is_zero() {
            self.train_if_possible(link);
        } else {
            self.stop_training(link);
            let timer = self.set_timer(self.now + self.training, Timer::Train(link));
            if let Some(Some(link)) = self.links.get_mut(link as usize) {
                link.training = Some(timer);
            }
        }
    }

    fn stop_training(&mut self, link: u32) {
        if let Some(Some(link)) = self.links.get_mut(link as usize)
            && let Some(timer) = link.training.take()
        {
            self.timers.remove(&timer);
        }
    }

    pub(super) fn train_if_possible(&mut self, index: u32) {
        let Some(Some(link)) = self.links.get(index as usize).copied() else {
            return;
        };
        let link_ends = [link.spec.a, link.spec.b];
        let (Some(a), Some(b)) = (self.slot(link_ends[0]), self.slot(link_ends[1])) else {
            return;
        };
        let powered = link_ends.iter().all(|at| self.nodes[at.node].powered);
        let phys = [a, b].map(|slot| self.ports[slot].phys());
        // A sleeping port responds to a polling one; two sleeping ports never train (IBA 7.2.7).
        let asleep = phys.iter().all(|p| *p == PhysState::Sleep);
        if link.is_cut
            || self.cable_ends[a].up
            || !powered
            || asleep
            || phys.contains(&PhysState::Disabled)
        {
            return;
        }
        let pair = [a, b].map(|slot| PortInfo::decode(&self.ports[slot].info));
        let fdr10 = self.ports[a].fdr10_enabled && self.ports[b].fdr10_enabled;
        let Some((speed, width)) = negotiate(&pair, &link.spec, fdr10) else {
            return;
        };
        let (legacy, ext, ext2) = match speed {
            LinkSpeed::Sdr => (1, 0, 0),
            LinkSpeed::Ddr => (2, 0, 0),
            LinkSpeed::Qdr | LinkSpeed::Fdr10 => (4, 0, 0),
            LinkSpeed::Fdr => (0, 1, 0),
            LinkSpeed::Edr => (0, 2, 0),
            LinkSpeed::Hdr => (0, 4, 0),
            LinkSpeed::Ndr => (0, 8, 0),
            LinkSpeed::Xdr => (0, 0, 1),
        };
        for (at, slot) in link_ends.into_iter().zip([a, b]) {
            self.cable_ends[slot].up = true;
            let port = &mut self.ports[slot];
            port.fdr10 = speed == LinkSpeed::Fdr10;
            port.update(|info| {
                info.port_state = PortState::Initialize;
                info.port_physical_state = PhysState::LinkUp;
                info.link_speed_active = legacy;
                info.link_speed_ext_active = ext;
                info.link_speed_ext_active2 = ext2;
                info.link_width_active = width.bit();
            });
            self.report_link_change(at.node);
        }
    }

    pub(super) fn bring_down(&mut self, index: u32) {
        self.bring_down_for(index, None);
    }

    /// Takes both ports down. Only a change that was not commanded by a Set sets PortStateChange
    /// and sends trap 128 (IBA 14.2.5.4).
    fn bring_down_for(&mut self, index: u32, commanded: Option<usize>) {
        self.stop_training(index);
        let Some(Some(link)) = self.links.get(index as usize).copied() else {
            return;
        };
        for end in [link.spec.a, link.spec.b] {
            let Some(slot) = self.slot(end) else { continue };
            if !std::mem::take(&mut self.cable_ends[slot].up) {
                continue;
            }
            let port = &mut self.ports[slot];
            port.set_state(PortState::Down);
            if port.phys() == PhysState::LinkUp {
                port.set_phys(port.down_default());
            }
            self.raw_counts[slot].add(PortCounter::LinkDowned, 1);
            if commanded != Some(slot) {
                self.report_link_change(end.node);
            }
        }
    }

    /// A Set took the port down: the link retrains, or stays down if the port was disabled.
    pub(crate) fn port_down(&mut self, slot: usize, phys: PhysState) {
        let link = self.cable_ends[slot].link;
        self.bring_down_for(link, Some(slot));
        self.ports[slot].set_state(PortState::Down);
        self.ports[slot].set_phys(phys);
        self.start_training(link);
    }

    fn report_link_change(&mut self, node: usize) {
        if let Some(switch) = &mut self.nodes[node].switch {
            switch.info.port_state_change = true;
            self.raise_trap(PortAt { node, port: 0 }, TrapNumber::LinkStateChange);
        }
    }
}

fn allows(info: &PortInfo, speed: LinkSpeed) -> bool {
    match speed {
        LinkSpeed::Sdr => info.link_speed_enabled & 1 != 0,
        LinkSpeed::Ddr => info.link_speed_enabled & 2 != 0,
        LinkSpeed::Qdr | LinkSpeed::Fdr10 => info.link_speed_enabled & 4 != 0,
        LinkSpeed::Fdr => info.link_speed_ext_enabled & 1 != 0,
        LinkSpeed::Edr => info.link_speed_ext_enabled & 2 != 0,
        LinkSpeed::Hdr => info.link_speed_ext_enabled & 4 != 0,
        LinkSpeed::Ndr => info.link_speed_ext_enabled & 8 != 0,
        LinkSpeed::Xdr => info.link_speed_ext_enabled2 & 1 != 0,
    }
}

/// The best speed and width that both ports and the cable support.
fn negotiate(
    pair: &[PortInfo; 2],
    cable: &LinkSpec,
    fdr10: bool,
) -> Option<(LinkSpeed, LinkWidth)> {
    let speed = LinkSpeed::ALL.into_iter().rev().find(|&s| {
        s <= cable.speed
            && (s != LinkSpeed::Fdr10 || cable.speed == s && fdr10)
            && pair.iter().all(|info| allows(info, s))
    })?;
    let width = [12, 8, 4, 2, 1].map(LinkWidth).into_iter().find(|w| {
        *w <= cable.width
            && pair
                .iter()
                .all(|info| info.link_width_enabled & w.bit() != 0)
    })?;
    Some((speed, width))
}
