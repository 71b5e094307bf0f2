//! What `convert_units` gives and refuses, example by example.

use serde_json::json;

use super::{call, failure};

fn input(value: &str, from: &str, to: &str) -> String {
    json!({ "value": value, "from": from, "to": to }).to_string()
}

async fn gives(value: &str, from: &str, to: &str, expected: &str) {
    assert_eq!(call("convert_units", &input(value, from, to)).await.unwrap(), expected);
}

#[tokio::test]
async fn exact_where_it_can_be() {
    gives("26.2", "miles", "km", "26.2 miles = 42.1648128 km").await;
    gives("1", "lb", "g", "1 lb = 453.59237 g").await;
    gives("1", "GB", "MiB", "1 GB = 953.67431640625 MiB").await;
    gives("500", "kcal", "kJ", "500 kcal = 2092 kJ").await;
    gives("10", "kg", "lb", "10 kg ≈ 22.0462262184878 lbs").await;
    gives("60", "mph", "m/s", "60 mph = 26.8224 m / s").await;
    gives("1e300", "kg", "g", "1e300 kg = 1e303 g").await;
}

#[tokio::test]
async fn temperatures_have_their_zeros() {
    gives("-40", "°C", "°F", "-40 °C = -40 °F").await;
    gives("98.6", "degF", "℃", "98.6 °F = 37 °C").await;
    gives("0", "K", "celsius", "0 K = -273.15 celsius").await;
}

#[tokio::test]
async fn units_are_written_in_many_ways() {
    for square in ["m²", "m^2", "square meters", "sq meters"] {
        let output = call("convert_units", &input("1", "hectare", square)).await.unwrap();
        assert!(output.starts_with("1 hectare = 10000 "), "{output}");
    }
    gives("1", "fl oz", "ml", "1 floz = 29.5735295625 ml").await;
    gives("3", "m s^-1", "km／h", "3 m s^-1 = 10.8 km / h").await;
}

#[tokio::test]
async fn what_does_not_fit_says_why() {
    let error = call("convert_units", &input("1", "m", "kg")).await.unwrap_err();
    assert_eq!(error.error_type, "conversion_failed");
    assert!(error.message.contains("incompatible"), "{}", error.message);
    assert!(failure("convert_units", &input("1", "banana", "kg")).await.contains("unknown identifier 'banana'"));
    assert!(failure("convert_units", &input("1", "USD", "EUR")).await.contains("exchange rates are not available"));
    assert!(failure("convert_units", &input("much", "m", "km")).await.starts_with("invalid_value: \"much\""));
}

#[tokio::test]
async fn nothing_but_units_is_understood() {
    for unit in
        ["m^99999999", "m^-12", "m) + (1 m", "2 km", "sin(m)", "m; print", "x: x", "m\nm", "", " ", "\\x.x", "@debug"]
    {
        for (from, to, field) in [(unit, "m", "invalid_from: "), ("m", unit, "invalid_to: ")] {
            let error = failure("convert_units", &input("5", from, to)).await;
            assert!(error.starts_with(field), "{unit:?}: {error}");
        }
    }
    assert!(failure("convert_units", &input("5", &"m".repeat(100_000), "m")).await.len() < 200);
    for word in ["today", "hex", "words", "version", "roll", "sin", "to", "unitless"] {
        assert!(call("convert_units", &input("5", "km", word)).await.is_err(), "{word}");
    }
}
