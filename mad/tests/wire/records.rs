//! Comparison of all SA records with the specification's component tables, and their encoding and
//! decoding.
//!
//! The tables (component number, first bit, width) are independent of the layouts, so that they
//! detect wrong offsets.
#![expect(clippy::unwrap_used, reason = "a failing helper fails its test")]

use ferrosm_mad::sa::component::RECORD_LEN_MAX;
use ferrosm_mad::sa::inform::InformInfoRecord;
use ferrosm_mad::sa::multicast::McMemberRecord;
use ferrosm_mad::sa::path::{MultiPathRecord, PathRecord, TraceRecord};
use ferrosm_mad::sa::service::ServiceRecord;
use ferrosm_mad::sa::tables::{
    GuidInfoRecord, LftRecord, LinkRecord, MftRecord, NodeRecord, PKeyTableRecord, PortInfoRecord,
    SlToVlRecord, SmInfoRecord, SwitchInfoRecord, VlArbRecord,
};
use ferrosm_mad::sa::{SaRecord, Template};
use ferrosm_mad::wire::{Field, get_bits, set_bits};
use proptest::prelude::*;

/// Parses `number bit width` of each component, separated by commas.
fn table(text: &str) -> Vec<(u32, usize, usize)> {
    text.split(',')
        .map(|row| {
            let n: Vec<usize> = row.split_whitespace().map(|w| w.parse().unwrap()).collect();
            (u32::try_from(n[0]).unwrap(), n[1], n[2])
        })
        .collect()
}

/// The components of a layout, one row each.
fn rows(fields: &[Field]) -> Vec<(u32, usize, usize)> {
    let mut rows: Vec<_> = fields
        .iter()
        .filter(|f| f.component_mask != 0)
        .flat_map(|f| {
            (0..64)
                .filter(|n| f.component_mask >> n & 1 == 1)
                .map(|n| (n, f.bit, f.width))
        })
        .collect();
    rows.sort_unstable();
    rows
}

fn check<R: SaRecord>(stride: usize, expected: &str) {
    assert_eq!(R::STRIDE, stride);
    assert_eq!(rows(R::COMPONENTS), table(expected));
}

