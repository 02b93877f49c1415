//! Cost of the SA view: time after a sweep and after one lost link, and memory.
//!
//! `cargo bench -p ferrosm-tests --bench sa_view [-- SPEC ...]`. A view shares unchanged parts with
//! its predecessor. Bytes are allocator bytes in use. For the registrations every host is a member
//! of the IPv4 broadcast group and of one of 256 other groups, and offers one service.

#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    unsafe_code,
    reason = "a benchmark prints, panics on unexpected results, and counts allocations"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ferrosm_core::SmConfig;
use ferrosm_mad::gmp::Peer;
use ferrosm_mad::ids::{Gid, PKey, Sl};
use ferrosm_mad::mad::Method;
use ferrosm_mad::sa;
use ferrosm_mad::sa::multicast::JoinState;
use ferrosm_mad::sa::service::ServiceRecord;
use ferrosm_sa::registry::Registry;
use ferrosm_sa::settings::SaSettings;
use ferrosm_sa::{SaRequest, View};
use ferrosm_tests::lab::Lab;
use ferrosm_tests::sa::members::{MEMBER, NEW_GROUP, join_record};
use ferrosm_tests::sa::wire::message;

/// Counts allocated bytes.
struct CountingAllocator;

static ALLOCATED: AtomicUsize = AtomicUsize::new(0);

// SAFETY: all calls are forwarded to the system allocator. The wrapper only counts bytes.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATED.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller upholds the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        ALLOCATED.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller upholds the contract of `dealloc`.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

fn main() {
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| !a.starts_with('-'))
        .collect();
    let specs = if arguments.is_empty() {
        // 11,664 hosts; 43,904 hosts.
        vec!["fat-tree:36".to_owned(), "fat-tree:56".to_owned()]
    } else {
        arguments
    };
    for spec in specs {
        measure(&spec);
    }
}

/// Prints the time of `operation` and the growth of allocated bytes.
fn cost<T>(description: &str, operation: impl FnOnce() -> T) -> T {
    let (before, began) = (ALLOCATED.load(Ordering::Relaxed), Instant::now());
    let result = operation();
    let took = began.elapsed();
    let growth = ALLOCATED.load(Ordering::Relaxed).saturating_sub(before);
    println!(
        "  {description:40} {:9.2} ms {:9.2} MB",
        took.as_secs_f64() * 1000.0,
        growth as f64 / 1e6
    );
    result
}

fn measure(spec: &str) {
    let cfg = SmConfig {
        sweep_interval: Duration::ZERO,
        ..SmConfig::default()
    };
    let mut lab = Lab::with(spec, 1, cfg);
    let up = lab.next_sweep(600);
    println!(
        "\n{spec}: {} switches, {} CAs, {} links",
        up.switches, up.cas, up.links
    );
    let view = Arc::new(cost("first view", || lab.manager().core().snapshot(None)));
    let before = Arc::clone(lab.manager().core().view().expect("SA view"));
    let same = cost("next view, nothing changed", || {
        lab.manager().core().snapshot(Some(&before))
    });
    drop(same);
    let is_switch = |n| lab.world.fabric().is_switch(n);
    let links = lab.spec.links.iter();
    let cable = links
        .rev()
        .find(|l| is_switch(l.a.node) && is_switch(l.b.node));
    let link = cable.expect("inter-switch link").a;
    lab.world.fabric_mut().cut(link).expect("link");
    lab.next_sweep(600);
    let next = cost("next view, one lost link", || {
        lab.manager().core().snapshot(Some(&before))
    });
    let new_view = cost("the same without a predecessor", || {
        lab.manager().core().snapshot(None)
    });
    drop((next, new_view));
    let mut registry = Registry::default();
    cost("registrations of all hosts", || {
        let view = View::new(view, SaSettings::default());
        register(&mut registry, &view);
    });
}

fn register(registry: &mut Registry, view: &View) {
    let group = |n: usize| {
        let mut gid = [0; 16];
        // No IPoIB signature in the MGIDs: such groups need the broadcast group of their partition.
        gid[..2].copy_from_slice(&[0xFF, 0x12]);
        gid[14..].copy_from_slice(&u16::try_from(n).unwrap_or(0).to_be_bytes());
        Gid(gid)
    };
    let mut rejected = 0;
    for (n, at) in view.end_port_indices().enumerate() {
        let end = view.end_port(at);
        for mgid in [group(0xFFFF), group(n % 256)] {
            let record = join_record(mgid, view.gid(at), JoinState::FULL, Sl(0));
            let mask = MEMBER | NEW_GROUP;
            let bytes = message(Method::Set, sa::id::MC_MEMBER, mask, &record.encode());
            rejected += count_rejected(registry, view, end.lid, &bytes);
        }
        let record = ServiceRecord {
            service_id: n as u64,
            service_gid: view.gid(at),
            service_pkey: PKey::DEFAULT_FULL,
            service_lease_s: ServiceRecord::FOREVER,
            ..ServiceRecord::default()
        };
        let bytes = message(Method::Set, sa::id::SERVICE, 0b101_0111, &record.encode());
        rejected += count_rejected(registry, view, end.lid, &bytes);
    }
    println!("  {:40} {rejected:9}", "rejected registrations");
}

fn count_rejected(
    registry: &mut Registry,
    view: &View,
    lid: ferrosm_mad::ids::Lid,
    bytes: &[u8],
) -> usize {
    let from = Peer {
        lid,
        ..Peer::default()
    };
    let request = SaRequest::parse(from, bytes).expect("valid request");
    let reply = registry.handle(view, &request, ferrosm_mad::time::Instant::START);
    usize::from(reply.is_none_or(|r| !r.status.is_ok()))
}
