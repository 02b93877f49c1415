//! What is written ahead is durable, here and with those who follow, before the first device is told what follows from it.

#![allow(clippy::expect_used, reason = "test helpers")]

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ferrosm::clock::Clock;
use ferrosm::driver::{Control, Driver, Reload, Shell};
use ferrosm::port::SimulatedPort;
use ferrosm::state::{CommitObserver, DurabilityTracker, PersistRequest, StateDir, StateWriter};
use ferrosm_core::records::{RecordBatch, RecordChange, RecordKind};
use ferrosm_core::{Event, Progress, RestoredState, SmConfig, SubnetManager, SweepReport};
use ferrosm_mad::attr::id;
use ferrosm_mad::ids::{AttrMod, MKey, PortNum, Tid};
use ferrosm_mad::mad::{Address, MadOut, Method};
use ferrosm_mad::smp::{DrPath, SmpRequest};
use ferrosm_mad::transport::{MadReceiver as _, MadSender as _, Received};
use ferrosm_sim::fabric::Fabric;
use ferrosm_sim::port::SimNet;
use ferrosm_sim::spec::PortAt;
use ferrosm_tests::scratch::Scratch;
use tokio::sync::mpsc;

/// A standby that acknowledges the mark of the tables of lanes only when it is asked for the second time.
struct Slow {
    net: SimNet,
    durable: Arc<DurabilityTracker>,
    state: Arc<Mutex<Seen>>,
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

fn has_mark(batch: &RecordBatch) -> bool {
    let is_mark = |c: &RecordChange| matches!(c, RecordChange::Put(key, _) if key.kind() == Some(RecordKind::SlToVlEpoch));
    batch.changes.iter().any(is_mark)
}

impl CommitObserver for Slow {
    fn committed(&self, number: u64, batch: &RecordBatch) {
        if has_mark(batch) {
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

/// Longest time for an answer.
const GUARD: Duration = Duration::from_secs(20);

/// Ends with the first report.
struct Once(StateWriter);

impl Shell for Once {
    type End = Option<SweepReport>;

    fn event(&mut self, event: Event, _: &SubnetManager) -> ControlFlow<Self::End> {
        if let Event::SweepCompleted(report) = event {
            return ControlFlow::Break(Some(*report));
        }
        ControlFlow::Continue(())
    }

    fn persist(&mut self, what: PersistRequest) -> Option<u64> {
        self.0.submit(what)
    }

    fn reload(&mut self) -> Reload {
        Reload::Rejected
    }

    fn stop(&mut self, _: &SubnetManager) -> Self::End {
        None
    }

    fn tick(&mut self, _: Progress) {}
}

/// A fabric whose routing needs lanes comes up, with what it keeps followed by `follow`.
fn comes_up(
    net: &SimNet,
    dir: &Scratch,
    follow: impl FnOnce(&Arc<DurabilityTracker>) -> Arc<dyn CommitObserver>,
) {
    let state = StateDir::open(dir.path()).expect("a directory");
    let writer = state.writer().expect("a thread");
    let durable = Arc::clone(writer.durability());
    durable.set_observer(Some(follow(&durable)));
    let (_control, orders) = mpsc::channel::<Control>(1);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let report = runtime.block_on(async {
        let (sender, receiver) = net.attach(None).expect("the default port").split();
        let port = SimulatedPort::new(net.clone(), Box::new(sender), Box::new(receiver));
        let cfg = SmConfig {
            engines: vec!["lash".to_owned()],
            ..SmConfig::default()
        };
        let clock = Clock::start();
        let sm = SubnetManager::new(cfg, RestoredState::default(), clock.now());
        let driver = Driver::new(sm, clock, port, Once(writer), orders);
        let mut driver = driver.with_durability(Some(Arc::clone(&durable)));
        driver.run().await.expect("a port that stays")
    });
    durable.set_observer(None);
    assert!(report.expect("a sweep").is_clean());
    assert!(told(net) > 0, "one lane proves nothing here");
}

fn torus() -> SimNet {
    let spec = ferrosm_sim::generate::from_spec("torus:5,5,1").expect("a fabric");
    SimNet::new(Fabric::new(&spec).expect("a fabric"))
}

#[test]
fn device_writes_wait_for_durable_records() {
    let net = torus();
    let dir = Scratch::in_memory("written-ahead");
    let state = Arc::new(Mutex::new(Seen::default()));
    comes_up(&net, &dir, |durable| {
        Arc::new(Slow {
            net: net.clone(),
            durable: Arc::clone(durable),
            state: Arc::clone(&state),
        })
    });
    let before = state.lock().expect("whole").told;
    assert_eq!(before, Some(0), "tables that were written before");
}

/// A standby that acknowledges the mark when somebody has seen that the master still answers.
struct Waits {
    mark: Mutex<Option<u64>>,
    begun: Sender<()>,
    seen: Arc<AtomicBool>,
}

impl CommitObserver for Waits {
    fn committed(&self, number: u64, batch: &RecordBatch) {
        if has_mark(batch) {
            *self.mark.lock().expect("whole") = Some(number);
            self.begun.send(()).expect("somebody waits for it");
        }
    }

    fn acknowledged(&self) -> u64 {
        let mark = self
            .mark
            .lock()
            .expect("whole")
            .filter(|_| !self.seen.load(Ordering::SeqCst));
        mark.map_or(u64::MAX, |mark| mark - 1)
    }
}

/// Another subnet manager asks what the master is, from the next switch; what tables had been written when it was told.
fn asks(net: &SimNet) -> u32 {
    let (at, port) = net.with(|fabric| {
        let master = fabric.default_port();
        let next = fabric.peer(master).expect("a cable");
        (PortAt::new(next.node, 0), next.port)
    });
    let (mut sender, mut receiver) = net.attach(Some(at)).expect("a port").split();
    let path = DrPath::LOCAL.extend(PortNum(port)).expect("a way");
    let request = SmpRequest::get(id::SM_INFO, AttrMod(0), MKey::NONE);
    let to = Address::DIRECTED;
    let mad = request.directed(&path, Tid(1));
    sender.send(&MadOut { to, mad }).expect("a port that stays");
    loop {
        match receiver.receive(GUARD).expect("a port that stays") {
            Received::Mad(mad) if mad.mad.method() == Method::GetResp => return told(net),
            Received::Mad(_) => {}
            other @ (Received::SendFailed(_) | Received::TimedOut) => {
                panic!("no answer: {other:?}")
            }
        }
    }
}

/// A master that says nothing is replaced: what waits for the disk, or for a standby, is what devices are told, and nothing else.
#[test]
fn other_sms_are_answered_meanwhile() {
    let net = torus();
    let dir = Scratch::in_memory("written-ahead-asked");
    let (begun, begins) = channel();
    let seen = Arc::new(AtomicBool::new(false));
    let (asking, has_seen) = (net.clone(), Arc::clone(&seen));
    let mut other = None;
    comes_up(&net, &dir, |durable| {
        let durable = Arc::clone(durable);
        other = Some(std::thread::spawn(move || {
            begins.recv().expect("tables of lanes are to be written");
            let told = asks(&asking);
            has_seen.store(true, Ordering::SeqCst);
            durable.wake();
            told
        }));
        Arc::new(Waits {
            mark: Mutex::default(),
            begun,
            seen,
        })
    });
    let told = other.and_then(|other| other.join().ok());
    assert_eq!(told, Some(0), "it was answered after devices were");
}
