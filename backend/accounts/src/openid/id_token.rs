//! Verifies the JWTs of an identity provider: ID tokens, and user information in signed form. Only the claims that
//! prove something must have their standard types, since providers send the others in many types.

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use openidconnect::{
    AccessToken, AccessTokenHash, JsonWebKey as _, JsonWebKeyId, SignatureVerificationError,
    core::{CoreJsonWebKey, CoreJsonWebKeySet, CoreJwsSigningAlgorithm as Algorithm},
};
use serde_json::{Map, Value};

/// Supported signature algorithms. All are asymmetric, so only the provider has the signing key.
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

/// Reason why a token is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TokenError {
    #[error("the token is not a signed JWT")]
    Malformed,
    #[error("the token has an unsupported algorithm or critical header")]
    Unsupported,
    #[error("the token names a key that the provider does not publish")]
    UnknownKey,
    #[error("the token has an invalid signature")]
    WrongSignature,
    #[error("the token is from another issuer")]
    WrongIssuer,
    #[error("the token is for another client")]
    WrongAudience,
    #[error("the token has expired or has no expiration time")]
    Expired,
    #[error("the token has the wrong nonce")]
    WrongNonce,
    #[error("the access token does not match the ID token")]
    WrongAccessToken,
}

/// The claims of a token, by name.
pub(crate) type Fields = Map<String, Value>;

/// A JWT whose signature is not yet verified.
pub(crate) struct Jwt<'a> {
    signed: &'a str,
    signature: Vec<u8>,
    algorithm: Algorithm,
    key_id: Option<JsonWebKeyId>,
    claims: Fields,
}

impl<'a> Jwt<'a> {
    pub(crate) fn parse(text: &'a str) -> Result<Self, TokenError> {
        let (signed, signature) = text.rsplit_once('.').ok_or(TokenError::Malformed)?;
        let (header, claims) = signed.split_once('.').ok_or(TokenError::Malformed)?;
        let header = object(header)?;
        if header.contains_key("crit") {
            return Err(TokenError::Unsupported);
        }
        let algorithm = header.get("alg").cloned().unwrap_or_default();
        let algorithm = serde_json::from_value(algorithm).map_err(|_| TokenError::Unsupported)?;
        if !ALGORITHMS.contains(&algorithm) {
            return Err(TokenError::Unsupported);
        }
        let key_id = header.get("kid").and_then(Value::as_str).map(|id| JsonWebKeyId::new(id.to_owned()));
        let signature = decoded(signature)?;
        Ok(Self { signed, signature, algorithm, key_id, claims: object(claims)? })
    }

    /// Verifies the signature with the provider's key that the token names. If the token names none, tries all keys. If
    /// none has that name, tries the keys without a name. Fails with `WrongSignature` if the named key doesn't match,
    /// and with `UnknownKey` if no other key does.
    pub(crate) fn verify(self, keys: &CoreJsonWebKeySet) -> Result<Verified, TokenError> {
        let is_named = |key: &&CoreJsonWebKey| self.key_id.is_some() && key.key_id() == self.key_id.as_ref();
        let has_named = keys.keys().iter().any(|key| is_named(&key));
        // If no unnamed key matches, the provider may have signed with a newer key. The caller then reloads the keys.
        let mut error = TokenError::UnknownKey;
        for key in keys.keys() {
            let may_fit = if has_named { is_named(&key) } else { self.key_id.is_none() || key.key_id().is_none() };
            if !may_fit {
                continue;
            }
            match key.verify_signature(&self.algorithm, self.signed.as_bytes(), &self.signature) {
                Ok(()) => return Ok(Verified { claims: self.claims, algorithm: self.algorithm, key: key.clone() }),
                // The key cannot be used for this algorithm.
                Err(SignatureVerificationError::InvalidKey(_)) => {}
                Err(_) if has_named => error = TokenError::WrongSignature,
                Err(_) => {}
            }
        }
        Err(error)
    }
}

/// A JWT with a valid signature of the provider.
#[derive(Debug)]
pub(crate) struct Verified {
    pub(crate) claims: Fields,
    algorithm: Algorithm,
    key: CoreJsonWebKey,
}

