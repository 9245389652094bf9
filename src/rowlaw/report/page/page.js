// The page: verdict, rules with search and drill-down, and the sections below.
const chosen = { statuses: new Set(), kinds: new Set(), text: "", sort: "verdict", id: null };
let visible = [];

function verdict() {
  const broken = data.counts.broken ?? 0, warnings = data.counts.warning ?? 0, total = data.total_rules;
  $("table-name").textContent = [data.title, data.table_rows === null || data.table_rows === undefined ? null : plural(data.table_rows, "row"), plural(data.total_columns, "column"), `nulls ${data.nulls}`].filter(Boolean).join(" · ");
  const shownLaws = data.rules.length;
  const title = data.kind === "check" ? (broken ? `${number(broken)} of ${plural(total, "rule")} broken` : total ? `${total === 1 ? "The rule holds" : `All ${number(total)} rules hold`}` : "No rules") : total > shownLaws ? `The ${plural(shownLaws, "law")} most worth reading` : `${plural(total, "law")} ${data.kind === "discovery" ? "found" : ""}`;
  $("verdict-title").textContent = title;
  const parts = [];
  if (data.kind === "check") {
    if (data.causes?.text) parts.push(`${data.causes.text[0].toUpperCase()}${data.causes.text.slice(1)}.`);
    else parts.push(data.violations ? `${plural(data.violations, "violation")} in ${plural(data.rows_involved, "row")}.` : "Not a single violation.");
    if (!broken && warnings) parts.push(`${plural(warnings, "rule")} of severity warn ${warnings === 1 ? "is" : "are"} broken.`);
  } else if (data.kind === "discovery") {
    if (total) parts.push(total > shownLaws ? `Chosen from ${number(total)} minimal laws, best first.` : "Minimal laws that all rows obey, the ones worth reading first on top.");
    if (data.partial) parts.push(total ? "The search stopped early: these are proven, others may be missing." : "The search stopped early, before a law was proven. Give it more time with --time-limit, or fewer columns with --columns.");
  }
  $("verdict-text").textContent = parts.join(" ");
  const strip = $("strip");
  strip.setAttribute("aria-label", ORDER.filter((s) => data.counts[s]).map((s) => `${number(data.counts[s])} ${WORDS[s]}`).join(", ") || "no rules");
  strip.classList.toggle("many", data.rules.length > 24);
  const bar = data.rules.length > 120; // too many marks to tell apart: a bar of the verdicts
  strip.classList.toggle("bar-of-verdicts", bar);
  for (const status of bar ? ORDER.filter((s) => data.counts[s]) : []) {
    const part = make("i", { "data-tone": status, "data-status": status });
    part.style.flexGrow = data.counts[status];
    part.addEventListener("click", () => { $("statuses").querySelector(`input[value=${status}]`)?.click(); $("rules").scrollIntoView(); });
    part.addEventListener("mousemove", (event) => showTip(event, `${plural(data.counts[status], "rule")} ${WORDS[status]}`));
    part.addEventListener("mouseleave", () => showTip(null, null));
    strip.append(part);
  }
  for (const rule of bar ? [] : data.rules) {
    const mark = make("i", { "data-tone": rule.status, "data-id": rule.id });
    mark.addEventListener("click", () => open(rule.id, true));
    mark.addEventListener("mousemove", (event) => showTip(event, `${rule.id}, ${WORDS[rule.status]}\n${rule.sentence}`));
    mark.addEventListener("mouseleave", () => showTip(null, null));
    strip.append(mark);
  }
  const tile = (word, value, note, status) => $("tiles").append(make("div", { "data-tone": status }, make("dt", { text: word }), make("dd", { text: value, class: value.length > 8 ? "long" : undefined }, note ? make("small", { text: ` ${note}` }) : null)));
  for (const status of ORDER) if (data.counts[status]) tile(data.kind === "discovery" ? `${WORDS[status]}, on this page` : WORDS[status], number(data.counts[status]), data.counts[status] === 1 ? "rule" : "rules", status);
  if (data.kind === "check" && data.violations) {
    if (data.causes?.rows.length) tile("rows to look at", number(data.causes.total_rows), data.table_rows ? `of ${number(data.table_rows)}` : "");
    tile("violations", number(data.violations), "");
    if (data.suspects?.total) tile("cells probably wrong", number(data.suspects.total), "");
  }
}

