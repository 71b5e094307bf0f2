//! Redeems the code of a callback: requests the tokens from the identity provider and checks them. Responses are read
//! leniently, since providers send the claims that prove nothing in many types.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use openidconnect::{
    HttpRequest, HttpResponse,
    core::CoreClientAuthMethod,
    http::{
        Method, Request, StatusCode,
        header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE},
    },
};
use secrecy::ExposeSecret;
use tallybook_database::now;
use url::form_urlencoded::{self, Serializer};

use super::{
    claims::{Claims, subject, text},
    error::OpenIdError,
    flow::Flow,
    id_token::{Fields, Jwt, TokenError, Verified},
    provider::{Connection, IdentityProvider, error_line},
    settings::{OpenIdSettings, is_subject},
};

/// Error codes of a token endpoint (RFC 6749, section 5.2).
const KNOWN_ERRORS: [&str; 6] = [
    "invalid_request",
    "invalid_client",
    "invalid_grant",
    "unauthorized_client",
    "unsupported_grant_type",
    "invalid_scope",
];

impl IdentityProvider {
    /// Redeems a code for the user's claims. `back` is the redirect URI for which the code was issued. Fails with
    /// `Busy` if too many codes are being redeemed, with `Unreachable`, or with `Untrusted` if the response proves
    /// nothing.
    pub(crate) async fn redeem(&self, code: String, flow: &Flow, back: &str) -> Result<Claims, OpenIdError> {
        let Ok(_permit) = self.at_once.try_acquire() else { return Err(OpenIdError::Busy) };
        let mut connection = self.connection(None).await?;
        let answer = self.exchange(&connection, &code, flow, back).await?;
        let Some(token) = text(&answer, "id_token") else { return Err(self.untrusted("the response has no ID token")) };
        let mut verified = verify(&connection, &token);
        if matches!(verified, Err(TokenError::UnknownKey)) {
            // The provider may have a new key since its keys were requested.
            connection = self.connection(Some(&connection)).await?;
            verified = verify(&connection, &token);
        }
        let access_token = text(&answer, "access_token");
        let checked = verified.and_then(|verified| {
            verified.check_parties(connection.metadata.issuer().as_str(), &self.settings.client_id)?;
            verified.check_request(now().timestamp(), &flow.nonce())?;
            verified.check_access_token(access_token.as_deref())?;
            Ok(verified.claims)
        });
        let claims = checked.map_err(|error| self.untrusted(&error.to_string()))?;
        let Some(subject) = subject(&claims).filter(|subject| is_subject(subject)) else {
            return Err(self.untrusted("the ID token has no valid subject (sub)"));
        };
        let found = Claims::read(&subject, &claims, self.settings.groups_claim.as_deref());
        if found.is_complete() {
            return Ok(found);
        }
        // Without an endpoint, the ID token has all claims.
        if connection.metadata.userinfo_endpoint().is_none() {
            return Ok(found.with_known_groups());
        }
        match access_token {
            Some(token) => Ok(match self.user_info(&connection, &token, &subject).await {
                Some(more) => found.or(more).with_known_groups(),
                None => found,
            }),
            None => Ok(found),
        }
    }

    async fn exchange(
        &self,
        connection: &Connection,
        code: &str,
        flow: &Flow,
        back: &str,
    ) -> Result<Fields, OpenIdError> {
        let request = self.token_request(connection, code, flow, back);
        let request = request.ok_or_else(|| self.untrusted("the metadata has no token endpoint"))?;
        let answer = connection.transport.ask(request).await.map_err(|error| {
            tracing::warn!(error = error_line(&error), "the request to the identity provider's token endpoint failed");
            self.unreachable()
        })?;
        let fields: Option<Fields> = serde_json::from_slice(answer.body()).ok();
        if answer.status() == StatusCode::OK {
            return fields.ok_or_else(|| self.untrusted("the token response is not a JSON object"));
        }
        // Only known error codes are logged: any other text may repeat parts of the request, including the client
        // secret.
        let error = fields.and_then(|fields| text(&fields, "error"));
        let error = error.and_then(|error| KNOWN_ERRORS.into_iter().find(|known| *known == error)).unwrap_or("");
        Err(self.untrusted(&format!("the token endpoint responded with {} {error}", answer.status().as_u16())))
    }

