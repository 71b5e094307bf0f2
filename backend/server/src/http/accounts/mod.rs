//! Accounts over HTTP: the API in `session`, `keys`, `me` and `users`, the HTML forms in `forms`, and OpenID Connect in
//! `identities`. The extractors in a handler's signature (`caller`) decide who may call it.

mod addresses;
mod forms;
mod i18n;
mod identities;
mod keys;
mod me;
pub(crate) mod redirects;
mod session;
pub(crate) mod users;

use actix_web::{http::Method, web::ServiceConfig};
use utoipa::OpenApi;

use super::methods::Endpoint;

pub(crate) use addresses::{API_SESSION, INVITATION, SETUP, SIGN_IN, SIGN_OUT, SSO_CALLBACK, SSO_START};
pub(crate) use forms::{admins_only, setup_required};
pub(crate) use session::is_deactivated;

/// Registers the routes under `/api`.
pub(crate) fn api(app: &mut ServiceConfig) {
    app.service(Endpoint::at("/session").on(Method::POST, session::create).on(Method::DELETE, session::delete))
        .service(Endpoint::at("/sessions").on(Method::GET, session::list).on(Method::DELETE, session::delete_all))
        .service(Endpoint::at("/sessions/{session_id}").on(Method::DELETE, session::delete_one))
        .service(Endpoint::at("/keys").on(Method::GET, keys::list).on(Method::POST, keys::create))
        .service(Endpoint::at("/keys/{key_id}").on(Method::DELETE, keys::delete))
        .service(
            Endpoint::at("/me").on(Method::GET, me::find).on(Method::PATCH, me::update).on(Method::DELETE, me::delete),
        )
        .service(Endpoint::at("/me/password").on(Method::PUT, me::change_password))
        .service(Endpoint::at("/me/export").on(Method::GET, me::export))
        .service(Endpoint::at("/users").on(Method::GET, users::list).on(Method::POST, users::create))
        .service(
            Endpoint::at("/users/{user_id}")
                .on(Method::GET, users::find)
                .on(Method::PATCH, users::update)
                .on(Method::DELETE, users::deactivate),
        )
        .service(Endpoint::at("/users/{user_id}/identities").on(Method::GET, identities::list_of))
        .service(Endpoint::at("/users/{user_id}/keys").on(Method::GET, keys::list_of))
        .service(Endpoint::at("/users/{user_id}/keys/{key_id}").on(Method::DELETE, keys::delete_of))
        .service(Endpoint::at("/users/{user_id}/identities/{identity_id}").on(Method::DELETE, identities::unlink_from))
        .service(
            Endpoint::at("/identities").on(Method::GET, identities::list).on(Method::POST, identities::begin_linking),
        )
        .service(Endpoint::at("/identities/{identity_id}").on(Method::DELETE, identities::unlink))
        .service(Endpoint::at("/invitations").on(Method::GET, users::list_invitations).on(Method::POST, users::invite))
        .service(Endpoint::at("/invitations/{invitation_id}").on(Method::DELETE, users::revoke_invitation));
}

/// Returns the API description of these routes.
pub(crate) fn document() -> utoipa::openapi::OpenApi {
    #[derive(OpenApi)]
    #[openapi(paths(
        session::create,
        session::delete,
        session::list,
        session::delete_all,
        session::delete_one,
        keys::list,
        keys::create,
        keys::delete,
        keys::list_of,
        keys::delete_of,
        me::find,
        me::update,
        me::delete,
        me::change_password,
        me::export,
        users::list,
        users::create,
        users::find,
        users::update,
        users::deactivate,
        users::invite,
        users::list_invitations,
        users::revoke_invitation,
        identities::list,
        identities::begin_linking,
        identities::unlink,
        identities::list_of,
        identities::unlink_from,
    ))]
    struct Documented;
    Documented::openapi()
}

/// Registers the forms and the OpenID Connect redirects.
pub(crate) fn pages(app: &mut ServiceConfig) {
    app.service(Endpoint::at("/sign-in").on(Method::GET, forms::show_sign_in).on(Method::POST, forms::sign_in))
        .service(Endpoint::at("/sign-in/away").on(Method::GET, identities::start_login))
        .service(Endpoint::at("/sign-in/callback").on(Method::GET, identities::handle_callback))
        .service(Endpoint::at("/sign-out").on(Method::POST, forms::sign_out))
        .service(Endpoint::at("/setup").on(Method::GET, forms::show_setup).on(Method::POST, forms::set_up))
        .service(
            Endpoint::at("/invitation")
                .on(Method::GET, forms::show_invitation)
                .on(Method::POST, forms::accept_invitation),
        );
}
