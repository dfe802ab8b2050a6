import { ABILITIES, ALL_ABILITIES } from '../../../conformance/provider/abilities.ts';
import { JUDGED, LACKS } from '../conformance/declared.ts';
import { type Check, ok } from './check.ts';

/** What the city's provider cannot do, in short; nothing is run for it. */
export const capabilities: Check = {
  name: 'capabilities',
  async run({ status }) {
    if (status instanceof Error) return ok('not told: the provider is not known');
    const { name } = status.provider;
    if (name.startsWith('exec:')) return ok(`whatever ${name} offers: gc conformance provider ${name}`);
    const kind = JUDGED.find((each) => each === name);
    if (kind === undefined) return ok(`${name} offers what the back end of each session offers`);
    const missing = ALL_ABILITIES.filter((each) => LACKS[kind][each] !== undefined);
    const offered = ALL_ABILITIES.filter((each) => LACKS[kind][each] === undefined);
    const details = [
      ...missing.map((each) => `no ${each}: ${LACKS[kind][each]}`),
      ...offered.map((each) => `${each}: ${ABILITIES[each]}`),
    ];
    const number = `${offered.length} of ${ALL_ABILITIES.length} abilities`;
    if (missing.length === 0) return ok(`${kind} offers all ${ALL_ABILITIES.length} abilities`, details);
    return ok(`${kind} offers ${number}, not ${missing.join(', ')}`, details);
  },
};
