//! A small OpenID Connect provider. Its sign-in page signs in the user that the test names. A code can be redeemed
//! once, by the client that requested it. Tokens have real signatures, and the provider can be made to fail.

use std::{collections::HashMap, sync::Arc, time::Duration};

use actix_web::{App, HttpRequest, HttpResponse, HttpServer, dev::ServerHandle, web};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use openidconnect::{
    AccessToken, Audience, AuthUrl, EmptyAdditionalClaims, EmptyAdditionalProviderMetadata, EmptyExtraTokenFields,
    EndUserEmail, EndUserUsername, IssuerUrl, JsonWebKeySetUrl, Nonce, PkceCodeChallenge, PkceCodeVerifier,
    PrivateSigningKey as _, ResponseTypes, StandardClaims, SubjectIdentifier, TokenUrl, UserInfoUrl,
    core::{
        CoreIdToken, CoreIdTokenClaims, CoreIdTokenFields, CoreJsonWebKeySet, CoreJwsSigningAlgorithm,
        CoreProviderMetadata, CoreResponseType, CoreSubjectIdentifierType, CoreTokenResponse, CoreTokenType,
    },
};
use parking_lot::{Mutex, MutexGuard};
use reqwest::Url;
use serde_json::{Value, json};
use tallybook_accounts::OpenIdSettings;
use tokio::sync::oneshot;
use uuid::Uuid;

use super::key::{Key, base64};

pub(crate) const CLIENT_ID: &str = "tallybook";
pub(crate) const CLIENT_SECRET: &str = "client-secret-canary & more";

/// A fault of the identity provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    /// The user cancels the sign-in.
    Denied,
    WrongNonce,
    WrongAudience,
    WrongIssuer,
    Expired,
    /// The token is signed with another key that has the same id.
    WrongSignature,
    NoIdToken,
    /// The access token is not the one that the ID token's hash is for.
    WrongAccessToken,
    /// The user's subject ends with a space.
    BadSubject,
    Down,
    Slow,
    /// The token endpoint does not answer until the fault is over.
    SlowToken,
    Huge,
    /// The metadata endpoint redirects to another address.
    Redirects,
    /// The metadata is that of another provider.
    OtherIssuer,
    /// The address of the sign-in page is a script.
    ScriptPage,
    /// An error response repeats the client secret of the request.
    RepeatsSecret,
    /// The token endpoint is on another host, over plain HTTP.
    PlainToken,
}

/// The user who is signed in at the provider.
#[derive(Clone, Debug)]
pub(crate) struct Person {
    pub(crate) subject: String,
    pub(crate) username: Option<&'static str>,
    pub(crate) email: Option<&'static str>,
    pub(crate) is_verified: bool,
}

impl Person {
    pub(crate) fn named(subject: &str) -> Self {
        Self { subject: subject.to_owned(), username: None, email: None, is_verified: false }
    }
}

/// Overrides for the provider's responses, field by field. Null removes a field.
#[derive(Clone, Debug, Default)]
pub(crate) struct Odd {
    /// Claims of the ID token.
    pub(crate) token: Value,
    /// Fields of the token response.
    pub(crate) answer: Value,
    /// Claims of the user info response.
    pub(crate) person: Value,
    /// Fields of the provider's metadata.
    pub(crate) description: Value,
}

/// An authorization request for which a code was issued.
struct Asked {
    nonce: String,
    challenge: String,
    redirect_uri: String,
}

struct State {
    url: String,
    fault: Fault,
    person: Person,
    odd: Odd,
    key: Key,
    codes: HashMap<String, Asked>,
    /// Number of requests for the metadata.
    described: usize,
}

/// The identity provider, which stops when it is dropped.
pub(crate) struct MockIdentityProvider {
    state: Arc<Mutex<State>>,
    handle: ServerHandle,
}

impl Drop for MockIdentityProvider {
    fn drop(&mut self) {
        drop(self.handle.stop(false));
    }
}

