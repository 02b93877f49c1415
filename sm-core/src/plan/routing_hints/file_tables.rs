//! Tables of dumps, with the LIDs and ports that their GUIDs have today.

use std::sync::Arc;

use ferrosm_mad::ids::{Lid, PortNum};
use ferrosm_routing::hints::FileTables;
use ferrosm_routing::vl_plan::{PathSl, SLS, SlToVl, SlToVlMaps};
use ferrosm_routing::{Lft, VlPlan};

use super::guid_index::GuidIndex;
use super::{GuidTables, Missing};

pub(super) fn resolve(
    said: &GuidTables,
    places: &GuidIndex,
    notes: &mut Vec<String>,
) -> FileTables {
    let moved = moved_lids(said, places, notes);
    let mut missing = Missing::new("lfts_file", "switch");
    let mut lfts = vec![None; places.num_ports().len()];
    for (guid, entries) in &said.lfts {
        if let Some((switch, _)) = missing.note(guid.0, places.find_switch(guid.0)) {
            let mut table = Lft::drop_all(Lid(places.top_lid()));
            for (&port, now) in entries.iter().zip(&moved) {
                if let Some(now) = now
                    && port != PortNum::DROP.raw()
                {
                    table.set(*now, PortNum(port));
                }
            }
            lfts[switch.index()] = Some(Arc::new(table));
        }
    }
    missing.tell(notes);
    FileTables {
        lfts,
        vl_plan: lanes(said, &moved, places, notes),
    }
}

/// The LID that each LID (index) of the dump is today: that of the port that had it then. `None` where that port is
/// gone, or where another port has the LID now.
fn moved_lids(said: &GuidTables, places: &GuidIndex, notes: &mut Vec<String>) -> Vec<Option<Lid>> {
    let mut missing = Missing::new("lfts_file", "port");
    let longest = |rows: &mut dyn Iterator<Item = usize>| rows.max().unwrap_or(0);
    let top = longest(&mut said.lfts.iter().map(|(_, e)| e.len()))
        .max(longest(&mut said.path_sl.iter().map(|(_, r)| r.len())));
    let (mut elsewhere, mut taken) = (0, 0);
    let moved = (0u16..=u16::MAX).take(top).map(|lid| {
        let Some(owner) = said.owners.get(usize::from(lid)).copied().flatten() else {
            return Some(Lid(lid));
        };
        let found = places.find_end(owner.0).filter(|e| e.lid.is_unicast());
        if found.is_none() && places.owner(lid).is_some_and(|now| now != owner.0) {
            taken += 1;
        }
        let end = missing.note(owner.0, found)?;
        let base = end.lid.raw();
        if (u32::from(base)..u32::from(base) + u32::from(end.count)).contains(&u32::from(lid)) {
            return Some(Lid(lid));
        }
        elsewhere += 1;
        Some(Lid(base + (lid & (end.count - 1))))
    });
    let moved = moved.collect();
    missing.tell(notes);
    if elsewhere > 0 {
        notes.push(format!(
            "lfts_file: {elsewhere} LIDs of the file belong to other ports now, and were followed by port GUID"
        ));
    }
    if taken > 0 {
        notes.push(format!(
            "lfts_file: {taken} LIDs of ports that are gone belong to others now, and were left out"
        ));
    }
    moved
}

/// The lanes of the files; `None` where they say nothing of lanes.
fn lanes(
    said: &GuidTables,
    moved: &[Option<Lid>],
    places: &GuidIndex,
    notes: &mut Vec<String>,
) -> Option<VlPlan> {
    if said.sl2vl.is_empty() && said.path_sl.is_empty() {
        return None;
    }
    let path_sl = path_sl(said, moved, places, notes);
    let (sl2vl, most) = if said.sl2vl.is_empty() {
        // As ibdmchk has it: without tables SL n travels on VL n.
        let most = said.path_sl.iter().flat_map(|(_, row)| row.iter());
        let most = most.filter(|sl| **sl != GuidTables::NO_SL).max();
        (SlToVl::Modulo, most.copied().unwrap_or(0))
    } else {
        maps(said, places, notes)
    };
    Some(VlPlan {
        vls: most + 1,
        path_sl,
        sl2vl,
    })
}

fn path_sl(
    said: &GuidTables,
    moved: &[Option<Lid>],
    places: &GuidIndex,
    notes: &mut Vec<String>,
) -> PathSl {
    if said.path_sl.is_empty() {
        return PathSl::Uniform(0);
    }
    let top = usize::from(places.top_lid()) + 1;
    let mut missing = Missing::new("path_sl_file", "node");
    let mut rows: Vec<Option<Vec<u8>>> = vec![None; places.num_ports().len()];
    let mut clashes = 0u64;
    for (guid, sls) in &said.path_sl {
        let switch = places
            .find_switch(guid.0)
            .map(|(s, _)| s)
            .or_else(|| places.beside(guid.0));
        let Some(switch) = missing.note(guid.0, switch) else {
            continue;
        };
        let row = rows[switch.index()].get_or_insert_with(|| vec![GuidTables::NO_SL; top]);
        for (&sl, now) in sls.iter().zip(moved) {
            let Some(place) = now.and_then(|l| row.get_mut(usize::from(l.raw()))) else {
                continue;
            };
            if sl == GuidTables::NO_SL || *place == sl {
                continue;
            }
            if *place == GuidTables::NO_SL {
                *place = sl;
            } else {
                clashes += 1;
            }
        }
    }
    missing.tell(notes);
    if clashes > 0 {
        notes.push(format!(
            "path_sl_file: {clashes} times sources on one switch have different SLs to one LID; the first one is taken"
        ));
    }
    let finish = |row: Option<Vec<u8>>| -> Arc<[u8]> {
        let said = row.unwrap_or_default().into_iter();
        said.map(|sl| if sl == GuidTables::NO_SL { 0 } else { sl })
            .collect()
    };
    PathSl::BySwitchAndLid(rows.into_iter().map(finish).collect())
}

