//! Engine `file`: installs tables from a file.
//!
//! For tables of another program, or tables dumped earlier. A LID that is new or has moved since
//! the dump is forwarded along the path to its switch; other changes are not followed. The tables
//! are verified like those of any engine.

use std::sync::Arc;

use ferrosm_mad::ids::{Lid, PortNum};

use super::Engine;
use crate::messages::{Diagnostic, HintError, RouteError, SwitchHintError};
use crate::request::RoutingRequest;
use crate::routing::{Routing, TreeConstraint};
use crate::tables::Lft;
use crate::topology::{Destination, SwitchIdx, Topology};
use crate::vl_plan::{PathSl, VlPlan};

/// The `file` engine.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct File;

impl Engine for File {
    fn name(&self) -> &'static str {
        "file"
    }

    fn route(&self, request: &RoutingRequest<'_>) -> Result<Routing, RouteError> {
        let topo = request.topo;
        topo.graph().check_connected()?;
        let Some(file) = &request.hints.file else {
            return Err(HintError::NoTables.into());
        };
        let mut vl_plan = file.vl_plan.clone().unwrap_or_default();
        if vl_plan.vls > request.usable_vls() {
            return Err(RouteError::TooFewVls {
                needed: vl_plan.vls.into(),
                usable: request.usable_vls(),
            });
        }
        let mut tables = Vec::with_capacity(topo.num_switches());
        for s in topo.switches() {
            let Some(table) = file.lfts.get(s.index()).and_then(Option::as_ref) else {
                return Err(SwitchHintError::MissingTable.at(s));
            };
            tables.push(check_ports(topo, s, table)?);
        }

        let unrouted: Vec<&Destination> = topo
            .destinations()
            .iter()
            .filter(|d| !is_known(&tables, d))
            .collect();
        let mut diagnostics = Vec::new();
        for d in &unrouted {
            let Some(like) = lid_to_follow(topo, &tables, d) else {
                return Err(SwitchHintError::NoRoute(d.lid).at(d.switch));
            };
            for (s, table) in topo.switches().zip(&mut tables) {
                let port = if s == d.switch {
                    d.port
                } else {
                    table.get(like)
                };
                table.set(d.lid, port);
            }
            copy_sl(&mut vl_plan, d.lid, like);
        }
        if let Some(first) = unrouted.first() {
            diagnostics.push(Diagnostic::MovedLids {
                count: unrouted.len(),
                first: first.lid,
                switch: first.switch,
            });
        }
        let tables = tables.into_iter().enumerate().map(|(i, table)| {
            let old = request.previous.table_of(i).filter(|old| ***old == table);
            old.map_or_else(|| Arc::new(table), Arc::clone)
        });
        Ok(Routing {
            engine: self.name(),
            tables: tables.collect(),
            vl_plan,
            order: None,
            trees: TreeConstraint::Search,
            diagnostics,
        })
    }
}

/// Checks the ports of a table and reduces it to the LIDs of the fabric.
fn check_ports(topo: &Topology, s: SwitchIdx, file_lft: &Lft) -> Result<Lft, RouteError> {
    let mut table = Lft::drop_all(topo.top_lid());
    for d in topo.destinations() {
        let port = file_lft.get(d.lid);
        if port != PortNum::DROP && port.raw() > topo.num_ports(s) {
            let fault = SwitchHintError::PortOutOfRange {
                lid: d.lid,
                port,
                ports: topo.num_ports(s),
            };
            return Err(fault.at(s));
        }
        table.set(d.lid, port);
    }
    Ok(table)
}

/// Whether the tables deliver a LID: the table of its own switch names the LID's port.
fn is_known(tables: &[Lft], d: &Destination) -> bool {
    tables[d.switch.index()].get(d.lid) == d.port
}

/// A LID of the same switch that the tables deliver. End ports are preferred, because every switch
/// has a route to them.
fn lid_to_follow(topo: &Topology, tables: &[Lft], unrouted: &Destination) -> Option<Lid> {
    let known = |d: &&Destination| d.lid != unrouted.lid && is_known(tables, d);
    let on = || topo.destinations_on(unrouted.switch).iter().filter(known);
    on().find(|d| d.port != PortNum::ZERO)
        .or_else(|| on().next())
        .map(|d| d.lid)
}

