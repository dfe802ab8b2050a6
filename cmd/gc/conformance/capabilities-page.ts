import { ABILITIES, type Ability, ALL_ABILITIES } from '../../../conformance/provider/abilities.ts';
import { PROVIDER_CASES } from '../../../conformance/provider/suite.ts';
import { JUDGED, type JudgedKind, LACKS } from './declared.ts';

/** Doubles for tests are of no use to a reader. */
const SHOWN: readonly JudgedKind[] = JUDGED.filter((kind) => kind !== 'fake');

const INTRO = `# What each provider can do

This page is generated (\`npm run docs\`) from what the conformance suite is told that each provider offers. The tests of every
provider run all cases that those abilities allow; \`gc conformance provider <name>\` runs them on your machine.
[conformance.md](conformance.md) says how, and how to judge a provider of your own.

Every provider starts, stops and lists sessions, keeps their metadata, and passes the ${count([])} cases that need nothing more.
\`exec\` is a session script: the column is that of \`exec:gc-session-screen\`, GNU screen; what another script offers is for
\`gc conformance provider exec:<script>\` to say. \`auto\` and \`hybrid\` offer what the back end of the session offers.
`;

/** `docs/capabilities.md`. */
export function renderCapabilities(): string {
  const head = ['ability', ...SHOWN, 'cases'];
  const rows = ALL_ABILITIES.map((ability) => [
    `\`${ability}\`: ${ABILITIES[ability]}`,
    ...SHOWN.map((kind) => (LACKS[kind][ability] === undefined ? 'yes' : 'no')),
    String(count([ability])),
  ]);
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  const table = [line(head), line(head.map((_, i) => (i === 0 ? '---' : ':-:'))), ...rows.map(line)];
  return `${INTRO}\n${table.join('\n')}\n\n## Why not\n\n${SHOWN.flatMap(reasonsOf).join('\n')}\n`;
}

function reasonsOf(kind: JudgedKind): readonly string[] {
  return ALL_ABILITIES.flatMap((ability) => {
    const why = LACKS[kind][ability];
    return why === undefined ? [] : [`- ${kind}, \`${ability}\`: ${why}`];
  });
}

/** Cases that need the ability; none given: that need nothing. */
function count(abilities: readonly Ability[]): number {
  return PROVIDER_CASES.filter(({ needs }) =>
    abilities.length === 0 ? needs.length === 0 : abilities.every((each) => needs.includes(each)),
  ).length;
}
