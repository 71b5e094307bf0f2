//! Tests of `convert_units` with examples. `units` checks every unit.

use serde_json::json;

use super::{call, failure};

fn input(value: &str, from: &str, to: &str) -> String {
    json!({ "value": value, "from": from, "to": to }).to_string()
}

async fn gives(value: &str, from: &str, to: &str, expected: &str) {
    assert_eq!(call("convert_units", &input(value, from, to)).await.unwrap(), expected);
}

async fn refuses(value: &str, from: &str, to: &str, reason: &str) {
    assert_eq!(failure("convert_units", &input(value, from, to)).await, reason);
}

#[tokio::test]
async fn results_are_exact_if_possible() {
    gives("26.2", "miles", "km", "26.2 miles = 42.1648128 km").await;
    gives("1", "lb", "g", "1 lb = 453.59237 g").await;
    gives("1", "GB", "MiB", "1 GB = 953.67431640625 MiB").await;
    gives("500", "kcal", "kJ", "500 kcal = 2092 kJ").await;
    gives("10", "kg", "lb", "10 kg ≈ 22.0462262184878 lb").await;
    gives("60", "mph", "m/s", "60 mph = 26.8224 m/s").await;
    gives("1e300", "kg", "g", "1e300 kg = 1e303 g").await;
    gives("10", "in", "cm", "10 in = 25.4 cm").await;
    gives(
        "12345678901234567890123456789012345678901",
        "m",
        "km",
        "12345678901234567890123456789012345678901 m = 12345678901234567890123456789012345678.901 km",
    )
    .await;
    gives("90", "rpm", "Hz", "90 rpm = 1.5 Hz").await;
    gives("1", "rpm", "Hz", "1 rpm ≈ 0.0166666666666667 Hz").await;
    gives("0", "degrees", "rad", "0 degrees = 0 rad").await;
    gives("180", "degrees", "rad", "180 degrees ≈ 3.14159265358979 rad").await;
    gives("1", "rad", "mrad", "1 rad = 1000 mrad").await;
}

#[tokio::test]
async fn temperatures_have_their_zeros() {
    gives("-40", "°C", "°F", "-40 °C = -40 °F").await;
    gives("0", "K", "celsius", "0 K = -273.15 celsius").await;
    gives("25", "degree celsius", "°F", "25 degree celsius = 77 °F").await;
    gives("491.67", "rankine", "kelvin", "491.67 rankine = 273.15 kelvin").await;
    for celsius in ["degC", "deg C", "deg. C", "°C", "° C", "℃", "C", "Celsius", "degrees Celsius", "DEGREES_CELSIUS"]
    {
        for fahrenheit in ["degF", "deg F", "°F", "℉", "F", "Fahrenheit", "degree fahrenheit"] {
            let output = call("convert_units", &input("98.6", fahrenheit, celsius)).await.unwrap();
            assert!(output.contains(" = 37 "), "{output}");
        }
    }
    for (value, unit) in [("-273.16", "°C"), ("-1", "K"), ("-459.68", "°F"), ("-1", "mK"), ("-0.1", "rankine")] {
        for to in ["K", "°C", "°F"] {
            refuses(value, unit, to, &format!("invalid_value: {value} {unit} is below absolute zero")).await;
        }
    }
    gives("-273.15", "°C", "K", "-273.15 °C = 0 K").await;
    let reason = r#"invalid_from: "J/°C" combines a unit that takes no others, such as °C or L/100km; write K or km/L"#;
    refuses("1", "J/°C", "J/K", reason).await;
}

#[tokio::test]
async fn units_are_written_in_many_ways() {
    for square in
        ["m²", "m^2", "m2", "m**2", "square meters", "sq meters", "sq. m", "meters squared", "sqm", "m*m", "m·m"]
    {
        let output = call("convert_units", &input("1", "hectare", square)).await.unwrap();
        assert!(output.starts_with("1 hectare = 10000 "), "{output}");
    }
    for speed in
        ["km/h", "km／h", "kph", "kilometers per hour", "Kilometres per Hour", "KM/h", "km h^-1", "km h⁻¹", "km*hr-1"]
    {
        let output = call("convert_units", &input("3", "m s^-1", speed)).await.unwrap();
        assert!(output.starts_with("3 m s^-1 = 10.8 "), "{output}");
    }
    gives("1", "fl oz", "ml", "1 fl oz (US fluid ounce) = 29.5735295625 ml").await;
    gives("1", "µg", "ug", "1 µg = 1 ug").await;
    gives("1", "μg", "mcg", "1 μg = 1 mcg").await;
    gives("1", "W/(m^2 K)", "W/m²/K", "1 W/(m^2 K) = 1 W/m²/K").await;
    gives("1", "N-m", "J", "1 N-m = 1 J").await;
    gives("5", "acre-feet", "m³", "5 acre-feet = 6167.4091877376 m³").await;
    gives("1", "square mile", "acres", "1 square mile = 640 acres").await;
    gives("1", "cubic foot", "US gallons", "1 cubic foot ≈ 7.48051948051948 US gallons").await;
    gives("100", "KM", "MILES", "100 KM ≈ 62.1371192237334 MILES").await;
    gives("2", "kwh", "MJ", "2 kwh = 7.2 MJ").await;
    gives("60", "1/min", "Hz", "60 1/min = 1 Hz").await;
    gives("1", "rev/min", "rpm", "1 rev/min = 1 rpm").await;
    gives("60", "rpm", "rad/s", "60 rpm ≈ 6.28318530717959 rad/s").await;
}

