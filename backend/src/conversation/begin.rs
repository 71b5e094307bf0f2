//! Beginning a turn: with a new message, with another version of one, or to answer one anew. What the turn then does is
//! in `turn`.

use std::sync::Arc;

use tallybook_protocol::{ChatEvent, MessageStart, NewMessage};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{
    EventsAnswer, ServiceError,
    input::{UNTITLED, check_message, title_from_message},
    model::ConversationRow,
    repository::{
        messages,
        turns::{self, Below, Claim, NewTurn, Question, TurnRows},
    },
    service::{ConversationService, Inner},
    tree::{Place, Versions},
    turn::Turn,
};
use crate::{
    accounts::UserId,
    journal::{EventId, lock, stored},
};

impl ConversationService {
    /// Stores a message and begins the turn that answers it. Sending the same `client_message_id` again joins the turn
    /// that the first sending began.
    pub async fn send_message(&self, user: UserId, uuid: Uuid, new: NewMessage) -> Result<EventsAnswer, ServiceError> {
        check_message(&new)?;
        let row = self.inner.find(user, uuid).await?;
        let below = match new.edit_of {
            Some(id) => Below::Message(self.inner.find_edited(row.id, id).await?.parent_id),
            None => Below::Head,
        };
        let is_first = row.head_message_id.is_none() && row.title == UNTITLED;
        let first_title = is_first.then(|| title_from_message(&new.content));
        let question =
            Question::New { content: &new.content, client_message_id: new.client_message_id.as_deref(), below };
        self.inner.begin(user, uuid, &row, question, &new.content, first_title.as_deref()).await
    }

    /// Begins a turn that answers the same message as the answer `message_id` once more. Both answers stay.
    pub async fn regenerate(&self, user: UserId, uuid: Uuid, message_id: i64) -> Result<EventsAnswer, ServiceError> {
        let row = self.inner.find(user, uuid).await?;
        let find = async |id| {
            let found = messages::find_message(&self.inner.db, row.id, id).await?;
            found.ok_or(ServiceError::NoSuchMessage)
        };
        let answer = find(message_id).await?;
        let Some(user_message_id) = answer.parent_id.filter(|_| !answer.is_user()) else {
            let advice = "Only an answer can be written anew. Send a changed question with edit_of.";
            return Err(ServiceError::Invalid(advice.to_owned()));
        };
        let content = find(user_message_id).await?.content;
        self.inner.begin(user, uuid, &row, Question::Stored { user_message_id }, &content, None).await
    }
}

impl Inner {
    /// Where a message stands that is about to get another version.
    async fn find_edited(&self, conversation_id: i64, id: i64) -> Result<Place, ServiceError> {
        let edited = messages::find_message(&self.db, conversation_id, id).await?.ok_or(ServiceError::NoSuchMessage)?;
        if !edited.is_user() {
            let advice = "edit_of names an answer. Only messages of yours can be edited; answers can be written anew.";
            return Err(ServiceError::Invalid(advice.to_owned()));
        }
        Ok(Place { id, parent_id: edited.parent_id })
    }

    async fn begin(
        self: &Arc<Self>,
        user: UserId,
        uuid: Uuid,
        row: &ConversationRow,
        question: Question<'_>,
        content: &str,
        first_title: Option<&str>,
    ) -> Result<EventsAnswer, ServiceError> {
        if self.draining.is_cancelled() {
            return Err(ServiceError::ShuttingDown);
        }
        let lease_until = turns::database_now(&self.db).await? + self.lifetimes.lease;
        let new_turn = NewTurn { question, first_title, owner: &self.owner, lease_until };
        let mut tx = self.db.begin().await?;
        let rows = match turns::begin_turn(&mut tx, row.id, new_turn).await? {
            Claim::Begun(rows) => rows,
            Claim::Known(rows) => {
                drop(tx);
                return self.follow_known(row, rows).await;
            }
            Claim::Busy => return Err(ServiceError::TurnRunning),
        };
        let places = turns::list_versions(&mut tx, row.id, rows.user_message_id).await?;
        let start = ChatEvent::MessageStart(message_start(uuid, rows, content, &places));
        let id = EventId { message_id: rows.assistant_message_id, epoch: rows.epoch, seq: 0 };
        stored::create_event(&mut tx, id, &start).await?;
        tx.commit().await?;
        self.spawn_turn(user, row, rows, &start)
    }

    /// Spawns a turn that is stored and subscribes to it.
    pub(super) fn spawn_turn(
        self: &Arc<Self>,
        user: UserId,
        row: &ConversationRow,
        rows: TurnRows,
        start: &ChatEvent,
    ) -> Result<EventsAnswer, ServiceError> {
        let message_id = rows.assistant_message_id;
        let log = self.journal.open(message_id, rows.epoch);
        log.append(start)?;
        let subscription = log.subscribe();
        let cancel = CancellationToken::new();
        lock(&self.running).insert(message_id, cancel.clone());
        let turn = Turn { service: Arc::clone(self), user, conversation_id: row.id, rows, log, cancel };
        self.tasks.spawn_on(turn.run(), &self.runtime);
        self.changes.announce(user);
        Ok(EventsAnswer::Live(subscription))
    }
}

fn message_start(conversation_id: Uuid, rows: TurnRows, content: &str, places: &[Place]) -> MessageStart {
    let TurnRows { user_message_id, assistant_message_id, .. } = rows;
    let parent_id = places.iter().find(|place| place.id == user_message_id).and_then(|place| place.parent_id);
    let versions = Versions::of(places);
    MessageStart {
        user_message_id,
        assistant_message_id,
        conversation_id,
        content: content.to_owned(),
        parent_id,
        user_siblings: versions.siblings(Place { id: user_message_id, parent_id }),
        assistant_siblings: versions.siblings(Place { id: assistant_message_id, parent_id: Some(user_message_id) }),
    }
}
