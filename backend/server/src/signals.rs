//! Signals that stop the server: the first one requests a graceful stop, a second one forces it.

#[cfg(unix)]
pub(crate) use unix::StopSignals;

#[cfg(not(unix))]
pub(crate) use elsewhere::StopSignals;

#[cfg(unix)]
mod unix {
    use std::io;

    use tokio::signal::unix::{Signal, SignalKind, signal};

    /// The signals. They are caught as soon as this is created.
    pub(crate) struct StopSignals {
        interrupt: Signal,
        terminate: Signal,
        hang_up: Option<Signal>,
    }

    impl StopSignals {
        pub(crate) fn listen() -> io::Result<Self> {
            // Under `nohup`, the server must keep running when its terminal is closed.
            let hang_up = if ignores_hang_up() { None } else { Some(signal(SignalKind::hangup())?) };
            Ok(Self {
                interrupt: signal(SignalKind::interrupt())?,
                terminate: signal(SignalKind::terminate())?,
                hang_up,
            })
        }

        /// Waits for Ctrl-C, SIGTERM, or SIGHUP, and returns the signal's name. The system sends SIGHUP when the
        /// terminal is closed.
        pub(crate) async fn graceful_stop(&mut self) -> &'static str {
            let hang_up = async {
                match &mut self.hang_up {
                    Some(signal) => signal.recv().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                _ = self.interrupt.recv() => "SIGINT",
                _ = self.terminate.recv() => "SIGTERM",
                _ = hang_up => "SIGHUP",
            }
        }

        /// Waits for Ctrl-C or SIGTERM. SIGHUP does not count, because shells and systemd send it on their own after
        /// another signal.
        pub(crate) async fn forced_stop(&mut self) {
            tokio::select! { _ = self.interrupt.recv() => {}, _ = self.terminate.recv() => {} }
        }
    }

    /// Returns `true` if the server was started with SIGHUP ignored. Listening for the signal would undo that.
    fn ignores_hang_up() -> bool {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        let mask = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        // The lowest bit is signal 1, which is SIGHUP.
        mask.is_some_and(|mask| mask & 1 == 1)
    }
}

#[cfg(not(unix))]
mod elsewhere {
    use std::io;

    use tokio::signal::ctrl_c;

    /// Ctrl-C, the only signal that exists on every system.
    pub(crate) struct StopSignals;

    impl StopSignals {
        pub(crate) fn listen() -> io::Result<Self> {
            Ok(Self)
        }

        pub(crate) async fn graceful_stop(&mut self) -> &'static str {
            self.forced_stop().await;
            "Ctrl-C"
        }

        pub(crate) async fn forced_stop(&mut self) {
            if let Err(error) = ctrl_c().await {
                tracing::error!(%error, "cannot listen for Ctrl-C");
                std::future::pending::<()>().await;
            }
        }
    }
}
