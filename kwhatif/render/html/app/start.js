// The page, put together.

for (const section of GIVEN.sections) for (const block of section.blocks) if ('table' in block) TABLES[block.table].title = section.title;
noteMentions(TABLES);

const main = byId('main');
main.replaceChildren(...[
  verdictPart(),
  GIVEN.findings ? findingsPart : null,
  CLUSTER && CLUSTER.nodes.length ? clusterMap : null,
  GIVEN.matrices.length ? () => part('Why', ...GIVEN.matrices.map(matrixPart)) : null,
  CLUSTER && CLUSTER.states.length > 1 ? flowsPart : null,
  GIVEN.story.time ? storyPart : null,
  GIVEN.curves ? curvesPart : null,
  GIVEN.pool ? poolPart : null,
  GIVEN.sizing && GIVEN.sizing.points.length ? sizingPart : null,
  ...GIVEN.sections.map((section) => () => sectionPart(section)),
  standsOnPart,
].map((made) => (typeof made === 'function' ? made() : made)).filter(Boolean));

LATER.forEach((draw) => draw());
beginSearch();

/** A heading for the navigation: without what comes after its first words. */
function briefOf(heading) {
  return /^.{6,}?(?=[,:]| \(| by | that | below | for )/.exec(heading)?.[0] ?? heading;
}

byId('parts').replaceChildren(...[...main.querySelectorAll('section > h2')].map(({ textContent, parentElement }) => element('a', { href: `#${parentElement.id}`, title: textContent }, briefOf(textContent))));
function paper(on) {
  printing = on;
  document.documentElement.classList.toggle('printing', on);
  COLOURS.clear();
}

onPrint(() => paper(true), () => paper(false));
// The colours change before anything is drawn in them.
PRINT.before.unshift(PRINT.before.pop());
PRINT.after.unshift(PRINT.after.pop());
document.documentElement.classList.add('ready');
