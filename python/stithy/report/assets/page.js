"use strict";
// Figures are static drawings; each becomes interactive when it comes near the view. If anything
// fails, the static drawing simply stays.
(() => {
  const read = (element) => JSON.parse(element.textContent);
  const config = read(document.getElementById("figure-config"));

  // The rows of a figure come as columns: one value for all, or texts with their places, or a list.
  function column(of, rows) {
    if (Array.isArray(of)) return of;
    return of.texts ? of.at.map((place) => of.texts[place]) : Array(rows).fill(of.all);
  }
  function datasets(columns) {
    const whole = {};
    for (const [name, { rows, of }] of Object.entries(columns)) {
      const lists = Object.entries(of).map(([key, each]) => [key, column(each, rows)]);
      whole[name] = Array.from({ length: rows }, (_, row) =>
        Object.fromEntries(lists.filter(([, list]) => list[row] !== null).map(([key, list]) => [key, list[row]])));
    }
    return whole;
  }

  async function upgrade(figure) {
    const drawing = figure.querySelector(".drawing");
    const still = drawing.firstElementChild;
    const stage = document.createElement("div");
    stage.hidden = true;
    drawing.append(stage);
    try {
      const { columns, ...spec } = read(figure.querySelector("script.spec"));
      Object.assign(spec, { config, datasets: datasets(columns) });
      await vegaEmbed(stage, spec, { renderer: "svg", actions: false, ast: true, tooltip: { theme: "custom" } });
      still.remove();
      stage.hidden = false;
    } catch (error) {
      stage.remove();
    }
  }

  const near = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      near.unobserve(entry.target);
      upgrade(entry.target);
    }
  }, { rootMargin: "400px" });
  document.querySelectorAll("figure.figure").forEach((figure) => near.observe(figure));

  const links = new Map();
  document.querySelectorAll(".contents a").forEach((link) => links.set(link.hash.slice(1), link));
  const here = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      links.forEach((link) => link.removeAttribute("aria-current"));
      links.get(entry.target.id)?.setAttribute("aria-current", "true");
    }
  }, { rootMargin: "-15% 0px -75% 0px" });
  document.querySelectorAll("main > [id]").forEach((part) => here.observe(part));
})();
