import { existsSync, lstatSync, readdirSync, statfsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { controllerOf } from '../../../internal/controller/city-lock.ts';
import { apiSocketPath, controlSocketPath } from '../../../internal/controller/control-socket-client.ts';
import { readRegisteredCities } from '../../../internal/controller/registry.ts';
import { supervisorStatus } from '../../../internal/controller/supervisor-client.ts';
import { GcError, messageOf } from '../../../internal/platform/errors.ts';
import { gcHome } from '../../../internal/platform/paths.ts';
import { openDatabase } from '../../../internal/platform/sqlite.ts';
import { parseTmuxVersion } from '../../../internal/runtime/tmux/version.ts';
import { findProgram } from '../city/find-program.ts';
import { controllerLine, isUp, providerText } from '../output/words.ts';
import { capabilities } from './capability-check.ts';
import { type Check, fail, ok, warn } from './check.ts';
import { outputOf } from './output-of.ts';

const OTHERS_MASK = 0o077;
const LOW_DISK_BYTES = 200 * 1024 * 1024;
const LARGE_EXPORT_BYTES = 256 * 1024 * 1024;

const node: Check = {
  name: 'node',
  async run() {
    const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
    const enough = major > 20 || (major === 20 && minor >= 19);
    return enough
      ? ok(process.version)
      : fail(`${process.version} is too old`, 'install Node 20.19 or newer');
  },
};

const tmux: Check = {
  name: 'tmux-binary',
  async run({ env, status }) {
    const path = findProgram(env, 'tmux');
    const needed = !(status instanceof Error) && status.provider.name === 'tmux';
    if (path === undefined) {
      if (needed)
        return fail('the city runs in tmux, but tmux is not on the PATH', 'install tmux 3.2 or newer');
      return ok('not installed and not needed: sessions run in embedded terminals');
    }
    const version = parseTmuxVersion(await outputOf([path, '-V'], env));
    if (version.supported) return ok(`${version.text} at ${path}`);
    const hint = 'install tmux 3.2 or newer, or set GC_SESSION=subprocess';
    return (needed ? fail : warn)(`${version.text} is too old`, hint);
  },
};

const provider: Check = {
  name: 'provider',
  async run({ status, live }) {
    if (status instanceof Error) {
      const next = status instanceof GcError ? status.next : undefined;
      return fail(status.message, next ?? 'gc config show --validate, gc supervisor logs');
    }
    const details = [`chosen by: ${status.provider.chosen_by}`, ...status.problems];
    const problem = status.problems[0];
    // Sessions of a running city go on meanwhile; one that does not run could start none.
    if (problem !== undefined && !live) return fail(problem, 'repair that, then gc start', details);
    if (problem !== undefined) return warn(problem, 'gc events --since 1h shows when it began', details);
    return ok(providerText(status.provider), details);
  },
};

const controller: Check = {
  name: 'controller',
  async run({ root, status, live }) {
    if (live && !(status instanceof Error)) {
      return ok(`controller running (sessions managed): ${controllerLine(status.controller)}`);
    }
    const holder = controllerOf(join(root, '.gc'));
    if (!holder) return ok('controller not running (one-shot mode)');
    return fail(
      `pid ${holder.pid} holds the city but does not answer`,
      `kill ${holder.pid}, then gc start: the agents are kept`,
    );
  },
};

const supervisor: Check = {
  name: 'supervisor',
  async run({ root, env, status }) {
    const running = await supervisorStatus(env);
    const keeper = status instanceof Error ? undefined : status.controller;
    if (!running.running && keeper?.running && keeper.mode === 'supervisor') {
      const hint = 'set GC_HOME as it was when the city was started';
      return warn(
        `the supervisor that keeps this city (PID ${keeper.pid}) is not the one of this shell`,
        hint,
      );
    }
    const listed = readRegisteredCities(gcHome(env)).some((city) => city.path === root);
    if (running.running)
      return ok(`running (PID ${running.pid}); this city is ${listed ? '' : 'not '}registered`);
    if (listed) return warn('this city is registered, but no supervisor runs', 'gc start');
    return ok('not running, and this city is not registered');
  },
};

const sockets: Check = {
  name: 'sockets',
  async run({ root, env, live }) {
    const paths = [apiSocketPath(root, env), controlSocketPath(root, env)];
    const found = paths.filter((path) => existsSync(path));
    const foreign = found.find((path) => !lstatSync(path).isSocket());
    if (foreign) return fail(`${foreign} is not a socket`, `move ${foreign} away`);
    if (live && found.length === paths.length) return ok('both there', paths);
    if (found.length === 0) return ok('none, as no controller runs', paths);
    return ok('leftovers of an earlier run; the next start replaces them', found);
  },
};

const permissions: Check = {
  name: 'permissions',
  async run({ root }) {
    const dir = join(root, '.gc');
    if (!existsSync(dir)) return ok('no state yet');
    const uid = process.getuid?.();
    if (uid !== undefined && statSync(dir).uid !== uid) {
      return fail(`${dir} belongs to another user`, `chown -R ${uid} ${dir}`);
    }
    const open = [dir, ...readdirSync(dir).map((name) => join(dir, name))].filter(
      (path) => (lstatSync(path).mode & OTHERS_MASK) !== 0 && !lstatSync(path).isSymbolicLink(),
    );
    if ((statSync(dir).mode & OTHERS_MASK) === 0) return ok('only you can read the state');
    return warn(`others can reach ${open.length} file(s) of the state`, `chmod -R go= ${dir}`, open);
  },
};

const store: Check = {
  name: 'store',
  async run({ root }) {
    const file = join(root, '.gc', 'city.db');
    if (!existsSync(file)) return ok('no records yet');
    try {
      const db = openDatabase(file, { migrations: [], readonly: true });
      try {
        const found = String(db.pragma('quick_check(1)', { simple: true }));
        if (found === 'ok') return ok('records can be read');
        return fail(
          `the records are damaged: ${found}`,
          `gc stop, then move ${file} away; conversations stay`,
        );
      } finally {
        db.close();
      }
    } catch (error) {
      return fail(
        `the records cannot be read: ${messageOf(error)}`,
        `look at ${file} and the space on its disk`,
      );
    }
  },
};

const eventsLog: Check = {
  name: 'events-log',
  async run({ root }) {
    const file = join(root, '.gc', 'events.jsonl');
    const size = statSync(file, { throwIfNoEntry: false })?.size;
    if (size === undefined) return ok('none yet');
    const mb = Math.ceil(size / 1_048_576);
    if (size < LARGE_EXPORT_BYTES) return ok(`${mb} MB`);
    return warn(`events.jsonl has ${mb} MB`, `it is an export: gc stop, then move ${file} away`);
  },
};

const disk: Check = {
  name: 'disk',
  async run({ root }) {
    const { bavail, bsize } = statfsSync(root);
    const free = bavail * bsize;
    const mb = Math.floor(free / 1_048_576);
    return free < LOW_DISK_BYTES
      ? warn(`only ${mb} MB free`, 'make room on the disk of the city')
      : ok(`${mb} MB free`);
  },
};

const orphans: Check = {
  name: 'orphan-sessions',
  async run({ status, live }) {
    if (status instanceof Error) return warn('not checked: the sessions could not be listed', 'gc status');
    const running = status.sessions.filter((session) => isUp(session.condition));
    const names = running.map((session) => session.display_name);
    if (live) return ok(`${running.length} running, all under the controller`, names);
    if (running.length === 0) return ok('none');
    return warn(
      `${running.length} session(s) run without a controller: ${names.join(', ')}`,
      'gc start takes them over, gc stop ends them',
      names,
    );
  },
};

/** What depends on the machine and on what runs. */
export const systemChecks: readonly Check[] = [
  node,
  tmux,
  provider,
  capabilities,
  supervisor,
  controller,
  sockets,
  permissions,
  store,
  eventsLog,
  disk,
  orphans,
];
