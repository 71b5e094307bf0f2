//! The assistant's message so far, for snapshots and for the turn's end event: its text, its plan, and the items anchored in
//! the text (`item`). Texts of items are truncated to what one event may carry.

use chrono::{DateTime, Utc};
use tallybook_protocol::{CallsBudget, ChatEvent, MessageStatus, Plan, Snapshot, ToolCall};

use crate::journal::{event_id::EventId, item::Item, words::Words};

/// The message so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Progress {
    pub(crate) content: String,
    /// Provider of the model that writes the message, and the model's catalog name.
    author: Option<(String, String)>,
    /// In the order in which they began.
    items: Vec<Item>,
    /// The answer's plan, in plan mode.
    plan: Option<Plan>,
    /// Remaining budget for the texts of tool calls, in bytes. Texts that exceed this budget are truncated.
    held: CallsBudget,
}

impl Progress {
    /// Creates the state from a message's stored rows.
    pub(crate) fn of(Words { content, reasoning, plan }: Words, calls: Vec<ToolCall>) -> Self {
        let items = calls.into_iter().map(Item::Call).chain(reasoning.into_iter().map(Item::Reasoning)).collect();
        Self { content, items, plan, ..Self::default() }
    }

    /// Returns the tool calls so far.
    pub(crate) fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        Item::calls(&self.items)
    }

    /// Returns the text, reasoning and plan so far.
    pub(crate) fn words(&self) -> Words {
        let reasoning = Item::reasoning(&self.items).cloned().collect();
        Words { content: self.content.clone(), reasoning, plan: self.plan.clone() }
    }

    /// Returns a snapshot of the message as of the event `id`.
    pub(crate) fn into_snapshot(self, id: EventId) -> Snapshot {
        let (provider, model) = self.author.unzip();
        let (tool_calls, reasoning) = Item::into_kinds(self.items);
        Snapshot {
            assistant_message_id: id.message_id,
            epoch: id.epoch,
            content: self.content,
            tool_calls,
            reasoning,
            plan: self.plan,
            status: MessageStatus::Streaming,
            provider,
            model,
        }
    }

    /// Applies an event of the time `at`.
    pub(crate) fn apply(&mut self, event: &ChatEvent, at: DateTime<Utc>) {
        match event {
            ChatEvent::ContentDelta(delta) => self.content.push_str(&delta.delta),
            ChatEvent::MessageStart(start) => self.author = start.provider.clone().zip(start.model.clone()),
            ChatEvent::Snapshot(snapshot) => {
                self.content.clone_from(&snapshot.content);
                self.author = snapshot.provider.clone().zip(snapshot.model.clone());
                self.plan.clone_from(&snapshot.plan);
                self.items.clear();
                self.held = CallsBudget::default();
                Item::list_of(snapshot).for_each(|item| self.add(item));
            }
            ChatEvent::Plan(plan) => self.plan = Some(plan.clone()),
            ChatEvent::PlanStep(changed) => {
                if let Some(plan) = &mut self.plan {
                    plan.apply(changed);
                }
            }
            event => {
                let Self { items, held, .. } = self;
                let is_known = items.iter_mut().rev().any(|item| item.apply(event, at, held));
                if let Some(item) = Item::begun_by(event, at).filter(|_| !is_known) {
                    self.add(item);
                }
            }
        }
    }

    fn add(&mut self, mut item: Item) {
        item.fit(&mut self.held);
        self.items.push(item);
    }
}
