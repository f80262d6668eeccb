// The study of the estimates' errors: measured variances beside what theory predicts.

function showVariance(result) {
  const kinds = ["measured", "predicted", "independent"];
  const rows = result.points
    .flatMap((point) =>
      kinds.map((kind) => ({
        pattern: point.pattern,
        kind,
        s: point.s,
        variance: point[kind],
        text: short(point[kind]),
      })),
    )
    .filter((row) => row.s > 0 && row.variance > 0);
  const norms = { patch: "FS", lattice: "LS", rows: "BS" };
  const patterns = [...new Set(rows.map((row) => row.pattern))];
  const variances = rows.map((row) => row.variance);
  const domain = [Math.min(...variances) / 1.3, Math.max(...variances) * 1.3];
  const spec = ({ theme, width }) => ({
    data: { values: rows },
    height: 300,
    encoding: {
      x: {
        field: "s",
        type: "quantitative",
        title: "points in a sample",
        scale: { type: "log", nice: false },
        axis: { grid: false, format: ",", values: [...new Set(rows.map((row) => row.s))] },
      },
      y: {
        field: "variance",
        type: "quantitative",
        title: "variance of the mean / of one point",
        scale: { type: "log", domain, nice: false },
        axis: { format: ".3~r", values: logMarks(domain) },
      },
      color: {
        field: "pattern",
        type: "nominal",
        legend: legendOf(patterns, width),
        scale: {
          domain: patterns,
          range: colourScale(
            patterns.map((pattern) => norms[pattern] ?? pattern),
            theme,
          ).range,
        },
      },
    },
    layer: [
      {
        mark: { type: "line", strokeWidth: 1.5 },
        encoding: {
          strokeDash: {
            field: "kind",
            type: "nominal",
            scale: {
              domain: kinds,
              range: [
                [1, 0],
                [6, 3],
                [2, 2],
              ],
            },
            legend: legendOf(kinds, width),
          },
        },
      },
      {
        mark: { type: "point", filled: true, size: 45, opacity: 1 },
        encoding: { tooltip: tips({ pattern: "pattern", variance: "kind", points: "s", value: "text" }) },
      },
    ],
  });
  return [
    chart(`Variance of the estimated mean: ${result.layer}`, spec),
    table(
      `Variance of the estimated mean: ${result.layer}`,
      ["pattern", "#points", "#measured", "#predicted", "#independent"],
      result.points.map((point) => [point.pattern, String(point.s), ...kinds.map((kind) => short(point[kind]))]),
    ),
  ];
}

function showMovingAverage(result) {
  const values = result.points.map((point) => ({
    ...point,
    shown: short(point.alpha),
    text: short(point.measured),
    theory: short(point.predicted),
  }));
  const title = `Variance of the moving average: ${result.norm}`;
  const spec = ({ theme, width }) => ({
    data: { values },
    height: 260,
    encoding: {
      x: {
        field: "alpha",
        type: "quantitative",
        title: "α",
        scale: { nice: false, padding: 12 },
        axis: { grid: false, tickCount: width / 90 },
      },
    },
    layer: [
      {
        mark: { type: "line", strokeDash: [6, 3], color: theme.soft },
        encoding: { y: { field: "predicted", type: "quantitative", title: "variance / of one estimate" } },
      },
      {
        mark: { type: "point", filled: true, size: 70, opacity: 1, color: theme.accent },
        encoding: {
          y: { field: "measured", type: "quantitative" },
          tooltip: tips({ α: "shown", measured: "text", "α/(2−α)": "theory" }),
        },
      },
    ],
  });
  return [
    chart(title, spec),
    note("Points: measured. Dashes: α/(2−α), which independent estimates would give."),
    table(
      title,
      ["#α", "#measured", "#α/(2−α)"],
      values.map((point) => [point.shown, point.text, point.theory]),
    ),
  ];
}
