//! Asks one model for its vote on a call. Everything the model receives about the call is data: JSON strings in an
//! envelope. An answer that is not the requested JSON is an abstention.

use std::{fmt, sync::Arc};

use askama::Template;
use serde::Deserialize;
use serde_json::json;
use tallybook_llm::{ModelClient, Sampling};
use tallybook_protocol::Verdict;
use tallybook_tools::ToolSpec;
use tokio::time::Instant;

use crate::{
    error::AgentError,
    limits::{MAX_REASON_CHARS, MAX_REVIEW_ANSWER_BYTES, MAX_REVIEWED_REQUEST_BYTES},
    recorder::{ModelCallRecord, Purpose},
    result::{one_line, shorten},
    side_call::{Question, SideCall, complete_side_call},
    turn::TurnDeadline,
    vote::Vote,
};

/// Reason of a reviewer that abstains because it did not vote in time.
const LATE: &str = "It did not answer in time.";
/// Reason of a reviewer that abstains because its answer was not a valid vote.
const NO_VOTE: &str = "Its answer was not the JSON that was asked for.";

/// A model that reviews.
#[derive(Clone)]
pub struct Reviewer {
    /// Its name in the catalog.
    pub name: String,
    /// The client that calls it.
    pub model: Arc<dyn ModelClient>,
}

/// A call to be reviewed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Subject<'a> {
    /// The user's request.
    pub(crate) request: &'a str,
    pub(crate) tool: &'a ToolSpec,
    /// The complete arguments.
    pub(crate) input: &'a str,
}

impl fmt::Debug for Reviewer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reviewer").field("name", &self.name).field("info", self.model.info()).finish()
    }
}

#[derive(Template)]
#[template(path = "review.txt", escape = "none")]
struct Prompt {
    max_reason_chars: usize,
}

/// The JSON that a reviewer answers with.
#[derive(Deserialize)]
struct Answer {
    verdict: Verdict,
    #[serde(default)]
    reason: String,
}

impl Subject<'_> {
    /// Asks a reviewer. Returns its vote, and the record of the model call if the model was called. If the reviewer
    /// fails, it abstains; only an error that ends the turn is returned as an error.
    pub(crate) async fn ask(
        &self,
        reviewer: &Reviewer,
        step: u32,
        deadline: Instant,
        turn_deadline: &TurnDeadline<'_>,
    ) -> (Result<Vote, AgentError>, Option<ModelCallRecord>) {
        let abstention = |reason: &str| Vote {
            model: reviewer.name.clone(),
            verdict: Verdict::Abstain,
            reason: reason.to_owned(),
            usage: tallybook_protocol::Usage::default(),
            duration_ms: 0,
        };
        if Instant::now() >= deadline {
            return (Ok(abstention(LATE)), None);
        }
        let prompt = match (Prompt { max_reason_chars: MAX_REASON_CHARS }).render() {
            Ok(prompt) => prompt,
            Err(error) => return (Err(error.into()), None),
        };
        let question = Question {
            purpose: Purpose::Review,
            step,
            system: vec![prompt],
            prompt: self.envelope(),
            max_bytes: MAX_REVIEW_ANSWER_BYTES,
            sampling: Sampling::default(),
            deadline,
        };
        let SideCall { text, call } =
            complete_side_call(&*reviewer.model, question, turn_deadline.cancelled_or_elapsed()).await;
        let voted = match text {
            Ok(text) => read(&text),
            Err(AgentError::Model(_)) if Instant::now() >= deadline => (Verdict::Abstain, LATE.to_owned()),
            Err(AgentError::Model(error)) => {
                tracing::warn!(
                    reviewer = reviewer.name,
                    code = error.code(),
                    %error,
                    "a call to a reviewing model failed"
                );
                (Verdict::Abstain, format!("It could not be asked ({}).", error.code()))
            }
            Err(error) => return (Err(error), Some(call)),
        };
        let vote = Vote {
            verdict: voted.0,
            reason: voted.1,
            usage: call.usage,
            duration_ms: call.duration_ms,
            ..abstention("")
        };
        (Ok(vote), Some(call))
    }

    /// Returns the call as one JSON object. Everything that others wrote is a string in it, and cannot pass for
    /// anything else.
    fn envelope(&self) -> String {
        let ToolSpec { name, description, .. } = self.tool;
        let request = shorten(self.request, MAX_REVIEWED_REQUEST_BYTES);
        json!({"request": request, "tool": {"name": name, "description": description}, "input": self.input}).to_string()
    }
}

/// Parses a verdict and its reason. Models often put a code fence around JSON, which is ignored.
fn read(text: &str) -> (Verdict, String) {
    let text = text.trim();
    let fenced = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    let json = fenced.map_or(text, |inner| inner.strip_prefix("json").unwrap_or(inner));
    // serde would also accept an array with the right values.
    let object = json.trim_start().starts_with('{').then(|| serde_json::from_str(json));
    match object.unwrap_or_else(|| Err(serde::de::Error::custom("no object"))) {
        Ok(Answer { verdict: verdict @ (Verdict::Approve | Verdict::Reject | Verdict::Abstain), reason }) => {
            (verdict, one_line(&reason, MAX_REASON_CHARS))
        }
        Ok(_) | Err(_) => (Verdict::Abstain, NO_VOTE.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use tallybook_protocol::Verdict;

    use super::{NO_VOTE, Prompt, Template as _, read};

    #[test]
    fn only_the_requested_json_is_a_vote() {
        let yes = (Verdict::Approve, "It is asked for.".to_owned());
        for text in [
            r#"{"verdict":"approve","reason":"It is asked for."}"#,
            "```json\n{\"reason\": \"It is\\nasked for.\", \"verdict\": \"approve\", \"certainty\": 1}\n```",
            " {\"verdict\":\"approve\",\"reason\":\"It is asked for.\"}\n",
        ] {
            assert_eq!(read(text), yes, "{text}");
        }
        assert_eq!(read(r#"{"verdict":"reject"}"#), (Verdict::Reject, String::new()));
        for text in [
            "",
            "I approve.",
            r#"{"verdict":"yes","reason":"x"}"#,
            r#"{"verdict":"APPROVE"}"#,
            r#"{"verdict":"unknown"}"#,
            r#"{"verdict":"approve","verdict":"reject"}"#,
            r#"{"verdict":"approve","reason":7}"#,
            r#"Sure: {"verdict":"approve","reason":"x"}"#,
            r#"["approve","x"]"#,
            "```{\"verdict\":\"approve\"",
        ] {
            assert_eq!(read(text), (Verdict::Abstain, NO_VOTE.to_owned()), "{text}");
        }
    }

    #[test]
    fn the_prompt() {
        insta::assert_snapshot!(Prompt { max_reason_chars: 300 }.render().unwrap());
    }
}
