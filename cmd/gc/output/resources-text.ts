import type { CityResources, SessionResources } from '../../../internal/controller/city-resources.ts';
import { bytesText } from '../../../internal/platform/bytes.ts';
import { onePlainLine } from './plain.ts';
import { renderTable } from './table.ts';
import { age } from './times.ts';

/** `gc status --resources`: who takes what, and what the machine has left. */
export function renderResources(resources: CityResources, columns?: number): string {
  const { machine, limits, sessions, total } = resources;
  const rows = sessions
    .toSorted((a, b) => (b.memory ?? 0) - (a.memory ?? 0) || a.display_name.localeCompare(b.display_name))
    .map(rowOf);
  const here = sessions.filter((session) => !session.elsewhere).length;
  const sum = [
    'here in all',
    bytesText(total.memory),
    share(total.cpu_share),
    '',
    String(total.processes),
    '',
  ];
  const table =
    rows.length === 0
      ? 'No session runs.\n'
      : renderTable(
          ['SESSION', 'MEMORY', 'CPU', 'CPU TIME', 'PROCESSES', 'NOTE'],
          [...rows, ...(here > 1 ? [sum] : [])],
          {
            ...(columns === undefined ? {} : { maxColumns: columns }),
            shrinks: [5, 0],
          },
        );
  const free = `${bytesText(machine.memory_free)} of ${bytesText(machine.memory_total)} free`;
  const load = machine.load.map((each) => each.toFixed(1)).join(' ');
  return `${table}\nmachine: ${free} · load ${load} on ${machine.cores} cores${limitsText(limits)}\n`;
}

function rowOf(session: SessionResources): readonly string[] {
  const { memory, cpu_share: cpu, cpu_ms: cpuMs, processes, problem } = session;
  const place = session.elsewhere ? 'elsewhere' : '';
  return [
    session.display_name,
    memory === undefined ? '?' : bytesText(memory),
    cpu === undefined ? '' : share(cpu),
    cpuMs === undefined ? '' : age(cpuMs),
    processes === undefined ? '' : String(processes),
    problem === undefined ? place : onePlainLine(problem),
  ];
}

/** Of one core: 130% is a core and a third of another. */
const share = (of: number): string => `${Math.round(of * 100)}%`;

function limitsText(limits: CityResources['limits']): string {
  const parts = [
    limits.min_free_memory > 0 ? `${bytesText(limits.min_free_memory)} stay free` : '',
    limits.memory_per_session > 0 ? `${bytesText(limits.memory_per_session)} each` : '',
    limits.max_load_per_core > 0 ? `load up to ${limits.max_load_per_core} per core` : '',
  ].filter((part) => part !== '');
  return parts.length === 0 ? '' : `\nstarts wait unless: ${parts.join(', ')}`;
}
