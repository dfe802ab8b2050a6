import { basename, join } from 'node:path';
import { fieldsOf } from '../../platform/fields.ts';
import { codexObserved } from './codex-observed.ts';
import { entriesOf } from './files.ts';
import { observedSince } from './lines-since.ts';
import {
  firstLines,
  firstPromptOf,
  type Head,
  KnownHeads,
  newestConversation,
} from './newest-conversation.ts';
import type { ObservedChunk, PlacedEntry, TranscriptCursor } from './observed.ts';
import { shownEntries, transcriptOf } from './shown.ts';
import { tailEntries } from './tail-entries.ts';
import type {
  Transcript,
  TranscriptPlace,
  TranscriptReader,
  TranscriptReadOptions,
  TranscriptTail,
} from './transcript-reader.ts';
import { textOf, timeOf } from './values.ts';

const SUFFIX = '.jsonl';
const CONVERSATION = /([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$/;

/** Codex's rollouts. Roots are folders like `~/.codex/sessions`, in which each day has its own. */
export class CodexTranscriptReader implements TranscriptReader {
  readonly family = 'codex';
  readonly #roots: readonly string[];
  readonly #heads = new KnownHeads(readHead);

  constructor(roots: readonly string[]) {
    this.#roots = roots;
  }

  async locate(place: TranscriptPlace): Promise<string | undefined> {
    const files = await this.#newestDaysFirst();
    for (const key of place.keys) {
      const file = files.find((candidate) => candidate.endsWith(`-${key}${SUFFIX}`));
      if (file) return file;
    }
    if (place.keys.length > 0) return undefined;
    return newestConversation(place, files, {
      head: (file) => this.#heads.of(file),
      firstPrompt: (file) => firstPromptOf(file, (line, offset) => codexObserved(line, '', offset)),
    });
  }

  /** A rollout is one segment: it has no marks at which it could be cut. */
  async read(file: string, _options: TranscriptReadOptions): Promise<Transcript> {
    const placed: PlacedEntry[] = [];
    let badLines = 0;
    let cursor: TranscriptCursor | undefined;
    for (;;) {
      const chunk = await this.observe(file, cursor);
      placed.push(...(chunk?.entries ?? []));
      badLines += chunk?.badLines ?? 0;
      cursor = chunk?.cursor;
      if (!chunk?.more) break;
    }
    return transcriptOf(file, shownEntries(placed), { tail: 0, badLines });
  }

  conversationOf(file: string): string {
    const stem = basename(file, SUFFIX);
    return CONVERSATION.exec(stem)?.[1] ?? stem;
  }

  observe(file: string, since: TranscriptCursor | undefined): Promise<ObservedChunk | undefined> {
    const conversation = this.conversationOf(file);
    return observedSince(file, since, (line, offset) => codexObserved(line, conversation, offset));
  }

  async tail(file: string): Promise<TranscriptTail | undefined> {
    const conversation = this.conversationOf(file);
    const entries = await tailEntries(file, (line, offset) => codexObserved(line, conversation, offset));
    return entries && { entries };
  }

  async #newestDaysFirst(): Promise<readonly string[]> {
    const files: string[] = [];
    for (const root of this.#roots) {
      for (const year of await newestFirst(root)) {
        for (const month of await newestFirst(join(root, year))) {
          for (const day of await newestFirst(join(root, year, month))) {
            const folder = join(root, year, month, day);
            const names = (await newestFirst(folder)).filter((name) => name.endsWith(SUFFIX));
            files.push(...names.map((name) => join(folder, name)));
          }
        }
      }
    }
    return files;
  }
}

async function newestFirst(folder: string): Promise<readonly string[]> {
  return [...(await entriesOf(folder))].sort().reverse();
}

async function readHead(file: string): Promise<Head | undefined> {
  const [first] = await firstLines(file);
  const payload = fieldsOf(fieldsOf(first)['payload']);
  if (typeof payload['cwd'] !== 'string') return undefined; // not a rollout, or not yet
  return { workDir: payload['cwd'], beganAt: timeOf(textOf(payload['timestamp'])) };
}
