//! What is written to tables of devices while nothing happens but changes of masters: nothing. It is counted where it arrives, in the
//! simulated devices, from a moment at which everything is as it should be.

use ferrosm_mad::attr::id;
use ferrosm_mad::ids::AttrId;

use crate::stage::Stage;
use crate::watch::settled;

/// Tables that a change of masters leaves alone.
const TABLES: [(&str, AttrId); 3] = [
    ("LFT", id::LFT),
    ("MFT", id::MFT),
    ("P_Key", id::PKEY_TABLE),
];
/// The same where there is one lane.
const LANES: [(&str, AttrId); 2] = [("SLtoVL", id::SL_TO_VL), ("VLArb", id::VL_ARBITRATION)];

/// What would explain a Set: hosts that want something else or have no power, a master without its forerunner's records.
type Reasons = (u64, u32, u32);

/// What was counted at a moment at which everything was as it should be.
struct Page {
    tables: [u32; TABLES.len()],
    lanes: Option<[u32; LANES.len()]>,
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
            let lanes = was.lanes.iter().flatten().zip(now.lanes.iter().flatten());
            for ((was, now), (name, _)) in tables.chain(lanes.zip(&LANES)) {
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
        self.page = settled(stage, true).is_ok().then_some(now);
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
    let master = stage.master().and_then(|i| stage.sm(i));
    let lanes = master.and_then(|sm| sm.core().lanes());
    Page {
        tables: TABLES.map(count),
        lanes: lanes
            .is_some_and(|lanes| lanes.is_single())
            .then(|| LANES.map(count)),
        reasons: (stage.clients.changes, stage.powers, stage.unprepared),
        takeovers: stage.takeovers,
    }
}
