import type { SessionView } from '../../../controller/city-api.ts';
import type {
  PruneRequest,
  ScaleReply,
  ScaleRequest,
  SubmitReply,
  SubmitRequest,
  UpkeepApi,
} from '../../../controller/upkeep-api.ts';
import { GcError } from '../../../platform/errors.ts';
import { isNamePattern, type PatternMatch } from '../../../session/name-pattern.ts';

/** Upkeep in memory: it finds sessions as its city does, and remembers what it was told. */
export class UpkeepDouble implements UpkeepApi {
  readonly told: { readonly what: string; readonly target: string; readonly request?: unknown }[] = [];
  pruned: readonly PatternMatch[] = [];
  /** Names of the config that never had a session. */
  reserved: readonly string[] = [];
  /** By target. */
  readonly refusals = new Map<string, GcError>();
  outcome: SubmitReply['outcome'] = { kind: 'delivered', tookMs: 700, verified: true };
  readonly #find: (target: string) => Promise<SessionView>;
  readonly #all: () => Promise<readonly SessionView[]>;

  constructor(find: (target: string) => Promise<SessionView>, all: () => Promise<readonly SessionView[]>) {
    this.#find = find;
    this.#all = all;
  }

  pin(target: string): Promise<SessionView> {
    return this.#told('pin', target);
  }

  unpin(target: string): Promise<SessionView> {
    return this.#told('unpin', target);
  }

  reset(target: string): Promise<SessionView> {
    return this.#told('reset', target);
  }

  async prune(request: PruneRequest): Promise<{ pruned: readonly PatternMatch[] }> {
    this.told.push({ what: 'prune', target: '', request });
    return { pruned: this.pruned };
  }

  async submit(target: string, request: SubmitRequest): Promise<SubmitReply> {
    const { id, display_name: session } = await this.#told('submit', target, request);
    const intent =
      request.intent === 'follow_up' || request.intent === 'interrupt_now' ? request.intent : 'default';
    const queued = this.outcome.kind === 'queued';
    return { id, session, intent, queued, interrupted: intent === 'interrupt_now', outcome: this.outcome };
  }

  async matching(pattern: string): Promise<readonly PatternMatch[]> {
    if (!isNamePattern(pattern)) throw new GcError('invalid-request', 'no pattern');
    const [start = ''] = pattern.split(/[*?]/);
    const fits = (await this.#all()).filter(({ display_name }) => display_name.startsWith(start));
    return [
      ...fits.map(({ id, display_name }) => ({ target: id, name: display_name })),
      ...this.reserved.map((name) => ({ target: name, name, reserved: true as const })),
    ];
  }

  async scale(agent: string, request: ScaleRequest): Promise<ScaleReply> {
    this.told.push({ what: 'scale', target: agent, request });
    const { min = 0, max = -1 } = request;
    return { agent, file: '/city/city.yaml', changed: true, min, max };
  }

  async #told(what: string, target: string, request?: unknown): Promise<SessionView> {
    this.told.push({ what, target, ...(request === undefined ? {} : { request }) });
    const refusal = this.refusals.get(target);
    if (refusal) throw refusal;
    return this.#find(target);
  }
}
