import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Bead } from '../../../internal/beads/store.ts';
import { beadDetails, beadLine, commentsText } from './text.ts';

/** What drives a terminal, among what does not. */
const hostile = fc
  .array(
    fc.oneof(fc.constantFrom('\x1b[2J', '\x1b]0;own\x07', '\x9b31m', '\r', '\n', '\x08', 'a'), fc.string()),
  )
  .map((parts) => parts.join(''));

const bead = (text: string): Bead => ({
  id: text,
  title: text,
  status: 'open',
  issue_type: text,
  priority: 2,
  assignee: text,
  parent: text,
  from: text,
  ref: text,
  description: text,
  notes: text,
  created_at: text,
  labels: [text],
  metadata: { [text]: text },
  dependencies: [{ issue_id: text, depends_on_id: text, type: text }],
  revision: 1,
});

describe('what is shown of a bead', () => {
  it('never drives the terminal, whatever other programs wrote into it', () => {
    fc.assert(
      fc.property(hostile, (text) => {
        const comments = [{ author: text, created_at: text, text }];
        const shown = [beadDetails(bead(text), comments), commentsText(comments)];
        for (const each of shown) expect(each).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/);
        expect(beadLine(bead(text))).toMatch(/^[^\x00-\x1f\x7f-\x9f]*\n$/);
      }),
    );
  });
});
