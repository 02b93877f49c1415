//! Tests of captures.

use super::*;
use ferrosm_mad::ids::{AttrId, AttrMod, MKey, Qpn, Sl, Tid};
use ferrosm_mad::mad::MadIn;
use ferrosm_mad::smp::{DrPath, SmpRequest};

fn word(b: &[u8], at: usize) -> usize {
    u32::from_le_bytes(b[at..at + 4].try_into().unwrap()) as usize
}

/// Block types and bodies; panics if the two lengths of a block differ.
fn blocks(mut file: &[u8]) -> Vec<(usize, &[u8])> {
    let mut blocks = Vec::new();
    while !file.is_empty() {
        let len = word(file, 4);
        assert_eq!(len % 4, 0);
        assert_eq!(word(file, len - 4), len);
        blocks.push((word(file, 0), &file[8..len - 4]));
        file = &file[len..];
    }
    blocks
}

fn request() -> Mad {
    let path: DrPath = "0,1".parse().unwrap();
    SmpRequest::get(AttrId(0x11), AttrMod(0), MKey::NONE).directed(&path, Tid(7))
}

struct Port(Vec<Received>);
impl MadSender for Port {
    fn send(&mut self, _: &MadOut) -> Result<(), TransportError> {
        Ok(())
    }
}
impl MadReceiver for Port {
    fn receive(&mut self, _: Duration) -> Result<Received, TransportError> {
        Ok(self.0.pop().unwrap_or(Received::TimedOut))
    }
}

/// A sent and a received MAD appear in the file with time, direction, LIDs, VL and all 256 bytes.
#[test]
fn tapped_mads_are_captured() {
    let writer = CaptureWriter::new(Vec::new(), "mlx5_0/1").unwrap();
    let tap = Tap::new(writer, || 0x0123_4567_89AB_CDEF);
    let mad = request();
    tap.wrap(Port(vec![]))
        .send(&MadOut {
            to: Address::DIRECTED,
            mad,
        })
        .unwrap();
    tap.set_local_lid(Lid(9));
    let from = Address {
        lid: Lid(5),
        qpn: Qpn(0),
        sl: Sl(3),
        path_bits: 0,
    };
    let mut receiver = tap.wrap(Port(vec![Received::Mad(MadIn { from, mad })]));
    receiver.receive(Duration::ZERO).unwrap();
    assert_eq!(
        receiver.receive(Duration::ZERO).unwrap(),
        Received::TimedOut
    );

    let file = tap.with_capture(|capture| capture.writer.out.clone());
    let blocks = blocks(&file);
    let types: Vec<usize> = blocks.iter().map(|(t, _)| *t).collect();
    assert_eq!(types, [0x0A0D_0D0A, 1, 6, 6]);
    assert_eq!(&blocks[1].1[..2], 197u16.to_le_bytes());
    assert_eq!(&blocks[1].1[12..20], b"mlx5_0/1");
    let (sent, received) = (blocks[2].1, blocks[3].1);
    assert_eq!((word(sent, 4), word(sent, 8)), (0x0123_4567, 0x89AB_CDEF));
    assert_eq!((word(sent, 12), word(sent, 16)), (306, 306));
    assert_eq!(sent[28..36], [21, 4, 1, 50, 0, 0, 1, 34]);
    let flags = 20 + 308 + 4;
    assert_eq!((word(sent, flags), word(received, flags)), (2, 1));
    let (sent, received) = (&sent[36..326], &received[36..326]);
    assert_eq!(sent[..8], [0xF0, 0x02, 0xFF, 0xFF, 0, 72, 0xFF, 0xFF]);
    assert_eq!(received[..8], [0xF0, 0x32, 0, 9, 0, 72, 0, 5]);
    assert_eq!(sent[28..284], *mad.as_bytes());
    assert_eq!(received[28..284], *mad.as_bytes());
}

/// A full disk stops the capture and is reported once; the port still sends.
#[test]
fn write_error_does_not_stop_the_port() {
    struct Full(usize);
    impl Write for Full {
        fn write(&mut self, b: &[u8]) -> io::Result<usize> {
            self.0 = self
                .0
                .checked_sub(b.len())
                .ok_or(io::ErrorKind::StorageFull)?;
            Ok(b.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let tap = Tap::new(CaptureWriter::new(Full(100), "a").unwrap(), || 0);
    let out = MadOut {
        to: Address::DIRECTED,
        mad: request(),
    };
    let mut port = tap.wrap(Port(vec![]));
    port.send(&out).unwrap();
    assert_eq!(tap.flush().unwrap_err().kind(), io::ErrorKind::StorageFull);
    port.send(&out).unwrap();
    assert!(
        tap.flush().is_ok(),
        "reported once, and nothing written after it"
    );
}
