// Charts, drawn by ECharts in the colours of the page, light or dark, and as wide as there is room.

const DARK = window.matchMedia('(prefers-color-scheme: dark)');
const CALM = window.matchMedia('(prefers-reduced-motion: reduce)');

let printing = false;

function isDark() {
  return DARK.matches && !printing;
}

const COLOURS = new Map();

/** A colour of the page by the name of its variable; what was looked up counts until the colours change. */
function colour(name) {
  if (!COLOURS.has(name)) COLOURS.set(name, getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim());
  return COLOURS.get(name);
}

DARK.addEventListener('change', () => COLOURS.clear(), { signal });

/**
 * A chart whose `options()` are asked for again when the colours change; `clicked` gets what was clicked.
 * Its canvas is a picture to screen readers, with `label` as its text.
 */
function drawnChart(box, label, options, clicked) {
  box.classList.add('chart');
  box.setAttribute('role', 'img');
  box.setAttribute('aria-label', label);
  let drawn = null;

  function begin() {
    if (drawn) drawn.dispose();
    drawn = echarts.init(box, null, { renderer: 'canvas' });
    drawn.setOption({ animation: false, textStyle: { fontFamily: 'inherit', color: colour('ink') }, ...options() });
    if (clicked) drawn.on('click', clicked);
  }

  function again() {
    if (drawn) drawn.setOption(options(), { lazyUpdate: false });
  }

  begin();
  DARK.addEventListener('change', begin, { signal });
  signal.addEventListener('abort', () => drawn.dispose());
  // In the first size the chart is drawn already.
  onResize(box, () => {
    if (drawn.getWidth() !== box.clientWidth || drawn.getHeight() !== box.clientHeight) drawn.resize();
  });
  onPrint(begin, begin);
  return { again, chart: () => drawn };
}

/** Tooltips are drawn on the canvas; braces would be read as a style there. */
function tooltip(formatter) {
  return {
    renderMode: 'richText', confine: true, backgroundColor: colour('raised'), borderColor: colour('line'),
    textStyle: { color: colour('ink'), fontSize: 12 }, formatter: (given) => formatter(given).replace(/[{}]/g, ' '),
  };
}
