//! Windows, retries and late responses.

use super::*;

const MS: Duration = Duration::from_millis(1);

impl QueuedRequest for u32 {
    fn timeout(&self, usual: Duration) -> Duration {
        if *self == SLOW { 2 * usual } else { usual }
    }
}

/// A request with a longer timeout.
const SLOW: u32 = 1_000_000;

fn smp_queue(window: usize, device_window: u16, retries: u8) -> SmpQueue<u32> {
    SmpQueue::new(Limits {
        timeout: 200 * MS,
        retries,
        window,
        device_window,
    })
}

fn drain(r: &mut SmpQueue<u32>, now: Instant) -> Vec<Dispatch<u32>> {
    core::iter::from_fn(|| r.next(now, |_| true)).collect()
}

/// Ten requests to one device and one to another: the first device gets its initial window of four,
/// the second does not wait.
#[test]
fn windows_of_devices_are_independent() {
    let mut r = smp_queue(100, 16, 3);
    for i in 0..10 {
        r.enqueue(DeviceId(0), i);
    }
    r.enqueue(DeviceId(1), 99);
    let sent: Vec<u32> = drain(&mut r, Instant::START)
        .iter()
        .map(|d| d.item)
        .collect();
    assert_eq!(sent.iter().filter(|i| **i < 10).count(), 4);
    assert!(sent.contains(&99));
}

/// Responses widen a device's window up to its limit; a timeout halves it.
#[test]
fn device_window_grows_with_responses_and_halves_on_timeout() {
    let mut r = smp_queue(1000, 8, 0);
    for i in 0..200 {
        r.enqueue(DeviceId(0), i);
    }
    let mut in_flight = drain(&mut r, Instant::START);
    for _ in 0..60 {
        let d = in_flight.remove(0);
        assert_eq!(r.complete(d.tid), Some(d.item));
        in_flight.extend(drain(&mut r, Instant::START));
    }
    assert_eq!(in_flight.len(), 8);
    let lost = in_flight.remove(0);
    assert_eq!(
        r.time_out(lost.tid, Instant::START, 0),
        TimedOut::Failed(lost.item)
    );
    for d in &in_flight[..3] {
        r.complete(d.tid);
        assert!(
            drain(&mut r, Instant::START).is_empty(),
            "four are still in flight"
        );
    }
    r.complete(in_flight[3].tid);
    assert!(!drain(&mut r, Instant::START).is_empty());
}

/// Two timeouts with one retry allowed: one retry, then failure; later responses match no request.
#[test]
fn requests_fail_after_the_last_retry() {
    let mut r = smp_queue(10, 4, 1);
    r.enqueue(DeviceId(0), 7);
    let first = r.next(Instant::START, |_| true).unwrap();
    assert_eq!(r.expired(Instant::START + 199 * MS), None);
    assert_eq!(r.expired(Instant::START + 200 * MS), Some(first.tid));
    assert_eq!(
        r.time_out(first.tid, Instant::START, 0),
        TimedOut::Retrying(7)
    );
    let second = r.next(Instant::START + 200 * MS, |_| true).unwrap();
    assert_eq!((second.item, second.attempt), (7, 1));
    assert_ne!(second.tid, first.tid);
    assert!(!r.is_idle());
    assert_eq!(
        r.time_out(second.tid, Instant::START, 0),
        TimedOut::Failed(7)
    );
    assert!(r.is_idle());
    assert_eq!(
        (r.complete(first.tid), r.complete(second.tid)),
        (None, None)
    );
}

/// A late response completes the request, before and after the retry is sent; the response to the
/// retry then matches no request.
#[test]
fn late_responses_complete_the_request() {
    for retry_sent in [false, true] {
        let mut r = smp_queue(10, 4, 3);
        r.enqueue(DeviceId(0), 7);
        let first = r.next(Instant::START, |_| true).unwrap();
        assert_eq!(
            r.time_out(first.tid, Instant::START, 0),
            TimedOut::Retrying(7)
        );
        let second = retry_sent.then(|| r.next(Instant::START, |_| true).unwrap());
        assert_eq!(r.complete(first.tid), Some(7));
        assert!(r.is_idle());
        assert_eq!(
            r.next(Instant::START, |_| true),
            None,
            "no retry is pending"
        );
        assert_eq!(second.and_then(|s| r.complete(s.tid)), None);
        assert_eq!(r.time_out(first.tid, Instant::START, 0), TimedOut::Unknown);
    }
}

/// Timeouts halve the common window, once per timeout and not below its minimum; responses widen it
/// again.
#[test]
fn common_window_halves_on_loss_and_recovers() {
    let mut r = smp_queue(64, 4, 0);
    let mut now = Instant::START + 1000 * MS;
    let mut last = CommonWindow::INITIAL;
    for expected in [8, 8] {
        for i in 0..100 {
            r.enqueue(DeviceId::NONE, i);
        }
        let sent = drain(&mut r, now);
        assert_eq!(sent.len(), last);
        now = now + 200 * MS;
        for d in sent {
            r.time_out(d.tid, now, 0);
        }
        last = expected;
    }
    for _ in 0..200 {
        for d in drain(&mut r, now) {
            r.complete(d.tid);
        }
        (0..64).for_each(|i| r.enqueue(DeviceId::NONE, i));
    }
    assert_eq!(drain(&mut r, now).len(), 64);
}

