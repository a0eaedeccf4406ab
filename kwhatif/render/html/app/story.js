// What happened over simulated time: a lane a pod.

const HAPPENINGS = {
  queued: ['emptyCircle', 'quiet'], active: ['emptyCircle', 'quiet'], unschedulable: ['diamond', 'bad'], nominated: ['triangle', 'warn'],
  bound: ['circle', 'good'], preempted: ['rect', 'bad'], gone: ['emptyRect', 'quiet'], waiting: ['emptyTriangle', 'warn'], gated: ['emptyDiamond', 'warn'],
};

function storyPart() {
  const story = GIVEN.story;
  const [pods, what, node, why] = ['pod', 'what', 'node', 'why'].map((name) => column(story[name]));
  const lanes = [...new Set(pods)];
  const lane = new Map(lanes.map((name, place) => [name, place]));
  const end = Math.max(...story.time, 1);
  const spans = [];
  const since = new Map();
  const finish = (name, to) => {
    const open = since.get(name);
    if (open) spans.push({ coords: [[open.from, lane.get(name)], [to, lane.get(name)]], placed: open.placed });
    since.delete(name);
  };
  story.time.forEach((time, place) => {
    const name = pods[place];
    const leaves = what[place] === 'gone';
    const placed = what[place] === 'bound' || what[place] === 'preempted' || (since.has(name) && since.get(name).placed);
    if (what[place] === 'preempted' && !since.has(name)) since.set(name, { from: 0, placed: true });
    finish(name, time);
    if (!leaves) since.set(name, { from: time, placed });
  });
  for (const name of [...since.keys()]) finish(name, end * 1.04);
  const kinds = [...new Set(what)];
  const height = Math.min(lanes.length, 24);
  const box = element('div', { class: 'lanes' });
  box.style.height = `${90 + 26 * height}px`;
  const words = `${counted(lanes.length, 'pod')} over ${end} simulated seconds: ${counted(what.length, 'happening')}. The table below tells them one by one.`;
  later(() => drawnChart(box, `Timeline. ${words}`, () => ({
    grid: { left: 8, right: lanes.length > height ? 44 : 24, top: 36, bottom: 8, containLabel: true },
    legend: { top: 0, data: kinds, textStyle: { color: colour('quiet') } },
    tooltip: tooltip((at) => (at.data && at.data.told ? at.data.told : at.name || '')),
    xAxis: { type: 'value', min: 0, max: end * 1.04, name: '', axisLabel: { color: colour('quiet'), formatter: (value) => `${Math.round(value)}s` }, splitLine: { lineStyle: { color: colour('line') } } },
    yAxis: { type: 'category', inverse: true, data: lanes, axisTick: { show: false }, axisLabel: { color: colour('quiet'), width: 220, overflow: 'truncate' } },
    dataZoom: lanes.length > height ? [{ type: 'slider', yAxisIndex: 0, startValue: 0, endValue: height - 1, width: 16, right: 4, showDetail: false, brushSelect: false }] : [],
    series: [
      ...[['on a node', true, 8], ['waits', false, 2]].map(([name, placed, width]) => ({
        name, type: 'lines', coordinateSystem: 'cartesian2d', silent: true, z: 1,
        lineStyle: { width, color: colour(placed ? 'good-soft' : 'quiet'), type: placed ? 'solid' : 'dashed', opacity: 1, cap: 'butt' },
        data: spans.filter((span) => span.placed === placed).map((span) => ({ coords: span.coords })),
      })),
      ...kinds.map((kind) => ({
        name: kind, type: 'scatter', symbol: (HAPPENINGS[kind] || ['pin', 'quiet'])[0], symbolSize: 12, z: 2,
        itemStyle: { color: colour((HAPPENINGS[kind] || ['pin', 'quiet'])[1]) },
        data: story.time.map((time, place) => ({
          value: [time, lane.get(pods[place])], pod: pods[place],
          told: `${time}s ${pods[place]}\n${what[place]}${node[place] ? ` on ${node[place]}` : ''}${why[place] ? `\n${wrapped(why[place])}` : ''}`,
        })).filter((_, place) => what[place] === kind),
      })),
    ],
  }), (at) => { if (at.data && at.data.pod) openPod(at.data.pod); }));
  return part('Over time', element('p', { class: 'quiet' }, words), box);
}

/** A long sentence in lines, for a tooltip. */
function wrapped(text) {
  return text.replace(/(.{60,}?)\s/g, '$1\n');
}
