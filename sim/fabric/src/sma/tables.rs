//! SwitchInfo, and attributes that are read and written in blocks.

use ferrosm_mad::attr::{
    CapMask, LFT_BLOCK_LEN, MFT_BLOCK_LEN, PKEY_BLOCK_LEN, PortInfo, SwitchInfo,
};
use ferrosm_mad::ids::PortNum;
use ferrosm_mad::mad::Status;
use ferrosm_mad::smp::DATA_LEN;

use super::{AttributeData, SmaRequest};
use crate::fabric::{Fabric, ModelPort, POWER_ON_SL_TO_VL, power_on_vl_arb};

/// Entries of a VL arbitration block.
const VL_ARB_BLOCK_LEN: usize = 32;
/// MulticastFDBTop without MLIDs in use.
const NO_MLID: u16 = 0xBFFF;
/// MulticastFDBTop of an SM that does not use the field (OpenSM without group members): the whole
/// table applies, as on switches without the field.
const TOP_UNUSED: u16 = 0;

/// P_Key table with the default partition only.
const POWER_ON_PKEYS: AttributeData = {
    let mut b = [0; DATA_LEN];
    b[0] = 0xFF;
    b[1] = 0xFF;
    b
};

impl Fabric {
    pub(super) fn switch_info_attribute(
        &mut self,
        r: &SmaRequest,
        data: &mut AttributeData,
    ) -> Status {
        let has_top = self.capabilities(r).has(CapMask::MULTICAST_FDB_TOP);
        let node = &mut self.nodes[r.node];
        let num_ports = node.num_ports;
        let Some(switch) = &mut node.switch else {
            return Status::BAD_METHOD_ATTR;
        };
        let info = &mut switch.info;
        let mut status = if r.modifier == 0 {
            Status::OK
        } else {
            Status::BAD_FIELD
        };
        if r.set && status.is_ok() {
            let mut requested = SwitchInfo::decode(data);
            if !has_top {
                requested.multicast_fdb_top = info.multicast_fdb_top;
            }
            if switch_info_is_legal(&requested, info, num_ports) {
                info.linear_fdb_top = requested.linear_fdb_top;
                info.default_port = requested.default_port;
                info.default_multicast_primary_port = requested.default_multicast_primary_port;
                info.default_multicast_not_primary_port =
                    requested.default_multicast_not_primary_port;
                info.life_time_value = requested.life_time_value;
                info.multicast_fdb_top = requested.multicast_fdb_top;
                info.port_state_change &= !requested.port_state_change;
            } else {
                status = Status::BAD_FIELD;
            }
        }
        *data = [0; DATA_LEN];
        info.encode_onto(data);
        if !has_top {
            SwitchInfo::multicast_fdb_top.write(data, 0);
        }
        status
    }

    pub(super) fn lft_block_attribute(
        &mut self,
        r: &SmaRequest,
        data: &mut AttributeData,
    ) -> Status {
        let Some(switch) = &mut self.nodes[r.node].switch else {
            return Status::BAD_METHOD_ATTR;
        };
        let start = r.modifier as usize * LFT_BLOCK_LEN;
        if start >= usize::from(switch.info.linear_fdb_cap) {
            return Status::BAD_FIELD;
        }
        let lft = &mut switch.lft;
        if r.set {
            if lft.len() < start + LFT_BLOCK_LEN {
                lft.resize(start + LFT_BLOCK_LEN, 0xFF);
            }
            lft[start..start + LFT_BLOCK_LEN].copy_from_slice(data);
        } else {
            match lft.get(start..start + LFT_BLOCK_LEN) {
                Some(block) => data.copy_from_slice(block),
                None => *data = [0xFF; DATA_LEN],
            }
        }
        Status::OK
    }

    pub(super) fn mft_block(&mut self, r: &SmaRequest, data: &mut AttributeData) -> Status {
        let Some(switch) = &mut self.nodes[r.node].switch else {
            return Status::BAD_METHOD_ATTR;
        };
        let first = (r.modifier & 0x1FF) as usize * MFT_BLOCK_LEN;
        let position = (r.modifier >> 28) as usize;
        if first >= usize::from(switch.info.multicast_fdb_cap)
            || position >= switch.positions
            || r.modifier & 0x0FFF_FE00 != 0
        {
            return Status::BAD_FIELD;
        }
        let positions = switch.positions;
        let mft = &mut switch.mft;
        if r.set && mft.len() < (first + MFT_BLOCK_LEN) * positions {
            mft.resize((first + MFT_BLOCK_LEN) * positions, 0);
        }
        for (i, mask) in data.chunks_exact_mut(2).enumerate() {
            let cell = mft.get_mut((first + i) * positions + position);
            if r.set {
                if let Some(cell) = cell {
                    *cell = u16::from_be_bytes([mask[0], mask[1]]);
                }
            } else {
                mask.copy_from_slice(&cell.map_or(0, |c| *c).to_be_bytes());
            }
        }
        Status::OK
    }

