//! Builds the model's history from stored turns: the same blocks that the model wrote, step by step, each call with its
//! result. Stopped, failed and interrupted turns also give a valid history. The history is read from its end, and only
//! as much as may fit. The tokens of an exchange are the provider's count if it can be derived from the stored usage,
//! and otherwise an estimate.

use std::collections::{BTreeMap, HashMap};

use tallybook_agent::{Limits, error_json, success_json};
use tallybook_database::Database;
use tallybook_llm::{AssistantBlock, ModelMessage, ToolCallRequest, ToolResult, UserPart, tokens};
use tallybook_protocol::{MessageId, MessagePart};

use crate::{
    context::Context,
    journal::answer::bytes_in,
    limits::{MAX_READ_BYTES, MIN_READ_BYTES},
    store::{
        ConversationId, message_files, messages, model_calls,
        rows::{MessageRow, ModelCallRow, SizeRow, ToolCallRow, TreeNode},
        stored_id, tool_calls,
    },
    turn::context::prompt_files::PromptFiles,
};

/// Result in the prompt for a call that has none, because the server or the user ended the turn while the call ran.
const NO_RESULT: &str = "the call was interrupted; its outcome is unknown";

/// A question and its answer, if there is one yet, as messages for the model.
pub(crate) struct Exchange {
    pub(crate) messages: Vec<ModelMessage>,
    /// Approximate number of tokens of `messages`.
    pub(crate) tokens: usize,
}

impl Exchange {
    /// Creates an exchange from a question without an answer.
    pub(crate) fn of_question(parts: Vec<UserPart>) -> Self {
        let question = ModelMessage::User(parts);
        let tokens = tokens::of_message(&question);
        Self { messages: vec![question], tokens }
    }
}

/// Returns the newest exchanges of a branch that may fit in `tokens`, oldest first. The last exchange is always
/// included. Each tool result is truncated to at most `limits.model_output_bytes`. If the branch ends with an answer,
/// `is_resumed` says whether the turn of that answer is being resumed; otherwise that turn is finished.
pub(crate) async fn newest_exchanges(
    context: &Context,
    branch: &[TreeNode],
    is_resumed: bool,
    tokens: usize,
    files: &mut PromptFiles<'_>,
) -> sqlx::Result<Vec<Exchange>> {
    // A new question is always included; the answer of a resumed turn is always included together with its question.
    read_exchanges(context, branch, 2 - branch.len() % 2, is_resumed, tokens, files).await
}

/// Returns the exchanges before a question that may fit in `tokens`, oldest first. The result may be empty.
pub(crate) async fn earlier_exchanges(
    context: &Context,
    branch: &[TreeNode],
    tokens: usize,
    files: &mut PromptFiles<'_>,
) -> sqlx::Result<Vec<Exchange>> {
    read_exchanges(context, branch, 0, false, tokens, files).await
}

async fn read_exchanges(
    context: &Context,
    branch: &[TreeNode],
    at_least: usize,
    is_resumed: bool,
    tokens: usize,
    files: &mut PromptFiles<'_>,
) -> sqlx::Result<Vec<Exchange>> {
    let limits = context.agent.limits();
    let recent = find_recent(&context.db, branch, at_least, tokens).await?;
    let ids: Vec<MessageId> = recent.part_of(branch).iter().map(|place| place.id).collect();
    let messages = messages::list_messages(&context.db, &ids).await?;
    let answers: Vec<MessageId> =
        messages.iter().filter(|message| !message.is_user()).map(|answer| answer.id).collect();
    let model_calls = model_calls::list_model_calls(&context.db, &answers).await?;
    let called = if recent.has_calls { &answers[..] } else { &[] };
    let max_output_bytes = max_output_bytes(recent.calls, limits);
    let mut tool_calls = tool_calls::list_tool_calls(&context.db, called, max_output_bytes).await?;
    if recent.has_call_files {
        message_files::add_call_files(&context.db, &mut tool_calls).await?;
    }
    let questions = read_questions(context, &messages, files).await?;
    Ok(exchanges(&messages, questions, &model_calls, &tool_calls, is_resumed, limits))
}

