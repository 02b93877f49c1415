//! Tables of OpenSM dump files, converted to current LIDs and switches.

use std::sync::Arc;

use ferrosm_mad::ids::{Lid, PortNum};
use ferrosm_routing::hints::FileTables;
use ferrosm_routing::vl_plan::{PathSl, SLS, SlToVl, SlToVlMaps};
use ferrosm_routing::{Lft, VlPlan};

use super::guid_index::GuidIndex;
use super::warning::HintWarning;
use super::{AbsentGuids, GuidTables};

pub(super) fn resolve(
    file: &GuidTables,
    index: &GuidIndex,
    warnings: &mut Vec<HintWarning>,
) -> FileTables {
    let lid_map = current_lids(file, index, warnings);
    let mut missing = AbsentGuids::new("lfts_file", "switch");
    let mut lfts = vec![None; index.num_ports().len()];
    for (guid, entries) in &file.lfts {
        if let Some((switch, _)) = missing.record(guid.0, index.find_switch(guid.0)) {
            let mut table = Lft::drop_all(Lid(index.top_lid()));
            for (&port, current) in entries.iter().zip(&lid_map) {
                if let Some(current) = current
                    && port != PortNum::DROP.raw()
                {
                    table.set(*current, PortNum(port));
                }
            }
            lfts[switch.index()] = Some(Arc::new(table));
        }
    }
    missing.add_warning(warnings);
    FileTables {
        lfts,
        vl_plan: vl_plan(file, &lid_map, index, warnings),
    }
}

/// The current LID for each LID (index) of the dump: that of the port that owned it; `None` if that
/// port is absent or has no LID.
fn current_lids(
    file: &GuidTables,
    index: &GuidIndex,
    warnings: &mut Vec<HintWarning>,
) -> Vec<Option<Lid>> {
    let mut missing = AbsentGuids::new("lfts_file", "port");
    let longest = |rows: &mut dyn Iterator<Item = usize>| rows.max().unwrap_or(0);
    let top = longest(&mut file.lfts.iter().map(|(_, e)| e.len()))
        .max(longest(&mut file.path_sl.iter().map(|(_, r)| r.len())));
    let (mut elsewhere, mut taken) = (0, 0);
    let lid_map = (0u16..=u16::MAX).take(top).map(|lid| {
        let Some(owner) = file.owners.get(usize::from(lid)).copied().flatten() else {
            return Some(Lid(lid));
        };
        let owner_port = index.find_end_port(owner.0).filter(|e| e.lid.is_unicast());
        if owner_port.is_none() && index.owner(lid).is_some_and(|current| current != owner.0) {
            taken += 1;
        }
        let end_port = missing.record(owner.0, owner_port)?;
        let base = end_port.lid.raw();
        if (u32::from(base)..u32::from(base) + u32::from(end_port.count)).contains(&u32::from(lid))
        {
            return Some(Lid(lid));
        }
        elsewhere += 1;
        Some(Lid(base + (lid & (end_port.count - 1))))
    });
    let lid_map = lid_map.collect();
    missing.add_warning(warnings);
    if elsewhere > 0 {
        warnings.push(HintWarning::LidsMoved(elsewhere));
    }
    if taken > 0 {
        warnings.push(HintWarning::LidsTaken(taken));
    }
    lid_map
}

/// The VL plan of the files; `None` if they contain no SLs or SLtoVL tables.
fn vl_plan(
    file: &GuidTables,
    lid_map: &[Option<Lid>],
    index: &GuidIndex,
    warnings: &mut Vec<HintWarning>,
) -> Option<VlPlan> {
    if file.sl2vl.is_empty() && file.path_sl.is_empty() {
        return None;
    }
    let path_sl = path_sl(file, lid_map, index, warnings);
    let (sl2vl, max_sl) = if file.sl2vl.is_empty() {
        // Without SLtoVL tables SL n travels on VL n, as in ibdmchk.
        let sls = file.path_sl.iter().flat_map(|(_, row)| row.iter());
        let sls = sls.filter(|sl| **sl != GuidTables::NO_SL).max();
        (SlToVl::Modulo, sls.copied().unwrap_or(0))
    } else {
        maps(file, index, warnings)
    };
    Some(VlPlan {
        vls: max_sl + 1,
        path_sl,
        sl_to_vl: sl2vl,
    })
}

