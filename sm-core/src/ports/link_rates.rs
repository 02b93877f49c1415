//! Links that run below the width or speed that both of their ports have enabled.
//!
//! A full sweep checks all links, a local sweep those of ports whose width or speed changed. Each
//! link is reported once, and again after its rate changed.

use std::collections::{BTreeMap, BTreeSet};

use ferrosm_fabric::observed::{LinkKey, ObservedFabric, PortRef};
use ferrosm_mad::attr::{LinkRate, PortInfo};

use crate::ctx::Ctx;
use crate::event::{Event, LinkRateChange};

/// Most links that are reported after one sweep; further ones are counted.
const REPORTED_MAX: usize = 20;

/// The degraded links that were reported, and the links to check.
#[derive(Debug, Default)]
pub(crate) struct LinkRates {
    /// Ports of links that may have changed since the last sweep.
    changed: BTreeSet<PortRef>,
    /// The links that were degraded when they were last checked, with their rates.
    degraded: BTreeMap<LinkKey, LinkRate>,
}

/// The rates of a link: active, and possible.
#[derive(Debug, Clone, Copy)]
struct Rates {
    active: LinkRate,
    possible: LinkRate,
}

impl Rates {
    const fn is_degraded(self) -> bool {
        self.active.width.0 < self.possible.width.0
            || (self.active.speed as u8) < self.possible.speed as u8
    }
}

/// The fields of PortInfo with width and speed: supported, enabled and active.
pub(crate) fn rate_fields(raw: &[u8; 64]) -> [u8; 12] {
    [
        PortInfo::link_width_supported.read(raw),
        PortInfo::link_width_enabled.read(raw),
        PortInfo::link_width_active.read(raw),
        PortInfo::link_speed_supported.read(raw),
        PortInfo::link_speed_enabled.read(raw),
        PortInfo::link_speed_active.read(raw),
        PortInfo::link_speed_ext_supported.read(raw),
        PortInfo::link_speed_ext_enabled.read(raw),
        PortInfo::link_speed_ext_active.read(raw),
        PortInfo::link_speed_ext_supported2.read(raw),
        PortInfo::link_speed_ext_enabled2.read(raw),
        PortInfo::link_speed_ext_active2.read(raw),
    ]
}

impl LinkRates {
    /// Links of these ports are new, or may have another width or speed.
    pub(crate) fn check_later(&mut self, ports: impl IntoIterator<Item = PortRef>) {
        self.changed.extend(ports);
    }

    /// A sweep is complete: reports the links that became degraded, and those that no longer are.
    pub(crate) fn report(&mut self, ctx: &mut Ctx<'_>, is_full: bool) {
        let fabric = &*ctx.fabric;
        let changed = core::mem::take(&mut self.changed);
        let ends: BTreeSet<(PortRef, PortRef)> = if is_full {
            fabric.links().map(|link| ordered(link.a, link.b)).collect()
        } else {
            let linked = changed.iter().filter_map(|p| Some((*p, fabric.peer(*p)?)));
            linked.map(|(a, b)| ordered(a, b)).collect()
        };
        let before = if is_full {
            core::mem::take(&mut self.degraded)
        } else {
            BTreeMap::new()
        };
        let mut events = Vec::new();
        let mut degraded = 0;
        for (a, b) in ends {
            let Some((key, rates)) = fabric.link_key(a, b).zip(rates(fabric, a, b)) else {
                continue;
            };
            let last = before
                .get(&key)
                .or_else(|| self.degraded.get(&key))
                .copied();
            let change = || LinkRateChange {
                ends: [a, b].map(|p| fabric.port_name(p)),
                active: rates.active,
                possible: rates.possible,
            };
            if rates.is_degraded() {
                self.degraded.insert(key, rates.active);
                if last != Some(rates.active) {
                    degraded += 1;
                    if degraded <= REPORTED_MAX {
                        events.push(Event::LinkDegraded(Box::new(change())));
                    }
                }
            } else if last.is_some() {
                self.degraded.remove(&key);
                events.push(Event::LinkRestored(Box::new(change())));
            }
        }
        if degraded > REPORTED_MAX {
            events.push(Event::FurtherLinksDegraded(degraded - REPORTED_MAX));
        }
        for event in events {
            ctx.outbox.emit(event);
        }
    }
}

fn ordered(a: PortRef, b: PortRef) -> (PortRef, PortRef) {
    (a.min(b), a.max(b))
}

/// The rates of a link that is up, as its ports were read last.
fn rates(fabric: &ObservedFabric, a: PortRef, b: PortRef) -> Option<Rates> {
    let is_up = |p: PortRef| fabric.port(p).filter(|port| port.is_up());
    let (a, b) = (is_up(a)?, is_up(b)?);
    let (info_a, info_b): (PortInfo, PortInfo) = (a.info(), b.info());
    let active = |info: &PortInfo, fdr10| {
        Some(LinkRate {
            width: info.width()?,
            speed: info.speed_with(fdr10)?,
        })
    };
    // A local sweep may have read one end only.
    let (active_a, active_b) = (active(&info_a, a.fdr10)?, active(&info_b, b.fdr10)?);
    Some(Rates {
        active: active_a.max(active_b),
        possible: info_a.best_rate_with(&info_b)?,
    })
}