impl MockIdentityProvider {
    pub(crate) async fn start() -> Self {
        let (started, ready) = oneshot::channel();
        std::thread::spawn(move || actix_web::rt::System::new().block_on(serve(started)));
        let (state, handle) = ready.await.expect("the provider starts");
        Self { state, handle }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    pub(crate) fn url(&self) -> String {
        self.state().url.clone()
    }

    pub(crate) fn fail(&self, fault: Fault) {
        self.state().fault = fault;
    }

    /// Sets the user who is signed in at the provider from now on.
    pub(crate) fn person(&self, person: Person) {
        self.state().person = person;
    }

    /// Sets the overrides for responses from now on.
    pub(crate) fn say(&self, odd: Odd) {
        self.state().odd = odd;
    }

    /// Replaces the signing key.
    pub(crate) fn rotate(&self) {
        let id = Uuid::new_v4().to_string();
        self.state().key = Key::make(&id);
    }

    pub(crate) fn described(&self) -> usize {
        self.state().described
    }

    /// Returns the settings for a server that uses this provider.
    pub(crate) fn settings(&self) -> OpenIdSettings {
        OpenIdSettings {
            issuer: self.url(),
            client_id: CLIENT_ID.to_owned(),
            client_secret: Some(CLIENT_SECRET.to_owned().into()),
            name: "Example <ID>".to_owned(),
            scopes: vec!["email".to_owned()],
            email_domains: Vec::new(),
            groups_claim: None,
            timeout: Duration::from_secs(10),
        }
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock()
}

type Shared = web::Data<Mutex<State>>;

async fn serve(started: oneshot::Sender<(Arc<Mutex<State>>, ServerHandle)>) {
    let state = State {
        url: String::new(),
        fault: Fault::None,
        person: Person::named("somebody"),
        odd: Odd::default(),
        key: Key::make("first"),
        codes: HashMap::new(),
        described: 0,
    };
    let shared = web::Data::new(Mutex::new(state));
    let data = shared.clone();
    let server = HttpServer::new(move || {
        App::new()
            .app_data(data.clone())
            .route("/.well-known/openid-configuration", web::get().to(describe))
            .route("/keys", web::get().to(keys))
            .route("/authorize", web::get().to(authorize))
            .route("/token", web::post().to(token))
            .route("/person", web::get().to(person))
    })
    .workers(1)
    .disable_signals()
    .keep_alive(Duration::from_mins(1))
    .bind("127.0.0.1:0")
    .expect("a free port");
    lock(&shared).url = format!("http://{}", server.addrs()[0]);
    let server = server.run();
    let _ = started.send((shared.into_inner(), server.handle()));
    server.await.expect("the server ends without an error");
}

async fn describe(state: Shared) -> HttpResponse {
    let (url, fault, odd) = {
        let mut state = lock(&state);
        state.described += 1;
        (state.url.clone(), state.fault, state.odd.description.clone())
    };
    match fault {
        Fault::Down => return HttpResponse::ServiceUnavailable().finish(),
        Fault::Slow => actix_web::rt::time::sleep(Duration::from_mins(1)).await,
        Fault::Huge => return HttpResponse::Ok().content_type("application/json").body(" ".repeat(1024 * 1024)),
        Fault::Redirects => return HttpResponse::Found().insert_header(("location", format!("{url}/keys"))).finish(),
        _ => {}
    }
    let issuer = if fault == Fault::OtherIssuer { "https://id.example.org".to_owned() } else { url.clone() };
    let page = if fault == Fault::ScriptPage { "javascript:alert(1)".to_owned() } else { format!("{url}/authorize") };
    let token =
        if fault == Fault::PlainToken { "http://id.example.org/token".to_owned() } else { format!("{url}/token") };
    let metadata = CoreProviderMetadata::new(
        IssuerUrl::new(issuer).expect("an address"),
        AuthUrl::new(page).expect("an address"),
        JsonWebKeySetUrl::new(format!("{url}/keys")).expect("an address"),
        vec![ResponseTypes::new(vec![CoreResponseType::Code])],
        vec![CoreSubjectIdentifierType::Public],
        vec![CoreJwsSigningAlgorithm::EdDsa],
        EmptyAdditionalProviderMetadata {},
    )
    .set_token_endpoint(Some(TokenUrl::new(token).expect("an address")))
    .set_userinfo_endpoint(Some(UserInfoUrl::new(format!("{url}/person")).expect("an address")));
    HttpResponse::Ok().json(merged(serde_json::to_value(metadata).expect("it is JSON"), &odd))
}

async fn keys(state: Shared) -> HttpResponse {
    HttpResponse::Ok().json(CoreJsonWebKeySet::new(vec![lock(&state).key.signing.as_verification_key()]))
}

/// Handles an authorization request, to which the browser is redirected.
async fn authorize(state: Shared, request: HttpRequest) -> HttpResponse {
    let asked: HashMap<String, String> =
        url::form_urlencoded::parse(request.query_string().as_bytes()).into_owned().collect();
    let of = |name: &str| asked.get(name).cloned().unwrap_or_default();
    let is_sound = of("client_id") == CLIENT_ID
        && of("response_type") == "code"
        && of("scope") == "openid email"
        && of("code_challenge_method") == "S256"
        && of("redirect_uri").ends_with("/sign-in/callback")
        && of("state").len() >= 32
        && of("nonce").len() >= 32;
    if !is_sound {
        return HttpResponse::BadRequest().body(format!("{asked:?}"));
    }
    let mut state = lock(&state);
    let code = Uuid::new_v4().to_string();
    let mut back = Url::parse(&of("redirect_uri")).expect("an address");
    let answer = if state.fault == Fault::Denied { ("error", "access_denied") } else { ("code", code.as_str()) };
    back.query_pairs_mut().append_pair(answer.0, answer.1).append_pair("state", &of("state"));
    let own_address = state.odd.description["issuer"].as_str().unwrap_or(&state.url).to_owned();
    back.query_pairs_mut().append_pair("iss", &own_address);
    let redirect_uri = of("redirect_uri");
    state.codes.insert(code, Asked { nonce: of("nonce"), challenge: of("code_challenge"), redirect_uri });
    HttpResponse::Found().insert_header(("location", back.as_str())).finish()
}

/// Redeems a code, once, for the client that requested it.
async fn token(state: Shared, request: HttpRequest, body: String) -> HttpResponse {
    while lock(&state).fault == Fault::SlowToken {
        actix_web::rt::time::sleep(Duration::from_millis(10)).await;
    }
    let sent: HashMap<String, String> = url::form_urlencoded::parse(body.as_bytes()).into_owned().collect();
    let of = |name: &str| sent.get(name).cloned().unwrap_or_default();
    let refuse = |error: &str| HttpResponse::BadRequest().json(json!({"error": error}));
    let encoded: String = url::form_urlencoded::byte_serialize(CLIENT_SECRET.as_bytes()).collect();
    let pair = format!("{CLIENT_ID}:{encoded}");
    // Encodes only full groups of three bytes; the rest of the credentials is not compared.
    let expected = base64(&pair.as_bytes()[..pair.len() / 3 * 3]);
    let shown = request.headers().get("authorization").and_then(|shown| shown.to_str().ok()).unwrap_or_default();
    if !shown.starts_with(&format!("Basic {expected}")) {
        return HttpResponse::Unauthorized().json(json!({"error": "invalid_client"}));
    }
    let mut state = lock(&state);
    if state.fault == Fault::RepeatsSecret {
        let words = format!("{CLIENT_SECRET} is not your secret");
        return HttpResponse::BadRequest().json(json!({"error": CLIENT_SECRET, "error_description": words}));
    }
    let Some(asked) = state.codes.remove(&of("code")) else { return refuse("invalid_grant") };
    let verifier = PkceCodeVerifier::new(of("code_verifier"));
    let is_theirs = verifier.secret().len() >= 43
        && PkceCodeChallenge::from_code_verifier_sha256(&verifier).as_str() == asked.challenge
        && of("redirect_uri") == asked.redirect_uri;
    if !is_theirs || of("grant_type") != "authorization_code" {
        return refuse("invalid_grant");
    }
    let said = serde_json::to_value(answer(&state, asked.nonce)).expect("it is JSON");
    HttpResponse::Ok().json(oddly(&state, said))
}

/// Applies the overrides to a token response, and signs the changed ID token.
fn oddly(state: &State, mut said: Value) -> Value {
    if let Some(token) = said["id_token"].as_str().filter(|_| !state.odd.token.is_null()) {
        let [header, claims, _] = token.split('.').collect::<Vec<_>>()[..] else { panic!("a signed token") };
        let claims: Value =
            serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(claims).expect("base64")).expect("JSON");
        let claims = BASE64_URL_SAFE_NO_PAD.encode(merged(claims, &state.odd.token).to_string());
        let signed = format!("{header}.{claims}");
        let signature =
            state.key.signing.sign(&CoreJwsSigningAlgorithm::EdDsa, signed.as_bytes()).expect("a signature");
        said["id_token"] = json!(format!("{signed}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature)));
    }
    merged(said, &state.odd.answer)
}

fn merged(mut whole: Value, odd: &Value) -> Value {
    for (name, value) in odd.as_object().into_iter().flatten() {
        whole[name] = value.clone();
    }
    if let Some(fields) = whole.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    whole
}

fn answer(state: &State, nonce: String) -> CoreTokenResponse {
    let fault = state.fault;
    let audience = if fault == Fault::WrongAudience { "another" } else { CLIENT_ID };
    let issuer = if fault == Fault::WrongIssuer { "https://id.example.org" } else { &state.url };
    let minutes = if fault == Fault::Expired { -1 } else { 5 };
    let subject =
        if fault == Fault::BadSubject { format!("{} ", state.person.subject) } else { state.person.subject.clone() };
    let now = chrono::Utc::now();
    let standard = StandardClaims::new(SubjectIdentifier::new(subject))
        .set_preferred_username(state.person.username.map(|name| EndUserUsername::new(name.to_owned())));
    let claims = CoreIdTokenClaims::new(
        IssuerUrl::new(issuer.to_owned()).expect("an address"),
        vec![Audience::new(audience.to_owned())],
        now + chrono::Duration::minutes(minutes),
        now,
        standard,
        EmptyAdditionalClaims {},
    )
    .set_nonce(Some(Nonce::new(if fault == Fault::WrongNonce { "another".repeat(8) } else { nonce })));
    let wrong = Key::make(&state.key.id);
    let key = if fault == Fault::WrongSignature { &wrong } else { &state.key };
    let access = AccessToken::new("access-token".to_owned());
    let sent = if fault == Fault::WrongAccessToken { AccessToken::new("another".to_owned()) } else { access.clone() };
    let token = CoreIdToken::new(claims, &key.signing, CoreJwsSigningAlgorithm::EdDsa, Some(&access), None);
    let token = Some(token.expect("a signature")).filter(|_| fault != Fault::NoIdToken);
    CoreTokenResponse::new(sent, CoreTokenType::Bearer, CoreIdTokenFields::new(token, EmptyExtraTokenFields {}))
}

/// Returns the user info, the only response with an email address unless the test overrides it.
async fn person(state: Shared, request: HttpRequest) -> HttpResponse {
    if request.headers().get("authorization").is_none_or(|shown| shown != "Bearer access-token") {
        return HttpResponse::Unauthorized().finish();
    }
    let (Person { subject, email, is_verified, .. }, odd) = {
        let state = lock(&state);
        (state.person.clone(), state.odd.person.clone())
    };
    let email = email.map(|email| EndUserEmail::new(email.to_owned()));
    let said = json!({"sub": subject, "email": email, "email_verified": is_verified});
    HttpResponse::Ok().json(merged(said, &odd))
}
