//! Reads the list feed (`GET /api/events`) while the tab is visible, and passes its events to the page's subscribers.
//! The visible tabs of a browser share one stream, because browsers open only six connections to a host over
//! HTTP/1.1.

mod tab;

use std::{cell::RefCell, pin::pin, rc::Rc, time::Duration};

use futures_util::future::{AbortHandle, Either, abortable, select};
use leptos::{prelude::*, task::spawn_local};
use tallybook_protocol::FeedEvent;

use tab::{Message, Outcome, Tab, TabConnection};

use crate::{
    api,
    browser::{self, NoLock, TabChannel, TabLock},
    mount_schedule::in_place,
    reactive::effect,
};

const MAX_PAUSE_SECS: u64 = 30;
/// Version of the format of the messages between tabs.
const FORMAT: u32 = 1;
/// Interval between two keep-alives of the leading tab, and between two checks of the other tabs for silence.
const TICK: Duration = Duration::from_secs(5);

/// News from the feed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// The feed is connected from now on. Events before that may have been missed.
    Missed,
    /// An event of the feed.
    Event(FeedEvent),
}

/// The feed of this page. It is read until the component that created it is removed.
#[derive(Clone, Copy)]
pub(crate) struct Feed {
    subscribers: StoredValue<Vec<(u32, Callback<News>)>>,
    last_subscriber: StoredValue<u32>,
    following: StoredValue<Option<AbortHandle>>,
    /// The folder of this page's WASM module, which identifies its version.
    folder: StoredValue<String>,
    /// `true` if the server has another version of the page.
    pub(crate) is_outdated: RwSignal<bool>,
    /// `true` once the server says that the session has ended.
    pub(crate) is_signed_out: RwSignal<bool>,
}

