// A pool while its nodes are replaced: how many there are, and when each old one was cordoned, emptied and deleted.

/** Simulated seconds as `1:02:30` or `12:05`. */
function clockOf(seconds) {
  const whole = Math.round(seconds);
  const two = (number) => String(number).padStart(2, '0');
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60];
  return hours ? `${hours}:${two(minutes)}:${two(whole % 60)}` : `${minutes}:${two(whole % 60)}`;
}

function timeAxis(end) {
  return {
    type: 'value', min: 0, max: end, axisLabel: { color: colour('quiet'), formatter: clockOf, hideOverlap: true },
    splitLine: { lineStyle: { color: colour('line') } },
  };
}

function poolCounts(pool) {
  const peak = Math.max(...pool.old.map((old, place) => old + pool.new[place]));
  const words = `${counted(pool.size, 'node')} to be replaced: ${peak} at most at the same time, ${clockOf(pool.end)} in all. The tables below have it in numbers.`;
  const box = element('div', {});
  box.style.height = '260px';
  const series = (name, values, tone, stacked) => ({
    name, type: 'line', step: 'end', symbol: 'none', stack: stacked ? 'nodes' : undefined,
    lineStyle: { color: colour(tone), width: 2, type: stacked ? 'solid' : 'dashed' }, itemStyle: { color: colour(tone) },
    areaStyle: stacked ? { color: colour(tone), opacity: 0.25 } : undefined,
    data: [...pool.time.map((time, place) => [time, values[place]]), [pool.end, values[values.length - 1]]],
  });
  later(() => drawnChart(box, `Nodes of the pool over time. ${words}`, () => ({
    grid: { left: 24, right: 24, top: 36, bottom: 8, containLabel: true },
    legend: { top: 0, textStyle: { color: colour('quiet') } },
    tooltip: { ...tooltip((at) => (Array.isArray(at) && at.length ? [clockOf(at[0].value[0]), ...at.map((each) => `${each.seriesName}: ${each.value[1]}`)].join('\n') : '')), trigger: 'axis' },
    xAxis: timeAxis(pool.end),
    yAxis: { type: 'value', minInterval: 1, axisLabel: { color: colour('quiet') }, splitLine: { lineStyle: { color: colour('line') } } },
    series: [series('old nodes', pool.old, 'quiet', true), series('new nodes', pool.new, 'good', true), series('pods without a node', pool.pending, 'bad', false)],
  })));
  return [element('p', { class: 'quiet' }, words), box];
}

const LANES = [['takes pods', 'good-soft', 8], ['is drained', 'warn', 8], ['is empty', 'quiet', 3], ['stays cordoned', 'bad', 8]];

/** What an old node is from when to when: until it is cordoned, while it is drained, and until it is deleted. */
function spansOf(each, end) {
  const [, cordoned, drained, deleted] = each;
  const spans = [['takes pods', 0, cordoned === null ? end : cordoned]];
  if (cordoned === null) return spans;
  if (drained === null) return [...spans, ['stays cordoned', cordoned, end]];
  return [...spans, ['is drained', cordoned, drained], ['is empty', drained, deleted === null ? end : deleted]];
}

function poolLanes(pool) {
  const names = pool.nodes.map((each) => each[0]);
  const height = Math.min(names.length, 24);
  const words = 'Each old node: while it takes pods, while it is drained, and until it is deleted.';
  const box = element('div', { class: 'lanes' });
  box.style.height = `${90 + 26 * height}px`;
  const spans = pool.nodes.flatMap((each, lane) => spansOf(each, pool.end).map(([what, from, to]) => ({ what, from, to, lane }))).filter((span) => span.to > span.from);
  later(() => drawnChart(box, words, () => ({
    grid: { left: 8, right: names.length > height ? 44 : 24, top: 36, bottom: 8, containLabel: true },
    legend: { top: 0, textStyle: { color: colour('quiet') } },
    xAxis: timeAxis(pool.end),
    yAxis: { type: 'category', inverse: true, data: names, axisTick: { show: false }, axisLabel: { color: colour('quiet'), width: 220, overflow: 'truncate' } },
    dataZoom: names.length > height ? [{ type: 'slider', yAxisIndex: 0, startValue: 0, endValue: height - 1, width: 16, right: 4, showDetail: false, brushSelect: false }] : [],
    series: LANES.filter(([what]) => spans.some((span) => span.what === what)).map(([what, tone, width]) => ({
      name: what, type: 'lines', coordinateSystem: 'cartesian2d', silent: true, itemStyle: { color: colour(tone) },
      lineStyle: { width, color: colour(tone), opacity: 1, cap: 'butt' },
      data: spans.filter((span) => span.what === what).map((span) => ({ coords: [[span.from, span.lane], [span.to, span.lane]] })),
    })),
  })));
  return [element('p', { class: 'quiet' }, words), box];
}

function poolPart() {
  return part('The pool over time', ...poolCounts(GIVEN.pool), ...poolLanes(GIVEN.pool));
}
