//! The parent's side: starts a child process for each file, limits it, and reads its answer. `child` has the child's
//! side.

use std::{
    fs::File,
    io,
    path::PathBuf,
    process::{ExitStatus, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt as _, BufReader},
    process::{Child, Command},
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

use crate::{
    CHILD_COMMAND, Confinement, FileKind, ProcessError, ProcessedFile, Refusal,
    frame::{self, Answer, MAX_FRAME_BYTES, Malformed},
    limits::{CPU_SECS, KILL_TIMEOUT, MAX_CHILDREN, MEMORY_BYTES, QUEUE_TIMEOUT, WALL_TIME},
    text,
};

/// The place of a file that is being read, or of its result.
#[derive(Debug)]
pub struct ProcessorSlot(#[expect(dead_code, reason = "held for its Drop")] OwnedSemaphorePermit);

/// Reads files in child processes, at most two at once. Clones share this limit.
#[derive(Clone, Debug)]
pub struct FileProcessor {
    program: PathBuf,
    wall_time: Duration,
    slots: Arc<Semaphore>,
    warned: Arc<AtomicBool>,
}

impl FileProcessor {
    /// Creates a processor that starts `program` with the argument [`CHILD_COMMAND`].
    pub fn new(program: PathBuf) -> Self {
        Self {
            program,
            wall_time: WALL_TIME,
            slots: Arc::new(Semaphore::new(MAX_CHILDREN)),
            warned: Arc::new(AtomicBool::new(false)),
        }
    }

    /// Sets the time for which a child may run, instead of a minute.
    #[must_use]
    pub fn with_wall_time(self, wall_time: Duration) -> Self {
        Self { wall_time, ..self }
    }

    /// Reads `file` from its current position to its end. Its `name` only selects the media type of text: source code,
    /// CSV or Markdown.
    ///
    /// Waits until fewer than two files are being read. If the returned future is dropped, the child is killed. The
    /// result is as large as 20 MiB, so the slot counts as taken until it is dropped.
    pub async fn process(&self, file: File, name: &str) -> Result<(ProcessedFile, ProcessorSlot), ProcessError> {
        let slot = timeout(QUEUE_TIMEOUT, Arc::clone(&self.slots).acquire_owned()).await;
        let Ok(Ok(slot)) = slot else {
            return Err(unavailable("too many files are waiting to be read", None));
        };
        let mut child = self.start(file.into())?;
        let answer = timeout(self.wall_time, read_answer(&mut child)).await;
        // Whatever the child is doing, its answer is complete, so it has no reason to run on.
        let status = end(&mut child).await?;
        let answer = match answer {
            Ok(Ok(Some(answer))) => answer,
            Ok(Ok(None)) => return Err(unreadable("the file contains too much to be read")),
            Ok(Err(error)) => return Err(unavailable("the answer of the child process cannot be read", Some(error))),
            Err(_) => {
                let secs = self.wall_time.as_secs();
                return Err(unreadable(format!("the file is too complex: reading it took longer than {secs} seconds")));
            }
        };
        let answer = answer.map_err(|malformed| explain_end(status, &malformed))?;
        self.warn_once(answer.confinement);
        let mut processed = answer.result.map_err(|refusal| match refusal {
            Refusal::Unsupported(found) => ProcessError::UnsupportedType { found },
            Refusal::Unreadable(reason) => ProcessError::Unreadable { reason },
        })?;
        if processed.kind == FileKind::Text {
            text::media_type(name).clone_into(&mut processed.media_type);
        }
        Ok((processed, ProcessorSlot(slot)))
    }

    fn start(&self, input: Stdio) -> Result<Child, ProcessError> {
        let mut command = Command::new(&self.program);
        command.arg(CHILD_COMMAND).env_clear().stdin(input).stdout(Stdio::piped()).stderr(Stdio::null());
        // The server's allocator reserves a gibibyte of address space at start, more than the child may have.
        command.env("MIMALLOC_ARENA_RESERVE", "0");
        // The child does not keep the server's folder in use.
        command.current_dir("/").kill_on_drop(true);
        command.spawn().map_err(|error| unavailable("the child process cannot be started", Some(error)))
    }

    fn warn_once(&self, confinement: Confinement) {
        let is_complete = confinement.file_system && confinement.system_calls;
        if !is_complete && !self.warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                landlock = confinement.file_system,
                seccomp = confinement.system_calls,
                "this system cannot fully confine the processes that read uploaded files"
            );
        }
    }
}

/// Reads all output. Returns `None` if there is more than allowed.
async fn read_answer(child: &mut Child) -> io::Result<Option<Result<Answer, Malformed>>> {
    let output = child.stdout.take().ok_or_else(|| io::Error::other("the child process has no output"))?;
    let mut output = BufReader::new(output.take(MAX_FRAME_BYTES as u64 + 1));
    let answer = frame::read(&mut output).await?;
    Ok((output.get_ref().limit() > 0).then_some(answer))
}

/// Kills the child unless it has ended, and waits for it.
async fn end(child: &mut Child) -> Result<ExitStatus, ProcessError> {
    let wait = async {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        child.start_kill()?;
        child.wait().await
    };
    match timeout(KILL_TIMEOUT, wait).await {
        Ok(Ok(status)) => Ok(status),
        Ok(Err(error)) => Err(unavailable("the child process cannot be ended", Some(error))),
        Err(_) => Err(unavailable("the child process does not end", None)),
    }
}

/// Derives the reason from the way in which a child without an answer ended.
fn explain_end(status: ExitStatus, malformed: &Malformed) -> ProcessError {
    use std::os::unix::process::ExitStatusExt as _;

    const ABORT: i32 = 6;
    const KILL: i32 = 9;
    const SEGMENTATION: i32 = 11;
    const CPU_TIME: i32 = 24;
    match status.signal() {
        Some(CPU_TIME) => unreadable(format!("the file is too complex: reading it takes more than {CPU_SECS} seconds")),
        Some(ABORT | SEGMENTATION) => {
            let memory = MEMORY_BYTES / 1024 / 1024;
            unreadable(format!("the file is too complex: reading it takes more than {memory} MiB of memory"))
        }
        Some(KILL) => unreadable("the file could not be read: the process that read it was killed"),
        Some(signal) => unreadable(format!("the file could not be read: its process ended with signal {signal}")),
        None => unavailable(&format!("{malformed} and ended with {status}"), None),
    }
}

fn unreadable(reason: impl Into<String>) -> ProcessError {
    ProcessError::Unreadable { reason: reason.into() }
}

fn unavailable(reason: &str, source: Option<io::Error>) -> ProcessError {
    ProcessError::Unavailable { reason: reason.to_owned(), source }
}
