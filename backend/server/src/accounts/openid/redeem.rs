//! Redeeming the code that a browser came back with: who the issuer says that it is, with the proof checked.

use openidconnect::{
    AccessToken, AccessTokenHash, AuthorizationCode, ClaimsVerificationError, EndUserEmail, EndUserUsername, Nonce,
    OAuth2TokenResponse as _, PkceCodeVerifier, RequestTokenError, SignatureVerificationError, SubjectIdentifier,
    TokenResponse as _,
    core::{
        CoreIdToken, CoreIdTokenClaims, CoreIdTokenVerifier, CoreJwsSigningAlgorithm as Algorithm, CoreTokenResponse,
        CoreUserInfoClaims,
    },
};

use super::{
    error::OpenIdError,
    flow::Flow,
    issuer::{Client, Connection, Issuer, told},
    settings::is_subject,
};

/// Characters that are kept of what the issuer calls somebody.
const MAX_LABEL_CHARS: usize = 200;

/// Signatures that are taken: those whose key is the issuer's alone.
const ALGORITHMS: [Algorithm; 9] = [
    Algorithm::RsaSsaPkcs1V15Sha256,
    Algorithm::RsaSsaPkcs1V15Sha384,
    Algorithm::RsaSsaPkcs1V15Sha512,
    Algorithm::RsaSsaPssSha256,
    Algorithm::RsaSsaPssSha384,
    Algorithm::RsaSsaPssSha512,
    Algorithm::EcdsaP256Sha256,
    Algorithm::EcdsaP384Sha384,
    Algorithm::EdDsa,
];

/// Who somebody is at the issuer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::accounts) struct Claims {
    /// The issuer's name for the person, which never becomes another's.
    pub(in crate::accounts) subject: String,
    /// What the issuer calls the person: nothing that proves anything.
    pub(in crate::accounts) username: Option<String>,
    /// The e-mail address, and whether the issuer has verified it.
    pub(in crate::accounts) email: Option<(String, bool)>,
}

impl Claims {
    /// What the person knows the identity by.
    pub(in crate::accounts) fn label(&self) -> String {
        let email = self.email.as_ref().map(|(email, _)| email);
        let label = email.or(self.username.as_ref()).unwrap_or(&self.subject);
        label.chars().filter(|c| !c.is_control()).take(MAX_LABEL_CHARS).collect()
    }

    fn new(
        subject: &SubjectIdentifier,
        username: Option<&EndUserUsername>,
        email: Option<&EndUserEmail>,
        is_verified: Option<bool>,
    ) -> Self {
        let email = email.map(|email| (email.as_str().to_owned(), is_verified == Some(true)));
        Self { subject: subject.as_str().to_owned(), username: username.map(|name| name.as_str().to_owned()), email }
    }

    /// What is known, with the rest from elsewhere.
    fn or(self, other: Self) -> Self {
        Self { username: self.username.or(other.username), email: self.email.or(other.email), ..self }
    }
}

impl Issuer {
    /// Who came back with this code. The issuer sent the browser to `back`.
    pub(in crate::accounts) async fn redeem(
        &self,
        code: String,
        flow: &Flow,
        back: &str,
    ) -> Result<Claims, OpenIdError> {
        let Ok(_permit) = self.at_once.try_acquire() else { return Err(OpenIdError::Busy) };
        let mut connection = self.connection(None).await?;
        let mut client = self.client(&connection, back)?;
        let answer = self.exchange(&client, &connection, code, flow).await?;
        let Some(token) = answer.id_token() else { return Err(self.untrusted("it sent no ID token")) };
        let nonce = Nonce::new(flow.nonce());
        let claims = match verified(&client, token, &nonce) {
            // The issuer may have a new key since it was asked for them.
            Err(ClaimsVerificationError::SignatureVerification(SignatureVerificationError::NoMatchingKey)) => {
                connection = self.connection(Some(&connection)).await?;
                client = self.client(&connection, back)?;
                verified(&client, token, &nonce)
            }
            outcome => outcome,
        };
        let claims = claims.map_err(|error| self.untrusted(&told(&error)))?;
        if !is_subject(claims.subject()) {
            return Err(self.untrusted("its name for the person is none that the standard allows"));
        }
        self.check_access_token(&client, token, &answer, &claims)?;
        let (name, email) = (claims.preferred_username(), claims.email());
        let found = Claims::new(claims.subject(), name, email, claims.email_verified());
        if found.email.is_some() && found.username.is_some() {
            return Ok(found);
        }
        let more = self.user_info(&client, &connection, answer.access_token(), claims.subject()).await;
        Ok(match more {
            Some(more) => found.or(more),
            None => found,
        })
    }

