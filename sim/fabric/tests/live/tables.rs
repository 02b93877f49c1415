//! Attributes that are read and written in blocks, and requests that agents reject.

use ferrosm_mad::attr::{
    GuidInfo, LedInfo, LftBlock, MftBlock, NodeDescription, PKeyBlock, SlToVl, VlArb, VlArbEntry,
    id,
};
use ferrosm_mad::ids::{AttrId, AttrMod, Lid, MKey, PKey, PortGuid, PortNum, Tid, Vl};
use ferrosm_mad::mad::{Address, MadOut, Method, Status};
use ferrosm_mad::smp::{self, SmpRequest};
use ferrosm_sim::spec::PortAt;
use proptest::prelude::*;

use crate::rig::{Rig, chain, path_to};

const OK: Option<Status> = Some(Status::OK);

fn read(rig: &mut Rig, node: usize, attr: AttrId, modifier: u32) -> [u8; 64] {
    let reply = rig.get(&path_to(node), attr, modifier).unwrap();
    assert_eq!(reply.mad.status(), Status::OK, "{attr} {modifier:#x}");
    *smp::data(&reply.mad)
}

#[test]
fn lft_blocks_are_read_as_written() {
    let mut rig = Rig::new(&chain(1));
    let block = LftBlock {
        ports: core::array::from_fn(|i| PortNum((i % 4) as u8)),
    };
    assert_eq!(rig.set(&path_to(1), id::LFT, 767, block.encode()), OK);
    assert_eq!(read(&mut rig, 1, id::LFT, 767), block.encode());
    assert_eq!(read(&mut rig, 1, id::LFT, 3), [0xFF; 64]);
    assert_eq!(rig.fabric.lft_block(1, 767), block.encode());
    assert_eq!(
        rig.fabric.lft_entry(1, Lid(0xBFFF)),
        PortNum(0xFF),
        "LinearFDBTop is 0"
    );
    assert_eq!(rig.fabric.counters(1).sets(id::LFT), 1);
    assert_eq!(rig.fabric.all_counters().all_sets(), 1);
}

#[test]
fn mft_masks_follow_their_position() {
    let mut spec = chain(1);
    spec.nodes[1].num_ports = 40;
    let mut rig = Rig::new(&spec);
    for (position, mask) in [(0u8, 0x0011u16), (2, 0x0102)] {
        let mut block = MftBlock { masks: [0; 32] };
        block.masks[5] = mask;
        let modifier = MftBlock::modifier(3, position).0;
        assert_eq!(rig.set(&path_to(1), id::MFT, modifier, block.encode()), OK);
        assert_eq!(read(&mut rig, 1, id::MFT, modifier), block.encode());
    }
    let ports = [0, 4, 33, 40].map(PortNum);
    assert_eq!(rig.fabric.mft_ports(1, Lid(0xC000 + 3 * 32 + 5)), ports);
    assert_eq!(rig.fabric.mft_ports(1, Lid(0xC000 + 3 * 32 + 4)), []);
}

#[test]
fn p_key_tables_start_with_the_default_partition() {
    let mut rig = Rig::new(&chain(1));
    for (node, at, modifier) in [
        (2, PortAt::new(2, 1), PKeyBlock::modifier(0, PortNum(0)).0),
        (1, PortAt::new(1, 3), PKeyBlock::modifier(0, PortNum(3)).0),
    ] {
        let mut block = PKeyBlock::decode(&read(&mut rig, node, id::PKEY_TABLE, modifier));
        assert_eq!(block.keys[..2], [PKey::DEFAULT_FULL, PKey(0)]);
        block.keys[1] = PKey(0x8001);
        assert_eq!(
            rig.set(&path_to(node), id::PKEY_TABLE, modifier, block.encode()),
            OK
        );
        assert_eq!(
            rig.fabric.pkeys(at)[..2],
            [PKey::DEFAULT_FULL, PKey(0x8001)]
        );
    }
    assert_eq!(
        rig.fabric.pkeys(PortAt::new(1, 2))[1],
        PKey(0),
        "each port has its own table"
    );
    assert_eq!(rig.fabric.pkeys(PortAt::new(2, 1)).len(), 128);
}

