//! Recordings of SM runs replay to the same outputs. Replay detects differences, corruption and
//! truncation.

use ferrosm_recording::{Ending, Replay, ReplayError};
use ferrosm_tests::lab::recording::record_managers;
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
    let newer = b"ferrosm-recording\n\x07\x01";
    assert_eq!(replay(newer).unwrap_err(), ReplayError::Version(0x107));
}
