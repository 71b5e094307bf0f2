//! The child can reach neither the network nor files nor other processes.

use std::{collections::BTreeMap, net::TcpListener, process::Command};

#[test]
fn a_confined_child_has_no_network_and_cannot_read_etc_passwd() {
    // A server that would answer, so that refused connections are not the reason.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_documents-child"));
    child.args(["escape", &listener.local_addr().unwrap().to_string()]).env_clear();
    let output = child.output().unwrap();
    assert!(output.status.success(), "{:?}", output.status);
    let output = String::from_utf8(output.stdout).unwrap();
    let attempts: BTreeMap<&str, &str> = output.lines().filter_map(|line| line.split_once(": ")).collect();
    let expected = [
        ("allocate a gibibyte", "false"),
        ("bind UDP", "false"),
        ("connect by TCP", "false"),
        ("files forbidden", "true"),
        ("list folder", "false"),
        ("read /etc/passwd", "false"),
        ("read own program", "false"),
        ("start process", "false"),
        ("start thread", "false"),
        ("system calls forbidden", "true"),
        ("variables", "0"),
        ("write file", "false"),
    ];
    assert_eq!(attempts, BTreeMap::from(expected));
}