#[test]
fn sl_to_vl_tables_are_written_singly_or_together() {
    let mut rig = Rig::new(&chain(1));
    let table = |vl: u8| SlToVl { vls: [Vl(vl); 16] }.encode();
    let vl = |rig: &Rig, input, output| {
        rig.fabric
            .sl_to_vl(PortAt::new(1, output), input)
            .unwrap()
            .vls[9]
            .0
    };
    assert_eq!(vl(&rig, 1, 2), 1, "default: SL n maps to VL n modulo 8");
    let one = SlToVl::modifier(PortNum(1), PortNum(2)).0;
    assert_eq!(rig.set(&path_to(1), id::SL_TO_VL, one, table(5)), OK);
    assert_eq!([vl(&rig, 1, 2), vl(&rig, 2, 2), vl(&rig, 1, 3)], [5, 1, 1]);
    assert_eq!(rig.set(&path_to(1), id::SL_TO_VL, 0x2_0002, table(6)), OK);
    assert_eq!([vl(&rig, 1, 2), vl(&rig, 2, 2), vl(&rig, 1, 3)], [6, 6, 1]);
    assert_eq!(rig.set(&path_to(1), id::SL_TO_VL, 0x3_0000, table(7)), OK);
    assert_eq!([vl(&rig, 1, 2), vl(&rig, 4, 4), vl(&rig, 0, 3)], [7, 7, 7]);
    assert_eq!(rig.set(&path_to(2), id::SL_TO_VL, 0, table(3)), OK);
    assert_eq!(read(&mut rig, 2, id::SL_TO_VL, 0)[..8], [0x33; 8]);
}

#[test]
fn arbitration_guids_and_led_are_stored() {
    let mut rig = Rig::new(&chain(1));
    let mut arb = VlArb::decode(&[0; 64]);
    arb.entries[0] = VlArbEntry {
        vl: Vl(3),
        weight: 200,
    };
    let modifier = VlArb::modifier(3, PortNum(2)).0;
    assert_eq!(
        rig.set(&path_to(1), id::VL_ARBITRATION, modifier, arb.encode()),
        OK
    );
    assert_eq!(rig.fabric.vl_arb(PortAt::new(1, 2), true), Some(arb));
    assert_ne!(rig.fabric.vl_arb(PortAt::new(1, 2), false), Some(arb));
    let guids = GuidInfo {
        guids: core::array::from_fn(|i| PortGuid(0xA0 + i as u64)),
    };
    assert_eq!(rig.set(&path_to(2), id::GUID_INFO, 0, guids.encode()), OK);
    let stored = GuidInfo::decode(&read(&mut rig, 2, id::GUID_INFO, 0));
    assert_eq!(
        stored.guids[0],
        rig.fabric.port_guid(PortAt::new(2, 1)),
        "read-only"
    );
    assert_eq!(stored.guids[1..], guids.guids[1..]);
    let led = LedInfo { led_mask: true }.encode();
    assert_eq!(rig.set(&path_to(1), id::LED_INFO, 2, led), OK);
    assert!(rig.fabric.led(PortAt::new(1, 2)) && !rig.fabric.led(PortAt::new(1, 1)));
}

