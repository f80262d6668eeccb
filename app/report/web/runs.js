// Training runs of several seeds, taken together.

const ACCURACIES = [
  { label: "as trained", value: "top1" },
  { label: "recalibrated", value: "recalibrated_top1" },
];

/// What was trained, the same for all runs of a chart.
function setting(run) {
  const images = isNumber(run.images) ? `, ${run.images.toLocaleString("en")} images` : "";
  const epochs = isNumber(run.epochs) ? `, ${run.epochs} ${run.epochs === 1 ? "epoch" : "epochs"}` : "";
  return `${run.model} on ${run.data}${images}${epochs}`;
}

/// Runs of equal `keys` (and of one setting, by the caller) with their summaries and failures.
function together(runs, keys) {
  return groupBy(runs, (run) => JSON.stringify(keys.map((key) => run[key]))).map((group) => {
    const finished = group.filter((run) => !("failed" in run));
    return {
      ...group[0],
      runs: group,
      finished,
      failures: group.filter((run) => "failed" in run),
      top1: summarize(finished.map((run) => run.top1)),
      recalibrated_top1: summarize(finished.map((run) => run.recalibrated_top1)),
      train_loss: summarize(finished.map((run) => run.train_loss)),
    };
  });
}

/// Mean and interval of an accuracy in percent, for a chart.
function interval(summary) {
  const { mean, half } = summary;
  return {
    mean: 100 * mean,
    low: half === null ? null : 100 * (mean - half),
    high: half === null ? null : 100 * (mean + half),
    text: meanText(summary),
    seeds: summary.count,
  };
}

/// "2 of 3", or how many where all came to an end.
function seedsText(group) {
  return group.failures.length ? `${group.finished.length} of ${group.runs.length}` : String(group.runs.length);
}

/// A mean, or that there is none since the runs broke off.
function outcome(group, key) {
  if (group[key].mean === null && group.failures.length) return "did not finish";
  return meanText(group[key]);
}

function lossText(group) {
  return fixed(group.train_loss.mean, 3);
}

/// The sentences of runs that did not finish; null where all did.
function failureList(groups) {
  const failed = groups.flatMap((group) => group.failures);
  if (failed.length === 0) return null;
  return element(
    "div",
    { class: "failures" },
    element("h4", {}, "Runs that did not finish"),
    element(
      "ul",
      {},
      failed.map((run) => element("li", {}, element("b", {}, run.id), `: did not finish: ${run.failed}`)),
    ),
  );
}

function difference(group, level, key) {
  if (!level || level === group || group[key].mean === null || level[key].mean === null) return MISSING;
  return points(group[key].mean - level[key].mean);
}
