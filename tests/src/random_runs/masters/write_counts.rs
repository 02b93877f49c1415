//! Counts table writes to the simulated devices: if the fabric was correct and nothing but the
//! master changed, no table may have been written.

use std::time::Duration;

use ferrosm_mad::attr::id;
use ferrosm_mad::ids::AttrId;

use crate::random_runs::masters::invariants::check_settled;
use crate::random_runs::masters::simulation::Simulation;

/// Tables that a takeover must not write.
const TABLES: [(&str, AttrId); 4] = [
    ("LFT", id::LFT),
    ("MFT", id::MFT),
    ("P_Key", id::PKEY_TABLE),
    ("SLtoVL", id::SL_TO_VL),
];

/// Time after the last join or leave until the tables are complete.
const SETTLE_TIME: Duration = Duration::from_millis(500);

/// Numbers of events that justify writes.
#[derive(PartialEq, Eq)]
struct WriteCauses {
    registration_changes: u64,
    power_changes: u32,
    cold_takeovers: u32,
    lost_replies: u32,
}

/// Writes counted in a correct fabric.
struct WriteCounts {
    tables: [u32; TABLES.len()],
    causes: WriteCauses,
    takeovers: u32,
}

/// Checks in calm seeds that takeovers write no table.
#[derive(Default)]
pub(crate) struct WriteAudit {
    last: Option<WriteCounts>,
}

impl WriteAudit {
    /// Compares with the last counts of a correct fabric, or records new ones.
    pub(crate) fn check(&mut self, sim: &mut Simulation) {
        let now = count_writes(sim);
        if let Some(last) = &mut self.last
            && last.causes == now.causes
        {
            let run = sim.lab.describe_run();
            let tables = last.tables.iter().zip(&now.tables).zip(&TABLES);
            for ((before, now), (name, _)) in tables {
                let sets = now - before;
                assert_eq!(sets, 0, "{run} {name} tables were written without a change");
            }
            let takeovers = now.takeovers - last.takeovers;
            sim.tally.add("takeovers without table writes", takeovers);
            last.takeovers = now.takeovers;
            return;
        }
        // Requested changes may not be written yet.
        let is_quiet =
            sim.time_since_client_change() >= SETTLE_TIME && check_settled(sim, true).is_ok();
        self.last = is_quiet.then_some(now);
        if self.last.is_some() {
            sim.clients.mark_recovered();
        }
    }
}

fn count_writes(sim: &Simulation) -> WriteCounts {
    WriteCounts {
        tables: TABLES.map(|(_, attr)| sim.lab.sets(attr)),
        causes: WriteCauses {
            registration_changes: sim.clients.changes,
            power_changes: sim.power_changes,
            cold_takeovers: sim.cold_takeovers,
            lost_replies: sim.clients.lost_replies,
        },
        takeovers: sim.takeovers,
    }
}
