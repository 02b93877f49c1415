//! Limits of links at ports of switches, which operators set at run time.
//!
//! An MTU is written to both ends of the Active link: path records name it after the sweep. A width
//! or speed takes effect when the link trains, so routes leave the link first, as for a drain; then
//! one Set writes what is enabled and takes the link down, and routes return with it.
//!
//! Entries are records: a restart keeps them, and a standby that takes over has them. The entry of
//! limits that have ended stays until the port has its own values again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ferrosm_fabric::observed::{ObservedFabric, Port};

use crate::config::port_limits::{LimitsByPort, PortLimits, SwitchPort};
use crate::ctx::Ctx;
use crate::discovery::port_info::disconnect;
use crate::effect::Effect;
use crate::ports::limits::{has_wanted_values, is_above_limits, needs_training, switch_port};
use crate::records::{Record, RecordUpdate, RestoredState};
use crate::smp::op::{PortSetting, SmpOp};

/// Most trainings of a link whose rate stays above its limits.
const TRAININGS_MAX: u8 = 2;

/// The limits of ports.
#[derive(Debug, Default)]
pub(crate) struct PortLimitList {
    entries: Arc<LimitsByPort>,
    /// Ports whose links have to train, because what is enabled has changed.
    to_train: BTreeSet<SwitchPort>,
    /// How often the link of a port was made to train for its limits.
    trainings: BTreeMap<SwitchPort, u8>,
}

impl PortLimitList {
    /// As the records of an earlier run, or of the last master, say.
    pub(crate) fn new(restored: &RestoredState) -> Self {
        Self {
            entries: Arc::new(restored.port_limits.clone()),
            to_train: BTreeSet::new(),
            trainings: BTreeMap::new(),
        }
    }

    /// The limits, for the wanted PortInfo.
    pub(crate) fn in_force(&self) -> Arc<LimitsByPort> {
        Arc::clone(&self.entries)
    }

    /// The limits that have not ended.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &PortLimits> {
        self.entries.values().filter(|limits| !limits.has_ended())
    }

    /// Ports whose links no route uses, because they are about to train.
    pub(crate) const fn to_train(&self) -> &BTreeSet<SwitchPort> {
        &self.to_train
    }

    /// Sets the limits of a port, in place of earlier ones.
    pub(crate) fn put(&mut self, fabric: &ObservedFabric, new: PortLimits) -> RecordUpdate {
        let at = new.at();
        let record = RecordUpdate::Put(Record::PortLimits(Box::new(new.clone())));
        Arc::make_mut(&mut self.entries).insert(at, new);
        self.trainings.remove(&at);
        if needs_training(fabric, &self.entries, at) {
            self.to_train.insert(at);
        } else {
            self.to_train.remove(&at);
        }
        record
    }

    /// Ends the limits of a port. `None` if it has none.
    pub(crate) fn end(&mut self, fabric: &ObservedFabric, at: SwitchPort) -> Option<RecordUpdate> {
        let limits = self.entries.get(&at).filter(|limits| !limits.has_ended())?;
        let ended = PortLimits {
            mtu: None,
            width: None,
            speed: None,
            ..limits.clone()
        };
        Some(self.put(fabric, ended))
    }

    /// All tables are written, and no route uses a link that is about to train: trains it, and
    /// forgets limits that have ended at ports with their own values. Returns whether routes may
    /// use other links than before.
    pub(crate) fn write(&mut self, ctx: &mut Ctx<'_>) -> bool {
        let to_train = core::mem::take(&mut self.to_train);
        for at in &to_train {
            // A link that is down trains anyway.
            let Some(p) = switch_port(ctx.fabric, *at) else {
                continue;
            };
            if !ctx.fabric.port(p).is_some_and(Port::is_up) {
                continue;
            }
            *self.trainings.entry(*at).or_default() += 1;
            // SMPs must not use the link any more, which is about to go down.
            let peer = disconnect(ctx, p);
            ctx.fabric.mark_paths_stale();
            ctx.smps.enqueue(SmpOp::SetPortInfo(p, PortSetting::Train));
            ctx.effects.push(Effect::RereadPort(p));
            ctx.effects.extend(peer.map(Effect::RereadPort));
            ctx.effects.push(Effect::RequestLocalSweep);
        }
        // An earlier run, or the master before, wrote them and did not make the link train.
        let limited = self.entries.values().filter(|limits| {
            let trainings = self.trainings.get(&limits.at());
            trainings.is_none_or(|count| *count < TRAININGS_MAX)
        });
        let above = limited.filter(|limits| is_above_limits(ctx.fabric, limits));
        let late: BTreeSet<SwitchPort> = above
            .map(PortLimits::at)
            .filter(|at| !to_train.contains(at))
            .collect();
        if !late.is_empty() {
            ctx.effects.push(Effect::RequestLocalSweep);
        }
        let is_restored = |limits: &PortLimits| {
            let p = switch_port(ctx.fabric, limits.at());
            p.and_then(|p| has_wanted_values(ctx.fabric, p, limits))
                .unwrap_or(false)
        };
        let ended = self.entries.values().filter(|limits| limits.has_ended());
        let restored: Vec<SwitchPort> = ended
            .filter(|limits| !to_train.contains(&limits.at()) && is_restored(limits))
            .map(PortLimits::at)
            .collect();
        if !restored.is_empty() {
            let entries = Arc::make_mut(&mut self.entries);
            entries.retain(|at, _| !restored.contains(at));
            let keys = restored.iter().map(|(node, port)| {
                let key = Record::port_limits_key(*node, *port);
                RecordUpdate::Remove(key)
            });
            ctx.outbox.persist(keys.collect());
        }
        let has_changed = !to_train.is_empty() || !restored.is_empty() || !late.is_empty();
        self.to_train = late;
        has_changed
    }
}
