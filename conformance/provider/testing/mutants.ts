import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { GcError } from '../../../internal/platform/errors.ts';
import {
  type Answer,
  type ContentBlock,
  canObserve,
  canWaitForIdle,
  canWatch,
  type Provider,
  type RuntimeEvent,
} from '../../../internal/runtime/provider.ts';
import type { RuntimeConfig } from '../../../internal/runtime/runtime-config.ts';
import { ANSWER_MUTANTS } from './answer-mutants.ts';
import { broken, type Mutant } from './broken.ts';

const fails = (what: string) => async () => {
  throw new GcError('mutant', `${what} always fails`);
};
const answers = (answer: Answer) => async () => answer;
const textOf = (content: readonly ContentBlock[]) =>
  content.map((c) => (c.type === 'text' ? c.text : c.path)).join('\n');
const start = (
  change: (
    name: string,
    config: RuntimeConfig,
    p: Provider,
  ) => { name?: string; config?: RuntimeConfig } | undefined,
): Mutant => {
  return (p) =>
    broken(p, {
      start: async (name: string, config: RuntimeConfig, options: Parameters<Provider['start']>[2]) => {
        const changed = change(name, config, p);
        return p.start(changed?.name ?? name, changed?.config ?? config, options);
      },
    });
};
const nudge = (change: (text: string) => string): Mutant => {
  return (p) =>
    broken(p, {
      nudge: async (name: string, content: readonly ContentBlock[]) =>
        p.nudge(name, [{ type: 'text', text: change(textOf(content)) }]),
    });
};
/** Prefix matching, as a bare tmux target does. */
const prefixed = async (p: Provider, name: string) => (await p.listRunning(name))[0] ?? name;
const once = (first: () => Promise<unknown>): (() => Promise<unknown>) => {
  let seen = 0;
  return () => {
    seen += 1;
    return seen === 1 ? first() : Promise.reject(new GcError('mutant', 'only the first call is served'));
  };
};

