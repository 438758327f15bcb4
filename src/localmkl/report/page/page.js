"use strict";
(() => {
  const { charts, modes, kernels, regions } = JSON.parse(document.getElementById("data").textContent);
  const make = (tag, attributes = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  };

  const tooltip = make("div", { id: "tooltip", role: "tooltip" });
  document.body.append(tooltip);
  const showTooltip = (_, event, item, value) => {
    if (value === null || value === undefined || value === "") {
      tooltip.style.visibility = "hidden";
      return;
    }
    const pairs = typeof value === "object" ? Object.entries(value) : [["", value]];
    tooltip.replaceChildren(...pairs.map(([key, text]) => {
      const bare = key === "" || key === "name" || key === "note";
      return make("div", {}, bare ? String(text) : `${key}: ${text}`);
    }));
    const box = tooltip.getBoundingClientRect();
    const left = Math.min(event.clientX + 14, window.innerWidth - box.width - 8);
    const below = event.clientY + 16 + box.height < window.innerHeight;
    tooltip.style.left = `${Math.max(8, left)}px`;
    tooltip.style.top = `${below ? event.clientY + 16 : event.clientY - box.height - 10}px`;
    tooltip.style.visibility = "visible";
  };
  document.addEventListener("scroll", () => { tooltip.style.visibility = "hidden"; }, { passive: true });

  const draw = async (place) => (await vegaEmbed(place, charts[place.dataset.chart], {
    mode: "vega-lite", renderer: "svg", actions: false, defaultStyle: false, tooltip: showTooltip,
  })).view;

  const symbol = (shape, color) => {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("width", "14");
    svg.setAttribute("height", "14");
    svg.setAttribute("viewBox", "-7 -7 14 14");
    svg.setAttribute("aria-hidden", "true");
    const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
    path.setAttribute("d", SHAPES[shape] || SHAPES.circle);
    path.setAttribute("fill", color);
    svg.append(path);
    return svg;
  };
  const SHAPES = {
    "circle": "M5.5 0A5.5 5.5 0 1 1-5.5 0A5.5 5.5 0 1 1 5.5 0Z",
    "square": "M-5-5H5V5H-5Z",
    "diamond": "M0-6.5L6 0L0 6.5L-6 0Z",
    "triangle-up": "M0-6L6 5H-6Z",
    "triangle-down": "M0 6L6-5H-6Z",
    "triangle-left": "M-6 0L5-6V6Z",
    "triangle-right": "M6 0L-5-6V6Z",
    "cross": "M-6-2H-2V-6H2V-2H6V2H2V6H-2V2H-6Z",
  };

  const signed = (value) => {
    const plain = value === 0 || (Math.abs(value) >= 0.005 && Math.abs(value) < 1e9);
    return (value < 0 ? "" : "+") + (plain ? value.toFixed(2) : value.toExponential(1));
  };

  const bars = (names, values, swing) => {
    const reach = Math.max(...values.map(Math.abs), 1e-12);
    const cells = [];
    names.forEach((name, k) => {
      const share = Math.abs(values[k]) / reach;
      const ink = make("i", { class: values[k] < 0 ? "minus" : "plus" });
      const width = swing ? 50 * share : 100 * share;
      ink.style.width = `${width}%`;
      ink.style.left = swing ? `${values[k] < 0 ? 50 - width : 50}%` : "0";
      const text = swing ? signed(values[k]) : `${Math.round(100 * values[k])} %`;
      cells.push(make("span", {}, name));
      cells.push(make("span", { class: swing ? "bar swing" : "bar", "aria-hidden": "true" }, ink));
      cells.push(make("span", { class: "value" }, text));
    });
    return make("div", { class: "bars" }, ...cells);
  };

  const connectMap = (view) => {
    const samples = charts.map.data.values;
    const [mode, sample, legend, panel] = ["mode", "sample", "legend", "panel"]
      .map((name) => document.getElementById(`map-${name}`));
    const strongest = (parts, most) => parts.map((part, m) => [Math.abs(part), m])
      .sort((a, b) => b[0] - a[0]).slice(0, most).map(([, m]) => m).sort((a, b) => a - b);

    const describe = (row) => {
      const content = [make("p", { class: "name" }, row.name), make("p", {}, row.note)];
      if (row.letters) content.push(make("p", { class: "letters" }, row.letters));
      if (row.members.length > 1) {
        content.push(make("p", { class: "soft" }, "Memberships"));
        content.push(bars(regions, row.members, false));
      }
      const most = strongest(row.parts, 10);
      const rest = row.parts.length > most.length ? `, the ${most.length} strongest of ${row.parts.length}` : "";
      content.push(make("p", { class: "soft" }, `What each kernel adds to the decision${rest}`));
      content.push(bars(most.map((m) => kernels[m]), most.map((m) => row.parts[m]), true));
      const all = row.parts.reduce((sum, part) => sum + part, 0);
      content.push(make("p", { class: "soft" }, `All kernels ${signed(all)}, intercept ${signed(row.base)}.`));
      panel.replaceChildren(...content);
    };
    const choose = (id) => {
      view.signal("chosen", id).runAsync();
      sample.value = String(id);
      if (id >= 0) describe(samples[id]);
    };
    const colour = () => {
      const chosen = modes[Number(mode.value)];
      view.signal("mode", chosen.mode);
      if (chosen.mode === "kernel") view.signal("kernel", chosen.kernel).signal("reach", chosen.reach);
      view.runAsync();
      legend.classList.toggle("steps", chosen.mode === "kernel" || chosen.mode === "value");
      legend.replaceChildren(...chosen.legend.map(({ label, color, shape }, k, all) => {
        const ends = label && k === 0 && legend.classList.contains("steps");
        return ends ? make("li", {}, label, symbol(shape, color)) : make("li", {}, symbol(shape, color), label);
      }));
    };

    sample.append(...samples.map((row) => make("option", { value: String(row.id) }, row.name)));
    sample.addEventListener("change", () => choose(Number(sample.value)));
    mode.addEventListener("change", colour);
    const row = (item) => (item && item.datum && item.datum.id !== undefined ? item.datum : null);
    view.addEventListener("mouseover", (_, item) => { if (row(item)) describe(samples[row(item).id]); });
    view.addEventListener("click", (_, item) => { if (row(item)) choose(row(item).id); });
    colour();
  };

  const drawn = [...document.querySelectorAll("[data-chart]")].map(async (place) => {
    const view = await draw(place);
    if (place.dataset.chart === "map") connectMap(view);
  });
  Promise.all(drawn).then(() => document.body.setAttribute("data-drawn", "yes"));
})();
