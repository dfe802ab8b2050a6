import type { CityStatus, SessionView } from '../../../internal/controller/city-api.ts';
import type { CityResources } from '../../../internal/controller/city-resources.ts';
import { createStyle } from '../output/style.ts';

/** Noon, in the fixtures. */
export const NOW = Date.parse('2030-05-01T12:00:00Z');
export const PLAIN = createStyle(false);
export const COLOUR = createStyle(true);

export const ago = (ms: number): string => new Date(NOW - ms).toISOString();

/** A session view with everything at rest, changed where a test says so. */
export function aSession(name: string, over: Partial<SessionView> = {}): SessionView {
  return {
    id: `gc-${name}`,
    display_name: name,
    session_name: name.replace('/', '--'),
    alias: name,
    title: name,
    template: name,
    state: 'active',
    condition: 'idle',
    since: ago(12 * 60_000),
    wanted: true,
    wake_reasons: ['config'],
    sleep_reason: '',
    provider: 'tmux',
    command: 'claude',
    transport: '',
    work_dir: '/home/u/city',
    session_key: '',
    resume_flag: '',
    resume_style: '',
    resume_command: '',
    attached: false,
    created_at: ago(3 * 3_600_000),
    last_active: ago(41_000),
    restarts: 0,
    depends_on: [],
    ...over,
  };
}

/** A status with counts that follow from the sessions, changed where a test says so. */
export function aStatus(sessions: readonly SessionView[], over: Partial<CityStatus> = {}): CityStatus {
  const count = (...conditions: readonly string[]) =>
    sessions.filter((s) => conditions.includes(s.condition)).length;
  const running = count('idle', 'working', 'running', 'waits');
  return {
    city_name: 'bright-lights',
    city_path: '/home/u/bright-lights',
    controller: { running: true, pid: 4121, mode: 'supervisor' },
    provider: { name: 'tmux', chosen_by: 'default', tmux_socket: 'bright-lights' },
    suspended: false,
    started_at: ago(3 * 3_600_000),
    config: { file: '/home/u/bright-lights/city.yaml', revision: '3f2a91cdeadbeef' },
    agents: sessions.map((session) => ({
      name: session.template,
      qualified_name: session.template,
      scope: 'city' as const,
      running: ['idle', 'working', 'running', 'waits'].includes(session.condition),
      suspended: false,
    })),
    sessions,
    rigs: [],
    summary: {
      total_agents: sessions.length,
      running_agents: running,
      wanted_sessions: sessions.filter((session) => session.wanted).length,
      running_sessions: running,
      waiting_for_person: count('waits'),
      backing_off: count('backing-off', 'quarantined'),
      unknown_sessions: count('unknown'),
      active_sessions: running,
      suspended_sessions: count('suspended'),
    },
    problems: [],
    ...over,
  };
}

/** A machine with two sessions, one of them in a cluster. */
export function aResources(): CityResources {
  return {
    machine: { memory_free: 6 * 2 ** 30, memory_total: 16 * 2 ** 30, load: [1.24, 0.9, 0.5], cores: 8 },
    limits: { max_load_per_core: 0, min_free_memory: 2 * 2 ** 30, memory_per_session: 0 },
    sessions: [
      {
        id: 'gc-1',
        display_name: 'mayor',
        session_name: 'mayor',
        elsewhere: false,
        memory: 412 * 2 ** 20,
        cpu_ms: 61_000,
        cpu_share: 0.304,
        processes: 3,
      },
      {
        id: 'gc-2',
        display_name: 'worker-1',
        session_name: 'worker-1',
        elsewhere: true,
        problem: 'not measured yet',
      },
    ],
    total: { memory: 412 * 2 ** 20, cpu_share: 0.304, processes: 3 },
  };
}