const known = (id) => data.rules.some((r) => r.id === id);
const ruleLinks = (ids, most) => make("div", { class: "links" }, ...ids.slice(0, most).map((id) => (known(id) ? ruleLink(id) : make("span", { text: id }))), ids.length > most ? make("span", { text: `and ${ids.length - most} more` }) : null);

// The first rows of a table, and the others when they are asked for.
function shortened(box, rows, first, build) {
  const fill = (some) => box.replaceChildren(build(some));
  fill(rows.slice(0, first));
  if (rows.length <= first) return;
  const button = make("button", { type: "button", class: "quiet", text: `Show all ${number(rows.length)}` });
  button.addEventListener("click", () => { fill(rows); button.parentElement.remove(); });
  box.after(make("p", { class: "more" }, button));
}

function causes() {
  const found = data.causes;
  if (found?.rows.length) {
    $("causes").hidden = false;
    const all = found.explained === found.violations;
    $("causes-note").textContent = `Without ${found.total_rows === 1 ? "this row" : "these rows"} ${all ? "all rules would hold" : `${number(found.explained)} of ${plural(found.violations, "violation")} would be gone`}.` + (found.total_rows > found.rows.length ? ` The first ${number(found.rows.length)} of ${number(found.total_rows)}.` : "");
    shortened($("causes-table"), found.rows, 10, (rows) => table(["row", "breaks", "probably wrong"], rows.map((one) => make("tr", {}, make("td", { text: one.row }), make("td", {}, ruleLinks(one.rules, 6)),
      make("td", {}, ...one.cells.map((c) => make("div", { class: "repair" }, make("span", { class: "dim", text: `${c.column} ` }), make("del", { text: c.value }), " → ", make("ins", { text: c.usual }))))))));
  }
  if (data.suspects?.cells.length) {
    $("suspects").hidden = false;
    shortened($("suspects-table"), data.suspects.cells, 10, (cells) => table(["row", "column", "value", "suggestion", "#rules against", "#rules for"], cells.map((c) => make("tr", {}, make("td", { text: c.row }), make("td", { text: c.column }), cell("td", c.value, { class: "value" }), cell("td", c.usual, { class: "value good" }), make("td", { class: "number", text: number(c.against) }), make("td", { class: "number", text: number(c.backing) })))));
  }
  if (data.profile?.columns.length) {
    $("profile").hidden = false;
    const left = data.total_columns - data.profile.columns.length;
    $("profile-note").textContent = `${plural(data.profile.columns.length, "column")}${left > 0 ? ` of ${number(data.total_columns)}` : ""}: types, nulls, distinct values, range and most frequent values.`;
    $("profile-table").append(table(["column", "type", "#nulls", "#distinct", "from", "to", "most frequent", "takes part in"], data.profile.columns.map((line) => make("tr", {}, ...line.map((text, i) => make("td", { text, class: i === 2 || i === 3 ? "number" : i > 3 && i < 7 ? "value" : undefined }))))));
  }
}

function chips(box, names, words, set) {
  for (const name of names) {
    const input = make("input", { type: "checkbox", value: name });
    input.addEventListener("change", () => { if (input.checked) set.add(name); else set.delete(name); list(); });
    box.append(make("label", { class: "chip", "data-tone": words === WORDS ? name : undefined }, input, make("b", { text: words[name] })));
  }
}

const SORTS = {
  verdict: ["Verdict", (a, b) => ORDER.indexOf(a.status) - ORDER.indexOf(b.status) || (b.violations ?? 0) - (a.violations ?? 0) || a.place - b.place],
  given: ["Order of the rules", (a, b) => a.place - b.place],
  violations: ["Violations", (a, b) => (b.violations ?? 0) - (a.violations ?? 0) || a.place - b.place],
  rows: ["Rows involved", (a, b) => (b.rows ?? 0) - (a.rows ?? 0) || a.place - b.place],
  score: ["Score", (a, b) => (b.score ?? -1) - (a.score ?? -1) || a.place - b.place],
  id: ["Id", (a, b) => a.id.localeCompare(b.id, "en", { numeric: true })],
  kind: ["Kind", (a, b) => a.kind.localeCompare(b.kind) || a.place - b.place],
};