impl Verified {
    /// Checks that the token is from `issuer` and for `client`. A token for several clients must have `azp`. If `azp`
    /// is present, it must be `client`.
    pub(crate) fn check_parties(&self, issuer: &str, client: &str) -> Result<(), TokenError> {
        if self.claims.get("iss").and_then(Value::as_str) != Some(issuer) {
            return Err(TokenError::WrongIssuer);
        }
        let is_for_us = |value: &Value| value.as_str() == Some(client);
        let (is_addressed, is_shared) = match self.claims.get("aud") {
            Some(Value::Array(all)) => (all.iter().any(is_for_us), !all.iter().all(is_for_us)),
            Some(one) => (is_for_us(one), false),
            None => (false, false),
        };
        let was_asked_for = match self.claims.get("azp") {
            None | Some(Value::Null) => !is_shared,
            Some(party) => is_for_us(party),
        };
        if is_addressed && was_asked_for { Ok(()) } else { Err(TokenError::WrongAudience) }
    }

    /// Checks that the token has not expired at `now`, in seconds since 1970, and that it has this nonce.
    pub(crate) fn check_request(&self, now: i64, nonce: &str) -> Result<(), TokenError> {
        if self.claims.get("exp").and_then(seconds).is_none_or(|end| now >= end) {
            return Err(TokenError::Expired);
        }
        if self.claims.get("nonce").and_then(Value::as_str) == Some(nonce) {
            Ok(())
        } else {
            Err(TokenError::WrongNonce)
        }
    }

    /// Checks the access token against its hash in the ID token. Succeeds if the ID token has no hash.
    pub(crate) fn check_access_token(&self, token: Option<&str>) -> Result<(), TokenError> {
        let Some(expected) = self.claims.get("at_hash").filter(|hash| !hash.is_null()) else { return Ok(()) };
        let token = AccessToken::new(token.unwrap_or_default().to_owned());
        let found = AccessTokenHash::from_token(&token, &self.algorithm, &self.key);
        let is_same = found.is_ok_and(|found| expected.as_str() == Some(found.as_str()));
        if is_same { Ok(()) } else { Err(TokenError::WrongAccessToken) }
    }
}

/// Decodes the base64 of a part of a token. Some providers add padding, which is ignored.
fn decoded(part: &str) -> Result<Vec<u8>, TokenError> {
    BASE64_URL_SAFE_NO_PAD.decode(part.trim_end_matches('=')).map_err(|_| TokenError::Malformed)
}

fn object(part: &str) -> Result<Fields, TokenError> {
    serde_json::from_slice(&decoded(part)?).map_err(|_| TokenError::Malformed)
}

/// Reads a time in seconds since 1970, which some providers write with a fraction or as text.
#[expect(clippy::cast_possible_truncation, reason = "a time that is out of range saturates")]
fn seconds(value: &Value) -> Option<i64> {
    let fraction = value.as_f64().or_else(|| value.as_str()?.trim().parse().ok())?;
    fraction.is_finite().then_some(fraction as i64)
}

#[cfg(test)]
mod tests {
    use base64::{Engine as _, prelude::BASE64_STANDARD};
    use openidconnect::{
        JsonWebKeyId, PrivateSigningKey as _,
        core::{CoreEdDsaPrivateSigningKey, CoreJsonWebKey, CoreJsonWebKeySet},
    };
    use serde_json::{Value, json};

    use super::{Algorithm, BASE64_URL_SAFE_NO_PAD, Jwt, TokenError, Verified};

    fn verified(claims: Value) -> Verified {
        let Value::Object(claims) = claims else { panic!("an object") };
        let key: CoreJsonWebKey = serde_json::from_value(json!({"kty": "RSA", "n": "AQAB", "e": "AQAB"})).unwrap();
        Verified { claims, algorithm: Algorithm::EdDsa, key }
    }

    #[test]
    fn a_token_is_only_valid_for_its_client() {
        for (audience, party, is_ours) in [
            (json!("us"), Value::Null, true),
            (json!(["us"]), Value::Null, true),
            (json!(["us", "us"]), Value::Null, true),
            (json!("us"), json!("us"), true),
            (json!(["us", "them"]), json!("us"), true),
            (json!(["us", 7]), json!("us"), true),
            (json!("us"), json!("them"), false),
            (json!(["us"]), json!("them"), false),
            (json!(["us"]), json!(["us"]), false),
            (json!(["us", "them"]), Value::Null, false),
            (json!(["us", "them"]), json!("them"), false),
            (json!("them"), json!("us"), false),
            (json!([]), json!("us"), false),
            (json!({"us": "us"}), Value::Null, false),
        ] {
            let token = verified(json!({"iss": "issuer", "aud": audience, "azp": party}));
            let expected = if is_ours { Ok(()) } else { Err(TokenError::WrongAudience) };
            assert_eq!(token.check_parties("issuer", "us"), expected, "{:?}", token.claims);
            assert_eq!(token.check_parties("issuer/", "us"), Err(TokenError::WrongIssuer));
        }
    }

