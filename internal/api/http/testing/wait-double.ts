import type { WaitApi, WaitFilter, WaitReply, WaitRequest, WaitView } from '../../../controller/wait-api.ts';
import { GcError } from '../../../platform/errors.ts';

/** Waits in memory of a session `mayor`; it remembers what it was asked. */
export class WaitDouble implements WaitApi {
  waits: readonly WaitView[] = [];
  readonly registered: { readonly target: string; readonly request: WaitRequest }[] = [];
  readonly filters: WaitFilter[] = [];
  /** What is waited for has come already. */
  isMet = false;

  async register(target: string, request: WaitRequest): Promise<WaitReply> {
    this.registered.push({ target, request });
    const wait = aWait(`gc-${this.waits.length + 7}`, {
      dep_ids: request.on_beads,
      dep_mode: request.mode,
      note: request.note,
      state: this.isMet ? 'ready' : 'pending',
    });
    this.waits = [...this.waits, wait];
    return { wait, sleeps: request.sleep && !this.isMet };
  }

  async list(filter: WaitFilter = {}): Promise<readonly WaitView[]> {
    this.filters.push(filter);
    return this.waits;
  }

  async inspect(id: string): Promise<WaitView> {
    const found = this.waits.find((wait) => wait.id === id);
    if (found) return found;
    throw new GcError('wait-not-found', `wait not found: ${id}`, { next: 'gc wait list' });
  }

  async cancel(id: string): Promise<WaitView> {
    const wait = await this.inspect(id);
    return ['pending', 'ready'].includes(wait.state) ? { ...wait, state: 'canceled' } : wait;
  }

  async ready(id: string): Promise<WaitReply> {
    const wait: WaitView = { ...(await this.inspect(id)), state: 'ready' };
    if (wait.nudge_id === '') return { wait, sleeps: false };
    return { wait: { ...wait, id: 'gc-99', delivery_attempt: 2 }, sleeps: false, retried: id };
  }
}

export function aWait(id: string, over: Partial<WaitView> = {}): WaitView {
  return {
    id,
    session: 'mayor',
    session_id: 'gc-1',
    session_name: 'mayor',
    state: 'pending',
    kind: 'deps',
    dep_ids: ['p-19'],
    dep_mode: 'all',
    on_sessions: [],
    note: 'go on',
    sleep: false,
    registered_epoch: '1',
    delivery_attempt: 1,
    nudge_id: '',
    created_at: '2026-01-01T00:00:00Z',
    created_by_session: '',
    ...over,
  };
}
