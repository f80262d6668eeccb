// The kinds of charts that several studies share, as Vega-Lite.

/// The part of a width that fits the legend's entries side by side.
function legendOf(names, width) {
  const longest = Math.max(...names.map((name) => Math.min(name.length, 30)));
  return {
    title: null,
    orient: "top",
    columns: Math.max(1, Math.floor(width / (7.5 * longest + 34))),
    symbolType: "stroke",
  };
}

/// Marks of a logarithmic axis that do not crowd: decades, with twos and fives where there are few of them.
function logMarks([least, most]) {
  const factors = most / least > 300 ? [1] : [1, 2, 5];
  const marks = [];
  for (let power = Math.floor(Math.log10(least)); power <= Math.ceil(Math.log10(most)); ++power)
    marks.push(...factors.map((factor) => Number(`${factor}e${power}`)));
  return marks.filter((mark) => mark >= least && mark <= most);
}

/// The powers of two that ratios of sampling are written in.
function halvings([least, most]) {
  const powers = Array.from({ length: 24 }, (_, i) => 2 ** -i);
  return powers.filter((power) => power >= least && power <= most);
}

function tips(fields) {
  return Object.entries(fields).map(([title, field]) => ({ field, title, type: "nominal" }));
}

/// Horizontal bars. rows: label, norm (gives the colour), value, text; low and high where there is an interval.
function barSpec({ rows, axis, format = ".3~r", reference = null, tip = {} }, { theme, width }) {
  const largest = Math.max(0, ...rows.map((row) => row.high ?? row.value).filter(isNumber));
  const scale = colourScale([...new Set(rows.map((row) => row.norm))], theme);
  const colour = (row) => scale.range[scale.domain.indexOf(row.norm)];
  const values = rows.map((row) => ({ ...row, colour: colour(row), end: row.high ?? row.value }));
  const x = (field) => ({
    field,
    type: "quantitative",
    title: axis,
    axis: { format, tickCount: Math.max(3, width / 90) },
    scale: { domain: [0, (largest || 1) * 1.22], nice: false },
  });
  return {
    data: { values },
    height: 28 * rows.length,
    encoding: {
      y: {
        field: "label",
        type: "nominal",
        sort: null,
        title: null,
        axis: { ticks: false, domain: false, labelColor: theme.ink, labelLimit: Math.min(230, width * 0.42) },
      },
    },
    layer: [
      {
        mark: { type: "bar", height: { band: 0.66 }, cornerRadiusEnd: 2 },
        encoding: {
          x: x("value"),
          color: { field: "colour", type: "nominal", scale: null },
          tooltip: tips({ norm: "norm", ...tip }),
        },
      },
      {
        transform: [{ filter: "isValid(datum.low)" }],
        mark: { type: "rule", color: theme.ink, strokeWidth: 1.5 },
        encoding: { x: x("low"), x2: { field: "high" } },
      },
      { mark: { type: "text", align: "left", dx: 5 }, encoding: { x: x("end"), text: { field: "text" } } },
      ...(reference === null
        ? []
        : [
            {
              data: { values: [{}] },
              mark: { type: "rule", strokeDash: [4, 3] },
              encoding: { y: null, x: { datum: reference } },
            },
          ]),
    ],
  };
}

/// One line for each norm; a click in the legend selects. rows: norm, x, y, text.
function linesSpec({ rows, norms, x, y, tip = {} }, { theme, width }) {
  const encoding = {
    x: {
      field: "x",
      type: "quantitative",
      title: x,
      scale: { nice: false },
      axis: { grid: false, tickCount: width / 90, tickMinStep: 1, format: "~s" },
    },
    y: { field: "y", type: "quantitative", title: y, scale: { zero: false } },
  };
  const legend = legendOf(norms, width);
  return {
    data: { values: rows },
    height: 280,
    encoding,
    layer: [
      {
        params: [{ name: "chosen", select: { type: "point", fields: ["norm"] }, bind: "legend" }],
        mark: { type: "line", strokeWidth: 2, strokeJoin: "round" },
        encoding: {
          color: { field: "norm", type: "nominal", scale: colourScale(norms, theme), legend },
          strokeDash: { field: "norm", type: "nominal", scale: dashScale(norms), legend },
          opacity: { condition: { param: "chosen", value: 1 }, value: 0.12 },
        },
      },
      {
        mark: { type: "point", size: 60, opacity: 0, filled: true },
        encoding: { tooltip: tips({ norm: "norm", ...tip }) },
      },
    ],
  };
}

