//! What each host may rely on from one master to the next: who had all that it registered acknowledged is not asked to register again
//! and nothing of it is lost, as long as no record of it can have been lost.
//!
//! A tenure begins when all is well between a host and its master for a second. It goes from a reign to the next where the next master
//! had every record of the last one, and the last one was master no more. It ends where something rightly is asked anew: the host's
//! link went down, the master cannot have known what was acknowledged, another one told the host of itself, or MADs were lost and
//! the master has seen the host go. All of that is read from devices, and from what this harness itself gave to whom; only what a
//! master sees of a host behind lost MADs is read from its view.
//!
//! A host that is cut off from its master keeps its tenure only if its next master was given records in which the host still is.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use ferrosm_mad::attr::{PortState, SmState};
use ferrosm_sa::View;
use ferrosm_sim::spec::{NodeIdx, PortAt};

use crate::masters::clients::Registered;
use crate::masters::fragments::{Islands, reachable};
use crate::masters::registration_continuity::{Begun, Tenure, Tenures};
use crate::masters::simulation::Stage;

/// All must be well for so long.
const SETTLES: Duration = Duration::from_secs(1);
/// What is registered is compared each so many looks.
const COMPARED: u64 = 10;

/// Who is where.
struct Here {
    /// Masters, with their reigns.
    masters: Vec<(usize, u32)>,
    foreign: bool,
}

impl Stage {
    /// What each host may rely on is looked at. To be done before and after cables are cut or mended.
    pub(crate) fn look_at_tenures(&mut self) {
        self.hear();
        let mut tenures = core::mem::take(&mut self.tenures);
        tenures.look(self);
        self.tenures = tenures;
    }
}

impl Tenures {
    /// Looks at everything; between two looks no cable is cut or mended.
    fn look(&mut self, stage: &mut Stage) {
        self.looks += 1;
        for at in stage.clients.hosts() {
            self.all.entry(at).or_default();
        }
        let pieces = stage.islands();
        let islands = Self::islands(stage, &pieces);
        for begun in core::mem::take(&mut self.begun) {
            self.pass(stage, &begun);
        }
        let reigns = stage.slots.iter();
        let reigns = reigns.filter_map(|s| Some((s.reign?, s.plan.at.node)));
        self.reigned = reigns.collect();
        self.pieces = Rc::clone(&pieces);
        let reigns = stage.foreign.as_ref().map_or(0, |f| f.reigns);
        let meddled = core::mem::replace(&mut self.foreign_reigns, reigns) != reigns;
        let lossy = stage.loses || core::mem::take(&mut self.stood_still);
        for (at, tenure) in &mut self.all {
            let piece = |(nodes, _): &(BTreeSet<NodeIdx>, _)| nodes.contains(&at.node);
            let here = pieces.iter().position(piece).map(|n| &islands[n]);
            if tenure.goes_on(stage, *at, here) && !meddled && !lossy {
                continue;
            }
            tenure.lossy |= lossy && tenure.of.is_some();
            if meddled {
                tenure.end();
            }
            tenure.look_at_masters(stage, *at, here);
            tenure.look_at_host(stage, *at);
            tenure.begin_if_well(stage, *at, here, lossy);
        }
        if self.looks.is_multiple_of(COMPARED) {
            self.compare(stage);
        }
    }

    fn islands(stage: &Stage, islands: &Islands) -> Vec<Here> {
        let masters = |here: &[usize]| {
            let reigns = here.iter().map(|i| Some((*i, stage.slots[*i].reign?)));
            reigns.flatten().collect()
        };
        let all = islands.iter().map(|(nodes, here)| Here {
            foreign: stage.foreign_state(nodes) == Some(SmState::Master),
            masters: masters(here),
        });
        all.collect()
    }

    /// Hosts whose last master's records the new one has go on with it.
    fn pass(&mut self, stage: &mut Stage, begun: &Begun) {
        let reach = reachable(stage.lab.world.fabric(), begun.node);
        let still = |reign: u32| stage.slots.iter().any(|s| s.reign == Some(reign));
        let (mut passed, mut from_apart) = (0, 0);
        for (at, tenure) in &mut self.all {
            let Some(of) = tenure.of.filter(|_| reach.contains(&at.node)) else {
                continue;
            };
            if still(of) {
                // It may name itself to the host for a moment, and what it acknowledges then the first one never knows.
                tenure.apart = true;
                continue;
            }
            let guid = stage.lab.world.fabric().port_guid(*at);
            let in_view = |view: &Arc<View>| view.by_guid(guid).is_some();
            let known = !tenure.apart || begun.view.as_ref().is_some_and(in_view);
            // Its island and another's have met since the last look, and that one's master was one until now.
            let piece = |node| {
                self.pieces
                    .iter()
                    .position(|(nodes, _)| nodes.contains(&node))
            };
            let met = |(reign, there): &(u32, NodeIdx)| {
                *reign != of && reach.contains(there) && piece(*there) != piece(at.node)
            };
            if begun.from != Some(of) || !known || self.reigned.iter().any(met) {
                tenure.end();
                continue;
            }
            passed += 1;
            from_apart += u32::from(core::mem::take(&mut tenure.apart));
            (tenure.of, tenure.well) = (Some(begun.reign), None);
        }
        let kind = if stage.calm { "calm" } else { "rough" };
        stage.tally.add(&format!("passed on, {kind}"), passed);
        stage.tally.add("passed on over a cut", from_apart);
    }

