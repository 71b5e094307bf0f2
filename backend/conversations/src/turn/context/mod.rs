//! Builds the model context of a turn: the newest exchanges that fit into the prompt, and a summary in place of the
//! older ones. If an API client supplied the history, the newest exchanges of that history are used instead.

pub(crate) mod history;
pub(crate) mod prompt_files;
pub(crate) mod summary;

use std::{collections::HashMap, sync::Arc};

use tallybook_accounts::UserId;
use tallybook_database::with_retries;
use tallybook_llm::{ModelMessage, tokens};
use tallybook_protocol::{MessageId, MessagePart};

use crate::{
    ChangeableSettings,
    branch::tree::branch,
    context::Context,
    models::Model,
    store::{
        ConversationId, message_files, messages,
        rows::{SummaryRef, TreeNode},
        summaries,
        turns::TurnRows,
    },
    turn::{
        api::client_input::ClientInput,
        context::{
            history::{Exchange, earlier_exchanges, newest_exchanges, steps_of, text_of},
            prompt_files::PromptFiles,
        },
        documents::Document,
        recorder::writer::TurnWriter,
    },
};

/// Tokens that a summary takes in the prompt in addition to its text.
const SUMMARY_FRAME_TOKENS: usize = 100;

/// Builder of the prompt context of one turn.
pub(crate) struct ContextBuilder<'a> {
    pub(crate) context: &'a Context,
    pub(crate) writer: &'a TurnWriter,
    pub(crate) user: UserId,
    pub(crate) conversation_id: ConversationId,
    pub(crate) rows: TurnRows,
    pub(crate) model: &'a Model,
    pub(crate) settings: &'a ChangeableSettings,
    /// Client-supplied input. `None` if the stored history is used.
    pub(crate) client_input: Option<&'a ClientInput>,
    /// The documents of the conversation.
    pub(crate) documents: Arc<[Document]>,
    /// `true` if the turn is resumed, so that the context includes its own steps.
    pub(crate) is_resumed: bool,
    /// Tokens of the rest of the prompt: everything except the history and the summary.
    pub(crate) overhead_tokens: usize,
    /// Tokens of the part before the question in the last context that was built.
    pub(crate) previous_tokens: usize,
    /// The question, if it is in memory already. The first context that needs it takes it.
    pub(crate) question: Option<NewQuestion>,
}

/// The question of a turn and the conversation's message tree. The caller has them in memory, so they need not be read
/// again.
pub(crate) struct NewQuestion {
    /// All messages of the conversation with their parents, oldest first.
    pub(crate) places: Vec<TreeNode>,
    pub(crate) parts: Vec<MessagePart>,
}

impl NewQuestion {
    pub(crate) fn has_files(&self) -> bool {
        self.parts.iter().any(|part| part.file_id().is_some())
    }
}

/// Context for a prompt.
#[derive(Debug, Default)]
pub(crate) struct BuiltContext {
    /// Messages before the question.
    pub(crate) earlier: Vec<ModelMessage>,
    /// The question, and the steps of its answer so far.
    pub(crate) current: Vec<ModelMessage>,
    pub(crate) summary: Option<String>,
}

/// Selected context, before it is recorded and converted to messages.
struct Found {
    earlier: Vec<Exchange>,
    current: Vec<ModelMessage>,
    summary: Option<SummaryRef>,
    /// First message that the prompt contains in full. `None` if that is the first message of the conversation.
    from: Option<MessageId>,
}