/// The common window limits all devices together, and responses to cleared requests match nothing.
#[test]
fn common_window_limits_all_devices() {
    let mut r = smp_queue(3, 16, 0);
    for d in 0..10 {
        r.enqueue(DeviceId(d), d);
    }
    let sent = drain(&mut r, Instant::START);
    assert_eq!(sent.len(), 3);
    r.clear();
    assert!(r.is_idle());
    assert_eq!(r.complete(sent[0].tid), None);
    r.enqueue(DeviceId::NONE, 5);
    let again = drain(&mut r, Instant::START);
    assert_eq!(again.len(), 1);
    assert!(sent.iter().all(|d| d.tid != again[0].tid));
    assert_eq!(r.complete(again[0].tid), Some(5));
}

/// A dead device with two hundred requests: all fail after the time of one request; requests to
/// another device succeed.
#[test]
fn requests_to_a_dead_device_fail_together() {
    let mut r = smp_queue(100, 16, 3);
    for i in 0..200 {
        r.enqueue(DeviceId(0), i);
    }
    r.enqueue(DeviceId(1), 999);
    let mut now = Instant::START;
    let (mut failed, mut answered) = (0, 0);
    while !r.is_idle() {
        for d in drain(&mut r, now) {
            if d.item == 999 {
                assert_eq!(r.complete(d.tid), Some(999));
                answered += 1;
            }
        }
        now = now + 200 * MS;
        while let Some(tid) = r.expired(now) {
            if let TimedOut::Failed(_) = r.time_out(tid, now, 0) {
                failed += 1;
                while r.take_request_to_dead_device(DeviceId(0)).is_some() {
                    failed += 1;
                }
            }
        }
    }
    assert_eq!((failed, answered), (200, 1));
    assert!(now.since(Instant::START) <= 1600 * MS, "{now:?}");
}

/// Requests and retries that are not allowed yet wait; other requests to the same device overtake
/// them.
#[test]
fn requests_and_retries_wait_until_they_are_allowed() {
    let mut q = smp_queue(100, 16, 3);
    q.enqueue(DeviceId(0), 1);
    let first = q.next(Instant::START, |_| true).unwrap();
    assert_eq!(
        q.time_out(first.tid, Instant::START, 0),
        TimedOut::Retrying(1)
    );
    q.enqueue(DeviceId(0), 3);
    q.enqueue(DeviceId(0), 2);
    let even = |n: &u32| n.is_multiple_of(2);
    let passed = q.next(Instant::START, even).map(|d| d.item);
    assert_eq!((passed, q.next(Instant::START, even)), (Some(2), None));
    let remaining: Vec<(u32, u8)> = drain(&mut q, Instant::START)
        .iter()
        .map(|d| (d.item, d.attempt))
        .collect();
    assert_eq!(remaining, [(1, 1)], "the device window has halved");
    assert_eq!(q.pending(), 3);
}

/// A busy agent: each request is retried when its attempt times out, and the device does not count
/// as dead, however many requests fail.
#[test]
fn busy_agent_is_retried_after_the_timeout() {
    let mut r = smp_queue(1000, 8, 3);
    for i in 0..20 {
        r.enqueue(DeviceId(0), i);
    }
    let mut now = Instant::START;
    let mut failed = 0;
    for _ in 0..12 {
        let sent = drain(&mut r, now);
        assert!(!sent.is_empty());
        for d in &sent {
            r.on_busy(d.tid);
        }
        assert!(drain(&mut r, now).is_empty(), "retried without delay");
        assert_eq!(r.expired(now + 199 * MS), None);
        now = now + 200 * MS;
        while let Some(tid) = r.expired(now) {
            if let TimedOut::Failed(_) = r.time_out(tid, now, 0) {
                failed += 1;
                assert_eq!(r.take_request_to_dead_device(DeviceId(0)), None);
            }
        }
    }
    assert!(failed > 0);
}

/// The timeout of an SMInfo scan or a reload is shorter than that of requests in flight.
#[test]
fn shorter_timeout_expires_first() {
    let mut q = smp_queue(8, 8, 3);
    q.enqueue(DeviceId(0), 0);
    let first = drain(&mut q, Instant::START);
    q.set_limits(Limits {
        timeout: 50 * MS,
        ..q.limits
    });
    q.enqueue(DeviceId(0), 1);
    let second = drain(&mut q, Instant::START);
    assert_eq!(q.deadline(), Some(Instant::START + 50 * MS));
    assert_eq!(q.expired(Instant::START + 50 * MS), Some(second[0].tid));
    assert_eq!(q.expired(Instant::START + 200 * MS), Some(first[0].tid));
}

/// A request that devices answer slowly expires later than one that was sent after it.
#[test]
fn slow_request_has_a_longer_timeout() {
    let mut r = smp_queue(10, 4, 0);
    r.enqueue(DeviceId(0), SLOW);
    r.enqueue(DeviceId(1), 1);
    let sent = drain(&mut r, Instant::START);
    assert_eq!(sent.len(), 2);
    let tid_of = |item| sent.iter().find(|d| d.item == item).map(|d| d.tid);
    assert_eq!(r.expired(Instant::START + 200 * MS), tid_of(1));
    assert_eq!(r.expired(Instant::START + 399 * MS), None);
    assert_eq!(r.expired(Instant::START + 400 * MS), tid_of(SLOW));
}
