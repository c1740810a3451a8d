"""Words for English units, currencies, months and abbreviations."""

MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
MONTH_NAMES = (
    {name.lower(): name for name in MONTHS} | {name[:3].lower(): name for name in MONTHS} | {"sept": MONTHS[8]}
)
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
WEEKDAY_NAMES = {name[:3].lower(): name for name in WEEKDAYS} | {
    "tues": "Tuesday", "thur": "Thursday", "thurs": "Thursday", "weds": "Wednesday",
}  # fmt: skip

# symbol or code: (one, many, one hundredth, hundredths)
CURRENCIES: dict[str, tuple[str, str, str, str]] = {
    "$": ("dollar", "dollars", "cent", "cents"),
    "US$": ("US dollar", "US dollars", "cent", "cents"),
    "USD": ("US dollar", "US dollars", "cent", "cents"),
    "A$": ("Australian dollar", "Australian dollars", "cent", "cents"),
    "AU$": ("Australian dollar", "Australian dollars", "cent", "cents"),
    "AUD": ("Australian dollar", "Australian dollars", "cent", "cents"),
    "C$": ("Canadian dollar", "Canadian dollars", "cent", "cents"),
    "CA$": ("Canadian dollar", "Canadian dollars", "cent", "cents"),
    "CAD": ("Canadian dollar", "Canadian dollars", "cent", "cents"),
    "NZ$": ("New Zealand dollar", "New Zealand dollars", "cent", "cents"),
    "NZD": ("New Zealand dollar", "New Zealand dollars", "cent", "cents"),
    "HK$": ("Hong Kong dollar", "Hong Kong dollars", "cent", "cents"),
    "HKD": ("Hong Kong dollar", "Hong Kong dollars", "cent", "cents"),
    "NT$": ("New Taiwan dollar", "New Taiwan dollars", "cent", "cents"),
    "TWD": ("New Taiwan dollar", "New Taiwan dollars", "cent", "cents"),
    "S$": ("Singapore dollar", "Singapore dollars", "cent", "cents"),
    "SGD": ("Singapore dollar", "Singapore dollars", "cent", "cents"),
    "R$": ("real", "reais", "centavo", "centavos"),
    "BRL": ("Brazilian real", "Brazilian reais", "centavo", "centavos"),
    "€": ("euro", "euros", "cent", "cents"),
    "EUR": ("euro", "euros", "cent", "cents"),
    "£": ("pound", "pounds", "penny", "pence"),
    "GBP": ("British pound", "British pounds", "penny", "pence"),
    "¥": ("yen", "yen", "sen", "sen"),
    "JPY": ("Japanese yen", "Japanese yen", "sen", "sen"),
    "CN¥": ("yuan", "yuan", "fen", "fen"),
    "CNY": ("Chinese yuan", "Chinese yuan", "fen", "fen"),
    "RMB": ("RMB", "RMB", "fen", "fen"),
    "₩": ("won", "won", "jeon", "jeon"),
    "KRW": ("Korean won", "Korean won", "jeon", "jeon"),
    "₹": ("rupee", "rupees", "paisa", "paise"),
    "INR": ("Indian rupee", "Indian rupees", "paisa", "paise"),
    "₽": ("ruble", "rubles", "kopek", "kopeks"),
    "RUB": ("ruble", "rubles", "kopek", "kopeks"),
    "CHF": ("Swiss franc", "Swiss francs", "centime", "centimes"),
    "SEK": ("Swedish krona", "Swedish kronor", "ore", "ore"),
    "NOK": ("Norwegian krone", "Norwegian kroner", "ore", "ore"),
    "MXN": ("Mexican peso", "Mexican pesos", "centavo", "centavos"),
    "₱": ("peso", "pesos", "centavo", "centavos"),
    "₺": ("lira", "lira", "kurus", "kurus"),
    "₴": ("hryvnia", "hryvnias", "kopek", "kopeks"),
    "₫": ("dong", "dong", "xu", "xu"),
    "฿": ("baht", "baht", "satang", "satang"),
    "₪": ("shekel", "shekels", "agora", "agorot"),
    "₿": ("bitcoin", "bitcoins", "", ""),
    "BTC": ("bitcoin", "bitcoins", "", ""),
    "ETH": ("ether", "ether", "", ""),
}
MAGNITUDES = {
    "k": "thousand", "K": "thousand", "m": "million", "M": "million", "mn": "million", "mm": "million", "MM": "million",
    "b": "billion", "B": "billion", "bn": "billion", "Bn": "billion", "t": "trillion", "T": "trillion",
    "tn": "trillion", "thousand": "thousand", "million": "million", "billion": "billion", "trillion": "trillion",
    "hundred": "hundred", "mil": "million",
}  # fmt: skip

