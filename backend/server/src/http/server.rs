//! The HTTP server below the routes: connections, their limits, and the errors that end them. It replaces `HttpServer`
//! of `actix_web`, which cannot limit a connection after its first request.

use std::{
    io,
    net::{IpAddr, SocketAddr, TcpListener},
    sync::Arc,
};

use actix_http::{HttpService, Protocol, error::DispatchError};
use actix_server::{GracefulShutdownSignal, Server};
use actix_service::{IntoServiceFactory as _, ServiceFactory, ServiceFactoryExt as _, fn_service, map_config};
use actix_web::dev::AppConfig;
use tokio::net::TcpStream;

use super::{connection::Connection, limits::workers, routes, state::AppState};

/// Serves on a listener until the caller stops it. Does not handle signals.
pub fn serve(listener: TcpListener, state: AppState) -> io::Result<Server> {
    let address = listener.local_addr()?;
    let limits = state.limits;
    tracing::info!(connections = limits.max_connections(), "the number of connections is limited");
    let server = Server::build()
        .workers(workers())
        .max_concurrent_connections(limits.connections_per_worker())
        .shutdown_timeout(limits.shutdown.as_secs())
        .disable_signals();
    let shutdown = server.graceful_shutdown_signal();
    let worker = move || connections_of(&state, address, &shutdown);
    Ok(server.listen("http", listener, worker)?.run())
}

/// Returns the service that handles the connections of a worker, concurrently.
fn connections_of(
    state: &AppState,
    address: SocketAddr,
    shutdown: &GracefulShutdownSignal,
) -> impl ServiceFactory<TcpStream, Config = (), Response = (), Error = (), InitError = ()> + use<> {
    let (limits, metrics, connection_limits) =
        (state.limits, Arc::clone(&state.metrics), Arc::clone(&state.connection_limits));
    let app = routes::app(state, shutdown).into_factory().map_err(|error: actix_web::Error| error.error_response());
    let shutdown = shutdown.clone();
    let http = HttpService::build()
        .client_request_timeout(limits.head)
        .keep_alive(limits.keep_alive)
        .client_disconnect_timeout(limits.disconnect)
        .local_addr(address)
        .on_connect_ext(|connection: &Connection, data| drop(data.insert(connection.peer())))
        .graceful_shutdown_signal(move || {
            let shutdown = shutdown.clone();
            async move { shutdown.notified().await }
        })
        .finish(map_config(app, |()| AppConfig::default()));
    let accept = move |stream: TcpStream| {
        let counted = metrics.count_connection();
        let peer = stream.peer_addr().ok();
        // A connection that the client has closed has no address. It needs no permit, because it ends immediately.
        let permit = peer.map(|peer| connection_limits.connection(peer.ip()).ok_or(TooManyOfAddress(peer.ip())));
        async move {
            let permit = permit.transpose().map_err(|error| DispatchError::Io(io::Error::other(error)))?;
            // Without this, the events of a saturated stream wait for the client's acknowledgments, 40 ms at a time.
            stream.set_nodelay(true).map_err(DispatchError::Io)?;
            Ok((Connection::new(stream, limits.idle_timeout, counted, permit), Protocol::Http1, peer))
        }
    };
    fn_service(accept).and_then(http).map_err(log)
}

/// The error for an address that has too many connections.
#[derive(Debug, thiserror::Error)]
#[error("{0} has too many connections")]
struct TooManyOfAddress(IpAddr);

/// Logs the error that ended a connection early. In most cases the client caused it, so it is not an error of the
/// server.
#[expect(clippy::needless_pass_by_value, reason = "it is passed to `map_err`")]
fn log(error: DispatchError) {
    match error {
        DispatchError::Service(_) | DispatchError::InternalError | DispatchError::Upgrade => {
            tracing::error!(%error, "a connection failed");
        }
        _ => tracing::debug!(%error, "a connection was aborted"),
    }
}
