//! The running calls of a step. Waits until the next call may start, a call ends, or a call reports progress.

use std::{
    collections::{BTreeMap, HashMap},
    future::poll_fn,
    sync::Arc,
    time::Duration,
};

use tallybook_protocol::ToolCallId;
use tallybook_tools::{Progress, ProgressSender, ToolError};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, mpsc},
    task::{Id, JoinError, JoinSet},
    time::{Instant, sleep_until},
};
use tokio_util::sync::PollSemaphore;

use super::{call_files::CallOutput, error::AgentError, turn::TurnDeadline};

/// Minimum interval between two progress reports.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(250);
/// Maximum number of progress messages from tools that wait to be read. Further ones are dropped, because newer ones
/// follow.
const MAX_WAITING_PROGRESS: usize = 64;

/// The result of a call: its output or its error.
pub(crate) type ToolReturn = Result<CallOutput, ToolError>;

/// The calls that run, and the state of each.
pub(crate) struct Running {
    /// Keeps its place in the queue for a slot between two polls.
    slots: PollSemaphore,
    pub(crate) tasks: JoinSet<ToolReturn>,
    pub(crate) calls: HashMap<Id, RunningCall>,
    progress_in: mpsc::Sender<(usize, Progress)>,
    progress_out: mpsc::Receiver<(usize, Progress)>,
    /// The latest unreported progress of each call.
    unreported: BTreeMap<usize, Progress>,
    /// The earliest time of the next report.
    report_at: Instant,
}

pub(crate) struct RunningCall {
    pub(crate) index: usize,
    pub(crate) id: ToolCallId,
    pub(crate) started_at: Instant,
}

/// The next event in a step.
pub(crate) enum Next {
    /// The turn must end.
    TurnDeadline(AgentError),
    /// The next call may start.
    Start(Option<OwnedSemaphorePermit>),
    /// A call ended.
    Ended(Result<(Id, ToolReturn), JoinError>),
    /// These calls made progress.
    Progress(BTreeMap<usize, Progress>),
}

impl Running {
    pub(crate) fn new(slots: Arc<Semaphore>) -> Self {
        let (progress_in, progress_out) = mpsc::channel(MAX_WAITING_PROGRESS);
        let (tasks, calls, unreported) = (JoinSet::new(), HashMap::new(), BTreeMap::new());
        Self {
            slots: PollSemaphore::new(slots),
            tasks,
            calls,
            progress_in,
            progress_out,
            unreported,
            report_at: Instant::now(),
        }
    }

    /// Returns the sender with which the call at this index reports progress.
    pub(crate) fn progress_of(&self, index: usize) -> ProgressSender {
        let sender = self.progress_in.clone();
        ProgressSender::new(move |progress| drop(sender.try_send((index, progress))))
    }

    /// Waits for the next event. Returns `None` if nothing runs and nothing may start.
    pub(crate) async fn next(&mut self, may_start: bool, turn_deadline: &TurnDeadline<'_>) -> Option<Next> {
        if !may_start && self.tasks.is_empty() {
            return None;
        }
        loop {
            let Self { slots, tasks, progress_out, unreported, report_at, .. } = self;
            tokio::select! {
                biased;
                error = turn_deadline.cancelled_or_elapsed() => return Some(Next::TurnDeadline(error)),
                slot = poll_fn(|context| slots.poll_acquire(context)), if may_start => return Some(Next::Start(slot)),
                Some(ended) = tasks.join_next_with_id() => return Some(Next::Ended(ended)),
                () = sleep_until(*report_at), if !unreported.is_empty() => {
                    *report_at = Instant::now() + PROGRESS_INTERVAL;
                    return Some(Next::Progress(std::mem::take(unreported)));
                }
                Some((index, progress)) = progress_out.recv() => drop(unreported.insert(index, progress)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::sleep;
    use tokio_util::sync::CancellationToken;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn progress_is_reported_at_most_four_times_a_second_with_the_latest_value() {
        let mut running = Running::new(Arc::new(Semaphore::new(1)));
        let says = running.progress_of(0);
        running.tasks.spawn(async move {
            for done in 0..=2000_u32 {
                says.send(Progress { progress: f64::from(done), total: None, message: None });
                sleep(Duration::from_millis(1)).await;
            }
            Ok(CallOutput { text: "done".to_owned(), files: Vec::new() })
        });
        let cancel = CancellationToken::new();
        let turn_deadline = TurnDeadline::new(&cancel, Duration::from_mins(1), Duration::ZERO);
        let mut reports = Vec::new();
        while let Some(Next::Progress(calls)) = running.next(false, &turn_deadline).await {
            reports.push((Instant::now(), calls[&0].progress));
        }
        assert!((8..=9).contains(&reports.len()), "in two seconds: {reports:?}");
        assert!(reports.windows(2).all(|pair| pair[1].0 - pair[0].0 >= PROGRESS_INTERVAL), "{reports:?}");
        assert!(reports.windows(2).all(|pair| pair[1].1 - pair[0].1 > 200.0), "{reports:?}");
    }
}