/// Assigns paths to `lid` the SLs of paths to `like`.
fn copy_sl(vl_plan: &mut VlPlan, lid: Lid, like: Lid) {
    let copy = |row: &mut Arc<[u8]>| {
        let sl = row.get(usize::from(like.raw())).copied().unwrap_or(0);
        let mut new = row.to_vec();
        if new.len() <= usize::from(lid.raw()) {
            new.resize(usize::from(lid.raw()) + 1, 0);
        }
        new[usize::from(lid.raw())] = sl;
        *row = new.into();
    };
    match &mut vl_plan.path_sl {
        PathSl::Uniform(_) | PathSl::BySwitches(_) => {}
        PathSl::ByLid(row) => copy(row),
        PathSl::BySwitchAndLid(rows) => rows.iter_mut().for_each(copy),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::updn::UpDown;
    use crate::hints::{FileTables, Hints};
    use crate::messages::Describe;
    use crate::request::PreviousRouting;
    use crate::topology::TopologyBuilder;
    use crate::verify::verify;

    /// A ring of four switches (LIDs 1 to 4) with ports 1 and 2 around the ring and hosts (LIDs 11
    /// to 14) on port 3; the `extra` LIDs are on port 4 of the first switches.
    fn ring(extra: &[u16]) -> Topology {
        let mut b = TopologyBuilder::new();
        let s: Vec<SwitchIdx> = (1..=4).map(|l| b.switch(4, Lid(l))).collect();
        for i in 0..4 {
            b.link((s[i], PortNum(1)), (s[(i + 1) % 4], PortNum(2)));
            b.end_port((s[i], PortNum(3)), Lid(11 + u16::try_from(i).unwrap()), 1);
        }
        for (s, lid) in s.iter().zip(extra) {
            b.end_port((*s, PortNum(4)), Lid(*lid), 1);
        }
        b.build()
    }

    fn hints(topo: &Topology) -> Hints {
        let routing = UpDown.route(&RoutingRequest::new(topo)).unwrap();
        let file = FileTables {
            lfts: routing.tables.into_iter().map(Some).collect(),
            vl_plan: None,
        };
        Hints {
            file: Some(Arc::new(file)),
            ..Hints::default()
        }
    }

    fn change(hints: &mut Hints, f: impl FnOnce(&mut FileTables)) {
        f(Arc::make_mut(hints.file.as_mut().unwrap()));
    }

    fn error(topo: &Topology, hints: &Hints) -> RouteError {
        File.route(&RoutingRequest::new(topo).with_hints(hints))
            .unwrap_err()
    }

    #[test]
    fn tables_are_installed_unchanged() {
        let topo = ring(&[]);
        let hints = hints(&topo);
        let routing = File
            .route(&RoutingRequest::new(&topo).with_hints(&hints))
            .unwrap();
        let file_lfts = hints.file.as_ref().unwrap().lfts.iter().flatten();
        assert!(routing.tables.iter().eq(file_lfts));
        assert!(routing.diagnostics.is_empty() && routing.vl_plan.is_single());
        let previous = PreviousRouting::from_tables_of(&routing);
        let reread = File
            .route(
                &RoutingRequest::new(&topo)
                    .with_hints(&hints)
                    .with_previous(&previous),
            )
            .unwrap();
        assert!(
            reread
                .tables
                .iter()
                .zip(&routing.tables)
                .all(|(a, b)| Arc::ptr_eq(a, b))
        );
    }

    /// LID 20 is new on the switch of LID 11 and takes the path and SL of LID 11.
    #[test]
    fn new_lid_is_forwarded_like_its_switch() {
        let mut hints = hints(&ring(&[]));
        let mut row = vec![0; 15];
        row[11] = 1;
        let vl_plan = VlPlan::modulo(2, PathSl::BySwitchAndLid(vec![row.into(); 4]));
        change(&mut hints, |f| f.vl_plan = Some(vl_plan));
        let topo = ring(&[20]);
        let routing = File
            .route(&RoutingRequest::new(&topo).with_hints(&hints))
            .unwrap();
        assert_eq!(routing.tables[0].get(Lid(20)), PortNum(4));
        for table in &routing.tables[1..] {
            assert_eq!(table.get(Lid(20)), table.get(Lid(11)));
        }
        let to = topo
            .destinations()
            .iter()
            .find(|d| d.lid == Lid(20))
            .unwrap();
        assert_eq!(routing.vl_plan.sl(SwitchIdx(2), to), 1);
        assert_eq!(routing.diagnostics.len(), 1);
        verify(&topo, &routing.tables, &routing.vl_plan).unwrap();
    }

    /// The extra hosts of the first two switches swapped places.
    #[test]
    fn moved_lid_is_followed() {
        let hints = hints(&ring(&[20, 21]));
        let topo = ring(&[21, 20]);
        let routing = File
            .route(&RoutingRequest::new(&topo).with_hints(&hints))
            .unwrap();
        verify(&topo, &routing.tables, &routing.vl_plan).unwrap();
        let expected = Diagnostic::MovedLids {
            count: 2,
            first: Lid(20),
            switch: SwitchIdx(1),
        };
        assert_eq!(routing.diagnostics, [expected]);
        let text = routing.diagnostics[0].describe(&|s| format!("S{}", s.0));
        assert!(text.ends_with("(first: LID 20 at S1)"), "{text}");
    }

    #[test]
    fn unusable_tables_are_refused_with_the_reason() {
        let topo = ring(&[]);
        assert_eq!(error(&topo, &Hints::default()), HintError::NoTables.into());
        let valid = hints(&topo);

        let mut invalid = valid.clone();
        change(&mut invalid, |f| f.lfts[2] = None);
        let missing = SwitchHintError::MissingTable.at(SwitchIdx(2));
        assert_eq!(error(&topo, &invalid), missing);
        assert_eq!(
            missing.describe(&|s| format!("S{}", s.0)),
            "S2: the file has no table for this switch"
        );

        let mut invalid = valid.clone();
        change(&mut invalid, |f| {
            Arc::make_mut(f.lfts[1].as_mut().unwrap()).set(Lid(11), PortNum(9))
        });
        let fault = SwitchHintError::PortOutOfRange {
            lid: Lid(11),
            port: PortNum(9),
            ports: 4,
        };
        assert_eq!(error(&topo, &invalid), fault.at(SwitchIdx(1)));

        let mut invalid = valid.clone();
        change(&mut invalid, |f| {
            f.lfts[3] = Some(Arc::new(Lft::drop_all(Lid(20))))
        });
        let fault = SwitchHintError::NoRoute(Lid(4));
        assert_eq!(error(&topo, &invalid), fault.at(SwitchIdx(3)));

        let mut invalid = valid;
        change(&mut invalid, |f| {
            f.vl_plan = Some(VlPlan::modulo(4, PathSl::Uniform(0)))
        });
        let two_vl_request = RoutingRequest::new(&topo).with_hints(&invalid).with_vls(2);
        assert_eq!(
            File.route(&two_vl_request).unwrap_err(),
            RouteError::TooFewVls {
                needed: 4,
                usable: 2
            }
        );
    }
}