impl ContextBuilder<'_> {
    /// Builds the context, limited to the model's context window.
    pub(crate) async fn build(&mut self) -> sqlx::Result<BuiltContext> {
        let budget = self.model.window().budget_beside(self.overhead_tokens + self.summary_tokens());
        let found = self.find(budget, usize::MAX).await?;
        self.record(found).await
    }

    /// Builds a shorter context after the model rejected the prompt as too long. The part before the question has at
    /// most half of its last size, and fits in `limit` tokens if the limit is known. Returns `None` if the last context
    /// had nothing before the question.
    pub(crate) async fn shrink(&mut self, limit: Option<usize>) -> sqlx::Result<Option<BuiltContext>> {
        if self.previous_tokens == 0 {
            return Ok(None);
        }
        let overhead_tokens = self.overhead_tokens + self.summary_tokens() + self.model.window().answer;
        let budget = limit.map_or(usize::MAX, |limit| limit.saturating_sub(overhead_tokens));
        let found = self.find(budget, self.previous_tokens / 2).await?;
        self.record(found).await.map(Some)
    }

    fn summary_tokens(&self) -> usize {
        match self.settings.memory.max_chars {
            0 => 0,
            // No script takes more than two tokens per character.
            chars => 2 * chars + SUMMARY_FRAME_TOKENS,
        }
    }

    async fn find(&mut self, budget: usize, most_before: usize) -> sqlx::Result<Found> {
        match self.client_input {
            Some(input) => self.select_from_client_input(input, budget, most_before).await,
            None => self.find_stored(budget, most_before).await,
        }
    }

    /// Selects from the stored conversation: at most `budget` tokens, of which at most `most_before` are before the
    /// question.
    async fn find_stored(&mut self, budget: usize, most_before: usize) -> sqlx::Result<Found> {
        let TurnRows { user_message_id, assistant_message_id, .. } = self.rows;
        let newest = if self.is_resumed { assistant_message_id } else { user_message_id };
        let mut files = PromptFiles::of_model(self.context, self.model, Arc::clone(&self.documents));
        let (branch, mut exchanges, current) = if let Some(NewQuestion { places, parts }) = self.question.take() {
            let branch = branch(&places, Some(newest));
            let current = Exchange::of_question(files.question(user_message_id, parts).await?);
            let before = &branch[..branch.len().saturating_sub(1)];
            let exchanges = earlier_exchanges(self.context, before, budget, &mut files).await?;
            (branch, exchanges, Some(current))
        } else {
            let places = messages::list_tree_nodes(&self.context.db, self.conversation_id).await?;
            let branch = branch(&places, Some(newest));
            let mut exchanges = newest_exchanges(self.context, &branch, self.is_resumed, budget, &mut files).await?;
            let current = exchanges.pop();
            (branch, exchanges, current)
        };
        let contexts = files.take_contexts(user_message_id);
        message_files::set_contexts(&self.context.db, user_message_id, &contexts).await?;
        let budget = budget.saturating_sub(current.as_ref().map_or(0, |current| current.tokens)).min(most_before);
        let whole = if self.settings.memory.max_chars == 0 {
            budget
        } else {
            self.settings.memory.after_tokens(self.model.window())
        };
        let total = branch.len().div_ceil(2).saturating_sub(1);
        let mut candidates = Candidates {
            unread: total.saturating_sub(exchanges.len()),
            tokens: exchanges.iter().map(|exchange| exchange.tokens).collect(),
            covered: Vec::new(),
        };
        // Most conversations fit completely, so that no summary needs to be read.
        let is_whole = candidates.first_within(whole.min(budget)) == 0;
        let summaries = if is_whole { Vec::new() } else { self.summaries_before(&branch).await? };
        candidates.covered = summaries.iter().map(|(covered, _)| *covered).collect();
        let Selection { summary, first } = select(&candidates, whole, budget);
        let mut earlier = exchanges.split_off(first.saturating_sub(candidates.unread));
        let mut current = current.map(|current| current.messages).unwrap_or_default();
        // The images of tools. The newest come first, because the size of all images is limited.
        files.load_all(self.user, &mut current).await?;
        for exchange in earlier.iter_mut().rev() {
            files.load_all(self.user, &mut exchange.messages).await?;
        }
        Ok(Found {
            earlier,
            current,
            summary: summary.map(|at| summaries[at].1),
            from: (first > 0).then(|| branch.get(2 * first).map(|place| place.id)).flatten(),
        })
    }

    /// Returns the summaries of the branch up to the question, each with the number of exchanges that it covers, oldest
    /// first.
    async fn summaries_before(&self, branch: &[TreeNode]) -> sqlx::Result<Vec<(usize, SummaryRef)>> {
        if self.settings.memory.max_chars == 0 {
            return Ok(Vec::new());
        }
        let places = summaries::list_places(&self.context.db, self.conversation_id).await?;
        let question = branch.iter().position(|place| place.id == self.rows.user_message_id);
        Ok(covered_on(&branch[..question.unwrap_or(branch.len())], &places))
    }

    /// Selects from the history that an API client sent. The client decides what that history contains. If that history
    /// continues from the last stored answer, adds the newest summary of the stored conversation.
    async fn select_from_client_input(
        &mut self,
        input: &ClientInput,
        budget: usize,
        most_before: usize,
    ) -> sqlx::Result<Found> {
        let mut messages = input.messages.clone();
        if self.is_resumed {
            messages.extend(steps_of(self.context, self.conversation_id, self.rows.assistant_message_id).await?);
        }
        let mut files = PromptFiles::of_model(self.context, self.model, Arc::clone(&self.documents));
        let contexts = files.load_all(self.user, &mut messages).await?;
        message_files::set_contexts(&self.context.db, self.rows.user_message_id, &contexts).await?;
        let question = messages.iter().rposition(|message| matches!(message, ModelMessage::User(_))).unwrap_or(0);
        let current = messages.split_off(question);
        let summary = self.newest_summary(&messages, &current).await?;
        let exchanges = split_exchanges(messages);
        let budget = budget.saturating_sub(current.iter().map(tokens::of_message).sum()).min(most_before);
        let candidates =
            Candidates { tokens: exchanges.iter().map(|exchange| exchange.tokens).collect(), ..Candidates::default() };
        let Selection { first, .. } = select(&candidates, budget, budget);
        Ok(Found {
            earlier: exchanges.into_iter().skip(first).collect(),
            current,
            from: summary.map(|_| self.rows.user_message_id),
            summary,
        })
    }

    /// Returns the newest summary of the stored conversation if the client's history continues from the last stored
    /// answer.
    async fn newest_summary(
        &mut self,
        earlier: &[ModelMessage],
        current: &[ModelMessage],
    ) -> sqlx::Result<Option<SummaryRef>> {
        if self.settings.memory.max_chars == 0 {
            return Ok(None);
        }
        let places = match self.question.take() {
            Some(question) => question.places,
            None => messages::list_tree_nodes(&self.context.db, self.conversation_id).await?,
        };
        let branch = branch(&places, Some(self.rows.user_message_id));
        let [.., question, answer, _] = &branch[..] else { return Ok(None) };
        let Some((_, newest)) = self.summaries_before(&branch).await?.pop() else { return Ok(None) };
        let before = messages::list_messages(&self.context.db, &[question.id, answer.id]).await?;
        let [question, answer] = &before[..] else { return Ok(None) };
        let said = earlier.iter().rev().find_map(|message| match message {
            ModelMessage::Assistant(blocks) => Some(text_of(blocks)),
            ModelMessage::User(_) | ModelMessage::ToolResults(_) => None,
        });
        let is_resumed = match said {
            Some(said) => answer.content.trim_end().ends_with(said.trim()),
            // The client sent no earlier answer. Then the request continues the conversation, unless it asks the
            // previous question again.
            None => current.first() != Some(&ModelMessage::user_text(question.content.as_str())),
        };
        Ok(Some(newest).filter(|_| is_resumed))
    }

    /// Records which part of the conversation the prompt contains, so that users can see it, and reads the summary's
    /// text.
    async fn record(&mut self, found: Found) -> sqlx::Result<BuiltContext> {
        let Found { earlier, current, summary, from } = found;
        let db = &self.context.db;
        let TurnRows { assistant_message_id: message_id, epoch, .. } = self.rows;
        let text = match summary {
            Some(place) => summaries::find_text(db, place.id).await?,
            None => None,
        };
        let is_rebuilt = self.is_resumed || self.previous_tokens > 0;
        if from.is_some() || is_rebuilt {
            let summary_id = summary.map(|place| place.id);
            with_retries(|| summaries::set_truncation(db, message_id, epoch, from, summary_id)).await?;
        }
        self.writer.set_whole_context(from.is_none());
        self.previous_tokens = earlier.iter().map(|exchange| exchange.tokens).sum();
        let earlier = earlier.into_iter().flat_map(|exchange| exchange.messages).collect();
        Ok(BuiltContext { earlier, current, summary: text })
    }
}

