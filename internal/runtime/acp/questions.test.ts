import { describe, expect, it } from 'vitest';
import type { WireAcpQuestion } from '../host/protocol.ts';
import { choiceFor, interactionOf, questionFor } from './questions.ts';

const question = (changes: Partial<WireAcpQuestion> = {}): WireAcpQuestion => ({
  id: 'q1',
  kind: 'permission',
  title: 'touch file.txt',
  detail: '',
  options: [
    { id: 'proceed_always', name: 'Allow for this session', kind: 'allow_always' },
    { id: 'proceed_once', name: 'Allow', kind: 'allow_once' },
    { id: 'cancel', name: 'Reject', kind: 'reject_once' },
  ],
  askedAt: Date.UTC(2026, 0, 2, 3, 4, 5),
  ...changes,
});

describe('what a person is shown', () => {
  it('is the title, what it is about, and the options as the agent names them', () => {
    expect(interactionOf(question({ detail: 'in /work' }), 0)).toEqual({
      request_id: 'q1',
      kind: 'approval',
      prompt: 'touch file.txt\nin /work',
      options: ['Allow for this session', 'Allow', 'Reject'],
      metadata: {
        source: 'acp',
        tool_name: 'touch file.txt',
        tool_input: 'touch file.txt',
        tool_input_cut: 'true',
        option_kinds: 'allow_always,allow_once,reject_once',
        asked_at: '2026-01-02T03:04:05.000Z',
      },
    });
    expect(interactionOf(question({ tool: 'execute', input: 'rm a\nrm b' }), 0).metadata).toMatchObject({
      tool_name: 'execute',
      tool_input: 'rm a\nrm b',
    });
  });

  it('says how many more wait behind it', () => {
    expect(interactionOf(question(), 2).metadata?.['also_open']).toBe('2');
  });
});

describe('what an answer means', () => {
  it.each([
    ['approve', 'proceed_once'],
    ['approve_always', 'proceed_always'],
    ['approve_accept_edits', 'proceed_always'],
    ['deny', 'cancel'],
    ['cancel', undefined],
    ['1', 'proceed_always'],
    ['3', 'cancel'],
    ['proceed_once', 'proceed_once'],
    ['Allow for this session', 'proceed_always'],
    ['reject', 'cancel'],
  ])('%s', (action, option) => {
    expect(choiceFor(question(), action)).toEqual({ option });
  });

  it.each(['', '0', '4', '1.5', 'maybe', '-1'])('refuses %j and names the choices', (action) => {
    expect(() => choiceFor(question(), action)).toThrow(
      expect.objectContaining({
        code: 'unknown-action',
        next: 'answer one of: 1 Allow for this session, 2 Allow, 3 Reject',
      }),
    );
  });

  it('never allows for good when it was asked to allow once', () => {
    const always = question({ options: [{ id: 'a', name: 'Always', kind: 'allow_always' }] });
    expect(() => choiceFor(always, 'approve')).toThrow(expect.objectContaining({ code: 'unknown-action' }));
  });

  it('takes the question back when a denial is not offered', () => {
    const noRefusal = question({ options: [{ id: 'a', name: 'Yes', kind: 'allow_once' }] });
    expect(choiceFor(noRefusal, 'deny')).toEqual({ option: undefined });
  });
});

it('an answer without a question’s id is for the oldest, one with an id for no other', () => {
  const open = [question({ id: 'first' }), question({ id: 'second' })];
  expect(questionFor(open, { action: 'approve' })?.id).toBe('first');
  expect(questionFor(open, { action: 'approve', request_id: 'second' })?.id).toBe('second');
  expect(questionFor(open, { action: 'approve', request_id: 'third' })).toBeUndefined();
});
