"use strict";
(function () {
  const NS = "http://www.w3.org/2000/svg";
  const data = JSON.parse(document.getElementById("data").textContent);

  function make(name, attributes, parent, text) {
    const node = document.createElementNS(NS, name);
    for (const key in attributes) node.setAttribute(key, attributes[key]);
    if (text !== undefined) node.textContent = text;
    if (parent) parent.appendChild(node);
    return node;
  }

  function html(name, attributes, parent, text) {
    const node = document.createElement(name);
    for (const key in attributes) node.setAttribute(key, attributes[key]);
    if (text !== undefined) node.textContent = text;
    if (parent) parent.appendChild(node);
    return node;
  }

  function say(value) {
    if (value === null || value === undefined) return "-";
    if (Math.abs(value) < 1e-300) return "0"; // (and not "-0")
    if (Number.isInteger(value) && Math.abs(value) < 1e9) return value.toLocaleString("en");
    return String(Number(value.toPrecision(5)));
  }

  // Beside the point (x, y) of a drawing, on whichever side there is room.
  function place(tip, figure, svg, x, y) {
    const down = svg.getBoundingClientRect().top - figure.getBoundingClientRect().top;
    const right = x + 12, left = x - 12 - tip.offsetWidth;
    const fits = right + tip.offsetWidth <= figure.clientWidth || left < 0;
    tip.style.left = Math.max(0, Math.min(fits ? right : left, figure.clientWidth - tip.offsetWidth)) + "px";
    tip.style.top = down + y + "px";
  }

  // ---- colours ----------------------------------------------------------------------------

  const themes = ["system", "dark", "light"];
  const themeButton = document.getElementById("theme");
  function remembered() {
    try { return localStorage.getItem("blockwolfe-theme") || "system"; } catch (e) { return "system"; }
  }
  function setTheme(theme) {
    if (theme === "system") document.documentElement.removeAttribute("data-theme");
    else document.documentElement.setAttribute("data-theme", theme);
    themeButton.textContent = "Colours: " + theme;
    try { localStorage.setItem("blockwolfe-theme", theme); } catch (e) { /* not kept, then */ }
  }
  themeButton.hidden = false;
  setTheme(themes.includes(remembered()) ? remembered() : "system");
  themeButton.addEventListener("click", function () {
    const now = document.documentElement.getAttribute("data-theme") || "system";
    setTheme(themes[(themes.indexOf(now) + 1) % themes.length]);
  });

  // ---- scales -----------------------------------------------------------------------------

  function linearTicks(low, high, count) {
    const rough = (high - low) / count;
    const power = Math.pow(10, Math.floor(Math.log10(rough)));
    const step = [1, 2, 5, 10].map((k) => k * power).find((s) => s >= rough * 0.999);
    const ticks = [];
    for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k++) ticks.push(k * step);
    return ticks;
  }

  function logTicks(low, high, count) {
    const first = Math.ceil(Math.log10(low) - 1e-9), last = Math.floor(Math.log10(high) + 1e-9);
    if (last - first < 1) return linearTicks(low, high, count).filter((tick) => tick > 0);
    const every = Math.max(1, Math.ceil((last - first + 1) / count));
    const ticks = [];
    for (let p = first; p <= last; p += every) ticks.push(Math.pow(10, p));
    return ticks;
  }

  // Values below the floor, if there is one, are drawn on it.
  function scale(values, isLog, from, to, count, floor) {
    const known = values.filter((v) => v !== null && isFinite(v) && (!isLog || v > 0));
    let low = Math.min(...known), high = Math.max(...known);
    if (floor && floor < high) low = Math.max(low, floor);
    if (!known.length) { low = isLog ? 0.1 : 0; high = 1; }
    if (low === high) {
      if (isLog) { low /= 2; high *= 2; } else { const pad = Math.abs(low) || 1; low -= pad / 2; high += pad / 2; }
    }
    const f = isLog ? Math.log10 : (v) => v;
    const at = (v) => from + ((f(Math.max(v, low)) - f(low)) / (f(high) - f(low))) * (to - from);
    return { at, ticks: isLog ? logTicks(low, high, count) : linearTicks(low, high, count), isLog };
  }

  // ---- curves -----------------------------------------------------------------------------

  function Chart(figure, spec) {
    this.figure = figure;
    this.spec = spec;
    this.axis = Object.keys(spec.x)[0];
    this.isLog = Boolean(spec.log);
    this.hidden = new Set();
    this.index = -1;
    this.controls();
    this.svg = make("svg", { tabindex: "0", role: "img", "aria-label": spec.title + ". Arrow keys read the values." }, figure);
    this.tip = html("div", { class: "tip", role: "status", "aria-live": "polite" }, figure);
    this.svg.addEventListener("pointermove", (event) => this.point(event));
    this.svg.addEventListener("pointerdown", (event) => this.point(event));
    this.svg.addEventListener("pointerleave", () => this.show(-1));
    this.svg.addEventListener("blur", () => this.show(-1));
    this.svg.addEventListener("keydown", (event) => this.key(event));
    this.width = 0;
    new ResizeObserver(() => {
      if (Math.abs(this.figure.clientWidth - this.width) > 1) this.draw();
    }).observe(figure);
    this.draw();
  }

  Chart.prototype.controls = function () {
    const row = html("div", { class: "row legend" }, this.figure);
    this.spec.series.concat(this.spec.band ? [this.spec.band] : []).forEach((series, k) => {
      const button = html("button", { type: "button", "aria-pressed": "true", "data-series": series.name }, row);
      const sample = make("svg", { viewBox: "0 0 22 10", "aria-hidden": "true" }, button);
      if (series.low) make("rect", { class: "band", width: 22, height: 10 }, sample);
      else this.stroke(sample, "M0 5H22", k);
      html("span", {}, button, series.name);
      button.addEventListener("click", () => {
        if (!this.hidden.delete(series.name)) this.hidden.add(series.name);
        button.setAttribute("aria-pressed", String(!this.hidden.has(series.name)));
        this.draw();
      });
    });
    if (this.spec.positive) {
      const button = html("button", { type: "button", "aria-pressed": String(this.isLog), class: "log" }, row, "log scale");
      button.addEventListener("click", () => {
        this.isLog = !this.isLog;
        button.setAttribute("aria-pressed", String(this.isLog));
        this.draw();
      });
    }
  };

  // Series differ by dashes too, not by colour alone.
  Chart.prototype.stroke = function (parent, path, k) {
    const dash = ["", "8 3", "2 3", "8 3 2 3"][k % 4];
    make("path", { class: "line s" + (k % 4), d: path, "stroke-dasharray": dash }, parent);
  };

  Chart.prototype.draw = function () {
    const spec = this.spec, svg = this.svg;
    const width = (this.width = this.figure.clientWidth), height = Math.max(210, Math.min(320, width * 0.55));
    const left = 54, right = 10, top = 10, bottom = 40;
    svg.replaceChildren();
    svg.setAttribute("viewBox", "0 0 " + width + " " + height);
    svg.style.height = height + "px";
    const xs = spec.x[this.axis];
    const shown = spec.series.filter((series) => !this.hidden.has(series.name));
    const band = spec.band && !this.hidden.has(spec.band.name) ? spec.band : null;
    let all = shown.flatMap((series) => series.values);
    if (band) all = all.concat(band.low, band.high);
    if (spec.line) all = all.concat([spec.line.value]);
    const x = scale(xs, Boolean(spec.logX), left, width - right, Math.max(3, width / 110));
    const y = scale(all, this.isLog, height - bottom, top, 5, this.isLog ? spec.floor : undefined);
    this.x = x; this.y = y; this.bottom = height - bottom; this.top = top;
    for (const tick of y.ticks) {
      make("line", { class: "grid", x1: left, x2: width - right, y1: y.at(tick), y2: y.at(tick) }, svg);
      make("text", { x: left - 6, y: y.at(tick) + 4, "text-anchor": "end" }, svg, say(tick));
    }
    for (const tick of x.ticks) {
      make("line", { class: "grid", x1: x.at(tick), x2: x.at(tick), y1: top, y2: height - bottom }, svg);
      make("text", { x: x.at(tick), y: height - bottom + 15, "text-anchor": "middle" }, svg, say(tick));
    }
    make("text", { class: "strong", x: (left + width) / 2, y: height - 6, "text-anchor": "middle" }, svg, this.axis);
    if (band) this.drawBand(band, xs);
    if (spec.line && (!this.isLog || spec.line.value > 0)) {
      const at = y.at(spec.line.value);
      make("line", { class: "tol", x1: left, x2: width - right, y1: at, y2: at }, svg);
      make("text", { x: width - right, y: at - 4, "text-anchor": "end" }, svg, spec.line.name);
    }
    spec.series.forEach((series, k) => { if (shown.includes(series)) this.drawSeries(series, xs, k); });
    this.mark = make("g", {}, svg);
    this.show(this.index);
  };

  Chart.prototype.isKnown = function (value) {
    return value !== null && value !== undefined && (!this.isLog || value > 0);
  };

  Chart.prototype.drawSeries = function (series, xs, k) {
    const points = xs.map((x, i) => [x, series.values[i]]).filter((p) => this.isKnown(p[1]));
    const path = points.map((p, i) => (i ? "L" : "M") + this.x.at(p[0]).toFixed(1) + " " + this.y.at(p[1]).toFixed(1));
    this.stroke(this.svg, path.join(""), k);
    if (points.length > 60) return;
    for (const p of points) make("circle", { class: "d" + (k % 4), cx: this.x.at(p[0]), cy: this.y.at(p[1]), r: 2.5 }, this.svg);
  };

  Chart.prototype.drawBand = function (band, xs) {
    const kept = xs.map((_, i) => i).filter((i) => this.isKnown(band.low[i]) && this.isKnown(band.high[i]));
    const point = (i, values) => this.x.at(xs[i]).toFixed(1) + " " + this.y.at(values[i]).toFixed(1);
    const forth = kept.map((i) => point(i, band.high)), back = kept.map((i) => point(i, band.low)).reverse();
    if (kept.length > 1) make("path", { class: "band", d: "M" + forth.concat(back).join("L") + "Z" }, this.svg);
  };

  Chart.prototype.readable = function () {
    const shown = this.spec.series.filter((series) => !this.hidden.has(series.name));
    return this.spec.x[this.axis].map((_, i) => i).filter((i) => shown.some((s) => this.isKnown(s.values[i])));
  };

  Chart.prototype.point = function (event) {
    const box = this.svg.getBoundingClientRect(), at = event.clientX - box.left;
    const xs = this.spec.x[this.axis];
    let best = -1, distance = Infinity;
    for (const i of this.readable()) {
      const d = Math.abs(this.x.at(xs[i]) - at);
      if (d < distance) { best = i; distance = d; }
    }
    this.show(best);
  };

  Chart.prototype.key = function (event) {
    const kept = this.readable();
    if (!kept.length) return;
    const now = kept.indexOf(this.index);
    const moves = { ArrowRight: now + 1, ArrowLeft: now < 0 ? kept.length - 1 : now - 1, Home: 0, End: kept.length - 1 };
    if (event.key === "Escape") this.show(-1);
    if (!(event.key in moves)) return;
    event.preventDefault();
    this.show(kept[Math.max(0, Math.min(kept.length - 1, moves[event.key]))]);
  };

  Chart.prototype.show = function (i) {
    this.index = i;
    this.mark.replaceChildren();
    if (i < 0) { this.tip.textContent = ""; return; }
    const x = this.x.at(this.spec.x[this.axis][i]);
    const lines = [this.axis + " " + say(this.spec.x[this.axis][i])];
    make("line", { class: "cross", x1: x, x2: x, y1: this.top, y2: this.bottom }, this.mark);
    this.spec.series.forEach((series, k) => {
      if (this.hidden.has(series.name) || !this.isKnown(series.values[i])) return;
      make("circle", { class: "d" + (k % 4), cx: x, cy: this.y.at(series.values[i]), r: 4.5 }, this.mark);
      lines.push(series.name + " " + say(series.values[i]));
    });
    this.tip.textContent = lines.join("\n");
    place(this.tip, this.figure, this.svg, x, this.top);
  };

  // ---- heat maps --------------------------------------------------------------------------

  function HeatMap(figure, spec) {
    this.figure = figure;
    this.spec = spec;
    this.row = this.column = -1;
    this.svg = make("svg", { tabindex: "0", role: "img", "aria-label": spec.title + ". Arrow keys read the cells." }, figure);
    this.tip = html("div", { class: "tip", role: "status", "aria-live": "polite" }, figure);
    this.svg.addEventListener("pointermove", (event) => this.point(event));
    this.svg.addEventListener("pointerdown", (event) => this.point(event));
    this.svg.addEventListener("pointerleave", () => this.show(-1, -1));
    this.svg.addEventListener("blur", () => this.show(-1, -1));
    this.svg.addEventListener("keydown", (event) => this.key(event));
    this.width = 0;
    new ResizeObserver(() => {
      if (Math.abs(this.figure.clientWidth - this.width) > 1) this.draw();
    }).observe(figure);
    this.draw();
  }

  HeatMap.prototype.draw = function () {
    const spec = this.spec, n = spec.labels.length, svg = this.svg;
    const longest = Math.min(12, Math.max(...spec.labels.map((label) => label.length)));
    const room = longest * 6.5 + 22;
    const width = (this.width = this.figure.clientWidth);
    const cell = (this.cell = Math.min(44, (width - room - 4) / n));
    const height = room + cell * n + 4;
    this.room = room;
    svg.replaceChildren();
    svg.setAttribute("viewBox", "0 0 " + width + " " + height);
    svg.style.height = height + "px";
    const every = Math.ceil(11 / cell);
    const short = (label) => (label.length > 12 ? label.slice(0, 11) + "…" : label);
    make("text", { class: "strong", x: room + (cell * n) / 2, y: 11, "text-anchor": "middle" }, svg, spec.columns);
    make("text", { class: "strong", x: 0, y: 0, "text-anchor": "middle", transform: "translate(11 " + (room + (cell * n) / 2) + ") rotate(-90)" }, svg, spec.rows);
    spec.labels.forEach((label, k) => {
      if (k % every) return;
      const middle = room + cell * (k + 0.5);
      make("text", { x: room - 4, y: middle + 4, "text-anchor": "end" }, svg, short(label));
      make("text", { transform: "translate(" + (middle + 4) + " " + (room - 4) + ") rotate(-90)" }, svg, short(label));
    });
    const largest = Math.max(...spec.values.flat().map(Math.abs)) || 1;
    spec.values.forEach((row, i) => row.forEach((value, j) => {
      if (!value) return;
      const share = (spec.shares ? spec.shares[i][j] : Math.abs(value) / largest) || 0;
      make("rect", { class: value > 0 ? "plus" : "minus", "fill-opacity": (0.06 + 0.94 * share).toFixed(3), x: room + cell * j, y: room + cell * i, width: cell, height: cell }, svg);
      if (cell < 26 || n > 15) return;
      const text = Number.isInteger(value) ? say(value) : String(Number(value.toPrecision(2)));
      make("text", { class: "strong", x: room + cell * (j + 0.5), y: room + cell * (i + 0.5) + 4, "text-anchor": "middle" }, svg, text);
    }));
    make("rect", { fill: "none", class: "grid", x: room, y: room, width: cell * n, height: cell * n }, svg);
    this.mark = make("g", {}, svg);
    this.show(this.row, this.column);
  };

  HeatMap.prototype.point = function (event) {
    const box = this.svg.getBoundingClientRect();
    const column = Math.floor((event.clientX - box.left - this.room) / this.cell);
    const row = Math.floor((event.clientY - box.top - this.room) / this.cell);
    const n = this.spec.labels.length;
    if (row < 0 || column < 0 || row >= n || column >= n) this.show(-1, -1);
    else this.show(row, column);
  };

  HeatMap.prototype.key = function (event) {
    const moves = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] };
    if (event.key === "Escape") this.show(-1, -1);
    if (!(event.key in moves)) return;
    event.preventDefault();
    const last = this.spec.labels.length - 1, to = (v, by) => Math.max(0, Math.min(last, v + by));
    if (this.row < 0) this.show(0, 0);
    else this.show(to(this.row, moves[event.key][0]), to(this.column, moves[event.key][1]));
  };

  HeatMap.prototype.show = function (row, column) {
    const spec = this.spec;
    this.row = row; this.column = column;
    this.mark.replaceChildren();
    if (row < 0) { this.tip.textContent = ""; return; }
    const x = this.room + this.cell * column, y = this.room + this.cell * row;
    make("rect", { class: "cursor", x, y, width: this.cell, height: this.cell }, this.mark);
    this.tip.textContent = spec.rows + " " + spec.labels[row] + "\n" + spec.columns + " " + spec.labels[column] + "\n" + spec.unit + " " + say(spec.values[row][column]);
    place(this.tip, this.figure, this.svg, x + this.cell, y);
  };

  // ---- all of them ------------------------------------------------------------------------

  const charts = [];
  for (const figure of document.querySelectorAll("figure[data-figure]")) {
    const spec = data[figure.getAttribute("data-figure")];
    if (spec.series) charts.push(new Chart(figure, spec));
    else new HeatMap(figure, spec);
  }
  const select = document.getElementById("x-axis");
  if (select) {
    select.closest(".row").hidden = false;
    select.addEventListener("change", function () {
      for (const chart of charts) {
        if (!(select.value in chart.spec.x)) continue;
        chart.axis = select.value;
        chart.index = -1;
        chart.draw();
      }
    });
  }
})();
