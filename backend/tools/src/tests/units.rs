//! Tests every unit of `convert_units` against a second table. That table was written independently of the one in
//! `convert_units`, from the definitions in NIST SP 811, the SI brochure, the UK Units of Measurement Regulations and
//! IAU resolutions. `fend-core` computes the definitions. If `fend-core` has the same unit under an unambiguous name,
//! the test also compares its factor.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use super::call;
use crate::{builtin::convert_units::accepted_names, decimal::Decimal};

/// Names, the SI unit to convert to, the unit's definition as a multiple of that SI unit, and the name in `fend-core`
/// or "".
type Row = (&'static str, &'static str, &'static str, &'static str);

const UNITS: &[Row] = &[
    // Length: the international inch, mile and nautical mile; the IAU's unit and parsec; the Julian light year.
    ("kms", "m", "1000", ""),
    ("micron microns", "m", "1/1000000", "micron"),
    ("Å angstrom angstroms ångström ångströms", "m", "1/10^10", ""),
    ("in inch inches", "m", "2.54/100", "inch"),
    ("mil mils thou", "m", "2.54/100/1000", "mil"),
    ("ft foot feet", "m", "12*2.54/100", "foot"),
    ("US_survey_foot US_survey_feet survey_foot survey_feet", "m", "1200/3937", ""),
    ("yd yds yard yards", "m", "36*2.54/100", "yard"),
    ("fathom fathoms", "m", "6*12*2.54/100", "fathom"),
    ("chain chains", "m", "66*12*2.54/100", ""),
    ("furlong furlongs", "m", "660*12*2.54/100", "furlong"),
    ("mi mile miles statute_mile statute_miles", "m", "5280*12*2.54/100", "mile"),
    ("nmi nautical_mile nautical_miles", "m", "1852", "nautical_mile"),
    ("au AU astronomical_unit astronomical_units", "m", "149597870700", "au"),
    ("ly light_year light_years lightyear lightyears", "m", "299792458*365.25*24*60*60", "light_year"),
    ("pc parsec parsecs", "m", "149597870700*180*60*60/pi", ""),
    ("pica picas", "m", "2.54/100*12/72", ""),
    ("point points", "m", "2.54/100/72", ""),
    // Area.
    ("sqm", "m^2", "1", ""),
    ("sqkm", "m^2", "1000*1000", ""),
    ("sqin", "m^2", "(2.54/100)^2", ""),
    ("sqft", "m^2", "(30.48/100)^2", ""),
    ("sqyd", "m^2", "(91.44/100)^2", ""),
    ("sqmi", "m^2", "1609.344^2", ""),
    ("are ares", "m^2", "10*10", ""),
    ("ha hectare hectares", "m^2", "100*100", "hectare"),
    ("ac acre acres", "m^2", "66*660*0.3048^2", "acre"),
    ("坪 tsubo", "m^2", "(6*10/33)^2", ""),
    // Volume: the US gallon has 231 cubic inches, the bushel 2150.42, the imperial gallon 4.54609 L.
    ("L l liter liters litre litres", "m^3", "1/1000", "liter"),
    ("ltr ltrs", "m^3", "1/1000", ""),
    ("mls", "m^3", "(1/100)^3", ""),
    ("megaliter megaliters megalitre megalitres", "m^3", "1000", ""),
    ("cc ccm", "m^3", "(1/100)^3", ""),
    ("cbm", "m^3", "1", ""),
    ("cuin", "m^3", "(2.54/100)^3", ""),
    ("cuft", "m^3", "(30.48/100)^3", ""),
    ("cuyd", "m^3", "(91.44/100)^3", ""),
    ("us: gallon gallons gal gals liquid_gallon liquid_gallons", "m^3", "231*0.0254^3", "gallon"),
    ("us: quart quarts qt qts", "m^3", "231/4*0.0254^3", "quart"),
    ("us: pint pints", "m^3", "231/8*0.0254^3", "pint"),
    ("us: cup cups", "m^3", "231/16*0.0254^3", "cup"),
    ("us: fluid_ounce fluid_ounces fl_oz floz fluid_oz", "m^3", "231/128*0.0254^3", "fluid_ounce"),
    ("us: tablespoon tablespoons tbsp tbsps tbs", "m^3", "231/256*0.0254^3", "tablespoon"),
    ("us: teaspoon teaspoons tsp tsps", "m^3", "231/768*0.0254^3", "teaspoon"),
    ("us: bushel bushels", "m^3", "2150.42*0.0254^3", ""),
    ("imperial: gallon gallons gal gals", "m^3", "4.54609/1000", ""),
    ("imperial: quart quarts qt qts", "m^3", "4.54609/4/1000", ""),
    ("imperial: pint pints", "m^3", "4.54609/8/1000", ""),
    ("imperial: cup cups", "m^3", "4.54609/16/1000", ""),
    ("imperial: fluid_ounce fluid_ounces fl_oz floz fluid_oz", "m^3", "4.54609/160/1000", ""),
    ("metric_cup metric_cups cup_metric cups_metric", "m^3", "250/10^6", ""),
    ("metric_tablespoon metric_tablespoons tablespoon_metric tablespoons_metric", "m^3", "15/10^6", ""),
    ("metric_teaspoon metric_teaspoons teaspoon_metric teaspoons_metric", "m^3", "5/10^6", ""),
    ("oil_barrel oil_barrels barrel_of_oil barrels_of_oil barrel barrels bbl bbls", "m^3", "42*231*0.0254^3", ""),
    // Mass: the pound of 1959 has 7000 grains and 16 ounces; the troy ounce has 480 grains.
    ("kgs", "kg", "1", ""),
    ("mcg", "kg", "1/10^9", ""),
    ("t tonne tonnes metric_ton metric_tons metric_tonne metric_tonnes ton_metric tons_metric", "kg", "1000", "tonne"),
    ("kilotonne kilotonnes", "kg", "1000*1000", ""),
    ("lb lbs lbm pound pounds", "kg", "0.45359237", "pound"),
    ("oz ounce ounces", "kg", "0.45359237/16", "ounce"),
    ("ozt oz_t troy_oz troy_ounce troy_ounces", "kg", "480*0.45359237/7000", "troy_ounce"),
    ("st stone stones", "kg", "14*0.45359237", "stone"),
    ("ct carat carats", "kg", "0.2/1000", "carat"),
    ("grain grains", "kg", "0.45359237/7000", "grain"),
    ("slug slugs", "kg", "0.45359237*9.80665/0.3048", ""),
    ("short_ton short_tons US_ton US_tons ton_US tons_US", "kg", "2000*0.45359237", "short_ton"),
    ("long_ton long_tons imperial_ton imperial_tons UK_ton UK_tons", "kg", "2240*0.45359237", ""),
    ("short_hundredweight short_hundredweights US_hundredweight", "kg", "100*0.45359237", ""),
    ("long_hundredweight long_hundredweights imperial_hundredweight", "kg", "112*0.45359237", ""),
    // Time: the year of the Gregorian calendar is 146097 days in 400 years.
    ("sec secs", "s", "1", ""),
    ("msec msecs", "s", "1/1000", ""),
    ("µsec usec", "s", "1/1000000", ""),
    ("nsec", "s", "1/10^9", ""),
    ("min mins minute minutes", "s", "60", "minute"),
    ("h hr hrs hour hours", "s", "60*60", "hour"),
    ("d day days", "s", "24*60*60", "day"),
    ("wk wks week weeks", "s", "7*24*60*60", "week"),
    ("fortnight fortnights", "s", "14*24*60*60", "fortnight"),
    ("mo month months", "s", "146097*86400/4800", ""),
    ("yr yrs year years", "s", "146097*86400/400", ""),
    ("Julian_year Julian_years", "s", "365.25*86400", ""),
    ("decade decades", "s", "146097*86400/40", ""),
    ("century centuries", "s", "146097*86400/4", ""),
    ("rpm bpm", "Hz", "1/60", ""),
    ("rps", "Hz", "1", ""),
    // Motion and fuel.
    ("kph kmh kmph", "m/s", "1000/3600", "kph"),
    ("mph", "m/s", "5280*0.3048/3600", "mph"),
    ("kn kts knot knots", "m/s", "1852/3600", "knot"),
    ("speed_of_light", "m/s", "299792458", ""),
    ("g0 standard_gravity", "m/s^2", "9.80665", ""),
    ("lpm", "m^3/s", "1/1000/60", ""),
    ("gpm", "m^3/s", "231*0.0254^3/60", ""),
    ("cfm", "m^3/s", "0.3048^3/60", ""),
    ("US_mpg mpg_US mpg", "m^-2", "5280*0.3048/(231*0.0254^3)", ""),
    ("imperial_mpg imp_mpg UK_mpg mpg_imperial mpg_imp mpg_UK", "m^-2", "5280*0.3048/(4.54609/1000)", ""),
    ("kpl kmpl", "m^-2", "1000*1000", ""),
    (
        "L/100km L/100_km l/100km l/100_km L_per_100_km L_per_100km l_per_100_km l_per_100km liters/100km \
        liters/100_km liters_per_100km liters_per_100_km liters_per_100_kilometers liter_per_100_km litres/100km \
        litres/100_km litres_per_100km litres_per_100_km litres_per_100_kilometres litre_per_100_km",
        "m^-2",
        "100000*1000",
        "",
    ),
    // Temperature, at 1 on each scale.
    ("K kelvin kelvins °K deg_K degree_K degrees_K degree_kelvin degrees_kelvin", "K", "1", ""),
    (
        "°C °_C C degC deg_C degree_C degrees_C celsius °celsius °_celsius deg_celsius degree_celsius degrees_celsius centigrade \
        degree_centigrade degrees_centigrade",
        "K",
        "273.15+1",
        "",
    ),
    (
        "°F °_F F degF deg_F degree_F degrees_F fahrenheit °fahrenheit °_fahrenheit deg_fahrenheit degree_fahrenheit \
        degrees_fahrenheit",
        "K",
        "(1-32)*5/9+273.15",
        "",
    ),
    ("°R °_R °Ra degR deg_R degree_R degrees_R rankine deg_rankine degree_rankine degrees_rankine", "K", "5/9", ""),
    // Angle.
    ("° deg degs degree degrees", "rad", "2*pi/360", "degree"),
    (
        "arcmin arcminute arcminutes arc_minute arc_minutes minute_of_arc minutes_of_arc",
        "rad",
        "2*pi/360/60",
        "arcminute",
    ),
    (
        "arcsec arcsecond arcseconds arc_second arc_seconds second_of_arc seconds_of_arc",
        "rad",
        "2*pi/360/60/60",
        "arcsecond",
    ),
    ("gon grad gons grads gradian gradians", "rad", "2*pi/400", "gradian"),
    ("rev revs revolution revolutions turn turns", "rad", "2*pi", "revolution"),
    // Data.
    ("bit bits", "bit", "1", "bit"),
    ("Mb MBit MBits", "bit", "10^6", ""),
    ("Gb", "bit", "10^9", ""),
    ("Tb", "bit", "10^12", ""),
    ("Pb", "bit", "10^15", ""),
    ("Eb", "bit", "10^18", ""),
    ("Kib", "bit", "2^10", ""),
    ("Mib", "bit", "2^20", ""),
    ("Gib", "bit", "2^30", ""),
    ("Tib", "bit", "2^40", ""),
    ("Pib", "bit", "2^50", ""),
    ("Eib", "bit", "2^60", ""),
    ("B byte bytes", "bit", "8", "byte"),
    ("KB", "bit", "8*1000", ""),
    ("bps", "bit/s", "1", ""),
    ("Kbps", "bit/s", "1000", ""),
    ("Bps", "bit/s", "8", ""),
    // Electricity, and units that are their own measure.
    ("A amp amps ampere amperes", "A", "1", "ampere"),
    ("Ah amp_hour amp_hours ampere_hour ampere_hours", "A s", "60*60", ""),
    ("V volt volts", "W/A", "1", "volt"),
    ("Ω ohm ohms", "W/(A A)", "1", "ohm"),
    ("mol mole moles", "mol", "1", "mole"),
    ("m meter meters metre metres", "m", "1", "meter"),
    ("g gram grams gramme grammes", "kg", "1/1000", "gram"),
    ("s second seconds", "s", "1", "second"),
    ("Hz hertz", "1/s", "1", ""),
    ("rad radian radians", "rad", "1", "radian"),
    // Force, torque and pressure; the pound force is that of standard gravity.
    ("N newton newtons", "kg m s^-2", "1", "newton"),
    ("dyn dyne dynes", "kg m s^-2", "1/1000/100", ""),
    ("kgf kp kilogram_force kilograms_force kilopond kiloponds", "kg m s^-2", "9.80665", ""),
    ("lbf pound_force pounds_force", "kg m s^-2", "0.45359237*9.80665", ""),
    ("kip kips", "kg m s^-2", "1000*0.45359237*9.80665", ""),
    ("Nm", "kg m^2 s^-2", "1", ""),
    (
        "ft_lb ft_lbs lb_ft lbs_ft ft_lbf lbf_ft ftlb ftlbs foot_pound foot_pounds pound_foot pound_feet \
        foot_pound_force foot_pounds_force",
        "kg m^2 s^-2",
        "0.45359237*9.80665*0.3048",
        "",
    ),
    (
        "in_lb in_lbs lb_in lbs_in in_lbf lbf_in inch_pound inch_pounds pound_inch pound_inches",
        "kg m^2 s^-2",
        "0.45359237*9.80665*0.0254",
        "",
    ),
    ("Pa pascal pascals", "kg m^-1 s^-2", "1", "pascal"),
    ("bar bars", "kg m^-1 s^-2", "10^5", "bar"),
    ("atm atmosphere atmospheres standard_atmosphere standard_atmospheres", "kg m^-1 s^-2", "101325", "atm"),
    ("Torr torr", "kg m^-1 s^-2", "101325/760", "Torr"),
    (
        "mmHg mm_Hg millimeter_of_mercury millimeters_of_mercury millimetres_of_mercury",
        "kg m^-1 s^-2",
        "13595.1*9.80665/1000",
        "",
    ),
    ("inHg in_Hg inch_of_mercury inches_of_mercury", "kg m^-1 s^-2", "13595.1*9.80665*0.0254", ""),
    ("cmH2O cm_H2O", "kg m^-1 s^-2", "1000*9.80665/100", ""),
    ("inH2O in_H2O inch_of_water inches_of_water", "kg m^-1 s^-2", "1000*9.80665*0.0254", ""),
    (
        "psi pound_per_square_inch pounds_per_square_inch pounds_per_sq_inch pounds_per_sq_in",
        "kg m^-1 s^-2",
        "0.45359237*9.80665/0.0254^2",
        "",
    ),
    ("ksi", "kg m^-1 s^-2", "1000*0.45359237*9.80665/0.0254^2", ""),
    ("psf pound_per_square_foot pounds_per_square_foot", "kg m^-1 s^-2", "0.45359237*9.80665/0.3048^2", ""),
    // Energy and power: the thermochemical calorie, the BTU of the International Table, the SI's electronvolt.
    ("J joule joules", "kg m^2 s^-2", "1", "joule"),
    ("Wh watt_hour watt_hours", "kg m^2 s^-2", "3600", "Wh"),
    ("cal cals calorie calories", "kg m^2 s^-2", "4.184", "cal"),
    (
        "kcal kcals kilocalorie kilocalories food_calorie food_calories Cal Cals Calorie Calories",
        "kg m^2 s^-2",
        "1000*4.184",
        "",
    ),
    ("BTU BTUs Btu Btus british_thermal_unit british_thermal_units", "kg m^2 s^-2", "4186.8*0.45359237*5/9", ""),
    ("MMBTU MMBtu", "kg m^2 s^-2", "10^6*4186.8*0.45359237*5/9", ""),
    ("erg ergs", "kg m^2 s^-2", "1/10^7", "erg"),
    ("eV electronvolt electronvolts electron_volt electron_volts", "kg m^2 s^-2", "1.602176634/10^19", ""),
    ("W watt watts", "kg m^2 s^-3", "1", "watt"),
    ("mechanical_horsepower imperial_horsepower hp horsepower", "kg m^2 s^-3", "550*0.45359237*9.80665*0.3048", ""),
    ("PS metric_horsepower", "kg m^2 s^-3", "75*9.80665", ""),
    ("ton_of_refrigeration tons_of_refrigeration", "kg m^2 s^-3", "12000*4186.8*0.45359237*5/9/3600", ""),
];

