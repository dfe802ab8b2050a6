import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { WHOLE_SUITES } from '../../internal/platform/testing/campaign.ts';
import { PUBLISHED_CASES } from './published.ts';
import { execSubject } from './testing/exec-subject.ts';
import type { OpenSubject } from './testing/subjects.ts';
import { runCase } from './trial.ts';

const ROOT = join(import.meta.dirname, '../..');
const SCRIPT = 'session-scripts/examples/gc-session-minimal';

/** What it has beyond life: messages and metadata. */
const ALSO = ['Nudge_RunningSession', 'Nudge_MissingSession', 'SetGetMeta_RoundTrip', 'Peek_NoError'];
/** Many sessions at once are many scripts at once: with the whole suites only. */
const isCheap = (name: string) => WHOLE_SUITES || !name.includes('Concurrent');

describe.concurrent('the provider in 30 lines of shell that the docs show', () => {
  let opened: OpenSubject | undefined;
  afterAll(async () => opened?.close());

  it('is the file itself, and that short', () => {
    const text = readFileSync(join(ROOT, SCRIPT), 'utf8');
    expect(readFileSync(join(ROOT, 'docs/exec-provider.md'), 'utf8')).toContain(`\`\`\`bash\n${text}\`\`\``);
    expect(text.trimEnd().split('\n').length).toBeLessThanOrEqual(30);
  });

  for (const test of PUBLISHED_CASES) {
    if ((test.group !== 'lifecycle' && !ALSO.includes(test.name)) || !isCheap(test.name)) continue;
    it(test.name, async () => {
      opened ??= execSubject('./examples/gc-session-minimal', { offers: new Set() });
      const result = await runCase(test, opened.subject);
      expect(result.kind, result.kind === 'failed' ? result.reason : undefined).toBe('passed');
    });
  }

  it('says what it has no word for', async () => {
    opened ??= execSubject('./examples/gc-session-minimal', { offers: new Set() });
    await expect(opened.subject.provider.sendKeys('nobody', ['Enter'])).rejects.toThrow(
      'does not support "send-keys"',
    );
  });
});
