//! The assistant's message as far as a turn has come, for snapshots and for the turn's end: its text, and what is anchored in
//! it (`item`), with as much of that as one event may carry.

use chrono::{DateTime, Utc};
use tallybook_protocol::{CallsBudget, ChatEvent, MessageStatus, Plan, Snapshot, ToolCall};

use super::{event_id::EventId, item::Item, words::Words};

/// The message as far as it is.
#[derive(Clone, Debug, Default)]
pub(super) struct Progress {
    pub(super) content: String,
    /// Who provides the model that writes it, and the catalog's name of that.
    author: Option<(String, String)>,
    /// In the order in which they began.
    items: Vec<Item>,
    /// The plan that it is made by.
    plan: Option<Plan>,
    /// Bytes of the items' texts as they are held; beyond one budget they are cut.
    held: CallsBudget,
}

impl Progress {
    /// A message as its rows have it.
    pub(super) fn of(Words { content, reasoning, plan }: Words, calls: Vec<ToolCall>) -> Self {
        let items = calls.into_iter().map(Item::Call).chain(reasoning.into_iter().map(Item::Reasoning)).collect();
        Self { content, items, plan, ..Self::default() }
    }

    /// The calls so far.
    pub(super) fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        Item::calls(&self.items)
    }

    /// The words so far.
    pub(super) fn words(&self) -> Words {
        let reasoning = Item::reasoning(&self.items).cloned().collect();
        Words { content: self.content.clone(), reasoning, plan: self.plan.clone() }
    }

    /// The message as far as it had come with the event `id`.
    pub(super) fn into_snapshot(self, id: EventId) -> Snapshot {
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

    /// Takes in what happened at `at`.
    pub(super) fn apply(&mut self, event: &ChatEvent, at: DateTime<Utc>) {
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