/// Symbol, word and power of each prefix.
const PREFIXES: &[(&str, &str, &str)] = &[
    ("f", "femto", "10^-15"),
    ("p", "pico", "10^-12"),
    ("n", "nano", "10^-9"),
    ("µ", "micro", "10^-6"),
    ("u", "", "10^-6"),
    ("m", "milli", "10^-3"),
    ("c", "centi", "10^-2"),
    ("d", "deci", "10^-1"),
    ("h", "hecto", "10^2"),
    ("k", "kilo", "10^3"),
    ("M", "mega", "10^6"),
    ("G", "giga", "10^9"),
    ("T", "tera", "10^12"),
    ("P", "peta", "10^15"),
    ("E", "exa", "10^18"),
    ("Ki", "kibi", "2^10"),
    ("Mi", "mebi", "2^20"),
    ("Gi", "gibi", "2^30"),
    ("Ti", "tebi", "2^40"),
    ("Pi", "pebi", "2^50"),
    ("Ei", "exbi", "2^60"),
];

fn names_of(names: &str) -> Vec<String> {
    let country = |countries: &[&str], name: &str| {
        let written = |country: &&str| [format!("{country} {name}"), format!("{name} {country}")];
        countries.iter().flat_map(written).collect::<Vec<_>>()
    };
    let (kind, names) = names.split_once(": ").unwrap_or(("", names));
    let names = names.split_whitespace().map(|name| name.replace('_', " "));
    match kind {
        "us" => names.flat_map(|name| [country(&["US"], &name), vec![name]].concat()).collect(),
        "imperial" => {
            let british = |name: &str| format!("British {name}");
            names.flat_map(|name| [country(&["imperial", "imp", "UK"], &name), vec![british(&name)]].concat()).collect()
        }
        _ => names.collect(),
    }
}