/// Returns the summaries that cover a part of a branch, each with the number of exchanges that it covers, in ascending
/// order.
pub(crate) fn covered_on(branch: &[TreeNode], places: &[SummaryRef]) -> Vec<(usize, SummaryRef)> {
    let places: HashMap<MessageId, SummaryRef> = places.iter().map(|place| (place.message_id, *place)).collect();
    let covered = |(at, node): (usize, &TreeNode)| Some((at.div_ceil(2), *places.get(&node.id)?));
    branch.iter().enumerate().filter_map(covered).collect()
}

/// Splits the history that an API client sent into exchanges.
fn split_exchanges(messages: Vec<ModelMessage>) -> Vec<Exchange> {
    let mut exchanges: Vec<Exchange> = Vec::new();
    for message in messages {
        let tokens = tokens::of_message(&message);
        match exchanges.last_mut() {
            Some(exchange) if !matches!(message, ModelMessage::User(_)) => {
                exchange.tokens += tokens;
                exchange.messages.push(message);
            }
            _ => exchanges.push(Exchange { messages: vec![message], tokens }),
        }
    }
    exchanges
}

/// The exchanges before a question and their summaries, from which the selection is made.
#[derive(Clone, Debug, Default)]
pub(crate) struct Candidates {
    /// Number of oldest exchanges that were not read, because they cannot fit.
    pub(crate) unread: usize,
    /// Tokens of each other exchange, oldest first.
    pub(crate) tokens: Vec<usize>,
    /// Number of exchanges that each summary covers, in ascending order.
    pub(crate) covered: Vec<usize>,
}