    /// Entries beyond the size read as empty and cannot be written. Duplicate entries are allowed,
    /// and a partition's full and limited P_Key may be side by side (docs/sm-behaviour.md, 9.10).
    pub(super) fn pkey_table(&mut self, r: &SmaRequest, data: &mut AttributeData) -> Status {
        let node = &self.nodes[r.node];
        let block = r.modifier & 0xFFFF;
        let port = r.modifier >> 16;
        let slot = if node.is_switch() {
            self.port_by_modifier(r, port)
        } else {
            // A reserved field: ibutils sets the port number for CAs, and adapters ignore it.
            Some(r.end_slot)
        };
        let Some(slot) = slot else {
            return Status::BAD_FIELD;
        };
        let cap = usize::from(node.pkey_cap(if slot == node.base { 0 } else { 1 }));
        let first = block as usize * PKEY_BLOCK_LEN;
        if first >= cap {
            return Status::BAD_FIELD;
        }
        let block = block as usize;
        let port = &mut self.ports[slot];
        if r.set {
            let pkeys = &mut port.tables_mut().pkeys;
            while pkeys.len() <= block {
                pkeys.push(if pkeys.is_empty() {
                    POWER_ON_PKEYS
                } else {
                    [0; DATA_LEN]
                });
            }
            pkeys[block] = *data;
            let len = (cap - first).min(PKEY_BLOCK_LEN);
            pkeys[block][len * 2..].fill(0);
        }
        *data = port.pkey_block(block);
        Status::OK
    }

    /// Bit 17 of the modifier writes the tables of all input ports, bit 16 those of all output
    /// ports.
    pub(super) fn sl_to_vl_table(&mut self, r: &SmaRequest, data: &mut AttributeData) -> Status {
        if !self.capabilities(r).has(CapMask::SL_MAPPING) {
            return Status::BAD_METHOD_ATTR;
        }
        let node = &self.nodes[r.node];
        let base = node.base;
        let num_ports = node.num_ports;
        let [output, input, flags, rest] = r.modifier.to_le_bytes();
        let has_optimized_sets = node
            .switch
            .as_ref()
            .is_some_and(|s| s.info.optimized_sl_to_vl != 0);
        if rest != 0 || flags & !3 != 0 || (flags != 0 && (!has_optimized_sets || !r.set)) {
            return Status::BAD_FIELD;
        }
        let table = *ferrosm_mad::wire::part::<0, 8, DATA_LEN>(data);
        if !node.is_switch() {
            if self.ports[r.end_slot].has_one_data_vl() {
                return Status::BAD_METHOD_ATTR;
            }
            if r.set {
                self.ports[r.end_slot].tables_mut().sl_to_vl = vec![table];
            }
            let vls = *self.ports[r.end_slot].sl_to_vl(0);
            *data = [0; DATA_LEN];
            data[..8].copy_from_slice(&vls);
            return Status::OK;
        }
        if input > num_ports || output > num_ports {
            return Status::BAD_FIELD;
        }
        if self.ports[base + usize::from(output)].has_one_data_vl() {
            return Status::BAD_METHOD_ATTR;
        }
        let all_inputs = flags & 2 != 0;
        let all_outputs = flags & 1 != 0;
        if r.set {
            let outputs = if all_outputs {
                0..=num_ports
            } else {
                output..=output
            };
            for output in outputs {
                let port = &mut self.ports[base + usize::from(output)];
                let by_input = &mut port.tables_mut().sl_to_vl;
                if all_inputs {
                    by_input.clear();
                    by_input.push(table);
                    continue;
                }
                if by_input.len() <= 1 {
                    let before = by_input.first().copied().unwrap_or(POWER_ON_SL_TO_VL);
                    *by_input = vec![before; usize::from(num_ports) + 1];
                }
                by_input[usize::from(input)] = table;
            }
        }
        let vls = *self.ports[base + usize::from(output)].sl_to_vl(input);
        *data = [0; DATA_LEN];
        data[..8].copy_from_slice(&vls);
        Status::OK
    }