    /// Who may rely on a master has what it was told that it has; and nothing else, if it had nothing else before.
    fn compare(&self, stage: &mut Stage) {
        let (mut checks, mut exact) = (0, 0);
        for slot in 0..stage.slots.len() {
            let (Some(reign), Some(id)) = (stage.slots[slot].reign, stage.slots[slot].id) else {
                continue;
            };
            let sure = |t: &&Tenure| t.of == Some(reign) && !t.apart && !t.lossy;
            if !self.all.values().any(|t| sure(&t)) {
                continue;
            }
            let known = Registered::at(&stage.lab.world, id);
            for (at, tenure) in self.all.iter().filter(|(_, t)| sure(t)) {
                let checked = stage
                    .clients
                    .check(&stage.lab.world, *at, &known, tenure.exact);
                if let Err(why) = checked {
                    panic!("{} {:?} {why}", stage.lab.repeat(), stage.lab.world.now());
                }
                checks += 1;
                exact += u32::from(tenure.exact);
            }
        }
        let kind = if stage.calm { "calm" } else { "rough" };
        stage.tally.add(&format!("compared, {kind}"), checks);
        stage.tally.add(&format!("compared exactly, {kind}"), exact);
    }
}

impl Tenure {
    /// Whether nothing at all has changed: there is one master, which is the host's, and it was told nothing.
    fn goes_on(&self, stage: &Stage, at: PortAt, here: Option<&Here>) -> bool {
        let Some([(i, reign)]) = here.map(|h| &h.masters[..]) else {
            return false;
        };
        let fabric = stage.lab.world.fabric();
        let settled = self.of == Some(*reign) && self.well.is_some_and(|(was, _)| was == *reign);
        settled
            && !here.is_some_and(|h| h.foreign)
            && !self.apart
            && !self.lossy
            && fabric.client_reregisters(at) == self.told
            && fabric.port_info(at).is_some_and(|info| {
                let named = fabric.lid(stage.slots[*i].plan.at).0;
                info.port_state == PortState::Active && info.master_sm_lid == named
            })
    }

    fn look_at_masters(&mut self, stage: &Stage, at: PortAt, here: Option<&Here>) {
        let Some(of) = self.of else { return };
        let reigns = stage.slots.iter().find(|s| s.reign == Some(of));
        let others = here.is_some_and(|h| h.masters.iter().any(|(_, reign)| *reign != of));
        if here.is_some_and(|h| h.foreign) || (others && reigns.is_none()) {
            self.end();
            return;
        }
        let Some(master) = reigns else { return };
        let with = |h: &Here| h.masters.iter().any(|(_, reign)| *reign == of);
        self.apart |= !here.is_some_and(with);
        let fabric = stage.lab.world.fabric();
        let names = fabric.port_info(at).map(|info| info.master_sm_lid);
        let settled = self.well.is_some();
        if names != Some(fabric.lid(master.plan.at).0) && (others || settled) {
            self.end();
            return;
        }
        let view = master
            .id
            .and_then(|id| stage.lab.world.sm(id)?.view_kept.as_ref());
        let guid = fabric.port_guid(at);
        if self.lossy && view.is_none_or(|view| view.by_guid(guid).is_none()) {
            self.end();
        }
    }

    fn look_at_host(&mut self, stage: &Stage, at: PortAt) {
        let fabric = stage.lab.world.fabric();
        let active = fabric
            .port_info(at)
            .is_some_and(|info| info.port_state == PortState::Active);
        if !fabric.link_up(at) || !active {
            self.end();
        }
        let told = fabric.client_reregisters(at);
        let asked = core::mem::replace(&mut self.told, told) != told;
        if !asked {
            return;
        }
        if let Some(of) = self.of
            && !self.apart
            && !stage.clients.is_misinformed(at)
        {
            panic!(
                "{} {:?} {at:?} is told to register again, and nothing was lost: {self:?} of reign {of}",
                stage.lab.repeat(),
                stage.lab.world.now()
            );
        }
        self.end();
    }

    fn begin_if_well(&mut self, stage: &mut Stage, at: PortAt, here: Option<&Here>, lossy: bool) {
        let Some(reign) = here.and_then(|here| is_well(stage, at, here)) else {
            self.well = None;
            return;
        };
        let now = stage.lab.world.now();
        let since = self.well.filter(|(was, _)| *was == reign);
        let (_, since) = *self.well.insert(since.unwrap_or((reign, now)));
        let same = self.of == Some(reign) && !self.apart && (!self.lossy || lossy);
        if now.since(since) < SETTLES || same {
            return;
        }
        let id = stage.slots.iter().find(|s| s.reign == Some(reign));
        let Some(id) = id.and_then(|s| s.id) else {
            return;
        };
        let known = Registered::at(&stage.lab.world, id);
        let exact = stage.clients.check(&stage.lab.world, at, &known, true);
        stage
            .tally
            .add("tenures", u32::from(self.of != Some(reign)));
        (self.of, self.apart, self.lossy) = (Some(reign), false, lossy);
        self.exact = exact.is_ok();
    }
}

/// The reign in which all is well with a host: one master, which it names, and which has finished its sweep and knows it.
fn is_well(stage: &Stage, at: PortAt, here: &Here) -> Option<u32> {
    let [(i, reign)] = here.masters[..] else {
        return None;
    };
    let fabric = stage.lab.world.fabric();
    let info = fabric.port_info(at)?;
    let slot = &stage.slots[i];
    let sm = stage.sm(i)?;
    let guid = fabric.port_guid(at);
    let swept = slot.sweeps > slot.sweeps_before;
    let clean = sm.core().last_report().is_some_and(|r| r.is_clean());
    let view = sm.view_kept.as_ref()?;
    let well = !here.foreign
        && swept
        && clean
        && sm.is_store_caught_up()
        && fabric.link_up(at)
        && info.port_state == PortState::Active
        && info.master_sm_lid == fabric.lid(slot.plan.at).0
        && view.by_guid(guid).is_some()
        && stage.clients.has_all(at);
    well.then_some(reign)
}
