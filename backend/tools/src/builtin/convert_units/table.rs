//! Table of all units that `convert_units` accepts. A name has exactly the meaning that is written here.
//!
//! Factors convert to the base units of `dimension`: kg, m, s, K, rad, bit, A and mol. They are exact by definition,
//! from NIST SP 811 (customary units), the SI brochure, the UK Units of Measurement Regulations 1995 (imperial units)
//! and the IAU (au, parsec).

use crate::builtin::convert_units::dimension::{
    ACCELERATION, AMOUNT, ANGLE, AREA, CHARGE, CURRENT, DATA, DATA_RATE, Dimension, ENERGY, FLOW, FORCE, FREQUENCY,
    FUEL_ECONOMY, LENGTH, MASS, POWER, PRESSURE, RESISTANCE, SPEED, TEMPERATURE, TIME, VOLTAGE, VOLUME,
};

/// A prefix of units.
pub(crate) struct Prefix {
    pub(crate) symbol: &'static str,
    pub(crate) word: &'static str,
    pub(crate) factor: &'static str,
}

pub(crate) const PREFIXES: &[Prefix] = &[
    Prefix { symbol: "f", word: "femto", factor: "1e-15" },
    Prefix { symbol: "p", word: "pico", factor: "1e-12" },
    Prefix { symbol: "n", word: "nano", factor: "1e-9" },
    Prefix { symbol: "µ", word: "micro", factor: "1e-6" },
    Prefix { symbol: "m", word: "milli", factor: "1e-3" },
    Prefix { symbol: "c", word: "centi", factor: "1e-2" },
    Prefix { symbol: "d", word: "deci", factor: "1e-1" },
    Prefix { symbol: "h", word: "hecto", factor: "1e2" },
    Prefix { symbol: "k", word: "kilo", factor: "1e3" },
    Prefix { symbol: "M", word: "mega", factor: "1e6" },
    Prefix { symbol: "G", word: "giga", factor: "1e9" },
    Prefix { symbol: "T", word: "tera", factor: "1e12" },
    Prefix { symbol: "P", word: "peta", factor: "1e15" },
    Prefix { symbol: "E", word: "exa", factor: "1e18" },
    Prefix { symbol: "Ki", word: "kibi", factor: "1024" },
    Prefix { symbol: "Mi", word: "mebi", factor: "1048576" },
    Prefix { symbol: "Gi", word: "gibi", factor: "1073741824" },
    Prefix { symbol: "Ti", word: "tebi", factor: "1099511627776" },
    Prefix { symbol: "Pi", word: "pebi", factor: "1125899906842624" },
    Prefix { symbol: "Ei", word: "exbi", factor: "1152921504606846976" },
];

/// Relation between a unit's numbers and quantities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    /// The quantity is proportional to the number.
    Ratio,
    /// The scale's zero is this much above the quantity's zero, as for °C.
    Offset(&'static str),
    /// The quantity is inversely proportional to the number, as for L/100km.
    Inverse,
}

/// A unit. Lists of names are separated by commas.
#[derive(Debug)]
pub(crate) struct Unit {
    pub(crate) dimension: Dimension,
    /// Size of the unit in base units, as a product and quotient.
    pub(crate) factor: &'static str,
    /// Names that take the symbols of prefixes.
    pub(crate) symbols: &'static str,
    /// Names that take the words of prefixes.
    pub(crate) words: &'static str,
    /// Names that have other meanings elsewhere. Results for them show `note`.
    pub(crate) assumed: &'static str,
    pub(crate) note: &'static str,
    /// The symbols of the prefixes that are in use with this unit.
    pub(crate) prefixes: &'static str,
    pub(crate) scale: Scale,
}

impl Unit {
    const fn prefixed(mut self, prefixes: &'static str) -> Self {
        self.prefixes = prefixes;
        self
    }

    const fn assumed(mut self, names: &'static str, note: &'static str) -> Self {
        self.assumed = names;
        self.note = note;
        self
    }