    fn token_request(&self, connection: &Connection, code: &str, flow: &Flow, back: &str) -> Option<HttpRequest> {
        let OpenIdSettings { client_id, client_secret, .. } = &self.settings;
        let address = connection.metadata.token_endpoint()?;
        let methods = connection.metadata.token_endpoint_auth_methods_supported().cloned().unwrap_or_default();
        let takes = |method| methods.contains(&method);
        let in_body = takes(CoreClientAuthMethod::ClientSecretPost) && !takes(CoreClientAuthMethod::ClientSecretBasic);
        let mut form = Serializer::new(String::new());
        form.append_pair("grant_type", "authorization_code").append_pair("code", code);
        form.append_pair("redirect_uri", back).append_pair("code_verifier", &flow.verifier());
        let mut request =
            Request::builder().method(Method::POST).uri(address.as_str()).header(ACCEPT, "application/json");
        request = request.header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        match client_secret.as_ref().map(ExposeSecret::expose_secret) {
            Some(secret) if !in_body => {
                let pair = format!("{}:{}", encoded(client_id), encoded(secret));
                request = request.header(AUTHORIZATION, format!("Basic {}", BASE64_STANDARD.encode(pair)));
            }
            Some(secret) => {
                form.append_pair("client_id", client_id).append_pair("client_secret", secret);
            }
            None => {
                form.append_pair("client_id", client_id);
            }
        }
        request.body(form.finish().into_bytes()).ok()
    }

    /// Requests the user information, which some providers need for name and email address. Returns `None` if that
    /// fails.
    async fn user_info(&self, connection: &Connection, token: &str, expected: &str) -> Option<Claims> {
        let address = connection.metadata.userinfo_endpoint()?;
        let request = Request::builder().uri(address.as_str()).header(ACCEPT, "application/json");
        let request = request.header(AUTHORIZATION, format!("Bearer {token}")).body(Vec::new()).ok()?;
        let claims = match connection.transport.ask(request).await {
            Ok(answer) if answer.status() == StatusCode::OK => self.read_user_info(connection, &answer),
            Ok(answer) => Err(format!("the user info endpoint responded with {}", answer.status().as_u16())),
            Err(error) => Err(error_line(&error)),
        };
        match claims {
            // Claims of another user are ignored.
            Ok(claims) if subject(&claims).as_deref() == Some(expected) => {
                Some(Claims::read(expected, &claims, self.settings.groups_claim.as_deref()))
            }
            Ok(_) => {
                tracing::warn!("the identity provider returned another user's information; it is ignored");
                None
            }
            Err(error) => {
                tracing::warn!(error, "cannot get the user's name and email address from the identity provider");
                None
            }
        }
    }

    /// Reads user information, in JSON or as a signed JWT.
    fn read_user_info(&self, connection: &Connection, answer: &HttpResponse) -> Result<Fields, String> {
        let kind = answer.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if !kind.to_ascii_lowercase().starts_with("application/jwt") {
            return serde_json::from_slice(answer.body()).map_err(|error| error.to_string());
        }
        let token = std::str::from_utf8(answer.body()).map_err(|error| error.to_string())?;
        let verified = verify(connection, token.trim()).map_err(|error| error.to_string())?;
        let checked = verified.check_parties(connection.metadata.issuer().as_str(), &self.settings.client_id);
        checked.map_err(|error| error.to_string())?;
        Ok(verified.claims)
    }

    /// Logs the cause, which is not shown to the user, and returns the error.
    pub(crate) fn untrusted(&self, cause: &str) -> OpenIdError {
        tracing::warn!(issuer = self.settings.issuer, cause, "rejected a response of the identity provider");
        OpenIdError::Untrusted { name: self.settings.name.clone() }
    }
}

fn verify(connection: &Connection, token: &str) -> Result<Verified, TokenError> {
    Jwt::parse(token)?.verify(connection.metadata.jwks())
}

fn encoded(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect()
}
