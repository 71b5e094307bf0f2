//! Modes of the files and folders that the program creates: no other user of the machine can read them.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::Path,
    process::Command,
};

use crate::command_line::Running;

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// Returns the program under the usual umask 022, which lets other users read new files.
fn in_folder(folder: &Path) -> Command {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "umask 022 && exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_tallybook")]);
    command.env_clear().env("PORT", "0").current_dir(folder);
    command
}

#[test]
fn a_new_database_and_its_folder_are_private() {
    let folder = tempfile::tempdir().unwrap();
    let _server = Running::start(&mut in_folder(folder.path()));
    let data = folder.path().join("data");
    assert_eq!(mode(&data), 0o700);
    let files: Vec<_> = fs::read_dir(&data).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(files.iter().any(|file| file.ends_with("tallybook.db-wal")), "{files:?}");
    for file in files {
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
}

#[test]
fn a_backup_and_the_restored_database_are_private() {
    let folder = tempfile::tempdir().unwrap();
    drop(Running::start(&mut in_folder(folder.path())));
    let admin = |args: &[&str]| assert!(in_folder(folder.path()).arg("admin").args(args).status().unwrap().success());
    admin(&["backup", "copies/copy.db"]);
    let copy = folder.path().join("copies/copy.db");
    assert_eq!((mode(&folder.path().join("copies")), mode(&copy)), (0o700, 0o600));
    set_mode(&copy, 0o644);
    admin(&["restore", "copies/copy.db"]);
    assert_eq!(mode(&folder.path().join("data/tallybook.db")), 0o600);
}

#[test]
fn an_existing_database_becomes_private_and_its_folder_is_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    drop(Running::start(&mut in_folder(folder.path())));
    let (data, file) = (folder.path().join("data"), folder.path().join("data/tallybook.db"));
    set_mode(&data, 0o755);
    set_mode(&file, 0o644);
    let check = || {
        let output = in_folder(folder.path()).arg("check-config").output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let warned = check();
    assert!(warned.contains("Other users of this machine can read") && warned.contains("tallybook.db"), "{warned}");
    assert_eq!(mode(&file), 0o644, "checking changes nothing");
    let server = Running::start(&mut in_folder(folder.path()));
    assert_eq!((mode(&data), mode(&file)), (0o755, 0o600));
    drop(server);
    assert!(!check().contains("Other users"));
}