    const fn on(mut self, scale: Scale) -> Self {
        self.scale = scale;
        self
    }

    /// Returns `true` if the unit is used with `prefix`.
    pub(crate) fn takes(&self, prefix: &Prefix) -> bool {
        list(self.prefixes).any(|symbol| symbol == prefix.symbol)
    }
}

const fn unit(dimension: Dimension, factor: &'static str, symbols: &'static str, words: &'static str) -> Unit {
    Unit { dimension, factor, symbols, words, assumed: "", note: "", prefixes: "", scale: Scale::Ratio }
}

/// Creates a US unit of volume. Its names without a country mean the same unit.
macro_rules! us {
    ($factor:literal, $first:literal $(, $name:literal)*) => {
        unit(VOLUME, $factor, "", concat!("US ", $first, ",", $first, " US" $(, ",US ", $name, ",", $name, " US")*))
            .assumed(concat!($first $(, ",", $name)*), concat!("US ", $first))
    };
}

/// Creates an imperial unit of volume.
macro_rules! imperial {
    ($factor:literal $(, $name:literal)+) => {
        unit(VOLUME, $factor, "", concat!($(
            "imperial ", $name, ",imp ", $name, ",UK ", $name, ",British ", $name, ",",
            $name, " imperial,", $name, " imp,", $name, " UK,",
        )+))
    };
}