function controls() {
  chips($("statuses"), ORDER.filter((s) => data.rules.some((r) => r.status === s)), WORDS, chosen.statuses);
  chips($("kinds"), Object.keys(KINDS).filter((k) => data.rules.some((r) => r.kind === k)), KINDS, chosen.kinds);
  const useful = Object.keys(SORTS).filter((name) => ({ violations: data.kind === "check", rows: data.kind === "check", score: data.rules.some((r) => r.score !== undefined) })[name] ?? true);
  for (const name of useful) $("sort").append(make("option", { value: name, text: SORTS[name][0] }));
  chosen.sort = data.kind === "check" ? "verdict" : "given";
  $("sort").value = chosen.sort;
  $("sort").addEventListener("change", () => { chosen.sort = $("sort").value; list(); });
  $("search").addEventListener("input", () => { chosen.text = $("search").value.trim().toLowerCase(); list(); });
  $("search").addEventListener("keydown", (event) => { if (event.key === "ArrowDown") { event.preventDefault(); focusItem(0); } });
  $("list").addEventListener("keydown", move);
  $("detail").addEventListener("keydown", (event) => { if (event.key === "Escape") { event.preventDefault(); focusItem(visible.findIndex((r) => r.id === chosen.id)); } });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !/^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement?.tagName ?? "")) { event.preventDefault(); $("search").focus(); }
  });
}

function matches(rule) {
  if (chosen.statuses.size && !chosen.statuses.has(rule.status)) return false;
  if (chosen.kinds.size && !chosen.kinds.has(rule.kind)) return false;
  return chosen.text.split(/\s+/).every((word) => rule.words.includes(word));
}

function list() {
  visible = data.rules.filter(matches).sort(SORTS[chosen.sort][1]);
  const held = visible.some((r) => r.id === chosen.id) ? chosen.id : visible[0]?.id;
  $("list").replaceChildren(...visible.map((rule) => {
    const right = rule.violations ? number(rule.violations) : rule.score !== undefined && data.kind !== "check" ? rule.score.toFixed(2) : WORDS[rule.status];
    const label = `${rule.id}, ${KINDS[rule.kind]}, ${WORDS[rule.status]}${rule.violations ? `, ${plural(rule.violations, "violation")}` : ""}. ${rule.sentence}`;
    const button = make("button", { type: "button", class: "item", "data-tone": rule.status, "data-id": rule.id, "aria-label": label, tabindex: rule.id === held ? "0" : "-1" },
      make("span", { class: "head" }, make("b", { text: rule.id }), make("em", { text: right })), make("span", { class: "law", text: rule.rule }));
    button.addEventListener("click", () => open(rule.id, false));
    return make("li", {}, button);
  }));
  if (!visible.length) $("list").append(make("li", { class: "empty", text: "No rule matches." }));
  const left = data.total_rules - data.rules.length;
  $("shown").textContent = `${number(visible.length)} of ${plural(data.rules.length, "rule")}` + (left > 0 ? `; ${number(left)} more are not on this page` : "");
  if (held !== undefined && held !== chosen.id) open(held, false);
  else mark();
}

function focusItem(index) {
  const items = $("list").querySelectorAll(".item");
  const item = items[Math.max(0, Math.min(index, items.length - 1))];
  if (item) { open(item.dataset.id, false); item.focus(); }
}

function move(event) {
  const items = [...$("list").querySelectorAll(".item")];
  const at = items.indexOf(document.activeElement);
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1, PageDown: at + 10, PageUp: at - 10 }[event.key];
  if (to !== undefined) { event.preventDefault(); focusItem(to); }
  else if (event.key === "Enter" || event.key === "ArrowRight") { event.preventDefault(); open(items[at].dataset.id, false); $("detail").focus(); }
}

