"use strict";
// Charts are drawn from the JSON in the page. Names are put in as text, never as HTML.
(() => {
  const report = JSON.parse(document.getElementById("data").textContent);

  // Elements

  const SVG = "http://www.w3.org/2000/svg";
  const fill = (node, attributes, children) => {
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.append(...children);
    return node;
  };
  const svg = (name, attributes = {}, ...children) => fill(document.createElementNS(SVG, name), attributes, children);
  const html = (name, attributes = {}, ...children) => fill(document.createElement(name), attributes, children);

  // Numbers

  const minus = (text) => text.replace("-", "−");
  const short = (number) => {
    if (number === 0) return "0";
    if (!Number.isFinite(number)) return "–";
    const magnitude = Math.floor(Math.log10(Math.abs(number)));
    const plain = magnitude >= -4 && magnitude < 7;
    return minus(plain ? number.toFixed(Math.max(0, 3 - magnitude)) : number.toExponential(3));
  };
  const grouped = (number) => String(Math.round(number)).replace(/(\d)(?=(\d{3})+$)/g, number > 9999 ? "$1\u202f" : "$1");
  const tick = (number, step) => {
    if (Math.abs(number) >= 1e6 || (step < 1e-4 && number !== 0)) return minus(number.toExponential(0));
    const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
    const text = minus(number.toFixed(digits));
    return digits === 0 ? minus(grouped(number)) : text;
  };
  const ticks = (low, high, count) => {
    const rough = (high - low) / Math.max(1, count);
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = power * ([1, 2, 5, 10].find((by) => power * by >= rough) ?? 10);
    const list = [];
    for (let at = Math.ceil(low / step - 1e-9); at * step <= high + step * 1e-9; at++) list.push(at * step);
    return { list, step };
  };
  const extent = (numbers, from = Infinity, to = -Infinity) => {
    let [low, high] = [from, to];
    for (const number of numbers) {
      if (!Number.isFinite(number)) continue;
      low = Math.min(low, number);
      high = Math.max(high, number);
    }
    if (low > high) return [0, 1];
    return low === high ? [low - 0.5, high + 0.5] : [low, high];
  };
  const scale = ([low, high], from, to) => (number) => from + ((number - low) / (high - low)) * (to - from);

  // Tips, which hovering and the arrow keys show

  const tip = document.getElementById("tip");
  const hideTip = () => { tip.hidden = true; };
  const showTip = (x, y, lines) => {
    tip.replaceChildren(html("b", {}, lines[0]), ...lines.slice(1).map((line) => html("div", {}, line)));
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    const width = document.documentElement.clientWidth;
    tip.style.left = `${Math.max(6, Math.min(x - box.width / 2, width - box.width - 6)) + window.scrollX}px`;
    tip.style.top = `${(y - box.height - 12 < 4 ? y + 16 : y - box.height - 12) + window.scrollY}px`;
  };

  // A chart: `draw` fills an SVG of the width that there is and gives the marks that have something to say

  const plot = (holder, height, draw) => {
    let width = 0;
    const render = () => {
      const now = Math.floor(holder.clientWidth);
      if (now === width || now < 40) return;
      width = now;
      const tall = typeof height === "function" ? height(width) : height;
      const picture = svg("svg", {
        viewBox: `0 0 ${width} ${tall}`, width, height: tall, tabindex: "0", role: "img",
        "aria-label": `${holder.dataset.title}. Arrow keys go through its marks.`,
      });
      holder.querySelector("svg")?.remove();
      holder.prepend(picture);
      const marks = [];
      const mark = (node, x, y, lines, more = {}) => marks.push({ node, x, y, lines, ...more });
      const options = draw({ picture, width, height: tall, mark }) ?? {};
      listen(picture, marks, options, width);
    };
    new ResizeObserver(render).observe(holder);
    holder.redraw = () => { width = 0; render(); };
    render();
  };
  const listen = (picture, marks, options, width) => {
    if (marks.length === 0) return;
    let current = -1;
    const toPage = () => {
      const box = picture.getBoundingClientRect();
      return { box, by: box.width / width };
    };
    const select = (place) => {
      marks[current]?.node.classList.remove("on");
      current = place;
      if (place < 0) return hideTip();
      const { box, by } = toPage();
      const { node, x, y, lines } = marks[place];
      node.classList.add("on");
      showTip(box.left + x * by, box.top + y * by, lines);
    };
    const nearest = (event) => {
      const { box, by } = toPage();
      const [x, y] = [(event.clientX - box.left) / by, (event.clientY - box.top) / by];
      let [best, least] = [-1, Infinity];
      marks.forEach((mark, place) => {
        if (mark.faint?.()) return;
        const far = options.along ? Math.abs(mark.x - x) + Math.abs(mark.y - y) * 0.01 : Math.hypot(mark.x - x, mark.y - y);
        if (far < least) [best, least] = [place, far];
      });
      return least < (options.reach ?? 60) ? best : -1;
    };
    picture.addEventListener("pointermove", (event) => select(nearest(event)));
    picture.addEventListener("pointerdown", (event) => select(nearest(event)));
    picture.addEventListener("pointerleave", () => select(-1));
    picture.addEventListener("blur", () => select(-1));
    picture.addEventListener("keydown", (event) => {
      const stride = options.stride ?? 1;
      const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: stride, ArrowUp: -stride }[event.key];
      if (event.key === "Escape") return select(-1);
      if (step === undefined) return;
      event.preventDefault();
      const next = current < 0 ? 0 : current + step;
      if (next >= 0 && next < marks.length) select(next);
    });
  };

  // Axes

  // About as wide as a text is, and where its middle can be so that all of it is in the picture.
  const wide = (text) => 7 * String(text).length;
  const within = (middle, text, width) => Math.min(Math.max(middle, wide(text) / 2), width - wide(text) / 2);
  const axes = (chart, options) => {
    const { picture, width, height } = chart;
    const [top, bottom] = [options.top ?? 10, height - (options.bottom ?? 38)];
    const across = ticks(...options.y, (bottom - top) / 45);
    const left = Math.max(options.left ?? 48, 14 + Math.max(...across.list.map((at) => wide(tick(at, across.step)))));
    const frame = { left, right: width - (options.right ?? 12), top, bottom };
    const x = scale(options.x, frame.left, frame.right);
    const y = scale(options.y, frame.bottom, frame.top);
    for (const at of across.list) {
      picture.append(
        svg("line", { class: "grid", x1: frame.left, x2: frame.right, y1: y(at), y2: y(at) }),
        svg("text", { x: frame.left - 7, y: y(at) + 4, "text-anchor": "end" }, tick(at, across.step)),
      );
    }
    if (options.xList) {
      for (const at of options.xList) {
        picture.append(svg("text", { x: x(at), y: frame.bottom + 16, "text-anchor": "middle" }, String(at)));
      }
    } else if (options.xTicks !== false) {
      const along = ticks(...options.x, (frame.right - frame.left) / 62);
      for (const at of along.list) {
        if (options.whole && at % 1 !== 0) continue;
        const text = tick(at, along.step);
        picture.append(svg("text", { x: within(x(at), text, width), y: frame.bottom + 16, "text-anchor": "middle" }, text));
      }
    }
    picture.append(svg("line", { class: "axis", x1: frame.left, x2: frame.right, y1: frame.bottom, y2: frame.bottom }));
    if (options.xName) {
      picture.append(svg("text", { x: (frame.left + frame.right) / 2, y: height - 4, "text-anchor": "middle" }, options.xName));
    }
    return { x, y, frame };
  };
  const path = (points) => points.map(([x, y], place) => `${place ? "L" : "M"}${x.toFixed(1)},${y.toFixed(1)}`).join("");

  // The kinds of charts

  const course = (holder, by, xName) => {
    const { kept } = report.course;
    // A run that diverged has epochs without a number.
    const steps = report.course.steps.filter((step) => Number.isFinite(step.train) || Number.isFinite(step.test));
    const series = [["train", (step) => step.train], ["test", (step) => step.test]]
      .filter(([, of]) => steps.some((step) => of(step) !== null && of(step) !== undefined));
    plot(holder, 260, (chart) => {
      const values = series.flatMap(([, of]) => steps.map(of)).filter((value) => value !== null);
      const [low, high] = extent(values);
      const pad = (high - low) * 0.06;
      const { x, y, frame } = axes(chart, {
        x: extent(steps.map((step) => step[by])), y: [low - pad, high + pad], right: 46, xName, whole: by === "epoch",
      });
      const ends = [];
      const found = steps.find((step) => step.epoch === kept);
      if (found) {
        const at = x(found[by]);
        chart.picture.append(svg("line", { class: "guide", x1: at, x2: at, y1: frame.top, y2: frame.bottom }));
        const right = at > (frame.left + frame.right) / 2;
        chart.picture.append(svg("text", { class: "kept", x: at + (right ? -7 : 7), y: frame.top + 10, "text-anchor": right ? "end" : "start" }, `kept: epoch ${kept}`));
      }
      for (const [name, of] of series) {
        const points = steps.filter((step) => Number.isFinite(of(step)));
        chart.picture.append(svg("path", { class: `line ${name}`, d: path(points.map((step) => [x(step[by]), y(of(step))])) }));
        const last = points[points.length - 1];
        if (last) ends.push([y(of(last)), name]);
        if (found && Number.isFinite(of(found))) {
          chart.picture.append(svg("circle", { class: "kept", cx: x(found[by]), cy: y(of(found)), r: 5 }));
        }
      }
      // Words at the ends of lines do not lie on each other.
      ends.sort((a, b) => a[0] - b[0]);
      if (ends.length === 2 && ends[1][0] - ends[0][0] < 15) {
        const middle = (ends[0][0] + ends[1][0]) / 2;
        [ends[0][0], ends[1][0]] = [middle - 7.5, middle + 7.5];
      }
      for (const [at, name] of ends) chart.picture.append(svg("text", { class: name, x: frame.right + 8, y: at + 4 }, name));
      for (const step of steps) {
        const top = Math.min(...series.map(([, of]) => of(step)).filter(Number.isFinite).map(y));
        const node = svg("circle", { class: "cursor", cx: x(step[by]), cy: top, r: 0 });
        chart.picture.append(node);
        const lines = [`epoch ${step.epoch}${step.epoch === kept ? ", kept" : ""}`, `${short(step.seconds)} s`];
        for (const [name, of] of series) if (Number.isFinite(of(step))) lines.push(`${name} RMSE ${short(of(step))}`);
        chart.mark(node, x(step[by]), top, lines);
      }
      return { along: true };
    });
  };

  const histogram = (holder, bars, name, words, tall = 210) => {
    plot(holder, tall, (chart) => {
      const { x, y, frame } = axes(chart, {
        x: [bars[0].low, bars[bars.length - 1].high], y: [0, Math.max(1, ...bars.map((bar) => bar.count)) * 1.05], xName: name,
      });
      for (const bar of bars) {
        const [from, to] = [x(bar.low), x(bar.high)];
        const node = svg("rect", { class: "bar", x: from + 0.5, width: Math.max(0.5, to - from - 1), y: y(bar.count), height: Math.max(0, frame.bottom - y(bar.count)) });
        chart.picture.append(node);
        chart.mark(node, (from + to) / 2, y(bar.count), words(bar));
      }
      return { along: true };
    });
  };

  const columns = (holder, list, options) => {
    plot(holder, 210, (chart) => {
      const most = Math.max(...list.map((item) => item.value).filter(Number.isFinite), 1e-12);
      const { y, frame } = axes(chart, { x: [0, list.length], y: [0, most * 1.08], xTicks: false, xName: options.xName });
      const step = (frame.right - frame.left) / list.length;
      const longest = Math.max(...list.map((item) => item.name.length)) * 6.6 + 10;
      const every = Math.max(1, Math.ceil(longest / step));
      list.forEach((item, place) => {
        const from = frame.left + place * step;
        const gap = Math.min(6, step * 0.12);
        const node = svg("rect", { class: `bar ${options.class ?? ""}`, x: from + gap, width: Math.max(1, step - 2 * gap), y: y(item.value), height: Math.max(0, frame.bottom - y(item.value)), rx: Math.min(2, step / 6) });
        chart.picture.append(node);
        if (place % every === 0) {
          const middle = within(from + step / 2, item.name, chart.width);
          chart.picture.append(svg("text", { x: middle, y: frame.bottom + 16, "text-anchor": "middle" }, item.name));
        }
        chart.mark(node, from + step / 2, y(item.value), item.lines);
      });
      return { along: true };
    });
  };

  const calibration = (holder, levels) => {
    plot(holder, 300, (chart) => {
      const all = extent(levels.flatMap((level) => [level.predicted, level.low, level.high]));
      const { x, y } = axes(chart, { x: extent(levels.map((level) => level.predicted)), y: all, xName: `predicted ${report.value}` });
      const diagonal = extent(levels.map((level) => level.predicted));
      const above = levels.map((level) => [x(level.predicted), y(level.high)]);
      const below = levels.map((level) => [x(level.predicted), y(level.low)]).reverse();
      chart.picture.append(
        svg("path", { class: "band", d: `${path([...above, ...below])}Z` }),
        svg("path", { class: "even", d: path(diagonal.map((at) => [x(at), y(at)])) }),
      );
      for (const level of levels) {
        const [cx, cy] = [x(level.predicted), y(level.observed)];
        const node = svg("circle", { class: "point", cx, cy, r: 4.5 });
        chart.picture.append(node);
        chart.mark(node, cx, cy, [
          `predicted ${short(level.predicted)}`, `observed ${short(level.observed)} in the mean`,
          `8 in 10 from ${short(level.low)} to ${short(level.high)}`, `${grouped(level.entries)} entries`,
        ]);
      }
      return { along: true };
    });
    holder.append(html("p", { class: "scale" }, "Points are means, the band holds 8 in 10; on the dashed line both are the same."));
  };

  const core = (holder, { modes, values }) => {
    const sizes = modes.map((mode) => mode.places.length);
    const at = sizes.map(() => 0);
    const most = Math.max(...values.map((value) => Math.abs(value)));
    // The number of mean entities alone would leave all others pale.
    const usual = Math.max(...values.filter((_, place) => place > 0).map((value) => Math.abs(value))) || most || 1;
    const value = (row, column) => {
      const place = [row, column, ...at.slice(2)];
      return values[place.reduce((sum, k, mode) => sum * sizes[mode] + k, 0)];
    };
    const [rows, across] = [modes[0].places, modes[1].places];
    const slices = document.getElementById("slices");
    modes.slice(2).forEach((mode, number) => {
      const choice = html("select", {});
      mode.places.forEach((part, place) => {
        choice.append(html("option", { value: place }, part.about ? `${part.name}: ${part.about}` : part.name));
      });
      choice.addEventListener("change", () => {
        at[number + 2] = Number(choice.value);
        holder.redraw();
      });
      slices.append(html("label", {}, `slice of ${mode.name}`, choice));
    });
    const left = 46;
    plot(holder, (width) => 44 + rows.length * Math.min(34, Math.max(14, (width - left - 4) / across.length)), (chart) => {
      const cell = (chart.width - left - 4) / across.length;
      const tall = (chart.height - 44) / rows.length;
      const words = (part) => (part.about ? `${part.name}: ${part.about}` : part.name);
      across.forEach((part, column) => {
        if (cell < 22 && column % 2) return;
        chart.picture.append(svg("text", { x: left + (column + 0.5) * cell, y: 34, "text-anchor": "middle" }, part.name));
      });
      chart.picture.append(svg("text", { class: "strong", x: left, y: 13 }, `${modes[1].name} across, ${modes[0].name} down`));
      rows.forEach((part, row) => {
        chart.picture.append(svg("text", { x: left - 7, y: 44 + (row + 0.5) * tall + 4, "text-anchor": "end" }, part.name));
        across.forEach((other, column) => {
          const number = value(row, column);
          const share = Math.round(100 * Math.min(1, Math.abs(number) / usual) ** 0.6);
          const colour = number < 0 ? "--below" : "--above";
          const [x, y] = [left + column * cell, 44 + row * tall];
          const node = svg("rect", { class: "cell", x, y, width: cell, height: tall, rx: 2, style: `fill: color-mix(in oklab, var(${colour}) ${share}%, var(--raised))` });
          chart.picture.append(node);
          if (cell >= 42 && tall >= 18) {
            const strong = share > 60 ? " strong" : "";
            const text = Math.abs(number) < 0.005 ? "0" : minus(number.toFixed(Math.abs(number) >= 9.995 ? 1 : 2));
            chart.picture.append(svg("text", { class: `cell-text${strong}`, x: x + cell / 2, y: y + tall / 2 + 4, "text-anchor": "middle" }, text));
          }
          const slice = modes.slice(2).map((mode, number) => words(mode.places[at[number + 2]]));
          chart.mark(node, x + cell / 2, y + tall / 2, [short(number), words(part), words(other), ...slice]);
        });
      });
      return { stride: across.length, reach: Math.max(cell, tall) };
    });
    holder.append(html("div", { class: "scale" }, `−${short(usual)}`, html("i", { "aria-hidden": "true" }), `+${short(usual)}`));
  };

  const curve = (holder, card) => {
    plot(holder, 74, (chart) => {
      const values = card.times.map((time) => time.score);
      const times = card.times.map((time) => time.name);
      const [low, high] = extent(values, Math.min(0, ...values), Math.max(0, ...values));
      const x = scale([0, Math.max(1, values.length - 1)], 3, chart.width - 3);
      const y = scale([low, high], 54, 6);
      const zero = y(Math.max(low, Math.min(high, 0)));
      chart.picture.append(
        svg("path", { class: "band", d: `${path(values.map((value, place) => [x(place), y(value)]))}L${x(values.length - 1)},${zero}L${x(0)},${zero}Z` }),
        svg("line", { class: "axis", x1: 3, x2: chart.width - 3, y1: zero, y2: zero }),
        svg("path", { class: "line train", d: path(values.map((value, place) => [x(place), y(value)])) }),
        svg("text", { x: 3, y: 70 }, times[0] ?? ""),
        svg("text", { x: chart.width - 3, y: 70, "text-anchor": "end" }, times[times.length - 1] ?? ""),
      );
      values.forEach((value, place) => {
        const node = svg("circle", { class: "point", cx: x(place), cy: y(value), r: values.length > 60 ? 1.5 : 2.5 });
        chart.picture.append(node);
        chart.mark(node, x(place), y(value), [times[place] ?? "", short(value)]);
      });
      return { along: true };
    });
  };

  const map = (holder, group) => {
    let only = -1;
    const draw = () => plot(holder, (width) => Math.min(400, Math.max(290, width * 0.72)), (chart) => {
      const { points } = group;
      const pad = 14;
      const [xs, ys] = [0, 1].map((axis) => extent(points.map((point) => point[axis])));
      // One unit is as long across as it is down, so that distances are those of the map.
      const unit = Math.min((chart.width - 2 * pad) / (xs[1] - xs[0]), (chart.height - 2 * pad) / (ys[1] - ys[0]));
      const x = (at) => chart.width / 2 + (at - (xs[0] + xs[1]) / 2) * unit;
      const y = (at) => chart.height / 2 - (at - (ys[0] + ys[1]) / 2) * unit;
      const centres = group.clusters.map(() => [0, 0, 0]);
      const radius = points.length > 600 ? 2.6 : points.length > 150 ? 3.6 : 5;
      for (const [px, py, cluster, name] of points) {
        const faint = only >= 0 && only !== cluster;
        const node = svg("circle", { class: `dot-mark${faint ? " faint" : ""}`, cx: x(px).toFixed(1), cy: y(py).toFixed(1), r: radius, style: `fill: var(--c${(cluster % 12) + 1})` });
        chart.picture.append(node);
        chart.mark(node, x(px), y(py), [name, `cluster ${cluster + 1}`], { faint: () => faint });
        const centre = centres[cluster];
        if (centre) centres[cluster] = [centre[0] + x(px), centre[1] + y(py), centre[2] + 1];
      }
      centres.forEach(([sx, sy, count], cluster) => {
        if (count === 0) return;
        chart.picture.append(svg("text", { class: "centre", x: sx / count, y: sy / count + 4, "text-anchor": "middle", "aria-hidden": "true" }, String(cluster + 1)));
      });
      return { reach: 24 };
    });
    draw();
    const legend = html("div", { class: "legend", role: "group", "aria-label": "Show one cluster" });
    group.clusters.forEach((cluster, place) => {
      const dot = html("i", { class: "dot", style: `background: var(--c${(place % 12) + 1})` });
      const button = html("button", { type: "button", "aria-pressed": "false" }, dot, `${cluster.cluster}`);
      button.addEventListener("click", () => {
        only = only === place ? -1 : place;
        for (const [other, node] of [...legend.children].entries()) node.setAttribute("aria-pressed", String(other === only));
        holder.redraw();
      });
      legend.append(button);
    });
    holder.append(legend);
  };

  const gap = (holder, { gaps, k }) => {
    plot(holder, (width) => (width > 360 ? 436 : 260), (chart) => {
      const [low, high] = extent(gaps.flatMap((gap) => [gap.gap - gap.error, gap.gap + gap.error]));
      const pad = (high - low) * 0.08;
      const { x, y, frame } = axes(chart, { x: [0.5, gaps.length + 0.5], y: [low - pad, high + pad], xName: "clusters", xList: gaps.map((gap) => gap.k) });
      chart.picture.append(svg("path", { class: "line train", d: path(gaps.map((gap) => [x(gap.k), y(gap.gap)])) }));
      for (const gap of gaps) {
        const at = x(gap.k);
        const [top, bottom] = [y(gap.gap + gap.error), y(gap.gap - gap.error)];
        chart.picture.append(svg("path", { class: "line train", d: `M${at},${top}V${bottom}M${at - 4},${top}h8M${at - 4},${bottom}h8` }));
        const node = svg("circle", { class: gap.k === k ? "kept" : "point", cx: at, cy: y(gap.gap), r: gap.k === k ? 6 : 4 });
        chart.picture.append(node);
        chart.mark(node, at, y(gap.gap), [`${gap.k} ${gap.k === 1 ? "cluster" : "clusters"}${gap.k === k ? ", picked" : ""}`, `gap ${short(gap.gap)} ± ${short(gap.error)}`]);
      }
      const right = x(k) > (frame.left + frame.right) / 2;
      chart.picture.append(
        svg("line", { class: "guide", x1: x(k), x2: x(k), y1: frame.top, y2: frame.bottom }),
        svg("text", { class: "kept", x: x(k) + (right ? -8 : 8), y: frame.bottom - 8, "text-anchor": right ? "end" : "start" }, `${k} picked`),
      );
      return { along: true };
    });
  };

  const range = ({ low, high }) => (low === high ? grouped(low) : `${grouped(low)} to ${grouped(high)}`);
  const kinds = {
    values: (holder) => histogram(holder, report.glance.values, report.value, (bar) => [
      `${short(bar.low)} to ${short(bar.high)}`, `${grouped(bar.count)} entries`,
    ]),
    spread: (holder, index) => {
      const mode = report.glance.modes[index];
      columns(holder, mode.spread.bars.map((bar) => ({
        name: range(bar).replace(" to ", "–"), value: bar.count, lines: [`${range(bar)} entries`, `${grouped(bar.count)} ids of ${mode.name}`],
      })), { class: "other", xName: `entries of one ${mode.name}` });
    },
    epochs: (holder) => course(holder, "epoch", "epoch"),
    seconds: (holder) => course(holder, "seconds", "seconds"),
    residuals: (holder) => histogram(holder, report.residuals.shown.histogram, `observed − predicted ${report.value}`, (bar) => [
      `${short(bar.low)} to ${short(bar.high)}`, `${grouped(bar.count)} entries`,
    ], 300),
    over: (holder, index) => {
      const mode = report.glance.modes[index];
      columns(holder, mode.over.map(([name, count]) => ({ name, value: count, lines: [name, `${grouped(count)} entries`] })), {
        class: "other", xName: mode.name,
      });
    },
    calibration: (holder) => calibration(holder, report.residuals.shown.levels),
    segment: (holder, index) => {
      const segment = report.residuals.shown.segments[index];
      const unit = segment.by === "time" ? "" : " entries in training";
      columns(holder, segment.segments.map((part) => ({
        name: part.name.replace(" to ", "–").replace("-", unit ? "–" : "-"), value: part.rmse,
        lines: [`${part.name}${unit}`, `RMSE ${short(part.rmse)}`, `${grouped(part.entries)} entries`],
      })), { xName: unit ? "entries in training" : segment.mode });
    },
    core: (holder) => core(holder, report.core.shown),
    curve: (holder, name) => {
      const card = report.cards.shown.cards.find((card) => card.name === name);
      if (card) curve(holder, card);
    },
    map: (holder, index) => map(holder, report.groups.shown[index]),
    gap: (holder, index) => gap(holder, report.groups.shown[index].gap),
  };
  for (const holder of document.querySelectorAll("[data-chart]")) {
    // One chart that fails must not take the rest of the page with it.
    try {
      kinds[holder.dataset.chart](holder, holder.dataset.index);
    } catch (error) {
      console.error(error);
      holder.textContent = "This chart cannot be drawn.";
    }
  }

  // Recommendations

  const recommend = ({ list, items, reasons, things }) => {
    const input = document.getElementById("person");
    const status = document.getElementById("matches");
    const tables = document.getElementById("person-tables");
    document.getElementById("people").append(...list.map((person) => html("option", { value: person.name })));
    const because = (reason) => html("td", { class: "reason" }, reason == null ? "" : reasons[reason]);
    const table = (heading, rows, column, why) => html("div", {},
      html("h3", {}, heading),
      html("div", { class: "scroll" }, html("table", {},
        html("thead", {}, html("tr", {}, html("th", {}, things), html("th", { class: "number" }, column), ...(why ? [html("th", {}, "because of")] : []))),
        html("tbody", {}, ...rows.map(([item, value, reason]) => html("tr", {},
          html("td", {}, items[item]), html("td", { class: "number" }, short(value)), ...(why ? [because(reason)] : []),
        ))),
      )),
    );
    const show = (person) => {
      tables.replaceChildren(
        table(`New to ${person.name}`, person.best, `predicted ${report.value}`, reasons.length > 0),
        table(`Best of what ${person.name} has`, person.known, `observed ${report.value}`),
      );
    };
    const fold = (text) => text.toLocaleLowerCase();
    const search = () => {
      const wanted = fold(input.value.trim());
      if (wanted === "") {
        status.textContent = `${list[0].name}: ${grouped(list[0].entries)} entries`;
        return show(list[0]);
      }
      const exact = list.filter((person) => fold(person.name) === wanted);
      const starts = list.filter((person) => fold(person.name).startsWith(wanted));
      const within = list.filter((person) => fold(person.name).includes(wanted));
      const found = [exact, starts, within].find((some) => some.length > 0);
      if (!found) {
        status.textContent = `No name in the page has “${input.value.trim()}”.`;
        return;
      }
      const others = within.length - 1;
      const more = others > 0 && exact.length === 0 ? `; ${others} more ${others === 1 ? "name has" : "names have"} that` : "";
      status.textContent = `${found[0].name}: ${grouped(found[0].entries)} entries${more}`;
      show(found[0]);
    };
    input.placeholder = list[0].name;
    input.addEventListener("input", search);
    search();
  };
  if (report.recommendations.shown?.list.length) recommend(report.recommendations.shown);

  // Light and dark

  const root = document.documentElement;
  const stored = (act) => {
    // A page from a file may have no store.
    try { return act(window.localStorage); } catch { return null; }
  };
  const known = stored((store) => store.getItem("s3cmtf-theme"));
  if (known === "light" || known === "dark") root.dataset.theme = known;
  document.getElementById("theme").addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : window.matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    stored((store) => store.setItem("s3cmtf-theme", root.dataset.theme));
  });

  // The section that is being read

  const links = new Map([...document.querySelectorAll(".bar-top nav a")].map((link) => [link.hash.slice(1), link]));
  const watch = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting) continue;
      for (const link of links.values()) link.removeAttribute("aria-current");
      links.get(target.id)?.setAttribute("aria-current", "true");
    }
  }, { rootMargin: "-20% 0px -70% 0px" });
  for (const id of links.keys()) watch.observe(document.getElementById(id));
})();
