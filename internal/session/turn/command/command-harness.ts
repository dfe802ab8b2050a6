import { statSync } from 'node:fs';
import type { Clock } from '../../../platform/clock.ts';
import type { Ids } from '../../../platform/ids.ts';
import {
  type HarnessDescriptor,
  HarnessDescriptorSchema,
  Resumability,
} from '../../../protocol/generated/agentsessions/v1/harness_pb.ts';
import { create } from '../../../protocol/protobuf.ts';
import type { Harness, HarnessSink, HarnessStart } from '../harness.ts';
import { claudeDialect } from './claude-dialect.ts';
import { codexDialect } from './codex-dialect.ts';
import { type CommandKind, type CommandSpec, programFile } from './command-spec.ts';
import type { Dialect, Place, RunMode } from './dialect.ts';
import { CommandError } from './errors.ts';
import { beginNew, type PlanInput, planTurn, type TurnPlan } from './plan-turn.ts';
import { endTurn, TURN_TOKEN, TurnLedger } from './process-ledger.ts';
import { continuationPrompt, promptOf } from './prompts.ts';
import { recordedIn } from './recorded.ts';
import { type LinesExit, runLines } from './run-lines.ts';
import { shellDialect } from './shell-dialect.ts';
import { TurnRecorder } from './turn-recorder.ts';

const TURN_TIMEOUT_MS = 30 * 60_000;
const IDLE_TIMEOUT_MS = 10 * 60_000;
const MAX_OUTPUT_BYTES = 256 * 1024 * 1024;
const TOKEN_BYTES = 16;

const DIALECTS: Readonly<Record<CommandKind, Dialect>> = {
  claude: claudeDialect,
  codex: codexDialect,
  shell: shellDialect,
};

export interface CommandDeps {
  readonly clock: Clock;
  readonly ids: Ids;
  /** Where programs that run are written down; owner-only, outside of what a person may delete by mistake. */
  readonly ledgerDir: string;
  /** Where a session's program works; absolute. */
  workDirOf(session: string): Promise<string>;
}

/**
 * Runs each turn with a program of its own, started for it and gone after it, which goes on in its own conversation.
 * Errors of `run`: CommandError, whose message names the program, how it ended and its last lines.
 */
export function commandHarness(spec: CommandSpec, deps: CommandDeps): Harness {
  const dialect = DIALECTS[spec.kind];
  return {
    observes: true,
    describe: async () => {
      programFile(spec);
      return descriptorOf(dialect);
    },
    run: (start, sink, signal) => new CommandTurn(spec, dialect, deps, start, sink).run(signal),
  };
}

/** The version is that of our reading of the program: a turn can be resumed although the program was updated meanwhile. */
function descriptorOf(dialect: Dialect): HarnessDescriptor {
  return create(HarnessDescriptorSchema, {
    id: `command-${dialect.kind}`,
    version: dialect.version,
    capabilities: {
      resumability: Resumability.STATELESS_REPLAY,
      forkSafe: dialect.forkSafe,
      streaming: true,
    },
  });
}

class CommandTurn {
  readonly #spec: CommandSpec;
  readonly #dialect: Dialect;
  readonly #deps: CommandDeps;
  readonly #start: HarnessStart;
  readonly #recorder: TurnRecorder;
  readonly #ledger: TurnLedger;

  constructor(
    spec: CommandSpec,
    dialect: Dialect,
    deps: CommandDeps,
    start: HarnessStart,
    sink: HarnessSink,
  ) {
    this.#spec = spec;
    this.#dialect = dialect;
    this.#deps = deps;
    this.#start = start;
    this.#recorder = new TurnRecorder(start, dialect.kind, sink);
    this.#ledger = new TurnLedger(deps.ledgerDir);
  }