/// Means with their intervals along x, a line for each family, and a level to compare with. rows: family, norm, x, mean,
/// low, high (in percent; null without interval), text. level: {name, mean, low, high} or null.
function meansSpec({ rows, level, x, y, log, format, tip = {} }, { theme, width }) {
  const families = [...new Set(rows.map((row) => row.family))];
  const all = [...rows, ...(level ? [level] : [])];
  const bottom = Math.min(...all.map((row) => row.low ?? row.mean)),
    top = Math.max(...all.map((row) => row.high ?? row.mean));
  const margin = Math.max(0.3, 0.06 * (top - bottom));
  const xs = rows.map((row) => row.x),
    least = Math.min(...xs),
    most = Math.max(...xs);
  const reach = (most - least || 0.2) * 0.05;
  const domain = log ? [least / 1.4, most * 1.4] : [least - reach, most + reach];
  // Families stand a little apart where they have the same x, since their intervals would hide each other.
  const apart = (row) => (families.indexOf(row.family) - (families.length - 1) / 2) * 0.012;
  const place = (row) =>
    log ? row.x * (domain[1] / domain[0]) ** apart(row) : row.x + apart(row) * (domain[1] - domain[0]);
  const values = rows.map((row) => ({ ...row, x: place(row) }));
  const yAxis = (field) => ({
    field,
    type: "quantitative",
    title: y,
    scale: { domain: [bottom - margin, top + margin], nice: false },
  });
  const marks = log ? { values: halvings(domain) } : { tickCount: Math.max(3, width / 90) };
  const xAxis = {
    field: "x",
    type: "quantitative",
    title: x,
    axis: { format, grid: false, ...marks },
    scale: { type: log ? "log" : "linear", domain, nice: false },
  };
  const colour = {
    field: "family",
    type: "nominal",
    scale: colourScale(families, theme),
    legend: legendOf(families, width),
  };
  const across = { x: { value: 0 }, x2: { value: "width" } };
  const levels =
    level === null
      ? []
      : [
          {
            data: { values: [level] },
            transform: [{ filter: "isValid(datum.low)" }],
            mark: { type: "rect", opacity: 0.12, color: theme.soft },
            encoding: { ...across, y: yAxis("low"), y2: { field: "high" } },
          },
          {
            data: { values: [level] },
            mark: { type: "rule", strokeDash: [5, 3], strokeWidth: 1.5, color: theme.ink },
            encoding: { ...across, y: yAxis("mean"), tooltip: tips({ norm: "name", ...tip }) },
          },
          {
            data: { values: [level] },
            mark: { type: "text", align: "right", dy: -7 },
            encoding: { x: { value: "width" }, y: yAxis("mean"), text: { field: "name" } },
          },
        ];
  return {
    data: { values },
    height: 300,
    layer: [
      ...levels,
      {
        transform: [{ filter: "isValid(datum.low)" }],
        mark: { type: "rule", strokeWidth: 1.5 },
        encoding: { x: xAxis, y: yAxis("low"), y2: { field: "high" }, color: colour },
      },
      { mark: { type: "line", strokeWidth: 1.5 }, encoding: { x: xAxis, y: yAxis("mean"), color: colour } },
      {
        mark: { type: "point", filled: true, size: 70, opacity: 1 },
        encoding: { x: xAxis, y: yAxis("mean"), color: colour, tooltip: tips({ norm: "norm", ...tip }) },
      },
    ],
  };
}