/// The maps of all switches, and the highest data VL in them. A pair of ports that is not in the file drops.
fn maps(said: &GuidTables, places: &GuidIndex, notes: &mut Vec<String>) -> (SlToVl, u8) {
    let mut missing = Missing::new("sl2vl_file", "switch");
    let drop_all = |ports: &u8| SlToVlMaps::uniform(*ports, [15; SLS]);
    let mut switches: Vec<SlToVlMaps> = places.num_ports().iter().map(drop_all).collect();
    let mut most = 0;
    for (guid, pairs) in &said.sl2vl {
        let Some((switch, _)) = places.find_switch(guid.0) else {
            // The dump lists CAs too; their maps follow from the lanes.
            if places.find_end(guid.0).is_none() && !places.is_node(guid.0) {
                missing.note(guid.0, None::<()>);
            }
            continue;
        };
        for (input, output, map) in pairs {
            switches[switch.index()].set(*input, *output, *map);
            most = map
                .iter()
                .filter(|vl| **vl < 15)
                .fold(most, |m, vl| m.max(*vl));
        }
    }
    missing.tell(notes);
    (SlToVl::PerPorts(switches), most)
}

#[cfg(test)]
mod tests {
    use ferrosm_mad::ids::{NodeGuid, PortGuid};
    use ferrosm_routing::SwitchIdx;

    use super::super::tests::{A, places};
    use super::super::{GuidHints, resolve};
    use super::*;

    /// The port that had LID 2 when the dump was written has LID 4 and 5 now; the one that had 3 is gone.
    #[test]
    fn rows_of_a_dump_follow_their_ports() {
        let said = GuidHints {
            file: Some(Arc::new(GuidTables {
                lfts: vec![
                    (A, Box::new([255, 0, 3, 9, 255, 255, 255, 2])),
                    (NodeGuid(0x99), Box::new([255; 8])),
                ],
                owners: vec![None, None, Some(PortGuid(0x11)), Some(PortGuid(0x77))],
                ..GuidTables::default()
            })),
            ..GuidHints::default()
        };
        let (hints, notes) = resolve(&said, &places());
        let file = hints.file.unwrap();
        let table = file.lfts[0].as_ref().unwrap();
        let ports: Vec<u8> = (0..8).map(|l| table.get(Lid(l)).raw()).collect();
        assert_eq!(ports, [255, 0, 255, 255, 3, 255, 255, 2]);
        assert!(file.lfts[1].is_none() && file.vl_plan.is_none());
        assert_eq!(notes.len(), 3, "{notes:?}");
    }

    #[test]
    fn lanes_of_a_dump_are_by_switch_and_lid() {
        let mut map = [15; SLS];
        map[..2].copy_from_slice(&[1, 0]);
        let row = |sl: u8| -> Arc<[u8]> { vec![255, 255, 255, 255, sl, sl, 255, 1].into() };
        let said = GuidTables {
            sl2vl: vec![
                (PortGuid(0xA1), vec![(PortNum(1), PortNum(2), map)]),
                (PortGuid(0x21), vec![(PortNum(0), PortNum(0), [0; SLS])]),
            ],
            path_sl: vec![
                (PortGuid(0x11), row(3)),
                (PortGuid(0x21), row(1)),
                (PortGuid(0x20), row(2)),
            ],
            ..GuidTables::default()
        };
        let hints = GuidHints {
            file: Some(Arc::new(said)),
            ..GuidHints::default()
        };
        let (hints, notes) = resolve(&hints, &places());
        let lanes = hints.file.unwrap().vl_plan.clone().unwrap();
        assert_eq!(lanes.vls, 2);
        assert_eq!(lanes.vl(SwitchIdx(0), PortNum(1), PortNum(2), 0), 1);
        assert_eq!(
            lanes.vl(SwitchIdx(1), PortNum(1), PortNum(2), 0),
            15,
            "silent"
        );
        let PathSl::BySwitchAndLid(rows) = &lanes.path_sl else {
            panic!("another kind")
        };
        assert_eq!(&rows[0][..], [0, 0, 0, 0, 3, 3, 0, 1]);
        assert_eq!(
            &rows[1][..],
            [0, 0, 0, 0, 1, 1, 0, 1],
            "the first one stands"
        );
        assert_eq!(notes.len(), 1, "{notes:?}");
        assert!(notes[0].contains("2 times"), "{notes:?}");
    }
}