# written: (one, many)
UNITS: dict[str, tuple[str, str]] = {
    "nm": ("nanometer", "nanometers"), "µm": ("micrometer", "micrometers"), "mm": ("millimeter", "millimeters"),
    "cm": ("centimeter", "centimeters"), "m": ("meter", "meters"), "km": ("kilometer", "kilometers"),
    "mi": ("mile", "miles"), "ft": ("foot", "feet"), "in": ("inch", "inches"), "yd": ("yard", "yards"),
    "yds": ("yard", "yards"), "µg": ("microgram", "micrograms"), "mcg": ("microgram", "micrograms"),
    "mg": ("milligram", "milligrams"), "g": ("gram", "grams"), "kg": ("kilogram", "kilograms"),
    "kgs": ("kilogram", "kilograms"), "lb": ("pound", "pounds"), "lbs": ("pound", "pounds"),
    "oz": ("ounce", "ounces"), "fl oz": ("fluid ounce", "fluid ounces"), "t": ("ton", "tons"),
    "ml": ("milliliter", "milliliters"), "mL": ("milliliter", "milliliters"), "cl": ("centiliter", "centiliters"),
    "l": ("liter", "liters"), "L": ("liter", "liters"), "gal": ("gallon", "gallons"), "qt": ("quart", "quarts"),
    "qts": ("quart", "quarts"),
    "pt": ("pint", "pints"), "tsp": ("teaspoon", "teaspoons"), "tbsp": ("tablespoon", "tablespoons"),
    "Tbsp": ("tablespoon", "tablespoons"), "ns": ("nanosecond", "nanoseconds"), "µs": ("microsecond", "microseconds"),
    "ms": ("millisecond", "milliseconds"), "s": ("second", "seconds"), "sec": ("second", "seconds"),
    "secs": ("second", "seconds"), "min": ("minute", "minutes"), "mins": ("minute", "minutes"), "h": ("hour", "hours"),
    "hr": ("hour", "hours"), "hrs": ("hour", "hours"), "wk": ("week", "weeks"), "wks": ("week", "weeks"),
    "mo": ("month", "months"), "mos": ("month", "months"), "yr": ("year", "years"), "yrs": ("year", "years"),
    "Hz": ("hertz", "hertz"), "kHz": ("kilohertz", "kilohertz"), "KHz": ("kilohertz", "kilohertz"),
    "MHz": ("megahertz", "megahertz"), "GHz": ("gigahertz", "gigahertz"), "THz": ("terahertz", "terahertz"),
    "kB": ("kilobyte", "kilobytes"), "KB": ("kilobyte", "kilobytes"), "MB": ("megabyte", "megabytes"),
    "GB": ("gigabyte", "gigabytes"), "TB": ("terabyte", "terabytes"), "PB": ("petabyte", "petabytes"),
    "KiB": ("kibibyte", "kibibytes"), "MiB": ("mebibyte", "mebibytes"), "GiB": ("gibibyte", "gibibytes"),
    "kbps": ("kilobit per second", "kilobits per second"), "Kbps": ("kilobit per second", "kilobits per second"),
    "Mbps": ("megabit per second", "megabits per second"), "Gbps": ("gigabit per second", "gigabits per second"),
    "kW": ("kilowatt", "kilowatts"), "MW": ("megawatt", "megawatts"), "GW": ("gigawatt", "gigawatts"),
    "W": ("watt", "watts"), "kWh": ("kilowatt hour", "kilowatt hours"), "Wh": ("watt hour", "watt hours"),
    "MWh": ("megawatt hour", "megawatt hours"), "V": ("volt", "volts"), "mV": ("millivolt", "millivolts"),
    "kV": ("kilovolt", "kilovolts"), "mA": ("milliamp", "milliamps"), "mAh": ("milliamp hour", "milliamp hours"),
    "Ω": ("ohm", "ohms"), "kΩ": ("kilohm", "kilohms"), "dB": ("decibel", "decibels"), "dBA": ("decibel", "decibels"),
    "Pa": ("pascal", "pascals"), "hPa": ("hectopascal", "hectopascals"), "kPa": ("kilopascal", "kilopascals"),
    "MPa": ("megapascal", "megapascals"), "psi": ("pound per square inch", "pounds per square inch"),
    "kJ": ("kilojoule", "kilojoules"), "cal": ("calorie", "calories"), "kcal": ("kilocalorie", "kilocalories"),
    "kN": ("kilonewton", "kilonewtons"), "hp": ("horsepower", "horsepower"), "mph": ("mile per hour", "miles per hour"),
    "kph": ("kilometer per hour", "kilometers per hour"), "kmh": ("kilometer per hour", "kilometers per hour"),
    "mpg": ("mile per gallon", "miles per gallon"), "rpm": ("revolution per minute", "revolutions per minute"),
    "RPM": ("revolution per minute", "revolutions per minute"),
    "mmHg": ("millimeter of mercury", "millimeters of mercury"), "bpm": ("beat per minute", "beats per minute"),
    "fps": ("frame per second", "frames per second"), "dpi": ("dot per inch", "dots per inch"),
    "ppi": ("pixel per inch", "pixels per inch"), "ppm": ("part per million", "parts per million"),
    "wpm": ("word per minute", "words per minute"), "px": ("pixel", "pixels"), "MP": ("megapixel", "megapixels"),
    "ha": ("hectare", "hectares"), "cc": ("cc", "cc"), "bps": ("basis point", "basis points"),
    "sq ft": ("square foot", "square feet"), "sqft": ("square foot", "square feet"),
    "sq m": ("square meter", "square meters"), "sq km": ("square kilometer", "square kilometers"),
    "sq mi": ("square mile", "square miles"), "sq in": ("square inch", "square inches"),
    "kt": ("knot", "knots"), "kts": ("knot", "knots"), "pts": ("point", "points"), "pcs": ("piece", "pieces"),
    "doz": ("dozen", "dozen"), "mol": ("mole", "moles"), "mmol": ("millimole", "millimoles"),
}  # fmt: skip

