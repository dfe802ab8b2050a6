import { describe, expect, it } from 'vitest';
import { readLetter, replySubject, type SendWords } from './letter.ts';

const read = (words: readonly string[], given: Partial<SendWords> = {}) =>
  readLetter({
    words,
    to: undefined,
    subject: undefined,
    message: undefined,
    all: false,
    inSession: false,
    ...given,
  });
const to = (address: string) => ({ kind: 'address', address });

describe('the words of gc mail send', () => {
  it('are a recipient and a text, in any spelling', () => {
    for (const letter of [
      read(['mayor', 'It', 'is', 'done']),
      read(['mayor', 'It is done']),
      read(['mayor'], { message: 'It is done' }),
      read(['It is done'], { to: 'mayor' }),
      read([], { to: 'mayor', message: 'It is done' }),
    ]) {
      expect(letter).toEqual({ to: to('mayor'), subject: '', body: 'It is done' });
    }
    expect(read(['mayor'], { subject: ' Done ' })).toEqual({ to: to('mayor'), subject: 'Done', body: '' });
    expect(read(['It', 'is done'], { all: true })).toMatchObject({ to: { kind: 'all' }, body: 'It is done' });
  });

  it('are a note to itself inside a session, when there is but a text', () => {
    const own = { inSession: true };
    expect(read(['do not forget'], own).to).toEqual({ kind: 'self', couldBeAddress: false });
    expect(read(['mayor'], own).to).toEqual({ kind: 'self', couldBeAddress: true });
    expect(read([], { ...own, message: 'x' }).to).toEqual({ kind: 'self', couldBeAddress: false });
    expect(read(['do not forget'], { ...own, subject: 'Note' }).to).toMatchObject({ kind: 'self' });
  });

  it.each<readonly [string, readonly string[], Partial<SendWords>]>([
    ['nothing at all', [], {}],
    ['nothing inside a session', [], { inSession: true }],
    ['a text without a recipient', ['a text'], {}],
    ['a recipient without a text', ['mayor', ' '], {}],
    ['a text of which nothing is seen', ['mayor', '\x01\x1b[31m'], {}],
    ['two texts', ['mayor', 'one'], { message: 'two' }],
    ['two texts for all', ['one'], { message: 'two', all: true }],
    ['all, and one of them', ['one'], { to: 'mayor', all: true }],
    ['an empty recipient', ['', 'text'], {}],
  ])('are refused with the usage: %s', (_, words, given) => {
    expect(() => read(words, given)).toThrow('usage: gc mail send');
  });
});

it('answers with one Re: however often', () => {
  expect(replySubject('Dates')).toBe('Re: Dates');
  expect(replySubject('RE: Dates')).toBe('RE: Dates');
});
