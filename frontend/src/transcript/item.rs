//! Items of an answer: what is anchored at a byte offset of its text. A new kind of item needs a variant of [`Item`]
//! and of [`ItemKey`], an arm of the fold for its events, and a component.

use std::sync::Arc;

use tallybook_protocol::{MessageId, Reasoning, ToolCall, ToolCallId};

use super::{Call, ReasoningPart};

/// An item of an answer. It is shared, so that copying an answer is cheap while its text grows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// A tool call.
    Call(Arc<Call>),
    /// Reasoning of the model.
    Reasoning(Arc<ReasoningPart>),
}

/// Identifies an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ItemKey {
    /// A tool call, by its row ID.
    Call(ToolCallId),
    /// Reasoning, by its answer and step.
    Reasoning(MessageId, i64),
}

impl Item {
    /// Returns its key.
    pub fn key(&self) -> ItemKey {
        match self {
            Self::Call(call) => ItemKey::Call(call.id),
            Self::Reasoning(part) => ItemKey::Reasoning(part.message, part.content.reasoning_id),
        }
    }

    /// Returns its position in the answer's text, in UTF-8 bytes. The server reports it, and it is not trusted.
    pub fn offset(&self) -> i64 {
        match self {
            Self::Call(call) => call.offset,
            Self::Reasoning(part) => part.content.offset,
        }
    }

    /// Returns `true` if it will not change any more.
    pub fn is_over(&self) -> bool {
        match self {
            Self::Call(call) => call.is_over(),
            Self::Reasoning(part) => part.is_over,
        }
    }

    /// Returns how far it is. This never decreases.
    fn stage(&self) -> u8 {
        match self {
            Self::Call(call) if call.is_over() => 2,
            Self::Call(call) => u8::from(!call.awaits_decision()),
            Self::Reasoning(part) => 1 + u8::from(part.is_over),
        }
    }

    /// Returns the tool call, if it is one.
    pub fn as_call(&self) -> Option<&Arc<Call>> {
        match self {
            Self::Call(call) => Some(call),
            Self::Reasoning(_) => None,
        }
    }

    /// Returns the tool call for writing, if it is one.
    pub fn as_call_mut(&mut self) -> Option<&mut Arc<Call>> {
        match self {
            Self::Call(call) => Some(call),
            Self::Reasoning(_) => None,
        }
    }

    /// Returns the reasoning, if it is that.
    pub fn as_reasoning(&self) -> Option<&Arc<ReasoningPart>> {
        match self {
            Self::Reasoning(part) => Some(part),
            Self::Call(_) => None,
        }
    }

    /// Adds what is missing here from another state of the same item.
    fn extend_from(&mut self, other: &Self) {
        match (self, other) {
            (Self::Call(call), Self::Call(other)) => Arc::make_mut(call).extend_from(other),
            (Self::Reasoning(part), Self::Reasoning(other)) => Arc::make_mut(part).extend_from(other),
            // They have the same key, so they are of the same kind.
            (Self::Call(_), Self::Reasoning(_)) | (Self::Reasoning(_), Self::Call(_)) => {}
        }
    }

    /// Merges two states of an item that arrived in any order: the later state, with all known text.
    pub(super) fn merged(self, other: Self) -> Self {
        let (mut later, earlier) = if other.stage() > self.stage() { (other, self) } else { (self, other) };
        later.extend_from(&earlier);
        later
    }
}

/// The items of a message, as the server sends them.
pub(super) struct StoredItems {
    pub(super) message: MessageId,
    pub(super) calls: Vec<ToolCall>,
    pub(super) reasoning: Vec<Reasoning>,
    /// `true` if the message is no longer being written.
    pub(super) is_over: bool,
}

impl StoredItems {
    /// Returns the items in the order in which they happened. Keeps the full texts of items in `held`.
    pub(super) fn items(self, held: &[Item]) -> Vec<Item> {
        let mut items: Vec<Item> = Vec::with_capacity(self.calls.len() + self.reasoning.len());
        let mut reasoning = self.reasoning.into_iter().peekable();
        let (message, is_over) = (self.message, self.is_over);
        let item = |content| Item::Reasoning(Arc::new(ReasoningPart::of(message, content, is_over)));
        for (call, place) in self.calls.into_iter().zip(0_i64..) {
            while let Some(content) = reasoning.next_if(|content| content.calls_before <= place) {
                items.push(item(content));
            }
            items.push(Item::Call(Arc::new(call.into())));
        }
        items.extend(reasoning.map(item));
        if !held.is_empty() {
            for item in &mut items {
                let key = item.key();
                held.iter().filter(|held| held.key() == key).for_each(|held| item.extend_from(held));
            }
        }
        items
    }
}
