//! What a model is told of earlier turns: the same blocks it wrote, step by step, each call with its result. Stopped,
//! failed and interrupted turns give a valid history too. It is read from its end, and no further than there may be room for;
//! what of it is told is decided in `telling`.

use std::collections::{BTreeMap, HashMap};
use tallybook_database::Database;

use tallybook_agent::{Limits, error_json, success_json};
use tallybook_llm::{AssistantBlock, ModelMessage, ToolCallRequest, ToolResult, UserPart, tokens};
use tallybook_protocol::{MessageId, MessagePart};

use super::{
    super::{
        context::Context,
        limits::{MAX_READ_BYTES, MIN_READ_BYTES},
        store::{
            ConversationId, messages, model_calls,
            rows::{MessageRow, ModelCallRow, SizeRow, ToolCallRow, TreeNode},
            stored_id, tool_calls,
        },
    },
    exchange_tokens::{Counted, tokens_of},
    step_text::bytes_in,
};

/// Told to the model of a call that has no result: the server or a person ended the turn while it ran.
const NO_RESULT: &str = "the call was interrupted; its outcome is unknown";

/// A question and its answer, as far as there is one, as a model is told them.
pub(super) struct Exchange {
    pub(super) messages: Vec<ModelMessage>,
    /// About how many tokens that is.
    pub(super) tokens: usize,
}

impl Exchange {
    /// A question that has no answer as yet.
    pub(super) fn of_question(parts: Vec<MessagePart>) -> Self {
        let question = ModelMessage::User(parts.into_iter().map(user_part).collect());
        let tokens = tokens::of_message(&question);
        Self { messages: vec![question], tokens }
    }
}

/// The newest exchanges of a branch that may have room in so many tokens, oldest first, each result cut to
/// `limits.model_output_bytes`; always the last one. A branch that ends in an answer is that of a turn which goes on, or of
/// one that is over.
pub(super) async fn newest_exchanges(
    context: &Context,
    branch: &[TreeNode],
    goes_on: bool,
    tokens: usize,
) -> sqlx::Result<Vec<Exchange>> {
    // A new question is told in any case; an answer that is gone on with, only after its question.
    read_exchanges(context, branch, 2 - branch.len() % 2, goes_on, tokens).await
}

/// The same of what came before a question: none at all where there is no room.
pub(super) async fn earlier_exchanges(
    context: &Context,
    branch: &[TreeNode],
    tokens: usize,
) -> sqlx::Result<Vec<Exchange>> {
    read_exchanges(context, branch, 0, false, tokens).await
}

async fn read_exchanges(
    context: &Context,
    branch: &[TreeNode],
    at_least: usize,
    goes_on: bool,
    tokens: usize,
) -> sqlx::Result<Vec<Exchange>> {
    let limits = context.agent.limits();
    let (recent, max_output_bytes) = find_recent(&context.db, branch, at_least, limits, tokens).await?;
    let ids: Vec<MessageId> = recent.iter().map(|place| place.id).collect();
    let messages = messages::list_messages(&context.db, &ids).await?;
    let answers: Vec<MessageId> =
        messages.iter().filter(|message| !message.is_user()).map(|answer| answer.id).collect();
    let model_calls = model_calls::list_model_calls(&context.db, &answers).await?;
    let tool_calls = tool_calls::list_tool_calls(&context.db, &answers, max_output_bytes).await?;
    Ok(exchanges(&messages, &model_calls, &tool_calls, goes_on, limits))
}

/// The steps of an answer that goes on, as a model is told them.
pub(super) async fn steps_of(
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

/// Those steps of an answer that goes on which have this number or a later one, as a model is told them.
pub(super) async fn steps_from(context: &Context, answer: MessageId, first: i32) -> sqlx::Result<Vec<ModelMessage>> {
    let model_calls = model_calls::list_model_calls(&context.db, &[answer]).await?;
    let tool_calls = read_calls(context, &[answer]).await?;
    let mut steps = Vec::new();
    let model_calls = model_calls.iter().filter(|call| call.step >= first);
    let tool_calls = tool_calls.iter().filter(|call| call.step >= first);
    push_steps(model_calls, tool_calls, true, context.agent.limits(), &mut steps);
    Ok(steps)
}

/// The calls of answers, with as much of each output as there is room for.
pub(super) async fn read_calls(context: &Context, answers: &[MessageId]) -> sqlx::Result<Vec<ToolCallRow>> {
    let rows = tool_calls::list_tool_calls(&context.db, answers, 0).await?;
    let max_output_bytes = MAX_READ_BYTES / rows.len().max(1);
    let max_output_bytes = max_output_bytes.clamp(MIN_READ_BYTES, context.agent.limits().model_output_bytes);
    tool_calls::list_tool_calls(&context.db, answers, max_output_bytes).await
}

/// How many messages' sizes are asked for at a time.
const SIZES_PER_READ: usize = 64;

/// How many bytes are read for a token that may be told. This only bounds what is read: a token has four bytes at most as a
/// rule, an answer's text counts twice in its size, and what its provider keeps for itself counts and is not told.
const BYTES_PER_TOKEN: usize = 16;

/// The end of the branch that is worth reading, `at_least` so many messages, beginning with a question, and how many bytes of
/// each result.
async fn find_recent<'a>(
    db: &Database,
    branch: &'a [TreeNode],
    at_least: usize,
    limits: Limits,
    tokens: usize,
) -> sqlx::Result<(&'a [TreeNode], usize)> {
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
    let begin = branch.len() - recent.messages;
    // Questions and answers take turns, so what has an even number is a question.
    let begin = begin - begin % 2;
    let max_output_bytes = MAX_READ_BYTES / recent.calls.max(1);
    Ok((&branch[begin..], max_output_bytes.clamp(MIN_READ_BYTES, limits.model_output_bytes)))
}