#[test]
fn components_have_the_specified_positions() {
    check::<NodeRecord>(
        112,
        "0 0 16, 2 32 8, 3 40 8, 4 48 8, 5 56 8, 6 64 64, 7 128 64, 8 192 64, 9 256 16, 10 272 16, 11 288 32, 12 320 8,
         13 328 24, 14 352 512",
    );
    check::<PortInfoRecord>(
        72,
        "0 0 16, 1 16 8, 2 24 8, 3 32 64, 4 96 64, 5 160 16, 6 176 16, 7 192 32, 8 224 16, 9 240 16, 10 256 8, 11 264 8,
         12 272 8, 13 280 8, 14 288 4, 15 292 4, 16 296 4, 17 300 4, 18 304 2, 20 309 3, 21 312 4, 22 316 4, 23 320 4,
         24 324 4, 25 328 4, 26 332 4, 27 336 8, 28 344 8, 29 352 8, 30 360 4, 31 364 4, 32 368 3, 33 371 5, 34 376 4,
         35 380 1, 36 381 1, 37 382 1, 38 383 1, 39 384 16, 40 400 16, 41 416 16, 42 432 8, 43 440 1, 45 443 5, 47 451 5,
         48 456 4, 49 460 4, 50 464 16, 52 488 24, 53 512 16, 54 528 4, 55 532 4, 57 539 5",
    );
    check::<SlToVlRecord>(16, "0 0 16, 1 16 8, 2 24 8, 3 64 64");
    check::<SwitchInfoRecord>(
        24,
        "0 0 16, 2 32 16, 3 48 16, 4 64 16, 5 80 16, 6 96 8, 7 104 8, 8 112 8, 9 120 5, 10 125 1, 11 126 2, 12 128 16,
         13 144 16, 14 160 1, 15 161 1, 16 162 1, 17 163 1, 18 164 1, 20 176 16",
    );
    check::<LftRecord>(72, "0 0 16, 1 16 16, 3 64 512");
    check::<MftRecord>(72, "0 0 16, 1 16 4, 3 23 9, 5 64 512");
    check::<SmInfoRecord>(32, "0 0 16, 2 32 64, 3 96 64, 4 160 32, 5 192 4, 6 196 4");
    check::<LinkRecord>(8, "0 0 16, 1 16 8, 2 24 8, 3 32 16");
    check::<GuidInfoRecord>(
        72,
        "0 0 16, 1 16 8, 4 64 64, 5 128 64, 6 192 64, 7 256 64, 8 320 64, 9 384 64, 10 448 64, 11 512 64",
    );
    check::<PKeyTableRecord>(72, "0 0 16, 1 16 16, 2 32 8, 4 64 512");
    check::<VlArbRecord>(72, "0 0 16, 1 16 8, 2 24 8, 4 64 512");
    check::<PathRecord>(
        64,
        "0 0 64, 1 0 64, 2 64 128, 3 192 128, 4 320 16, 5 336 16, 6 352 1, 8 356 20, 9 376 8, 10 384 8, 11 392 1, 12 393 7,
         13 400 16, 14 416 12, 15 428 4, 16 432 2, 17 434 6, 18 440 2, 19 442 6, 20 448 2, 21 450 6, 22 456 8",
    );
    assert_eq!(
        rows(MultiPathRecord::FIELDS),
        table(
            "0 0 1, 2 4 20, 3 24 8, 4 32 8, 5 40 1, 6 41 7, 7 48 16, 8 64 12, 9 76 4, 10 80 2, 11 82 6, 12 88 2, 13 90 6,
             14 96 2, 15 98 6, 16 104 8, 17 112 2, 19 120 8, 20 128 8, 21 136 56"
        )
    );
    check::<TraceRecord>(
        48,
        "0 0 64, 1 64 16, 3 88 8, 4 96 64, 5 160 64, 6 224 64, 7 288 64, 8 352 8, 9 360 8",
    );
    check::<McMemberRecord>(
        56,
        "0 0 128, 1 128 128, 2 256 32, 3 288 16, 4 304 2, 5 306 6, 6 312 8, 7 320 16, 8 336 2, 9 338 6, 10 344 2, 11 346 6,
         12 352 4, 13 356 20, 14 376 8, 15 384 4, 16 388 4, 17 392 1",
    );
    check::<InformInfoRecord>(
        64,
        "0 0 128, 1 128 16, 3 192 128, 4 320 16, 5 336 16, 7 368 8, 8 376 8, 9 384 16, 10 400 16, 11 416 24, 13 443 5,
         15 456 24",
    );
    let mut service = "0 0 64, 1 64 128, 2 192 16, 4 224 32, 5 256 128, 6 384 512".to_owned();
    for (first, bit, width, n) in [
        (7, 896, 8, 16),
        (23, 1024, 16, 8),
        (31, 1152, 32, 4),
        (35, 1280, 64, 2),
    ] {
        for i in 0..n {
            service += &format!(", {} {} {width}", first + i, bit + i * width);
        }
    }
    check::<ServiceRecord>(176, &service);
}

/// Inverting a bit of a record affects exactly the templates that select a component with that bit.
fn check_inverted_bit<R: SaRecord>(record: &[u8], mask: u64, bit: usize) {
    let template = Template::new::<R>(mask, record);
    assert!(template.matches(record));
    let mut other = record.to_vec();
    set_bits(&mut other, bit, 1, 1 - get_bits(record, bit, 1));
    let selected = R::COMPONENTS
        .iter()
        .any(|f| f.component_mask & mask != 0 && (f.bit..f.bit + f.width).contains(&bit));
    assert_eq!(
        template.matches(&other),
        !selected,
        "bit {bit} of {mask:#x}"
    );
}

proptest! {
    #[test]
    fn templates_compare_selected_components_only(
        record in prop::collection::vec(any::<u8>(), RECORD_LEN_MAX),
        mask: u64,
        at in 0usize..RECORD_LEN_MAX * 8,
    ) {
        macro_rules! all {
            ($($r:ty)*) => {$( check_inverted_bit::<$r>(&record[..<$r>::STRIDE], mask, at % (<$r>::STRIDE * 8)); )*};
        }
        all!(NodeRecord PortInfoRecord SlToVlRecord SwitchInfoRecord LftRecord MftRecord SmInfoRecord LinkRecord
             GuidInfoRecord PKeyTableRecord VlArbRecord PathRecord TraceRecord McMemberRecord InformInfoRecord ServiceRecord);
    }
}
