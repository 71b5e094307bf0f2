//! Reviewing models: they vote on calls that want to run and need consent, and where the settings let them, their votes
//! decide. How one is asked is in `ask`; what a vote is, in `vote`; what votes come to is here.

mod ask;

use std::time::Duration;

use futures_util::{Stream, StreamExt as _, stream};
use tallybook_protocol::{Decision, Verdict};
use tokio::time::Instant;

use super::{
    error::AgentError,
    halt::Halt,
    limits::MAX_VOTES_AT_ONCE,
    recorder::ModelCallRecord,
    vote::{Review, Ruling, Vote},
};

pub use ask::Reviewer;
pub(super) use ask::Subject;

/// What votes are good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReviewMode {
    /// A person decides, who sees them.
    Advise,
    /// They decide, and a person where they do not.
    Decide,
}

/// The models that review, and what their votes are good for.
#[derive(Clone, Debug)]
pub struct Reviewers {
    /// Who votes.
    pub models: Vec<Reviewer>,
    /// What the votes are good for.
    pub mode: ReviewMode,
    /// How many votes must be cast, abstentions not counted, so that they decide.
    pub quorum: usize,
    /// How long all votes on the calls of a step may take together. Who has not voted by then abstains.
    pub timeout: Duration,
}

/// One vote as it comes in.
pub(super) struct Voted {
    /// Which of the subjects it is on.
    pub(super) subject: usize,
    /// Which of the reviewers voted.
    pub(super) reviewer: usize,
    /// Fails when the turn is over.
    pub(super) vote: Result<Vote, AgentError>,
    /// The model call, unless the time was up before it.
    pub(super) call: Option<ModelCallRecord>,
}

impl Reviewers {
    /// Asks everybody about every subject, some at a time. When the turn is over, what is still to come comes at once.
    pub(super) fn votes<'a>(
        &'a self,
        subjects: &'a [Subject<'a>],
        step: u32,
        halt: &'a Halt<'a>,
    ) -> impl Stream<Item = Voted> + Send + 'a {
        let deadline = Instant::now() + self.timeout;
        let each = move |subject: usize| (0..self.models.len()).map(move |reviewer| (subject, reviewer));
        let pairs: Vec<(usize, usize)> = (0..subjects.len()).flat_map(each).collect();
        let asked = move |(subject, reviewer): (usize, usize)| async move {
            let (vote, call) = subjects[subject].ask(&self.models[reviewer], step, deadline, halt).await;
            Voted { subject, reviewer, vote, call }
        };
        stream::iter(pairs).map(asked).buffer_unordered(MAX_VOTES_AT_ONCE)
    }

    /// What these votes of all reviewers come to. Those that were cast decide by their majority, where there are enough; a
    /// tie, or too few, is for a person.
    pub(super) fn review(&self, votes: Vec<Vote>) -> Review {
        let count = |verdict| votes.iter().filter(|vote| vote.verdict == verdict).count();
        let (approve, reject) = (count(Verdict::Approve), count(Verdict::Reject));
        let decides = self.mode == ReviewMode::Decide && approve + reject >= self.quorum && approve != reject;
        let ruling = decides.then(|| {
            let (decision, verdict) = if approve > reject {
                (Decision::Approve, Verdict::Approve)
            } else {
                (Decision::Deny, Verdict::Reject)
            };
            let reasons: Vec<String> = votes.iter().filter(|vote| vote.verdict == verdict).map(said).collect();
            Ruling { decision, reason: reasons.join(" ") }
        });
        Review { votes, ruling }
    }
}

fn said(Vote { model, reason, .. }: &Vote) -> String {
    if reason.is_empty() { format!("{model} gave no reason.") } else { format!("{model}: {reason}") }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tallybook_protocol::{Decision, Usage, Verdict};

    use super::{ReviewMode, Reviewers, Vote};

    fn vote(model: usize, letter: char) -> Vote {
        let verdict = match letter {
            'a' => Verdict::Approve,
            'r' => Verdict::Reject,
            _ => Verdict::Abstain,
        };
        let reason = format!("{letter}{model}");
        Vote { model: format!("M{model}"), verdict, reason, usage: Usage::default(), duration_ms: 1 }
    }

    fn ruling(mode: ReviewMode, quorum: usize, letters: &str) -> Option<(Decision, String)> {
        let reviewers = Reviewers { models: Vec::new(), mode, quorum, timeout: Duration::ZERO };
        let review = reviewers.review(letters.chars().enumerate().map(|(model, letter)| vote(model, letter)).collect());
        assert_eq!(review.votes.len(), letters.len());
        review.ruling.map(|ruling| (ruling.decision, ruling.reason))
    }

    #[test]
    fn enough_votes_decide_by_their_majority_and_nothing_else_does() {
        let decide = |quorum, letters| ruling(ReviewMode::Decide, quorum, letters);
        assert_eq!(decide(2, "aa"), Some((Decision::Approve, "M0: a0 M1: a1".to_owned())));
        assert_eq!(decide(2, "rar"), Some((Decision::Deny, "M0: r0 M2: r2".to_owned())));
        assert_eq!(decide(1, "-a-"), Some((Decision::Approve, "M1: a1".to_owned())));
        for (quorum, letters) in [(2, "a-"), (2, "ar"), (2, "--"), (1, "--"), (3, "aa-"), (2, "ar-"), (1, "")] {
            assert_eq!(decide(quorum, letters), None, "{letters}");
        }
        assert_eq!(ruling(ReviewMode::Advise, 1, "aa"), None);
    }
}