/// Returns the questions among these messages with their files, as parts of the prompt.
async fn read_questions(
    context: &Context,
    messages: &[MessageRow],
    files: &mut PromptFiles<'_>,
) -> sqlx::Result<HashMap<MessageId, Vec<UserPart>>> {
    let asked: Vec<(MessageId, Vec<MessagePart>)> =
        messages.iter().filter(|message| message.is_user()).map(|message| (message.id, message.parts())).collect();
    let mut rows = message_files::list_of(&context.db, messages).await?;
    let mut questions = HashMap::new();
    // The newest comes first, because the size of all images is limited.
    for (id, parts) in asked.into_iter().rev() {
        questions.insert(id, files.convert(id, parts, &rows.remove(&id).unwrap_or_default()).await?);
    }
    Ok(questions)
}

/// Returns the steps of an answer that is resumed, as messages for the model. The result is empty if the answer does
/// not exist.
pub(crate) async fn steps_of(
    context: &Context,
    conversation_id: ConversationId,
    answer: MessageId,
) -> sqlx::Result<Vec<ModelMessage>> {
    let limits = context.agent.limits();
    let Some(message) = messages::find_message(&context.db, conversation_id, answer).await? else {
        return Ok(Vec::new());
    };
    let model_calls = model_calls::list_model_calls(&context.db, &[answer]).await?;
    let tool_calls = read_calls(context, &[answer]).await?;
    let mut steps = Vec::new();
    push_turn(&message, model_calls.iter(), tool_calls.iter(), true, limits, &mut steps);
    Ok(steps)
}

/// Returns the steps of a resumed answer from step `first` on, as messages for the model.
pub(crate) async fn steps_from(context: &Context, answer: MessageId, first: i32) -> sqlx::Result<Vec<ModelMessage>> {
    let model_calls = model_calls::list_model_calls(&context.db, &[answer]).await?;
    let tool_calls = read_calls(context, &[answer]).await?;
    let mut steps = Vec::new();
    let model_calls = model_calls.iter().filter(|call| call.step >= first);
    let tool_calls = tool_calls.iter().filter(|call| call.step >= first);
    push_steps(model_calls, tool_calls, true, context.agent.limits(), &mut steps);
    Ok(steps)
}

/// Returns the tool calls of answers, with truncated texts. The limit for each text is an equal share of
/// `MAX_READ_BYTES`, but at least `MIN_READ_BYTES` and at most `limits.model_output_bytes`.
pub(crate) async fn read_calls(context: &Context, answers: &[MessageId]) -> sqlx::Result<Vec<ToolCallRow>> {
    let rows = tool_calls::list_tool_calls(&context.db, answers, 0).await?;
    let max_output_bytes = max_output_bytes(rows.len(), context.agent.limits());
    let mut rows = tool_calls::list_tool_calls(&context.db, answers, max_output_bytes).await?;
    message_files::add_call_files(&context.db, &mut rows).await?;
    Ok(rows)
}

/// Returns the maximum number of bytes to read of each result of `calls` tool calls.
fn max_output_bytes(calls: usize, limits: Limits) -> usize {
    (MAX_READ_BYTES / calls.max(1)).max(MIN_READ_BYTES).min(limits.model_output_bytes)
}

/// Maximum number of messages whose sizes one query reads.
const SIZES_PER_READ: usize = 64;

/// Number of bytes that may be read for each token of room. This only bounds what is read, so it is generous. A token
/// usually has at most four bytes. An answer's text counts twice in its size. Opaque blocks of the provider count, but
/// are not in the prompt.
const BYTES_PER_TOKEN: usize = 16;

