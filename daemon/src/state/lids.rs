//! `lids.json`: who owns which LIDs, as earlier versions kept it. It is read once, into the store.

use ferrosm_core::LidMap;
use ferrosm_mad::ids::{Lid, Lmc, PortGuid};
use serde::Deserialize;

/// Name of the file.
pub(super) const FILE: &str = "lids.json";
const VERSION: u32 = 1;

/// `lids.json`.
#[derive(Deserialize)]
struct LidsFile {
    version: u32,
    /// By port GUID, in the order of GUIDs.
    ports: std::collections::BTreeMap<PortGuid, Owner>,
}

#[derive(Deserialize)]
struct Owner {
    lid: u16,
    lmc: u8,
}

/// The map, and entries that cannot be true.
pub(super) type Decoded = (LidMap, Vec<(PortGuid, &'static str)>);

pub(super) fn decode(text: &[u8]) -> Result<Decoded, String> {
    let file: LidsFile = serde_json::from_slice(text).map_err(|e| e.to_string())?;
    if file.version != VERSION {
        return Err(format!("version {} instead of {VERSION}", file.version));
    }
    let (mut map, mut dropped) = (LidMap::new(), Vec::new());
    for (guid, Owner { lid, lmc }) in file.ports {
        let last = u32::from(lid) + (1 << lmc.min(7)) - 1;
        if lmc > 7 {
            dropped.push((guid, "its LMC is above 7"));
        } else if !Lid(lid).is_unicast() || last > u32::from(Lid::UNICAST_MAX.0) {
            dropped.push((guid, "its LID is not a unicast LID"));
        } else {
            map.insert(guid, (Lid(lid), Lmc(lmc)));
        }
    }
    Ok((map, dropped))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_entries_are_left_out_and_the_others_kept() {
        let text = "{\"version\":1,\"ports\":{\"0x1\":{\"lid\":0,\"lmc\":0},\"0x2\":{\"lid\":49150,\"lmc\":1},\
                    \"0x3\":{\"lid\":49150,\"lmc\":2},\"0x4\":{\"lid\":8,\"lmc\":9}}}";
        let (map, dropped) = decode(text.as_bytes()).unwrap();
        assert_eq!(map.keys().copied().collect::<Vec<_>>(), [PortGuid(2)]);
        assert_eq!(
            dropped.iter().map(|(g, _)| g.0).collect::<Vec<_>>(),
            [1, 3, 4]
        );
    }
}
