//! What happens to conversations elsewhere (`GET /api/events`), read while the tab is seen, and told to whoever subscribes.

use std::time::Duration;

use futures_util::future::{AbortHandle, abortable};
use leptos::{prelude::*, task::spawn_local};
use tallybook_protocol::FeedEvent;

use crate::{api, browser, in_turn::in_place, reactive::effect};

const MAX_PAUSE_SECS: u64 = 30;

/// What the feed tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// The feed is heard from now on; whatever happened before may have been missed.
    Missed,
    /// Something happened.
    Event(FeedEvent),
}

/// The feed of this page. It is read until the component that made it goes away.
#[derive(Clone, Copy)]
pub(crate) struct Feed {
    subscribers: StoredValue<Vec<(u32, Callback<News>)>>,
    last_subscriber: StoredValue<u32>,
    following: StoredValue<Option<AbortHandle>>,
    /// The folder of this page's program, which names its version.
    folder: StoredValue<String>,
    /// Whether the server has another page by now.
    pub(crate) is_outdated: RwSignal<bool>,
    /// Whether the server says that the user is signed out.
    pub(crate) is_signed_out: RwSignal<bool>,
}

impl Feed {
    /// The feed, for a page whose program is in `folder`.
    pub(crate) fn new(folder: String) -> Self {
        let feed = Self {
            subscribers: StoredValue::default(),
            last_subscriber: StoredValue::new(0),
            following: StoredValue::new(None),
            folder: StoredValue::new(folder),
            is_outdated: RwSignal::new(false),
            is_signed_out: RwSignal::new(false),
        };
        // Effects run in a browser alone, once the page is there.
        effect(move || {
            // After what is built in turn.
            let placed = in_place();
            spawn_local(async move {
                placed.await;
                feed.attend();
            });
            let shown = window_event_listener_untyped("visibilitychange", move |_| feed.attend());
            let online = window_event_listener_untyped("online", move |_| feed.attend());
            let signed_out = browser::when_signed_out(move || feed.is_signed_out.set(true));
            on_cleanup(move || {
                signed_out.remove();
                shown.remove();
                online.remove();
                feed.stop();
            });
        });
        feed
    }

    /// Tells `hear` what happens, until the component that asks for it goes away.
    pub(crate) fn subscribe(self, hear: impl Fn(News) + Send + Sync + 'static) {
        let number = self.last_subscriber.get_value().wrapping_add(1);
        self.last_subscriber.set_value(number);
        self.subscribers.update_value(|subscribers| subscribers.push((number, Callback::new(hear))));
        on_cleanup(move || {
            self.subscribers.try_update_value(|subscribers| subscribers.retain(|(other, _)| *other != number));
        });
    }

    /// Tells everybody. Also for what was done here, when nobody should have to wait to be told.
    pub(crate) fn publish(self, news: &News) {
        for (_, subscriber) in self.subscribers.try_get_value().unwrap_or_default() {
            subscriber.run(news.clone());
        }
    }

    /// Follows the feed while the tab is seen. A hidden one needs no connection; it catches up when it is shown.
    fn attend(self) {
        self.stop();
        if browser::is_hidden() {
            return;
        }
        let (task, handle) = abortable(self.follow());
        self.following.set_value(Some(handle));
        spawn_local(async move {
            // `Err` says that it was aborted, which is how it ends.
            let _ = task.await;
        });
    }

    fn stop(self) {
        if let Some(handle) = self.following.try_update_value(Option::take).flatten() {
            handle.abort();
        }
    }

    async fn follow(self) {
        let mut attempt = 0;
        loop {
            let answer = api::feed().await;
            if answer.as_ref().is_err_and(api::ApiError::is_signed_out) {
                // The server leads to the sign-in page, and back to here. A user who is writing goes there by the link.
                return if browser::has_written() { self.is_signed_out.set(true) } else { browser::reload() };
            }
            if let Ok(mut stream) = answer {
                attempt = 0;
                self.is_signed_out.set(false);
                let folder = self.folder.get_value();
                self.is_outdated.set(stream.folder.as_ref().is_some_and(|newest| *newest != folder));
                // What happened until now was heard by nobody here.
                self.publish(&News::Missed);
                while let Some(events) = stream.next().await {
                    for event in events {
                        self.publish(&News::Event(event));
                    }
                }
            }
            attempt += 1;
            let seconds = 1_u64.checked_shl(attempt).unwrap_or(MAX_PAUSE_SECS).min(MAX_PAUSE_SECS);
            browser::sleep(Duration::from_secs(seconds)).await;
        }
    }
}
