//! Uploads a file, with progress. `fetch` reports none, so this uses `XMLHttpRequest`.

use futures_channel::oneshot;
use wasm_bindgen::{JsCast, closure::Closure};
use web_sys::{Blob, ProgressEvent, XmlHttpRequest};

use super::Unreachable;

/// Timeout of an upload, in milliseconds.
const UPLOAD_LIMIT_MS: u32 = 15 * 60 * 1000;

/// A running upload. Dropping it aborts the upload.
struct Running(XmlHttpRequest);

impl Drop for Running {
    fn drop(&mut self) {
        // Without its listeners, nothing calls the closures that are dropped next.
        self.0.set_onloadend(None);
        if let Ok(upload) = self.0.upload() {
            upload.set_onprogress(None);
        }
        // Does nothing if the upload has ended.
        let _ = self.0.abort();
    }
}

/// Sends `content` as the body of a POST request, and returns the status and the text of the response. `on_progress`
/// receives the share that is sent, in percent.
pub(crate) async fn upload(
    url: &str,
    content: &Blob,
    on_progress: impl Fn(u8) + 'static,
) -> Result<(u16, String), Unreachable> {
    let request = XmlHttpRequest::new()?;
    request.open_with_async("POST", url, true)?;
    request.set_timeout(UPLOAD_LIMIT_MS);
    let (sender, ended) = oneshot::channel();
    let ended_listener = Closure::once(move || {
        let _ = sender.send(());
    });
    let progress_listener = Closure::<dyn Fn(ProgressEvent)>::new(move |event: ProgressEvent| {
        let total = event.total().max(1.0);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is clamped to 0 to 100")]
        on_progress((event.loaded() / total * 100.0).clamp(0.0, 100.0) as u8);
    });
    // Dropped before the closures.
    let running = Running(request);
    running.0.set_onloadend(Some(ended_listener.as_ref().unchecked_ref()));
    running.0.upload()?.set_onprogress(Some(progress_listener.as_ref().unchecked_ref()));
    running.0.send_with_opt_blob(Some(content))?;
    ended.await.map_err(|_| Unreachable)?;
    let status = running.0.status()?;
    // A request without a response has the status 0.
    if status == 0 {
        return Err(Unreachable);
    }
    Ok((status, running.0.response_text()?.unwrap_or_default()))
}