/** For each case a provider that only this fault breaks; the case must catch it. */
export const MUTANTS: Readonly<Record<string, Mutant | readonly Mutant[]>> = {
  ...ANSWER_MUTANTS,

  Start_CreatesRunningSession: (p) => broken(p, { isRunning: answers('no') }),
  Start_DuplicateReturnsError: (p) =>
    broken(p, {
      start: async (name: string, config: RuntimeConfig, options: Parameters<Provider['start']>[2]) =>
        (await p.isRunning(name)) === 'yes'
          ? { kind: 'ready', answered: [], warnings: [] }
          : p.start(name, config, options),
    }),
  Start_ConcurrentDistinctSessions: serialOnly,
  Stop_MakesSessionNotRunning: (p) => broken(p, { stop: async () => undefined }),
  Stop_Idempotent_NotRunning: strictStop,
  Stop_Idempotent_AlreadyStopped: strictStop,
  Stop_ConcurrentDistinctSessions: (p) => {
    let busy = false;
    return broken(p, {
      stop: async (name: string, options: Parameters<Provider['stop']>[1]) => {
        if (busy) return;
        busy = true;
        try {
          await p.stop(name, options);
        } finally {
          busy = false;
        }
      },
    });
  },
  Interrupt_ConcurrentDistinctSessions: (p) => {
    let busy = false;
    return broken(p, {
      interrupt: async (name: string) => {
        if (busy) throw new GcError('mutant', 'one interrupt at a time');
        busy = true;
        await p.interrupt(name);
        busy = false;
      },
    });
  },
  IsRunning_UnknownSession: (p) => broken(p, { isRunning: answers('yes') }),
  IsRunning_ConcurrentDistinctSessions: (p) => {
    let busy = false;
    return broken(p, {
      isRunning: async (name: string): Promise<Answer> => {
        if (busy) return 'unknown';
        busy = true;
        try {
          return await p.isRunning(name);
        } finally {
          busy = false;
        }
      },
    });
  },
  ListRunning_FindsSessions: (p) =>
    broken(p, { listRunning: async (x: string) => (await p.listRunning(x)).slice(0, 1) }),
  ListRunning_PrefixFiltering: (p) => broken(p, { listRunning: () => p.listRunning('') }),
  ListRunning_ExcludesStopped: (p) => {
    const seen = new Set<string>();
    return broken(p, {
      listRunning: async (x: string) =>
        [...new Set([...seen, ...(await p.listRunning(x))])].filter((n) => n.startsWith(x)),
      stop: async (name: string, options: Parameters<Provider['stop']>[1]) => {
        seen.add(name);
        await p.stop(name, options);
      },
    });
  },
  ListRunning_EmptyPrefix: (p) =>
    broken(p, { listRunning: async (x: string) => (x === '' ? [] : p.listRunning(x)) }),
  ListRunning_ConcurrentDistinctPrefixes: (p) => {
    let shared = '';
    return broken(p, {
      listRunning: async (x: string) => {
        shared = x;
        await Promise.resolve();
        return p.listRunning(shared);
      },
    });
  },
  ProcessAlive_EmptyNamesReturnsTrue: (p) => broken(p, { processAlive: answers('no') }),
  ProcessAlive_FalseAfterStop: (p) => broken(p, { processAlive: answers('yes') }),
  ProcessAlive_ConcurrentDistinctSessions: (p) => broken(p, { processAlive: once(answers('yes')) }),
  SetGetMeta_RoundTrip: (p) => broken(p, { setMeta: async () => undefined }),
  GetMeta_UnsetKey: (p) => broken(p, { getMeta: fails('getMeta') }),
  RemoveMeta_ThenGetReturnsEmpty: (p) => broken(p, { removeMeta: async () => undefined }),
  SetMeta_OverwritesPrevious: (p) =>
    broken(p, {
      setMeta: async (n: string, k: string, v: string) =>
        (await p.getMeta(n, k)) === '' ? p.setMeta(n, k, v) : undefined,
    }),
  Meta_MultipleKeys: (p) =>
    broken(p, {
      setMeta: (n: string, _k: string, v: string) => p.setMeta(n, 'one', v),
      getMeta: (n: string) => p.getMeta(n, 'one'),
    }),
  Peek_NoError: (p) => broken(p, { peek: fails('peek') }),
  GetLastActivity_NoError: (p) => broken(p, { getLastActivity: fails('getLastActivity') }),
  ClearScrollback_NoError: (p) => broken(p, { clearScrollback: fails('clearScrollback') }),
  CopyTo_NoError: (p) => broken(p, { copyTo: fails('copyTo') }),
  SendKeys_RunningSession: (p) => broken(p, { sendKeys: fails('sendKeys') }),
  SendKeys_MissingSession: (p) => broken(p, { sendKeys: fails('sendKeys') }),
  Interrupt_RunningSession: (p) => broken(p, { interrupt: fails('interrupt') }),
  Interrupt_MissingSession: (p) => broken(p, { interrupt: fails('interrupt') }),
  Nudge_RunningSession: (p) => broken(p, { nudge: async () => ({ kind: 'failed', detail: 'mutant' }) }),
  Nudge_MissingSession: (p) =>
    broken(p, { nudge: async () => ({ kind: 'delivered', tookMs: 0, verified: true }) }),

  Start_DuplicateLeavesLiveSessionAlone: (p) =>
    broken(p, {
      start: async (name: string, config: RuntimeConfig, options: Parameters<Provider['start']>[2]) => {
        try {
          return await p.start(name, config, options);
        } catch (error) {
          await p.stop(name, { graceMs: 100 });
          throw error;
        }
      },
    }),
  Stop_TouchesOnlyTheExactName: (p) =>
    broken(p, {
      stop: async (name: string, options: Parameters<Provider['stop']>[1]) =>
        p.stop(await prefixed(p, name), options),
    }),
  Start_InvalidNamesRefused: start((name) => ({
    name: name.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, 60) || 'x',
  })),
  Start_NameIsFreeAfterDeath: (p) => {
    const used = new Set<string>();
    return broken(p, {
      start: async (name: string, config: RuntimeConfig, options: Parameters<Provider['start']>[2]) => {
        if (used.has(name)) throw new GcError('session-exists', 'the name was used before');
        used.add(name);
        return p.start(name, config, options);
      },
    });
  },
  Start_DeathAtOnceTellsWhy: vagueStart,
  Start_MissingProgramTellsWhich: vagueStart,
  Start_PreStartFailureCreatesNothing: start((_name, config) => ({ config: { ...config, preStart: [] } })),
  Start_AbortedLeavesNothing: (p) =>
    broken(p, {
      start: async (name: string, config: RuntimeConfig, options: Parameters<Provider['start']>[2]) => {
        const result = await p.start(
          name,
          { ...config, readyPromptPrefix: '', readyDelayMs: 500 },
          { signal: AbortSignal.timeout(20_000) },
        );
        await new Promise<void>((resolve) => {
          if (options.signal.aborted) resolve();
          options.signal.addEventListener('abort', () => resolve());
          setTimeout(resolve, 2_000);
        });
        options.signal.throwIfAborted();
        return result;
      },
    }),
  Start_StepsInOrder: start((_name, config) => ({
    config: { ...config, preStart: [], sessionSetup: [...config.preStart, ...config.sessionSetup] },
  })),
  Start_OverlayTwiceIsTheSame: (p) =>
    broken(p, {
      start: async (name: string, config: RuntimeConfig, options: Parameters<Provider['start']>[2]) => {
        const target = join(config.workDir, 'notes.txt');
        const again = existsSync(target);
        const result = await p.start(name, config, options);
        if (again) writeFileSync(target, 'from the overlay\nfrom the overlay\n');
        return result;
      },
    }),
  Stop_EndsTheWholeTree: leaderOnlyStop,
  Stop_RefusesAnotherIncarnation: (p) =>
    broken(p, { stop: (name: string) => p.stop(name, { graceMs: 100 }) }),
  Meta_DoesNotOutliveTheSession: (p) => {
    const kept = new Map<string, string>();
    return broken(p, {
      setMeta: async (n: string, k: string, v: string) => void kept.set(`${n} ${k}`, v),
      getMeta: async (n: string, k: string) => kept.get(`${n} ${k}`) ?? '',
    });
  },
  Meta_AnyText: (p) => broken(p, { getMeta: async (n: string, k: string) => (await p.getMeta(n, k)).trim() }),
  Meta_FromStartEnvironment: start((_name, config) => ({ config: { ...config, env: {} } })),
  Environment_ExactlyWhatWasGiven: start((_name, config) => ({
    config: { ...config, env: { ...config.env, HOME: '/root' } },
  })),
  Environment_GivenValuesAndWorkDir: start((_name, config) => ({
    config: { ...config, env: { ...config.env, GIVEN: config.env['GIVEN']?.replaceAll('"', '') ?? '' } },
  })),
  Descriptors_NoneOfOurs: start((_name, config) => ({
    config: { ...config, command: `exec 9<>/dev/ptmx; ${config.command}` },
  })),
  Prompt_ArrivesAsOneArgument: start((_name, config) => ({
    config: { ...config, promptSuffix: config.promptSuffix.slice(1, -1) },
  })),
  Observe_TellsAllInOneCall: (p) =>
    broken(p, {
      observe: async () => {
        const survey = canObserve(p) ? await p.observe() : undefined;
        if (survey?.kind !== 'seen') return survey;
        return { kind: 'seen', sessions: new Map([...survey.sessions].slice(0, 1)) };
      },
    }),
  Observe_DeadPaneKeepsItsExit: (p) =>
    broken(p, {
      observe: async () => {
        const survey = canObserve(p) ? await p.observe() : undefined;
        if (survey?.kind !== 'seen') return survey;
        return {
          kind: 'seen',
          sessions: new Map([...survey.sessions].filter(([, o]) => o.liveness.kind === 'running')),
        };
      },
    }),

  Nudge_BytesInBytesOut: nudge((text) => text.replace(/;$/, '')),
  Nudge_LinesStayTogether: nudge((text) => text.split('\n')[0] ?? ''),
  Nudge_OneMegabyte: nudge((text) => text.slice(0, 65_536)),
  Nudge_SubmitSurvivesPasteBurst: typedNudge,
  Nudge_ConcurrentOnesStayWhole: typedNudge,
  Nudge_LeftoverDraftIsNotMixedIn: typedNudge,
  Nudge_AfterDeathSaysSo: (p) =>
    broken(p, { nudge: async () => ({ kind: 'delivered', tookMs: 1, verified: false }) }),
  Start_NothingTypedBeforeReady: start((_name, config) => ({
    config: { ...config, readyPromptPrefix: '', readyDelayMs: 1 },
  })),
  Start_KnownDialogIsAnswered: (p) =>
    broken(p, {
      start: async (name: string, config: RuntimeConfig, options: Parameters<Provider['start']>[2]) => {
        await p.start(
          name,
          { ...config, readyPromptPrefix: '', readyDelayMs: 1, emitsPermissionWarning: false },
          options,
        );
        return { kind: 'ready', answered: [], warnings: [] };
      },
    }),
  SendKeys_ReachTheAgent: (p) => broken(p, { sendKeys: async () => undefined }),
  Interrupt_ReachesTheAgent: (p) => broken(p, { interrupt: async () => undefined }),
  Peek_ShowsTheLastLines: (p) => broken(p, { peek: (n: string) => p.peek(n, 5) }),
  Peek_JoinsWrappedLines: (p) =>
    broken(p, {
      peek: async (n: string, lines: number) => (await p.peek(n, lines)).replace(/(.{80})/g, '$1\n'),
    }),
  Peek_OfEverythingHasTheScrollback: (p) =>
    broken(p, { peek: (n: string, lines: number) => p.peek(n, lines > 0 ? lines : 24) }),
  Output_NothingLostAtExit: (p) =>
    broken(p, { peek: async (n: string, lines: number) => (await p.peek(n, lines)).slice(0, 4_096) }),
  Watch_ReportsExitsAsTheyHappen: (p) =>
    broken(p, {
      watch: async function* watch(signal: AbortSignal): AsyncIterable<RuntimeEvent> {
        if (!canWatch(p)) return;
        for await (const event of p.watch(signal)) if (event.kind !== 'exited') yield event;
      },
    }),
  WaitForIdle_TellsIdleFromBusy: (p) => broken(p, { waitForIdle: async () => canWaitForIdle(p) }),
  Activity_AdvancesWithOutput: (p) => broken(p, { getLastActivity: async () => 1 }),
  CopyTo_PutsTheFileIntoTheWorkDir: (p) => broken(p, { copyTo: async () => undefined }),
  Attach_TellsHowToEnterAndLeave: (p) =>
    broken(p, {
      attach: async (name: string) => {
        const plan = await p.attach(name);
        return { ...plan, leave: '' };
      },
    }),
  Second_ProviderSeesTheSameSessions: (p) => broken(p, { isRunning: answers('yes') }),
  Second_ProviderReachesTheAgent: (p) => broken(p, { nudge: async () => ({ kind: 'no-session' }) }),
};

