import { codeOf } from '../../../internal/platform/errors.ts';
import type { ChainedRecord } from '../../../internal/protocol/hash-chain.ts';
import type {
  AppendOptions,
  FollowItem,
  SessionLogStore,
} from '../../../internal/session/log/session-log.ts';
import type { LogSubject } from '../case.ts';

export interface Mutant {
  readonly name: string;
  /** The case that catches it. */
  readonly breaks: string;
  mutate(subject: LogSubject): Partial<LogSubject>;
}

type Methods = Partial<SessionLogStore>;

/** The store with some of its methods replaced; the others work on the real one. */
function changed(store: SessionLogStore, change: (store: SessionLogStore) => Methods): SessionLogStore {
  const methods: Record<string | symbol, unknown> = { ...change(store) };
  return new Proxy(store, {
    get(target, name) {
      const own = methods[name];
      if (own !== undefined) return own;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

const both = (change: (store: SessionLogStore) => Methods) => (subject: LogSubject) => ({
  store: changed(subject.store, change),
  ...(subject.second ? { second: changed(subject.second, change) } : {}),
});

/** Appends with other options than it was asked for. */
const appendWith = (alter: (options: AppendOptions) => AppendOptions) =>
  both((store) => ({ append: (uid, events, options = {}) => store.append(uid, events, alter(options)) }));

const without = (...names: (keyof AppendOptions)[]) =>
  appendWith((options) =>
    Object.fromEntries(Object.entries(options).filter(([name]) => !names.some((gone) => gone === name))),
  );

/** A follower whose items pass through a filter. */
const following = (alter: (items: AsyncIterable<FollowItem>) => AsyncIterable<FollowItem>) =>
  both((store) => ({ follow: (uid, options) => alter(store.follow(uid, options)) }));

async function* skipping(items: AsyncIterable<FollowItem>, seq: number): AsyncGenerator<FollowItem> {
  for await (const item of items) if (item.kind !== 'record' || item.record.seq !== seq) yield item;
}

async function* twice(items: AsyncIterable<FollowItem>): AsyncGenerator<FollowItem> {
  for await (const item of items) {
    yield item;
    if (item.kind === 'record' && item.record.seq === 2) yield item;
  }
}

async function* factsOnly(items: AsyncIterable<FollowItem>): AsyncGenerator<FollowItem> {
  for await (const item of items) if (item.kind !== 'live') yield item;
}

const renumbered = (records: readonly ChainedRecord[]) =>
  records.map((record) => ({ ...record, seq: record.seq - 1 }));

export const MUTANTS: readonly Mutant[] = [
  {
    name: 'it numbers from 0',
    breaks: 'records are numbered from 1, chained, and read back as they were answered',
    mutate: both((store) => ({ append: async (...args) => renumbered(await store.append(...args)) })),
  },
  {
    name: 'it does not look at what is expected',
    breaks: 'of two appends that expect the same record, one is refused and told where the log stands',
    mutate: without('expected'),
  },
  {
    name: 'it takes 0 for nothing expected',
    breaks: 'expecting record 0 means an empty log',
    mutate: appendWith(({ expected, ...rest }) => (expected ? { ...rest, expected } : rest)),
  },
  {
    name: 'it lets replaced writers write',
    breaks: 'a writer of an older incarnation is refused',
    mutate: without('fence'),
  },
  {
    name: 'it looks at the incarnation first',
    breaks: 'who is both late and replaced is told of the conflict',
    mutate: both((store) => ({
      append: async (uid, events, options = {}) => {
        const { expected: _, ...rest } = options;
        if (options.fence !== undefined && options.fence < (await store.head(uid)).fence)
          return store.append(uid, events, rest);
        return store.append(uid, events, options);
      },
    })),
  },
  {
    name: 'every writer replaces the one before',
    breaks: 'DUR-05 an outsider writes under the current incarnation and replaces nobody',
    mutate: appendWith((options) =>
      options.fence === undefined ? { ...options, newIncarnation: true } : options,
    ),
  },
  {
    name: 'it forgets where batches come from',
    breaks: 'the same source again answers the records of the first time',
    mutate: without('source', 'expected'),
  },
  {
    name: 'it takes anything for the same batch',
    breaks: 'DUR-06 the same source with other events is refused',
    mutate: both((store) => ({
      append: async (uid, events, options) => {
        try {
          return await store.append(uid, events, options);
        } catch (error) {
          if (codeOf(error) !== 'source-reused') throw error;
          return store.read(uid, {});
        }
      },
    })),
  },
  {
    name: 'it appends events of a batch one by one',
    breaks: 'a batch is appended whole or not at all',
    mutate: both((store) => ({
      append: async (uid, events, options) => {
        const records: ChainedRecord[] = [];
        for (const event of events) records.push(...(await store.append(uid, [event], options)));
        return records;
      },
    })),
  },
  {
    name: 'its pages end one too early',
    breaks: 'reads keep to both ends and to the limit',
    mutate: both((store) => ({ read: async (uid, range) => (await store.read(uid, range)).slice(0, -1) })),
  },
  {
    name: 'it continues what was deleted',
    breaks: 'a deleted session is read, not continued, and not listed unless asked for',
    mutate: both((store) => ({
      markDeleted: async (uid) => {
        const row = await store.get(uid);
        if (!row) return store.markDeleted(uid);
        return { ...row, deletedAt: 1n };
      },
    })),
  },
  {
    name: 'it lists from the oldest',
    breaks: 'lists go from the newest, page by page, of one project or of all',
    mutate: both((store) => ({ list: async (options) => [...(await store.list(options))].reverse() })),
  },
  {
    name: 'its children begin with the marker',
    breaks: 'children have the records of their parent up to the fork, then the marker',
    mutate: both((store) => ({ fork: (options) => store.fork({ ...options, atSeq: options.atSeq - 1 }) })),
  },
  {
    name: 'it writes the fork into the parent',
    breaks: 'DUR-07 a fork and what its children do leave the parent as it was',
    mutate: both((store) => ({
      fork: async (options) => {
        const rows = await store.fork(options);
        await store.append(options.parent, [options.marker]);
        return rows;
      },
    })),
  },
  {
    name: 'it forks for another harness than it was told',
    breaks: 'children are run by what the fork says, else by what runs their parent',
    mutate: both((store) => ({ fork: ({ harness: _, ...options }) => store.fork(options) })),
  },
  {
    name: 'it forks what is not there yet',
    breaks: 'a fork beyond the end, or of nothing, is refused and makes nothing',
    mutate: both((store) => ({
      fork: async (options) =>
        store.fork({ ...options, atSeq: Math.min(options.atSeq, (await store.head(options.parent)).seq) }),
    })),
  },
  {
    name: 'a record is missing for its followers',
    breaks: 'a follower gets what was there and what comes, from where it asks',
    mutate: following((items) => skipping(items, 4)),
  },
  {
    name: 'a record comes twice',
    breaks: 'appending at every moment of a join loses nothing',
    mutate: following(twice),
  },
  {
    name: 'it never says what is not a fact',
    breaks: 'what is not a fact reaches only those who asked for it, in its place',
    mutate: following(factsOnly),
  },
  {
    name: 'it keeps everything for a reader that does not read',
    breaks: 'EVT-05 a reader that stops reading is cut off, told so, and resumes without a gap',
    mutate: both((store) => ({
      follow: (uid, options) => store.follow(uid, { ...options, buffer: 1_000_000 }),
    })),
  },
  {
    name: 'its followers outlive their signal',
    breaks: 'a follower ends when its signal aborts, waiting or not, and is forgotten',
    mutate: ({ followers }) => ({ followers: () => (followers?.() ?? 0) + 1 }),
  },
  {
    name: 'it does not see damage',
    breaks: 'a changed byte is found when it is read, and the log before it stays readable',
    mutate: () => ({ damage: async () => {} }),
  },
];
