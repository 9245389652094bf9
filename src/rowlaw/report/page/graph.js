// The graph of keys and dependencies, in layers from left to right: no two boxes share a place, so no label covers another.
const SVG = "http://www.w3.org/2000/svg";
const shape = (tag, options = {}, ...children) => {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(options)) {
    if (name === "text") element.textContent = value;
    else if (value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
};

// Nodes and edges of the first laws. A left side of several columns is a joint of its own; a key is a box that nothing leaves.
function graphOf(laws) {
  const nodes = new Map(), edges = new Map();
  const node = (id, facts) => { if (!nodes.has(id)) nodes.set(id, { id, ...facts }); return id; };
  const column = (name) => node(`c:${name}`, { type: "column", label: name });
  const edge = (from, to, facts) => {
    const key = JSON.stringify([from, to]);
    const before = edges.get(key);
    if (!before || ORDER.indexOf(facts.status) < ORDER.indexOf(before.status)) edges.set(key, { from, to, ...facts });
  };
  for (const { rule, status, left, right } of laws) {
    const from = left.map(column);
    if (right === null) {
      const key = node(`k:${rule}`, { type: "key", label: `key ${rule}`, rule, status });
      for (const one of from) edge(one, key, { rule, status, dashed: true });
      continue;
    }
    const to = column(right);
    let start = from[0];
    if (from.length !== 1) {
      start = node(`j:${[...left].sort().join("\u0000")}`, from.length ? { type: "joint", label: "" } : { type: "column", label: "any row" });
      for (const one of from) edge(one, start, { rule, status });
    }
    edge(start, to, { rule, status, arrow: true });
  }
  return { nodes, edges: [...edges.values()] };
}

// Layers: the longest way from a start; edges that would close a circle run back.
function layersOf(nodes, edges) {
  const out = new Map([...nodes.keys()].map((id) => [id, []]));
  for (const edge of edges) out.get(edge.from).push(edge);
  const state = new Map(), order = [];
  const visit = (start) => {
    const stack = [[start, 0]];
    state.set(start, 1);
    while (stack.length) {
      const top = stack[stack.length - 1];
      const next = out.get(top[0])[top[1]++];
      if (!next) { state.set(top[0], 2); order.push(top[0]); stack.pop(); }
      else if (!state.has(next.to)) { state.set(next.to, 1); stack.push([next.to, 0]); }
      else if (state.get(next.to) === 1) next.back = true;
    }
  };
  const inward = new Map([...nodes.keys()].map((id) => [id, 0]));
  for (const edge of edges) inward.set(edge.to, inward.get(edge.to) + 1);
  const starts = [...nodes.keys()].sort((a, b) => inward.get(a) - inward.get(b));
  for (const id of starts) if (!state.has(id)) visit(id);
  const layer = new Map([...nodes.keys()].map((id) => [id, 0]));
  for (const id of order.reverse()) for (const edge of out.get(id)) if (!edge.back) layer.set(edge.to, Math.max(layer.get(edge.to), layer.get(id) + 1));
  return layer;
}

// Places: long edges get a place in every layer they cross; a few sweeps bring what is joined to the same height.
function placed(nodes, edges, layer, width) {
  const measure = document.createElement("canvas").getContext("2d");
  measure.font = "12px system-ui, sans-serif";
  const layers = [], put = (id, at) => { (layers[at] ??= []).push(id); };
  const all = new Map();
  for (const node of nodes.values()) {
    const label = node.label.length > 26 ? `${node.label.slice(0, 25)}…` : node.label;
    all.set(node.id, { ...node, label, w: label ? measure.measureText(label).width + 22 : 10, h: label ? 24 : 10 });
    put(node.id, layer.get(node.id));
  }
  const ways = edges.map((edge, i) => {
    const [from, to] = edge.back ? [edge.to, edge.from] : [edge.from, edge.to];
    const way = [from];
    for (let at = layer.get(from) + 1; at < layer.get(to); at += 1) {
      const id = `d:${i}:${at}`;
      all.set(id, { id, type: "bend", w: 0, h: 8 });
      put(id, at);
      way.push(id);
    }
    way.push(to);
    return edge.back ? way.reverse() : way;
  });
  const near = new Map([...all.keys()].map((id) => [id, []]));
  for (const way of ways) for (let i = 1; i < way.length; i += 1) { near.get(way[i - 1]).push(way[i]); near.get(way[i]).push(way[i - 1]); }
  const rank = new Map();
  const number = () => layers.forEach((ids) => ids.forEach((id, i) => rank.set(id, (i + 0.5) / ids.length)));
  number();
  for (let sweep = 0; sweep < 8; sweep += 1) {
    for (const ids of sweep % 2 ? [...layers].reverse() : layers) {
      const middle = new Map(ids.map((id) => { const others = near.get(id).map((o) => rank.get(o)); return [id, others.length ? others.reduce((a, b) => a + b, 0) / others.length : rank.get(id)]; }));
      ids.sort((a, b) => middle.get(a) - middle.get(b));
      number();
    }
  }
  const heights = layers.map((ids) => ids.reduce((sum, id) => sum + all.get(id).h + 12, 0));
  const height = Math.max(...heights) + 16;
  const widths = layers.map((ids) => Math.max(...ids.map((id) => all.get(id).w)));
  const gap = Math.max(48, Math.min(150, (width - 24 - widths.reduce((a, b) => a + b, 0)) / Math.max(1, layers.length - 1)));
  let x = 12;
  layers.forEach((ids, at) => {
    let y = (height - heights[at]) / 2 + 6;
    for (const id of ids) {
      const one = all.get(id);
      one.x = x + widths[at] / 2; one.y = y + one.h / 2;
      y += one.h + 12;
    }
    x += widths[at] + gap;
  });
  return { all, ways, width: x - gap + 12, height };
}

function network(element, laws, description) {
  const { nodes, edges } = graphOf(laws);
  const { all, ways, width, height } = placed(nodes, edges, layersOf(nodes, edges), element.clientWidth || 600);
  const byId = new Map(data.rules.map((rule) => [rule.id, rule]));
  const svg = shape("svg", { width: Math.ceil(width), height: Math.ceil(height), viewBox: `0 0 ${Math.ceil(width)} ${Math.ceil(height)}`, role: "img", "aria-label": description, class: "network" });
  const hover = (one, text) => { one.addEventListener("mousemove", (event) => showTip(event, text)); one.addEventListener("mouseleave", () => showTip(null, null)); return one; };
  edges.forEach((edge, i) => {
    const way = ways[i].map((id) => all.get(id));
    const forth = way[way.length - 1].x >= way[0].x;
    const side = (one, out) => ({ x: one.x + ((out === forth ? 1 : -1) * one.w) / 2, y: one.y });
    const points = way.map((one, n) => (n === 0 ? side(one, true) : n === way.length - 1 ? side(one, false) : one));
    if (edge.back) { points[0].y -= 5; points[points.length - 1].y -= 5; }
    const end = points[points.length - 1];
    const tipped = edge.arrow ? { x: end.x + (forth ? -7 : 7), y: end.y } : end;
    let path = `M${points[0].x},${points[0].y}`;
    for (let n = 1; n < points.length; n += 1) {
      const a = points[n - 1], b = n === points.length - 1 ? tipped : points[n], bend = (b.x - a.x) / 2;
      path += `C${a.x + bend},${a.y} ${b.x - bend},${b.y} ${b.x},${b.y}`;
    }
    const group = shape("g", { "data-tone": edge.status });
    group.append(shape("path", { d: path, class: edge.dashed ? "way dashed" : "way" }));
    if (edge.arrow) group.append(shape("path", { d: `M${end.x},${end.y}L${tipped.x},${end.y - 4.5}L${tipped.x},${end.y + 4.5}Z`, class: "head" }));
    const rule = byId.get(edge.rule);
    svg.append(hover(group, `${rule.id}: ${rule.sentence}`));
  });
  for (const one of all.values()) {
    if (one.type === "bend") continue;
    const group = shape("g", { class: `node ${one.type}`, "data-label": one.label });
    group.append(shape("rect", { x: one.x - one.w / 2, y: one.y - one.h / 2, width: one.w, height: one.h, rx: one.h / 2 }));
    if (one.label) group.append(shape("text", { x: one.x, y: one.y + 4, "text-anchor": "middle", text: one.label }));
    svg.append(hover(group, one.type === "key" ? byId.get(one.rule).sentence : nodes.get(one.id).label));
  }
  element.replaceChildren(svg);
  element.dataset.drawn = "yes";
}