#[tokio::test]
async fn similar_characters_and_stops_are_understood() {
    for (from, to, result) in [
        ("㎡", "cm²", "10000"),
        ("㎥", "ℓ", "1000"),
        ("㎞", "kms", "1"),
        ("m⁴", "cm^4", "100000000"),
        ("cmH₂O", "cm H2O", "1"),
        ("m.s-1", "km/h", "3.6"),
        ("m.s⁻²", "m/s/s", "1"),
        ("N.m", "J", "1"),
        ("lb·ft", "ft-lbs", "1"),
        ("fl.oz.", "fl. oz.", "1"),
        ("m.p.h.", "mph", "1"),
        ("MBit/s", "Mbps", "1"),
        ("usec", "µs", "1"),
        ("litres/100 km", "L per 100km", "1"),
        ("miles per gallon (US)", "mpg (us)", "1"),
        ("gallon (U.S.)", "US gal", "1"),
        ("pounds per sq. in.", "psi", "1"),
    ] {
        let output = call("convert_units", &input("1", from, to)).await.unwrap();
        assert!(output.contains(&format!(" = {result} ")), "{output}");
    }
    for degree in ['º', '˚', '°'] {
        let output = call("convert_units", &input("98.6", &format!("{degree}F"), &format!("{degree} Celsius"))).await;
        assert!(output.unwrap().contains(" = 37 "), "{degree}");
    }
    // A full stop does not join two symbols into another one: m.s isn't a millisecond.
    assert!(failure("convert_units", &input("1", "m.s", "s")).await.contains("incompatible"));
    assert!(failure("convert_units", &input("1", "p.s.i", "bar")).await.starts_with("invalid_from: "));
}

#[tokio::test]
async fn large_units_of_data_are_not_taken_for_their_neighbors() {
    for (from, to, result) in [
        ("Pb", "PB", "0.125"),
        ("Eb", "EB", "0.125"),
        ("Pib", "PiB", "0.125"),
        ("Eib", "EiB", "0.125"),
        ("TBps", "Tbps", "8"),
    ] {
        let output = call("convert_units", &input("1", from, to)).await.unwrap();
        assert!(output.contains(&format!(" = {result} ")), "{output}");
    }
    for unit in ["pb", "eb", "pib", "eib", "tbps"] {
        assert!(failure("convert_units", &input("1", unit, "B")).await.contains("depending on capitals"), "{unit}");
    }
}

#[tokio::test]
async fn the_result_names_the_understood_unit() {
    gives("1", "Cal", "kJ", "1 Cal (kcal) = 4.184 kJ").await;
    gives("1", "gallon", "L", "1 gallon (US gallon) = 3.785411784 L").await;
    gives("1", "gallon (US)", "L", "1 gallon (US) = 3.785411784 L").await;
    gives("1", "imperial gallon", "L", "1 imperial gallon = 4.54609 L").await;
    gives("1", "U.K. gallon", "L", "1 U.K. gallon = 4.54609 L").await;
    gives("1", "year", "days", "1 year (365.2425 days) = 365.2425 days").await;
    gives("1", "L", "cups", "1 L ≈ 4.22675283773037 cups (US cup)").await;
    gives("1", "gallon/hour", "gallon/day", "1 gallon/hour (US gallon) = 24 gallon/day (US gallon)").await;
}

#[tokio::test]
async fn fuel_economy_counts_the_other_way_round() {
    gives("10", "L/100km", "km/L", "10 L/100km = 10 km/L").await;
    gives("30", "mpg", "L/100 km", "30 mpg (US gallon) ≈ 7.84048611111111 L/100 km").await;
    gives("8", "liters per 100 km", "L/100km", "8 liters per 100 km = 8 L/100km").await;
    gives("10", "miles per gallon", "mpg", "10 miles per gallon (US gallon) = 10 mpg (US gallon)").await;
    refuses("0", "L/100km", "mpg", "invalid_value: 0 L/100km has no counterpart in mpg").await;
    refuses("0", "mpg", "L/100km", "invalid_value: 0 mpg has no counterpart in L/100km").await;
    assert!(failure("convert_units", &input("1", "L/km", "mpg")).await.contains("incompatible"));
    assert!(failure("convert_units", &input("1", "acre", "mpg")).await.contains("incompatible"));
}

