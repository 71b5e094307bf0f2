//! Notifies the service manager (systemd, `Type=notify`) of the server's state. Does nothing without one.
//! See <https://www.freedesktop.org/software/systemd/man/latest/sd_notify.html>.

/// The server accepts requests.
pub(crate) fn ready() {
    #[cfg(unix)]
    notify(sd_notify::NotifyState::Ready);
}

/// The server is shutting down, and waits for its running turns.
pub(crate) fn stopping() {
    #[cfg(unix)]
    notify(sd_notify::NotifyState::Stopping);
}

#[cfg(unix)]
fn notify(state: sd_notify::NotifyState<'_>) {
    if let Err(error) = sd_notify::notify(&[state]) {
        tracing::warn!(%error, "cannot notify the service manager");
    }
}
