//! Recordings of SM runs replay to the same outputs. Replay detects differences, corruption and
//! truncation.

use ferrosm_core::{Command, SmConfig};
use ferrosm_mad::attr::SmState;
use ferrosm_mad::ids::MKey;
use ferrosm_recording::keys::KeyMask;
use ferrosm_recording::mask::copy_masked;
use ferrosm_recording::{Ending, RecordingExtent, Replay, ReplayError};
use ferrosm_tests::lab::Lab;
use ferrosm_tests::lab::recording::{record_managers, record_managers_to};
use ferrosm_tests::random_runs::masters::{self, FIRST_SEED_HOSTS, FIRST_SEED_PHASES};
use ferrosm_tests::random_runs::seeds::Run;
use ferrosm_tests::random_runs::swarm::{
    self, FIRST_SEED_RARE_FAULTS, FIRST_SEED_STORES, FIRST_SEED_VLS,
};

/// Replays a recording and returns the number of outputs.
fn replay(recording: &[u8]) -> Result<(Ending, usize), ReplayError> {
    let mut outputs = 0;
    let ending = Replay::open(recording)?.run(&mut |_, _| outputs += 1)?;
    Ok((ending, outputs))
}

fn swarm_recordings(seed: u64) -> Vec<Vec<u8>> {
    record_managers(|| {
        let _hash = swarm::run_faults(seed);
    })
}

fn assert_replays(run: &str, recordings: &[Vec<u8>]) {
    assert!(!recordings.is_empty(), "{run}");
    for (i, recording) in recordings.iter().enumerate() {
        match replay(recording) {
            Ok((Ending::Complete, outputs)) => assert!(outputs > 0, "{run}, SM {i}"),
            other => panic!("{run}, SM {i}: {other:?}"),
        }
    }
}

/// These seeds cover restarts, use of restored views, store faults and VL changes.
#[test]
fn swarm_runs_replay_to_the_same_outputs() {
    for first in [0, FIRST_SEED_RARE_FAULTS, FIRST_SEED_VLS, FIRST_SEED_STORES] {
        for seed in first..first + 3 {
            assert_replays(&format!("swarm seed {seed}"), &swarm_recordings(seed));
        }
    }
}

/// These seeds cover replicas, handovers and SA clients.
#[test]
fn runs_with_several_managers_replay_to_the_same_outputs() {
    for seed in [
        0,
        1,
        FIRST_SEED_HOSTS,
        FIRST_SEED_HOSTS + 1,
        FIRST_SEED_PHASES,
    ] {
        let recordings = record_managers(|| {
            let _run = masters::run(seed, Run::Checked);
        });
        assert_replays(&format!("masters seed {seed}"), &recordings);
    }
}

/// A change of any byte makes the replay fail or end with different outputs.
#[test]
fn changed_byte_is_detected() {
    let recording = swarm_recordings(0).swap_remove(0);
    let step = recording.len() / 60 + 1;
    for at in (0..recording.len()).step_by(step) {
        let mut changed = recording.clone();
        changed[at] ^= 0x10;
        let end = replay(&changed);
        // A corrupted length may extend past the end of the file, which reads as truncation.
        let is_detected = !matches!(end, Ok((Ending::Complete, _)));
        assert!(is_detected, "byte {at}: {end:?}");
    }
}

/// Offsets of the entries, computed from their lengths.
fn entries(recording: &[u8]) -> Vec<usize> {
    let mut at = 20;
    let mut all = Vec::new();
    while let Some(len) = recording[at..].first_chunk() {
        all.push(at);
        at += 12 + u32::from_le_bytes(*len) as usize;
    }
    all
}

#[test]
fn truncated_recording_replays_up_to_its_last_complete_entry() {
    let recording = swarm_recordings(0).swap_remove(0);
    let entries = entries(&recording);
    for &at in entries.iter().skip(1).step_by(entries.len() / 8 + 1) {
        for cut in [at, at + 5, at + 12] {
            let (ending, _) = replay(&recording[..cut]).unwrap();
            assert_eq!(ending, Ending::Truncated(at), "cut at {cut}");
        }
    }
}

