import { describe, expect, it } from 'vitest';
import { expandVariables, passedEnvironment, sessionEnvironment } from './environment.ts';

describe('the environment of a session', () => {
  it('passes on what the reference names and nothing else', () => {
    const passed = passedEnvironment({
      PATH: '/bin',
      HOME: '/h',
      USER: 'me',
      SECRET: 'no',
      GC_HOME: '/g',
      GC_EMPTY: '',
      GC_INSTANCE_TOKEN: 'of another session',
      GC_SESSION_NAME: 'outer',
      GC_CONTROLLER_TOKEN: 't',
      ANTHROPIC_API_KEY: 'k',
      OTEL_EXPORTER: 'o',
      CLAUDECODE: '1',
      CLAUDE_CODE_OAUTH_TOKEN: 'oauth',
      XDG_STATE_HOME: '/state',
      GONE: undefined,
    });
    expect(passed).toEqual({
      PATH: '/bin',
      HOME: '/h',
      USER: 'me',
      GC_HOME: '/g',
      ANTHROPIC_API_KEY: 'k',
      OTEL_EXPORTER: 'o',
      CLAUDE_CODE_OAUTH_TOKEN: 'oauth',
      XDG_CONFIG_HOME: '/h/.config',
      XDG_STATE_HOME: '/state',
      CLAUDECODE: '',
      CLAUDE_CODE_ENTRYPOINT: '',
    });
    expect(passedEnvironment({})).toEqual({ CLAUDECODE: '', CLAUDE_CODE_ENTRYPOINT: '' });
  });

  it('later layers win; secrets are in none', () => {
    const env = sessionEnvironment({
      env: { PATH: '/bin', HOME: '/h', KEY: 'v', GC_DOLT: 'skip' },
      provider: { A: 'p', B: '$KEY', PATH: '/opt:$PATH' },
      agent: { A: ['a$', '{KEY}'].join(''), GC_CONVERGENCE_TOKEN: 'x' },
      computed: { GC_AGENT: 'mayor', B: '' },
    });
    expect(env).toMatchObject({ A: 'av', B: '', PATH: '/opt:/bin', GC_AGENT: 'mayor', GC_DOLT: 'skip' });
    expect(env).not.toHaveProperty('GC_CONVERGENCE_TOKEN');
    expect(env).not.toHaveProperty('KEY');
  });

  it('variables are expanded once, and $$ is a dollar', () => {
    const env = { A: '$B', B: 'b', _x1: 'u' };
    expect(expandVariables(['$A-$', '{B}-$_x1-$NONE-$', '{NONE}-$$A-$-5$'].join(''), env)).toBe(
      '$B-b-u---$A-$-5$',
    );
  });
});