# Read as these words wherever they stand with a full stop; the ones in BARE also without one.
ABBREVIATIONS: dict[str, str] = {
    "mr": "Mister", "mrs": "Missus", "ms": "Miz", "prof": "Professor", "rev": "Reverend", "gen": "General",
    "col": "Colonel", "sgt": "Sergeant", "capt": "Captain", "cpt": "Captain", "lt": "Lieutenant", "cmdr": "Commander",
    "adm": "Admiral", "maj": "Major", "gov": "Governor", "sen": "Senator", "rep": "Representative", "hon": "Honorable",
    "pres": "President", "supt": "Superintendent", "jr": "Junior", "sr": "Senior", "ave": "Avenue", "blvd": "Boulevard",
    "rd": "Road", "ln": "Lane", "hwy": "Highway", "pkwy": "Parkway", "sq": "Square", "ct": "Court", "pl": "Place",
    "mt": "Mount", "mtn": "Mountain", "apt": "Apartment", "ste": "Suite", "bldg": "Building", "vs": "versus",
    "etc": "et cetera", "approx": "approximately", "est": "established", "dept": "Department", "govt": "government",
    "inc": "Incorporated", "ltd": "Limited", "corp": "Corporation", "co": "Company", "bros": "Brothers",
    "assn": "Association", "assoc": "Associates", "univ": "University", "inst": "Institute", "acct": "account",
    "intl": "international", "natl": "national", "mgr": "manager", "asst": "assistant", "attn": "attention",
    "fig": "figure", "figs": "figures", "eq": "equation", "eqs": "equations", "vol": "volume", "vols": "volumes",
    "ch": "chapter", "chap": "chapter", "sec": "section", "pp": "pages", "eds": "editors", "ed": "edition",
    "ca": "circa", "misc": "miscellaneous", "max": "maximum", "min": "minimum", "avg": "average", "temp": "temperature",
    "hr": "hour", "hrs": "hours", "mins": "minutes", "secs": "seconds", "tsp": "teaspoon", "tbsp": "tablespoon",
    "oz": "ounces", "lb": "pound", "lbs": "pounds", "tel": "telephone", "ext": "extension", "incl": "including",
    "excl": "excluding", "esp": "especially", "usu": "usually", "dist": "district", "ref": "reference",
    "refs": "references", "orig": "original", "pub": "published", "repr": "reprint", "para": "paragraph",
    "no": "number", "nos": "numbers", "qty": "quantity", "wt": "weight", "ht": "height", "yr": "year", "yrs": "years",
    "nr": "near", "viz": "namely", "cf": "compare", "ft": "Fort", "art": "article", "div": "division", "op": "opus",
    "resp": "respectively", "cont": "continued",
    "lat": "latitude", "rte": "route", "rm": "room", "fl": "floor", "tech": "technical", "alt": "altitude",
}  # fmt: skip
BARE = ("mr", "mrs", "ms", "vs", "approx", "dept", "govt", "tsp", "tbsp", "blvd", "hrs", "etc", "bldg", "intl", "qty")
# Also common words: only before a digit or a capital letter.
NEEDS_NUMBER = (
    "no",
    "nos",
    "fig",
    "figs",
    "eq",
    "eqs",
    "vol",
    "vols",
    "ch",
    "chap",
    "sec",
    "pp",
    "para",
    "art",
    "op",
    "lat",
    "rm",
    "fl",
)
NEEDS_NAME = ("gen", "col", "maj", "sen", "rep", "hon", "pres", "lt", "adm", "gov", "rev", "mt", "ft")
AT_END = ("etc", "inc", "ltd", "corp", "co", "jr", "sr", "ave", "blvd", "rd", "ln", "hwy", "bros", "st", "dr")
LETTER_SYMBOLS = {
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "epsilon", "ζ": "zeta", "η": "eta", "θ": "theta",
    "ι": "iota", "κ": "kappa", "λ": "lambda", "μ": "mu", "µ": "micro", "ν": "nu", "ξ": "xi", "ο": "omicron", "π": "pi",
    "ρ": "rho", "σ": "sigma", "ς": "sigma", "τ": "tau", "υ": "upsilon", "φ": "phi", "χ": "chi", "ψ": "psi",
    "ω": "omega",
}  # fmt: skip
SYMBOLS = {
    "&": "and", "@": "at", "%": "percent", "‰": "per mille", "+": "plus", "=": "equals", "×": "times",
    "÷": "divided by", "±": "plus or minus", "∓": "minus or plus", "≠": "is not equal to",
    "≈": "is approximately equal to", "≃": "is approximately equal to", "≡": "is identical to",
    "≤": "is less than or equal to",
    "≥": "is greater than or equal to", "<": "is less than", ">": "is greater than", "√": "the square root of",
    "∛": "the cube root of", "∞": "infinity", "∑": "the sum of", "∏": "the product of", "∫": "the integral of",
    "∂": "partial", "∇": "nabla", "∈": "is in", "∉": "is not in", "∪": "union", "∩": "intersection",
    "⊂": "is a subset of",
    "∀": "for all", "∃": "there exists", "∅": "the empty set", "→": "to", "⇒": "implies", "⇔": "if and only if",
    "∝": "is proportional to", "∠": "angle", "⊥": "perpendicular to", "∥": "parallel to", "∴": "therefore",
    "°": "degrees", "§": "section", "№": "number", "¢": "cents", "©": "copyright", "$": "dollars", "€": "euros",
    "£": "pounds", "¥": "yen", "₩": "won", "₹": "rupees", "₽": "rubles", "₿": "bitcoin", "−": "minus",
    "\\": "backslash",
    "∆": "delta", "∙": "times", "⋅": "times", "′": "prime", "″": "double prime",
}  # fmt: skip
KINGS = (
    "Henry|Elizabeth|Louis|Charles|Richard|George|William|Edward|James|Mary|Philip|Catherine|Nicholas|Napoleon|Ivan|"
    "Peter|Frederick|Rama|Ramses|Ramesses|Pius|Leo|Gregory|Alexander|Paul|John|Benedict|Innocent|Urban|Clement|Victor|"
    "Francis|Ferdinand|Joseph|Leopold|Otto|Gustav|Christian|Olaf|Haakon|Harald|Margaret|Isabella|Alfonso|Pedro|Carlos|"
    "Felipe|Juan|Wilhelm|Friedrich|Ludwig|Baldwin|Boniface|Julius|Sixtus|Constantine|Theodosius|Justinian|Darius|"
    "Artaxerxes|Xerxes|Ptolemy|Cleopatra|Murad|Mehmed|Selim|Suleiman|Mahmud|Abdul Hamid|Umberto|Emmanuel|Sigismund|"
    "Stephen|Robert|Kenneth|Hassan|Abdullah|Mohammed|Hussein|Rainier|Albert|Amenhotep|Thutmose|Seti|Eric|Magnus"
)
PARTS = (
    "chapter|part|volume|vol|book|act|scene|section|phase|type|class|stage|level|war|bowl|episode|article|appendix|title|"
    "grade|tier|step|round|group|mark|figure|table|lesson|unit|season|division|category|region|zone|corps|title|fantasy|"
    "factor|olympiad|canto|verse|model|generation|gen|symphony|op|no|number|version|rocky|gta|civilization|apollo"
)
