// Draws one of everything that pages draw with the script that the package brings and with own.cjs beside it.
const whole = require(`${process.cwd()}/node_modules/echarts/dist/echarts.min.js`);
const own = require(`${process.cwd()}/own.cjs`);

const tooltip = { renderMode: 'richText', confine: true, formatter: () => 'told' };
const grid = { left: 8, right: 24, top: 36, bottom: 8, containLabel: true };
const log = { type: 'log', min: 0.01, max: 10, name: 'use', nameLocation: 'middle', nameGap: 28 };
const bars = (enabled) => ({
  aria: { enabled, decal: { show: true } }, grid, tooltip, legend: { type: 'scroll', top: 0 }, xAxis: { type: 'value' },
  yAxis: { type: 'category', inverse: true, data: ['n1', 'n2'], axisLabel: { width: 180, overflow: 'truncate' } },
  series: [...Array(9).keys()].map((at) => ({ name: `plugin ${at} of a long name`, type: 'bar', stack: 'total', data: [at, 2 * at] })),
});
const PAGES = {
  curves: {
    grid, tooltip, legend: { top: 0 }, yAxis: { type: 'value', name: 'unit' },
    xAxis: { type: 'category', data: ['a', 'b'], axisLabel: { hideOverlap: true, alignMinLabel: 'left', alignMaxLabel: 'right' } },
    series: [{ name: 'one', type: 'bar', stack: 'all', data: [1, 2] }, { name: 'two', type: 'line', data: [3, 1], lineStyle: { type: 'dashed' } }],
  },
  pool: {
    grid, tooltip: { ...tooltip, trigger: 'axis' }, legend: { top: 0 }, xAxis: { type: 'value', min: 0, max: 9 }, yAxis: { type: 'value', minInterval: 1 },
    series: [{ name: 'old', type: 'line', step: 'end', symbol: 'none', stack: 'nodes', areaStyle: { opacity: 0.25 }, data: [[0, 1], [3, 4], [9, 2]] }],
  },
  story: {
    grid, tooltip, legend: { top: 0, data: ['bound'] }, xAxis: { type: 'value', min: 0, max: 9 },
    yAxis: { type: 'category', inverse: true, data: [...'abcdefgh'], axisTick: { show: false } },
    dataZoom: [{ type: 'slider', yAxisIndex: 0, startValue: 0, endValue: 3, width: 16, right: 4, showDetail: false, brushSelect: false }],
    series: [
      { name: 'waits', type: 'lines', coordinateSystem: 'cartesian2d', lineStyle: { width: 8, cap: 'butt' }, data: [{ coords: [[0, 1], [5, 1]] }] },
      { name: 'bound', type: 'scatter', symbol: 'pin', symbolSize: 12, data: [{ value: [5, 1] }, { value: [6, 2] }] },
    ],
  },
  flows: {
    tooltip, series: [{
      type: 'sankey', nodeAlign: 'justify', draggable: false, nodeWidth: 12, nodeGap: 10, layoutIterations: 16,
      label: { position: 'inside', overflow: 'truncate', width: 80 }, lineStyle: { opacity: 0.35, curveness: 0.5 }, emphasis: { focus: 'adjacency' },
      data: [{ name: 'a' }, { name: 'b', depth: 1 }, { name: 'c', depth: 1 }], links: [{ source: 'a', target: 'b', value: 3 }, { source: 'a', target: 'c', value: 1 }],
    }],
  },
  sizing: {
    grid, tooltip, legend: { top: 0 }, xAxis: log, yAxis: log, series: [
      { name: 'today', type: 'scatter', symbol: 'emptyCircle', symbolSize: (value) => 8 + value[2], data: [{ value: [0.1, 0.2, 3] }, { value: [1, 2, 5] }] },
      { type: 'lines', coordinateSystem: 'cartesian2d', silent: true, z: 1, lineStyle: { type: 'dashed' }, data: [{ coords: [[0.01, 0.01], [10, 10]] }] },
    ],
  },
  map: {
    tooltip, series: [{
      type: 'treemap', roam: false, nodeClick: false, breadcrumb: { show: false }, sort: null, squareRatio: 1, label: { show: true, overflow: 'truncate' },
      levels: [{ upperLabel: { show: false } }], upperLabel: { show: true }, emphasis: { upperLabel: { show: true } }, visualMin: 0, visualMax: 1,
      data: [{ name: 'zone', upperLabel: { show: true, height: 20 }, children: [{ name: 'n1', value: 3, itemStyle: { decal: { symbol: 'rect' } } }, { name: 'n2', value: 4 }] }],
    }],
  },
  matrix: bars(false),
  patterns: bars(true),
};

function draw(library, options) {
  const chart = library.init(null, null, { renderer: 'svg', ssr: true, width: 600, height: 300 });
  chart.setOption({ animation: false, ...options });
  chart.dispatchAction({ type: 'highlight', seriesIndex: 0, dataIndex: 0 });
  chart.dispatchAction({ type: 'showTip', seriesIndex: 0, dataIndex: 0 });
  return chart.renderToSVGString().replace(/zr\d+-/g, 'zr-');
}

const differ = Object.keys(PAGES).filter((name) => draw(whole, PAGES[name]) !== draw(own, PAGES[name]));
if (differ.length) console.error(`drawn otherwise than by the package's own script: ${differ.join(', ')}`);
process.exit(differ.length ? 1 : 0);
