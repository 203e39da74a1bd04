"use strict";
// Figures are static drawings. Each becomes interactive when it comes near the view: it tells the
// values under the mouse, and buttons above it pick candidates and zoom. If anything fails, the static
// drawing simply stays; it is also what is printed.
(() => {
  const PICK = "picked";
  const VIEWS = ["layer", "hconcat", "vconcat", "concat"];
  const CHANNELS = ["color", "shape", "strokeDash"];
  const STEP = 2;
  const read = (element) => JSON.parse(element.textContent);
  const config = read(document.getElementById("figure-config"));

  function make(tag, attributes, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  }

  // --- what a specification holds ---------------------------------------------------------------

  function* charts(spec) {
    const parts = VIEWS.flatMap((key) => spec[key] ?? []);
    if (spec.mark) yield spec;
    for (const part of parts) yield* charts(part);
  }

  // One chart of each layer, because a zoom belongs to the axis, which a layer has once.
  function* plots(spec) {
    if (spec.layer || spec.mark) yield [...charts(spec)];
    else for (const key of VIEWS) for (const part of spec[key] ?? []) yield* plots(part);
  }

  function zoomOf(spec) {
    const measured = (x) => x?.field && x.type === "quantitative" && x.axis !== null;
    const fits = ({ encoding }) => measured(encoding?.x) && encoding.x.scale?.domain?.every?.(Number.isFinite);
    const all = [...plots(spec)].map((layer) => layer.find(fits)).filter(Boolean);
    const views = all.filter(({ encoding }) => encoding.x.field === all[0].encoding.x.field);
    if (!views.length) return null;
    const { field, scale } = views[0].encoding.x;
    const [to, from] = scale.type === "log" ? [Math.log, Math.exp] : [Number, Number];
    return { views, signal: `zoom_${field.replace(/\W/g, "_")}`, to, from, whole: scale.domain.map(to) };
  }

  const isCandidate = (channel) => channel?.field === "candidate" && channel.scale;

  // The candidates that the drawn legend would pick.
  function namesOf(spec) {
    if (!spec.params?.some(({ name }) => name === PICK)) return [];
    return [...charts(spec)].find(({ encoding }) => isCandidate(encoding?.color)).encoding.color.scale.domain;
  }

  // --- the specification with what the buttons steer ---------------------------------------------

  // A legend of buttons takes the place of the drawn one: it is reached by keyboard and wraps.
  function steerable(spec, zooming) {
    const names = namesOf(spec);
    if (names.length) {
      spec.params = [...spec.params.filter(({ name }) => name !== PICK), { name: PICK, value: [] }];
      const test = `!length(${PICK}) || indexof(${PICK}, datum.candidate) >= 0`;
      for (const { encoding = {} } of charts(spec)) {
        if (encoding.opacity?.condition?.param === PICK) encoding.opacity.condition = { test, value: 1 };
        for (const channel of CHANNELS) if (isCandidate(encoding[channel])) encoding[channel].legend = null;
      }
    }
    const zoom = zoomOf(spec);
    if (zoom && zooming) {
      zoom.views.forEach((view, index) => { view.name ??= `zoomed-${index}`; });
      const select = { type: "interval", encodings: ["x"] };
      spec.params = [
        ...(spec.params ?? []),
        { name: "zoom", select, bind: "scales", views: zoom.views.map(({ name }) => name) },
      ];
    }
    return { spec, names, zoom };
  }

  // --- one figure -----------------------------------------------------------------------------

  class Live {
    constructor(figure) {
      this.figure = figure;
      this.drawing = figure.querySelector(".drawing");
      this.written = figure.querySelector("script.spec");
      this.zooming = false;
      this.picked = [];
    }

    async draw() {
      const { spec, names, zoom } = steerable(read(this.written), this.zooming);
      const stage = make("div", { class: "stage", hidden: "" });
      this.drawing.append(stage);
      try {
        const options = { renderer: "svg", actions: false, ast: true, tooltip: { theme: "custom" } };
        const made = await vegaEmbed(stage, { ...spec, config }, options);
        this.replace(stage, made);
      } catch (error) {
        stage.remove();
        throw error;
      }
      this.zoom = zoom;
      if (!this.controls) this.add(names);
      this.show();
    }

    replace(stage, made) {
      this.made?.finalize();
      this.stage?.remove();
      [this.stage, this.made, this.view] = [stage, made, made.view];
      if (this.picked.length) this.view.signal(PICK, this.picked).run();
      // The drawing around it is the image, and has the words for those who do not see it.
      for (const name of stage.getAttributeNames()) if (/^(role|aria-)/.test(name)) stage.removeAttribute(name);
      stage.setAttribute("aria-hidden", "true");
      stage.hidden = false;
      this.figure.classList.add("live");
    }

    add(names) {
      this.picks = names.length < 2 ? [] : names.map((name) => this.pickButton(name));
      this.moves = this.zoom ? this.moveButtons() : [];
      if (!this.picks.length && !this.moves.length) return;
      const label = `${this.figure.querySelector(".count").textContent}: what is shown`;
      this.controls = make("div", { class: "controls", role: "group", "aria-label": label });
      const [legend, steps] = [make("span", { class: "legend" }, ...this.picks), make("span", {}, ...this.moves)];
      this.controls.append(...[legend, steps].filter((part) => part.childElementCount));
      this.figure.querySelector(".scroll").before(this.controls);
    }

    button(words, label, act) {
      const button = make("button", { type: "button", ...(label ? { "aria-label": label } : {}) }, words);
      button.addEventListener("click", act);
      return button;
    }

    pickButton(name) {
      const button = this.button(name, "", () => {
        const others = this.picked.filter((each) => each !== name);
        this.picked = others.length < this.picked.length ? others : [...others, name];
        this.view.signal(PICK, this.picked).run();
        this.show();
      });
      button.title = "Show the others pale";
      button.value = name;
      button.prepend(swatch(name));
      return button;
    }

    moveButtons() {
      const move = (scaled, shifted) => () => this.move(scaled, shifted);
      this.switch = this.button("Zoom", "", async () => {
        this.zooming = !this.zooming;
        await this.draw();
      });
      this.switch.title = "Then the wheel zooms and the mouse moves what is drawn";
      this.steps = [
        this.button("+", "Zoom in", move(1 / STEP, 0)),
        this.button("−", "Zoom out", move(STEP, 0)),
        this.button("←", "Move to smaller values", move(1, -1 / 4)),
        this.button("→", "Move to larger values", move(1, 1 / 4)),
      ];
      return [this.switch, ...this.steps];
    }

    // Scales what is seen of the axis about its middle, moves it, and keeps it within the whole.
    move(scaled, shifted) {
      const { signal, to, from, whole } = this.zoom;
      const [low, high] = (this.view.signal(signal) ?? whole.map(from)).map(to);
      const width = Math.min((high - low) * scaled, whole[1] - whole[0]);
      const middle = (low + high) / 2 + shifted * (high - low);
      const begin = Math.min(Math.max(middle - width / 2, whole[0]), whole[1] - width);
      this.view.signal(signal, [from(begin), from(begin + width)]).run();
    }

    show() {
      for (const button of this.picks ?? []) {
        button.setAttribute("aria-pressed", this.picked.includes(button.value));
      }
      this.switch?.setAttribute("aria-pressed", this.zooming);
      for (const button of this.steps ?? []) button.hidden = !this.zooming;
    }
  }

  function swatch(name) {
    const all = [...document.getElementById("swatches").content.querySelectorAll("[data-candidate]")];
    return all.find((each) => each.dataset.candidate === name).firstElementChild.cloneNode(true);
  }

  // --- when ------------------------------------------------------------------------------------

  async function upgrade(figure) {
    try {
      await new Live(figure).draw();
      figure.dataset.state = "live";
    } catch (error) {
      figure.dataset.state = "still";
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
})();
