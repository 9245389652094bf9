"use strict";
// Everything from the table goes into the page through these functions, as text: no markup is ever parsed from data.
const $ = (id) => document.getElementById(id);
const data = JSON.parse($("data").textContent);
const WORDS = { broken: "broken", warning: "warning", tolerated: "tolerated", holds: "holds", unchecked: "not checked" };
const KINDS = { key: "key", fd: "dependency", od: "order", dc: "denial" };
const ORDER = Object.keys(WORDS);
const number = (value) => value.toLocaleString("en-US");
const plural = (value, word) => `${number(value)} ${word}${value === 1 ? "" : word.endsWith("sh") ? "es" : "s"}`;

function make(tag, options = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "text") element.textContent = value;
    else if (name === "on") for (const [event, handler] of Object.entries(value)) element.addEventListener(event, handler);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

function share(value) {
  if (value === null || value === undefined) return null;
  if (value === 0) return "0%";
  const percent = value * 100;
  return percent >= 1e-6 ? `${Number(percent.toPrecision(2)).toLocaleString("en-US", { maximumFractionDigits: 8 })}%` : `${percent.toExponential(1)}%`;
}

function cell(tag, text, options = {}) {
  const shown = make(tag, options);
  if (text === "null") shown.append(make("span", { class: "nullish", text }));
  else shown.textContent = text;
  return shown;
}

// A name that may be broken after its underscores.
const breakable = (name) => name.split(/(?<=_)/).flatMap((part, i) => (i ? [make("wbr"), part] : [part]));

function copyable(text) {
  const button = make("button", { type: "button", class: "quiet", text: "Copy", "aria-label": "Copy the rule" });
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Press Ctrl+C";
      getSelection().selectAllChildren(button.previousElementSibling);
    }
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
  return make("div", { class: "law-line" }, make("code", { text }), button);
}

const tip = $("tip");
function showTip(event, text) {
  if (!text) { tip.hidden = true; return; }
  tip.textContent = text;
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(8, Math.min(event.clientX + 14, innerWidth - box.width - 8))}px`;
  tip.style.top = `${event.clientY + 18 + box.height > innerHeight ? event.clientY - box.height - 12 : event.clientY + 18}px`;
}
