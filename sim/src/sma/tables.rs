//! SwitchInfo and everything that is read and written in blocks.

use ferrosm_mad::attr::{LFT_BLOCK_LEN, MFT_BLOCK_LEN, SwitchInfo};
use ferrosm_mad::mad::Status;
use ferrosm_mad::smp::DATA_LEN;

use super::{Data, Request};
use crate::fabric::{
    CA_PKEYS, Fabric, LINEAR_FDB_CAP, MULTICAST_FDB_CAP, POWER_ON_SL_TO_VL, Port, SWITCH_PKEYS,
    power_on_vl_arb,
};

/// A port that is a member of the default partition and of no other.
const POWER_ON_PKEYS: Data = {
    let mut b = [0; DATA_LEN];
    b[0] = 0xFF;
    b[1] = 0xFF;
    b
};

impl Fabric {
    pub(super) fn switch_info_attribute(&mut self, r: &Request, data: &mut Data) -> Status {
        let Some(switch) = &mut self.nodes[r.node].switch else {
            return Status::BAD_METHOD_ATTR;
        };
        let mut status = if r.modifier == 0 {
            Status::OK
        } else {
            Status::BAD_FIELD
        };
        if r.set && status.is_ok() {
            let asked = SwitchInfo::decode(data);
            if asked.linear_fdb_top >= LINEAR_FDB_CAP {
                status = Status::BAD_FIELD;
            } else {
                let info = &mut switch.info;
                info.linear_fdb_top = asked.linear_fdb_top;
                info.default_port = asked.default_port;
                info.default_multicast_primary_port = asked.default_multicast_primary_port;
                info.default_multicast_not_primary_port = asked.default_multicast_not_primary_port;
                info.life_time_value = asked.life_time_value;
                info.multicast_fdb_top = asked.multicast_fdb_top;
                info.port_state_change &= !asked.port_state_change;
            }
        }
        *data = [0; DATA_LEN];
        switch.info.encode_onto(data);
        status
    }

    pub(super) fn lft_block_attribute(&mut self, r: &Request, data: &mut Data) -> Status {
        let Some(switch) = &mut self.nodes[r.node].switch else {
            return Status::BAD_METHOD_ATTR;
        };
        let start = r.modifier as usize * LFT_BLOCK_LEN;
        if start >= usize::from(LINEAR_FDB_CAP) {
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

    pub(super) fn mft_block(&mut self, r: &Request, data: &mut Data) -> Status {
        let Some(switch) = &mut self.nodes[r.node].switch else {
            return Status::BAD_METHOD_ATTR;
        };
        let first = (r.modifier & 0x1FF) as usize * MFT_BLOCK_LEN;
        let position = (r.modifier >> 28) as usize;
        if first >= usize::from(MULTICAST_FDB_CAP)
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

    pub(super) fn pkey_table(&mut self, r: &Request, data: &mut Data) -> Status {
        let is_switch = self.nodes[r.node].is_switch();
        let named = if is_switch {
            self.named_port(r, r.modifier >> 16)
        } else {
            Some(r.end)
        };
        let Some(slot) = named else {
            return Status::BAD_FIELD;
        };
        let block = (r.modifier & 0xFFFF) as usize;
        let cap = if is_switch { SWITCH_PKEYS } else { CA_PKEYS };
        if block >= usize::from(cap / 32) || (!is_switch && r.modifier >> 16 != 0) {
            return Status::BAD_FIELD;
        }
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
        }
        *data = port.pkey_block(block);
        Status::OK
    }

    /// Bit 17 of the modifier writes the tables of all input ports, bit 16 those of all output
    /// ports.
    pub(super) fn sl_to_vl_table(&mut self, r: &Request, data: &mut Data) -> Status {
        let node = &self.nodes[r.node];
        let (base, num_ports) = (node.base, node.num_ports);
        let [output, input, flags, rest] = r.modifier.to_le_bytes();
        if rest != 0 || flags & !3 != 0 || (flags != 0 && (!node.is_switch() || !r.set)) {
            return Status::BAD_FIELD;
        }
        let table = [
            data[0], data[1], data[2], data[3], data[4], data[5], data[6], data[7],
        ];
        if !node.is_switch() {
            if r.set {
                self.ports[r.end].tables_mut().sl_to_vl = vec![table];
            }
            let vls = *self.ports[r.end].sl_to_vl(0);
            *data = [0; DATA_LEN];
            data[..8].copy_from_slice(&vls);
            return Status::OK;
        }
        if input > num_ports || output > num_ports {
            return Status::BAD_FIELD;
        }
        let (all_inputs, all_outputs) = (flags & 2 != 0, flags & 1 != 0);
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

    pub(super) fn vl_arbitration(&mut self, r: &Request, data: &mut Data) -> Status {
        // The caps say that a priority has eight entries, so its second block does not exist.
        let block = match r.modifier >> 16 {
            1 => 0,
            3 => 2,
            _ => return Status::BAD_FIELD,
        };
        let Some(slot) = self.named_port(r, r.modifier & 0xFFFF) else {
            return Status::BAD_FIELD;
        };
        let port = &mut self.ports[slot];
        if r.set {
            port.tables_mut().vl_arb[block] = Some(Box::new(*data));
        }
        *data = port.vl_arb_block(block);
        Status::OK
    }

    pub(super) fn guid_info(&mut self, r: &Request, data: &mut Data) -> Status {
        let port = &mut self.ports[r.end];
        let cap = usize::from(port.info[50]);
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

impl Port {
    pub(crate) fn pkey_block(&self, block: usize) -> Data {
        let written = self.tables.as_ref().and_then(|t| t.pkeys.get(block));
        written.copied().unwrap_or(if block == 0 {
            POWER_ON_PKEYS
        } else {
            [0; DATA_LEN]
        })
    }

    pub(crate) fn vl_arb_block(&self, block: usize) -> Data {
        let written = self
            .tables
            .as_ref()
            .and_then(|t| t.vl_arb[block].as_deref());
        written.copied().unwrap_or_else(|| power_on_vl_arb(block))
    }

    pub(crate) fn guid_at(&self, index: usize) -> u64 {
        if index == 0 {
            return self.guid.0;
        }
        let written = self.tables.as_ref().and_then(|t| t.guids.get(index));
        written.copied().unwrap_or(0)
    }
}
