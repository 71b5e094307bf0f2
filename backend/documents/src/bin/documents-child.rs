//! The child process of this crate's tests. The server starts itself instead.
//!
//! `documents-child process-file` reads a file as the server's child does. `documents-child escape ADDRESS` confines
//! itself, and then prints the result of each attempt to reach something.

use std::{
    env, fs,
    net::{SocketAddr, TcpStream, UdpSocket},
    process::{Command, ExitCode},
    thread,
};

use tallybook_documents::{CHILD_COMMAND, confine, run_child};

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [CHILD_COMMAND] => run_child(),
        ["escape", address] => address.parse().map_or(ExitCode::FAILURE, escape),
        _ => ExitCode::FAILURE,
    }
}

#[expect(clippy::print_stdout, reason = "the test reads it")]
fn escape(address: SocketAddr) -> ExitCode {
    let Ok(confinement) = confine() else { return ExitCode::FAILURE };
    println!("files forbidden: {}", confinement.file_system);
    println!("system calls forbidden: {}", confinement.system_calls);
    println!("read /etc/passwd: {}", fs::read("/etc/passwd").is_ok());
    println!("read own program: {}", fs::read("/proc/self/exe").is_ok());
    println!("list folder: {}", fs::read_dir("/").is_ok());
    println!("write file: {}", fs::write("/tmp/documents-child-escaped", "x").is_ok());
    println!("connect by TCP: {}", TcpStream::connect(address).is_ok());
    println!("bind UDP: {}", UdpSocket::bind("127.0.0.1:0").is_ok());
    println!("start process: {}", Command::new("/bin/true").status().is_ok());
    println!("start thread: {}", thread::Builder::new().spawn(|| ()).is_ok());
    println!("allocate a gibibyte: {}", Vec::<u8>::new().try_reserve_exact(1024 * 1024 * 1024).is_ok());
    println!("variables: {}", env::vars_os().count());
    ExitCode::SUCCESS
}