/// Finds the newest part of the branch that is worth reading. The part has at least `at_least` messages and begins with
/// a question.
async fn find_recent(db: &Database, branch: &[TreeNode], at_least: usize, tokens: usize) -> sqlx::Result<Recent> {
    let budget = tokens.saturating_mul(BYTES_PER_TOKEN);
    let mut recent = Recent { at_least, ..Recent::default() };
    for chunk in branch.rchunks(SIZES_PER_READ) {
        let ids: Vec<MessageId> = chunk.iter().map(|place| place.id).collect();
        let sizes: HashMap<MessageId, SizeRow> =
            messages::list_sizes(db, &ids).await?.into_iter().map(|size| (size.id, size)).collect();
        let more = chunk.iter().rev().all(|place| recent.add(sizes.get(&place.id), budget));
        if !more {
            break;
        }
    }
    Ok(recent)
}

/// The newest messages that may fit.
#[derive(Default)]
struct Recent {
    messages: usize,
    /// Number of messages that are included whatever their size.
    at_least: usize,
    bytes: usize,
    /// Number of tool calls in the messages that are included whatever their size.
    calls: usize,
    /// `true` if one of the messages has tool calls.
    has_calls: bool,
    /// `true` if tools returned files in one of the messages.
    has_call_files: bool,
}

impl Recent {
    /// Adds the next older message. Returns `false` if it does not fit.
    fn add(&mut self, size: Option<&SizeRow>, budget: usize) -> bool {
        let bytes = size.map_or(0, |size| usize::try_from(size.bytes).unwrap_or(0));
        let is_taken = self.messages < self.at_least;
        if !is_taken && self.bytes.saturating_add(bytes) > budget {
            return false;
        }
        let calls = size.map_or(0, |size| usize::try_from(size.calls).unwrap_or(0));
        if is_taken {
            self.calls += calls;
        }
        self.has_calls |= calls > 0;
        self.has_call_files |= size.is_some_and(|size| size.has_call_files);
        self.messages += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        true
    }

    /// Returns these messages of the branch, and the question before them if they begin with an answer.
    fn part_of<'a>(&self, branch: &'a [TreeNode]) -> &'a [TreeNode] {
        let begin = branch.len() - self.messages;
        // Questions and answers alternate, so a message at an even index is a question.
        &branch[begin - begin % 2..]
    }
}

fn exchanges(
    branch: &[MessageRow],
    mut questions: HashMap<MessageId, Vec<UserPart>>,
    model_calls: &[ModelCallRow],
    tool_calls: &[ToolCallRow],
    is_resumed: bool,
    limits: Limits,
) -> Vec<Exchange> {
    let last = branch.last().map(|message| message.id).filter(|_| is_resumed);
    let mut exchanges: Vec<Exchange> = Vec::new();
    let mut counted = None;
    for message in branch {
        if message.is_user() {
            exchanges.push(Exchange::of_question(questions.remove(&message.id).unwrap_or_default()));
        } else if let Some(exchange) = exchanges.last_mut() {
            let model_calls = || model_calls.iter().filter(|call| call.message_id == message.id);
            let tool_calls = tool_calls.iter().filter(|call| call.message_id == message.id);
            let is_resumed = Some(message.id) == last;
            push_turn(message, model_calls(), tool_calls, is_resumed, limits, &mut exchange.messages);
            let before = counted.take();
            // The history contains less of a planned answer than the provider counted.
            let is_whole = is_resumed || message.answer_by_plan().is_none();
            counted = Counted::of(message, model_calls()).filter(|_| is_whole);
            exchange.tokens = tokens_of(&exchange.messages, before.as_ref(), counted.as_ref());
        }
    }
    exchanges
}

/// Appends an answer to the history, step by step. Of a complete planned answer, only the final text is appended.
pub(crate) fn push_turn<'a>(
    message: &MessageRow,
    model_calls: impl Iterator<Item = &'a ModelCallRow>,
    tool_calls: impl Iterator<Item = &'a ToolCallRow>,
    is_resumed: bool,
    limits: Limits,
    history: &mut Vec<ModelMessage>,
) {
    if let Some(answer) = message.answer_by_plan().filter(|_| !is_resumed) {
        // Later prompts do not contain the steps of the plan.
        history.push(ModelMessage::Assistant(vec![AssistantBlock::Text { text: answer.to_owned() }]));
        return;
    }
    let texts = push_steps(model_calls, tool_calls, is_resumed, limits, history);
    // Text that is not in the stored steps, because the last step was aborted.
    let steps_bytes = bytes_in(&message.content, &texts);
    let rest = message.content.get(steps_bytes..).unwrap_or_default().trim_start_matches('\n');
    if !rest.is_empty() {
        history.push(ModelMessage::Assistant(vec![AssistantBlock::Text { text: rest.to_owned() }]));
    }
}

