import { loadCity } from '../../../internal/config/load-city.ts';
import type { CityStatus } from '../../../internal/controller/city-api.ts';
import { messageOf } from '../../../internal/platform/errors.ts';
import { limited } from '../../../internal/platform/limited.ts';
import { cityRoot, withCityAt } from '../city/access.ts';
import { agentProgram } from '../city/own-programs.ts';
import type { CommandRun } from '../cli/spec.ts';
import type { Context } from '../context.ts';
import { type Check, type CheckReport, type CheckSubject, fail } from '../doctor/check.ts';
import { configChecks } from '../doctor/config-checks.ts';
import { packChecks } from '../doctor/pack-checks.ts';
import { systemChecks } from '../doctor/system-checks.ts';
import { renderDoctor } from '../output/doctor-text.ts';

const PACK_CHECKS_AT_ONCE = 4;

export const runDoctor: CommandRun = async (context, input) => {
  const root = await cityRoot(context);
  const config = await loadCity(root, { env: context.env });
  const { env, signal, commands } = context;
  const subject = { root, env, config, commands, signal, ...(await ask(context, root)) };
  const reports: CheckReport[] = [];
  for (const check of [...configChecks, ...systemChecks]) reports.push(await runCheck(check, subject));
  const ofPacks = config.kind === 'ok' ? packChecks(config.city, agentProgram(context.self)) : [];
  reports.push(...(await limited(PACK_CHECKS_AT_ONCE, ofPacks, (check) => runCheck(check, subject))));
  const failed = reports.some((report) => report.level === 'fail');
  context.out.write(
    context.json
      ? `${JSON.stringify({ ok: !failed, checks: reports }, null, 2)}\n`
      : renderDoctor(reports, { verbose: input.flag('verbose'), style: context.out.style, gc: context.gc }),
  );
  return failed ? 1 : 0;
};

/** A check that breaks down is a failed check, and the others go on. */
async function runCheck(check: Check, subject: CheckSubject): Promise<CheckReport> {
  try {
    return { name: check.name, ...(await check.run(subject)) };
  } catch (error) {
    return {
      name: check.name,
      ...fail(`the check itself failed: ${messageOf(error)}`, 'GC_DEBUG=1 gc status'),
    };
  }
}

async function ask(context: Context, root: string): Promise<{ status: CityStatus | Error; live: boolean }> {
  try {
    return await withCityAt(context, root, async ({ api, live }) => ({ status: await api.status(), live }));
  } catch (error) {
    return { status: error instanceof Error ? error : new Error(messageOf(error)), live: false };
  }
}
