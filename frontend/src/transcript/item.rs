//! What stands in an answer at a place of its text. A further kind is a variant of [`Item`] and of [`ItemKey`], an arm of
//! the fold for its events, and a component.

use std::sync::Arc;

use tallybook_protocol::{ToolCall, ToolCallId};

use super::Call;

/// Something that stands in an answer. Shared, so that a copy of an answer costs little while its text grows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// A tool call.
    Call(Arc<Call>),
}

/// Names an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ItemKey {
    /// A tool call, by its row id.
    Call(ToolCallId),
}

impl Item {
    /// What names it.
    pub fn key(&self) -> ItemKey {
        match self {
            Self::Call(call) => ItemKey::Call(call.id),
        }
    }

    /// Before which byte of the answer's text it stands, as the server says. Not to be trusted.
    pub fn offset(&self) -> i64 {
        match self {
            Self::Call(call) => call.offset,
        }
    }

    /// Whether nothing more will happen to it.
    pub fn is_over(&self) -> bool {
        match self {
            Self::Call(call) => call.is_over(),
        }
    }

    /// How far it has come; it never goes back.
    fn stage(&self) -> u8 {
        match self {
            Self::Call(call) if call.is_over() => 2,
            Self::Call(call) => u8::from(!call.awaits_decision()),
        }
    }

    /// The tool call that it is.
    pub fn as_call(&self) -> Option<&Arc<Call>> {
        match self {
            Self::Call(call) => Some(call),
        }
    }

    /// The same, to be changed.
    pub fn as_call_mut(&mut self) -> Option<&mut Arc<Call>> {
        match self {
            Self::Call(call) => Some(call),
        }
    }

    /// Takes what is missing from the same item as it was heard of at another time.
    fn extend_from(&mut self, other: &Self) {
        match (self, other) {
            (Self::Call(call), Self::Call(other)) => Arc::make_mut(call).extend_from(other),
        }
    }

    /// The later state of two that were heard of the same item in whichever order, with all that is known of its texts.
    pub(super) fn merged(self, other: Self) -> Self {
        let (mut later, earlier) = if other.stage() > self.stage() { (other, self) } else { (self, other) };
        later.extend_from(&earlier);
        later
    }
}

/// The items of a message as the server tells them, each with what was `held` of its texts before.
pub(super) fn items_from(calls: Vec<ToolCall>, held: &[Item]) -> Vec<Item> {
    let mut items: Vec<Item> = calls.into_iter().map(|call| Item::Call(Arc::new(call.into()))).collect();
    if !held.is_empty() {
        for item in &mut items {
            let key = item.key();
            held.iter().filter(|held| held.key() == key).for_each(|held| item.extend_from(held));
        }
    }
    items
}
