import { type Ability, ALL_ABILITIES } from '../../../conformance/provider/abilities.ts';

/** Providers of this program that the suite judges; a router offers what the back end of the session offers. */
export const JUDGED = ['tmux', 'subprocess', 'acp', 'k8s', 'exec', 'fake'] as const;
export type JudgedKind = (typeof JUDGED)[number];

const NO_TERMINAL = 'agents are spoken to in a protocol, not in a terminal';
const IN_A_CONTAINER = 'agents run in containers';
const MEASURED_HERE = 'its agents are processes of this machine: the city measures them itself';
const DOUBLE = 'a double for tests: no program runs';

/**
 * What each provider does not offer, and why. The suite judges it by everything else; the tests of each provider run with
 * this, and the page docs/capabilities.md is made from it.
 */
export const LACKS: Readonly<Record<JudgedKind, Readonly<Partial<Record<Ability, string>>>>> = {
  tmux: {
    'drains-output': 'tmux 3.3a now and then drops the last bytes of a program that ends at once',
    usage: MEASURED_HERE,
  },
  subprocess: { usage: MEASURED_HERE },
  acp: {
    arguments: 'the first prompt is the first message of the conversation',
    keys: NO_TERMINAL,
    terminal: NO_TERMINAL,
    dialogs: 'a protocol has no start-up screens; what an agent asks is a pending question',
    attach: 'there is no screen to sit down at: gc session peek, gc session logs',
    usage: MEASURED_HERE,
  },
  k8s: {
    local: IN_A_CONTAINER,
    'exact-env': 'the image and the cluster add variables of their own',
  },
  exec: {
    watch: 'a script is only ever asked: it cannot tell of a death by itself',
    usage: 'the exec protocol has no operation that measures',
  },
  fake: Object.fromEntries(
    ALL_ABILITIES.filter((each) => each !== 'observe' && each !== 'env-as-meta').map((each) => [
      each,
      DOUBLE,
    ]),
  ),
};

export const lacksOf = (kind: JudgedKind): readonly Ability[] =>
  ALL_ABILITIES.filter((each) => LACKS[kind][each] !== undefined);

export const offersOf = (kind: JudgedKind): ReadonlySet<Ability> =>
  new Set(ALL_ABILITIES.filter((each) => LACKS[kind][each] === undefined));