function serialOnly(p: Provider): Provider {
  let busy = false;
  return broken(p, {
    start: async (name: string, config: RuntimeConfig, options: Parameters<Provider['start']>[2]) => {
      if (busy) throw new GcError('mutant', 'one start at a time');
      busy = true;
      try {
        return await p.start(name, config, options);
      } finally {
        busy = false;
      }
    },
  });
}

function strictStop(p: Provider): Provider {
  return broken(p, {
    stop: async (name: string, options: Parameters<Provider['stop']>[1]) => {
      if ((await p.isRunning(name)) !== 'yes') throw new GcError('mutant', `no session ${name}`);
      await p.stop(name, options);
    },
  });
}

/** Success is reported for whatever happened, or a bare timeout. */
function vagueStart(p: Provider): Provider {
  return broken(p, {
    start: async (name: string, config: RuntimeConfig, options: Parameters<Provider['start']>[2]) => {
      try {
        return await p.start(name, config, options);
      } catch (error) {
        throw new GcError('timeout', 'timed out waiting for session', { cause: error });
      }
    },
  });
}

/** Keeps a helper of the agent alive: what a stop that signals the leader alone leaves behind. */
function leaderOnlyStop(p: Provider): Provider {
  const asked = new Set<string>();
  return broken(p, {
    stop: async (name: string, options: Parameters<Provider['stop']>[1]) => {
      // The clean-up's second call is served, so that the test leaves nothing.
      if (asked.has(name)) return p.stop(name, options);
      asked.add(name);
      return undefined;
    },
  });
}

/** Types the text key by key, with Enter right behind it and no lock. */
function typedNudge(p: Provider): Provider {
  return broken(p, {
    nudge: async (name: string, content: readonly ContentBlock[]) => {
      const keys = [...textOf(content)];
      for (let i = 0; i < keys.length; i += 200) {
        await p.sendKeys(name, keys.slice(i, i + 200));
        await new Promise((resolve) => setImmediate(resolve));
      }
      await p.sendKeys(name, ['Enter']);
      return { kind: 'delivered', tookMs: 1, verified: false };
    },
  });
}
