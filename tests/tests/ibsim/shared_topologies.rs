//! Real fabrics on ibsim, where the folder `../shared/topologies` is beside the workspace; elsewhere this says that
//! it is not, and passes. The largest are brought up in process by other tests: ibsim takes those below a bound.

use std::path::{Path, PathBuf};
use std::{fs, io};

use ferrosm_tests::bringup;
use ferrosm_tests::ibsim::Ibsim;
use ferrosm_tests::programs::shared_topologies;

/// Switches above which ibsim is left out.
const SWITCHES: usize = 200;

/// Files that ibsim cannot load, and why.
const REFUSED: [(&str, &str); 0] = [];

fn net_files(dir: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        if path.is_dir() {
            net_files(&path, found)?;
        } else if path.extension().is_some_and(|extension| extension == "net") {
            found.push(path);
        }
    }
    found.sort();
    Ok(())
}

/// Every real fabric below the bound comes up, with the default engine and no operator's file, and is sound.
#[test]
fn real_fabrics_come_up() {
    let Some(folder) = shared_topologies() else {
        println!("../shared/topologies is not beside the workspace: nothing was tested here");
        return;
    };
    let mut files = Vec::new();
    net_files(&folder, &mut files).unwrap();
    assert!(!files.is_empty(), "{} holds no .net file", folder.display());
    for file in files {
        let name = file
            .strip_prefix(&folder)
            .unwrap_or(&file)
            .to_string_lossy()
            .into_owned();
        let text = String::from_utf8_lossy(&fs::read(&file).unwrap()).into_owned();
        let switches = text
            .lines()
            .filter(|line| line.starts_with("Switch"))
            .count();
        if switches > SWITCHES {
            println!("{name}: {switches} switches, left to the simulator in process");
            continue;
        }
        let loaded = Ibsim::try_serve(&text).map(drop);
        match (loaded, REFUSED.iter().find(|(refused, _)| *refused == name)) {
            (Ok(()), None) => {}
            (Ok(()), Some(_)) => panic!("{name}: ibsim loads it now; take it off the list"),
            (Err(said), Some((_, why))) => {
                println!("{name}: ibsim cannot load it ({why}): {said}");
                continue;
            }
            (Err(said), None) => panic!("{name}: {said}"),
        }
        println!("{name}: {switches} switches");
        bringup::check(&text, &[], 0);
    }
}
