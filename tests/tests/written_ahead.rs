//! What is written ahead is durable, here and with those who follow, before the first device is told what follows from it.

#![allow(clippy::expect_used, reason = "test helpers")]

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use ferrosm::driver::{Clock, Control, Driver, Shell};
use ferrosm::port::Simulated;
use ferrosm::state::{Durable, Follow, Kept, StateDir, Writer};
use ferrosm_core::kept::{Batch, Change, Kind};
use ferrosm_core::{Event, Input, Progress, Restored, SmConfig, SubnetManager, SweepReport};
use ferrosm_mad::attr::id;
use ferrosm_sim::fabric::Fabric;
use ferrosm_sim::port::SimNet;
use ferrosm_tests::scratch::Scratch;
use tokio::sync::mpsc;

/// A standby that acknowledges the mark of the tables of lanes only when it is asked for the second time.
struct Slow {
    net: SimNet,
    durable: Arc<Durable>,
    state: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    /// The batch that the mark is in.
    mark: Option<u64>,
    /// Tables that devices had been told when it was asked first.
    told: Option<u32>,
}

fn told(net: &SimNet) -> u32 {
    net.with(|fabric| fabric.all_counters().sets(id::SL_TO_VL))
}

impl Follow for Slow {
    fn committed(&self, number: u64, batch: &Batch) {
        let is_mark =
            |c: &Change| matches!(c, Change::Put(key, _) if key.kind() == Some(Kind::LanesWritten));
        if batch.changes.iter().any(is_mark) {
            self.state.lock().expect("whole").mark = Some(number);
        }
    }

    fn acknowledged(&self) -> u64 {
        let mut state = self.state.lock().expect("whole");
        match (state.mark, state.told) {
            (Some(mark), None) => {
                state.told = Some(told(&self.net));
                self.durable.wake();
                mark - 1
            }
            _ => u64::MAX,
        }
    }
}

/// Ends with the first report.
struct Once(Writer);

impl Shell for Once {
    type End = Option<SweepReport>;

    fn event(&mut self, event: Event, _: &SubnetManager) -> ControlFlow<Self::End> {
        if let Event::SweepDone(report) = event {
            return ControlFlow::Break(Some(*report));
        }
        ControlFlow::Continue(())
    }

    fn persist(&mut self, what: Kept) -> Option<u64> {
        self.0.save(what)
    }

    fn reload(&mut self) -> Option<Input> {
        None
    }

    fn stop(&mut self, _: &SubnetManager) -> Self::End {
        None
    }

    fn tick(&mut self, _: Progress) {}
}

#[test]
fn devices_wait_for_what_goes_ahead() {
    let spec = ferrosm_sim::generate::from_spec("torus:5,5,1").expect("a fabric");
    let net = SimNet::new(Fabric::new(&spec).expect("a fabric"));
    let dir = Scratch::new("written-ahead");
    let state = StateDir::open(dir.path()).expect("a directory");
    let writer = state.writer().expect("a thread");
    let durable = Arc::clone(writer.durable());
    let standby = Arc::new(Slow {
        net: net.clone(),
        durable: Arc::clone(&durable),
        state: Mutex::default(),
    });
    durable.follow(Some(Arc::clone(&standby) as Arc<dyn Follow>));
    let (_control, orders) = mpsc::channel::<Control>(1);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let report = runtime.block_on(async {
        let (sender, receiver) = net.attach(None).expect("the default port").split();
        let port = Simulated::new(net.clone(), Box::new(sender), Box::new(receiver));
        let cfg = SmConfig {
            engines: vec!["lash".to_owned()],
            ..SmConfig::default()
        };
        let clock = Clock::start();
        let sm = SubnetManager::new(cfg, Restored::default(), clock.now());
        let driver = Driver::new(sm, clock, port, Once(writer), orders);
        let mut driver = driver.holding(Some(Arc::clone(&durable)));
        driver.run().await.expect("a port that stays")
    });
    durable.follow(None);
    assert!(report.expect("a sweep").is_clean());
    assert!(told(&net) > 0, "one lane proves nothing here");
    let before = standby.state.lock().expect("whole").told;
    assert_eq!(before, Some(0), "tables that were written before");
}
