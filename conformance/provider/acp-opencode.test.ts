import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rounds } from '../../internal/platform/testing/campaign.ts';
import { OPENCODE } from '../../test/support/real-acp-agents.ts';
import { type ScriptedModel, startScriptedModel } from '../../test/support/scripted-messages.ts';
import { PROVIDER_CASES } from './suite.ts';
import { acpSubject } from './testing/acp-subject.ts';
import type { OpenSubject } from './testing/subjects.ts';
import { runCase } from './trial.ts';

/** With a real agent each session takes seconds: beside the other tests a few cases run, in a campaign all that fit. */
const SHARE = ['Nudge_RunningSession'];
const FITS = PROVIDER_CASES.filter(
  ({ name, group }) => group !== 'beyond' || name === 'Second_ProviderSeesTheSameSessions',
);
const CASES = rounds(1, 0) === 1 ? FITS : FITS.filter(({ name }) => SHARE.includes(name));
const CASE_LIMIT_MS = 120_000;

let model: ScriptedModel;
let opened: OpenSubject;
let home: string;
const reason = OPENCODE.installed ? '' : ' (skipped: OpenCode is not installed)';

describe.runIf(OPENCODE.installed)('provider conformance: acp with OpenCode', () => {
  beforeAll(async () => {
    model = await startScriptedModel();
    home = mkdtempSync(join(tmpdir(), 'gc-conf-home-'));
    opened = acpSubject('acp, OpenCode', OPENCODE.command, {
      HOME: home,
      ...OPENCODE.settle(home, model.url),
    });
  });
  afterAll(async () => {
    await opened.close();
    await model.close();
    rmSync(home, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  });

  it.each(CASES)(
    `$name${reason}`,
    async (test) => {
      const result = await runCase(test, opened.subject);
      expect(result.kind, result.kind === 'failed' ? result.reason : undefined).toBe('passed');
    },
    CASE_LIMIT_MS,
  );
});