fn fend(question: &str) -> Decimal {
    let answer = fend_core::evaluate(question, &mut fend_core::Context::new())
        .unwrap_or_else(|error| panic!("{question}: {error}"));
    let text = answer.get_main_result().trim_start_matches("approx. ");
    text.split(' ')
        .next()
        .unwrap()
        .parse::<Decimal>()
        .unwrap_or_else(|error| panic!("{question}: {text}: {error}"))
        .rounded(12)
        .unwrap()
}

/// Converts 1 `from` to `to` with the tool, and rounds the result like `fend`.
async fn converted(from: &str, to: &str) -> Decimal {
    let input = json!({ "value": 1, "from": from, "to": to }).to_string();
    let output = call("convert_units", &input).await.unwrap_or_else(|error| panic!("{from}: {}", error.message));
    let (_, result) = output.split_once(['=', '≈']).unwrap();
    result.split_whitespace().next().unwrap().parse::<Decimal>().unwrap().rounded(12).unwrap()
}

/// Returns `true` if two results differ at most by the rounding of their twelfth digit.
fn is_close(one: &Decimal, other: &Decimal) -> bool {
    let [one, other] = [one, other].map(|number| number.to_string().parse::<f64>().unwrap());
    (one - other).abs() <= 2e-11 * other.abs()
}