function mark() {
  for (const item of $("list").querySelectorAll(".item")) {
    const current = item.dataset.id === chosen.id;
    if (current) item.setAttribute("aria-current", "true"); else item.removeAttribute("aria-current");
    item.tabIndex = current ? 0 : -1;
  }
  for (const one of $("strip").children) one.classList.toggle("chosen", one.dataset.id === chosen.id);
}

function open(id, jump) {
  const rule = data.rules.find((r) => r.id === id);
  if (!rule) return;
  if (jump && !visible.includes(rule)) reset();
  chosen.id = id;
  mark();
  detail(rule);
  if (jump) {
    $("rules").scrollIntoView();
    $("list").querySelector('[aria-current="true"]')?.scrollIntoView({ block: "nearest" });
    $("detail").focus({ preventScroll: true });
  }
}

function reset() {
  chosen.statuses.clear(); chosen.kinds.clear(); chosen.text = "";
  $("search").value = "";
  for (const box of document.querySelectorAll(".chip input")) box.checked = false;
  list();
}

function detail(rule) {
  const fact = (word, value) => (value === null || value === undefined || value === "" ? null : make("div", {}, make("dt", { text: word }), make("dd", { text: value })));
  const parts = [
    make("header", { "data-tone": rule.status }, make("h3", { id: "detail-title", text: rule.id }), make("span", { class: "badge", text: WORDS[rule.status] }), make("span", { class: "badge plain", text: KINDS[rule.kind] }), rule.severity === "warn" ? make("span", { class: "badge plain", text: "severity warn" }) : null),
    make("p", { class: "sentence", text: rule.sentence }),
    rule.because ? make("p", { class: "because", text: rule.because }) : null,
    copyable(rule.rule),
    make("dl", { class: "facts" }, fact("violations", rule.violations === undefined ? null : number(rule.violations)), fact("rows", rule.rows === undefined ? null : number(rule.rows)), fact("error", share(rule.error)), fact("tolerates", rule.tolerate ? share(rule.tolerate) : null), fact("support", rule.support === undefined ? null : plural(rule.support, "pair")), fact("score", rule.score === undefined ? null : rule.score.toFixed(3)), fact("restated by", (rule.restated_by ?? []).slice(0, 6).join(", "))),
  ];
  if (rule.clashes?.length) {
    const whole = rule.violations > rule.clashes.length;
    const unit = rule.clashes[0].t === null ? "row" : "pair";
    parts.push(make("div", {}, make("h4", { text: unit === "row" ? "Rows that break it" : "Clashing pairs" }),
      make("p", { class: "note", text: whole ? `${plural(rule.clashes.length, unit)} of the worst rows; ${plural(rule.violations, "violation")} in all${unit === "pair" ? ", counted as ordered pairs" : ""}.` : "" }),
      make("div", { class: "cards" }, ...rule.clashes.map(card))));
  } else if (rule.violations) parts.push(make("p", { class: "note", text: "Its pairs are not on this page; rowlaw check --violations FILE writes them all." }));
  const chart = rule.plot && rule.plot.pairs.length ? make("div", { class: "chart", id: "plot" }) : null;
  if (chart) parts.push(make("div", {}, make("h4", { text: "Where the clashes lie" }), make("p", { class: "note", text: rule.plot.single ? "Rows that break the rule, over a sample of the table." : "Clashing rows joined by a line, over a sample of the table." }), chart));
  if (rule.sql) parts.push(make("details", {}, make("summary", { text: "As SQL" }), make("pre", { class: "mono", text: rule.sql })));
  $("detail").replaceChildren(...parts.filter(Boolean));
  if (chart) draw(chart, scatter(rule.plot), `Scatter plot of ${rule.plot.x.name} and ${rule.plot.y.name ?? "row"}: ${plural(rule.plot.pairs.length, "clash")} of rule ${rule.id} among a sample of the table`);
}

