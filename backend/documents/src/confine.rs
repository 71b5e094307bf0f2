//! Confines the calling process before it reads a hostile file: limits on resources, then Landlock (files, TCP ports,
//! signals to other processes), then seccomp (system calls).
//!
//! Linux has all three since 5.13. Without Landlock, seccomp still refuses to open files and sockets; without seccomp,
//! Landlock still refuses files and TCP, though not UDP. Without both (other systems, other processors, a container
//! that forbids them), only the limits protect the server, and the parent logs a warning. The process has no
//! environment and no open files but the standard streams in any case.

use std::io;

use rlimit::Resource;
use serde::{Deserialize, Serialize};

use crate::limits::{CPU_SECS, MEMORY_BYTES};

/// Protections that a confined process has besides its limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confinement {
    /// Landlock forbids opening files.
    pub file_system: bool,
    /// Seccomp forbids opening files, sockets and processes.
    pub system_calls: bool,
}

/// Confines the calling thread and limits the process. This cannot be undone. Call it before other threads do
/// anything but wait.
pub fn confine() -> io::Result<Confinement> {
    limit_resources()?;
    Ok(Confinement { file_system: forbid_files(), system_calls: forbid_system_calls() })
}

fn limit_resources() -> io::Result<()> {
    Resource::AS.set(MEMORY_BYTES, MEMORY_BYTES)?;
    // The soft limit ends the process; the hard one is beyond it, so that the signal tells the reason.
    Resource::CPU.set(CPU_SECS, CPU_SECS + 1)?;
    Resource::CORE.set(0, 0)?;
    Resource::FSIZE.set(0, 0)
}

/// Returns whether the kernel enforces at least a part of the rules.
#[cfg(target_os = "linux")]
fn forbid_files() -> bool {
    use landlock::{ABI, Access as _, AccessFs, AccessNet, Ruleset, RulesetAttr as _, RulesetStatus, Scope};

    let abi = ABI::V6;
    let restricted = Ruleset::default()
        .handle_access(AccessFs::from_all(abi))
        .and_then(|rules| rules.handle_access(AccessNet::from_all(abi)))
        .and_then(|rules| rules.scope(Scope::from_all(abi)))
        .and_then(Ruleset::create)
        .and_then(landlock::RulesetCreated::restrict_self);
    restricted.is_ok_and(|status| status.ruleset != RulesetStatus::NotEnforced)
}

#[cfg(not(target_os = "linux"))]
fn forbid_files() -> bool {
    false
}

/// Returns whether the filter is active, in all threads. System calls that it does not list fail with `EPERM`, so that
/// a library which tries one gets an error instead of being killed.
#[cfg(target_os = "linux")]
fn forbid_system_calls() -> bool {
    filter().is_some_and(|filter| seccompiler::apply_filter_all_threads(&filter).is_ok())
}

#[cfg(not(target_os = "linux"))]
fn forbid_system_calls() -> bool {
    false
}

/// Allows what computing, reading and writing open files, and ending need.
#[cfg(target_os = "linux")]
fn filter() -> Option<seccompiler::BpfProgram> {
    use seccompiler::{
        SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule, TargetArch,
    };

    let mut rules: std::collections::BTreeMap<i64, Vec<SeccompRule>> = [
        // Open files.
        libc::SYS_read,
        libc::SYS_readv,
        libc::SYS_write,
        libc::SYS_writev,
        libc::SYS_close,
        libc::SYS_lseek,
        libc::SYS_fstat,
        // Memory.
        libc::SYS_brk,
        libc::SYS_mmap,
        libc::SYS_mprotect,
        libc::SYS_mremap,
        libc::SYS_munmap,
        libc::SYS_madvise,
        // Threads that run already: locks, signals, their end.
        libc::SYS_futex,
        libc::SYS_sched_yield,
        libc::SYS_sched_getaffinity,
        libc::SYS_gettid,
        libc::SYS_getpid,
        libc::SYS_rseq,
        libc::SYS_set_robust_list,
        libc::SYS_rt_sigaction,
        libc::SYS_rt_sigprocmask,
        libc::SYS_rt_sigreturn,
        libc::SYS_sigaltstack,
        libc::SYS_restart_syscall,
        libc::SYS_exit,
        libc::SYS_exit_group,
        // Time and randomness.
        libc::SYS_clock_gettime,
        libc::SYS_clock_nanosleep,
        libc::SYS_nanosleep,
        libc::SYS_getrandom,
    ]
    .into_iter()
    .map(|call| (call, Vec::new()))
    .collect();
    // A process may signal itself, as `abort` does, but no other one.
    let own = u64::from(std::process::id());
    let is_own = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, own).ok()?;
    rules.insert(libc::SYS_tgkill, vec![SeccompRule::new(vec![is_own]).ok()?]);
    let arch: TargetArch = std::env::consts::ARCH.try_into().ok()?;
    let refuse = SeccompAction::Errno(u32::try_from(libc::EPERM).ok()?);
    SeccompFilter::new(rules, refuse, SeccompAction::Allow, arch).ok()?.try_into().ok()
}
