//! Coordination between the tabs of one browser: Web Locks and broadcast channels. Browsers offer locks only over
//! HTTPS and on `localhost`.

use futures_channel::oneshot;
use futures_util::future::{Either, select};
use js_sys::{Function, Object, Promise, Reflect};
use wasm_bindgen::{JsCast, JsValue, closure::Closure, prelude::wasm_bindgen};
use wasm_bindgen_futures::JsFuture;
use web_sys::{AbortController, BroadcastChannel, MessageEvent};

/// Maximum number of turn streams that the tabs of a browser hold at the same time. Over HTTP/1.1, browsers open only
/// six connections to a host: one is for the feed, and at least two stay free for requests.
const MAX_TURN_STREAMS: usize = 3;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = ["navigator", "locks"], js_name = request, catch)]
    fn request_lock(name: &str, options: &Object, granted: &JsValue) -> Result<Promise, JsValue>;
}

/// A lock that one tab of the browser holds. Dropping it releases it.
pub(crate) struct TabLock {
    release: Function,
    ended: JsFuture,
}

impl TabLock {
    /// Waits until no other tab holds the lock, and takes it. Dropping the future gives up waiting.
    pub(crate) async fn wait(name: &str) -> Result<Self, NoLock> {
        let waiting = LockRequest(AbortController::new().map_err(|_| NoLock::Unsupported)?);
        request(name, "signal", &waiting.0.signal()).await
    }

    /// Takes the lock at once, even if another tab holds it.
    pub(crate) async fn steal(name: &str) -> Result<Self, NoLock> {
        request(name, "steal", &JsValue::TRUE).await
    }

    /// Takes the lock if no tab holds it.
    async fn take_if_free(name: &str) -> Result<Self, NoLock> {
        request(name, "ifAvailable", &JsValue::TRUE).await
    }

    /// Waits until another tab steals the lock.
    pub(crate) async fn lost(&mut self) {
        let _ = (&mut self.ended).await;
    }
}

impl Drop for TabLock {
    fn drop(&mut self) {
        let _ = self.release.call0(&JsValue::UNDEFINED);
    }
}

/// The reason why a lock was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoLock {
    /// This page has no locks.
    Unsupported,
    /// Another tab holds the lock.
    Taken,
}

/// A pending request for a lock. Dropping it cancels the request.
struct LockRequest(AbortController);

impl Drop for LockRequest {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn request(name: &str, option: &str, value: &JsValue) -> Result<TabLock, NoLock> {
    let options = Object::new();
    let _ = Reflect::set(&options, &option.into(), value);
    let (grant, granted) = oneshot::channel();
    let hold = Closure::once_into_js(move |lock: JsValue| {
        let mut release = None;
        let held = Promise::new(&mut |resolve, _| release = Some(resolve));
        // The browser releases a lock at once if the callback returns no promise.
        match grant.send(release.filter(|_| !lock.is_null())) {
            Ok(()) if !lock.is_null() => JsValue::from(held),
            _ => JsValue::UNDEFINED,
        }
    });
    let mut ended = JsFuture::from(request_lock(name, &options, &hold).map_err(|_| NoLock::Unsupported)?);
    let release = match select(granted, &mut ended).await {
        Either::Left((Ok(Some(release)), _)) => release,
        Either::Left(_) => return Err(NoLock::Taken),
        Either::Right(_) => return Err(NoLock::Unsupported),
    };
    Ok(TabLock { release, ended })
}

/// The right to hold one turn stream. Dropping it frees the place.
pub(crate) struct StreamPlace {
    _lock: Option<TabLock>,
}

impl StreamPlace {
    /// Takes a place; `None` if the tabs of this browser hold the maximum number of streams. Without locks, there is
    /// no maximum.
    pub(crate) async fn take() -> Option<Self> {
        for number in 0..MAX_TURN_STREAMS {
            match TabLock::take_if_free(&format!("tallybook-turn-{number}")).await {
                Ok(lock) => return Some(Self { _lock: Some(lock) }),
                Err(NoLock::Unsupported) => return Some(Self { _lock: None }),
                Err(NoLock::Taken) => {}
            }
        }
        None
    }
}

/// A channel on which the tabs of a browser send texts to each other. Dropping it closes it.
pub(crate) struct TabChannel {
    channel: BroadcastChannel,
    _hear: Closure<dyn Fn(MessageEvent)>,
}

impl TabChannel {
    /// Joins a channel. `hear` receives each text that another tab sends, and returns the reply to send, if any.
    /// Returns `None` if the browser has no channels.
    pub(crate) fn join(name: &str, hear: impl Fn(&str) -> Option<String> + 'static) -> Option<Self> {
        let channel = BroadcastChannel::new(name).ok()?;
        let replies = channel.clone();
        let hear = Closure::<dyn Fn(MessageEvent)>::new(move |event: MessageEvent| {
            if let Some(reply) = event.data().as_string().and_then(|text| hear(&text)) {
                let _ = replies.post_message(&reply.into());
            }
        });
        channel.set_onmessage(Some(hear.as_ref().unchecked_ref()));
        Some(Self { channel, _hear: hear })
    }

    /// Sends a text to the other tabs.
    pub(crate) fn send(&self, text: &str) {
        let _ = self.channel.post_message(&text.into());
    }
}

impl Drop for TabChannel {
    fn drop(&mut self) {
        self.channel.set_onmessage(None);
        self.channel.close();
    }
}
