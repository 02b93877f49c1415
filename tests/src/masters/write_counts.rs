//! What is written to tables of devices while nothing happens but changes of masters: nothing. It is counted where it arrives, in the
//! simulated devices, from a moment at which everything is as it should be.

use std::time::Duration;

use ferrosm_mad::attr::id;
use ferrosm_mad::ids::AttrId;

use crate::masters::invariants::settled;
use crate::masters::simulation::Stage;

/// Tables that a change of masters leaves alone.
const TABLES: [(&str, AttrId); 4] = [
    ("LFT", id::LFT),
    ("MFT", id::MFT),
    ("P_Key", id::PKEY_TABLE),
    ("SLtoVL", id::SL_TO_VL),
];

/// So long after the last join and leave tables are as they should be.
const SETTLES: Duration = Duration::from_millis(500);

/// What would explain a Set: hosts that want something else or have no power, a master without its forerunner's records, replies that
/// were lost with a master whose store was behind.
type Reasons = (u64, u32, u32, u32);

/// What was counted at a moment at which everything was as it should be.
struct Page {
    tables: [u32; TABLES.len()],
    reasons: Reasons,
    takeovers: u32,
}

/// See the module's text. For calm times.
#[derive(Default)]
pub(crate) struct Books {
    page: Option<Page>,
    /// Changes of masters in which nothing else happened.
    pub(crate) takeovers: u32,
}

impl Books {
    /// Compares with the last moment at which everything was as it should be, or waits for one.
    pub(crate) fn look(&mut self, stage: &mut Stage) {
        let now = page(stage);
        if let Some(was) = &mut self.page
            && was.reasons == now.reasons
        {
            let repeat = stage.lab.repeat();
            let tables = was.tables.iter().zip(&now.tables).zip(&TABLES);
            for ((was, now), (name, _)) in tables {
                let sets = now - was;
                assert_eq!(
                    sets, 0,
                    "{repeat} Sets of {name} tables, and nothing had changed"
                );
            }
            self.takeovers += now.takeovers - was.takeovers;
            was.takeovers = now.takeovers;
            return;
        }
        // What hosts have asked for last may be on its way to the tables.
        let quiet = stage.quiet_for() >= SETTLES && settled(stage, true).is_ok();
        self.page = quiet.then_some(now);
        if self.page.is_some() {
            stage.clients.settle();
        }
    }
}

fn page(stage: &Stage) -> Page {
    let count = |(_, attr): (&str, AttrId)| {
        let fabric = stage.lab.world.fabric();
        let nodes = 0..fabric.num_nodes();
        nodes.map(|node| fabric.counters(node).sets(attr)).sum()
    };
    Page {
        tables: TABLES.map(count),
        reasons: (
            stage.clients.changes,
            stage.powers,
            stage.unprepared,
            stage.clients.lost_replies(),
        ),
        takeovers: stage.takeovers,
    }
}