    #[test]
    fn expiration_times_are_read_in_every_form() {
        for (end, is_valid) in [
            (json!(1001), true),
            (json!("1001"), true),
            (json!(1001.5), true),
            (json!(1000), false),
            (json!("soon"), false),
            (json!("inf"), false),
            (Value::Null, false),
            (json!([1001]), false),
        ] {
            let token = verified(json!({"exp": end, "nonce": "n"}));
            let expected = if is_valid { Ok(()) } else { Err(TokenError::Expired) };
            assert_eq!(token.check_request(1000, "n"), expected, "{end}");
        }
        let token = verified(json!({"exp": 1001}));
        assert_eq!(token.check_request(1000, ""), Err(TokenError::WrongNonce));
    }

    /// Creates a key pair of the provider. A different seed gives a different pair.
    fn signing_key(seed: u8, id: Option<&str>) -> CoreEdDsaPrivateSigningKey {
        let mut der = vec![0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];
        der.extend_from_slice(&[seed; 32]);
        let pem = format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", BASE64_STANDARD.encode(&der));
        let id = id.map(|id| JsonWebKeyId::new(id.to_owned()));
        CoreEdDsaPrivateSigningKey::from_ed25519_pem(&pem, id).unwrap()
    }

    #[test]
    fn a_signature_finds_its_key() {
        let sign = |key: &CoreEdDsaPrivateSigningKey, id: Option<&str>, padding: &str| {
            let encoded = |json: Value| BASE64_URL_SAFE_NO_PAD.encode(json.to_string());
            let header = encoded(json!({"alg": "EdDSA", "kid": id}));
            let signed = format!("{header}.{}{padding}", encoded(json!({"sub": "s-1"})));
            let signature = key.sign(&Algorithm::EdDsa, signed.as_bytes()).unwrap();
            format!("{signed}.{}{padding}", BASE64_URL_SAFE_NO_PAD.encode(signature))
        };
        let verify = |token: &str, keys: &[&CoreEdDsaPrivateSigningKey]| {
            let keys = keys.iter().map(|key| key.as_verification_key()).collect();
            Jwt::parse(token)
                .unwrap()
                .verify(&CoreJsonWebKeySet::new(keys))
                .map(|verified| verified.claims["sub"].clone())
        };
        let (one, two) = (signing_key(1, Some("1")), signing_key(2, Some("2")));
        let (nameless, foreign) = (signing_key(3, None), signing_key(4, Some("1")));
        let ours = Ok(json!("s-1"));
        assert_eq!(verify(&sign(&two, Some("2"), ""), &[&one, &two]), ours);
        assert_eq!(verify(&sign(&two, Some("2"), "="), &[&one, &two]), ours);
        assert_eq!(verify(&sign(&two, None, ""), &[&one, &two]), ours);
        assert_eq!(verify(&sign(&nameless, Some("3"), ""), &[&one, &nameless]), ours);
        assert_eq!(verify(&sign(&nameless, None, ""), &[&one, &nameless]), ours);
        assert_eq!(verify(&sign(&foreign, Some("1"), ""), &[&one, &two]), Err(TokenError::WrongSignature));
        // With this error the keys are requested again, since the provider may have a new key.
        for id in [None, Some("4")] {
            assert_eq!(verify(&sign(&foreign, id, ""), &[&one, &nameless]), Err(TokenError::UnknownKey));
        }
    }

    #[test]
    fn only_signed_tokens_are_read() {
        let encoded = |json: Value| BASE64_URL_SAFE_NO_PAD.encode(json.to_string());
        let token = |header: Value, claims: Value| format!("{}.{}.AA", encoded(header), encoded(claims));
        assert!(Jwt::parse(&token(json!({"alg": "RS256"}), json!({"updated_at": [{}]}))).is_ok());
        for (header, claims, error) in [
            (json!({"alg": "none"}), json!({}), TokenError::Unsupported),
            (json!({"alg": "HS256"}), json!({}), TokenError::Unsupported),
            (json!({"alg": 7}), json!({}), TokenError::Unsupported),
            (json!({"alg": "RS256", "crit": ["b64"]}), json!({}), TokenError::Unsupported),
            (json!({"alg": "RS256"}), json!([]), TokenError::Malformed),
            (json!("RS256"), json!({}), TokenError::Malformed),
        ] {
            assert_eq!(Jwt::parse(&token(header, claims)).err(), Some(error));
        }
        for text in ["", ".", "..", "a.b.c", "a.b.c.d.e", "é.é.é"] {
            assert!(Jwt::parse(text).is_err(), "{text}");
        }
    }
}
