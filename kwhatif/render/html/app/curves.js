// How numbers go over time: lines side by side, or bars on top of each other.

const CURVE_TONES = { agree: 'good', differ: 'bad' };

function curvesPart() {
  return part('Charts', ...GIVEN.curves.map(curveOf));
}

function curveOf({ title, unit, stacked, moments, lines }) {
  const ranges = lines.map(({ name, values }) => (stacked
    ? `${formatNumber(values.reduce((sum, each) => sum + each, 0), 0)} ${name}`
    : `${name} ${formatNumber(Math.min(...values), 1)} to ${formatNumber(Math.max(...values), 1)} ${unit}`));
  const words = `From ${moments[0]} to ${moments[moments.length - 1]}: ${ranges.join(', ')}.`;
  const box = element('div', { class: 'curve' });
  later(() => drawnChart(box, `${title}. ${words}`, () => ({
    grid: { left: 8, right: 24, top: 36, bottom: 8, containLabel: true },
    legend: { top: 0, textStyle: { color: colour('quiet') } },
    tooltip: tooltip((at) => `${at.name}\n${at.seriesName}: ${formatNumber(at.value, 1)} ${unit}`),
    xAxis: { type: 'category', data: moments, boundaryGap: Boolean(stacked), axisLabel: { color: colour('quiet'), hideOverlap: true, alignMinLabel: 'left', alignMaxLabel: 'right' } },
    yAxis: { type: 'value', name: unit, nameTextStyle: { color: colour('quiet') }, axisLabel: { color: colour('quiet') }, splitLine: { lineStyle: { color: colour('line') } } },
    series: lines.map(({ name, values }, place) => ({
      name, data: values, itemStyle: { color: colour(CURVE_TONES[name] || `series-${place}`) },
      ...(stacked ? { type: 'bar', stack: 'all' } : { type: 'line', showSymbol: values.length < 3, lineStyle: { type: place ? 'dashed' : 'solid' } }),
    })),
  })));
  return element('div', {}, element('h3', {}, title), element('p', { class: 'quiet' }, words), box);
}
