import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { offersOf } from '../../../cmd/gc/conformance/declared.ts';
import { systemClock } from '../../../internal/platform/clock.ts';
import { AcpProvider } from '../../../internal/runtime/acp/acp-provider.ts';
import { ACP_ROUTE, AutoProvider } from '../../../internal/runtime/auto/auto-provider.ts';
import { HybridProvider } from '../../../internal/runtime/hybrid/hybrid-provider.ts';
import type { Provider, StartOptions, StartResult } from '../../../internal/runtime/provider.ts';
import type { RoutedProvider } from '../../../internal/runtime/routing/routed-provider.ts';
import { EMPTY_RUNTIME_CONFIG, type RuntimeConfig } from '../../../internal/runtime/runtime-config.ts';
import { TerminalProvider } from '../../../internal/runtime/terminal/terminal-provider.ts';
import { ALL_ABILITIES } from '../abilities.ts';
import { installAcpAgent } from '../acp-agents.ts';
import { installAgent } from '../agents.ts';
import type { ProviderSubject } from '../case.ts';
import { ACP_LACKS } from './acp-subject.ts';
import { providerParts, sourceHost } from './host-parts.ts';
import { shareOfCases } from './share.ts';
import type { OpenSubject } from './subjects.ts';

const PATH = process.env['PATH'] ?? '';

/** Every other session of the suite is one of the second side. */
const isOfSecond = (name: string): boolean => Number(/-(\d+)-x$/.exec(name)?.[1] ?? 0) % 2 === 1;

/** The router that has been told where each session goes, as a controller tells it before a start. */
class ToldRouter extends AutoProvider {
  override start(name: string, config: RuntimeConfig, options: StartOptions): Promise<StartResult> {
    this.routeTo(name, isOfSecond(name) ? ACP_ROUTE : '');
    return super.start(name, config, options);
  }
}

/** Half of the sessions at terminals and half over ACP. The second provider has lost every route. */
export function autoSubject(): OpenSubject {
  const scratch = mkdtempSync(join(tmpdir(), 'gc-conf-'));
  const idle = join(scratch, 'idle');
  mkdirSync(idle);
  // Written once: a program that is written anew while another session reads it would be cut off.
  const either = eitherAgent(idle);
  const sides = () => ({
    fallback: new TerminalProvider({ ...providerParts(scratch), backend: sourceHost(scratch, 'terminals') }),
    acp: new AcpProvider({
      ...providerParts(scratch),
      backend: sourceHost(scratch, 'acp'),
      clientVersion: 'conformance',
    }),
    clock: systemClock,
  });
  return routedSubject(
    scratch,
    (isFirst) => (isFirst ? new ToldRouter(sides()) : new AutoProvider(sides())),
    {
      title: 'auto',
      offers: new Set(ALL_ABILITIES.filter((each) => !ACP_LACKS.includes(each))),
      config: () => ({ ...EMPTY_RUNTIME_CONFIG, ...either }),
      agent: (agent, folder, name) =>
        isOfSecond(name) ? installAcpAgent(agent, folder) : installAgent(agent, folder),
    },
  );
}

/** Sessions whose number begins with 1 on one host, the others on another: the second stands for what is far away. */
export function hybridSubject(): OpenSubject {
  const scratch = mkdtempSync(join(tmpdir(), 'gc-conf-'));
  const open = () =>
    new HybridProvider({
      local: new TerminalProvider({ ...providerParts(scratch), backend: sourceHost(scratch, 'here') }),
      remote: new TerminalProvider({ ...providerParts(scratch), backend: sourceHost(scratch, 'there') }),
      remoteMatch: `-${process.pid}-1`,
      clock: systemClock,
    });
  return routedSubject(scratch, open, {
    title: 'hybrid',
    offers: offersOf('subprocess'),
    config: () => ({ ...EMPTY_RUNTIME_CONFIG, command: 'sleep 300', env: { PATH } }),
  });
}

type Rest = Omit<ProviderSubject, 'provider' | 'scratch' | 'second'>;

function routedSubject(scratch: string, open: (isFirst: boolean) => RoutedProvider, rest: Rest): OpenSubject {
  const opened: RoutedProvider[] = [];
  const provider = (): RoutedProvider => {
    const made = open(opened.length === 0);
    opened.push(made);
    return made;
  };
  const first = provider();
  return {
    subject: { ...rest, scratch, provider: first, second: async (): Promise<Provider> => provider() },
    close: async () => {
      for (const name of await first.listRunning('')) await first.stop(name, { graceMs: 100 });
      for (const each of opened) await each.close();
      rmSync(scratch, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
    },
  };
}

/** One that only runs, on either side: it speaks the protocol when it is not at a terminal. */
function eitherAgent(folder: string): Pick<RuntimeConfig, 'command' | 'env'> {
  const { command: speaking = '', env = {} } = installAcpAgent({ kind: 'recorder' }, folder);
  const file = join(folder, 'either.sh');
  writeFileSync(file, `if [ -t 0 ]; then exec sleep 300; fi\n${speaking}\n`);
  return { command: `sh '${file}'`, env };
}

/** What is asked of a session goes to its back end, which is judged by all cases; here are those in which the router decides. */
export const ROUTED_CASES = shareOfCases([
  'Start_DuplicateLeavesLiveSessionAlone',
  'Stop_TouchesOnlyTheExactName',
  'Stop_RefusesAnotherIncarnation',
  'Meta_DoesNotOutliveTheSession',
  'Observe_TellsAllInOneCall',
  'Observe_DeadPaneKeepsItsExit',
  'Watch_ReportsExitsAsTheyHappen',
  'Names_ThatAreNoneTouchNothing',
  'Question_IsToldAndAnsweredOnce',
  'ContinueStart_OfWhatIsDoneOrGone',
  'Second_ProviderSeesTheSameSessions',
  'Second_ProviderReachesTheAgent',
]);