/// With an input missing, the outputs differ.
#[test]
fn missing_inputs_make_outputs_differ() {
    let recording = swarm_recordings(0).swap_remove(0);
    let entries = entries(&recording);
    let from = entries[1];
    let to = entries[entries.len() / 2];
    let cut = [&recording[..from], &recording[to..]].concat();
    let end = replay(&cut);
    assert!(
        matches!(end, Err(ReplayError::OutputsDiffer { entry: 1, .. })),
        "{end:?}"
    );
}

#[test]
fn other_files_and_versions_are_rejected() {
    assert_eq!(replay(b"").unwrap_err(), ReplayError::NotARecording);
    assert_eq!(
        replay(b"ferrosm: no recording").unwrap_err(),
        ReplayError::NotARecording
    );
    let newer = b"ferrosm-recording\n\x09\x01";
    assert_eq!(replay(newer).unwrap_err(), ReplayError::Version(0x109));
}

/// The bytes of a key, in both orders.
fn contains_key(bytes: &[u8], key: u64) -> bool {
    let orders = [key.to_be_bytes(), key.to_le_bytes()];
    bytes
        .windows(8)
        .any(|window| orders.iter().any(|order| window == order))
}

/// The role, and the numbers of nodes and links, at the end of a recording.
fn end_state(recording: &[u8]) -> Result<(SmState, usize, usize), ReplayError> {
    let mut replay = Replay::open(recording)?;
    let ending = replay.run(&mut |_, _| {})?;
    assert_eq!(ending, Ending::Complete);
    let fabric = replay.manager().fabric();
    Ok((
        replay.manager().role(),
        fabric.node_count(),
        fabric.link_count(),
    ))
}

/// Recordings that are always on: smaller, replayable, and so are their copies without keys.
#[test]
fn small_recordings_and_their_copies_without_keys_replay() {
    const M_KEY: u64 = 0xC0FF_EE12_3456_789A;
    const SM_KEY: u64 = 0xFACE_B00C_1357_9BDF;
    let run = || {
        let cfg = SmConfig {
            m_key: MKey::new(M_KEY),
            sm_key: MKey::new(SM_KEY),
            m_key_protect_bits: 2,
            ..SmConfig::default()
        };
        let mut lab = Lab::up("fat-tree:4", 1, cfg.clone());
        let far_host = *lab.hosts().last().unwrap();
        let standby = lab.add_sm(far_host, cfg);
        lab.run_until("a standby", 60, |lab| lab.role(standby) == SmState::Standby);
        lab.command(Command::Stop);
        lab.run_until("a new master", 30, |lab| {
            lab.role(standby) == SmState::Master
        });
        lab.select(standby);
        lab.run_until_correct(30);
    };
    let large = record_managers(run);
    let small = record_managers_to(RecordingExtent::Traffic, run);
    assert_eq!((large.len(), small.len()), (2, 2));
    assert_replays("small", &small);
    for (large, small) in large.iter().zip(&small) {
        assert!(small.len() + 8 * entries(small).len() < large.len());
        for recording in [large, small] {
            assert!(contains_key(recording, M_KEY) && contains_key(recording, SM_KEY));
            let mut keys = KeyMask::default();
            let mut copy = Vec::new();
            let is_whole = copy_masked(recording, &mut keys, &mut copy, &mut || false).unwrap();
            assert!(is_whole);
            assert!(!contains_key(&copy, M_KEY) && !contains_key(&copy, SM_KEY));
            assert_eq!(end_state(&copy).unwrap(), end_state(recording).unwrap());
            assert!(keys.iter().any(|(key, _)| key == M_KEY.to_be_bytes()));
        }
    }
}