#[test]
fn nonexistent_blocks_are_rejected() {
    let field = Status::BAD_FIELD;
    let attribute = Status::BAD_METHOD_ATTR;
    let mut rig = Rig::new(&chain(1));
    for (node, attr, modifier, status) in [
        (1, id::LFT, 768, field),
        (1, id::LFT, u32::MAX, field),
        (1, id::MFT, 1 << 28, field),
        (1, id::MFT, 0x200, field),
        (1, id::SWITCH_INFO, 1, field),
        (1, id::PKEY_TABLE, 1, field),
        (2, id::PKEY_TABLE, 4, field),
        (1, id::PKEY_TABLE, 5 << 16, field),
        (1, id::SL_TO_VL, 0x0105, field),
        (1, id::SL_TO_VL, 0x0501, field),
        (1, id::VL_ARBITRATION, 2 << 16 | 1, field),
        (1, id::VL_ARBITRATION, 5 << 16 | 1, field),
        (1, id::VL_ARBITRATION, 1 << 16 | 5, field),
        (2, id::GUID_INFO, 4, field),
        (1, id::GUID_INFO, 1, field),
        (2, id::LFT, 0, attribute),
        (2, id::MFT, 0, attribute),
        (2, id::SWITCH_INFO, 0, attribute),
        (1, AttrId(0x1A), 0, attribute),
        (1, id::NOTICE, 0, attribute),
    ] {
        for method in [Method::Get, Method::Set] {
            let request = SmpRequest {
                method,
                attr_id: attr,
                attr_mod: AttrMod(modifier),
                m_key: MKey::NONE,
                data: [0; 64],
            };
            let reply = rig.request(&path_to(node), &request).unwrap();
            assert_eq!(reply.mad.status(), status, "{method} {attr} {modifier:#x}");
        }
    }
    assert_eq!(rig.fabric.all_counters().refused, 40);
}

#[test]
fn read_only_attributes_cannot_be_set() {
    let mut rig = Rig::new(&chain(1));
    for attr in [id::NODE_INFO, id::NODE_DESCRIPTION, id::VENDOR_DIAG] {
        let status = rig.set(&path_to(2), attr, 0, [7; 64]);
        assert_eq!(status, Some(Status::BAD_METHOD_ATTR));
    }
    assert_eq!(rig.fabric.description(2), NodeDescription::new("node 2"));
}

#[test]
fn version_is_checked_before_method() {
    let mut rig = Rig::new(&chain(1));
    for (version, method, status) in [
        (2, 1, Status::BAD_VERSION),
        (1, 3, Status::BAD_METHOD),
        (1, 0x12, Status::BAD_METHOD),
        (2, 0x12, Status::BAD_VERSION),
    ] {
        let request = SmpRequest::get(id::NODE_INFO, AttrMod(0), MKey::NONE);
        let mut mad = request.directed(&path_to(1), Tid(4));
        mad.as_bytes_mut()[2] = version;
        mad.as_bytes_mut()[3] = method;
        let (_, out) = rig.send(&MadOut {
            to: Address::DIRECTED,
            mad,
        });
        assert_eq!(
            out[0].mad.mad.status(),
            status,
            "version {version}, method {method}"
        );
        assert!(out[0].mad.mad.method().is_response());
    }
}

#[test]
fn fdr10_is_reported_by_the_vendor_attribute() {
    let mut spec = chain(1);
    spec.links[0].speed = ferrosm_mad::attr::LinkSpeed::Fdr10;
    spec.nodes[2].vendor_id = 1;
    let mut rig = Rig::new(&spec);
    for (port, active) in [(1, 1), (2, 0)] {
        let data = read(&mut rig, 1, id::MLNX_EXT_PORT_INFO, port);
        assert_eq!((data[7], data[15]), (1, active));
    }
    let other = rig.get(&path_to(2), id::MLNX_EXT_PORT_INFO, 1).unwrap();
    assert_eq!(other.mad.status(), Status::BAD_METHOD_ATTR);
}

proptest! {
    /// A table behaves as memory: an entry reads as last written.
    #[test]
    fn lft_behaves_as_memory(writes in proptest::collection::vec((0u32..20, any::<u8>()), 1..30)) {
        let mut rig = Rig::new(&chain(1));
        let mut model = std::collections::BTreeMap::new();
        for (block, fill) in writes {
            prop_assert_eq!(rig.set(&path_to(1), id::LFT, block, [fill; 64]), OK);
            model.insert(block, fill);
        }
        for block in 0..20 {
            let expected = model.get(&block).copied().unwrap_or(0xFF);
            prop_assert_eq!(read(&mut rig, 1, id::LFT, block), [expected; 64]);
        }
    }
}
