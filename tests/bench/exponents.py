"""The exponents that the complexity page fits on this machine, against those of table 1."""
from collections import Counter

from qkv_core.complexity import TOLERANCE, exponents, measure

RUNS = 20


def rows() -> list[dict[str, str]]:
    """Finished lines of the table."""
    fits = [exponents(measure()) for _ in range(RUNS)]
    out = []
    for axis, tolerance in TOLERANCE.items():
        lines = [line for fit in fits for line in fit[fit["sweep"] == axis].itertuples()]
        missed = Counter(line.layer.replace("_", "-") for line in lines if not line.within)
        note = ", ".join(f"{layer} {count}" for layer, count in missed.most_common())
        out.append({"case": f"fitted exponents of {axis} within {tolerance:g} of table 1, five layers", "target": "all",
                    "measured": f"{sum(line.within for line in lines)} of {len(lines)}", "pairs": str(RUNS),
                    "note": f"missed: {note}" if note else ""})
    whole = sum(bool(fit["within"].all()) for fit in fits)
    return [*out, {"case": "measurements with all ten within", "measured": f"{whole} of {RUNS}", "pairs": str(RUNS)}]
