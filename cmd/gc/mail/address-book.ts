import type { City } from '../../../internal/config/city.ts';
import { believedRunning } from '../../../internal/controller/session-facts.ts';
import { GcError, unreachable } from '../../../internal/platform/errors.ts';
import { nearestNames } from '../../../internal/session/nearest-name.ts';
import type { SessionRecord } from '../../../internal/session/record.ts';
import { AmbiguousSessionError, resolveSession } from '../../../internal/session/resolve.ts';
import { SessionStore } from '../../../internal/session/session-store.ts';
import type { CityStore } from '../city/city-store.ts';
import type { Context } from '../context.ts';
import {
  literalMailbox,
  type Mailbox,
  mailboxOf,
  ownMailbox,
  PEOPLE,
  plainAddress,
  sessionCalled,
} from './mailbox.ts';

/** Who has which mailbox. The configuration is read only where the records of sessions do not know a name. */
export class AddressBook {
  readonly #context: Context;
  readonly #sessions: SessionStore;

  constructor(context: Context, store: CityStore) {
    this.#context = context;
    this.#sessions = new SessionStore(store.db);
  }

  /** Of whoever runs this command. */
  async own(): Promise<Mailbox> {
    return ownMailbox(this.#context.env, await this.#open());
  }

  /** By the whole name of a session, or `human`; `undefined` when no open session has it. */
  async exact(word: string): Promise<Mailbox | undefined> {
    const address = plainAddress(word);
    if (address === PEOPLE.address) return PEOPLE;
    const open = await this.#open();
    const record = sessionCalled(address, open);
    return record && mailboxOf(record, open);
  }

  /**
   * By any name of a session, also of one that the configuration names and that never ran.
   * @throws GcError `unknown-recipient` (nearest names offered), `ambiguous-session`
   */
  async find(word: string): Promise<Mailbox> {
    return (await this.exact(word)) ?? this.#resolve(plainAddress(word));
  }

  /** As `find`, for looking into it: an address that has mail is one, whoever had it. */
  async findBox(word: string, hasMail: (address: string) => Promise<boolean>): Promise<Mailbox> {
    try {
      return await this.find(word);
    } catch (error) {
      const address = plainAddress(word);
      if (error instanceof GcError && (await hasMail(address))) return literalMailbox(address);
      throw error;
    }
  }

  /** Every session that runs but this one, by address. */
  async everybodyElse(): Promise<readonly Mailbox[]> {
    const open = await this.#open();
    const own = ownMailbox(this.#context.env, open);
    return open
      .filter(believedRunning)
      .map((record) => mailboxOf(record, open))
      .filter(({ address }) => !own.names.includes(address))
      .toSorted((a, b) => (a.address < b.address ? -1 : 1));
  }

  async #resolve(address: string): Promise<Mailbox> {
    const [{ cityInForce }, { configuredNames }] = await Promise.all([
      import('../city/city-in-force.ts'),
      import('../../../internal/controller/desired-state.ts'),
    ]);
    const open = await this.#open();
    const city = await cityInForce(this.#context);
    const configured = city ? configuredNames(city) : [];
    const rig = this.#context.env['GC_RIG'] ?? '';
    const found = resolveSession({ token: address, records: open, configured, closedToo: false, rig });
    switch (found.kind) {
      case 'session':
        return mailboxOf(found.record, open);
      case 'reserved':
        return {
          address: found.identity,
          names: [...new Set([found.identity, found.sessionName])],
          sessionName: found.sessionName,
        };
      case 'ambiguous':
        throw new AmbiguousSessionError(address, found.matches);
      case 'none': {
        const agent = city && (await agentCalled(city, address, rig));
        if (agent !== undefined) throw new NoSessionOfAgentError(agent);
        const suggestions = [...found.suggestions, ...nearestNames(address, [PEOPLE.address])];
        throw new UnknownRecipientError(address, suggestions);
      }
      default:
        return unreachable(found);
    }
  }

  #open(): Promise<readonly SessionRecord[]> {
    return this.#sessions.list('open');
  }
}

async function agentCalled(city: City, word: string, rig: string): Promise<string | undefined> {
  const { findAgent } = await import('../../../internal/agent/find-agent.ts');
  return findAgent(city, word, rig)?.identity;
}

class UnknownRecipientError extends GcError {
  constructor(address: string, suggestions: readonly string[]) {
    const meant = suggestions.map((name) => JSON.stringify(name)).join(' or ');
    super(
      'unknown-recipient',
      `unknown recipient ${JSON.stringify(address.slice(0, 80))}${meant ? `; did you mean ${meant}?` : ''}`,
      { next: 'gc session list' },
    );
  }
}

class NoSessionOfAgentError extends GcError {
  constructor(agent: string) {
    super(
      'unknown-recipient',
      `unknown recipient: no session of the agent "${agent}" is there to read mail`,
      {
        next: `gc session list, or hand it work: gc sling ${agent} "<text>"`,
      },
    );
  }
}
