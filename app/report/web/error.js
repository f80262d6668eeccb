// The study of the estimates' errors: how large they are, and how they go together between layers.

const ERRORS = [
  { label: "mean", value: "mean" },
  { label: "deviation", value: "deviation" },
];

function correlationSpec(result, { theme, width, chosen }) {
  const matrix = result[`${chosen}_correlation`];
  const values = matrix.flatMap((line, i) =>
    line.map((value, j) => ({
      i,
      j,
      value,
      text: fixed(value, 2),
      row: result.layers[i],
      column: result.layers[j],
    })),
  );
  const side = { type: "ordinal", axis: null, scale: { paddingInner: 0, paddingOuter: 0 } };
  return {
    data: { values },
    height: width,
    mark: { type: "rect" },
    encoding: {
      x: { field: "j", ...side },
      y: { field: "i", ...side },
      color: {
        field: "value",
        type: "quantitative",
        scale: { domain: [-1, 0, 1], range: [theme.low, theme.middle, theme.high], interpolate: "lab" },
        legend: {
          orient: "bottom",
          title: null,
          gradientLength: Math.min(200, width - 40),
          gradientThickness: 8,
          values: [-1, 0, 1],
        },
      },
      tooltip: tips({ layer: "row", and: "column", correlation: "text" }),
    },
  };
}

/// Boxes from their five figures; `place` is the channel of the norms or layers, `value` the other one.
function boxSpec({ rows, vertical, domain, axis, places, tip }) {
  const [place, value] = vertical ? ["x", "y"] : ["y", "x"];
  const along = (field) => ({
    field,
    type: "quantitative",
    title: axis,
    scale: { type: "log", domain, nice: false },
    axis: { format: ".3~r", values: logMarks(domain) },
  });
  const range = (low, high) => ({ [value]: along(low), [`${value}2`]: { field: high } });
  const band = vertical ? { width: { band: 0.66 } } : { height: { band: 0.6 } };
  return {
    data: { values: rows },
    encoding: { [place]: places, color: { field: "colour", type: "nominal", scale: null }, tooltip: tips(tip) },
    layer: [
      { mark: { type: "rule" }, encoding: range("low", "high") },
      { mark: { type: "bar", ...band, opacity: 0.55 }, encoding: range("q1", "q3") },
      { mark: { type: "tick", thickness: 2, ...band }, encoding: { [value]: along("median") } },
    ],
  };
}

/// The boxes as rows; a logarithmic axis has no zero, so nothing is shown below the least figure that is not.
function boxRows(boxes, least, more) {
  return boxes.map((box, i) => ({
    ...Object.fromEntries(["low", "q1", "median", "q3", "high"].map((key) => [key, Math.max(box[key], least)])),
    text: `${short(box.median)} (${short(box.q1)} to ${short(box.q3)})`,
    ...more(i),
  }));
}

const BOX_TIP = { "median (quartiles)": "text" };

/// The box of a typical layer: each of the five figures is the median over the layers.
function typical(boxes) {
  return Object.fromEntries(
    ["low", "q1", "median", "q3", "high"].map((key) => [key, median(boxes.map((box) => box[key]))]),
  );
}

function showErrorOfLayers(results) {
  if (results.length === 0) return [];
  const figures = (chosen) =>
    results.flatMap((result) => result[`${chosen}_errors`].flatMap((box) => [box.low, box.high]));
  const domain = (chosen) => {
    const found = figures(chosen).filter((value) => isNumber(value) && value > 0);
    return [Math.min(...found) / 1.1, Math.max(...found) * 1.1];
  };
  const symbol = { mean: "E_mu", deviation: "E_sigma" };
  const overview = (view) => {
    const range = domain(view.chosen),
      scale = colourScale(
        results.map((result) => result.norm),
        view.theme,
      );
    const rows = boxRows(
      results.map((result) => typical(result[`${view.chosen}_errors`])),
      range[0],
      (i) => ({
        norm: results[i].norm,
        colour: scale.range[i],
      }),
    );
    const labels = {
      labelColor: view.theme.ink,
      labelLimit: Math.min(230, view.width * 0.42),
      ticks: false,
      domain: false,
    };
    return {
      height: 30 * rows.length,
      ...boxSpec({
        rows,
        vertical: false,
        domain: range,
        axis: symbol[view.chosen],
        places: { field: "norm", type: "nominal", sort: null, title: null, axis: labels },
        tip: { norm: "norm", ...BOX_TIP },
      }),
    };
  };
  const layers = (result) => (view) => {
    const range = domain(view.chosen),
      colour = colourScale([result.norm], view.theme).range[0];
    const rows = boxRows(result[`${view.chosen}_errors`], range[0], (i) => ({ i, layer: result.layers[i], colour }));
    return {
      height: 150,
      ...boxSpec({
        rows,
        vertical: true,
        domain: range,
        axis: symbol[view.chosen],
        places: {
          field: "i",
          type: "ordinal",
          title: "layer, from input to output",
          axis: { labels: false, ticks: false },
        },
        tip: { layer: "layer", ...BOX_TIP },
      }),
    };
  };
  return [
    chart("Size of the errors in a typical layer, by norm", overview, ERRORS),
    note(
      "The box of a typical layer: the medians over the layers of the least error, the quartiles and the greatest error over the steps.",
    ),
    multiples(
      "Errors by layer",
      results.map((result) => ({ heading: result.norm, spec: layers(result) })),
      ERRORS,
    ),
    multiples(
      "Correlation of the errors between layers",
      results.map((result) => ({ heading: result.norm, spec: (view) => correlationSpec(result, view) })),
      ERRORS,
    ),
    table(
      "Errors by norm",
      [
        "norm",
        "model",
        "data",
        "#steps",
        "#E_mu of a typical layer",
        "#E_sigma of a typical layer",
        "#mean correlation of E_mu",
        "#mean correlation of E_sigma",
      ],
      results.map((result) => [
        result.norm,
        result.model,
        result.data,
        String(result.steps),
        short(typical(result.mean_errors).median),
        short(typical(result.deviation_errors).median),
        fixed(result.mean_correlation_average, 3),
        fixed(result.deviation_correlation_average, 3),
      ]),
    ),
  ];
}

function showError(source) {
  const part = (name) => source.results.filter((result) => result.part === name);
  return [
    ...showErrorOfLayers(part("layers")),
    ...part("variance").flatMap(showVariance),
    ...part("moving_average").flatMap(showMovingAverage),
  ];
}