function card(clash) {
  const cross = clash.lines.some((line) => line[3] !== line[0]);
  const head = make("tr", {}, make("td"), make("th", { scope: "col", text: `row ${clash.s}` }), make("td"), clash.t === null ? make("td") : make("th", { scope: "col", text: `row ${clash.t}` }));
  const body = clash.lines.map(([left, value, op, right, other, clashes]) => make("tr", { class: clashes ? "clash" : undefined },
    make("th", { scope: "row" }, ...breakable(cross && right && right !== left ? `${left} ${op} ${right}` : left)), cell("td", value), make("td", { class: "op", text: op }), cell("td", other)));
  return make("div", { class: "card", role: "group", "aria-label": clash.t === null ? `row ${clash.s}` : `row ${clash.s} and row ${clash.t}` },
    make("table", {}, make("colgroup", {}, make("col", { class: "name" }), make("col"), make("col", { class: "op" }), make("col")), make("thead", {}, head), make("tbody", {}, ...body)));
}

function table(heads, rows) {
  return make("table", { class: "data" }, make("thead", {}, make("tr", {}, ...heads.map((head) => make("th", { scope: "col", text: head.replace(/^#/, ""), class: head.startsWith("#") ? "number" : undefined })))), make("tbody", {}, ...rows));
}

const ruleLink = (id, note) => make("span", {}, make("button", { type: "button", class: "link", text: id, on: { click: () => open(id, true) } }), note ? ` ${note}` : "");

function worst() {
  if (!data.worst?.rows.length) return;
  $("worst").hidden = false;
  const most = data.worst.rows[0].pairs;
  const row_of = (row) => {
    const bar = make("span", { class: "bar" });
    bar.style.width = `${Math.max(3, (46 * row.pairs) / most)}px`;
    const links = row.rules.slice(0, 3).map(([id, pairs]) => (known(id) ? ruleLink(id, `(${number(pairs)})`) : make("span", { text: `${id} (${number(pairs)})` })));
    const others = row.more + row.rules.length - links.length;
    return make("tr", {}, make("td", { text: row.row }), make("td", { class: "number" }, bar, number(row.pairs)), make("td", {}, make("div", { class: "links" }, ...links, others ? make("span", { text: `and ${others} more` }) : null)),
      ...row.values.map((value) => cell("td", value, { class: "value" })));
  };
  shortened($("worst-table"), data.worst.rows, 8, (rows) => table(["row", "#violations", "rules", ...data.worst.columns], rows.map(row_of)));
}

function sections() {
  if (data.matrix.rules.length && data.matrix.columns.length) {
    $("matrix").hidden = false;
    const of = data.total_rules > data.matrix.rules.length ? `The first ${data.matrix.rules.length} of ${number(data.total_rules)} rules` : "The rules";
    $("matrix-note").textContent = `${of} and the columns they compare, with the comparison; the colour is the verdict.`;
    draw($("matrix-chart"), matrix, `Matrix of ${data.matrix.columns.length} columns by ${data.matrix.rules.length} rules; every rule lists its columns in the list above`);
  }
  if (data.graph) {
    $("graph").hidden = false;
    graph(data.graph.first);
    addEventListener("resize", () => graph(Number($("graph-chart").dataset.laws)));
  }
  if (data.near_misses?.length) {
    $("near").hidden = false;
    $("near-table").append(table(["#violations", "law", "in words"], data.near_misses.map((m) => make("tr", {}, make("td", { class: "number", text: number(m.violations) }), make("td", {}, make("code", { text: m.rule })), make("td", { text: m.sentence })))));
  }
  if (data.history) {
    $("history").hidden = false;
    const { total_batches, events, total_events } = data.history;
    $("history-note").textContent = `${number(total_batches - 1)} ${total_batches === 2 ? "batch" : "batches"} since the state was made; ${plural(total_events, "event")}` + (total_events > events.length ? `, the last ${number(events.length)} below.` : ".");
    draw($("history-chart"), timeline, "Number of rules after each batch, and rules born and retired by it; the events are listed below");
    for (const event of [...events].reverse()) {
      const rows = event.witness.map((row) => Object.entries(row).map(([name, value]) => `${name} ${value}`).join(", ")).join("  ↔  ");
      $("history-events").append(make("li", { "data-tone": event.event === "born" ? "holds" : "broken" },
        make("p", { class: "head" }, make("b", { text: event.event }), ` in batch ${event.batch}: ${event.id}`), make("p", { text: event.sentence }), make("code", { text: event.rule }), rows ? make("p", { class: "witness", text: rows }) : null));
    }
  }
}

// The keys and dependencies, so many of them.
function graph(most) {
  const { laws, left_out } = data.graph;
  const some = laws.slice(0, most), more = laws.length - some.length;
  $("graph-chart").dataset.laws = some.length;
  const drawn = laws.length + left_out > some.length ? `The first ${some.length} of ${number(laws.length + left_out)}. ` : "";
  $("graph-note").textContent = `${drawn}An arrow leads from what determines to what is determined; several columns meet in a dot. Dashed lines lead to keys.`;
  const names = some.filter((law) => law.right !== null).map((law) => data.rules.find((r) => r.id === law.rule).sentence);
  network($("graph-chart"), some, `Graph of dependencies. ${[...new Set(names)].slice(0, 20).join(" ")}`);
  $("graph-more").replaceChildren();
  if (more) {
    const button = make("button", { type: "button", class: "quiet", text: `Draw ${number(Math.min(more, data.graph.first))} more` });
    button.addEventListener("click", () => graph(some.length + data.graph.first));
    $("graph-more").append(button);
  }
}

function again() {
  const body = $("again-body");
  if (data.command) body.append(make("div", {}, make("h3", { class: "small", text: "The command" }), make("pre", { text: data.command })));
  const seconds = Object.entries(data.seconds).map(([name, value]) => `${name} ${value.toFixed(2)} s`).join(", ");
  const python = data.kind === "discovery" ? `rules = rowlaw.discover(table, nulls="${data.nulls}")\nrowlaw.write_report("report.html", rules)` : `result = rowlaw.check(table, "rules.yaml")        # counts every violation\nresult.violations("${(data.rules[0]?.id ?? "R1").replace(/["\\]/g, "\\$&")}")                  # all pairs as a Spark DataFrame\nresult.to_html("report.html")`;
  body.append(make("div", {}, make("h3", { class: "small", text: "In Python" }), make("pre", { text: `import rowlaw\n\n${python}` })));
  if (data.rules.length) {
    const yaml = data.rules.map((r) => `  ${JSON.stringify(r.id)}: ${JSON.stringify(r.rule)}`).join("\n");
    body.append(make("details", {}, make("summary", { text: `The rule file (${plural(data.rules.length, "rule")})` }), make("pre", { text: `version: 1\nnulls: ${data.nulls}\nrules:\n${yaml}` })));
  }
  const made = data.made.replace("T", " ").replace("+00:00", " UTC");
  $("foot").textContent = [`Made by rowlaw ${data.rowlaw} on ${made}`, `Python ${data.python}`, seconds, data.strategy ? `strategy ${data.strategy}: ${data.why}` : ""].filter(Boolean).join(" · ");
}

function theme() {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const apply = (on) => {
    document.documentElement.dataset.theme = on ? "dark" : "light";
    $("theme").setAttribute("aria-pressed", String(on));
    $("theme").textContent = on ? "Light mode" : "Dark mode";
    redraw();
  };
  apply(dark.matches);
  dark.addEventListener("change", () => apply(dark.matches));
  $("theme").addEventListener("click", () => apply(document.documentElement.dataset.theme !== "dark"));
  let width = innerWidth, timer = 0;
  addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; clearTimeout(timer); timer = setTimeout(redraw, 200); } });
}

data.rules.forEach((rule, place) => {
  rule.place = place;
  rule.words = [rule.id, rule.kind, KINDS[rule.kind], WORDS[rule.status], rule.rule, rule.sentence, rule.because ?? ""].join(" ").toLowerCase();
});
theme();
verdict();
controls();
list();
causes();
worst();
sections();
again();
if (!data.rules.length) { $("rules").hidden = true; }
for (const section of document.querySelectorAll("main > section:not([hidden])")) {
  const title = section.querySelector("h2");
  if (title) $("nav").append(make("a", { href: `#${section.id}`, text: title.dataset.short ?? title.textContent }));
}
document.documentElement.dataset.ready = "yes";
