//! The driver on a simulated fabric.

use super::*;
use crate::port::ThreadedPort;
use ferrosm_core::records::{Record, RecordUpdate};
use ferrosm_core::{RestoredState, SweepReport};
use ferrosm_sim::fabric::Fabric;
use ferrosm_sim::generate::from_spec;
use ferrosm_sim_server::in_process::SimNet;
use ferrosm_umad::gmp::{GmpReceived, GmpReceiver, GmpSender};

/// Ends with the first sweep report, or with `None` when stopped.
#[derive(Default)]
struct FirstSweep {
    lids_persisted: usize,
    reloads: usize,
}

impl Shell for FirstSweep {
    type End = Option<SweepReport>;
    fn event(&mut self, event: Event, _: &SubnetManager) -> ControlFlow<Self::End> {
        if let Event::SweepCompleted(report) = event
            && self.reloads == 0
        {
            return ControlFlow::Break(Some(*report));
        }
        ControlFlow::Continue(())
    }
    fn persist(&mut self, request: PersistRequest) -> Option<u64> {
        if let PersistRequest::Updates(updates) = request {
            let put = |u: &&RecordUpdate| matches!(u, RecordUpdate::Put(Record::Lid { .. }));
            self.lids_persisted += updates.iter().filter(put).count();
        }
        None
    }
    fn reload(&mut self) -> Reload {
        self.reloads += 1;
        Reload::Unchanged
    }
    fn stop(&mut self, _: &SubnetManager) -> Self::End {
        None
    }
    fn tick(&mut self, _: Progress) {}
}

/// A driver on a fabric of this shape, with a receiving thread.
fn driver_on<S: Shell>(
    spec: &str,
    shell: S,
    inbox: mpsc::Receiver<Control>,
) -> Driver<ThreadedPort, S> {
    let net = SimNet::new(Fabric::new(&from_spec(spec).unwrap()).unwrap());
    let (sender, receiver) = net.attach(None).unwrap().split();
    let port = ThreadedPort::new(Box::new(sender), Box::new(receiver), 1024).unwrap();
    let clock = Clock::start();
    let sm = SubnetManager::new(SmConfig::default(), RestoredState::default(), clock.now());
    Driver::new(sm, clock, port, shell, inbox)
}

fn runtime() -> tokio::runtime::Runtime {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().build().unwrap()
}

fn drive(shell: FirstSweep, events: &[Control]) -> (Option<SweepReport>, FirstSweep) {
    runtime().block_on(async {
        let (control, inbox) = mpsc::channel(4);
        for event in events {
            control.send(*event).await.unwrap();
        }
        let mut driver = driver_on("torus:3,3,1,2", shell, inbox);
        let result = driver.run().await.unwrap();
        (result, driver.into_shell())
    })
}

#[test]
fn fabric_comes_up_and_its_lids_are_persisted() {
    let (report, shell) = drive(FirstSweep::default(), &[]);
    let report = report.unwrap();
    assert!(report.is_clean(), "{:?}", report.problems);
    assert_eq!((report.switches, report.cas), (9, 18));
    assert_eq!(shell.lids_persisted, 27);
}

#[test]
fn control_events_are_executed_in_order() {
    let (result, shell) = drive(FirstSweep::default(), &[Control::Reload, Control::Stop]);
    assert!(result.is_none());
    assert_eq!(shell.reloads, 1);
}

/// Sends a stop when the driver is idle after a sweep.
struct StopsWhenIdle(mpsc::Sender<Control>);

impl Shell for StopsWhenIdle {
    type End = bool;
    fn event(&mut self, event: Event, _: &SubnetManager) -> ControlFlow<bool> {
        if let Event::Stopped { handed_to, .. } = event {
            return ControlFlow::Break(handed_to.is_some());
        }
        if let Event::SweepCompleted(_) = event {
            // On this single thread, the task runs when the driver waits.
            let control = self.0.clone();
            tokio::spawn(async move { control.send(Control::Stop).await });
        }
        ControlFlow::Continue(())
    }
    fn persist(&mut self, _: PersistRequest) -> Option<u64> {
        None
    }
    fn reload(&mut self) -> Reload {
        Reload::NoEffect
    }
    fn hands_over(&self) -> bool {
        true
    }
    fn stop(&mut self, _: &SubnetManager) -> bool {
        panic!("the stop timed out")
    }
    fn tick(&mut self, _: Progress) {}
}

