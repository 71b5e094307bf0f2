//! Reading a running turn along to its end, over as many connections as it takes, and catching up with what is stored.

use std::time::Duration;

use leptos::prelude::*;
use tallybook_protocol::ChatEvent;
use uuid::Uuid;

use super::{Phase, Session};
use crate::{
    api::{self, EventStream},
    browser,
    transcript::{Transcript, fold},
};

/// After so many failed attempts in a row, with pauses of up to [`MAX_PAUSE_SECS`], the page asks to be reloaded.
const MAX_ATTEMPTS: u32 = 120;
const MAX_PAUSE_SECS: u64 = 30;

/// Why reading a stream came to an end.
enum Ended {
    /// The turn is over.
    Over,
    /// The stream broke off.
    Broken,
    /// Text is missing: only a snapshot helps.
    Gap,
}

impl Session {
    /// Reads the running turn to its end, over as many connections as it takes. Without a `stream` it joins first.
    pub(super) async fn follow(self, uuid: Uuid, stream: Option<EventStream>) {
        let mut last_id = None;
        let mut attempt = 0;
        let mut stream = match stream {
            Some(stream) => Some(stream),
            None => match api::join(uuid, None).await {
                Ok(Some(stream)) => Some(stream),
                Ok(None) => return self.reload(uuid).await,
                Err(_) => None,
            },
        };
        loop {
            if let Some(open) = &mut stream {
                self.phase.set(if self.unstored.with_untracked(Option::is_some) {
                    Phase::Sending
                } else {
                    Phase::Following
                });
                match self.read(uuid, open, &mut last_id, &mut attempt).await {
                    Ended::Over if self.begins.get_value() => {
                        // The turn's beginning was missed, and with it what was sent as it is stored.
                        self.reload(uuid).await;
                        return open.finish().await;
                    }
                    Ended::Over => {
                        self.rest(None);
                        self.listeners.changed.run(());
                        return open.finish().await;
                    }
                    Ended::Broken => {}
                    Ended::Gap => last_id = None,
                }
            }
            attempt += 1;
            if attempt > MAX_ATTEMPTS {
                return self.rest(Some(self.text.connection_lost().to_owned()));
            }
            self.pause(attempt).await;
            stream = match api::join(uuid, last_id.as_deref()).await {
                Ok(Some(stream)) => Some(stream),
                Ok(None) => return self.reload(uuid).await,
                Err(error) if error.is_not_found() => return self.rest(Some(error.message(self.text))),
                Err(_) => None,
            };
        }
    }

    async fn read(
        self,
        uuid: Uuid,
        stream: &mut EventStream,
        last_id: &mut Option<String>,
        attempt: &mut u32,
    ) -> Ended {
        while let Some(received) = stream.next().await {
            let mut over = false;
            let mut began = false;
            for received in received {
                let is_terminal = received.event.is_terminal();
                if let ChatEvent::Error(error) = &received.event
                    && !is_terminal
                {
                    // It concerns this reader: the turn's end is told later, on this connection or the next. Counted
                    // like a failed attempt, so that the next event takes the notice away again.
                    let words = self.text.turn_error(&error.code).map_or_else(|| error.error.clone(), str::to_owned);
                    self.notice.set(Some(words));
                    *attempt = (*attempt).max(1);
                    continue;
                }
                if received.id.is_some() {
                    *last_id = received.id;
                }
                if std::mem::take(attempt) > 0 {
                    // The connection is back, so what was said about it is out of date.
                    self.notice.set(None);
                }
                over |= is_terminal;
                began |= matches!(received.event, ChatEvent::MessageStart(_));
                if let ChatEvent::Snapshot(snapshot) = &received.event
                    && self.known.with_value(|known| known.find(snapshot.assistant_message_id).is_none())
                    && let Ok(Some(conversation)) = self.find_stored(uuid).await
                {
                    // Its beginning was missed, and perhaps the end of a turn before it.
                    self.known.update_value(|known| known.refresh(conversation));
                    began = true;
                }
                self.known.update_value(|known| fold(known, received.event));
            }
            if began {
                self.begins.set_value(false);
                self.unstored.set(None);
                self.failed.set_value(None);
                self.phase.set(Phase::Following);
            }
            if began || over {
                self.draw();
            } else {
                self.draw_soon();
            }
            if began {
                self.listeners.changed.run(());
            }
            if over {
                return Ended::Over;
            }
            if self.known.with_value(Transcript::has_gap) {
                return Ended::Gap;
            }
        }
        Ended::Broken
    }

    /// Waits 1, 2, 4, 8 … seconds before the next attempt, and says so.
    async fn pause(self, attempt: u32) {
        let seconds = 1_u64.checked_shl(attempt - 1).unwrap_or(MAX_PAUSE_SECS).min(MAX_PAUSE_SECS);
        for left in (1..=seconds).rev() {
            self.phase.set(Phase::Reconnecting(left));
            browser::sleep(Duration::from_secs(1)).await;
        }
    }

    /// Takes the conversation as it is stored, and follows what runs in it.
    pub(super) async fn take_stored(self, uuid: Uuid) {
        let before = self.phase.get_untracked();
        let found = self.find_stored(uuid).await;
        if self.phase.get_untracked() != before {
            // Something was sent meanwhile, and what comes of it is newer.
            return;
        }
        let Ok(Some(conversation)) = found else {
            return match before {
                // Not being told is no news: the list of conversations says that the server is out of reach.
                Phase::Idle => (),
                _ => self.follow(uuid, None).await,
            };
        };
        let runs = conversation.active_message_id.is_some();
        self.known.update_value(|known| known.refresh(conversation));
        self.draw();
        if runs {
            self.follow(uuid, None).await;
        } else {
            self.rest(None);
        }
    }

    /// Takes the conversation as it is stored: nothing runs any more.
    pub(super) async fn reload(self, uuid: Uuid) {
        let notice = match self.find_stored(uuid).await {
            Ok(Some(conversation)) => {
                self.known.update_value(|known| known.refresh(conversation));
                self.draw();
                // What was sent is stored, and what was said about the connection is out of date.
                self.failed.set_value(None);
                self.notice.set(None);
                None
            }
            Ok(None) => Some(self.text.not_found_conversation().to_owned()),
            Err(error) => Some(error.message(self.text)),
        };
        self.rest(notice);
        self.listeners.changed.run(());
    }
}
