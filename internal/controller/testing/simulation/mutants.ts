import type { OpenedCity } from '../../open-city.ts';
import type { SimProvider } from './sim-provider.ts';
import type { Seams } from './world.ts';

/**
 * Controllers that are broken on purpose, each in one way, by what they are given to work with: the simulation has to find
 * every one of them out.
 */
export const MUTANTS: Readonly<Record<string, Seams>> = {
  /** What could not be told is taken for dead. */
  'unknown is dead': seeing((provider) => ({
    observe: async () => {
      const survey = await provider.observe();
      return survey.kind === 'unknown' ? { kind: 'seen' as const, sessions: new Map() } : survey;
    },
  })),
  /** Every message is typed twice. */
  'told twice': seeing((provider) => ({
    nudge: async (...args: Parameters<SimProvider['nudge']>) => {
      const outcome = await provider.nudge(...args);
      if (outcome.kind === 'delivered') await provider.nudge(args[0], args[1]);
      return outcome;
    },
  })),
  /** A message counts as delivered that nobody typed. */
  'told never': seeing((provider) => ({
    nudge: async (...[name, content, options]: Parameters<SimProvider['nudge']>) =>
      provider.calls.size % 5 === 0
        ? { kind: 'delivered' as const, tookMs: 0, verified: true }
        : provider.nudge(name, content, options),
  })),
  /** A start that failed is begun again under the same mark. */
  'two starts': seeing((provider) => ({
    start: (...[name, config, options]: Parameters<SimProvider['start']>) =>
      provider.start(name, config, options).catch(() => provider.start(name, config, options)),
  })),
  /** Sessions are ended before anybody wrote down why. */
  'ended without a reason': written((metadata) => without(metadata, 'stop_intent')),
  /** Nobody is told to be at work. */
  'workers are let go': workless(),
  /** An answer is given twice. */
  'answered twice': seeing((provider) => ({
    respond: async (...[name, response]: Parameters<SimProvider['respond']>) => {
      const asked = await provider.pending(name);
      await provider.respond(name, response);
      provider.asksAgain(name, asked);
      await provider.respond(name, response);
    },
  })),
  /** What a person held comes back. */
  'holds are forgotten': written((metadata) =>
    metadata['state'] === 'suspended' ? { ...metadata, state: 'asleep' } : metadata,
  ),
  /** Every look writes something. */
  'never at rest': seeing((provider, opened) => ({
    observe: async () => {
      const survey = await provider.observe();
      await opened.db.commit({ state: { looked: String(provider.looks.length) } });
      return survey;
    },
  })),
};

/** Another provider in some of its acts. */
function seeing(acts: (provider: SimProvider, opened: OpenedCity) => object): Seams {
  return {
    parts: (opened, provider) => ({ ...opened, provider: overlaid(provider, acts(provider, opened)) }),
  };
}

function overlaid(provider: SimProvider, acts: object): SimProvider {
  return new Proxy(provider, {
    get(target, property) {
      const value: unknown = property in acts ? Reflect.get(acts, property) : Reflect.get(target, property);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

type Metadata = Readonly<Record<string, string>>;

/** Other records than were meant. */
function written(change: (metadata: Metadata) => Metadata): Seams {
  return {
    parts: (opened) => {
      const { beadTable } = opened.db;
      const update = beadTable.update.bind(beadTable);
      Object.assign(beadTable, {
        update: (...[id, patch, revision]: Parameters<typeof update>) =>
          update(id, patch.metadata ? { ...patch, metadata: change(patch.metadata) } : patch, revision),
      });
      return opened;
    },
  };
}

function without(metadata: Metadata, key: string): Metadata {
  return Object.fromEntries(Object.entries(metadata).filter(([name]) => name !== key));
}

/** The controller does not see who has work. */
function workless(): Seams {
  return {
    parts: (opened) => {
      const { work, db } = opened;
      const list = work.list.bind(work);
      const rows = db.beadTable.list.bind(db.beadTable);
      Object.assign(db.beadTable, {
        list: (query: Parameters<typeof rows>[0]) => (query.assignee === undefined ? rows(query) : []),
      });
      Object.assign(work, {
        list: async (query: Parameters<typeof list>[0]) =>
          query.status === 'in_progress' && query.notTypes?.includes('session') ? [] : list(query),
      });
      return opened;
    },
  };
}
