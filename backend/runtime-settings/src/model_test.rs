//! Tests a model: asks for one word with a tool on offer, then for the color of a picture.

use std::{sync::Arc, time::Duration};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use futures_util::StreamExt as _;
use tallybook_conversations::models::{ModelChoice, ModelEntry};
use tallybook_llm::{
    ImagePart, ModelClient, ModelEvent, ModelMessage, ModelRequest, RetryPolicy, Sampling, ToolChoice, UserPart,
};
use tallybook_protocol::{ModelTest, TestedToolMode, first_chars};
use tallybook_tools::ToolSpec;
use tokio::time::{Instant, timeout};

/// Timeout of each of the two questions.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum number of tokens of an answer. Models that reason first need more tokens than the answer itself.
const MAX_TOKENS: u32 = 2048;

/// Maximum length of the answer that is shown, in characters.
const MAX_TEXT_CHARS: usize = 500;

const QUESTION: &str = "Reply with the single word: ready";
const PICTURE_QUESTION: &str = "Which color is this picture? Reply with one English word.";

/// A red picture of 64 × 64 pixels.
const PICTURE: &[u8] = include_bytes!("red.png");
const PICTURE_SIZE: u32 = 64;
const PICTURE_COLOR: &str = "red";

/// The tool on offer. A server that takes no tools refuses the request, and the client then describes it in the prompt.
const TOOL: &str = "add";

/// Asks the model. An error of the model is part of the outcome.
pub(crate) async fn run(entry: &ModelEntry) -> ModelTest {
    let began = Instant::now();
    let client = match connect(entry) {
        Ok(client) => client,
        Err(error) => return failed(error, began, TestedToolMode::Unknown),
    };
    let tools = tallybook_tools::builtin().ok().and_then(|registry| registry.find_spec(TOOL).cloned());
    let question = vec![UserPart::Text(QUESTION.to_owned())];
    let answered = ask(&*client, question, tools.into_iter().collect()).await;
    let ms = elapsed_ms(began);
    let tools = client.tool_offer().into();
    match answered {
        Ok(text) if text.trim().is_empty() => failed("The model sent an empty answer.".to_owned(), began, tools),
        Ok(text) => {
            let vision = entry.vision || reads_images(&*client).await;
            ModelTest { ok: true, text: first_chars(&text, MAX_TEXT_CHARS).to_owned(), ms, error: None, tools, vision }
        }
        Err(error) => failed(error, began, tools),
    }
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
    ask(client, question, Vec::new()).await.is_ok_and(|color| color.to_lowercase().contains(PICTURE_COLOR))
}

async fn ask(client: &dyn ModelClient, question: Vec<UserPart>, tools: Vec<ToolSpec>) -> Result<String, String> {
    let request = ModelRequest {
        system: Vec::new(),
        messages: vec![ModelMessage::User(question)],
        tools: tools.into(),
        tool_choice: ToolChoice::Auto,
        sampling: Sampling::default(),
        may_search: false,
    };
    let mut stream = client.stream(request);
    let mut text = String::new();
    let read = async {
        while let Some(event) = stream.next().await {
            match event.map_err(|error| error.to_string())? {
                ModelEvent::TextDelta(delta) if text.len() < MAX_TEXT_CHARS * 4 => text.push_str(&delta),
                ModelEvent::Attempt(_) | ModelEvent::TextWasReasoning(_) => text.clear(),
                ModelEvent::Ended { .. } => break,
                _ => {}
            }
        }
        Ok(())
    };
    let read: Result<(), String> = timeout(TIMEOUT, read)
        .await
        .unwrap_or_else(|_| Err(format!("The model did not finish its answer within {} seconds.", TIMEOUT.as_secs())));
    read.map(|()| text)
}

fn failed(error: String, began: Instant, tools: TestedToolMode) -> ModelTest {
    ModelTest { ok: false, text: String::new(), ms: elapsed_ms(began), error: Some(error), tools, vision: false }
}

fn elapsed_ms(began: Instant) -> u64 {
    u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX)
}
