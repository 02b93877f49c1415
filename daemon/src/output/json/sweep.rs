//! The sweep report of `ferrosm run --json` and `demo --json`.
//!
//! ```json
//! {
//!   "schema": 4, "sweep": 1, "kind": "full", "role": "Master", "clean": true,
//!   "switches": 20, "cas": 16, "routers": 0, "links": 48,
//!   "lids": 36, "top_lid": 36, "lids_changed": 36, "absent_ports": 0,
//!   "engine": "updn", "routing_messages": [ { "kind": "structure", "text": "…" } ],
//!   "proof": { "pairs": 640, "idle_unreachable": 0, "max_hops": 4, "mean_hops": 3.2, "max_load": 16,
//!              "mean_load": 9.5, "channels": 64, "hop_histogram": [0, 0, 16, 0, 224] },
//!   "fullest_pkey_table": { "location": "\"n1\" (0x…) port 1", "used": 3, "capacity": 32 },
//!   "lft_blocks_written": 20,
//!   "smps_sent": 812,
//!   "smps": [ { "attribute": "NodeInfo", "id": 17, "gets": 97, "sets": 0, "timeouts": 0 } ],
//!   "phases": [ { "phase": "discover", "ms": 1.25 } ], "took_ms": 9.5,
//!   "problems": [ { "location": "\"n1\" (0x…) port 1", "kind": "no-response", "message": "no response to PortInfo",
//!                   "severity": "problem" } ]
//! }
//! ```
//!
//! `local` sweeps read only a part of the fabric. `clean` is false if a discovered port is not
//! Active, has no LID or is not routed. `fullest_pkey_table` is `null` without partitions and for
//! local sweeps, `proof` if nothing had to be routed. A proof means that every pair is reachable,
//! without loops or credit loops. `severity` is `problem` if part of the subnet is down, otherwise
//! `minor-problem`. [`super::message`] describes `routing_messages`.

use core::time::Duration;

use ferrosm_core::SweepReport;
use ferrosm_mad::attr::id;
use ferrosm_routing::Proof;
use serde::Serialize;

use super::message;

/// The document of `ferrosm run --json` and `demo --json`.
#[must_use]
pub fn document(report: &SweepReport) -> impl Serialize {
    let smps = report.smps.iter().map(|(attr, count)| {
        object! {
            attribute: id::name(*attr).map_or_else(|| attr.to_string(), str::to_owned),
            id: attr.0,
            gets: count.gets,
            sets: count.sets,
            timeouts: count.timeouts,
        }
    });
    let phases = report
        .phases
        .iter()
        .map(|(phase, took)| object! { phase: phase.to_string(), ms: ms(*took) });
    let problems = report.problems.iter().map(|p| {
        object! {
            location: p.location.to_string(),
            kind: p.kind.name(),
            message: p.kind.to_string(),
            severity: if p.kind.is_severe() { "problem" } else { "minor-problem" },
        }
    });
    object! {
        schema: super::SCHEMA,
        sweep: report.number,
        kind: report.kind.name(),
        role: report.role.to_string(),
        clean: report.is_clean(),
        switches: report.switches,
        cas: report.cas,
        routers: report.routers,
        links: report.links,
        lids: report.lids,
        top_lid: report.top_lid,
        lids_changed: report.lids_changed,
        absent_ports: report.absent,
        engine: report.engine,
        routing_messages: message::routing_messages(&report.routing_messages),
        proof: report.proof.as_ref().map(proof),
        fullest_pkey_table: report.fullest_pkey_table.as_ref().map(|table| object! {
            location: table.location.to_string(),
            used: table.used,
            capacity: table.capacity,
        }),
        lft_blocks_written: report.lft_blocks_written,
        smps_sent: report.smps_sent(),
        smps: smps.collect::<Vec<_>>(),
        phases: phases.collect::<Vec<_>>(),
        took_ms: ms(report.took),
        problems: problems.collect::<Vec<_>>(),
    }
}

/// The proof in this document and that of `route`.
#[must_use]
pub fn proof(proof: &Proof) -> impl Serialize {
    object! {
        pairs: proof.pairs,
        idle_unreachable: proof.idle_unreachable,
        max_hops: proof.max_hops,
        mean_hops: proof.mean_hops(),
        max_load: proof.max_load,
        mean_load: proof.mean_load,
        channels: proof.channels,
        hop_histogram: &proof.hop_histogram,
    }
}

/// Milliseconds, rounded to microseconds.
#[must_use]
pub fn ms(d: Duration) -> f64 {
    (d.as_secs_f64() * 1e6).round() / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrosm_core::report::routing_message::RoutingMessage;
    use ferrosm_core::report::{self, ProblemKind, SmpCount};
    use ferrosm_mad::attr::SmState;

    #[test]
    fn document_has_the_documented_members() {
        let mut report = SweepReport {
            number: 3,
            role: SmState::Master,
            switches: 2,
            engine: "updn",
            ..SweepReport::default()
        };
        report.smps.insert(
            id::LFT,
            SmpCount {
                gets: 1,
                sets: 2,
                timeouts: 3,
            },
        );
        report
            .phases
            .push((report::Phase::ReadTables, Duration::from_micros(1500)));
        report.problems.push(report::Problem {
            location: ferrosm_fabric::location::Location::LocalNode,
            kind: ProblemKind::NoLid,
        });
        let staged = RoutingMessage::StagedUpdate { stages: 2 };
        report.routing_messages.push(staged.clone());
        let text = crate::output::json::to_line(&document(&report));
        assert_eq!(text.matches('\n').count(), 1);
        let v: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            (&v["schema"], &v["sweep"], &v["clean"]),
            (
                &crate::output::json::SCHEMA.into(),
                &3.into(),
                &false.into()
            )
        );
        assert_eq!(v["smps"][0]["attribute"], "LinearForwardingTable");
        assert_eq!(v["smps"][0]["sets"], 2);
        assert_eq!(v["phases"][0]["phase"], "read tables");
        assert_eq!(v["phases"][0]["ms"], 1.5);
        assert_eq!(v["problems"][0]["kind"], "no-lid");
        assert_eq!(v["problems"][0]["message"], "no LID available");
        assert_eq!(
            v["routing_messages"],
            serde_json::json!([{ "kind": "staged-update", "text": staged.to_string() }])
        );
        assert_eq!(v["role"], "Master");
    }
}
