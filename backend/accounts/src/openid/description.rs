//! Reads a provider's metadata (OpenID Connect Discovery) leniently: a field of an unexpected type is ignored unless
//! sign-in depends on it.

use openidconnect::HttpResponse;
use serde_json::{Map, Value, json};
use url::Url;

/// The fields that sign-in depends on.
const USED: [&str; 5] = ["issuer", "authorization_endpoint", "token_endpoint", "userinfo_endpoint", "jwks_uri"];

/// Field that lists the client authentication methods of the token endpoint.
const METHODS: &str = "token_endpoint_auth_methods_supported";

/// Reduces provider metadata to the fields used here. Returns other responses, such as keys, unchanged.
pub(crate) fn used_fields(mut answer: HttpResponse) -> HttpResponse {
    let fields: Option<Map<String, Value>> = serde_json::from_slice(answer.body()).ok();
    if let Some(fields) = fields.filter(|fields| fields.contains_key("issuer")) {
        *answer.body_mut() = Value::Object(reduced(fields)).to_string().into_bytes();
    }
    answer
}

fn reduced(mut fields: Map<String, Value>) -> Map<String, Value> {
    let methods: Option<Vec<Value>> = match fields.remove(METHODS) {
        Some(Value::Array(methods)) => Some(methods.into_iter().filter(Value::is_string).collect()),
        Some(method @ Value::String(_)) => Some(vec![method]),
        _ => None,
    };
    fields.retain(|name, value| USED.contains(&name.as_str()) && !value.is_null());
    // Sign-in works without this endpoint, so an invalid one is ignored.
    let is_address = |value: &Value| value.as_str().is_some_and(|address| Url::parse(address).is_ok());
    if fields.get("userinfo_endpoint").is_some_and(|value| !is_address(value)) {
        fields.remove("userinfo_endpoint");
    }
    fields.extend(methods.map(|methods| (METHODS.to_owned(), methods.into())));
    // The `openidconnect` crate requires these standard fields, but nothing here uses them: each token names its own
    // algorithm.
    fields.insert("response_types_supported".to_owned(), json!(["code"]));
    fields.insert("subject_types_supported".to_owned(), json!(["public"]));
    fields.insert("id_token_signing_alg_values_supported".to_owned(), json!(["RS256"]));
    fields
}

#[cfg(test)]
mod tests {
    use openidconnect::core::CoreProviderMetadata;
    use serde_json::{Value, json};

    use super::{HttpResponse, METHODS, used_fields};

    fn read(description: &Value) -> CoreProviderMetadata {
        let answer = used_fields(HttpResponse::new(description.to_string().into_bytes()));
        serde_json::from_slice(answer.body()).unwrap()
    }

    #[test]
    fn fields_that_are_not_used_may_have_any_type() {
        let description = json!({
            "issuer": "https://id.example.org", "authorization_endpoint": "https://id.example.org/in",
            "token_endpoint": "https://id.example.org/token", "jwks_uri": "https://id.example.org/keys",
            "userinfo_endpoint": null, "scopes_supported": "openid email", "claims_supported": {"sub": true},
            "request_parameter_supported": "false", "response_types_supported": "code", "op_policy_uri": "",
        });
        let found = read(&description);
        assert_eq!(found.issuer().as_str(), "https://id.example.org");
        assert!(found.token_endpoint().is_some() && found.userinfo_endpoint().is_none());
        assert_eq!(found.token_endpoint_auth_methods_supported(), None);
        for odd in [json!(""), json!(false), json!(["https://id.example.org/me"])] {
            let mut description = description.clone();
            description["userinfo_endpoint"] = odd;
            assert!(read(&description).userinfo_endpoint().is_none());
        }
        for methods in [json!("client_secret_post"), json!(["client_secret_post", 7])] {
            let mut description = description.clone();
            description[METHODS] = methods;
            assert_eq!(read(&description).token_endpoint_auth_methods_supported().map(Vec::len), Some(1));
        }
    }

    #[test]
    fn keys_stay_as_they_are() {
        for body in [r#"{"keys": []}"#, "[1]", "not JSON", ""] {
            assert_eq!(used_fields(HttpResponse::new(body.into())).body(), body.as_bytes());
        }
    }
}
