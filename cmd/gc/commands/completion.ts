import { HttpCityApi } from '../../../internal/api/http/city-client.ts';
import { apiSocketPath } from '../../../internal/controller/control-socket-client.ts';
import { readRegisteredCities } from '../../../internal/controller/registry.ts';
import { gcHome } from '../../../internal/platform/paths.ts';
import { cityInForce } from '../city/city-in-force.ts';
import { findCity } from '../city/find-city.ts';
import { complete, type LiveNames } from '../cli/complete.ts';
import { completionScript, SHELLS } from '../cli/completion-scripts.ts';
import { UsageError } from '../cli/input.ts';
import type { CommandRun } from '../cli/spec.ts';
import type { Context } from '../context.ts';

export const runCompletion: CommandRun = async (context, input) => {
  const asked = input.arg('shell');
  const shell = SHELLS.find((each) => each === asked);
  if (!shell) throw new UsageError(`no completion for "${asked}" (expected one of: ${SHELLS.join(', ')})`);
  context.out.write(completionScript(shell));
  return 0;
};

/** Answers a shell; never fails and never says anything else. */
export const runComplete: CommandRun = async (context, input) => {
  const words = input.rest('words');
  const answer = await complete(context.commands, words, liveNames(context, cityOf(words)));
  if (answer.kind === 'paths') context.out.write(':paths\n');
  else for (const { value, explains } of answer.words) context.out.write(`${value}\t${explains}\n`);
  return 0;
};

/** The value of `--city` among the words. */
function cityOf(words: readonly string[]): string | undefined {
  const at = words.indexOf('--city');
  return at < 0 ? undefined : words[at + 1];
}

/** Names from the living controller; nothing when none answers: a Tab must not wait or complain. */
function liveNames(context: Context, city: string | undefined): LiveNames {
  const registered = () => readRegisteredCities(gcHome(context.env));
  const status = async () => {
    const { root } = await findCity({
      env: context.env,
      cwd: context.cwd,
      home: context.env['HOME'],
      option: city,
      registered: async () => registered(),
    });
    return new HttpCityApi(apiSocketPath(root, context.env), context.clock).status();
  };
  return {
    async packs() {
      const found = await cityInForce({ ...context, cityOption: city }).catch(() => undefined); // nothing to offer
      return found?.commands ?? [];
    },
    async of(kind) {
      try {
        if (kind === 'city') return registered().map(({ name }) => name);
        const { sessions, agents } = await status();
        return kind === 'session'
          ? sessions.map((session) => session.display_name)
          : agents.map((agent) => agent.qualified_name);
      } catch {
        return []; // no city, no controller: there is nothing to offer
      }
    },
  };
}
