import {
  reloadSupervisor,
  supervisorCities,
  supervisorStatus,
} from '../../../internal/controller/supervisor-client.ts';
import { GcError } from '../../../internal/platform/errors.ts';
import type { CommandRun } from '../cli/spec.ts';

export const runSupervisorStatus: CommandRun = async (context) => {
  const status = await supervisorStatus(context.env);
  if (context.json) {
    const cities = (await supervisorCities(context.env)) ?? [];
    context.out.write(`${JSON.stringify({ ...status, cities }, null, 2)}\n`);
  } else {
    context.out.write(
      status.running ? `Supervisor is running (PID ${status.pid})\n` : 'Supervisor is not running\n',
    );
  }
  return status.running ? 0 : 1;
};

export const runSupervisorStart: CommandRun = async (context) => {
  const { ensureSupervisor } = await import('../../../internal/controller/supervisor-start.ts');
  const { supervisorOptions } = await import('../city/registration.ts');
  const running = await ensureSupervisor({ ...supervisorOptions(context), exitWhenEmpty: false });
  if (!running.started) {
    throw new GcError('supervisor-running', `Supervisor is already running (PID ${running.pid})`, {
      next: 'gc supervisor status',
    });
  }
  context.out.write(`Supervisor started (PID ${running.pid})\n`);
  return 0;
};

export const runSupervisorStop: CommandRun = async (context) => {
  const { stopSupervisor } = await import('../../../internal/controller/supervisor-start.ts');
  const { running } = await supervisorStatus(context.env);
  if (running) context.out.write('Supervisor stopping...\n');
  if (await stopSupervisor(context.env, context.clock, context.signal)) return 0;
  throw new GcError('supervisor-not-running', 'Supervisor is not running');
};

export const runSupervisorReload: CommandRun = async (context) => {
  const answer = await reloadSupervisor(context.env);
  if (answer === 'not-running') {
    throw new GcError('supervisor-not-running', 'Supervisor is not running', { next: 'gc supervisor start' });
  }
  if (answer === 'timeout') {
    throw new GcError('supervisor-busy', 'the supervisor is still starting or stopping cities', {
      next: 'gc cities --json',
    });
  }
  context.out.write('Reconciliation triggered.\n');
  return 0;
};
