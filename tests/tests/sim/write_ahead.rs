//! Records are durable, locally and on standbys, before the SM sends the Sets that depend on them.

#![allow(clippy::expect_used, reason = "test helpers")]

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ferrosm::clock::Clock;
use ferrosm::commands::simulator::port::SimulatedPort;
use ferrosm::run::driver::{Control, Driver, Reload, Shell};
use ferrosm_core::records::{RecordBatch, RecordChange, RecordKind};
use ferrosm_core::{Event, Progress, RestoredState, SmConfig, SubnetManager, SweepReport};
use ferrosm_mad::attr::id;
use ferrosm_mad::ids::{AttrMod, MKey, PortNum, Tid};
use ferrosm_mad::mad::{Address, MadOut, Method};
use ferrosm_mad::smp::{DrPath, SmpRequest};
use ferrosm_sim::fabric::Fabric;
use ferrosm_sim::spec::PortAt;
use ferrosm_sim_server::in_process::SimNet;
use ferrosm_store::{CommitObserver, DurabilityTracker, PersistRequest, StateDir, StateWriter};
use ferrosm_tests::programs::scratch::Scratch;
use ferrosm_umad::transport::{MadReceiver as _, MadSender as _, Received};
use tokio::sync::mpsc;

/// A standby that acknowledges the SL-to-VL epoch on the second poll.
struct DelayedStandby {
    net: SimNet,
    durable: Arc<DurabilityTracker>,
    state: Arc<Mutex<Observed>>,
}

#[derive(Default)]
struct Observed {
    /// Number of the batch with the epoch record.
    epoch_batch: Option<u64>,
    /// Set(SLtoVLMappingTable) received by devices before the first poll.
    sets_at_first_poll: Option<u32>,
}

fn sl_to_vl_sets(net: &SimNet) -> u32 {
    net.with(|fabric| fabric.all_counters().sets(id::SL_TO_VL))
}

fn has_epoch(batch: &RecordBatch) -> bool {
    let is_epoch = |c: &RecordChange| matches!(c, RecordChange::Put(key, _) if key.kind() == Some(RecordKind::SlToVlEpoch));
    batch.changes.iter().any(is_epoch)
}

impl CommitObserver for DelayedStandby {
    fn committed(&self, number: u64, batch: &RecordBatch) {
        if has_epoch(batch) {
            self.state.lock().expect("lock not poisoned").epoch_batch = Some(number);
        }
    }

    fn acknowledged(&self) -> u64 {
        let mut state = self.state.lock().expect("lock not poisoned");
        match (state.epoch_batch, state.sets_at_first_poll) {
            (Some(epoch_batch), None) => {
                state.sets_at_first_poll = Some(sl_to_vl_sets(&self.net));
                self.durable.wake();
                epoch_batch - 1
            }
            _ => u64::MAX,
        }
    }
}

/// Longest wait for a reply.
const GUARD: Duration = Duration::from_secs(20);

/// A shell that stops the driver at the first sweep report.
struct Once(StateWriter);

impl Shell for Once {
    type End = Option<SweepReport>;

    fn event(&mut self, event: Event, _: &SubnetManager) -> ControlFlow<Self::End> {
        if let Event::SweepCompleted(report) = event {
            return ControlFlow::Break(Some(*report));
        }
        ControlFlow::Continue(())
    }

    fn persist(&mut self, request: PersistRequest) -> Option<u64> {
        self.0.submit(request)
    }

    fn reload(&mut self) -> Reload {
        Reload::NoEffect
    }

    fn stop(&mut self, _: &SubnetManager) -> Self::End {
        None
    }

    fn tick(&mut self, _: Progress) {}
}

/// Brings up a fabric whose routing needs several VLs, with the observer from `follow` on the
/// store.
fn bring_up(
    net: &SimNet,
    dir: &Scratch,
    follow: impl FnOnce(&Arc<DurabilityTracker>) -> Arc<dyn CommitObserver>,
) {
    let state = StateDir::open(dir.path()).expect("directory opened");
    let writer = state.writer().expect("writer thread started");
    let durable = Arc::clone(writer.durability());
    durable.set_observer(Some(follow(&durable)));
    let (_control, commands) = mpsc::channel::<Control>(1);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("runtime built");
    let report = runtime.block_on(async {
        let (sender, receiver) = net.attach(None).expect("default port").split();
        let port = SimulatedPort::new(net.clone(), Box::new(sender), Box::new(receiver));
        let cfg = SmConfig {
            engines: vec!["lash".to_owned()],
            ..SmConfig::default()
        };
        let clock = Clock::start();
        let sm = SubnetManager::new(cfg, RestoredState::default(), clock.now());
        let mut driver = Driver::new(sm, clock, port, Once(writer), commands)
            .with_durability(Some(Arc::clone(&durable)));
        driver.run().await.expect("attached port")
    });
    durable.set_observer(None);
    assert!(report.expect("sweep report").is_clean());
    assert!(sl_to_vl_sets(net) > 0, "the test needs several VLs");
}