impl Feed {
    /// Creates the feed of a page whose WASM module is in `folder`.
    pub(crate) fn new(folder: String) -> Self {
        let feed = Self {
            subscribers: StoredValue::default(),
            last_subscriber: StoredValue::new(0),
            following: StoredValue::new(None),
            folder: StoredValue::new(folder),
            is_outdated: RwSignal::new(false),
            is_signed_out: RwSignal::new(false),
        };
        // Effects run only in the browser, once the page is rendered.
        effect(move || {
            // After the parts of the page that are mounted first.
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

    /// Calls `hear` with the news of the feed, until the calling component is removed.
    pub(crate) fn subscribe(self, hear: impl Fn(News) + Send + Sync + 'static) {
        let number = self.last_subscriber.get_value().wrapping_add(1);
        self.last_subscriber.set_value(number);
        self.subscribers.update_value(|subscribers| subscribers.push((number, Callback::new(hear))));
        on_cleanup(move || {
            self.subscribers.try_update_value(|subscribers| subscribers.retain(|(other, _)| *other != number));
        });
    }

    /// Passes news to all subscribers. Also used for changes made on this page, so that they show at once.
    pub(crate) fn publish(self, news: &News) {
        for (_, subscriber) in self.subscribers.try_get_value().unwrap_or_default() {
            subscriber.run(news.clone());
        }
    }

    fn publish_all(self, events: Vec<FeedEvent>) {
        for event in events {
            self.publish(&News::Event(event));
        }
    }

    /// Follows the feed while the tab is visible. A hidden tab needs no connection; it catches up when it is shown.
    fn attend(self) {
        self.stop();
        if browser::is_hidden() {
            return;
        }
        let (task, handle) = abortable(self.follow());
        self.following.set_value(Some(handle));
        spawn_local(async move {
            // `Err` means that the task was aborted, which is how it ends.
            let _ = task.await;
        });
    }

    fn stop(self) {
        if let Some(handle) = self.following.try_update_value(Option::take).flatten() {
            handle.abort();
        }
    }

    /// Reads the feed as the leader of the browser's tabs, and listens to the leader until then. In a browser without
    /// locks or channels, each tab reads the feed.
    async fn follow(self) {
        let tab = Rc::new(RefCell::new(Tab::new(browser::random_id())));
        let hearing = Rc::clone(&tab);
        let hear = move |text: &str| self.hear(&hearing, text);
        let shared = shared_name();
        let Some(channel) = TabChannel::join(&shared, hear) else { return self.read(|_| ()).await };
        loop {
            let Ok(mut lock) = wait_to_lead(&shared, &tab, &channel).await else {
                drop(channel);
                return self.read(|_| ()).await;
            };
            tab.borrow_mut().lead();
            let reading = pin!(self.read(|message| {
                match message {
                    Some(Message::Connected { folder, .. }) => {
                        tab.borrow_mut().set_connected(Some(TabConnection { folder: folder.clone() }));
                    }
                    Some(_) => {}
                    None => tab.borrow_mut().set_connected(None),
                }
                if let Some(message) = message {
                    send(&channel, message);
                }
            }));
            let life = pin!(show_life(&channel));
            let leading = select(reading, life);
            if let Either::Left(_) = select(leading, pin!(lock.lost())).await {
                return;
            }
        }
    }

    /// Handles a message from another tab, and returns the reply.
    fn hear(self, tab: &RefCell<Tab>, text: &str) -> Option<String> {
        let message = serde_json::from_str(text).ok()?;
        let outcome = tab.borrow_mut().hear(message);
        match outcome {
            Outcome::Nothing => None,
            Outcome::Reply(message) => serde_json::to_string(&message).ok(),
            Outcome::Connected(folder) => {
                self.connected(folder.as_ref());
                None
            }
            Outcome::Events(events) => {
                self.publish_all(events);
                None
            }
        }
    }

    /// Publishes that the feed is connected and that earlier events may have been missed. Compares the folder of the
    /// server's page with this page's.
    fn connected(self, newest: Option<&String>) {
        let Some(folder) = self.folder.try_get_value() else { return };
        self.is_outdated.try_set(newest.is_some_and(|newest| *newest != folder));
        self.publish(&News::Missed);
    }

    /// Reads the stream, and reconnects when the connection breaks. Calls `pass_on` with each message for the other
    /// tabs, and with `None` when the connection breaks.
    async fn read(self, pass_on: impl Fn(Option<&Message>)) {
        let mut attempt = 0;
        loop {
            let answer = api::feed().await;
            if answer.as_ref().is_err_and(api::ApiError::is_signed_out) {
                // The sign-in page leads back here. A user who is writing stays, and gets a link to it instead.
                return if browser::has_written() { self.is_signed_out.set(true) } else { browser::reload() };
            }
            if let Ok(mut stream) = answer {
                attempt = 0;
                self.is_signed_out.set(false);
                pass_on(Some(&Message::Connected { to: None, folder: stream.folder.clone() }));
                self.connected(stream.folder.as_ref());
                while let Some(events) = stream.next().await {
                    if !events.is_empty() {
                        pass_on(Some(&Message::Events(events.clone())));
                    }
                    self.publish_all(events);
                }
                pass_on(None);
            }
            attempt += 1;
            let seconds = 1_u64.checked_shl(attempt).unwrap_or(MAX_PAUSE_SECS).min(MAX_PAUSE_SECS);
            browser::sleep(Duration::from_secs(seconds)).await;
        }
    }
}

/// Returns the name of the lock of the leading tab, which is also the name of the channel between the tabs. The name
/// contains the user's ID, so that the tabs of one user never receive another user's events.
fn shared_name() -> String {
    format!("tallybook-feed-{FORMAT}-{}", browser::user_id())
}

/// Listens until this tab is to lead: the leader closes, or has been silent for so long that it counts as frozen.
async fn wait_to_lead(shared: &str, tab: &RefCell<Tab>, channel: &TabChannel) -> Result<TabLock, NoLock> {
    let hello = tab.borrow_mut().listen();
    send(channel, &hello);
    let silence = pin!(async {
        loop {
            browser::sleep(TICK).await;
            if tab.borrow_mut().tick() {
                return;
            }
        }
    });
    match select(pin!(TabLock::wait(shared)), silence).await {
        Either::Left((lock, _)) => lock,
        Either::Right(_) => TabLock::steal(shared).await,
    }
}

/// Sends a keep-alive to the other tabs at intervals. Never returns.
async fn show_life(channel: &TabChannel) {
    loop {
        send(channel, &Message::Alive);
        browser::sleep(TICK).await;
    }
}

fn send(channel: &TabChannel, message: &Message) {
    if let Ok(text) = serde_json::to_string(message) {
        channel.send(&text);
    }
}
