// The studies of time: cost, speed, regularity.

function network(result) {
  return `${result.model}, batch ${result.batch}, ${result.side} × ${result.side}`;
}

function showCost(source) {
  const rows = (result) =>
    result.norms.map((norm) => ({
      label: norm.norm,
      norm: norm.norm,
      value: norm.iterations_per_second,
      text: short(norm.iterations_per_second),
      step: spreadText(norm.seconds),
      speed: times(norm.speed),
    }));
  return [
    grid(
      source.results.map((result) =>
        chart(`Iterations a second: ${network(result)}`, (view) =>
          barSpec(
            {
              rows: rows(result),
              axis: "iterations a second",
              tip: { "iterations/s": "text", "step, ms": "step", "speed to none": "speed" },
            },
            view,
          ),
        ),
      ),
    ),
    table(
      "What normalization costs a training step",
      ["network", "norm", "#step, ms (quartiles)", "#iterations a second", "#speed to none", "#lost to the norm"],
      source.results.flatMap((result) =>
        result.norms.map((norm) => [
          network(result),
          norm.norm,
          spreadText(norm.seconds),
          short(norm.iterations_per_second),
          times(norm.speed),
          norm.norm === "none" || !isNumber(norm.speed) ? MISSING : percent(1 - norm.speed, 1),
        ]),
      ),
    ),
  ];
}

function speedChart(result, key, title) {
  const rows = result.steps.map((step) => ({
    label: step.norm,
    norm: step.norm,
    value: step[key],
    text: times(step[key]),
  }));
  return chart(`${title}: ${network(result)}`, (view) =>
    barSpec(
      {
        rows,
        axis: `speed (${result.reference} = 1)`,
        reference: 1,
        tip: { speed: "text" },
      },
      view,
    ),
  );
}

function layerTable(result) {
  const norms = result.steps.map((step) => step.norm);
  return element(
    "details",
    {},
    element("summary", {}, `Layer by layer: ${network(result)}`),
    table(
      "One layer of each kind, forward and backward",
      [
        "shape",
        "fused",
        "#layers",
        "#share of the step",
        ...norms.flatMap((norm) => [`#${norm}, ms`, `#${norm}, sampled`]),
      ],
      result.layers.map((layer) => [
        element("span", { title: layer.names.join(", ") }, layer.shape.join(" × ")),
        layer.fusion,
        String(layer.count),
        percent(layer.share, 1),
        ...norms.flatMap((norm) => [
          milliseconds(layer.norms[norm]?.both?.median),
          percent(layer.norms[norm]?.sampled, 1),
        ]),
      ]),
    ),
  );
}

function showNetworkSpeed(result) {
  return [
    grid(
      speedChart(result, "layers_speed", "Normalization layers"),
      speedChart(result, "step_speed", "Whole training step"),
    ),
    table(
      network(result),
      ["norm", "#step, ms (quartiles)", "#layers, ms", "#layers' share of the step", "#layers' speed", "#step's speed"],
      result.steps.map((step) => [
        step.norm,
        spreadText(step.both),
        milliseconds(step.layers_seconds?.both),
        percent(step.share, 1),
        times(step.layers_speed),
        times(step.step_speed),
      ]),
    ),
    layerTable(result),
  ];
}

function showSpeed(source) {
  return source.results.flatMap(showNetworkSpeed);
}

function showPlaces(result) {
  const title = `Gathering statistics, ${String(result.format).replace("_", " ")}, ${result.shape?.join(" × ")}`;
  // The colours of the methods that these patterns belong to.
  const norms = { patch: "FS", lattice: "LS", scattered: "FRS" };
  const rows = result.places.map((place) => ({
    label: `${place.pattern}, ${place.index}, ${place.redrawn}`,
    norm: norms[place.pattern] ?? place.pattern,
    pattern: place.pattern,
    value: place.cost,
    text: times(place.cost),
    seconds: spreadText(place.seconds),
  }));
  return [
    chart(title, (view) =>
      barSpec(
        {
          rows,
          axis: "cost (patch, shared, static = 1)",
          reference: 1,
          tip: { pattern: "label", cost: "text", ms: "seconds" },
        },
        view,
      ),
    ),
    table(
      title,
      ["pattern", "index", "redrawn", "#ms (quartiles)", "#cost"],
      result.places.map((place) => [
        place.pattern,
        place.index,
        place.redrawn,
        spreadText(place.seconds),
        times(place.cost),
      ]),
    ),
  ];
}

function showRegularity(source) {
  return source.results.flatMap((result) => (result.part === "places" ? showPlaces(result) : showNetworkSpeed(result)));
}
