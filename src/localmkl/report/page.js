"use strict";
(() => {
  const data = JSON.parse(document.getElementById("numbers").textContent);
  const find = (id) => document.getElementById(id);
  const make = (tag, attributes = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  };

  const slider = find("threshold");
  if (slider) {
    const [x0, x1, y0, y1] = find("roc").dataset.ends.split(",").map(Number);
    const move = () => {
      const threshold = Number(slider.value);
      const n = { tp: 0, fp: 0, fn: 0, tn: 0 };
      data.scores.forEach((score, i) => {
        n[score >= threshold ? (data.truth[i] ? "tp" : "fp") : (data.truth[i] ? "fn" : "tn")] += 1;
      });
      const shares = {
        sensitivity: n.tp / (n.tp + n.fn), specificity: n.tn / (n.tn + n.fp),
        PPV: n.tp / (n.tp + n.fp), NPV: n.tn / (n.tn + n.fn),
      };
      find("threshold-value").textContent = threshold.toFixed(2);
      for (const [name, value] of Object.entries(n)) find(`at-${name}`).textContent = value.toLocaleString("en");
      for (const [name, value] of Object.entries(shares)) {
        find(`at-${name}`).textContent = Number.isFinite(value) ? `${Math.round(100 * value)}\u00a0%` : "–";
      }
      find("roc-point").setAttribute("cx", x0 + (x1 - x0) * (1 - shares.specificity));
      find("roc-point").setAttribute("cy", y0 + (y1 - y0) * shares.sensitivity);
    };
    slider.addEventListener("input", move);
  }

  const search = find("row-search");
  if (search) {
    const signed = (value) => (value < 0 ? "" : "+") + (Math.abs(value) >= 0.005 ? value.toFixed(2) : value.toPrecision(1));
    const show = ([name, group, predicted, truth, parts]) => {
      const reach = Math.max(...parts.map(([, value]) => Math.abs(value)), 1e-12);
      const cells = parts.flatMap(([kernel, value]) => {
        const ink = make("i", value < 0 ? { class: "minus" } : {});
        const width = 50 * Math.abs(value) / reach;
        ink.style.width = `${width}%`;
        ink.style.left = `${value < 0 ? 50 - width : 50}%`;
        return [make("span", {}, data.kernels[kernel]), make("span", { class: "bar", "aria-hidden": "true" }, ink), make("span", {}, signed(value))];
      });
      const where = group ? `, ${data.noun} ${group}` : "";
      find("row-panel").replaceChildren(
        make("p", {}, make("b", {}, name), `${where}: predicted ${predicted}, true ${truth}`),
        make("div", { class: "bars" }, ...cells),
      );
    };
    const look = () => {
      const text = search.value.trim().toLowerCase();
      const rows = data.rows;
      const row = rows.find(([name]) => name.toLowerCase() === text) || rows.find(([name]) => name.toLowerCase().includes(text));
      if (row) show(row);
      else find("row-panel").replaceChildren(make("p", {}, "No row has this name."));
    };
    search.addEventListener("input", look);
    look();
  }
  for (const box of document.querySelectorAll("[data-at]")) {
    box.scrollLeft = Number(box.dataset.at) * box.scrollWidth - box.clientWidth / 2;
  }
  document.body.dataset.drawn = "yes";
})();