/// Appends these steps to the history. Returns the text that each of them wrote.
fn push_steps<'a>(
    model_calls: impl Iterator<Item = &'a ModelCallRow>,
    tool_calls: impl Iterator<Item = &'a ToolCallRow>,
    is_resumed: bool,
    limits: Limits,
    history: &mut Vec<ModelMessage>,
) -> Vec<String> {
    let mut steps: BTreeMap<i32, (Vec<AssistantBlock>, Vec<&ToolCallRow>)> = BTreeMap::new();
    for call in model_calls {
        steps.entry(call.step).or_default().0 = call.blocks();
    }
    for call in tool_calls {
        steps.entry(call.step).or_default().1.push(call);
    }
    let mut texts = Vec::new();
    for (mut blocks, calls) in steps.into_values() {
        texts.push(text_of(&blocks));
        // If the blocks could not be parsed, the calls are still known from their own rows.
        if !blocks.iter().any(|block| block.tool_call().is_some()) {
            blocks.extend(calls.iter().map(|call| AssistantBlock::ToolCall(request(call))));
        }
        if !is_resumed {
            // Opaque blocks are valid only within their own turn.
            blocks.retain(|block| !matches!(block, AssistantBlock::Opaque { .. }));
        }
        // The limit that applied when the step ran, so that the model sees the same results again.
        let limit = limits.result_bytes(calls.len());
        let results: Vec<ToolResult> = blocks.iter().filter_map(|block| result(block, &calls, limit)).collect();
        if !blocks.is_empty() {
            history.push(ModelMessage::Assistant(blocks));
        }
        if !results.is_empty() {
            history.push(ModelMessage::ToolResults(results));
        }
    }
    texts
}

/// Returns the text that a step adds to the answer.
pub(crate) fn text_of(blocks: &[AssistantBlock]) -> String {
    blocks
        .iter()
        .filter_map(|block| if let AssistantBlock::Text { text } = block { Some(text.as_str()) } else { None })
        .collect()
}

fn request(call: &ToolCallRow) -> ToolCallRequest {
    ToolCallRequest {
        id: call.provider_call_id.clone(),
        name: call.tool_name.clone(),
        // The model sees the arguments that it wrote, even if the user edited them.
        input_text: call.proposed_input_text.as_ref().unwrap_or(&call.input_text).clone(),
        written_by: None,
    }
}

fn result(block: &AssistantBlock, calls: &[&ToolCallRow], limit: usize) -> Option<ToolResult> {
    let request = block.tool_call()?;
    let row = last_row(calls.iter().copied(), request);
    let content = row.and_then(|call| content(call, limit));
    Some(ToolResult {
        call_id: request.id.clone(),
        tool_name: request.name.clone(),
        is_error: row.is_none_or(|call| call.output.is_none()),
        content: content.unwrap_or_else(|| error_json(&request.name, NO_RESULT, "interrupted", None, limit)),
        images: row
            .map(|call| call.files.iter().map(|file| UserPart::StoredFile(file.id)).collect())
            .unwrap_or_default(),
    })
}

/// Returns the row of a call, or `None` if the call has no row. If the call was made more than once, returns its last
/// row.
pub(crate) fn last_row<'a>(
    rows: impl DoubleEndedIterator<Item = &'a ToolCallRow>,
    request: &ToolCallRequest,
) -> Option<&'a ToolCallRow> {
    let id = stored_id(&request.id);
    rows.rev().find(|row| row.provider_call_id == id)
}