#[tokio::test]
async fn capitals_matter_where_they_change_the_meaning() {
    gives("1", "MW", "kW", "1 MW = 1000 kW").await;
    gives("1", "mW", "W", "1 mW = 0.001 W").await;
    gives("1", "MB", "Mb", "1 MB = 8 Mb").await;
    for (unit, choice) in [
        ("mw", "mW or MW"),
        ("mhz", "mHz or MHz"),
        ("mb", "MB (megabyte), Mbit (megabit) or mbar (millibar)"),
        ("Kb", "kB"),
        ("mbps", "Mbps"),
        ("ML", "mL"),
        ("MM", "mm"),
        ("CAL", "cal or Cal"),
        ("kt", "knot or kilotonne"),
        ("ton", "short ton, long ton or metric ton"),
        ("pt", "pint or point"),
    ] {
        for (from, to, field) in [(unit, "m", "from"), ("m", unit, "to")] {
            let error = failure("convert_units", &input("1", from, to)).await;
            assert!(error.starts_with(&format!("invalid_{field}: ")) && error.contains(choice), "{unit}: {error}");
        }
    }
    for prefix in ["G", "k", "M", "T", "µ", "kilo", "Mega"] {
        let error = failure("convert_units", &input("1", prefix, "m")).await;
        assert!(error.starts_with("invalid_from: ") && error.contains("is a prefix"), "{error}");
    }
}

#[tokio::test]
async fn incompatible_units_are_reported() {
    let error = call("convert_units", &input("1", "m", "kg")).await.unwrap_err();
    assert_eq!(error.error_type, "conversion_failed");
    assert_eq!(error.message, r#"cannot convert "m" to "kg": the units are incompatible, m and kg in base units"#);
    for (from, to) in [("bit", "rad"), ("Hz", "1/bit"), ("K", "A"), ("L", "m²"), ("lb", "N"), ("m/m", "m")] {
        assert!(failure("convert_units", &input("1", from, to)).await.contains("incompatible"), "{from} {to}");
    }
    let unknown = |name: &str, hint: &str| format!("invalid_from: {name:?} is not a known unit{hint}");
    refuses("1", "banana", "kg", &unknown("banana", "")).await;
    refuses("1", "kilometrs", "kg", &unknown("kilometrs", "; did you mean kilometers or kilometre or kilometres?"))
        .await;
    refuses("1", "USD", "EUR", &unknown("USD", "")).await;
    for unit in ["gauss", "Gs", "em", "px", "EUR", "m$", "mach", "Mm", "dozen", "psig", "°X"] {
        let error = failure("convert_units", &input("1", unit, "m")).await;
        assert!(error.starts_with("invalid_from: "), "{unit}: {error}");
    }
    let error = failure("convert_units", &input("1", "W/m K", "W/m")).await;
    assert_eq!(error, r#"invalid_from: "m K" after a slash can be read in two ways; write (m K)"#);
    assert!(failure("convert_units", &input("much", "m", "km")).await.starts_with("invalid_value: \"much\""));
}

#[tokio::test]
async fn only_units_are_accepted() {
    for unit in [
        "m^99999999",
        "m^-12",
        "m^0",
        "m^",
        "m) + (1 m",
        "2 km",
        "sin(m)",
        "m; print",
        "x: x",
        "m\nm",
        "",
        " ",
        "\\x.x",
        "@debug",
        "1",
        "/",
        "m/",
        "/s",
        "m*",
        "square",
        "km)",
        "(km",
        "W/()",
        "m--1",
        "^2",
        "²",
        "today",
        "hex",
        "words",
        "version",
        "roll",
        "sin",
        "to",
        "unitless",
    ] {
        for (from, to, field) in [(unit, "m", "invalid_from: "), ("m", unit, "invalid_to: ")] {
            let error = failure("convert_units", &input("5", from, to)).await;
            assert!(error.starts_with(field), "{unit:?}: {error}");
        }
    }
    assert!(failure("convert_units", &input("5", &"m".repeat(100_000), "m")).await.len() < 200);
    let huge = ["EB^9"; 12].join("*");
    assert!(failure("convert_units", &input("5", &huge, &huge)).await.starts_with("invalid_from: "));
}