    /// Blocks 1 and 2 are low priority, 3 and 4 high priority; the second of each exists only with
    /// a cap above 32. VL15 is not arbitrated and must not be in a table (IBA 7.6.9).
    pub(super) fn vl_arbitration(&mut self, r: &SmaRequest, data: &mut AttributeData) -> Status {
        let Some(slot) = self.port_by_modifier(r, r.modifier & 0xFFFF) else {
            return Status::BAD_FIELD;
        };
        let port = &mut self.ports[slot];
        if port.has_one_data_vl() {
            return Status::BAD_METHOD_ATTR;
        }
        let Some(block) = (r.modifier >> 16)
            .checked_sub(1)
            .and_then(|b| usize::try_from(b).ok())
            .filter(|block| port.vl_arb_len(*block) > 0)
        else {
            return Status::BAD_FIELD;
        };
        let mut status = Status::OK;
        if r.set {
            let len = port.vl_arb_len(block) * 2;
            if data[..len].chunks_exact(2).any(|e| e[0] & 0xF == 15) {
                status = Status::BAD_FIELD;
            } else {
                data[len..].fill(0);
                port.tables_mut().vl_arb[block] = Some(Box::new(*data));
            }
        }
        *data = port.vl_arb_block(block);
        status
    }

    pub(super) fn guid_info(&mut self, r: &SmaRequest, data: &mut AttributeData) -> Status {
        let port = &mut self.ports[r.end_slot];
        let cap = usize::from(PortInfo::guid_cap.read(&port.info));
        let first = r.modifier as usize * 8;
        if first >= cap {
            return Status::BAD_FIELD;
        }
        for (i, cell) in data.chunks_exact_mut(8).enumerate() {
            let index = first + i;
            if r.set && index != 0 && index < cap {
                let guid = ferrosm_mad::wire::get_bits(cell, 0, 64);
                let guids = &mut port.tables_mut().guids;
                if guids.len() <= index {
                    guids.resize(index + 1, 0);
                }
                guids[index] = guid;
            }
            cell.copy_from_slice(&port.guid_at(index).to_be_bytes());
        }
        Status::OK
    }
}

fn switch_info_is_legal(requested: &SwitchInfo, current: &SwitchInfo, num_ports: u8) -> bool {
    let is_port = |port: PortNum| port == PortNum::DROP || port.0 <= num_ports;
    let mlids = NO_MLID..=NO_MLID + current.multicast_fdb_cap;
    requested.linear_fdb_top < current.linear_fdb_cap
        && is_port(requested.default_port)
        && is_port(requested.default_multicast_primary_port)
        && is_port(requested.default_multicast_not_primary_port)
        && (requested.multicast_fdb_top == TOP_UNUSED
            || mlids.contains(&requested.multicast_fdb_top))
}

impl ModelPort {
    pub(crate) fn pkey_block(&self, block: usize) -> AttributeData {
        let written = self.tables.as_ref().and_then(|t| t.pkeys.get(block));
        written.copied().unwrap_or(if block == 0 {
            POWER_ON_PKEYS
        } else {
            [0; DATA_LEN]
        })
    }

    pub(crate) fn vl_arb_block(&self, block: usize) -> AttributeData {
        let written = self
            .tables
            .as_ref()
            .and_then(|t| t.vl_arb[block].as_deref());
        written.copied().unwrap_or_else(|| {
            let mut table = if block.is_multiple_of(2) {
                power_on_vl_arb(block)
            } else {
                [0; DATA_LEN]
            };
            table[self.vl_arb_len(block) * 2..].fill(0);
            table
        })
    }

    /// Number of entries of an arbitration block: 0 and 1 are low priority, 2 and 3 high priority.
    fn vl_arb_len(&self, block: usize) -> usize {
        let cap = match block {
            0 | 1 => PortInfo::vl_arbitration_low_cap.read(&self.info),
            2 | 3 => PortInfo::vl_arbitration_high_cap.read(&self.info),
            _ => 0,
        };
        usize::from(cap)
            .saturating_sub(block % 2 * VL_ARB_BLOCK_LEN)
            .min(VL_ARB_BLOCK_LEN)
    }

    /// Whether VL0 is the only data VL, so that SLtoVL mapping and arbitration do not apply.
    pub(crate) fn has_one_data_vl(&self) -> bool {
        PortInfo::vl_cap.read(&self.info) == 1
    }

    pub(crate) fn guid_at(&self, index: usize) -> u64 {
        if index == 0 {
            return self.guid.0;
        }
        let written = self.tables.as_ref().and_then(|t| t.guids.get(index));
        written.copied().unwrap_or(0)
    }
}
