//! Response rate of a port: `umad-rate COUNT WINDOW [threads|single]` sends COUNT Get(NodeInfo)
//! along 0,1 with at most WINDOW unanswered and prints the rate.
//!
//! `threads` (default) receives in a separate thread, `single` alternates between sending and
//! receiving.
#![expect(clippy::print_stdout, reason = "an example's output")]

use std::error::Error;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use ferrosm_mad::attr::id;
use ferrosm_mad::ids::{AttrMod, MKey, Tid};
use ferrosm_mad::mad::{Address, MadOut};
use ferrosm_mad::smp::{DrPath, SmpRequest};
use ferrosm_umad::libibumad::{
    OpenOptions, PortSelection, UmadPort, UmadReceiver, UmadSender, choose_port_for_discovery,
    enumerate_ports,
};
use ferrosm_umad::transport::{MadReceiver, MadSender, Received, TransportError};

type Failure = Box<dyn Error + Send + Sync>;

/// Results of one run.
#[derive(Default)]
struct Count {
    answered: u64,
    failed: u64,
}

fn main() -> Result<(), Failure> {
    let args: Vec<String> = std::env::args().collect();
    let count: u64 = args.get(1).map_or(Ok(20_000), |a| a.parse())?;
    let window: u64 = args.get(2).map_or(Ok(16), |a| a.parse())?;
    let single = args.get(3).is_some_and(|mode| mode == "single");
    let ports = enumerate_ports()?;
    let port = choose_port_for_discovery(&ports, &PortSelection::default())?;
    let (sender, receiver) = UmadPort::open(port, &OpenOptions::default())?;
    let start = Instant::now();
    let run = if single { one_thread } else { two_threads };
    let counted = run(sender, receiver, count, window)?;
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "window {window}: {count} MADs in {seconds:.3} s, {:.0}/s, {} answered, {} failed",
        f64::from(u32::try_from(count)?) / seconds,
        counted.answered,
        counted.failed
    );
    Ok(())
}

fn request(path: &DrPath, tid: u64) -> MadOut {
    let mad = SmpRequest::get(id::NODE_INFO, AttrMod(0), MKey::NONE).directed(path, Tid(tid));
    MadOut {
        to: Address::DIRECTED,
        mad,
    }
}

impl Count {
    /// Counts a result of the receiver. Returns false on a timeout.
    fn add(&mut self, received: Received) -> bool {
        match received {
            Received::Mad(_) => self.answered += 1,
            Received::SendFailed(_) => self.failed += 1,
            Received::TimedOut => return false,
        }
        true
    }
}

fn two_threads(
    mut sender: UmadSender,
    mut receiver: UmadReceiver,
    count: u64,
    window: u64,
) -> Result<Count, Failure> {
    let path: DrPath = "0,1".parse()?;
    let (credit_sender, credits) = mpsc::channel();
    let thread = std::thread::spawn(move || -> Result<Count, TransportError> {
        let mut counted = Count::default();
        while counted.answered + counted.failed < count {
            if counted.add(receiver.receive(Duration::from_millis(100))?)
                && credit_sender.send(()).is_err()
            {
                break;
            }
        }
        Ok(counted)
    });
    let mut unanswered = 0;
    for tid in 1..=count {
        while credits.try_recv().is_ok() {
            unanswered -= 1;
        }
        if unanswered == window {
            credits.recv_timeout(Duration::from_secs(5))?;
            unanswered -= 1;
        }
        sender.send(&request(&path, tid))?;
        unanswered += 1;
    }
    Ok(thread
        .join()
        .map_err(|_| "the receiving thread panicked")??)
}

fn one_thread(
    mut sender: UmadSender,
    mut receiver: UmadReceiver,
    count: u64,
    window: u64,
) -> Result<Count, Failure> {
    let path: DrPath = "0,1".parse()?;
    let mut counted = Count::default();
    let mut sent = 0;
    while counted.answered + counted.failed < count {
        while sent < count && sent - counted.answered - counted.failed < window {
            sent += 1;
            sender.send(&request(&path, sent))?;
        }
        counted.add(receiver.receive(Duration::from_secs(5))?);
        while counted.add(receiver.try_receive()?) {}
    }
    Ok(counted)
}
