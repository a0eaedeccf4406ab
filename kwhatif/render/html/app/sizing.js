// Requests against use, a point a container, and what is saved step by step.

const SIZES = {
  cpu: ['CPU', (cores) => (cores < 1 ? `${Math.round(cores * 1000)}m` : `${Number(cores.toFixed(2))}`)],
  memory: ['Memory', (bytes) => (bytes < 2 ** 30 ? `${Math.round(bytes / 2 ** 20)}Mi` : `${Number((bytes / 2 ** 30).toFixed(1))}Gi`)],
};

function scatterOf(resource) {
  const [name, spelt] = SIZES[resource];
  const points = GIVEN.sizing.points.filter((each) => each[1] === resource && each[2] && each[4]);
  if (!points.length) return null;
  const values = points.flatMap((each) => [each[2], each[3], each[4]]);
  const [least, most] = [Math.min(...values) / 1.5, Math.max(...values) * 1.5];
  const words = `${name}: ${counted(points.length, 'container')}, request against peak use. What lies left of the line asks for more than it ever used.`;
  const box = element('div', {});
  box.style.height = '360px';
  const axis = (title) => ({
    type: 'log', min: least, max: most, name: title, nameLocation: 'middle', nameGap: 28, nameTextStyle: { color: colour('quiet') },
    axisLabel: { color: colour('quiet'), formatter: spelt }, splitLine: { lineStyle: { color: colour('line') } },
  });
  const series = (label, place, symbol, tone) => ({
    name: label, type: 'scatter', symbol, itemStyle: { color: colour(tone) },
    symbolSize: (value) => Math.min(8 + 2 * Math.sqrt(value[2]), 30),
    data: points.map((each) => ({
      value: [each[4], each[place], each[5]],
      told: `${each[0]}\nasks for ${spelt(each[2])}, would for ${spelt(each[3])}\nused ${spelt(each[4])} at its peak, ${counted(each[5], 'pod')}`,
    })),
  });
  later(() => drawnChart(box, words, () => ({
    grid: { left: 24, right: 24, top: 36, bottom: 36, containLabel: true },
    legend: { top: 0, textStyle: { color: colour('quiet') } },
    tooltip: tooltip((at) => (at.data && at.data.told ? at.data.told : '')),
    xAxis: axis('peak use'), yAxis: axis('request'),
    series: [
      series('request today', 2, 'emptyCircle', 'warn'),
      series('as advised', 3, 'circle', 'good'),
      { type: 'lines', coordinateSystem: 'cartesian2d', silent: true, z: 1, lineStyle: { color: colour('quiet'), type: 'dashed', opacity: 1 }, data: [{ coords: [[least, least], [most, most]] }] },
    ],
  })));
  return element('div', {}, element('p', { class: 'quiet' }, words), box);
}

function savingsCurve() {
  const steps = GIVEN.sizing.steps;
  if (!steps.length) return null;
  const inMoney = steps.every((each) => each[2] !== null);
  const sums = [];
  steps.forEach((each, place) => sums.push((place ? sums[place - 1] : 0) + each[inMoney ? 2 : 1]));
  const unit = inMoney ? 'a month' : 'nodes';
  const words = `What is saved step by step, each workload after those before it: ${Number(sums[sums.length - 1].toFixed(2))} ${unit} in all.`;
  const box = element('div', {});
  box.style.height = '320px';
  const places = sums.map((sum, place) => [place, sum]);
  later(() => drawnChart(box, words, () => ({
    grid: { left: 24, right: 24, top: 24, bottom: 8, containLabel: true },
    tooltip: tooltip((at) => (at.data && at.data.told ? at.data.told : '')),
    xAxis: { type: 'category', data: steps.map((each) => each[0]), axisLabel: { color: colour('quiet'), rotate: 30, width: 160, overflow: 'truncate' } },
    yAxis: { type: 'value', name: unit, nameTextStyle: { color: colour('quiet') }, axisLabel: { color: colour('quiet') }, splitLine: { lineStyle: { color: colour('line') } } },
    series: [
      { type: 'lines', coordinateSystem: 'cartesian2d', silent: true, z: 1, lineStyle: { color: colour('good'), width: 2, opacity: 1 }, data: places.slice(1).map((to, place) => ({ coords: [places[place], to] })) },
      {
        type: 'scatter', symbolSize: 10, itemStyle: { color: colour('good') },
        data: steps.map((each, place) => ({ value: places[place], told: `${each[0]}\n${counted(each[1], 'node')}${inMoney ? `, ${each[2]} a month` : ''}` })),
      },
    ],
  })));
  return element('div', {}, element('p', { class: 'quiet' }, words), box);
}

function sizingPart() {
  return part('Requests and use', scatterOf('cpu'), scatterOf('memory'), savingsCurve());
}