/// The newest messages that may fit.
#[derive(Default)]
struct Recent {
    messages: usize,
    /// So many are taken however large they are.
    at_least: usize,
    bytes: usize,
    /// Of these messages.
    calls: usize,
}

impl Recent {
    /// Takes one more message, older than those before. False when there is no room for it.
    fn add(&mut self, size: Option<&SizeRow>, budget: usize) -> bool {
        let bytes = size.map_or(0, |size| usize::try_from(size.bytes).unwrap_or(0));
        let is_taken = self.messages < self.at_least;
        if !is_taken && self.bytes.saturating_add(bytes) > budget {
            return false;
        }
        if is_taken {
            self.calls += size.map_or(0, |size| usize::try_from(size.calls).unwrap_or(0));
        }
        self.messages += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        true
    }
}

fn exchanges(
    branch: &[MessageRow],
    model_calls: &[ModelCallRow],
    tool_calls: &[ToolCallRow],
    goes_on: bool,
    limits: Limits,
) -> Vec<Exchange> {
    let last = branch.last().map(|message| message.id).filter(|_| goes_on);
    let mut exchanges: Vec<Exchange> = Vec::new();
    let mut counted = None;
    for message in branch {
        if message.is_user() {
            exchanges.push(Exchange::of_question(message.parts()));
        } else if let Some(exchange) = exchanges.last_mut() {
            let model_calls = || model_calls.iter().filter(|call| call.message_id == message.id);
            let tool_calls = tool_calls.iter().filter(|call| call.message_id == message.id);
            let goes_on = Some(message.id) == last;
            push_turn(message, model_calls(), tool_calls, goes_on, limits, &mut exchange.messages);
            let before = counted.take();
            // Of an answer by a plan less is told than was counted.
            let is_whole = goes_on || message.answer_by_plan().is_none();
            counted = Counted::of(message, model_calls()).filter(|_| is_whole);
            exchange.tokens = tokens_of(&exchange.messages, before.as_ref(), counted.as_ref());
        }
    }
    exchanges
}

fn user_part(part: MessagePart) -> UserPart {
    match part {
        MessagePart::Text { text } => UserPart::Text(text),
    }
}

/// Tells an answer, step by step.
pub(super) fn push_turn<'a>(
    message: &MessageRow,
    model_calls: impl Iterator<Item = &'a ModelCallRow>,
    tool_calls: impl Iterator<Item = &'a ToolCallRow>,
    goes_on: bool,
    limits: Limits,
    history: &mut Vec<ModelMessage>,
) {
    if let Some(answer) = message.answer_by_plan().filter(|_| !goes_on) {
        // How it was found is told to nobody any more.
        history.push(ModelMessage::Assistant(vec![AssistantBlock::Text { text: answer.to_owned() }]));
        return;
    }
    let texts = push_steps(model_calls, tool_calls, goes_on, limits, history);
    // What the steps do not have, because the last one broke off.
    let told_bytes = bytes_in(&message.content, &texts);
    let rest = message.content.get(told_bytes..).unwrap_or_default().trim_start_matches('\n');
    if !rest.is_empty() {
        history.push(ModelMessage::Assistant(vec![AssistantBlock::Text { text: rest.to_owned() }]));
    }
}

/// Tells these steps of an answer, and gives what each of them wrote.
fn push_steps<'a>(
    model_calls: impl Iterator<Item = &'a ModelCallRow>,
    tool_calls: impl Iterator<Item = &'a ToolCallRow>,
    goes_on: bool,
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
        // Blocks that cannot be read leave the calls' own rows.
        if !blocks.iter().any(|block| block.tool_call().is_some()) {
            blocks.extend(calls.iter().map(|call| AssistantBlock::ToolCall(request(call))));
        }
        if !goes_on {
            // Opaque blocks count within their own turn only.
            blocks.retain(|block| !matches!(block, AssistantBlock::Opaque { .. }));
        }
        // As much as the model was shown when the step was made.
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

/// What a step adds to the answer's text.
pub(super) fn text_of(blocks: &[AssistantBlock]) -> String {
    blocks
        .iter()
        .filter_map(|block| if let AssistantBlock::Text { text } = block { Some(text.as_str()) } else { None })
        .collect()
}

fn request(call: &ToolCallRow) -> ToolCallRequest {
    ToolCallRequest {
        id: call.provider_call_id.clone(),
        name: call.tool_name.clone(),
        // What the model said is told to it, whatever a person made of it.
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
    })
}

/// The row of a call; of one that was made more than once, the last.
pub(super) fn last_row<'a>(
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
