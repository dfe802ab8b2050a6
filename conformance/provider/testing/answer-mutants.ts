import {
  type ContentBlock,
  canContinueStart,
  canInteract,
  type InteractionProvider,
  type InteractionResponse,
  META_START_PHASE,
  type NudgeOptions,
  type Provider,
  type StartOptions,
  type StopOptions,
} from '../../../internal/runtime/provider.ts';
import type { RuntimeConfig } from '../../../internal/runtime/runtime-config.ts';
import { broken, type Mutant } from './broken.ts';

type Content = readonly ContentBlock[];

/** For the cases of `ANSWER_CASES`. */
export const ANSWER_MUTANTS: Readonly<Record<string, Mutant | readonly Mutant[]>> = {
  // A back end that makes a name of its own of what is none, and one that takes none for all.
  Names_ThatAreNoneTouchNothing: [
    (p) =>
      broken(p, {
        stop: (name: string, options?: StopOptions) => p.stop(name.replace(/[^a-zA-Z0-9_-]/g, '-'), options),
      }),
    (p) =>
      broken(p, {
        stop: async (name: string, options?: StopOptions) => {
          const all = name === '' ? await p.listRunning('') : [name];
          await Promise.all(
            all.filter((each) => each.includes('bystander')).map((each) => p.stop(each, options)),
          );
        },
      }),
    (p) => broken(p, { getMeta: (name: string, key: string) => p.getMeta(name.replace(/^[./=]+/, ''), key) }),
  ],
  // Typed while it is announced; typed although it could not be announced; announced before it can be typed.
  Nudge_AnnouncedBeforeTheFirstByte: [
    announcing((announce, type) => {
      const typed = type();
      return announce().then(
        () => typed,
        async () => ({ ...(await typed), kind: 'failed' }),
      );
    }),
    announcing((announce, type) => announce().then(type, type)),
    announcing((announce, type) =>
      announce().then(type, (error: unknown) => ({ kind: 'failed', detail: String(error) })),
    ),
  ],
  // A late answer is taken, though it does nothing; any answer is taken for the question; one that is not given at all;
  // ids that only their own process knows.
  Question_IsToldAndAnsweredOnce: [
    answering((p, name, response) => p.respond(name, response).catch(() => undefined)),
    answering((p, name, { action }) => p.respond(name, { action })),
    answering(async () => undefined),
    (p) => {
      made += 1;
      const own = `${made}-`;
      return broken(p, {
        pending: async (name: string) => {
          const asked = await interacting(p).pending(name);
          return asked && { ...asked, request_id: own + asked.request_id };
        },
        respond: (name: string, response: InteractionResponse) =>
          interacting(p).respond(name, {
            ...response,
            request_id: (response.request_id ?? '').slice(own.length),
          }),
      });
    },
  ],
  // What is left is not done; what is done is done again.
  ContinueStart_GoesOnAfterTheAnswer: [
    continuing(async () => ({ kind: 'ready', answered: [], warnings: [] })),
    continuing(async (goOn, p, name, config) => {
      await goOn(config);
      await p.nudge(name, [{ type: 'text', text: config.nudge }]);
      return { kind: 'ready', answered: [], warnings: [] };
    }),
  ],
  ContinueStart_OfWhatIsDoneOrGone: [
    continuing(async (goOn, p, name, config) => {
      await p.setMeta(name, META_START_PHASE, 'created');
      return goOn(config);
    }),
    continuing((goOn, _p, _name, config) =>
      goOn(config).catch(() => ({ kind: 'ready', answered: [], warnings: [] })),
    ),
  ],
  Usage_TellsWhatEachSessionTakes: [
    (p) => broken(p, { usage: async () => new Map() }),
    (p) => {
      const kept = new Map<string, unknown>();
      return broken(p, {
        usage: async () => {
          for (const name of await p.listRunning('')) kept.set(name, USED);
          return new Map(kept);
        },
      });
    },
    (p) =>
      broken(p, {
        usage: async () =>
          new Map((await p.listRunning('')).map((name) => [name, { ...USED, memoryBytes: 0 }])),
      }),
  ],
};

const USED = { memoryBytes: 1_000_000, cpuMs: 10, cpuShare: undefined };
let made = 0;

/** A nudge that does something else with the announcement. */
function announcing(
  deliver: (announce: () => Promise<void>, type: () => ReturnType<Provider['nudge']>) => Promise<unknown>,
): Mutant {
  return (p) =>
    broken(p, {
      nudge: (name: string, content: Content, options: NudgeOptions = {}) => {
        const { beforeTyping = async () => undefined, ...rest } = options;
        return deliver(beforeTyping, () => p.nudge(name, content, rest));
      },
    });
}

function answering(
  respond: (p: InteractionProvider, name: string, response: InteractionResponse) => Promise<void>,
): Mutant {
  return (p) =>
    broken(p, {
      respond: (name: string, response: InteractionResponse) => respond(interacting(p), name, response),
    });
}

function continuing(
  work: (
    goOn: (config: RuntimeConfig) => Promise<unknown>,
    p: Provider,
    name: string,
    config: RuntimeConfig,
  ) => Promise<unknown>,
): Mutant {
  return (p) =>
    broken(p, {
      continueStart: (name: string, config: RuntimeConfig, options: StartOptions) =>
        work(
          async (given) => (canContinueStart(p) ? p.continueStart(name, given, options) : undefined),
          p,
          name,
          config,
        ),
    });
}

function interacting(p: Provider): InteractionProvider {
  if (canInteract(p)) return p;
  throw new Error('the healthy provider asks nothing');
}
