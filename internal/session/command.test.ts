import { describe, expect, it } from 'vitest';
import { seededIds } from '../platform/ids.ts';
import {
  buildResumeCommand,
  type CommandRequest,
  newSessionKey,
  type ResumeAbility,
  resolveSessionCommand,
  withoutResume,
} from './command.ts';

const KEY = '11111111-2222-4333-8444-555555555555';
const NONE: ResumeAbility = { sessionIdFlag: '', resumeFlag: '', resumeStyle: '', resumeCommand: '' };
const CLAUDE: ResumeAbility = { ...NONE, sessionIdFlag: '--session-id', resumeFlag: '--resume' };
const SUBCOMMAND: ResumeAbility = { ...NONE, resumeFlag: 'resume', resumeStyle: 'subcommand' };

const first = (command: string, key = KEY): CommandRequest => ({
  command,
  key,
  firstStart: true,
  wakeMode: 'resume',
});
const later = (command: string, key = KEY): CommandRequest => ({ ...first(command, key), firstStart: false });

describe('the command of a start', () => {
  it('gives a first start its key where the program takes one', () => {
    expect(resolveSessionCommand(first('claude --x'), CLAUDE)).toEqual({
      command: `claude --x --session-id ${KEY}`,
      conversation: 'new',
    });
  });

  it('begins anew each time in fresh mode', () => {
    const fresh = { ...later('claude'), wakeMode: 'fresh' };
    expect(resolveSessionCommand(fresh, CLAUDE)).toEqual({
      command: `claude --session-id ${KEY}`,
      conversation: 'new',
    });
  });

  it('resumes by flag, by subcommand, or by a whole command', () => {
    expect(resolveSessionCommand(later('claude --x'), CLAUDE)).toEqual({
      command: `claude --x --resume ${KEY}`,
      conversation: 'resumed',
    });
    expect(resolveSessionCommand(later('codex --yolo -m o3'), SUBCOMMAND).command).toBe(
      `codex resume ${KEY} --yolo -m o3`,
    );
    const whole = { ...CLAUDE, resumeCommand: 'claude --continue {{.SessionKey}} --and {{ .SessionKey }}' };
    expect(resolveSessionCommand(later('claude'), whole).command).toBe(
      `claude --continue ${KEY} --and ${KEY}`,
    );
  });

  it('puts a subcommand behind the program, whatever stands before or in its name', () => {
    const resumed = (command: string) => resolveSessionCommand(later(command, 'k1'), SUBCOMMAND).command;
    expect(resumed('codex')).toBe('codex resume k1');
    expect(resumed('A=1 B="x y" codex -a')).toBe('A=1 B="x y" codex resume k1 -a');
    expect(resumed('"/opt/my tools/codex" -a')).toBe('"/opt/my tools/codex" resume k1 -a');
    expect(resumed('/opt/my\\ tools/codex -a')).toBe('/opt/my\\ tools/codex resume k1 -a');
    expect(resumed("  codex 'a b'")).toBe("  codex resume k1 'a b'");
  });

  it('CFG-06 never makes up a key: no flag, no key, and nothing is resumed without one', () => {
    expect(newSessionKey(CLAUDE, seededIds(1))).toMatch(/^[0-9a-f-]{36}$/);
    expect(newSessionKey(SUBCOMMAND, seededIds(1))).toBe('');
    expect(newSessionKey(NONE, seededIds(1))).toBe('');
    for (const resume of [CLAUDE, SUBCOMMAND, NONE, { ...NONE, resumeCommand: 'x {{.SessionKey}}' }]) {
      for (const request of [first('agent', ''), later('agent', '')]) {
        expect(resolveSessionCommand(request, resume)).toEqual({ command: 'agent', conversation: 'new' });
      }
    }
    expect(resolveSessionCommand(first('agent'), SUBCOMMAND).command).toBe('agent');
    expect(resolveSessionCommand(later('agent'), NONE)).toEqual({ command: 'agent', conversation: 'new' });
  });

  it('runs a resume command without a placeholder as it is', () => {
    const last = { ...NONE, resumeCommand: 'codex resume --last' };
    expect(resolveSessionCommand(later('codex', ''), last)).toEqual({
      command: 'codex resume --last',
      conversation: 'resumed',
    });
  });

  it('keeps a key one word to the shell', () => {
    const evil = "x'; rm -rf / #";
    expect(resolveSessionCommand(later('claude', evil), CLAUDE).command).toBe(
      "claude --resume 'x'\\''; rm -rf / #'",
    );
    expect(
      resolveSessionCommand(later('claude', '$&'), { ...NONE, resumeCommand: 'c {{.SessionKey}}' }).command,
    ).toBe("c '$&'");
    expect(resolveSessionCommand(later('claude', '-x'), CLAUDE).command).toBe("claude --resume '-x'");
  });
});

describe('a stale key', () => {
  it('is taken out of the command that was started with it', () => {
    const { command } = resolveSessionCommand(later('claude --x'), CLAUDE);
    expect(withoutResume(command, KEY, CLAUDE)).toBe('claude --x');
    const sub = resolveSessionCommand(later('codex --x'), SUBCOMMAND).command;
    expect(withoutResume(sub, KEY, SUBCOMMAND)).toBe('codex --x');
  });

  it('is left alone where it is not there', () => {
    expect(withoutResume('claude', KEY, CLAUDE)).toBeUndefined();
    expect(withoutResume(`claude --resume ${KEY}9`, KEY, CLAUDE)).toBeUndefined();
    expect(withoutResume('claude', '', CLAUDE)).toBeUndefined();
    expect(withoutResume('claude', KEY, NONE)).toBeUndefined();
  });
});

describe('the command that a record continues with', () => {
  it('is built from what the record keeps', () => {
    const stored = { command: 'claude --x', session_key: KEY, resume_flag: '--resume', resume_style: 'flag' };
    expect(buildResumeCommand(stored, 'claude')).toBe(`claude --x --resume ${KEY}`);
    expect(buildResumeCommand({ ...stored, resume_command: 'c {{.SessionKey}}' }, '')).toBe(`c ${KEY}`);
    expect(buildResumeCommand({ ...stored, resume_style: 'subcommand', resume_flag: 'resume' }, '')).toBe(
      `claude resume ${KEY} --x`,
    );
    expect(buildResumeCommand({}, 'claude')).toBe('claude');
  });
});
