// Every study in the order of the page: what it is, and what shows it.

const STUDIES = [
  {
    name: "cost",
    title: "What batch normalization costs",
    paper: "Fig. 1a",
    show: showCost,
    about: "Iterations a second of a training step with and without normalization.",
  },
  {
    name: "accuracy",
    title: "Accuracy against the sampled part",
    paper: "Fig. 3, Table 2",
    show: showAccuracy,
    about: "Test accuracy of networks whose statistics come from a part of the points.",
  },
  {
    name: "curves",
    title: "Training curves",
    paper: "Figs. 4 and 5",
    show: showCurves,
    about: "Whether training converges as with batch normalization.",
  },
  {
    name: "error",
    title: "Errors of the estimates",
    paper: "Figs. 6 and 7",
    show: showError,
    about:
      "How far the sampled statistics are from those of the whole batch, layer by layer, and how these errors go together.",
  },
  {
    name: "speed",
    title: "Speed",
    paper: "Figs. 8a and 8b, Table 3",
    show: showSpeed,
    about: "Time of the normalization layers alone and of whole training steps.",
  },
  {
    name: "regularity",
    title: "Regular and irregular samples",
    paper: "Fig. 8c",
    show: showRegularity,
    about: "What it costs to take points from irregular places, or from other places at each step.",
  },
  {
    name: "decay",
    title: "Weight of the moving average",
    paper: "Fig. 10",
    show: showDecay,
    about: "Accuracy against the weight α of a new estimate in the running statistics.",
  },
  {
    name: "micro",
    title: "Tiny statistic batches",
    paper: "Fig. 9",
    show: showMicro,
    about: "Statistics from a few rows each, as in many processes with small batches.",
  },
  {
    name: "demo",
    title: "Demo",
    paper: null,
    show: showDemo,
    about: "A small network, trained with several norms side by side.",
    command: (folder) => `samplenorm demo --out ${folder}`,
  },
];

function commandOf(study, folder) {
  return study.command?.(folder) ?? `samplenorm study ${study.name} --quick --out ${folder}`;
}

/// A source = one file of records. One that cannot be shown says why, and the others are not touched by it.
function showSource(study, source, several) {
  const heading = several
    ? element("h3", {}, source.folder, " ", element("span", { class: "scale" }, source.scale))
    : null;
  try {
    const shown = source.results.length ? study.show(source) : [note("Started, but no result is there yet.")];
    return element("div", { class: "source" }, heading, shown);
  } catch (error) {
    return element(
      "div",
      { class: "source" },
      heading,
      problem(`These records cannot be shown: ${error.message}.`),
    );
  }
}

function showStudy(study, sources) {
  return element(
    "section",
    { id: study.name },
    element(
      "h2",
      {},
      study.title,
      " ",
      study.paper ? element("small", {}, study.paper, " ") : null,
      sources.length === 1 ? element("span", { class: "scale" }, sources[0].scale) : null,
    ),
    element("p", {}, study.about),
    sources.map((source) => showSource(study, source, sources.length > 1)),
  );
}
