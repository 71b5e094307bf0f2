//! Auxiliary model calls of a plan: asks a model and parses the JSON of its answer.

use std::time::Duration;

use serde::de::DeserializeOwned;
use tallybook_llm::{ModelClient, Sampling};
use tokio::time::Instant;

use super::super::{
    error::AgentError,
    limits::MAX_PLAN_ANSWER_BYTES,
    react::AgentLoop,
    recorder::{Purpose, TurnRecorder},
    side_call::{Question, SideCall, complete_side_call},
};

/// Maximum number of positions in a text at which an object is searched for.
const MAX_PLACES: usize = 32;

/// One question to a model.
pub(crate) struct PlanQuestion {
    pub(crate) purpose: Purpose,
    pub(crate) system: String,
    pub(crate) prompt: String,
    pub(crate) timeout: Duration,
}

/// Asks the model. Returns its text, or `None` if the model fails. Returns an error if the turn must end.
pub(crate) async fn ask<R: TurnRecorder>(
    react: &mut AgentLoop<'_, R>,
    model: &dyn ModelClient,
    asked: PlanQuestion,
) -> Result<Option<String>, AgentError> {
    let PlanQuestion { purpose, system, prompt, timeout } = asked;
    let (turn_deadline, deadline) = (react.turn_deadline, Instant::now() + timeout);
    // Temperature 0 gives the same text for the same question, if the model allows it. Some models refuse every
    // temperature, so the second attempt sends none.
    for temperature in [Some(0.0), None] {
        let question = Question {
            purpose,
            step: react.step,
            system: vec![system.clone()],
            prompt: prompt.clone(),
            max_bytes: MAX_PLAN_ANSWER_BYTES,
            sampling: Sampling { temperature, ..Sampling::default() },
            deadline,
        };
        let SideCall { text, call } = complete_side_call(model, question, turn_deadline.cancelled_or_elapsed()).await;
        react.recorder.model_called(&call).await?;
        react.usage += call.usage;
        match text {
            Ok(text) => return Ok(Some(react.runner.secrets.redact(text).into_owned())),
            Err(AgentError::Model(error)) if temperature.is_some() && error.refuses_temperature() => {}
            Err(AgentError::Model(error)) => {
                let purpose = purpose.as_str();
                tracing::warn!(purpose, code = error.code(), %error, "an auxiliary model call for a plan failed");
                return Ok(None);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

/// Returns the first JSON object in a text that parses as `T`. Models often put a code fence or prose around JSON.
pub(crate) fn find_object<T: DeserializeOwned>(text: &str) -> Option<T> {
    let from = |(at, _): (usize, &str)| serde_json::Deserializer::from_str(&text[at..]).into_iter().next()?.ok();
    text.match_indices('{').take(MAX_PLACES).find_map(from)
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::find_object;

    #[derive(Debug, Deserialize, PartialEq)]
    struct Thing {
        passed: bool,
    }

    #[test]
    fn an_object_is_found_within_other_text() {
        for text in [
            r#"{"passed":true}"#,
            "```json\n{\"passed\": true}\n```",
            "{I think} it is {\"passed\": true, \"certainty\": 1}. {\"passed\": false}",
        ] {
            assert_eq!(find_object(text), Some(Thing { passed: true }), "{text}");
        }
        for text in ["", "yes", "{", r#"{"passed":"yes"}"#, r#"{"passed":true"#, &"{".repeat(100_000)] {
            assert_eq!(find_object::<Thing>(text), None);
        }
    }
}
