// Charts: Vega-Lite's specifications, drawn as SVG. The library is unpacked from the page when the first chart is due; expressions are
// interpreted, never compiled, so that the page needs no permission to evaluate code.
let library = null;
function charts() {
  library ??= (async () => {
    const packed = Uint8Array.from(atob($("library").textContent), (c) => c.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
    const script = make("script", { text: await new Response(stream).text() });
    document.head.append(script);
    if (!window.vegaLite || !window.vegaInterpreter) throw new Error("the chart library did not load");
  })();
  return library;
}

const tone = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

function look() {
  const text = tone("text"), dim = tone("dim"), line = tone("line");
  const font = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";
  return {
    background: null, font, view: { stroke: null },
    axis: { labelColor: dim, titleColor: text, gridColor: line, domainColor: line, tickColor: line, titleFontWeight: 600, labelFontSize: 11, titleFontSize: 12, labelLimit: 140, titlePadding: 8 },
    legend: { labelColor: dim, titleColor: text }, text: { color: text },
  };
}

const drawn = new Map(); // element -> how to draw it again
async function draw(element, build, description) {
  drawn.set(element, { build, description });
  try {
    await charts();
    const width = Math.max(260, element.clientWidth || element.parentElement.clientWidth || 600);
    const spec = build(width);
    const compiled = vegaLite.compile({ $schema: "https://vega.github.io/schema/vega-lite/v6.json", ...spec, config: look() }).spec;
    const view = new vega.View(vega.parse(compiled, null, { ast: true }), { renderer: "svg", expr: vegaInterpreter, logLevel: vega.Error });
    view.tooltip((_, event, item, value) => showTip(event, typeof value === "string" ? value : null));
    element.replaceChildren();
    view.initialize(element);
    await view.runAsync();
    const svg = element.querySelector("svg");
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", description);
    element.dataset.drawn = "yes";
  } catch (error) {
    element.replaceChildren(make("p", { class: "chart-failed", text: `This chart could not be drawn: ${error.message}` }));
    element.dataset.drawn = "no";
  }
}

function redraw() {
  for (const [element, { build, description }] of drawn) {
    if (element.isConnected) draw(element, build, description);
    else drawn.delete(element);
  }
}

const CATEGORIES = 24;
function categories(axis, clashing, others) {
  if (axis.scale !== "nominal") return null;
  const kept = new Set(clashing.slice(0, CATEGORIES));
  const frequent = new Map();
  for (const value of others) if (value !== null) frequent.set(value, (frequent.get(value) ?? 0) + 1);
  for (const [value] of [...frequent].sort((a, b) => b[1] - a[1])) if (kept.size < CATEGORIES) kept.add(value);
  return kept;
}

// The clashing pairs of a rule over a sample of the table.
function scatter(plot) {
  const column = (axis) => (axis.name === null ? data.sample[""] : data.sample[axis.name]) ?? [];
  const xs = column(plot.x), ys = column(plot.y);
  const kept = [
    categories(plot.x, plot.pairs.flatMap((p) => [p[0], p[2]]), xs),
    categories(plot.y, plot.pairs.flatMap((p) => [p[1], p[3]]), ys),
  ];
  const fits = (x, y) => x !== null && y !== null && (!kept[0] || kept[0].has(x)) && (!kept[1] || kept[1].has(y));
  const background = xs.map((x, i) => ({ x, y: ys[i], tip: `row ${data.sample[""][i]}` })).filter((p) => fits(p.x, p.y));
  const pairs = plot.pairs.filter((p) => fits(p[0], p[1]) && fits(p[2], p[3]));
  const named = (row) => `row ${row}`;
  const ends = pairs.flatMap((p) => {
    const tip = plot.single ? named(p[4]) : `${named(p[4])} clashes with ${named(p[5])}`;
    return [{ x: p[0], y: p[1], tip }, ...(plot.single ? [] : [{ x: p[2], y: p[3], tip }])];
  });
  const axis = (of) => ({ type: of.scale, title: of.name ?? "row", ...(of.scale === "quantitative" ? { scale: { zero: false, nice: true } } : {}), ...(of.scale === "nominal" ? { axis: { grid: true } } : {}) });
  const place = { x: { field: "x", ...axis(plot.x) }, y: { field: "y", ...axis(plot.y) } };
  const tooltip = { field: "tip", type: "nominal" };
  const lines = plot.lines.flatMap((line) => [["x", plot.x], ["y", plot.y]].filter(([, of]) => of.name === line.column && of.scale === "quantitative")
    .map(([channel]) => ({ mark: { type: "rule", strokeDash: [5, 4], color: tone("accent"), strokeWidth: 1.5 }, encoding: { [channel]: { datum: line.value } } })));
  return (width) => ({
    width: Math.min(width, 820), autosize: { type: "fit-x", contains: "padding" }, height: plot.y.scale === "nominal" ? 22 * new Set([...background, ...ends].map((p) => p.y)).size : 280,
    layer: [
      { data: { values: background }, mark: { type: "circle", size: 34, color: tone("dim"), opacity: 0.32 }, encoding: { ...place, tooltip } },
      ...(plot.single ? [] : [{ data: { values: pairs.map((p) => ({ x: p[0], y: p[1], x2: p[2], y2: p[3] })) }, mark: { type: "rule", color: tone("broken"), opacity: 0.5, strokeWidth: 1.5 }, encoding: { ...place, x2: { field: "x2" }, y2: { field: "y2" } } }]),
      { data: { values: ends }, mark: { type: "circle", size: 85, color: tone("broken"), opacity: 0.95 }, encoding: { ...place, tooltip } },
      ...lines,
    ],
  });
}

function matrix() {
  const byId = new Map(data.rules.map((rule) => [rule.id, rule]));
  const shown = new Set(data.matrix.columns);
  const values = data.matrix.rules.flatMap((id) => {
    const rule = byId.get(id);
    return rule.columns.map((column, i) => ({ rule: id, column, op: rule.ops[i].split(" ")[0], status: rule.status, tip: `${id}: ${rule.rule}` })).filter((v) => shown.has(v.column));
  });
  const cells = { x: { field: "rule", type: "nominal", sort: data.matrix.rules, axis: { orient: "top", labelAngle: -60, title: null, domain: false, ticks: false, labelLimit: 160 } }, y: { field: "column", type: "nominal", sort: data.matrix.columns, axis: { title: null, domain: false, ticks: false } } };
  const shades = { field: "status", type: "nominal", legend: null, scale: { domain: ORDER, range: ORDER.map(tone) } };
  return {
    data: { values }, width: { step: 24 }, height: { step: 24 },
    layer: [
      { mark: { type: "rect", cornerRadius: 4, opacity: 0.85, stroke: tone("panel"), strokeWidth: 2 }, encoding: { ...cells, color: shades, tooltip: { field: "tip", type: "nominal" } } },
      { mark: { type: "text", color: tone("panel"), fontSize: 11, fontWeight: 600 }, encoding: { ...cells, text: { field: "op", type: "nominal" } } },
    ],
  };
}

function timeline(width) {
  const batches = data.history.batches;
  const bars = batches.filter((b) => b.number > 0).flatMap((b) => [
    { batch: b.number, change: b.added, kind: "born", tip: `batch ${b.number}, ${b.at}\n${number(b.inserted)} rows in, ${number(b.deleted)} out\n${number(b.added)} rules born` },
    { batch: b.number, change: -b.removed, kind: "retired", tip: `batch ${b.number}, ${b.at}\n${number(b.inserted)} rows in, ${number(b.deleted)} out\n${number(b.removed)} rules retired` },
  ]);
  const totals = batches.map((b) => ({ batch: b.number, rules: b.rules, tip: `after batch ${b.number}: ${plural(b.rules, "rule")}` }));
  const domain = batches.map((b) => b.number);
  const x = (axis) => ({ field: "batch", type: "ordinal", scale: { domain }, axis });
  const inner = Math.max(200, width - 70); // the axis and its title take the rest
  return {
    spacing: 14,
    vconcat: [
      { width: inner, height: 120, data: { values: totals }, layer: [
        { mark: { type: "area", color: tone("accent"), opacity: 0.12 }, encoding: { x: x(null), y: { field: "rules", type: "quantitative" } } },
        { mark: { type: "line", color: tone("accent"), strokeWidth: 2 }, encoding: { x: x(null), y: { field: "rules", type: "quantitative", title: "rules", axis: { tickCount: 4, tickMinStep: 1, format: "d" } } } },
        { mark: { type: "circle", color: tone("accent"), size: 55 }, encoding: { x: x(null), y: { field: "rules", type: "quantitative" }, tooltip: { field: "tip", type: "nominal" } } } ] },
      { width: inner, height: 130, data: { values: bars }, mark: { type: "bar", cornerRadiusEnd: 3, size: Math.min(80, (0.7 * inner) / Math.max(1, batches.length)) }, encoding: {
        x: x({ title: "batch", labelAngle: 0, labelOverlap: true }), y: { field: "change", type: "quantitative", title: "born, retired", axis: { tickCount: 5, tickMinStep: 1, format: "d" } },
        color: { field: "kind", type: "nominal", legend: null, scale: { domain: ["born", "retired"], range: [tone("holds"), tone("broken")] } }, tooltip: { field: "tip", type: "nominal" } } },
    ],
  };
}
