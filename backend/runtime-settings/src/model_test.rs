//! Tests a model: asks for one word with a tool on offer, for a call of that tool, and for the color of a picture.

use std::{sync::Arc, time::Duration};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use futures_util::StreamExt as _;
use tallybook_conversations::models::{ModelChoice, ModelEntry};
use tallybook_llm::{
    ImagePart, ModelClient, ModelEvent, ModelMessage, ModelRequest, RetryPolicy, Sampling, ToolChoice, UserPart,
};
use tallybook_protocol::{ModelTest, TestedToolMode, first_chars};
use tallybook_tools::{Secrets, ToolSpec};
use tokio::time::{Instant, timeout};

/// Timeout of each of the three questions.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum number of tokens of an answer. Models that reason first need more tokens than the answer itself.
const MAX_TOKENS: u32 = 2048;

/// Maximum length of the answer that is shown, in characters.
const MAX_TEXT_CHARS: usize = 500;

const QUESTION: &str = "Reply with the single word: ready";
const CALL_QUESTION: &str = "Add 2 and 3 with the tool \"add\". Call the tool, and do not answer from memory.";
const PICTURE_QUESTION: &str = "Which color is this picture? Reply with one English word.";

/// A red picture of 64 × 64 pixels.
const PICTURE: &[u8] = include_bytes!("red.png");
const PICTURE_SIZE: u32 = 64;
const PICTURE_COLOR: &str = "red";

/// The tool on offer. A server that takes no tools refuses the request, and the client then describes it in the prompt.
const TOOL: &str = "add";

/// Asks the model. An error of the model is part of the outcome, which contains neither `secrets` nor the model's key.
pub(crate) async fn run(entry: &ModelEntry, secrets: &Secrets) -> ModelTest {
    let key = entry.api_key().map(|key| key.expose().to_owned());
    let secrets = secrets.and(&Secrets::new(key));
    let began = Instant::now();
    match answer(entry).await {
        Ok(Outcome { text, took, tools, vision }) => ModelTest {
            ok: true,
            text: first_chars(&secrets.redact(text), MAX_TEXT_CHARS).to_owned(),
            ms: milliseconds(took),
            error: None,
            tools,
            vision,
        },
        Err(error) => ModelTest {
            ok: false,
            text: String::new(),
            ms: milliseconds(began.elapsed()),
            error: Some(secrets.redact(error).into_owned()),
            tools: TestedToolMode::Unknown,
            vision: false,
        },
    }
}

/// Results of the questions.
struct Outcome {
    /// The answer to the first question, and its duration.
    text: String,
    took: Duration,
    tools: TestedToolMode,
    vision: bool,
}

async fn answer(entry: &ModelEntry) -> Result<Outcome, String> {
    let began = Instant::now();
    let client = connect(entry)?;
    let tools = tallybook_tools::builtin().ok().and_then(|registry| registry.find_spec(TOOL).cloned());
    let tools: Vec<ToolSpec> = tools.into_iter().collect();
    let text = ask(&*client, vec![UserPart::Text(QUESTION.to_owned())], tools.clone()).await?.text;
    let took = began.elapsed();
    if text.trim().is_empty() {
        return Err("The model sent an empty answer.".to_owned());
    }
    // The first answer shows only that the server takes tools, and many servers drop them without a word.
    let called = ask(&*client, vec![UserPart::Text(CALL_QUESTION.to_owned())], tools).await;
    let has_called = called.is_ok_and(|answer| answer.has_called);
    let tools = if has_called { client.tool_offer().into() } else { TestedToolMode::Unknown };
    let vision = entry.vision || reads_images(&*client).await;
    Ok(Outcome { text, took, tools, vision })
}

fn connect(entry: &ModelEntry) -> Result<Arc<dyn ModelClient>, String> {
    let mut entry = entry.clone();
    if let ModelChoice::Provider(settings) = &mut entry.choice {
        settings.retries = RetryPolicy { retries: 0, ..settings.retries };
        settings.idle_timeout = settings.idle_timeout.min(TIMEOUT);
        settings.max_tokens = settings.max_tokens.min(MAX_TOKENS);
        settings.thinking_tokens = None;
        settings.web_search = false;
    }
    entry.connect().map_err(|error| error.sentence())
}

/// Asks for the color of a picture. Many servers drop a picture without a word, so only the answer shows whether the
/// model has seen it.
async fn reads_images(client: &dyn ModelClient) -> bool {
    let picture = ImagePart {
        name: "picture.png".to_owned(),
        media_type: "image/png".to_owned(),
        data: BASE64_STANDARD.encode(PICTURE).into(),
        width: PICTURE_SIZE,
        height: PICTURE_SIZE,
    };
    let question = vec![UserPart::Image(picture), UserPart::Text(PICTURE_QUESTION.to_owned())];
    ask(client, question, Vec::new()).await.is_ok_and(|answer| answer.text.to_lowercase().contains(PICTURE_COLOR))
}

/// An answer of the model.
#[derive(Default)]
struct Answer {
    text: String,
    /// `true` if the model has called the tool.
    has_called: bool,
}

async fn ask(client: &dyn ModelClient, question: Vec<UserPart>, tools: Vec<ToolSpec>) -> Result<Answer, String> {
    let request = ModelRequest {
        system: Vec::new(),
        messages: vec![ModelMessage::User(question)],
        tools: tools.into(),
        tool_choice: ToolChoice::Auto,
        sampling: Sampling::default(),
        may_search: false,
    };
    let mut stream = client.stream(request);
    let mut answer = Answer::default();
    let read = async {
        while let Some(event) = stream.next().await {
            match event.map_err(|error| error.to_string())? {
                ModelEvent::TextDelta(delta) if answer.text.len() < MAX_TEXT_CHARS * 4 => answer.text.push_str(&delta),
                ModelEvent::Attempt(_) | ModelEvent::TextWasReasoning(_) => answer = Answer::default(),
                ModelEvent::ToolCall(call) => answer.has_called |= call.name == TOOL,
                ModelEvent::Ended { .. } => break,
                _ => {}
            }
        }
        Ok(())
    };
    let read: Result<(), String> = timeout(TIMEOUT, read)
        .await
        .unwrap_or_else(|_| Err(format!("The model did not finish its answer within {} seconds.", TIMEOUT.as_secs())));
    read.map(|()| answer)
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
