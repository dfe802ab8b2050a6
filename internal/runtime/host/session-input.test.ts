import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SessionInput } from './session-input.ts';

describe('a paste', () => {
  it('ends where it ends, whatever its text holds', async () => {
    const piece = fc.constantFrom('\x1b[201~', '\x1b[20', '1~', '\x1b', '[201~', 'a', '\n');
    await fc.assert(
      fc.asyncProperty(fc.array(piece), async (pieces) => {
        let taken = '';
        const input = new SessionInput(
          'mayor',
          { bracketedPaste: true, applicationCursorKeys: false },
          () => undefined,
        );
        input.connect({
          terminal: true,
          terminalPath: undefined,
          writeSome: (bytes) => {
            taken += bytes.toString();
            return bytes.length;
          },
        });
        await input.paste(pieces.join(''));
        expect(taken.startsWith('\x1b[200~')).toBe(true);
        expect(taken.indexOf('\x1b[201~')).toBe(taken.length - '\x1b[201~'.length);
      }),
    );
  });
});
