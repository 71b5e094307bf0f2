//! Asking a model beside the steps of a plan, and reading the JSON that it answers with.

use std::time::Duration;

use serde::de::DeserializeOwned;
use tallybook_llm::{ModelClient, Sampling};
use tokio::time::Instant;

use super::super::{
    aside::{Aside, Question, ask_aside},
    error::AgentError,
    limits::MAX_PLAN_ANSWER_BYTES,
    react::React,
    recorder::{Purpose, TurnRecorder},
};

/// Places in a text at which an object is looked for.
const MAX_PLACES: usize = 32;

/// What a model is asked.
pub(super) struct Asked {
    pub(super) purpose: Purpose,
    pub(super) system: String,
    pub(super) words: String,
    pub(super) timeout: Duration,
}

/// What the model writes; nothing where it cannot be asked. Fails where the turn is over.
pub(super) async fn ask<R: TurnRecorder>(
    react: &mut React<'_, R>,
    model: &dyn ModelClient,
    asked: Asked,
) -> Result<Option<String>, AgentError> {
    let Asked { purpose, system, words, timeout } = asked;
    let (halt, deadline) = (react.halt, Instant::now() + timeout);
    // Always the same words for the same question, where the model lets one choose: some refuse every temperature.
    for temperature in [Some(0.0), None] {
        let question = Question {
            purpose,
            step: react.step,
            system: vec![system.clone()],
            words: words.clone(),
            max_bytes: MAX_PLAN_ANSWER_BYTES,
            sampling: Sampling { temperature, ..Sampling::default() },
            deadline,
        };
        let Aside { text, call } = ask_aside(model, question, halt.reached()).await;
        react.recorder.model_called(&call).await?;
        react.usage += call.usage;
        match text {
            Ok(text) => return Ok(Some(react.runner.secrets.hide(text).into_owned())),
            Err(AgentError::Model(error)) if temperature.is_some() && error.refuses_temperature() => {}
            Err(AgentError::Model(error)) => {
                let purpose = purpose.as_str();
                tracing::warn!(purpose, code = error.code(), %error, "a model could not be asked beside a plan's steps");
                return Ok(None);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

/// The first object in a text that is what was asked for. Models like to put a fence around JSON, or words.
pub(super) fn find_object<T: DeserializeOwned>(text: &str) -> Option<T> {
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
    fn an_object_is_found_whatever_stands_around_it() {
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
