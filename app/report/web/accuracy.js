// The studies whose result is an accuracy: accuracy, decay, micro.

const ACCURACY_TIP = { "top-1": "text", seeds: "seeds" };

/// Charts and tables for each setting (model, data, images, epochs) of the study.
function bySetting(source, show) {
  return groupBy(source.results, setting).flatMap((runs) => show(runs, setting(runs[0])));
}

function accuracyRows(groups, xOf, accuracy) {
  return groups
    .filter((group) => group[accuracy].mean !== null && isNumber(xOf(group)))
    .map((group) => ({
      family: family(group.norm),
      norm: group.norm,
      x: xOf(group),
      sampled: percent(group.sampled, 1),
      alpha: short(group.alpha),
      ...interval(group[accuracy]),
    }));
}

function levelOf(bn, accuracy) {
  return bn && bn[accuracy].mean !== null ? { name: bn.norm, ...interval(bn[accuracy]) } : null;
}

function showAccuracy(source) {
  return bySetting(source, (runs, title) => {
    const groups = together(runs, ["norm"]);
    const bn = groups.find((group) => group.norm === "BN");
    // A norm that takes no statistics of the batch has no place on a logarithmic axis: it is in the table only.
    const placed = groups.filter((group) => group !== bn && group.sampled > 0);
    return [
      chart(
        `Top-1 against the sampled part: ${title}`,
        (view) =>
          meansSpec(
            {
              rows: accuracyRows(placed, (group) => group.sampled, view.chosen),
              level: levelOf(bn, view.chosen),
              x: "sampled part of the points",
              y: "top-1, %",
              log: true,
              format: ".2~p",
              tip: { sampled: "sampled", ...ACCURACY_TIP },
            },
            view,
          ),
        ACCURACIES,
      ),
      table(
        title,
        [
          "norm",
          "#sampled",
          "#seeds",
          "#top-1 as trained",
          "#top-1 recalibrated",
          "#to BN, points",
          "#to BN recalibrated",
          "#training loss",
        ],
        groups.map((group) => [
          group.norm,
          percent(group.sampled, 1),
          seedsText(group),
          outcome(group, "top1"),
          outcome(group, "recalibrated_top1"),
          difference(group, bn, "top1"),
          difference(group, bn, "recalibrated_top1"),
          lossText(group),
        ]),
      ),
      failureList(groups),
    ];
  });
}

function showDecay(source) {
  return bySetting(source, (runs, title) => {
    const groups = together(runs, ["norm", "alpha"]);
    const plain = groups.filter((group) => isNumber(group.alpha));
    return [
      chart(
        `Top-1 against α: ${title}`,
        (view) =>
          meansSpec(
            {
              rows: accuracyRows(plain, (group) => group.alpha, view.chosen),
              level: null,
              x: "α, the weight of a new estimate in the moving average",
              y: "top-1, %",
              log: false,
              format: ".3~r",
              tip: { α: "alpha", ...ACCURACY_TIP },
            },
            view,
          ),
        ACCURACIES,
      ),
      table(
        title,
        ["norm", "#α", "#seeds", "#top-1 as trained", "#top-1 recalibrated", "#training loss"],
        groups.map((group) => [
          group.norm,
          short(group.alpha),
          seedsText(group),
          outcome(group, "top1"),
          outcome(group, "recalibrated_top1"),
          lossText(group),
        ]),
      ),
      failureList(groups),
    ];
  });
}

function batches(group) {
  return `(${group.gradient_batch}, ${group.statistic_batch})`;
}

function showMicro(source) {
  return bySetting(source, (runs, title) => {
    const groups = together(runs, ["norm", "gradient_batch", "statistic_batch"]);
    const rows = (accuracy) =>
      groups
        .filter((group) => group[accuracy].mean !== null)
        .map((group) => ({
          label: `${group.norm} ${batches(group)}`,
          norm: group.norm,
          batches: batches(group),
          ...interval(group[accuracy]),
        }))
        .map((row) => ({ ...row, value: row.mean }));
    return [
      chart(
        `Top-1 by norm and (gradient, statistic) batch: ${title}`,
        (view) =>
          barSpec(
            {
              rows: rows(view.chosen),
              axis: "top-1, %",
              tip: { "(gradient, statistic) batch": "batches", ...ACCURACY_TIP },
            },
            view,
          ),
        ACCURACIES,
      ),
      table(
        title,
        [
          "norm",
          "#gradient batch",
          "#statistic batch",
          "#seeds",
          "#top-1 as trained",
          "#top-1 recalibrated",
          "#training loss",
        ],
        groups.map((group) => [
          group.norm,
          String(group.gradient_batch),
          String(group.statistic_batch),
          seedsText(group),
          outcome(group, "top1"),
          outcome(group, "recalibrated_top1"),
          lossText(group),
        ]),
      ),
      failureList(groups),
    ];
  });
}