fn path_sl(
    file: &GuidTables,
    lid_map: &[Option<Lid>],
    index: &GuidIndex,
    warnings: &mut Vec<HintWarning>,
) -> PathSl {
    if file.path_sl.is_empty() {
        return PathSl::Uniform(0);
    }
    let top = usize::from(index.top_lid()) + 1;
    let mut missing = AbsentGuids::new("path_sl_file", "node");
    let mut rows: Vec<Option<Vec<u8>>> = vec![None; index.num_ports().len()];
    let mut clashes = 0u64;
    for (guid, sls) in &file.path_sl {
        let switch = index
            .find_switch(guid.0)
            .map(|(s, _)| s)
            .or_else(|| index.attached_switch(guid.0));
        let Some(switch) = missing.record(guid.0, switch) else {
            continue;
        };
        let row = rows[switch.index()].get_or_insert_with(|| vec![GuidTables::NO_SL; top]);
        for (&sl, current) in sls.iter().zip(lid_map) {
            let Some(entry) = current.and_then(|l| row.get_mut(usize::from(l.raw()))) else {
                continue;
            };
            if sl == GuidTables::NO_SL || *entry == sl {
                continue;
            }
            if *entry == GuidTables::NO_SL {
                *entry = sl;
            } else {
                clashes += 1;
            }
        }
    }
    missing.add_warning(warnings);
    if clashes > 0 {
        warnings.push(HintWarning::SlClashes(clashes));
    }
    let finish = |row: Option<Vec<u8>>| -> Arc<[u8]> {
        let sls = row.unwrap_or_default().into_iter();
        sls.map(|sl| if sl == GuidTables::NO_SL { 0 } else { sl })
            .collect()
    };
    PathSl::BySwitchAndLid(rows.into_iter().map(finish).collect())
}

/// The SLtoVL maps of all switches, and the highest data VL in them. A pair of ports that is not in
/// the file drops.
fn maps(file: &GuidTables, index: &GuidIndex, warnings: &mut Vec<HintWarning>) -> (SlToVl, u8) {
    let mut missing = AbsentGuids::new("sl2vl_file", "switch");
    let drop_all = |ports: &u8| SlToVlMaps::uniform(*ports, [15; SLS]);
    let mut switches: Vec<SlToVlMaps> = index.num_ports().iter().map(drop_all).collect();
    let mut max_vl = 0;
    for (guid, pairs) in &file.sl2vl {
        let Some((switch, _)) = index.find_switch(guid.0) else {
            // The dump lists CAs too; their maps follow from the VL plan.
            if index.find_end_port(guid.0).is_none() && !index.is_node(guid.0) {
                missing.record(guid.0, None::<()>);
            }
            continue;
        };
        for (input, output, map) in pairs {
            switches[switch.index()].set(*input, *output, *map);
            max_vl = map
                .iter()
                .filter(|vl| **vl < 15)
                .fold(max_vl, |m, vl| m.max(*vl));
        }
    }
    missing.add_warning(warnings);
    (SlToVl::PerPorts(switches), max_vl)
}

#[cfg(test)]
mod tests {
    use ferrosm_mad::ids::{NodeGuid, PortGuid};
    use ferrosm_routing::SwitchIdx;

    use super::super::tests::{A, guid_index};
    use super::super::{GuidHints, resolve};
    use super::*;

    /// The owner of LID 2 in the dump has the current LIDs 4 and 5; the owner of LID 3 is absent.
    #[test]
    fn dump_entries_follow_port_guids() {
        let guid_hints = GuidHints {
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
        let (hints, warnings) = resolve(&guid_hints, &guid_index());
        let file = hints.file.unwrap();
        let table = file.lfts[0].as_ref().unwrap();
        let ports: Vec<u8> = (0..8).map(|l| table.get(Lid(l)).raw()).collect();
        assert_eq!(ports, [255, 0, 255, 255, 3, 255, 255, 2]);
        assert!(file.lfts[1].is_none() && file.vl_plan.is_none());
        assert_eq!(warnings.len(), 3, "{warnings:?}");
    }

    #[test]
    fn dump_sls_are_by_switch_and_lid() {
        let mut map = [15; SLS];
        map[..2].copy_from_slice(&[1, 0]);
        let row = |sl: u8| -> Arc<[u8]> { vec![255, 255, 255, 255, sl, sl, 255, 1].into() };
        let guid_hints = GuidTables {
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
            file: Some(Arc::new(guid_hints)),
            ..GuidHints::default()
        };
        let (hints, warnings) = resolve(&hints, &guid_index());
        let vl_plan = hints.file.unwrap().vl_plan.clone().unwrap();
        assert_eq!(vl_plan.vls, 2);
        assert_eq!(vl_plan.vl(SwitchIdx(0), PortNum(1), PortNum(2), 0), 1);
        assert_eq!(
            vl_plan.vl(SwitchIdx(1), PortNum(1), PortNum(2), 0),
            15,
            "no entry"
        );
        let PathSl::BySwitchAndLid(rows) = &vl_plan.path_sl else {
            panic!("unexpected form of path SLs")
        };
        assert_eq!(&rows[0][..], [0, 0, 0, 0, 3, 3, 0, 1]);
        assert_eq!(&rows[1][..], [0, 0, 0, 0, 1, 1, 0, 1], "first entry used");
        assert_eq!(warnings, [HintWarning::SlClashes(2)]);
    }
}
