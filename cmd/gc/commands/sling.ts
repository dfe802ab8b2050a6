import { beadJson } from '../../../internal/beads/bead-json.ts';
import { type Bead, BeadNotFoundError, type NewBead } from '../../../internal/beads/store.ts';
import { WorkStore } from '../../../internal/beads/work-store.ts';
import type { City } from '../../../internal/config/city.ts';
import { formulaFiles } from '../../../internal/config/formula/formula-files.ts';
import { commandActor } from '../../../internal/events/event-types.ts';
import { GcError } from '../../../internal/platform/errors.ts';
import { SessionStore } from '../../../internal/session/session-store.ts';
import { pokeController } from '../bd/poke.ts';
import { cityInForce } from '../city/city-in-force.ts';
import { type CityStore, withCityStore } from '../city/city-store.ts';
import { UsageError } from '../cli/input.ts';
import type { CommandRun } from '../cli/spec.ts';
import type { Context } from '../context.ts';
import { isFree, nudgeIdle } from '../mail/nudge-idle.ts';
import { queryFor, runSlingQuery } from '../sling/custom-query.ts';
import { decideSling, mergeOnly, newSlungBead, refuseUnfit, type SlingWish } from '../sling/decide.ts';
import {
  FormulaUnsupportedError,
  isInlineText,
  readSlingRequest,
  type SlingRequest,
} from '../sling/request.ts';
import { type Owner, ownerOf, type SlingTarget, slingTarget, targetWarnings } from '../sling/target.ts';
import { dryRunText } from '../sling/text.ts';

export const runSling: CommandRun = async (context, input) => {
  const request = readSlingRequest(input);
  return withCityStore(context, async (store) => {
    const city = await cityInForce(context);
    if (!city) {
      throw new GcError('no-city', 'there is no config to find the agent in', { next: 'gc config show' });
    }
    await new Sling(context, store, inStore(city, store), request).run();
    return 0;
  });
};

/** The city's own beads are called as the store calls them. */
function inStore(city: City, { work }: CityStore): City {
  return { ...city, workspace: { ...city.workspace, prefix: work.cityPrefix ?? city.workspace.prefix } };
}

interface Slung {
  readonly bead: Bead;
  readonly already: boolean;
}

/** One piece of work on its way to one agent. */
class Sling {
  readonly #context: Context;
  readonly #store: CityStore;
  readonly #city: City;
  readonly #request: SlingRequest;
  readonly #actor: string;

  constructor(context: Context, store: CityStore, city: City, request: SlingRequest) {
    this.#context = context;
    this.#store = store;
    this.#city = city;
    this.#request = request;
    this.#actor = context.env['BEADS_ACTOR'] || commandActor(context.env);
  }