fn content(call: &ToolCallRow, limit: usize) -> Option<String> {
    let edited = call.proposed_input_text.as_ref().map(|_| call.input_text.as_str());
    if let Some(output) = &call.output {
        let whole_bytes = call.output_bytes.and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(output.len());
        return Some(success_json(&call.tool_name, output, whole_bytes, edited, limit));
    }
    let error = call.error.as_ref()?;
    Some(error_json(&call.tool_name, error, call.error_type.as_deref().unwrap_or("error"), edited, limit))
}

/// Maximum ratio of the estimate to the provider's count, in either direction. If the ratio is larger, the count is not
/// comparable and not used.
const MAX_RATIO: usize = 3;

/// Tokens that a provider counted at the end of an answer: the whole prompt of the last step, and its output.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Counted {
    provider: String,
    model: String,
    /// First message that the prompt contained in full. `None` if that was the first message of the conversation.
    told_from: Option<MessageId>,
    tokens: usize,
}

impl Counted {
    /// Returns the count of the answer's last complete step. Returns `None` if it has no complete step.
    pub(crate) fn of<'a>(answer: &MessageRow, steps: impl Iterator<Item = &'a ModelCallRow>) -> Option<Self> {
        let last = steps.filter(|step| step.error.is_none()).last()?;
        let tokens = usize::try_from(last.input_tokens.checked_add(last.output_tokens)?).ok()?;
        let (provider, model) = (last.provider.clone(), last.model.clone());
        Some(Self { provider, model, told_from: answer.context.told_from, tokens })
    }

    /// Returns the tokens that were added since `before`. Returns `None` if the counts are not of the same model and
    /// the same start of the prompt.
    fn since(&self, before: &Self) -> Option<usize> {
        let is_same =
            (&self.provider, &self.model, self.told_from) == (&before.provider, &before.model, before.told_from);
        self.tokens.checked_sub(before.tokens).filter(|_| is_same)
    }
}

/// Returns the tokens of an exchange, based on the counts at its end and at the end of the exchange before it.
fn tokens_of(exchange: &[ModelMessage], before: Option<&Counted>, counted: Option<&Counted>) -> usize {
    let estimate: usize = exchange.iter().map(tokens::of_message).sum();
    let exact = before.zip(counted).and_then(|(before, counted)| counted.since(before));
    let is_likely = |&exact: &usize| exact * MAX_RATIO >= estimate && exact <= estimate * MAX_RATIO;
    exact.filter(is_likely).unwrap_or(estimate)
}

#[cfg(test)]
mod tests {
    use crate::turn::context::history::{Counted, MessageId, ModelMessage, tokens_of};

    fn counted(tokens: usize) -> Counted {
        Counted { provider: "anthropic".to_owned(), model: "m".to_owned(), told_from: None, tokens }
    }

    #[test]
    fn the_providers_token_counts_are_used_if_they_are_comparable() {
        let exchange = [ModelMessage::user_text("x".repeat(276))];
        let tokens =
            |before: Option<Counted>, after: Option<Counted>| tokens_of(&exchange, before.as_ref(), after.as_ref());
        let estimate = 100;
        assert_eq!(tokens(Some(counted(1000)), Some(counted(1060))), 60);
        assert_eq!(tokens(Some(counted(1000)), Some(counted(1250))), 250);
        // No count before the exchange, or none at its end.
        assert_eq!(tokens(None, Some(counted(60))), estimate);
        assert_eq!(tokens(Some(counted(1000)), None), estimate);
        // Counts that cannot belong to this exchange: no difference, less than before, much too small, much too large.
        for after in [1000, 900, 1033, 1301] {
            assert_eq!(tokens(Some(counted(1000)), Some(counted(after))), estimate, "{after}");
        }
        // Another model counts differently. A prompt that starts at another message cannot be compared.
        let other = Counted { model: "n".to_owned(), ..counted(1060) };
        let shorter = Counted { told_from: Some(MessageId(7)), ..counted(1060) };
        for after in [other, shorter] {
            assert_eq!(tokens(Some(counted(1000)), Some(after)), estimate);
        }
    }
}