/// The selection for a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Selection {
    /// Index of the summary in [`Candidates::covered`]. `None` for no summary.
    pub(crate) summary: Option<usize>,
    /// Index of the first exchange that the prompt contains in full.
    pub(crate) first: usize,
}

impl Candidates {
    /// Returns the index of the first of the newest exchanges that together fit in `tokens`.
    fn first_within(&self, tokens: usize) -> usize {
        let mut sum = 0_usize;
        let fitting = self.tokens.iter().rev().take_while(|&&of_one| {
            sum = sum.saturating_add(of_one);
            sum <= tokens
        });
        self.unread + self.tokens.len() - fitting.count()
    }
}

/// Selects what the prompt contains. If all exchanges fit in `whole` tokens, no summary is needed. Otherwise the oldest
/// summary that leaves no gap replaces the older exchanges, and at most `whole` tokens of newer ones follow. If every
/// summary leaves a gap, because the next one is not written yet or failed, the newest summary is used. Then as many of
/// the newest exchanges follow as fit in `budget` tokens.
pub(crate) fn select(candidates: &Candidates, whole: usize, budget: usize) -> Selection {
    let first = candidates.first_within(whole.min(budget));
    if first == 0 {
        return Selection { summary: None, first };
    }
    if let Some(at) = candidates.covered.iter().position(|&covered| covered >= first) {
        return Selection { summary: Some(at), first: candidates.covered[at] };
    }
    let first = candidates.first_within(budget);
    match candidates.covered.last() {
        Some(&covered) => Selection { summary: Some(candidates.covered.len() - 1), first: first.max(covered) },
        None => Selection { summary: None, first },
    }
}

#[cfg(test)]
mod tests {
    use crate::turn::context::{Candidates, Selection, select};

    /// Ten exchanges of ten tokens each.
    fn candidates(covered: &[usize]) -> Candidates {
        Candidates { unread: 0, tokens: vec![10; 10], covered: covered.to_vec() }
    }

    fn selected(candidates: &Candidates, whole: usize, budget: usize) -> (Option<usize>, usize) {
        let Selection { summary, first } = select(candidates, whole, budget);
        (summary, first)
    }

    #[test]
    fn a_history_that_fits_is_sent_whole() {
        assert_eq!(selected(&candidates(&[4, 10]), 100, 200), (None, 0));
        assert_eq!(selected(&Candidates::default(), 0, 0), (None, 0));
    }

    #[test]
    fn the_oldest_summary_without_a_gap_replaces_the_older_exchanges() {
        for (whole, budget, expected) in [
            (99, 200, (Some(0), 4)),
            (60, 200, (Some(0), 4)),
            (59, 200, (Some(1), 7)),
            (200, 30, (Some(1), 7)),
            (29, 200, (Some(2), 10)),
            (0, 200, (Some(2), 10)),
        ] {
            assert_eq!(selected(&candidates(&[4, 7, 10]), whole, budget), expected, "{whole}, {budget}");
        }
    }

    /// The prompt contains as many of the newest exchanges as fit, even if a gap to the summary remains.
    #[test]
    fn without_a_complete_summary_the_prompt_has_as_many_exchanges_as_fit() {
        assert_eq!(selected(&candidates(&[2]), 50, 200), (Some(0), 2));
        assert_eq!(selected(&candidates(&[2]), 50, 60), (Some(0), 4));
        assert_eq!(selected(&candidates(&[]), 50, 60), (None, 4));
        assert_eq!(selected(&candidates(&[]), 50, 200), (None, 0));
        assert_eq!(selected(&candidates(&[]), 50, 9), (None, 10));
    }

    #[test]
    fn unread_exchanges_count_as_left_out() {
        let candidates = Candidates { unread: 90, ..candidates(&[92, 95]) };
        assert_eq!(selected(&candidates, 1000, 1000), (Some(0), 92));
        assert_eq!(selected(&candidates, 60, 1000), (Some(1), 95));
        assert_eq!(selected(&Candidates { covered: Vec::new(), ..candidates }, 60, 1000), (None, 90));
    }
}
