// Figures: how they are written, and what several seeds say together.

const MISSING = "–";

function isNumber(value) {
  return typeof value === "number" && Number.isFinite(value);
}

function fixed(value, digits) {
  return isNumber(value) ? value.toFixed(digits).replace("-", "−") : MISSING;
}

/// Three digits that count, for figures of any size.
function short(value) {
  if (!isNumber(value)) return MISSING;
  const size = Math.abs(value);
  if (value !== 0 && (size < 1e-3 || size >= 1e5)) return value.toExponential(2).replaceAll("-", "−");
  return Number(value.toPrecision(3)).toString().replace("-", "−");
}

function percent(part, digits = 2) {
  return isNumber(part) ? `${fixed(100 * part, digits)}\u00a0%` : MISSING;
}

/// A difference of two parts of 1, in percentage points.
function points(difference) {
  if (!isNumber(difference)) return MISSING;
  return (difference >= 0 ? "+" : "") + fixed(100 * difference, 2);
}

function times(ratio) {
  return isNumber(ratio) ? `${fixed(ratio, 2)}×` : MISSING;
}

function milliseconds(seconds) {
  return isNumber(seconds) ? short(1000 * seconds) : MISSING;
}

/// A spread of seconds as "median (q1 to q3)" in milliseconds.
function spreadText(spread) {
  if (!spread) return MISSING;
  return `${milliseconds(spread.median)} (${milliseconds(spread.q1)} to ${milliseconds(spread.q3)})`;
}

// Student's t for a two-sided interval of 95 %, by degrees of freedom from 1.
const STUDENT_T = [
  12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145, 2.131, 2.12, 2.11,
  2.101, 2.093, 2.086, 2.08, 2.074, 2.069, 2.064, 2.06, 2.056, 2.052, 2.048, 2.045, 2.042,
];

/// Mean of the values that are numbers; `half` is half the 95 % interval of the mean, null with one value.
function summarize(values) {
  const found = values.filter(isNumber);
  const count = found.length;
  if (count === 0) return { count, mean: null, half: null };
  const mean = found.reduce((sum, value) => sum + value, 0) / count;
  if (count === 1) return { count, mean, half: null };
  const variance = found.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (count - 1);
  const t = STUDENT_T[count - 2] ?? 1.96 + 2.5 / (count - 1);
  return { count, mean, half: t * Math.sqrt(variance / count) };
}

function meanText(summary, digits = 2) {
  if (summary.mean === null) return MISSING;
  const mean = fixed(100 * summary.mean, digits);
  return summary.half === null ? `${mean}\u00a0%` : `${mean} ± ${fixed(100 * summary.half, digits)}\u00a0%`;
}

function median(values) {
  const sorted = values.filter(isNumber).sort((a, b) => a - b);
  if (sorted.length === 0) return null;
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/// Groups in the order in which their keys first come.
function groupBy(list, keyOf) {
  const groups = new Map();
  for (const entry of list) {
    const key = keyOf(entry);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(entry);
  }
  return [...groups.values()];
}
