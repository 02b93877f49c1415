//! Messages per second between two processes, and their round-trip time.
//!
//! `cargo bench -p ferrosm-tests --bench channel_round_trips`
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark prints, and panics on errors"
)]

use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::Command;
use std::time::{Duration, Instant};

use ferrosm_channel::{
    ClientEnd, ClientFds, MessageAction, ReceiveOutcome, ServerDoorbell, ServerEnd, SpinWait,
    frames,
};

/// A MAD with its header.
const MESSAGE: [u8; 320] = [7; 320];

fn main() {
    if let Some(socket) = std::env::args().skip(1).find(|a| !a.starts_with('-')) {
        client(&UnixStream::connect(socket).unwrap());
        return;
    }
    let path = std::env::temp_dir().join(format!("ferrosm-round-trips-{}", std::process::id()));
    let listener = UnixListener::bind(&path).unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .arg(&path)
        .spawn()
        .unwrap();
    let (stream, _) = listener.accept().unwrap();
    std::fs::remove_file(&path).unwrap();
    let doorbell = ServerDoorbell::new().unwrap();
    let (mut ring_end, fds) = ServerEnd::pair(&doorbell).unwrap();
    let fds = fds.into_vec();
    let borrowed: Vec<_> = fds.iter().map(AsFd::as_fd).collect();
    frames::send(&stream, b"", &borrowed).unwrap();
    drop(borrowed);
    drop(fds);
    // Echo until the client disconnects.
    let spin = SpinWait::new(Duration::from_micros(30));
    let mut message = vec![];
    while child.try_wait().unwrap().is_none() {
        for _ in 0..10_000 {
            if ring_end.receive(&mut message).unwrap() {
                while !ring_end.send(&[&message]).unwrap() {}
            } else if !spin.until(|| ring_end.is_ready()) {
                doorbell.sleep(None, || !ring_end.is_ready()).unwrap();
                break;
            }
        }
    }
}

fn client(stream: &UnixStream) {
    let (_, fds) = frames::receive(stream).unwrap().unwrap();
    let (ring_end, _fd) = ClientEnd::new(ClientFds::from_vec(fds).unwrap()).unwrap();
    for (spin_us, window) in [(30, 1), (30, 4), (30, 32), (0, 1), (0, 32)] {
        let spin = SpinWait::new(Duration::from_micros(spin_us));
        let start = Instant::now();
        let mut buffer = [0; 512];
        let mut in_flight = 0;
        let mut messages = 0;
        let mut time_is_up = false;
        while !time_is_up || in_flight > 0 {
            time_is_up = time_is_up || start.elapsed() > Duration::from_secs(1);
            while !time_is_up && in_flight < window {
                ring_end.send(&[&MESSAGE[..64], &MESSAGE[64..]]).unwrap();
                in_flight += 1;
            }
            while in_flight > 0 && !ring_end.wait(spin, None).unwrap() {}
            while ring_end
                .receive(&mut buffer, |_| MessageAction::Consume)
                .unwrap()
                != ReceiveOutcome::Empty
            {
                in_flight -= 1;
                messages += 1;
            }
        }
        let elapsed = start.elapsed();
        println!(
            "client spins {spin_us:2} us, {window:2} in flight: {:8.0} round trips/s, {:6.2} us each",
            f64::from(messages) / elapsed.as_secs_f64(),
            elapsed.as_secs_f64() * 1e6 / f64::from(messages),
        );
    }
}