#[tokio::test]
async fn every_unit_matches_its_definition() {
    let mut rows: BTreeMap<String, &Row> = BTreeMap::new();
    for row in UNITS {
        for name in names_of(row.0) {
            assert!(rows.insert(name.clone(), row).is_none(), "{name} is defined twice");
        }
    }
    let mut wrong = Vec::new();
    for (name, (_, si, definition, fends)) in &rows {
        let ours = converted(name, si).await;
        let defined = format!("({definition})");
        let theirs = (!fends.is_empty()).then(|| format!("(1 {fends}) to ({si})"));
        for question in [Some(defined), theirs].into_iter().flatten() {
            let expected = fend(&format!("{question} to 12 sf"));
            if !is_close(&ours, &expected) {
                wrong.push(format!("{name} is {ours} and not {expected}, {question}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let mut checked: BTreeSet<&str> = BTreeSet::new();
    for name in accepted_names() {
        if rows.contains_key(name) {
            checked.insert(name);
            continue;
        }
        let (base, power) = PREFIXES
            .iter()
            .flat_map(|(symbol, word, power)| [(symbol, power), (word, power)])
            .filter(|(prefix, _)| !prefix.is_empty())
            .find_map(|(prefix, power)| {
                let base = name.strip_prefix(prefix)?;
                rows.contains_key(base).then_some((base, power))
            })
            .unwrap_or_else(|| panic!("{name} has no definition here"));
        let (_, si, definition, _) = rows[base];
        let expected = fend(&format!("(({definition}) * {power}) to 12 sf"));
        let ours = converted(name, si).await;
        assert!(is_close(&ours, &expected), "{name} is {ours} and not {expected}");
    }
    assert_eq!(checked.len(), rows.len(), "{:?}", rows.keys().filter(|name| !checked.contains(name.as_str())));
}

/// Checks prefixes that are in use with the most common units, and some that are not.
#[tokio::test]
async fn prefixes_are_those_in_use() {
    for name in [
        "km",
        "cm",
        "mm",
        "µm",
        "um",
        "nm",
        "kg",
        "mg",
        "µg",
        "ug",
        "mL",
        "ml",
        "dl",
        "hL",
        "ms",
        "µs",
        "us",
        "ns",
        "kHz",
        "MHz",
        "GHz",
        "THz",
        "hPa",
        "kPa",
        "MPa",
        "GPa",
        "mbar",
        "kJ",
        "MJ",
        "kWh",
        "MWh",
        "GWh",
        "keV",
        "MeV",
        "GeV",
        "mW",
        "kW",
        "MW",
        "GW",
        "TW",
        "kN",
        "kB",
        "MB",
        "GB",
        "TB",
        "PB",
        "KiB",
        "MiB",
        "GiB",
        "TiB",
        "kbit",
        "Mbit",
        "Mbps",
        "Gbps",
        "mAh",
        "mV",
        "kV",
        "kΩ",
        "mmol",
        "kpc",
        "mrad",
        "kilometer",
        "kilometre",
        "millilitres",
        "kilowatt hours",
        "megahertz",
        "kilograms",
        "microseconds",
        "nanometers",
        "gigabytes",
        "kibibytes",
    ] {
        assert!(accepted_names().any(|accepted| accepted == name), "{name}");
    }
    for name in ["Mm", "Gm", "Mg", "mHL", "kmin", "kft", "mB", "kK", "ks", "EHz", "kilohour", "megafoot", "hm", "dag"] {
        assert!(!accepted_names().any(|accepted| accepted == name), "{name}");
    }
}