  async run(): Promise<void> {
    const { merge, force, dryRun } = this.#request;
    const bead = await this.#bead();
    const owner = bead && ownerOf(this.#city, bead.id);
    const target = await this.#target(bead, owner);
    const wish: SlingWish = { target, merge, force, anyRig: force || dryRun };
    if (!force) for (const warning of targetWarnings(this.#city, target)) this.#warn(warning);
    const fresh = bead ? undefined : newSlungBead(await this.#text(target), this.#request.title, wish);
    if (dryRun) return this.#preview(bead, fresh, wish);
    const slung = bead && owner ? await this.#route(bead.id, owner, wish) : await this.#make(fresh, wish);
    if (!slung.already) await pokeController(this.#store.root, this.#context.env);
    if (this.#request.nudge) await this.#nudge(target, slung.bead.id);
    this.#say(slung, target);
  }

  /** The bead that is meant; `undefined`: a text. @throws BeadNotFoundError, UsageError */
  async #bead(): Promise<Bead | undefined> {
    const { what, target, title } = this.#request;
    if (what.kind === 'stdin') return undefined;
    const { word } = what;
    const bead = await this.#store.work.look((view) => view.find(word.trim()));
    if (bead) {
      if (title === '') return bead;
      throw new UsageError(
        `--title is for a new bead, and ${bead.id} has one`,
        `gc bd update ${bead.id} --title ...`,
      );
    }
    if (!isInlineText(word)) throw new BeadNotFoundError(word);
    if (target === undefined) {
      throw new UsageError('inline text requires explicit target', 'gc sling <target> "<text>"');
    }
    return undefined;
  }

  async #target(bead: Bead | undefined, owner: Owner | undefined): Promise<SlingTarget> {
    const open = await new SessionStore(this.#store.db).list('open');
    const { target } = this.#request;
    const typed = target ?? defaultTarget(bead?.id ?? '', owner);
    const rig = target === undefined ? (owner?.rig?.name ?? '') : (this.#context.env['GC_RIG'] ?? '');
    return slingTarget(this.#city, typed, { rig, bead: owner, open });
  }

  async #text({ owner }: SlingTarget): Promise<string> {
    const { what } = this.#request;
    const text = what.kind === 'stdin' ? await this.#context.readStdin() : what.word;
    if (text.trim() === '') throw new UsageError('the text is empty; nothing was done');
    if (what.kind === 'word' && !/\s/.test(text)) {
      const { city, rigs } = this.#city.layers.formulas;
      const known = await formulaFiles((owner.rig && rigs[owner.rig.name]) ?? city);
      if (known.has(text)) throw new FormulaUnsupportedError(text);
    }
    return text;
  }

  async #preview(bead: Bead | undefined, fresh: NewBead | undefined, wish: SlingWish): Promise<void> {
    const seen = bead && decideSling(bead, ownerOf(this.#city, bead.id), wish);
    const shown = bead ?? { id: '', title: fresh?.title ?? '', assignee: '' };
    const query = queryFor(wish.target.query, bead?.id ?? '<new bead>');
    this.#context.out.write(dryRunText(shown, wish.target, { query, already: seen?.already ?? false }));
  }

  /** Looked at and changed in one transaction: of two who hand out one bead, the second sees the first. */
  async #route(id: string, owner: Owner, wish: SlingWish): Promise<Slung> {
    if (wish.target.isCustom) await this.#ask(id, owner, wish);
    const { decision, bead } = await this.#store.work.transaction((tx) => {
      const before = tx.beads.get(id);
      const decided = wish.target.isCustom ? mergeOnly(wish) : decideSling(before, owner, wish);
      const after = tx.beads.update(id, decided.patch);
      if (after.revision !== before.revision) {
        const payload = beadJson(after);
        tx.recordEvent({
          type: 'bead.updated',
          actor: this.#actor,
          subject: id,
          message: after.title,
          payload,
        });
      }
      return { decision: decided, bead: after };
    });
    for (const warning of decision.warnings) this.#warn(warning);
    return { bead, already: decision.already };
  }

  async #ask(id: string, owner: Owner, wish: SlingWish): Promise<void> {
    refuseUnfit(await this.#store.work.get(id), owner, wish);
    await runSlingQuery(this.#context, this.#city, { target: wish.target, id, owner });
  }

  async #make(fresh: NewBead | undefined, { target }: SlingWish): Promise<Slung> {
    if (!fresh) throw new GcError('internal', 'there is neither a bead nor a text');
    const work = new WorkStore(this.#store.work, { actor: this.#actor, recordTypes: new Set() });
    const { after: bead } = await work.create(fresh);
    if (!bead) throw new GcError('internal', 'the new bead is not there');
    if (!target.isCustom) return { bead, already: false };
    try {
      await runSlingQuery(this.#context, this.#city, { target, id: bead.id, owner: target.owner });
    } catch (error) {
      if (!(error instanceof GcError)) throw error;
      throw new GcError(error.code, `${error.message}; bead ${bead.id} was made and is nobody's yet`, {
        cause: error,
        next: `gc sling ${target.label} ${bead.id}`,
      });
    }
    return { bead: await work.get(bead.id), already: false };
  }

  async #nudge(target: SlingTarget, id: string): Promise<void> {
    const { agent, sessionName, label } = target;
    const why = await nudgeIdle(
      this.#context,
      this.#store.root,
      async (api) => {
        if (sessionName !== '') return api.session(sessionName);
        const sessions = await api.sessions({ template: agent.qualifiedName });
        return sessions.find(isFree) ?? sessions[0];
      },
      `Work is waiting for you: ${id}`,
    );
    if (why !== undefined) this.#warn(`${label} was not nudged (${why}); it finds the work by itself`);
  }

  #say({ bead, already }: Slung, target: SlingTarget): void {
    const { out, json } = this.#context;
    if (json)
      out.write(`${JSON.stringify({ bead: beadJson(bead), target: target.label, already }, null, 2)}\n`);
    else out.write(`Slung ${bead.id} → ${target.label}${already ? ' (it was already)' : ''}\n`);
  }

  #warn(text: string): void {
    this.#context.err.write(`gc sling: warning: ${text}\n`);
  }
}

/** @throws GcError `no-sling-target` */
function defaultTarget(id: string, owner: Owner | undefined): string {
  const rig = owner?.rig;
  if (rig && rig.defaultSlingTarget !== '') return rig.defaultSlingTarget;
  const why = rig
    ? `the rig "${rig.name}" of ${id} has no default_sling_target`
    : `${id} belongs to the city, which has no default target`;
  throw new GcError('no-sling-target', `no target: ${why}`, { next: `gc sling <target> ${id}` });
}
