//! What stands in an answer at a place of its text. A further kind is a variant of [`Item`] and of [`ItemKey`], an arm of
//! the fold for its events, and a component.

use std::sync::Arc;

use tallybook_protocol::{MessageId, Reasoning, ToolCall, ToolCallId};

use super::{Call, Thought};

/// Something that stands in an answer. Shared, so that a copy of an answer costs little while its text grows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// A tool call.
    Call(Arc<Call>),
    /// What the model showed of its thinking.
    Thought(Arc<Thought>),
}

/// Names an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ItemKey {
    /// A tool call, by its row id.
    Call(ToolCallId),
    /// Thinking, by its answer and step.
    Thought(MessageId, i64),
}

impl Item {
    /// What names it.
    pub fn key(&self) -> ItemKey {
        match self {
            Self::Call(call) => ItemKey::Call(call.id),
            Self::Thought(thought) => ItemKey::Thought(thought.message, thought.told.reasoning_id),
        }
    }

    /// Before which byte of the answer's text it stands, as the server says. Not to be trusted.
    pub fn offset(&self) -> i64 {
        match self {
            Self::Call(call) => call.offset,
            Self::Thought(thought) => thought.told.offset,
        }
    }

    /// Whether nothing more will happen to it.
    pub fn is_over(&self) -> bool {
        match self {
            Self::Call(call) => call.is_over(),
            Self::Thought(thought) => thought.is_over,
        }
    }

    /// How far it has come; it never goes back.
    fn stage(&self) -> u8 {
        match self {
            Self::Call(call) if call.is_over() => 2,
            Self::Call(call) => u8::from(!call.awaits_decision()),
            Self::Thought(thought) => 1 + u8::from(thought.is_over),
        }
    }

    /// The tool call that it is.
    pub fn as_call(&self) -> Option<&Arc<Call>> {
        match self {
            Self::Call(call) => Some(call),
            Self::Thought(_) => None,
        }
    }

    /// The same, to be changed.
    pub fn as_call_mut(&mut self) -> Option<&mut Arc<Call>> {
        match self {
            Self::Call(call) => Some(call),
            Self::Thought(_) => None,
        }
    }

    /// The thinking that it is.
    pub fn as_thought(&self) -> Option<&Arc<Thought>> {
        match self {
            Self::Thought(thought) => Some(thought),
            Self::Call(_) => None,
        }
    }

    /// Takes what is missing from the same item as it was heard of at another time.
    fn extend_from(&mut self, other: &Self) {
        match (self, other) {
            (Self::Call(call), Self::Call(other)) => Arc::make_mut(call).extend_from(other),
            (Self::Thought(thought), Self::Thought(other)) => Arc::make_mut(thought).extend_from(other),
            // They have one key, so they are of one kind.
            (Self::Call(_), Self::Thought(_)) | (Self::Thought(_), Self::Call(_)) => {}
        }
    }

    /// The later state of two that were heard of the same item in whichever order, with all that is known of its texts.
    pub(super) fn merged(self, other: Self) -> Self {
        let (mut later, earlier) = if other.stage() > self.stage() { (other, self) } else { (self, other) };
        later.extend_from(&earlier);
        later
    }
}

/// What stands in a message, as the server tells it.
pub(super) struct StoredItems {
    pub(super) message: MessageId,
    pub(super) calls: Vec<ToolCall>,
    pub(super) reasoning: Vec<Reasoning>,
    /// Whether the message is not being written any more.
    pub(super) is_over: bool,
}

impl StoredItems {
    /// The items in the order in which they happened, each with what was `held` of its texts before.
    pub(super) fn items(self, held: &[Item]) -> Vec<Item> {
        let mut items: Vec<Item> = Vec::with_capacity(self.calls.len() + self.reasoning.len());
        let mut reasoning = self.reasoning.into_iter().peekable();
        let (message, is_over) = (self.message, self.is_over);
        let thought = |told| Item::Thought(Arc::new(Thought::of(message, told, is_over)));
        for (call, place) in self.calls.into_iter().zip(0_i64..) {
            while let Some(told) = reasoning.next_if(|told| told.calls_before <= place) {
                items.push(thought(told));
            }
            items.push(Item::Call(Arc::new(call.into())));
        }
        items.extend(reasoning.map(thought));
        if !held.is_empty() {
            for item in &mut items {
                let key = item.key();
                held.iter().filter(|held| held.key() == key).for_each(|held| item.extend_from(held));
            }
        }
        items
    }
}
