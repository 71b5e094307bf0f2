//! Reviewing models: they vote on calls that need approval, and if the settings allow it, their votes decide. `ask`
//! asks one model for a vote, `vote` defines votes and outcomes, and this module collects and counts the votes.

mod ask;

use std::time::Duration;

use futures_util::{Stream, StreamExt as _, stream};
use tallybook_protocol::{Decision, Verdict};
use tokio::time::Instant;

use super::{
    error::AgentError,
    limits::MAX_VOTES_AT_ONCE,
    recorder::ModelCallRecord,
    turn::TurnDeadline,
    vote::{Review, ReviewDecision, Vote},
};

pub use ask::Reviewer;
pub(crate) use ask::Subject;

/// The effect of votes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReviewMode {
    /// The user decides and sees the votes.
    Advise,
    /// The votes decide; if they reach no decision, the user decides.
    Decide,
}

impl ReviewMode {
    /// Returns the mode with this name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "advise" => Some(Self::Advise),
            "decide" => Some(Self::Decide),
            _ => None,
        }
    }

    /// Returns the name of the mode in the settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Advise => "advise",
            Self::Decide => "decide",
        }
    }
}

/// The models that review calls, and the effect of their votes.
#[derive(Clone, Debug)]
pub struct Reviewers {
    /// The models that vote.
    pub models: Vec<Reviewer>,
    /// The effect of the votes.
    pub mode: ReviewMode,
    /// Minimum number of votes, not counting abstentions, for the votes to decide.
    pub quorum: usize,
    /// Time limit for all votes on a step's calls together. A model that has not voted by then abstains.
    pub timeout: Duration,
}

/// One vote, as it arrives.
pub(crate) struct Voted {
    /// Index of the subject.
    pub(crate) subject: usize,
    /// Index of the reviewer.
    pub(crate) reviewer: usize,
    /// The vote; an error if the turn must end.
    pub(crate) vote: Result<Vote, AgentError>,
    /// Record of the model call; `None` if the time limit passed before the call.
    pub(crate) call: Option<ModelCallRecord>,
}

impl Reviewers {
    /// Asks every reviewer about every subject, several at a time. When the turn ends, the remaining votes fail at
    /// once.
    pub(crate) fn votes<'a>(
        &'a self,
        subjects: &'a [Subject<'a>],
        step: u32,
        turn_deadline: &'a TurnDeadline<'a>,
    ) -> impl Stream<Item = Voted> + Send + 'a {
        let deadline = Instant::now() + self.timeout;
        let each = move |subject: usize| (0..self.models.len()).map(move |reviewer| (subject, reviewer));
        let pairs: Vec<(usize, usize)> = (0..subjects.len()).flat_map(each).collect();
        let asked = move |(subject, reviewer): (usize, usize)| async move {
            let (vote, call) = subjects[subject].ask(&self.models[reviewer], step, deadline, turn_deadline).await;
            Voted { subject, reviewer, vote, call }
        };
        stream::iter(pairs).map(asked).buffer_unordered(MAX_VOTES_AT_ONCE)
    }

    /// Counts the votes of all reviewers. In the mode [`ReviewMode::Decide`], the majority decides if enough of them
    /// voted. Otherwise, and after a tie, the user decides.
    pub(crate) fn review(&self, votes: Vec<Vote>) -> Review {
        let count = |verdict| votes.iter().filter(|vote| vote.verdict == verdict).count();
        let (approve, reject) = (count(Verdict::Approve), count(Verdict::Reject));
        let decides = self.mode == ReviewMode::Decide && approve + reject >= self.quorum && approve != reject;
        let outcome = decides.then(|| {
            let (decision, verdict) = if approve > reject {
                (Decision::Approve, Verdict::Approve)
            } else {
                (Decision::Deny, Verdict::Reject)
            };
            let reasons: Vec<String> = votes.iter().filter(|vote| vote.verdict == verdict).map(reason_text).collect();
            ReviewDecision { decision, reason: reasons.join(" ") }
        });
        Review { votes, outcome }
    }
}

fn reason_text(Vote { model, reason, .. }: &Vote) -> String {
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

    fn outcome(mode: ReviewMode, quorum: usize, letters: &str) -> Option<(Decision, String)> {
        let reviewers = Reviewers { models: Vec::new(), mode, quorum, timeout: Duration::ZERO };
        let review = reviewers.review(letters.chars().enumerate().map(|(model, letter)| vote(model, letter)).collect());
        assert_eq!(review.votes.len(), letters.len());
        review.outcome.map(|outcome| (outcome.decision, outcome.reason))
    }

    #[test]
    fn a_quorum_of_votes_decides_by_majority() {
        let decide = |quorum, letters| outcome(ReviewMode::Decide, quorum, letters);
        assert_eq!(decide(2, "aa"), Some((Decision::Approve, "M0: a0 M1: a1".to_owned())));
        assert_eq!(decide(2, "rar"), Some((Decision::Deny, "M0: r0 M2: r2".to_owned())));
        assert_eq!(decide(1, "-a-"), Some((Decision::Approve, "M1: a1".to_owned())));
        for (quorum, letters) in [(2, "a-"), (2, "ar"), (2, "--"), (1, "--"), (3, "aa-"), (2, "ar-"), (1, "")] {
            assert_eq!(decide(quorum, letters), None, "{letters}");
        }
        assert_eq!(outcome(ReviewMode::Advise, 1, "aa"), None);
    }
}
