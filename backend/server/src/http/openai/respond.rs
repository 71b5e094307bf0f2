//! Streams or collects an answer until it ends or the client disconnects.

use actix_web::HttpResponse;
use tallybook_protocol::Usage;
use tokio::time::{sleep, timeout};
use uuid::Uuid;

use super::{
    super::{
        error::ApiError,
        peer::Peer,
        sse::{self, Frame},
        state::AppState,
    },
    follow::Follower,
    plain::PlainAnswer,
    refusal::Refusal,
    sink::{Progress, Sink, Writer},
};

/// The source of an answer: a turn, or a direct model call.
pub(crate) enum Answer {
    Turn(Box<Follower>),
    Plain(PlainAnswer),
}

impl Answer {
    async fn next(&mut self, sink: &mut impl Sink) -> Progress {
        match self {
            Self::Turn(turn) => turn.next(sink).await,
            Self::Plain(answer) => answer.next(sink).await,
        }
    }

    /// Returns the conversation in which the answer is stored, if it is stored.
    fn conversation(&self) -> Option<Uuid> {
        match self {
            Self::Turn(turn) => Some(turn.place().0),
            Self::Plain(_) => None,
        }
    }

    /// Collects the whole answer. Returns the finish reason in OpenAI's terms, and the usage. The caller must hold
    /// `Peer::served` from the start of the request, because storing the question takes time, too.
    pub(crate) async fn collect(mut self, peer: Peer, sink: &mut impl Sink) -> Result<(&'static str, Usage), Refusal> {
        loop {
            tokio::select! {
                biased;
                progress = self.next(sink) => match progress {
                    Progress::More => {}
                    Progress::Ended { finish, usage } => return Ok((finish, usage)),
                    Progress::Failed(refusal) => return Err(refusal.stored_in(self.conversation())),
                },
                // The client has disconnected and cannot read the answer.
                () = peer.gone() => return Err(Refusal::broken_off().stored_in(self.conversation())),
            }
        }
    }

    /// Streams the answer. If the answer fails before there is anything to send, the response has the status of the error. The
    /// stream starts after `keep_alive` at the latest.
    pub(crate) async fn stream(
        mut self,
        state: &AppState,
        peer: Peer,
        mut writer: impl Writer + 'static,
    ) -> Result<HttpResponse, ApiError> {
        let mut first = match timeout(state.keep_alive, self.next(&mut writer)).await {
            // Text may have arrived together with the failure.
            Ok(Progress::Failed(refusal)) if !writer.is_ready() => {
                return Err(refusal.stored_in(self.conversation()).into());
            }
            Ok(progress) => Some(progress),
            Err(_) => {
                writer.begin();
                Some(Progress::More)
            }
        };
        let keep_alive = state.keep_alive;
        let mut is_over = false;
        let next = async move || {
            if is_over {
                return None;
            }
            let progress = if let Some(progress) = first.take() {
                progress
            } else {
                tokio::select! {
                    biased;
                    progress = self.next(&mut writer) => progress,
                    () = peer.gone() => return None,
                    () = sleep(keep_alive) => return Some(vec![Frame::from(writer.sign_of_life())]),
                }
            };
            is_over = !matches!(progress, Progress::More);
            match progress {
                Progress::More => {}
                Progress::Ended { finish, usage } => writer.end(finish, usage),
                Progress::Failed(refusal) => writer.fail(&refusal),
            }
            Some(vec![Frame::from(writer.take())])
        };
        Ok(sse::respond_by(next))
    }
}