fn torus() -> SimNet {
    let spec = ferrosm_sim::generate::from_spec("torus:5,5,1").expect("valid fabric");
    SimNet::new(Fabric::new(&spec).expect("valid fabric"))
}

#[test]
fn device_writes_wait_for_durable_records() {
    let net = torus();
    let dir = Scratch::in_memory("written-ahead");
    let state = Arc::new(Mutex::new(Observed::default()));
    bring_up(&net, &dir, |durable| {
        Arc::new(DelayedStandby {
            net: net.clone(),
            durable: Arc::clone(durable),
            state: Arc::clone(&state),
        })
    });
    let before = state.lock().expect("lock not poisoned").sets_at_first_poll;
    assert_eq!(
        before,
        Some(0),
        "the SM sent SL-to-VL Sets before the acknowledgement"
    );
}

/// A standby that acknowledges the epoch after the test has seen that the master still replies.
struct GatedStandby {
    epoch_batch: Mutex<Option<u64>>,
    committed_tx: Sender<()>,
    seen: Arc<AtomicBool>,
}

impl CommitObserver for GatedStandby {
    fn committed(&self, number: u64, batch: &RecordBatch) {
        if has_epoch(batch) {
            *self.epoch_batch.lock().expect("lock not poisoned") = Some(number);
            self.committed_tx.send(()).expect("receiver in the test");
        }
    }

    fn acknowledged(&self) -> u64 {
        let epoch_batch = self
            .epoch_batch
            .lock()
            .expect("lock not poisoned")
            .filter(|_| !self.seen.load(Ordering::SeqCst));
        epoch_batch.map_or(u64::MAX, |epoch_batch| epoch_batch - 1)
    }
}

/// Queries SMInfo from the neighbouring switch. Returns the number of SL-to-VL Sets at the time of
/// the reply.
fn query_sm_info(net: &SimNet) -> u32 {
    let (at, port) = net.with(|fabric| {
        let master = fabric.default_port();
        let next = fabric.peer(master).expect("link");
        (PortAt::new(next.node, 0), next.port)
    });
    let (mut sender, mut receiver) = net.attach(Some(at)).expect("valid port").split();
    let path = DrPath::LOCAL.extend(PortNum(port)).expect("valid path");
    let request = SmpRequest::get(id::SM_INFO, AttrMod(0), MKey::NONE);
    let to = Address::DIRECTED;
    let mad = request.directed(&path, Tid(1));
    sender.send(&MadOut { to, mad }).expect("attached port");
    loop {
        match receiver.receive(GUARD).expect("attached port") {
            Received::Mad(mad) if mad.mad.method() == Method::GetResp => return sl_to_vl_sets(net),
            Received::Mad(_) => {}
            other @ (Received::SendFailed(_) | Received::TimedOut) => {
                panic!("no reply: {other:?}")
            }
        }
    }
}

/// While the master waits for the store or a standby, it holds back only the dependent Sets. It
/// still replies to SMInfo, so that no standby takes over.
#[test]
fn other_sms_are_answered_meanwhile() {
    let net = torus();
    let dir = Scratch::in_memory("written-ahead-asked");
    let (committed_tx, committed_rx) = channel();
    let seen = Arc::new(AtomicBool::new(false));
    let (other_net, has_seen) = (net.clone(), Arc::clone(&seen));
    let mut other = None;
    bring_up(&net, &dir, |durable| {
        let durable = Arc::clone(durable);
        other = Some(std::thread::spawn(move || {
            committed_rx.recv().expect("SL-to-VL epoch commit");
            let sets = query_sm_info(&other_net);
            has_seen.store(true, Ordering::SeqCst);
            durable.wake();
            sets
        }));
        Arc::new(GatedStandby {
            epoch_batch: Mutex::default(),
            committed_tx,
            seen,
        })
    });
    let sets = other.and_then(|other| other.join().ok());
    assert_eq!(sets, Some(0), "the reply came after the Sets");
}