    async fn exchange(
        &self,
        client: &Client,
        connection: &Connection,
        code: String,
        flow: &Flow,
    ) -> Result<CoreTokenResponse, OpenIdError> {
        let request = client.exchange_code(AuthorizationCode::new(code));
        let request = request.map_err(|error| self.untrusted(&told(&error)))?;
        let request = request.set_pkce_verifier(PkceCodeVerifier::new(flow.verifier()));
        request.request_async(&connection.transport).await.map_err(|error| match error {
            RequestTokenError::Request(error) => {
                tracing::warn!(error = told(&error), "the issuer's answer did not come");
                self.unreachable()
            }
            // What it says beside the kind may repeat what it was sent.
            RequestTokenError::ServerResponse(answer) => self.untrusted(&format!("it answered {}", answer.error())),
            other => self.untrusted(&told(&other)),
        })
    }

    /// Where the issuer says for which access token its ID token is, it must be the one that came along.
    fn check_access_token(
        &self,
        client: &Client,
        token: &CoreIdToken,
        answer: &CoreTokenResponse,
        claims: &CoreIdTokenClaims,
    ) -> Result<(), OpenIdError> {
        let Some(expected) = claims.access_token_hash() else { return Ok(()) };
        let verifier = verifier(client);
        let parts = token.signing_alg().and_then(|algorithm| Ok((algorithm, token.signing_key(&verifier)?)));
        let (algorithm, key) = parts.map_err(|error| self.untrusted(&told(&error)))?;
        let found = AccessTokenHash::from_token(answer.access_token(), algorithm, key);
        if found.is_ok_and(|found| found == *expected) {
            return Ok(());
        }
        Err(self.untrusted("its access token is not the one that its ID token is for"))
    }

    /// Name and address, which some issuers tell only there. Without an answer there are none.
    async fn user_info(
        &self,
        client: &Client,
        connection: &Connection,
        token: &AccessToken,
        subject: &SubjectIdentifier,
    ) -> Option<Claims> {
        let request = client.user_info(token.clone(), Some(subject.clone())).ok()?;
        let answer: Result<CoreUserInfoClaims, _> = request.request_async(&connection.transport).await;
        match answer {
            Ok(claims) => {
                let (name, email) = (claims.preferred_username(), claims.email());
                Some(Claims::new(claims.subject(), name, email, claims.email_verified()))
            }
            Err(error) => {
                tracing::warn!(error = told(&error), "the issuer did not tell name and address");
                None
            }
        }
    }

    /// Logs what is wrong, which is nothing for the person to know.
    pub(in crate::accounts) fn untrusted(&self, cause: &str) -> OpenIdError {
        tracing::warn!(issuer = self.settings.issuer, cause, "what the issuer answered is not believed");
        OpenIdError::Untrusted { name: self.settings.name.clone() }
    }
}

fn verifier(client: &Client) -> CoreIdTokenVerifier<'_> {
    client.id_token_verifier().set_allowed_algs(ALGORITHMS)
}

fn verified(client: &Client, token: &CoreIdToken, nonce: &Nonce) -> Result<CoreIdTokenClaims, ClaimsVerificationError> {
    token.claims(&verifier(client), nonce).cloned()
}
