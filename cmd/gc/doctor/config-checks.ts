import { existsSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { ConfigProblem } from '../../../internal/config/city.ts';
import { agentPreset } from '../../../internal/controller/agent-transport.ts';
import { messageOf } from '../../../internal/platform/errors.ts';
import { findProgram } from '../city/find-program.ts';
import { isCoreWord } from '../cli/first-word.ts';
import { type Check, fail, ok, warn } from './check.ts';

const SHOWN_PROBLEMS = 10;

const cityStructure: Check = {
  name: 'city-structure',
  async run({ root, config }) {
    const file = config.kind === 'ok' ? config.city.file : config.file;
    if (!existsSync(file))
      return fail(`no city file in ${root}`, 'gc init, or look for the folder with: gc cities');
    const state = existsSync(join(root, '.gc')) ? 'started before' : 'never started';
    return ok(`${relative(root, file)} in ${root} (${state})`);
  },
};

const cityConfig: Check = {
  name: 'city-config',
  async run({ root, config }) {
    const problems = config.kind === 'ok' ? config.city.warnings : config.problems;
    const errors = problems.filter((problem) => problem.severity === 'error');
    const warnings = problems.filter((problem) => problem.severity === 'warning');
    const details = problems.slice(0, SHOWN_PROBLEMS).map((problem) => placed(problem, root));
    if (errors.length > 0) {
      return fail(`${errors.length} error(s): ${details[0] ?? ''}`, 'gc config show --validate', details);
    }
    if (warnings.length > 0) {
      return warn(`${warnings.length} warning(s): ${details[0] ?? ''}`, 'gc config show --validate', details);
    }
    if (config.kind !== 'ok') return fail('the city file could not be read', 'gc config show --validate');
    const { agents, namedSessions } = config.city;
    return ok(`${agents.length} agent(s), ${namedSessions.length} named session(s)`);
  },
};

function placed({ position, message }: ConfigProblem, root: string): string {
  return position
    ? `${relative(root, position.file)}:${position.line}:${position.column} ${message}`
    : message;
}

/** What is tolerated for the sake of old files hides a typing error all the same. */
const configNotes: Check = {
  name: 'config-notes',
  async run({ root, config, commands: core }) {
    if (config.kind !== 'ok')
      return warn('not checked: the city file has errors', 'gc config show --validate');
    const { notes, commands } = config.city;
    const hidden = new Set(commands.map(({ binding }) => binding).filter((word) => isCoreWord(core, word)));
    const details = [
      ...notes.map((note) => placed(note, root)),
      ...[...hidden].map(
        (word) => `the commands of "${word}" cannot be called: gc ${word} is a command itself`,
      ),
    ];
    if (details.length === 0) return ok('none');
    return ok(`${details.length} thing(s) without effect: ${details[0] ?? ''}`, details);
  },
};

const agentPrograms: Check = {
  name: 'agent-programs',
  async run({ config, env, status }) {
    if (config.kind !== 'ok')
      return warn('not checked: the city file has errors', 'gc config show --validate');
    const { city } = config;
    const chosen = env['GC_SESSION'] || city.session.provider;
    const place = { city, env, provider: status instanceof Error ? chosen : status.provider.name };
    const lookPath = (program: string) => findProgram(env, program);
    const found: string[] = [];
    const missing: string[] = [];
    const reasons = new Map<string, string[]>();
    for (const agent of city.agents) {
      try {
        const { preset, transport } = agentPreset(place, agent, lookPath);
        const bridge = transport === 'acp' ? preset.acpCommand : '';
        found.push(`${agent.qualifiedName}: ${bridge || preset.command}`);
      } catch (error) {
        const why = messageOf(error);
        missing.push(`${agent.qualifiedName}: ${why}`);
        reasons.set(why, [...(reasons.get(why) ?? []), agent.qualifiedName]);
      }
    }
    if (missing.length > 0) {
      return fail(
        [...reasons].map(([why, names]) => `${why}: ${firstAndMore(names)}`).join('; '),
        'install the program, or name another provider in the city file',
        missing,
      );
    }
    return ok(`found for all ${city.agents.length} agent(s)`, found);
  },
};

function firstAndMore([first = '', ...more]: readonly string[]): string {
  return more.length === 0 ? first : `${first} and ${more.length} more`;
}

const rigs: Check = {
  name: 'rigs',
  async run({ config }) {
    if (config.kind !== 'ok')
      return warn('not checked: the city file has errors', 'gc config show --validate');
    const all = config.city.rigs;
    const missing = all.filter((rig) => !statSync(rig.path, { throwIfNoEntry: false })?.isDirectory());
    const details = all.map((rig) => `${rig.name}: ${rig.path}`);
    if (missing.length === 0)
      return ok(all.length === 0 ? 'none' : `${all.length} project folder(s)`, details);
    const first = missing[0];
    return fail(
      `rig "${first?.name}": no folder ${first?.path}`,
      'make it, or correct its path in the city file',
      details,
    );
  },
};

/** What can be known from the city file alone. */
export const configChecks: readonly Check[] = [cityStructure, cityConfig, configNotes, agentPrograms, rigs];
