/*
 * Zoom and pan of the timelines. The page is complete without it: every element carries its time
 * (data-a, data-b, in ms), and this moves them to where a narrower view puts them. `placeLabels` is
 * that of place-labels.ts, put before this script.
 */
(() => {
  const [left, right] = [170, 1190];
  const charWidth = 6.6;

  for (const box of document.querySelectorAll('.timeline')) begin(box);

  // Printed pages show what is folded on screen.
  window.addEventListener('beforeprint', () => {
    for (const fold of document.querySelectorAll('details')) fold.open = true;
  });

  function begin(box) {
    const svg = box.querySelector('svg');
    const whole = Number(svg.dataset.duration);
    const view = { from: 0, to: whole };
    box.classList.add('live');

    const show = (from, to) => {
      const span = Math.min(Math.max(to - from, Math.min(whole, 1)), whole);
      view.from = Math.min(Math.max(from, 0), whole - span);
      view.to = view.from + span;
      draw(svg, view);
    };
    const zoom = (factor, at = (view.from + view.to) / 2) =>
      show(at - (at - view.from) * factor, at + (view.to - at) * factor);
    const pan = (share) => {
      const by = (view.to - view.from) * share;
      show(view.from + by, view.to + by);
    };

    const actions = {
      in: () => zoom(0.5),
      out: () => zoom(2),
      left: () => pan(-0.25),
      right: () => pan(0.25),
      all: () => show(0, whole),
    };
    for (const button of box.querySelectorAll('button')) {
      button.addEventListener('click', actions[button.dataset.do]);
    }
    const keys = {
      '+': 'in',
      '=': 'in',
      '-': 'out',
      ArrowLeft: 'left',
      ArrowRight: 'right',
      0: 'all',
    };
    svg.addEventListener('keydown', (event) => {
      const action = actions[keys[event.key]];
      if (action === undefined) return;
      event.preventDefault();
      action();
    });
    svg.addEventListener(
      'wheel',
      (event) => {
        // A plain wheel scrolls the page, as everywhere.
        if (!event.ctrlKey && !event.metaKey) return;
        event.preventDefault();
        zoom(event.deltaY < 0 ? 0.8 : 1.25, timeAt(svg, view, event));
      },
      { passive: false },
    );
    drag(svg, view, show);
  }

  function drag(svg, view, show) {
    let grip;
    svg.addEventListener('pointerdown', (event) => {
      grip = { at: timeAt(svg, view, event), id: event.pointerId };
      svg.setPointerCapture(event.pointerId);
    });
    svg.addEventListener('pointermove', (event) => {
      if (grip === undefined) return;
      const by = grip.at - timeAt(svg, view, event);
      show(view.from + by, view.to + by);
    });
    const drop = () => (grip = undefined);
    svg.addEventListener('pointerup', drop);
    svg.addEventListener('pointercancel', drop);
  }

  function timeAt(svg, view, event) {
    const box = svg.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * svg.viewBox.baseVal.width;
    return view.from + ((x - left) / (right - left)) * (view.to - view.from);
  }

  function draw(svg, view) {
    const scale = (right - left) / (view.to - view.from);
    const place = (ms) => left + (Number(ms) - view.from) * scale;
    for (const group of svg.querySelectorAll('.bar, .band')) {
      const [from, to] = [place(group.dataset.a), place(group.dataset.b)];
      const rect = group.querySelector('rect');
      rect.setAttribute('x', from);
      rect.setAttribute('width', Math.max(to - from, 1));
      const text = group.querySelector('text');
      if (text === null) continue;
      const [start, end] = [Math.max(from, left), Math.min(to, right)];
      const centred = group.classList.contains('bar');
      text.setAttribute('x', centred ? (start + end) / 2 : start + 4);
      text.style.display = end - start < text.textContent.length * charWidth + 4 ? 'none' : '';
    }
    for (const line of svg.querySelectorAll('.link, .arrow path')) {
      const { a, b, c, d } = line.dataset;
      line.setAttribute(
        'd',
        curve(place(a), Number(c), place(b), Number(d), line.matches('.link')),
      );
    }
    for (const text of svg.querySelectorAll('.arrow text')) {
      const x = (place(text.dataset.a) + place(text.dataset.b)) / 2;
      text.setAttribute('x', x);
      text.setAttribute('text-anchor', x > (left + right) / 2 ? 'end' : 'start');
    }
    placeMarks(svg, place);
    drawTicks(svg, view, place);
  }

  function curve(x1, y1, x2, y2, straight) {
    if (straight) return `M${x1} ${y1}L${x2} ${y2}`;
    const middle = y1 === y2 ? y1 - 34 : (y1 + y2) / 2;
    return `M${x1} ${y1}C${x1 + 24} ${middle} ${x2 - 24} ${middle} ${x2} ${y2}`;
  }

  function placeMarks(svg, place) {
    const marks = [...svg.querySelectorAll('.mark')];
    const labelled = marks.map(({ dataset }) => ({
      lane: Number(dataset.lane),
      x: place(dataset.a),
      width: Number(dataset.width),
      rank: Number(dataset.rank),
    }));
    const spots = placeLabels(labelled, left - 6, right + 6);
    marks.forEach((mark, at) => {
      mark.setAttribute('transform', `translate(${labelled[at].x} ${mark.dataset.y})`);
      const text = mark.querySelector('text');
      const spot = spots[at];
      text.style.display = spot === undefined ? 'none' : '';
      if (spot === undefined) return;
      text.setAttribute('text-anchor', spot.anchor);
      text.setAttribute('x', spot.anchor === 'start' ? 7 : -7);
      text.setAttribute('y', 4 + spot.row * 15);
    });
  }

  function drawTicks(svg, view, place) {
    const raw = (view.to - view.from) / 8;
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= raw);
    const group = svg.querySelector('.ticks');
    const pattern = group.firstElementChild;
    const ticks = [];
    for (let at = Math.ceil(view.from / step) * step; at <= view.to; at += step) {
      const tick = pattern.cloneNode(true);
      tick.setAttribute('transform', `translate(${place(at)} 0)`);
      const digits = Math.max(0, -Math.floor(Math.log10(step / 1000)));
      tick.querySelector('text').textContent = `${(at / 1000).toFixed(digits)} s`;
      ticks.push(tick);
    }
    group.replaceChildren(...ticks);
  }
})();
