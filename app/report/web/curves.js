// The studies of training curves: curves, demo.

/// The mean over runs at each x; a run that ended early is in the means as far as it came.
function meanCurve(norm, curves) {
  const points = curves.flatMap(({ xs, ys }) => (xs ?? []).map((x, i) => ({ x, y: ys[i] })));
  return groupBy(
    points.sort((a, b) => a.x - b.x),
    (point) => point.x,
  ).map((group) => {
    const { mean, count } = summarize(group.map((point) => point.y));
    return { norm, x: group[0].x, y: mean, runs: count, text: fixed(mean, 3) };
  });
}

function lossChart(title, groups) {
  const rows = groups.flatMap((group) =>
    meanCurve(
      group.norm,
      group.runs.map((run) => ({ xs: run.steps, ys: run.losses })),
    ),
  );
  const norms = [...new Set(rows.map((row) => row.norm))];
  return chart(`Training loss: ${title}`, (view) =>
    linesSpec(
      {
        rows,
        norms,
        x: "step",
        y: "training loss",
        tip: { step: "x", loss: "text", runs: "runs" },
      },
      view,
    ),
  );
}

function epochChart(title, groups) {
  const rows = groups.flatMap((group) =>
    meanCurve(
      group.norm,
      group.runs.map((run) => ({
        xs: run.epoch_top1?.map((_, i) => i + 1),
        ys: run.epoch_top1?.map((top1) => (isNumber(top1) ? 100 * top1 : null)),
      })),
    ),
  );
  if (rows.length === 0) return null;
  const norms = [...new Set(rows.map((row) => row.norm))];
  return chart(`Top-1 after each epoch: ${title}`, (view) =>
    linesSpec(
      {
        rows,
        norms,
        x: "epoch",
        y: "top-1, %",
        tip: { epoch: "x", "top-1, %": "text", runs: "runs" },
      },
      view,
    ),
  );
}

function showCurves(source) {
  return bySetting(source, (runs, title) => {
    const groups = together(runs, ["norm"]);
    return [
      lossChart(title, groups),
      epochChart(title, groups),
      note("Means over the seeds. Click an entry of the legend to single it out, shift-click for more."),
      table(
        title,
        ["norm", "#seeds", "#training loss of the last epoch", "#top-1 as trained", "#top-1 recalibrated"],
        groups.map((group) => [
          group.norm,
          seedsText(group),
          lossText(group),
          outcome(group, "top1"),
          outcome(group, "recalibrated_top1"),
        ]),
      ),
      failureList(groups),
    ];
  });
}

function showDemo(source) {
  return bySetting(source, (runs, title) => {
    const groups = together(runs, ["norm"]);
    return [
      lossChart(title, groups),
      table(
        title,
        ["norm", "#top-1", "#training loss", "#images a second", "#speed"],
        groups.map((group) => [
          group.norm,
          outcome(group, "top1"),
          lossText(group),
          fixed(summarize(group.finished.map((run) => run.images_per_second)).mean, 0),
          times(summarize(group.finished.map((run) => run.speed)).mean),
        ]),
      ),
      failureList(groups),
    ];
  });
}
