"use strict";
// Shows what the run sends, as text: nothing that it says is ever markup. The last state stays when
// the run or the connection ends.
(() => {
  const SVG = "http://www.w3.org/2000/svg", KEPT = 600;
  const find = (selector) => document.querySelector(selector);
  const link = find("#link");
  const lines = new Map(); // by number of a candidate: {window, seconds: [[second, rate, p50, p95, p99]]}
  let view = {}, heardAt = 0, source = null, over = false;

  const make = (name, attributes, text) => {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    return made;
  };
  const write = (element, text) => { if (element.textContent !== text) element.textContent = text; };
  const filled = (value) => value !== null && value !== undefined && value !== "" && value.length !== 0;

  function lasting(s) {
    const whole = Math.round(s), h = Math.floor(whole / 3600), min = Math.floor(whole / 60) % 60;
    return h ? `${h} h ${min} min` : min ? `${min} min ${whole % 60} s` : `${whole} s`;
  }

  function left() {
    const element = find("[data-left]"), passed = (Date.now() - heardAt) / 1000;
    const [certain, undecided] = [view.left_s, view.left_undecided_s].map((value) => value === null || value === undefined ? null : Math.max(0, value - passed));
    if (view.ended) write(element, "–");
    else if (certain !== null) write(element, undecided === null ? `about ${lasting(certain)}` : `about ${lasting(certain)} (${lasting(undecided)} if it stays undecided)`);
  }

  function swatch(style) {
    const drawn = make("svg", { class: "swatch drawing", width: 26, height: 12, viewBox: "-13 -6 26 12", "aria-hidden": "true" });
    drawn.append(make("line", { x1: -13, x2: 13, y1: 0, y2: 0, stroke: style.colour, "stroke-width": 2, "stroke-dasharray": style.dash }),
      make("path", { d: style.outline, fill: style.colour }));
    return drawn;
  }

  function tabulate(body) {
    const name = body.dataset.rows, rows = view[name] ?? [], numbers = [...body.closest("table").tHead.rows[0].cells].map((cell) => cell.className);
    const shown = JSON.stringify(rows);
    if (body.dataset.shown === shown) return;
    body.dataset.shown = shown;
    body.replaceChildren(...rows.map((row, number) => {
      const line = document.createElement("tr");
      row.forEach((text, column) => {
        const cell = line.insertCell();
        cell.className = numbers[column];
        if (name !== "candidates" || column) { cell.textContent = text; return; }
        const style = view.styles[number];
        line.className = style.active ? "active" : "";
        cell.append(swatch(style), text);
        if (!style.note) return;
        const note = document.createElement("small");
        note.textContent = style.note;
        cell.append(note);
      });
      return line;
    }));
  }

  // At most five round steps from 0 or `low` to the greatest.
  function ticks(low, high) {
    const raw = (high - low) / 4 || 1, power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((factor) => factor >= raw);
    const found = [];
    for (let at = Math.ceil(low / step) * step; at <= high + step / 1000; at += step) found.push(at);
    return found;
  }
  const number = (value) => value.toLocaleString("en", { maximumFractionDigits: 2 });
  const time = (s) => s >= 1 ? `${number(s)} s` : s >= 0.001 || !s ? `${number(s * 1000)} ms` : `${number(s * 1e6)} µs`;

  // Of each figure: which of a second's values, how it is shown, and how many transactions it needs.
  const SERIES = { rate: [1, number, 0], p50: [2, time, 200], p95: [3, time, 2000], p99: [4, time, 10000] };

  function plot(box) {
    const [index, show, needed] = SERIES[box.dataset.plot];
    const width = Math.max(260, box.clientWidth), height = 210, edge = { left: 64, right: 12, top: 10, bottom: 34 };
    const shownLines = [...lines].filter(([candidate]) => view.styles[candidate]);
    const every = shownLines.flatMap(([, line]) => line.seconds), values = every.map((second) => second[index]).filter((value) => value !== null);
    const title = box.closest("figure").querySelector("h3").textContent;
    if (!values.length) {
      box.textContent = every.length ? `Each second has too few transactions: it needs ${number(needed)}.` : "No second yet.";
      box.setAttribute("aria-label", `${title}: ${box.textContent}`);
      return;
    }
    const drawn = make("svg", { width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" });
    const from = Math.min(...every.map((second) => second[0])), to = Math.max(from + 10, ...every.map((second) => second[0]));
    const steps = ticks(0, Math.max(...values) || 1), top = Math.max(steps.at(-1), ...values);
    const x = (second) => edge.left + (width - edge.left - edge.right) * (second - from) / (to - from);
    const y = (value) => height - edge.bottom - (height - edge.top - edge.bottom) * value / top;
    for (const [begin, end] of view.shades ?? []) {
      const [a, b] = [begin, end].map((second) => x(Math.min(to, Math.max(from, second))));
      drawn.append(make("rect", { class: "shade", x: a, width: Math.max(1, b - a), y: edge.top, height: height - edge.top - edge.bottom }));
    }
    for (const value of steps) {
      drawn.append(make("line", { class: "grid", x1: edge.left, x2: width - edge.right, y1: y(value), y2: y(value) }),
        make("text", { x: edge.left - 8, y: y(value) + 4, "text-anchor": "end" }, show(value)));
    }
    for (const second of ticks(from, to)) drawn.append(make("text", { x: x(second), y: height - edge.bottom + 18, "text-anchor": "middle" }, `${number(second)} s`));
    const told = [];
    for (const [candidate, line] of shownLines) {
      const style = view.styles[candidate];
      let path = "", pen = false, last = null;
      for (const second of line.seconds) {
        if (second[index] === null) { pen = false; continue; }
        path += `${pen ? "L" : "M"}${x(second[0]).toFixed(1)} ${y(second[index]).toFixed(1)}`;
        pen = true;
        last = second;
      }
      if (!last) continue;
      told.push(`${style.name}: ${show(last[index])}`);
      drawn.append(make("path", { d: path, fill: "none", stroke: style.colour, "stroke-width": 1.8, "stroke-linejoin": "round", "stroke-dasharray": style.dash }),
        make("path", { d: style.outline, fill: style.colour, transform: `translate(${x(last[0]).toFixed(1)} ${y(last[index]).toFixed(1)})` }));
    }
    box.setAttribute("aria-label", `${title}. Last values: ${told.join("; ")}.`);
    box.replaceChildren(drawn);
  }

  function interval(box) {
    const effect = view.effect;
    if (!effect) return;
    const width = Math.max(260, box.clientWidth), height = 74, edge = 24;
    const ends = [effect.low, effect.high, effect.none, ...effect.margin], low = Math.min(...ends), high = Math.max(...ends);
    const pad = (high - low) * 0.08 || 1, x = (value) => edge + (width - 2 * edge) * (value - low + pad) / (high - low + 2 * pad);
    const drawn = make("svg", { width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" });
    drawn.append(make("rect", { class: "zone", x: x(effect.margin[0]), width: x(effect.margin[1]) - x(effect.margin[0]), y: 6, height: 40 }),
      make("line", { class: "axis", x1: x(effect.none), x2: x(effect.none), y1: 6, y2: 46 }),
      make("line", { class: "interval", x1: x(effect.low), x2: x(effect.high), y1: 26, y2: 26 }),
      make("circle", { class: "mean", cx: x(effect.value), cy: 26, r: 7 }));
    for (const at of ticks(low, high)) drawn.append(make("text", { x: x(at), y: 64, "text-anchor": "middle" }, number(at)));
    box.setAttribute("aria-label", view.effect_caption);
    box.replaceChildren(drawn);
  }

  function draw() {
    for (const box of document.querySelectorAll("[data-plot]")) {
      if (box.closest("[hidden]")) continue;
      if (box.dataset.plot === "effect") interval(box);
      else plot(box);
    }
  }

  function show() {
    document.title = `${view.question} · Stithy`;
    for (const element of document.querySelectorAll("[data-text]")) if (filled(view[element.dataset.text])) write(element, view[element.dataset.text]);
    for (const element of document.querySelectorAll("[data-if]")) element.hidden = !filled(view[element.dataset.if]);
    document.querySelectorAll("[data-rows]").forEach(tabulate);
    find("[data-list]").replaceChildren(...(view.findings ?? []).map((text) => Object.assign(document.createElement("li"), { textContent: text })));
    const bar = find("progress");
    if (view.progress === null) bar.removeAttribute("value");
    else bar.value = view.progress;
    left();
    draw();
  }

  function hear(message) {
    const told = JSON.parse(message.data);
    if (told.from === 0) lines.clear();
    for (const [candidate, window, ...second] of told.seconds) {
      let line = lines.get(candidate);
      if (!line || line.window !== window) lines.set(candidate, line = { window, seconds: [] });
      line.seconds.push(second);
      if (line.seconds.length > KEPT) line.seconds.shift();
    }
    view = told.view;
    heardAt = Date.now();
    document.body.classList.remove("lost");
    write(link, view.ended ? "The run is over, and this is its last state." : "Live: changes every second.");
    show();
    if (view.ended) finish();
  }

  async function finish() {
    over = true;
    source.close();
    if (!view.path) return;
    // The command ends with the run: what is kept here stays to be saved.
    try {
      const answer = await fetch("report");
      if (!answer.ok) return;
      const content = await answer.blob(), place = find("#report");
      place.hidden = false;
      Object.assign(place.querySelector("a"), { href: URL.createObjectURL(content), download: view.report_name });
      write(place.querySelector("span"), `(${number(content.size / 1e6)} MB; this page keeps it, also after the command has ended)`);
    } catch { /* the place on the host is shown */ }
  }

  function connect() {
    source = new EventSource("events");
    source.onmessage = hear;
    source.onerror = () => {
      if (over) return;
      document.body.classList.add("lost");
      const ago = heardAt ? ` What is shown is ${lasting((Date.now() - heardAt) / 1000)} old.` : "";
      write(link, `No connection to the run: it is tried again. If the command has ended, its terminal says how.${ago}`);
      if (source.readyState === EventSource.CLOSED) setTimeout(connect, 3000);
    };
  }

  setInterval(() => { if (!over && heardAt && !document.body.classList.contains("lost")) left(); }, 1000);
  new ResizeObserver(draw).observe(find("main"));
  const wide = new ResizeObserver((entries) => {
    for (const { target: box } of entries) {
      if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    }
  });
  document.querySelectorAll(".scroll").forEach((box) => wide.observe(box));
  connect();
})();