/// Splits a list of names.
pub(crate) fn list(names: &'static str) -> impl Iterator<Item = &'static str> {
    names.split(',').map(str::trim).filter(|name| !name.is_empty())
}

/// Every unit, by subject.
pub(crate) const UNITS: &[&[Unit]] =
    &[SPACE, VOLUMES, MASSES, TIMES, MOTION, TEMPERATURES, ANGLES, INFORMATION, ELECTRICITY, FORCES, ENERGIES];

const SPACE: &[Unit] = &[
    unit(LENGTH, "1", "m", "meter, meters, metre, metres").prefixed("f, p, n, µ, m, c, d, k"),
    unit(LENGTH, "1000", "kms", ""),
    unit(LENGTH, "1e-6", "", "micron, microns"),
    unit(LENGTH, "1e-10", "Å", "angstrom, angstroms, ångström, ångströms"),
    unit(LENGTH, "0.0254", "in", "inch, inches"),
    unit(LENGTH, "0.0000254", "mil", "mils, thou"),
    unit(LENGTH, "0.3048", "ft", "foot, feet"),
    unit(LENGTH, "1200/3937", "", "US survey foot, US survey feet, survey foot, survey feet"),
    unit(LENGTH, "0.9144", "yd, yds", "yard, yards"),
    unit(LENGTH, "1.8288", "", "fathom, fathoms"),
    unit(LENGTH, "20.1168", "", "chain, chains"),
    unit(LENGTH, "201.168", "", "furlong, furlongs"),
    unit(LENGTH, "1609.344", "mi", "mile, miles, statute mile, statute miles"),
    unit(LENGTH, "1852", "nmi", "nautical mile, nautical miles"),
    unit(LENGTH, "149597870700", "au, AU", "astronomical unit, astronomical units"),
    unit(LENGTH, "9460730472580800", "ly", "light year, light years, lightyear, lightyears"),
    unit(LENGTH, "149597870700*648000/π", "pc", "parsec, parsecs").prefixed("k, M, G"),
    unit(LENGTH, "0.0254/6", "", "pica, picas"),
    unit(LENGTH, "0.0254/72", "", "").assumed("point, points", "1/72 inch"),
    unit(AREA, "1", "sqm", ""),
    unit(AREA, "1e6", "sqkm", ""),
    unit(AREA, "0.00064516", "sqin", ""),
    unit(AREA, "0.09290304", "sqft", ""),
    unit(AREA, "0.83612736", "sqyd", ""),
    unit(AREA, "2589988.110336", "sqmi", ""),
    unit(AREA, "100", "", "are, ares"),
    unit(AREA, "10000", "ha", "hectare, hectares"),
    unit(AREA, "4046.8564224", "ac", "acre, acres"),
    unit(AREA, "400/121", "坪", "tsubo"),
];

const VOLUMES: &[Unit] = &[
    unit(VOLUME, "0.001", "L, l", "liter, liters, litre, litres").prefixed("n, µ, m, c, d, h, k"),
    unit(VOLUME, "0.001", "ltr, ltrs", ""),
    unit(VOLUME, "0.000001", "mls", ""),
    unit(VOLUME, "1000", "", "megaliter, megaliters, megalitre, megalitres"),
    unit(VOLUME, "0.000001", "cc, ccm", ""),
    unit(VOLUME, "1", "cbm", ""),
    unit(VOLUME, "0.000016387064", "cuin", ""),
    unit(VOLUME, "0.028316846592", "cuft", ""),
    unit(VOLUME, "0.764554857984", "cuyd", ""),
    us!("0.003785411784", "gallon", "gallons", "gal", "gals", "liquid gallon", "liquid gallons"),
    us!("0.000946352946", "quart", "quarts", "qt", "qts"),
    us!("0.000473176473", "pint", "pints"),
    us!("0.0002365882365", "cup", "cups"),
    us!("0.0000295735295625", "fluid ounce", "fluid ounces", "fl oz", "floz", "fluid oz"),
    us!("0.00001478676478125", "tablespoon", "tablespoons", "tbsp", "tbsps", "tbs"),
    us!("0.00000492892159375", "teaspoon", "teaspoons", "tsp", "tsps"),
    us!("0.03523907016688", "bushel", "bushels"),
    imperial!("0.00454609", "gallon", "gallons", "gal", "gals"),
    imperial!("0.0011365225", "quart", "quarts", "qt", "qts"),
    imperial!("0.00056826125", "pint", "pints"),
    imperial!("0.000284130625", "cup", "cups"),
    imperial!("0.0000284130625", "fluid ounce", "fluid ounces", "fl oz", "floz", "fluid oz"),
    unit(VOLUME, "0.00025", "", "metric cup, metric cups, cup metric, cups metric"),
    unit(VOLUME, "0.000015", "", "metric tablespoon, metric tablespoons, tablespoon metric, tablespoons metric"),
    unit(VOLUME, "0.000005", "", "metric teaspoon, metric teaspoons, teaspoon metric, teaspoons metric"),
    unit(VOLUME, "0.158987294928", "", "oil barrel, oil barrels, barrel of oil, barrels of oil")
        .assumed("barrel, barrels, bbl, bbls", "oil barrel"),
];

const MASSES: &[Unit] = &[
    unit(MASS, "0.001", "g", "gram, grams, gramme, grammes").prefixed("p, n, µ, m, c, k"),
    unit(MASS, "1", "kgs", ""),
    unit(MASS, "1e-9", "mcg", ""),
    unit(MASS, "1000", "t", "tonne, tonnes").prefixed("M, G"),
    unit(MASS, "1000", "", "metric ton, metric tons, metric tonne, metric tonnes, ton metric, tons metric"),
    unit(MASS, "1e6", "", "kilotonne, kilotonnes"),
    unit(MASS, "0.45359237", "lb, lbs, lbm", "pound, pounds"),
    unit(MASS, "0.028349523125", "oz", "ounce, ounces"),
    unit(MASS, "0.0311034768", "ozt, oz t, troy oz", "troy ounce, troy ounces"),
    unit(MASS, "6.35029318", "st", "stone, stones"),
    unit(MASS, "0.0002", "ct", "carat, carats"),
    unit(MASS, "0.00006479891", "", "grain, grains"),
    unit(MASS, "4.4482216152605/0.3048", "", "slug, slugs"),
    unit(MASS, "907.18474", "", "short ton, short tons, US ton, US tons, ton US, tons US"),
    unit(MASS, "1016.0469088", "", "long ton, long tons, imperial ton, imperial tons, UK ton, UK tons"),
    unit(MASS, "45.359237", "", "short hundredweight, short hundredweights, US hundredweight"),
    unit(MASS, "50.80234544", "", "long hundredweight, long hundredweights, imperial hundredweight"),
    unit(AMOUNT, "1", "mol", "mole, moles").prefixed("n, µ, m, k"),
];

const TIMES: &[Unit] = &[
    unit(TIME, "1", "s", "second, seconds").prefixed("f, p, n, µ, m"),
    unit(TIME, "1", "sec, secs", ""),
    unit(TIME, "0.001", "msec, msecs", ""),
    unit(TIME, "0.000001", "µsec, usec", ""),
    unit(TIME, "1e-9", "nsec", ""),
    unit(TIME, "60", "min, mins", "minute, minutes"),
    unit(TIME, "3600", "h, hr, hrs", "hour, hours"),
    unit(TIME, "86400", "d", "day, days"),
    unit(TIME, "604800", "wk, wks", "week, weeks"),
    unit(TIME, "1209600", "", "fortnight, fortnights"),
    unit(TIME, "2629746", "", "").assumed("mo, month, months", "1/12 of 365.2425 days"),
    unit(TIME, "31556952", "", "").assumed("yr, yrs, year, years", "365.2425 days"),
    unit(TIME, "31557600", "", "Julian year, Julian years"),
    unit(TIME, "315569520", "", "").assumed("decade, decades", "3652.425 days"),
    unit(TIME, "3155695200", "", "").assumed("century, centuries", "36524.25 days"),
    unit(FREQUENCY, "1", "Hz", "hertz").prefixed("m, k, M, G, T"),
    unit(FREQUENCY, "1/60", "rpm, bpm", ""),
    unit(FREQUENCY, "1", "rps", ""),
];

const MOTION: &[Unit] = &[
    unit(SPEED, "1/3.6", "kph, kmh, kmph", ""),
    unit(SPEED, "0.44704", "mph", ""),
    unit(SPEED, "1852/3600", "kn, kts", "knot, knots"),
    unit(SPEED, "299792458", "", "speed of light"),
    unit(ACCELERATION, "9.80665", "g0", "standard gravity"),
    unit(FLOW, "0.001/60", "lpm", ""),
    unit(FLOW, "0.003785411784/60", "", "").assumed("gpm", "US gallons per minute"),
    unit(FLOW, "0.028316846592/60", "cfm", ""),
    unit(FUEL_ECONOMY, "1609.344/0.003785411784", "", "US mpg, mpg US").assumed("mpg", "US gallon"),
    unit(FUEL_ECONOMY, "1609.344/0.00454609", "", "imperial mpg, imp mpg, UK mpg, mpg imperial, mpg imp, mpg UK"),
    unit(FUEL_ECONOMY, "1e6", "kpl, kmpl", ""),
    unit(
        FUEL_ECONOMY,
        "1e-8",
        "L/100km, L/100 km, l/100km, l/100 km, L per 100 km, L per 100km, l per 100 km, l per 100km",
        "liters/100km, liters/100 km, liters per 100km, liters per 100 km, liters per 100 kilometers, liter per 100 km, \
        litres/100km, litres/100 km, litres per 100km, litres per 100 km, litres per 100 kilometres, litre per 100 km",
    )
    .on(Scale::Inverse),
];

const TEMPERATURES: &[Unit] = &[
    unit(TEMPERATURE, "1", "K", "kelvin, kelvins").prefixed("n, µ, m"),
    unit(TEMPERATURE, "1", "°K, deg K", "degree K, degrees K, degree kelvin, degrees kelvin"),
    unit(
        TEMPERATURE,
        "1",
        "°C, ° C, C, degC, deg C, degree C, degrees C",
        "celsius, °celsius, ° celsius, deg celsius, degree celsius, degrees celsius, centigrade, degree centigrade, degrees centigrade",
    )
    .on(Scale::Offset("273.15")),
    unit(
        TEMPERATURE,
        "5/9",
        "°F, ° F, F, degF, deg F, degree F, degrees F",
        "fahrenheit, °fahrenheit, ° fahrenheit, deg fahrenheit, degree fahrenheit, degrees fahrenheit",
    )
    .on(Scale::Offset("459.67")),
    unit(
        TEMPERATURE,
        "5/9",
        "°R, ° R, °Ra, degR, deg R, degree R, degrees R",
        "rankine, deg rankine, degree rankine, degrees rankine",
    ),
];

const ANGLES: &[Unit] = &[
    unit(ANGLE, "1", "rad", "radian, radians").prefixed("µ, m"),
    unit(ANGLE, "π/180", "°, deg, degs", "degree, degrees"),
    unit(ANGLE, "π/10800", "arcmin", "arcminute, arcminutes, arc minute, arc minutes, minute of arc, minutes of arc"),
    unit(ANGLE, "π/648000", "arcsec", "arcsecond, arcseconds, arc second, arc seconds, second of arc, seconds of arc"),
    unit(ANGLE, "π/200", "gon, grad", "gons, grads, gradian, gradians"),
    unit(ANGLE, "2*π", "rev, revs", "revolution, revolutions, turn, turns"),
];

const INFORMATION: &[Unit] = &[
    unit(DATA, "1", "bit, bits", "bit, bits").prefixed("k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi, Ei"),
    unit(DATA, "1e6", "Mb, MBit, MBits", ""),
    unit(DATA, "1e9", "Gb", ""),
    unit(DATA, "1e12", "Tb", ""),
    unit(DATA, "1e15", "Pb", ""),
    unit(DATA, "1e18", "Eb", ""),
    unit(DATA, "1024", "Kib", ""),
    unit(DATA, "1048576", "Mib", ""),
    unit(DATA, "1073741824", "Gib", ""),
    unit(DATA, "1099511627776", "Tib", ""),
    unit(DATA, "1125899906842624", "Pib", ""),
    unit(DATA, "1152921504606846976", "Eib", ""),
    unit(DATA, "8", "B", "byte, bytes").prefixed("k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi, Ei"),
    unit(DATA, "8000", "", "").assumed("KB", "1000 bytes"),
    unit(DATA_RATE, "1", "bps", "").prefixed("k, M, G, T"),
    unit(DATA_RATE, "1000", "Kbps", ""),
    unit(DATA_RATE, "8", "Bps", "").prefixed("k, M, G, T"),
];

const ELECTRICITY: &[Unit] = &[
    unit(CURRENT, "1", "A", "amp, amps, ampere, amperes").prefixed("n, µ, m, k"),
    unit(CHARGE, "3600", "Ah", "amp hour, amp hours, ampere hour, ampere hours").prefixed("m, k"),
    unit(VOLTAGE, "1", "V", "volt, volts").prefixed("n, µ, m, k, M"),
    unit(RESISTANCE, "1", "Ω", "ohm, ohms").prefixed("µ, m, k, M, G"),
];

const FORCES: &[Unit] = &[
    unit(FORCE, "1", "N", "newton, newtons").prefixed("n, µ, m, k, M"),
    unit(FORCE, "0.00001", "dyn", "dyne, dynes"),
    unit(FORCE, "9.80665", "kgf, kp", "kilogram force, kilograms force, kilopond, kiloponds"),
    unit(FORCE, "4.4482216152605", "lbf", "pound force, pounds force"),
    unit(FORCE, "4448.2216152605", "", "kip, kips"),
    unit(ENERGY, "1", "Nm", "").prefixed("m, k, M"),
    unit(
        ENERGY,
        "4.4482216152605*0.3048",
        "ft lb, ft lbs, lb ft, lbs ft, ft lbf, lbf ft, ftlb, ftlbs",
        "foot pound, foot pounds, pound foot, pound feet, foot pound force, foot pounds force",
    ),
    unit(
        ENERGY,
        "4.4482216152605*0.0254",
        "in lb, in lbs, lb in, lbs in, in lbf, lbf in",
        "inch pound, inch pounds, pound inch, pound inches",
    ),
    unit(PRESSURE, "1", "Pa", "pascal, pascals").prefixed("µ, m, h, k, M, G"),
    unit(PRESSURE, "100000", "bar, bars", "bar, bars").prefixed("m, k"),
    unit(PRESSURE, "101325", "atm", "atmosphere, atmospheres, standard atmosphere, standard atmospheres"),
    unit(PRESSURE, "101325/760", "Torr, torr", "").prefixed("m"),
    unit(
        PRESSURE,
        "133.322387415",
        "mmHg, mm Hg",
        "millimeter of mercury, millimeters of mercury, millimetres of mercury",
    ),
    unit(PRESSURE, "3386.388640341", "inHg, in Hg", "inch of mercury, inches of mercury"),
    unit(PRESSURE, "98.0665", "cmH2O, cm H2O", ""),
    unit(PRESSURE, "249.08891", "inH2O, in H2O", "inch of water, inches of water"),
    unit(
        PRESSURE,
        "4.4482216152605/0.00064516",
        "psi",
        "pound per square inch, pounds per square inch, pounds per sq inch, pounds per sq in",
    ),
    unit(PRESSURE, "4448.2216152605/0.00064516", "ksi", ""),
    unit(PRESSURE, "4.4482216152605/0.09290304", "psf", "pound per square foot, pounds per square foot"),
];

const ENERGIES: &[Unit] = &[
    unit(ENERGY, "1", "J", "joule, joules").prefixed("n, µ, m, k, M, G, T"),
    unit(ENERGY, "3600", "Wh", "watt hour, watt hours").prefixed("m, k, M, G, T"),
    unit(ENERGY, "4.184", "", "").assumed("cal, cals, calorie, calories", "4.184 J"),
    unit(ENERGY, "4184", "kcal, kcals", "kilocalorie, kilocalories, food calorie, food calories")
        .assumed("Cal, Cals, Calorie, Calories", "kcal"),
    unit(ENERGY, "1055.05585262", "", "")
        .assumed("BTU, BTUs, Btu, Btus, british thermal unit, british thermal units", "1055.05585262 J"),
    unit(ENERGY, "1055055852.62", "", "").assumed("MMBTU, MMBtu", "a million BTU"),
    unit(ENERGY, "0.0000001", "", "erg, ergs"),
    unit(ENERGY, "1.602176634e-19", "eV", "electronvolt, electronvolts, electron volt, electron volts")
        .prefixed("m, k, M, G, T"),
    unit(POWER, "1", "W", "watt, watts").prefixed("n, µ, m, k, M, G, T"),
    unit(POWER, "550*4.4482216152605*0.3048", "", "mechanical horsepower, imperial horsepower")
        .assumed("hp, horsepower", "mechanical, 745.7 W"),
    unit(POWER, "735.49875", "PS", "metric horsepower"),
    unit(POWER, "12000*1055.05585262/3600", "", "ton of refrigeration, tons of refrigeration"),
];

/// Names that are refused since they have several meanings, and the names to write instead.
pub(crate) const REFUSED: &[(&str, &str)] = &[
    ("ton, tons", "short ton, long ton or metric ton"),
    ("MT, mt", "t (metric ton) or Mt (megatonne)"),
    ("kt", "knot or kilotonne"),
    ("hundredweight, hundredweights, cwt", "short hundredweight or long hundredweight"),
    ("gr", "grain or g"),
    ("pt, pts", "pint or point"),
    ("NM", "nautical mile, nm (nanometer) or N m (newton meter)"),
    ("b", "bit or byte"),
    ("kb", "kB (kilobyte) or kbit (kilobit)"),
    ("mb", "MB (megabyte), Mbit (megabit) or mbar (millibar)"),
    ("gb", "GB (gigabyte) or Gbit (gigabit)"),
    ("tb", "TB (terabyte) or Tbit (terabit)"),
    ("mps", "m/s or mi/s"),
    ("fps", "ft/s or a rate of frames, which is not known here"),
    ("'", "ft or arcmin"),
    ("\"", "in or arcsec"),
];