#[test]
fn stop_without_a_standby_is_immediate() {
    runtime().block_on(async {
        let (control, inbox) = mpsc::channel(4);
        let mut driver = driver_on("ring:3", StopsWhenIdle(control), inbox);
        let result = tokio::time::timeout(STOP_TIMEOUT / 2, driver.run()).await;
        assert!(!result.expect("the stop waits for a standby").unwrap());
    });
}

/// Stops some time after the first sweep; ends with the activity of the last progress report.
struct LastActivity {
    control: mpsc::Sender<Control>,
    shown: Option<ActivityKind>,
}

impl Shell for LastActivity {
    type End = Option<ActivityKind>;
    fn event(&mut self, event: Event, _: &SubnetManager) -> ControlFlow<Self::End> {
        if let Event::SweepCompleted(_) = event {
            let control = self.control.clone();
            tokio::spawn(async move {
                tokio::time::sleep(3 * TICK).await;
                control.send(Control::Stop).await
            });
        }
        ControlFlow::Continue(())
    }
    fn persist(&mut self, _: PersistRequest) -> Option<u64> {
        None
    }
    fn reload(&mut self) -> Reload {
        Reload::NoEffect
    }
    fn hands_over(&self) -> bool {
        false
    }
    fn stop(&mut self, _: &SubnetManager) -> Self::End {
        self.shown
    }
    fn tick(&mut self, progress: Progress) {
        self.shown = Some(progress.activity);
    }
}

/// A sweep that ends soon after a progress report is not shown as if it still ran.
#[test]
fn end_of_an_activity_is_shown() {
    runtime().block_on(async {
        let (control, inbox) = mpsc::channel(4);
        let shell = LastActivity {
            control,
            shown: None,
        };
        let shown = driver_on("ring:3", shell, inbox).run().await.unwrap();
        assert_eq!(shown, Some(ActivityKind::Idle));
    });
}

/// Receives nothing until its descriptor fails, or panics.
struct FailingReceiver {
    panics: bool,
}

impl GmpReceiver for FailingReceiver {
    fn receive(&mut self, _: Duration) -> Result<GmpReceived, TransportError> {
        assert!(!self.panics, "a programming error");
        Err(TransportError {
            action: "cannot receive message",
            source: std::io::Error::from_raw_os_error(9),
        })
    }
}

struct NullSender;

impl GmpSender for NullSender {
    fn send(&self, _: &Peer, _: &[u8], _: Option<Duration>) -> Result<(), TransportError> {
        Ok(())
    }
}

/// Never ends by itself.
struct Endless;

impl Shell for Endless {
    type End = ();
    fn event(&mut self, _: Event, _: &SubnetManager) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
    fn persist(&mut self, _: PersistRequest) -> Option<u64> {
        None
    }
    fn reload(&mut self) -> Reload {
        Reload::NoEffect
    }
    fn stop(&mut self, _: &SubnetManager) {}
    fn tick(&mut self, _: Progress) {}
}

/// A thread of the SA server that fails or panics ends the driver with its error, so that the
/// process is restarted.
#[test]
fn sm_does_not_run_without_its_sa() {
    for (panics, reason) in [
        (false, "cannot receive message"),
        (true, "cannot serve the SA"),
    ] {
        let ended = runtime().block_on(async {
            let (_control, inbox) = mpsc::channel(4);
            let receiver = Box::new(FailingReceiver { panics });
            let limits = ferrosm_sa::admission::AdmissionLimits::default();
            let server = SaServer::start(Box::new(NullSender), receiver, limits).unwrap();
            let driver = driver_on("ring:3", Endless, inbox);
            let mut driver = driver.with_sa_server(Some(server));
            tokio::time::timeout(STOP_TIMEOUT, driver.run()).await
        });
        let error = ended.expect("the SM runs on without SA").unwrap_err();
        assert_eq!(error.to_string(), reason);
    }
}