  async run(signal: AbortSignal): Promise<void> {
    const file = programFile(this.#spec);
    await this.#endLeftover();
    const workDir = await this.#workDir();
    const prompt = promptOf(this.#start.inputs, this.#spec.name);
    if (prompt.trim() === '' && !this.#dialect.acceptsEmptyPrompt) {
      throw new CommandError('unsupported-input', `harness ${this.#spec.name}: there is nothing to say`, {
        next: 'send a text',
      });
    }
    const place: Place = { workDir, env: this.#spec.env };
    const plan = await this.#plan(place, prompt).catch(unlessLost);
    signal.throwIfAborted();
    if (plan instanceof CommandError) {
      await this.#beginAfresh(file, place, prompt, plan, signal);
    } else {
      for (const effect of plan.missing) await this.#recorder.apply(effect);
      await this.#recorder.interruptOpenCalls();
      if (plan.kind === 'over') {
        if (plan.fact) await this.#recorder.closeWith(plan.fact);
        return;
      }
      const lost = await this.#runOnce(file, place, plan, signal);
      if (lost) await this.#beginAfresh(file, place, prompt, lost, signal);
    }
    await this.#recorder.interruptOpenCalls();
    await this.#recorder.close(await this.#lastMessage(place));
  }

  async #plan(place: Place, prompt: string): Promise<TurnPlan> {
    if (this.#dialect.conversations) return planTurn(this.#planInput(place, prompt));
    const { texts } = recordedIn(this.#start.recorded);
    if (texts.length > 0) return { kind: 'over', missing: [], fact: undefined };
    return { kind: 'run', missing: [], mode: { kind: 'new' }, base: '', prompt, tokens: undefined };
  }

  #planInput(place: Place, prompt: string): PlanInput {
    const conversations = this.#dialect.conversations;
    if (!conversations) throw new CommandError('failed', `${this.#dialect.kind} has no conversations`);
    const { session, history, recorded } = this.#start;
    const { ids } = this.#deps;
    return { session, program: this.#dialect.kind, history, recorded, prompt, place, conversations, ids };
  }

  /** The conversation is proven to be gone. A new one is begun only when that was asked for, and the log says so. */
  async #beginAfresh(
    file: string,
    place: Place,
    prompt: string,
    lost: CommandError,
    signal: AbortSignal,
  ): Promise<void> {
    if (!this.#spec.freshStart) throw lost;
    await this.#recorder.interruptOpenCalls();
    await this.#recorder.lost(lost.message);
    const { calls, texts } = recordedIn(this.#start.recorded);
    const begun = calls.size > 0 || texts.length > 0;
    const plan = beginNew(
      this.#planInput(place, prompt),
      begun ? continuationPrompt(calls.values(), prompt) : prompt,
    );
    const again = await this.#runOnce(file, place, { kind: 'run', missing: [], ...plan }, signal);
    if (again) throw again;
  }

  /** Resolves when the turn is over, with an error when the program does not know its conversation any more. */
  async #runOnce(
    file: string,
    place: Place,
    plan: Extract<TurnPlan, { kind: 'run' }>,
    signal: AbortSignal,
  ): Promise<CommandError | undefined> {
    const { session, executionId } = this.#start;
    const recorder = this.#recorder;
    await recorder.begin(conversationOf(plan.mode), plan.base, plan.tokens);
    const token = this.#deps.ids.hex(TOKEN_BYTES);
    const parser = this.#dialect.parser(this.#start.recorded.length + 1);
    this.#ledger.intend(session, token);
    const exit = await runLines({
      name: this.#spec.name,
      file,
      args: this.#dialect.argv(this.#spec.args, plan.mode),
      cwd: place.workDir,
      env: {
        ...this.#spec.env,
        [TURN_TOKEN]: token,
        GC_SESSION_UID: session,
        GC_EXECUTION_ID: executionId,
      },
      token,
      input: plan.prompt,
      signal,
      clock: this.#deps.clock,
      turnTimeoutMs: this.#spec.turnTimeoutMs ?? TURN_TIMEOUT_MS,
      idleTimeoutMs: this.#spec.idleTimeoutMs ?? IDLE_TIMEOUT_MS,
      maxOutputBytes: this.#spec.maxOutputBytes ?? this.#dialect.maxOutputBytes ?? MAX_OUTPUT_BYTES,
      started: (leader) => this.#ledger.started(session, token, leader),
      line: async (text, said) => {
        for (const effect of parser.line(text)) await recorder.apply(effect);
        if (recorder.broken) throw this.#failed('bad-output', `printed JSON that is broken${said.shown()}`);
      },
      state: () => (recorder.end ? 'over' : recorder.working ? 'working' : 'talking'),
    }).catch((error: unknown) => this.#forgetUnlessLeft(error, token));
    this.#ledger.remove(session, token);
    for (const effect of parser.exit(exit.code)) await recorder.apply(effect);
    return this.#judge(exit);
  }

  #judge(exit: LinesExit): CommandError | undefined {
    const end = this.#recorder.end;
    if (end && end.failure === undefined) return undefined;
    const how =
      exit.signal === undefined ? `ended with code ${exit.code}` : `was ended by signal ${exit.signal}`;
    const said = end?.failure === undefined ? '' : `: ${exit.lines.clean(end.failure)}`;
    const early = end === undefined && exit.code === 0 ? ' without saying that its turn is over' : '';
    const what = `${how}${early}${said}${end?.failure === undefined ? exit.lines.shown() : ''}`;
    if (end?.lost || this.#dialect.lost?.(exit.lines.lines())) {
      return this.#failed(
        'conversation-lost',
        what,
        'begin a new session, or allow a fresh start for this harness',
      );
    }
    throw this.#failed('failed', what);
  }

  #failed(failure: 'failed' | 'bad-output' | 'conversation-lost', what: string, next?: string): CommandError {
    return new CommandError(failure, `harness ${this.#spec.name}: ${this.#spec.program} ${what}`, {
      next: next ?? 'resume the session to go on from where it stopped',
    });
  }

  /** What a host that was killed left of this session, in this turn or in one before, must not go on beside us. */
  async #endLeftover(): Promise<void> {
    const { session } = this.#start;
    const leftover = this.#ledger.find(session);
    if (!leftover) return;
    const left = await endTurn(leftover, this.#deps.clock);
    if (left.length > 0) {
      throw new CommandError(
        'leftover',
        `harness ${this.#spec.name}: a program of this session still runs and cannot be ended: process ${left.join(', ')}`,
        { next: 'end it and resume the session' },
      );
    }
    this.#ledger.remove(session, leftover.token);
  }

  /** A program that could not be ended stays written down. */
  #forgetUnlessLeft(error: unknown, token: string): never {
    const left = error instanceof CommandError && error.failure === 'leftover';
    if (!left) this.#ledger.remove(this.#start.session, token);
    throw error;
  }

  async #workDir(): Promise<string> {
    const dir = await this.#deps.workDirOf(this.#start.session);
    if (statSync(dir, { throwIfNoEntry: false })?.isDirectory()) return dir;
    throw new CommandError('no-work-dir', `harness ${this.#spec.name}: ${dir} is not a folder to work in`, {
      next: 'make the folder, or give the session another one',
    });
  }

  /** Programs that do not name their messages as they talk are asked for the last one afterwards. */
  async #lastMessage(place: Place): Promise<string> {
    const { message, fact } = this.#recorder;
    if (message !== '' || fact === undefined) return message;
    const tail = await this.#dialect.conversations?.tail(place, fact.conversation, '');
    return tail?.last ?? '';
  }
}

/** A conversation that is lost may be begun anew; nothing else may be passed over. */
function unlessLost(error: unknown): CommandError {
  if (error instanceof CommandError && error.failure === 'conversation-lost') return error;
  throw error;
}

function conversationOf(mode: RunMode): string | undefined {
  return mode.conversation;
}
