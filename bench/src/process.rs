//! A measured server: a process on its own core. Starts, observes, and ends it.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use anyhow::{Context as _, Result};

/// Timeout for the server to print its address.
const START_TIME: Duration = Duration::from_mins(1);

/// A core of the machine, in the numbering of `taskset`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Core {
    /// The core of the measured server, which runs there alone.
    Server,
    /// The core of the model and the client.
    Others,
}

/// A running server. Dropping this ends it.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    /// Host and port.
    pub(crate) address: String,
}

impl Process {
    /// Starts a server, and waits for the line that ends in its address.
    pub(crate) fn start(command: &Command, core: Core) -> Result<Self> {
        let mut command = pinned(command, core);
        let name = describe(&command);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("cannot start `{name}`"))?;
        let address = read_address(&mut child);
        let mut process = Self { child, address: String::new() };
        process.address = address.with_context(|| format!("`{name}` did not start"))?;
        Ok(process)
    }

    /// Returns the CPU time of its threads, including those that have ended.
    pub(crate) fn cpu_time(&self) -> Result<Duration> {
        let stat = self.kernel_file("stat")?;
        // The name, in brackets, may contain anything, so the fields are counted from its end. They are 14 and 15 in
        // proc(5).
        let (_, fields) = stat.rsplit_once(')').context("the kernel has no data about this process")?;
        let ticks =
            fields.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum::<u64>();
        let per_second = rustix::param::clock_ticks_per_second();
        Ok(Duration::from_micros(ticks * 1_000_000 / per_second.max(1)))
    }

    /// Returns its resident memory, in bytes.
    pub(crate) fn memory(&self) -> Result<u64> {
        let status = self.kernel_file("status")?;
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:"))
            .context("the kernel does not report the memory")?;
        let kib: u64 = line.trim().trim_end_matches(" kB").parse()?;
        Ok(kib * 1024)
    }

    /// Returns how often its threads have been switched, voluntarily or not. Threads that have ended do not count.
    pub(crate) fn thread_switches(&self) -> Result<u64> {
        let path = format!("/proc/{}/task", self.child.id());
        let mut switches = 0;
        for thread in
            fs::read_dir(&path).with_context(|| format!("cannot read {path}; measuring works only on Linux"))?
        {
            // The thread may have ended since the folder was listed.
            let Ok(status) = fs::read_to_string(thread?.path().join("status")) else { continue };
            switches += number_after(&status, "voluntary_ctxt_switches:")?;
            switches += number_after(&status, "nonvoluntary_ctxt_switches:")?;
        }
        Ok(switches)
    }

    /// Returns how often it has called `read` and `write`, on files and other descriptors. `recv` and `send`, with
    /// which sockets are mostly used, do not count.
    pub(crate) fn reads_and_writes(&self) -> Result<u64> {
        let io = self.kernel_file("io")?;
        Ok(number_after(&io, "syscr:")? + number_after(&io, "syscw:")?)
    }

    /// Returns how many pages of 4 KiB it has written to files, in the page cache or beyond it.
    pub(crate) fn pages_written(&self) -> Result<u64> {
        Ok(number_after(&self.kernel_file("io")?, "write_bytes:")? / 4096)
    }

    /// Returns the number of open files, including sockets.
    pub(crate) fn open_files(&self) -> Result<usize> {
        let path = format!("/proc/{}/fd", self.child.id());
        Ok(fs::read_dir(&path).with_context(|| format!("cannot read {path}; measuring works only on Linux"))?.count())
    }

    fn kernel_file(&self, name: &str) -> Result<String> {
        let path = format!("/proc/{}/{name}", self.child.id());
        fs::read_to_string(&path).with_context(|| format!("cannot read {path}; measuring works only on Linux"))
    }
}

/// Returns the number after `name`, which begins a line of a file of the kernel.
fn number_after(file: &str, name: &str) -> Result<u64> {
    let number = file.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    number.with_context(|| format!("the kernel does not report {name}"))
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads the address at the end of the first line. Discards the rest of the output.
fn read_address(child: &mut Child) -> Result<String> {
    let out = child.stdout.take().context("the server has no output")?;
    let (sender, receiver) = mpsc::sync_channel(1);
    // Ends with the server. The server would block if its output was not read.
    thread::spawn(move || {
        let mut lines = BufReader::new(out).lines();
        // After the timeout, the receiver is gone.
        let _ = sender.send(lines.next());
        lines.for_each(drop);
    });
    let line = receiver.recv_timeout(START_TIME).context("the server does not print its address")?;
    let line = line.context("the server ended at once")??;
    let address = line.rsplit("http://").next().unwrap_or_default().trim_end_matches('/');
    Ok(address.to_owned())
}

/// Returns the command pinned to its core, if there are several cores and `taskset` is installed; otherwise unchanged.
fn pinned(command: &Command, core: Core) -> Command {
    let cores = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let has_taskset = ["/usr/bin/taskset", "/bin/taskset"].iter().any(|path| Path::new(path).is_file());
    let mut pinned = if cores > 1 && has_taskset {
        let mut taskset = Command::new("taskset");
        taskset.args(["--cpu-list", if matches!(core, Core::Server) { "0" } else { "1" }]).arg(command.get_program());
        taskset
    } else {
        Command::new(command.get_program())
    };
    pinned.args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => pinned.env(name, value),
            None => pinned.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        pinned.current_dir(folder);
    }
    pinned
}

fn describe(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
